"""Faults on demand as docs/faults.md has them: as data and as text, and what they do to a system, on the model and
on the engine."""

import pytest

from nectar.software.datalink.options import Options
from nectar.software.errors import CabStopped, CapabilityError, FaultError, ProgramError
from nectar.software.faults import KINDS, SYMBOL_FAULTS, Fault, directions, load
from nectar.verification import seeds

from .helpers import BACKENDS, PORTS, model

QUICK = Options(watch_us=500, ready_us=5000, hold_us=1500, stall_us=2000, reply_us=2000, status_us=100, attempts=4)
FIBERS = [("CAB1", "HUB1.P0"), ("HUB1.P0", "CAB1"), ("CAB2", "HUB1.P1"), ("HUB1.P1", "CAB2")]


# -- as data and as text ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text, fault",
    [
        ("CAB1-HUB1.P0:errors=1e-5", Fault("CAB1-HUB1.P0", "errors", rate=1e-5)),
        ("CAB1->HUB1.P0:lost-ready,nth=3", Fault("CAB1->HUB1.P0", "lost", "ready", nth=3)),
        ("HUB1.P1->CAB2:errors,length=40,at=1500us", Fault("HUB1.P1->CAB2", "errors", length=40, at_ps=1_500_000_000)),
        ("*:lost-command=0.001", Fault("*", "lost", "command", rate=0.001)),
        ("*:doubled,nth=2,times=7,at=0ps,for=1s", Fault("*", "doubled", nth=2, times=7, at_ps=0, for_ps=10**12)),
        ("HUB1.P3:cut,at=10ms,for=2ms", Fault("HUB1.P3", "cut", at_ps=10**10, for_ps=2 * 10**9)),
        ("CAB2:delay=3us,for=7ns", Fault("CAB2", "delay", delay_ps=3_000_000, for_ps=7000)),
        ("HUB1:reset,at=20ms", Fault("HUB1", "reset", at_ps=2 * 10**10)),
        ("CAB2:stop", Fault("CAB2", "stop")),
    ],
)
def test_a_fault_as_text_is_the_fault_and_the_other_way_round(text, fault):
    assert Fault.parse(text) == fault
    assert Fault.parse(str(fault)) == fault
    assert Fault.parse(text.replace(",", " , ")) == fault


def test_any_fault_can_be_written_and_read():
    rng = seeds.rng("text")
    for _ in range(300):
        what = rng.choice([*SYMBOL_FAULTS, "cut", "delay", "disable", "reset", "stop"])
        more = {"at_ps": rng.choice([None, 0, rng.randrange(10**15)])}
        if what != "reset":
            more["for_ps"] = rng.choice([None, 1, rng.randrange(1, 10**15)])
        if what == "delay":
            more["delay_ps"] = rng.randrange(1, 10**12)
        if what in SYMBOL_FAULTS:
            more["kind"] = rng.choice([None, *KINDS])
            more |= rng.choice(
                [{"rate": rng.choice([0, 1, 0.25, 1e-9])}, {"nth": rng.randrange(1, 99), "times": rng.randrange(1, 9)}]
            )
            if more["kind"] not in ("command", "reply"):
                more["length"] = rng.randrange(1, 50)
        fault = Fault("CAB1", what, **more)
        assert Fault.parse(str(fault)) == fault


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "a fault is written as WHERE:WHAT"),
        ("CAB1", "a fault is written as WHERE:WHAT"),
        (":errors=1", "a fault is written as WHERE:WHAT"),
        ("CAB1:", "there is no fault ''"),
        ("CAB1:mistakes", "there is no fault 'mistakes'; there are errors, lost, doubled, cut"),
        ("CAB1:lost-foo", "lost-foo: there is no such fault"),
        ("CAB1:lost-", "lost-: there is no such fault"),
        ("CAB1:cut-ready", "cut-ready: there is no such fault"),
        ("CAB1:errors=2", "a rate is 0 to 1, not 2.0"),
        ("CAB1:errors=nan", "a rate is 0 to 1, not nan"),
        ("CAB1:errors=x", "rate=x: not a number"),
        ("CAB1:errors=0.1,nth=2", "give a rate, or nth and times, not both"),
        ("CAB1:errors,nth=0", "nth is a whole number from 1 on, not 0"),
        ("CAB1:errors,nth=1.5", "nth=1.5: not a whole number"),
        ("CAB1:errors,nth=1,nth=2", "nth is given twice"),
        ("CAB1:errors,length=0", "length is a whole number from 1 on"),
        ("CAB1:lost-reply,length=3", "a frame is struck as a whole"),
        ("CAB1:errors,often", "'often' between commas: the keys are nth="),
        ("CAB1:errors,", "'nothing' between commas"),
        ("CAB1:cut,nth=3", "cut has no nth"),
        ("CAB1:cut=3", "cut has no rate"),
        ("CAB1:cut,at=5", "at=5: not a time"),
        ("CAB1:cut,at=-5us", "at=-5us: not a time"),
        ("CAB1:cut,for=0us", "for is a time above 0"),
        ("CAB1:cut,for=99999999999s", "longer than can be simulated"),
        ("CAB1:delay", "say how long"),
        ("CAB1:delay=0us", "delay is a time above 0"),
        ("HUB1:reset,for=1us", "reset has no for"),
    ],
)
def test_a_wrong_fault_is_refused(text, message):
    with pytest.raises(FaultError) as caught:
        Fault.parse(text)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_file_has_the_same(tmp_path):
    path = tmp_path / "storm.toml"
    path.write_text(
        '[[faults]]\nwhere = "CAB1"\nwhat = "errors"\nrate = 1e-5\n[[faults]]\nwhere = "HUB1.P3"\nwhat = '
        '"lost-ready"\nnth = 3\nat = "10ms"\n'
        '[[faults]]\nwhere = "CAB2"\nwhat = "delay"\ndelay = "5us"\nfor = "2ms"\n'
    )
    assert load(str(path)) == [
        Fault.parse("CAB1:errors=1e-5"),
        Fault.parse("HUB1.P3:lost-ready,nth=3,at=10ms"),
        Fault.parse("CAB2:delay=5us,for=2ms"),
    ]
    assert load("CAB2:stop") == [Fault("CAB2", "stop")]


@pytest.mark.parametrize(
    "text, message",
    [
        ("x = ", "no valid TOML"),
        ("", "must hold [[faults]]"),
        ("faults = 3", "must hold [[faults]]"),
        ("[[faults]]\n[other]", "must hold [[faults]]"),
        ("[[faults]]", "faults entry 1: give its where and what"),
        ("[[faults]]\nwhere = 1\nwhat = 'cut'", "faults entry 1: give its where and what"),
        ("[[faults]]\nwhere = 'CAB1'\nwhat = 'cut'\nwhen = 3", "faults entry 1: there is no key 'when'"),
        (
            "[[faults]]\nwhere = 'CAB1'\nwhat = 'cut'\n[[faults]]\nwhere = 'CAB1'\nwhat = 'cut'\nat = 3",
            "faults entry 2: at=3: not a time",
        ),
        ("[[faults]]\nwhere = 'CAB1'\nwhat = 'errors'\nrate = '1e-5'", "a rate is 0 to 1, not '1e-5'"),
        ("[[faults]]\nwhere = 'CAB1'\nwhat = 'errors'\nnth = true", "nth is a whole number from 1 on, not True"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, text, message):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(FaultError) as caught:
        load(str(path))
    assert str(caught.value).startswith(f"{path}: ") and message in str(caught.value) and "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_refused():
    with pytest.raises(FaultError, match=r"nowhere\.toml: cannot be read: No such file or directory"):
        load("nowhere.toml")


def test_where_names_directions():
    assert directions("CAB1->HUB1.P0", FIBERS) == [("CAB1", "HUB1.P0")]
    assert directions("HUB1.P0->CAB1", FIBERS) == [("HUB1.P0", "CAB1")]
    assert (
        directions("HUB1.P0-CAB1", FIBERS) == directions("CAB1", FIBERS) == directions("HUB1.P0", FIBERS) == FIBERS[:2]
    )
    assert directions("*", FIBERS) == FIBERS
    for wrong in ("CAB3", "HUB1", "CAB1-CAB2", "CAB1->HUB1.P1", "->", "-", "HUB1.P00"):
        with pytest.raises(FaultError, match="there is no fiber .*; there are CAB1-HUB1.P0, CAB2-HUB1.P1"):
            directions(wrong, FIBERS)


@pytest.mark.parametrize(
    "fault, message",
    [
        ("CAB9:cut", "there is no fiber CAB9"),
        ("HUB1.P77:disable", f"HUB1 has no port P77; its ports are P0 to P{PORTS - 1}"),
        ("HUB1.Px:disable", "HUB1 has no port Px"),
        ("HUB1:disable", "HUB1 is no port of a HUB"),
        ("HUB2.P0:disable", "HUB2.P0 is no port of a HUB"),
        ("HUB2:reset", "HUB2 is no HUB"),
        ("CAB1:reset", "CAB1 is no HUB"),
        ("HUB1.P1:reset", "HUB1.P1 is no HUB"),
        ("HUB1:stop", "there is no CAB HUB1; there are CAB1, CAB2"),
    ],
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_fault_somewhere_else_is_refused(backend, fault, message):
    with model(backend=backend) as system:
        with pytest.raises(FaultError) as caught:
            system.faults.add(fault)
        assert message in str(caught.value) and not system.faults.report()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_fault_in_the_past_and_a_late_seed_are_refused(backend):
    with model(backend=backend) as system:
        system.faults.seed = 5
        with pytest.raises(FaultError, match="a seed is a whole number, not 'x'"):
            system.faults.seed = "x"
        system.spawn("CAB1", lambda cab: cab.sleep(20))
        system.go()
        with pytest.raises(FaultError, match="that time has passed"):
            system.faults.cut("CAB1", at_us=10)
        system.faults.cut("CAB1")
        with pytest.raises(FaultError, match="the seed must be set before the first fault"):
            system.faults.seed = 6


def test_a_machine_without_faults_says_so():
    from nectar.software.faultlist import FaultList

    class Plain:
        capabilities = frozenset()
        time_ps = 0

    with pytest.raises(CapabilityError, match="Plain has no faults on demand"):
        FaultList(Plain(), None, None).add("CAB1:cut")


def test_a_hub_without_free_port_cannot_be_told_to_disable_one():
    with model("hub:16", backend="engine") as system:
        with pytest.raises(FaultError, match="HUB1 has a fiber at each of its ports"):
            system.faults.disable("HUB1.P3")
        system.faults.reset("HUB1")


# -- what they do ----------------------------------------------------------------------------------------
def send_and_receive(system, count=12, length=100, switching="packet", settle_us=30_000):
    """CAB1 sends ``count`` messages to CAB2; returns the numbers of those that arrive, which must be unharmed."""
    got = []
    box = round(system.time_ns) % 60_000  # another one in each call

    async def send(cab):
        for number in range(count):
            try:
                await cab.datagram.send((2, box), bytes([number]) * length, switching)
            except ProgramError:
                pass
        await cab.sleep(settle_us)

    async def receive(cab):
        while True:
            message = await cab.mailbox(box).receive()
            data = await message.read()
            assert data == bytes([data[0]]) * length
            got.append(data[0])
            message.free()

    system.on_restart = lambda cab: cab.spawn(receive)
    system.cab("CAB2").spawn(receive)
    system.spawn("CAB1", send)
    system.go()
    return got


@pytest.mark.parametrize(
    "fault, missing",
    [
        ("HUB1.P1->CAB2:lost-start,nth=5", {4}),
        ("HUB1.P1->CAB2:lost-end,nth=5", {4}),
        ("HUB1.P1->CAB2:lost-data,nth=500", {4}),
        ("HUB1.P1->CAB2:errors-data,nth=500", {4}),
        ("HUB1.P1->CAB2:doubled-data,nth=500", {4}),
        ("HUB1.P1->CAB2:errors-start,nth=5", {4}),
        ("CAB1->HUB1.P0:lost-command,nth=9", {4}),
        ("HUB1.P0->CAB1:lost-ready,nth=5", set()),
        ("CAB2->HUB1.P1:lost-ready,nth=5", set()),
        ("CAB2->HUB1.P1:doubled-ready,nth=5", set()),
        ("CAB1->HUB1.P0:doubled-command,nth=9", set()),
        ("CAB1->HUB1.P0:doubled-command,nth=10", set()),
        ("CAB1->HUB1.P0:lost-command,nth=10", set()),
    ],
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_fault_at_an_exact_place_does_what_it_must(backend, fault, missing):
    """Twelve packets, of 120 bytes each, each with one open and one close all."""
    with model(backend=backend, options=QUICK) as system:
        used = [cab.memory.used for cab in system.cabs]
        placed = system.faults.add(fault)
        assert set(range(12)) - set(send_and_receive(system)) == missing
        assert placed.hits == 1 and placed.symbols == (4 if "command" in fault else 1)
        assert [cab.memory.used for cab in system.cabs] == used


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_lost_reply_costs_a_circuit_an_attempt(backend):
    with model(backend=backend, options=QUICK) as system:
        placed = system.faults.add("HUB1.P0->CAB1:lost-reply")
        assert send_and_receive(system, 3, switching="circuit") == [0, 1, 2]
        assert placed.hits == 1 and placed.symbols == 4
        assert system.cab("CAB1").datalink.counters.reply_timeouts == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_added_delay_is_added(backend):
    def arrival(delayed):
        with model(backend=backend, trace=True) as system:
            if delayed:
                placed = system.faults.delay("HUB1.P1->CAB2", 123)
            assert send_and_receive(system, 1) == [0]
            if delayed:
                assert placed.hits == placed.symbols >= 122
            events = {event: cycle for cycle, event, *_ in system.cab("CAB2").kernel.trace}
            return events["packet"] / 16

    assert arrival(True) - arrival(False) == pytest.approx(123, abs=2)


@pytest.mark.parametrize("what", ["cut", "disable"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_gets_through_a_cut_fiber_or_a_disabled_port_until_it_is_mended(backend, what):
    with model(backend=backend, options=QUICK) as system:
        assert send_and_receive(system, 3, settle_us=200) == [0, 1, 2]
        fault = getattr(system.faults, what)("HUB1.P1")
        assert send_and_receive(system, 1, settle_us=300) == [] and fault.hits >= 1
        fault.end()
        system.spawn("CAB1", lambda cab: cab.sleep(20_000))
        system.go()
        count = fault.hits, fault.symbols
        assert send_and_receive(system, 4) == [0, 1, 2, 3]
        assert (fault.hits, fault.symbols) == count


@pytest.mark.parametrize("backend", ["model", pytest.param("engine", marks=pytest.mark.nightly)])
def test_the_watchdog_of_a_hub_frees_what_a_silent_cab_has_lost(backend):
    """CAB2 has not heard of the packet that was lost on its fiber, so it cannot send the ready signal: the HUB gives
    the next open up."""
    with model(backend=backend, options=QUICK) as system:
        cut = system.faults.cut("CAB2", for_us=1000)
        assert send_and_receive(system, 1, settle_us=2000) == [] and cut.symbols >= 122
        assert send_and_receive(system, 2, settle_us=200_000) == [1]
        assert 73 <= system.time_ns / 1e6
        assert send_and_receive(system, 4) == [0, 1, 2, 3]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_fault_that_ends_before_it_begins_never_comes(backend):
    with model(backend=backend, options=QUICK) as system:
        placed = [
            system.faults.disable("HUB1.P1", at_us=100),
            system.faults.cut("CAB2", at_us=100),
            system.faults.stop("CAB2", at_us=100),
        ]
        for each in placed:
            each.end()
        assert send_and_receive(system, 8) == list(range(8))
        assert [each.hits for each in placed] == [0, 0, 0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_hub_reset_costs_what_is_in_it_and_nothing_more(backend):
    with model(backend=backend, options=QUICK) as system:
        reset = system.faults.reset("HUB1", at_us=500)
        got = send_and_receive(system, length=1000, settle_us=200_000)
        assert reset.hits == 1 and len(set(got)) == len(got)
        # What the model's HUB has begun to pass on, it passes on.
        assert 8 <= len(got) < (12 if backend == "engine" else 13)
        assert send_and_receive(system, 4) == [0, 1, 2, 3]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_stopped_cab_ends_its_tasks_and_a_restarted_one_begins_anew(backend):
    async def wait(cab):
        await cab.sleep(10_000_000)

    async def count(cab):
        return await cab.now_us()

    with model(backend=backend, options=QUICK) as system:
        old = system.cab("CAB2")
        task = system.spawn("CAB2", wait, name="waiting")
        stopped = system.faults.stop("CAB2", at_us=500, for_us=300)
        system.go()
        assert task.ended and isinstance(task.error, CabStopped)
        assert str(task.error) == "CAB2 was stopped at 500.000 us while task waiting ran on it"
        with pytest.raises(CabStopped, match="CAB2 has been stopped by a fault"):
            system.spawn("CAB2", wait)
        assert system.cab("CAB2") is old
        system.spawn("CAB1", lambda cab: cab.sleep(1000))
        system.go()
        assert stopped.hits == 1 and system.cab("CAB2") is not old
        after = system.spawn("CAB2", count)
        system.go()
        assert after.result == pytest.approx(system.time_ns / 1000 - 800, abs=5)
        system.spawn("CAB1", lambda cab: cab.sleep(200_000))
        system.go()
        assert send_and_receive(system, 4) == [0, 1, 2, 3]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_cab_that_is_stopped_twice_is_stopped_once_and_may_be_restarted_by_hand(backend):
    with model(backend=backend, options=QUICK) as system:
        first, second = system.faults.stop("CAB2", at_us=100), system.faults.stop("CAB2", at_us=200)
        system.spawn("CAB1", lambda cab: cab.sleep(300))
        system.go()
        assert (first.hits, second.hits) == (1, 0)
        first.end()
        system.spawn("CAB1", lambda cab: cab.sleep(200_000))
        system.go()
        assert send_and_receive(system, 4) == [0, 1, 2, 3]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_fault_to_come_keeps_a_run_from_being_quiet(backend):
    """A task waits for a message that only a restarted CAB sends."""

    async def answer(cab):
        await cab.datagram.send((1, 1), b"back")

    async def ask(cab):
        message = await cab.mailbox(1).receive()
        data = await message.read()
        message.free()
        return data

    with model(backend=backend) as system:
        system.on_restart = lambda cab: cab.spawn(answer)
        system.faults.stop("CAB2", at_us=100, for_us=700_000)
        task = system.spawn("CAB1", ask)
        system.go()
        assert task.result == b"back" and system.time_ns > 700e6


# -- storms ----------------------------------------------------------------------------------------------
STORMS = [
    "*:errors=2e-4",
    "*:lost=2e-4",
    "*:doubled=2e-4",
    "*:errors=5e-5,length=20",
    "*:lost=5e-5,length=300",
    "*:lost-ready=0.03",
    "*:lost-command=0.03",
    "*:doubled-command=0.03",
    "*:errors-command=0.03",
    "*:lost-reply=0.2",
    "*:lost-start=0.03",
    "*:lost-end=0.03",
    "*:doubled-start=0.03",
    "*:doubled-end=0.03",
    "CAB2:cut,at=1ms,for=1ms",
    "ANY:cut,at=1ms,for=1ms",
    "*:delay=50us,at=1ms,for=1ms",
    "HUB1:reset,at=1500us",
    "HUB1.P0:disable,at=1ms,for=1ms",
    "CAB2:stop,at=1ms,for=1ms",
]


def storm(backend, fault, seed, topology="chain:2"):
    """Datagrams between all CABs, 4 ms of them with a fault; then a fresh one from each to each must arrive."""
    print("seed", seed)
    rng = seeds.rng("storm", seed)
    with model(topology, backend=backend, options=QUICK, seed=seed) as system:
        ids = [cab.id for cab in system.cabs]
        used = [cab.memory.used for cab in system.cabs]
        fresh = set()

        async def read(cab):
            while True:
                message = await cab.mailbox(1).receive()
                data = await message.read()
                message.free()
                assert len(data) < 2 or data == bytes([data[0]]) * len(data)
                if len(data) == 1:
                    fresh.add((data[0], cab.id))

        async def send(cab):
            for _ in range(30):
                to = rng.choice([number for number in ids if number != cab.id])
                length = rng.choice([2, 40, 900, 2500])
                try:
                    await cab.datagram.send(
                        (to, 1), bytes([rng.randrange(256)]) * length, rng.choice(["packet", "packet", "circuit"])
                    )
                except ProgramError:
                    pass
                if rng.random() < 0.3:
                    await cab.sleep(rng.randrange(100))

        async def again(cab):
            # A ready signal that is missing between HUBs costs one more message, and the time of the HUB's watchdog.
            for _ in range(3):
                missing = [to for to in ids if to != cab.id and (cab.id, to) not in fresh]
                for to in missing:
                    await cab.datagram.send((to, 1), bytes([cab.id]))
                await cab.sleep(30_000 if missing else 0)
                if any((cab.id, to) not in fresh for to in missing):
                    await cab.sleep(150_000)

        for cab in system.cabs:
            cab.spawn(read)
            system.spawn(cab.name, send)
        system.on_restart = lambda cab: cab.spawn(read)
        fault = Fault.parse(fault.replace("ANY", "->".join(rng.choice(system.machine.fibers))))
        placed = system.faults.add(fault)
        system.go()
        if fault.for_ps is None and fault.what in SYMBOL_FAULTS:
            placed.end()
        system.spawn("CAB1", lambda cab: cab.sleep(300_000))
        system.go()
        hits = placed.hits
        for cab in system.cabs:
            system.spawn(cab.name, again)
        system.go()
        assert fresh == {(a, b) for a in ids for b in ids if a != b}
        assert [cab.memory.used for cab in system.cabs] == used
        assert placed.hits == hits
        return hits


@pytest.mark.parametrize("fault", STORMS)
def test_the_system_works_again_after_a_storm(fault):
    storm("model", fault, seeds.seed())


@pytest.mark.nightly
@pytest.mark.parametrize("fault", STORMS)
def test_the_system_works_again_after_many_storms(fault):
    assert any(
        [
            storm("model", fault, 1000 * seeds.seed() + number, topology)
            for number in range(10)
            for topology in ("chain:2", "hub:3", "mesh:2x2")
        ]
    )


@pytest.mark.nightly
@pytest.mark.parametrize("fault", STORMS)
def test_the_system_works_again_after_a_storm_on_the_engine(fault):
    storm("engine", fault, seeds.seed())
