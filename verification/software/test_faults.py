"""Faults on demand as docs/faults.md has them: what they do to a system, on fast boards and on the RTL."""

import pytest

from nectar.hdl.host.events import EventGroup, EventKind
from nectar.software.datalink.options import Options
from nectar.software.errors import CabStopped, ProgramError
from nectar.software.faults import SYMBOL_FAULTS, Fault
from nectar.verification import seeds

from .helpers import BOARDS, cycles, simulated

QUICK = Options(watch_us=500, ready_us=5000, hold_us=1500, stall_us=2000, reply_us=2000, status_us=100, attempts=4)


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
@pytest.mark.parametrize("boards", BOARDS)
def test_a_fault_at_an_exact_place_does_what_it_must(boards, fault, missing):
    """Twelve packets, of 120 bytes each, each with one open and one close all."""
    with simulated(boards=boards, options=QUICK) as system:
        used = [cab.memory.used for cab in system.cabs]
        placed = system.faults.add(fault)
        assert set(range(12)) - set(send_and_receive(system)) == missing
        assert placed.hits == 1 and placed.symbols == (4 if "command" in fault else 1)
        assert [cab.memory.used for cab in system.cabs] == used


@pytest.mark.parametrize("boards", BOARDS)
def test_a_lost_reply_costs_a_circuit_an_attempt(boards):
    with simulated(boards=boards, options=QUICK) as system:
        placed = system.faults.add("HUB1.P0->CAB1:lost-reply")
        assert send_and_receive(system, 3, switching="circuit") == [0, 1, 2]
        assert placed.hits == 1 and placed.symbols == 4
        assert system.cab("CAB1").datalink.counters.reply_timeouts == 1


@pytest.mark.parametrize("boards", BOARDS)
def test_added_delay_is_added(boards):
    def arrival(delayed):
        with simulated(boards=boards, recorded=EventGroup.MESSAGES) as system:
            if delayed:
                placed = system.faults.delay("HUB1.P1->CAB2", 123)
            assert send_and_receive(system, 1) == [0]
            if delayed:
                assert placed.hits == placed.symbols >= 122
            return cycles(system, "CAB2")[EventKind.ARRIVED] / 16

    assert arrival(True) - arrival(False) == pytest.approx(123, abs=2)


@pytest.mark.parametrize("what", ["cut", "disable"])
@pytest.mark.parametrize("boards", BOARDS)
def test_nothing_gets_through_a_cut_fiber_or_a_disabled_port_until_it_is_mended(boards, what):
    with simulated(boards=boards, options=QUICK) as system:
        assert send_and_receive(system, 3, settle_us=200) == [0, 1, 2]
        fault = getattr(system.faults, what)("HUB1.P1")
        assert send_and_receive(system, 1, settle_us=300) == [] and fault.hits >= 1
        fault.end()
        system.spawn("CAB1", lambda cab: cab.sleep(20_000))
        system.go()
        count = fault.hits, fault.symbols
        assert send_and_receive(system, 4) == [0, 1, 2, 3]
        assert (fault.hits, fault.symbols) == count


@pytest.mark.parametrize("boards", ["fast", pytest.param("rtl", marks=pytest.mark.nightly)])
def test_the_watchdog_of_a_hub_frees_what_a_silent_cab_has_lost(boards):
    """CAB2 has not heard of the packet that was lost on its fiber, so it cannot send the ready signal: the HUB gives
    the next open up."""
    with simulated(boards=boards, options=QUICK) as system:
        cut = system.faults.cut("CAB2", for_us=1000)
        assert send_and_receive(system, 1, settle_us=2000) == [] and cut.symbols >= 122
        assert send_and_receive(system, 2, settle_us=200_000) == [1]
        assert 73 <= system.time_ns / 1e6
        assert send_and_receive(system, 4) == [0, 1, 2, 3]


@pytest.mark.parametrize("boards", BOARDS)
def test_a_fault_that_ends_before_it_begins_never_comes(boards):
    with simulated(boards=boards, options=QUICK) as system:
        placed = [
            system.faults.disable("HUB1.P1", at_us=100),
            system.faults.cut("CAB2", at_us=100),
            system.faults.stop("CAB2", at_us=100),
        ]
        for each in placed:
            each.end()
        assert send_and_receive(system, 8) == list(range(8))
        assert [each.hits for each in placed] == [0, 0, 0]


@pytest.mark.parametrize("boards", BOARDS)
def test_a_hub_reset_costs_what_is_in_it_and_nothing_more(boards):
    with simulated(boards=boards, options=QUICK) as system:
        reset = system.faults.reset("HUB1", at_us=500)
        got = send_and_receive(system, length=1000, settle_us=200_000)
        assert reset.hits == 1 and len(set(got)) == len(got)
        assert 8 <= len(got) < 12
        assert send_and_receive(system, 4) == [0, 1, 2, 3]


@pytest.mark.parametrize("boards", BOARDS)
def test_a_stopped_cab_ends_its_tasks_and_a_restarted_one_begins_anew(boards):
    async def wait(cab):
        await cab.sleep(10_000_000)

    async def count(cab):
        return await cab.now_us()

    with simulated(boards=boards, options=QUICK) as system:
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


@pytest.mark.parametrize("boards", BOARDS)
def test_a_cab_that_is_stopped_twice_is_stopped_once_and_may_be_restarted_by_hand(boards):
    with simulated(boards=boards, options=QUICK) as system:
        first, second = system.faults.stop("CAB2", at_us=100), system.faults.stop("CAB2", at_us=200)
        system.spawn("CAB1", lambda cab: cab.sleep(300))
        system.go()
        assert (first.hits, second.hits) == (1, 0)
        first.end()
        system.spawn("CAB1", lambda cab: cab.sleep(200_000))
        system.go()
        assert send_and_receive(system, 4) == [0, 1, 2, 3]


@pytest.mark.parametrize("boards", BOARDS)
def test_a_fault_to_come_keeps_a_run_from_being_quiet(boards):
    """A task waits for a message that only a restarted CAB sends."""

    async def answer(cab):
        await cab.datagram.send((1, 1), b"back")

    async def ask(cab):
        message = await cab.mailbox(1).receive()
        data = await message.read()
        message.free()
        return data

    with simulated(boards=boards) as system:
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
#: Those that take longest.
LONG_STORMS = {"*:lost-ready=0.03", "*:lost-start=0.03", "ANY:cut,at=1ms,for=1ms"}


def storm(boards, fault, seed, topology="chain:2"):
    """Datagrams between all CABs, 4 ms of them with a fault; then a fresh one from each to each must arrive."""
    print("seed", seed)
    rng = seeds.rng("storm", seed)
    with simulated(topology, boards=boards, options=QUICK, seed=seed) as system:
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


@pytest.mark.parametrize(
    "fault", [pytest.param(fault, marks=[pytest.mark.nightly] * (fault in LONG_STORMS)) for fault in STORMS]
)
def test_the_system_works_again_after_a_storm(fault):
    storm("fast", fault, seeds.seed())


@pytest.mark.nightly
@pytest.mark.parametrize("fault", STORMS)
def test_the_system_works_again_after_many_storms(fault):
    assert any(
        [
            storm("fast", fault, 1000 * seeds.seed() + number, topology)
            for number in range(10)
            for topology in ("chain:2", "hub:3", "mesh:2x2")
        ]
    )


@pytest.mark.nightly
@pytest.mark.parametrize("fault", STORMS)
def test_the_system_works_again_after_a_storm_on_the_rtl(fault):
    storm("rtl", fault, seeds.seed())
