"""Faults in the engine's fibers: every symbol at the receiver's pins against a reference written from docs/faults.md.

What was sent is taken from the engine's log, what arrived from waveforms; which symbols are struck is foretold from the
seed."""

from collections import deque
from dataclasses import replace

import pytest

from nectar.hdl.host.events import EventGroup
from nectar.sim.profile import PROTOTYPE
from nectar.sim.recorder import Recorder
from nectar.sim.topology import Topology, load
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.datalink.options import Options
from nectar.software.errors import ProgramError
from nectar.software.faults import Fault, directions
from nectar.software.packet import MAX_DATA
from nectar.software.system import System
from nectar.verification import seeds
from nectar.verification.sim.fault_reference import draw, key, predict
from nectar.verification.sim.vcd import read

KINDS = [None, None, None, "data", "start", "end", "ready", "command", "reply"]
END_PS = 450_000_000
#: A datalink that gives up waiting soon.
QUICK = Options(watch_us=100, ready_us=300, hold_us=200, stall_us=300, reply_us=300, status_us=100)


def talk(system, rng, end_ps):
    """Packets and circuits in all directions until ``end_ps``, whatever becomes of them."""
    ids = [cab.id for cab in system.cabs]

    async def send(cab, plan):
        for to, length, switching, pause in plan:
            try:
                await cab.datagram.send((to, 1), bytes(length), switching)
            except ProgramError:
                pass
            await cab.sleep(pause)

    async def read(cab):
        while True:
            (await cab.mailbox(1).receive()).free()

    for cab in system.cabs:
        plan = [
            (
                rng.choice([number for number in ids if number != cab.id]),
                rng.choice([0, 3, 30, 200, MAX_DATA]),
                rng.choice(["packet", "circuit"]),
                rng.choice([0, 40]),
            )
            for _ in range(120)
        ]
        cab.spawn(read)
        system.spawn(cab.name, send, plan)
    go(system, end_ps)


def go(system, end_ps):
    """Runs to that time."""
    with pytest.raises(ProgramError, match="time limit"):
        system.run(end_ps - system.machine.time_ps).send(None)


def random_faults(rng, fibers):
    """A handful of faults, all different."""
    ends = [f"{a}->{b}" for a, b in fibers]
    found = []
    for _ in range(rng.randrange(2, 7)):
        what = rng.choice(["errors", "errors", "lost", "doubled", "cut", "delay"])
        where = rng.choice([*ends, "*", ends[0].replace("->", "-"), "CAB1"])
        at = rng.choice([None, rng.randrange(END_PS // 2)])
        lasts = rng.choice([None, rng.randrange(1, END_PS // 3)])
        more = {"at_ps": at, "for_ps": lasts}
        if what == "delay":
            more["delay_ps"] = rng.choice([1, 80_000, 3_000_000])
        elif what == "cut":
            more["for_ps"] = rng.randrange(1, 60_000_000)
        else:
            more["kind"] = rng.choice(KINDS)
            if rng.random() < 0.5:
                more["rate"] = rng.choice([0, 1e-3, 0.01, 0.1, 1]) if rng.random() < 0.9 else rng.random()
                if what != "errors" and where == "*":
                    more["rate"] = min(more["rate"], 0.01)
            else:
                more |= {"nth": rng.randrange(1, 60), "times": rng.choice([1, 1, 5])}
            if more["kind"] not in ("command", "reply"):
                more["length"] = rng.choice([1, 1, 2, 20])
        found.append(Fault(where, what, **more))
    return found


def board_pins(topology, end):
    """Full names of rx valid and payload, and of the board's clock."""
    board = f"{end.board}.{f'hub{topology.hubs[end.board].ports}' if end.board in topology.hubs else 'cab'}.board."
    port = "fiber" if end.port is None else f"port_{end.port}"
    return [f"{board}{port}__rx__valid", f"{board}{port}__rx__payload", f"{board}clk"]


def seen_at(signals, names):
    """What a receiver has seen at its pins: (time of the edge, symbol); and the times of its edges."""
    valid, payload, clk = (signals[name] for name in names)
    edges = clk.rises()
    return [(time, payload.before(time)) for time in edges if valid.before(time)], edges


def foretold(arrivals, edges):
    """The same from what arrives when."""
    waiting, found = deque(arrivals), []
    for time in edges:
        if waiting and waiting[0][0] <= time:
            found.append((time, waiting.popleft()[1]))
    return found


def _end(end, ends, sent):
    """When a fault ends in a direction. What waits to go on the wire when it is ended in a run has been struck."""
    if not isinstance(end, tuple):
        return end
    time, counts = end
    return max([time, *(start + 1 for start, _ in sent[: counts[ends]][-1:])])


def compare(topology, path, seed, faults, act=None, end_ps=END_PS):
    """Runs with ``faults``; whatever arrives anywhere must be what the reference says. Returns counts of struck symbols
    by what struck them.

    ``act(system, known)``, after a third of the time, may add to ``known``: (Fault, Placed, begin, end or None, when it
    was set). The end of a fault that was ended in the run is (time, how many symbols had been sent in each
    direction)."""
    rng = seeds.rng("traffic", seed)
    recorder = Recorder(groups=EventGroup.SYMBOLS)
    machine = EngineMachine(topology, PROTOTYPE, waves=path, recorder=recorder)
    system = System.of(machine, topology, PROTOTYPE, seed=seed)
    known = [
        (
            fault,
            system.faults.add(fault),
            fault.at_ps or 0,
            None if fault.for_ps is None else (fault.at_ps or 0) + fault.for_ps,
            0,
        )
        for fault in faults
    ]
    before = {}
    if act is None:
        talk(system, rng, end_ps)
    else:
        talk(system, rng, end_ps // 3)
        before = machine.engine.symbols() if not known else {}
        known = act(system, known)
        go(system, end_ps)
    log, fibers = list(recorder.recording().events()), machine.fibers
    counts = [[part.count() for part in placed._parts] for _, placed, *_ in known]
    system.close()
    recorder.close()

    names = {
        (str(a), str(b)): board_pins(topology, b)
        for fiber in topology.fibers
        for a, b in ((fiber.a, fiber.b), (fiber.b, fiber.a))
    }
    delays = {
        (str(a), str(b)): fiber.delay_ps
        for fiber in topology.fibers
        for a, b in ((fiber.a, fiber.b), (fiber.b, fiber.a))
    }
    signals = read(path, [name for several in names.values() for name in several])
    struck = {}
    for ends in fibers:
        sent = [(entry.time_ps, entry.symbol) for entry in log if entry.fiber[1:3] == ends]
        here = [(number, item) for number, item in enumerate(known, 1) if ends in directions(item[0].where, fibers)]
        seen, edges = seen_at(signals, names[ends])
        prediction = predict(
            sent,
            [
                (fault, key(seed, ends, number), begin, _end(end, ends, sent), when)
                for number, (fault, _, begin, end, when) in here
            ],
            PROTOTYPE.symbol_ps,
            delays[ends],
            edges,
            before.get(ends, 0),
        )
        assert seen == foretold(prediction.arrivals, edges), f"{ends}"
        for (number, (fault, *_)), expected in zip(here, prediction.counts, strict=True):
            assert counts[number - 1][directions(fault.where, fibers).index(ends)] == expected, f"{fault} on {ends}"
            struck[fault.what] = struck.get(fault.what, 0) + expected[1]
    return struck


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(3, 6))])
def test_what_arrives_is_what_the_page_says(tmp_path, seed):
    seed += 100 * seeds.seed()
    rng = seeds.rng("faults", seed)
    topology = load(rng.choice(["hub:2", "chain:2"]))
    fibers = [(str(a), str(b)) for fiber in topology.fibers for a, b in ((fiber.a, fiber.b), (fiber.b, fiber.a))]
    faults = random_faults(rng, fibers)
    print("seed", seed, *faults, sep="\n")
    compare(topology, tmp_path / "all.vcd", seed, faults)


@pytest.mark.parametrize(
    "what, more",
    [
        ("errors", {"rate": 0.02}),
        ("lost", {"rate": 0.02}),
        ("doubled", {"rate": 0.02}),
        ("errors", {"nth": 200, "length": 40}),
        ("lost", {"kind": "ready", "nth": 2, "times": 2}),
        ("lost", {"kind": "start", "nth": 2}),
        ("lost", {"kind": "end", "nth": 2}),
        ("lost", {"kind": "command", "nth": 3}),
        ("doubled", {"kind": "command", "nth": 3}),
        ("errors", {"kind": "command", "times": 9}),
        ("cut", {"at_ps": 50_000_000, "for_ps": 20_000_000}),
        ("delay", {"delay_ps": 777_777, "at_ps": 50_000_000, "for_ps": 20_000_000}),
    ],
)
def test_each_kind_of_fault_strikes_as_the_page_says(tmp_path, what, more):
    struck = compare(load("hub:2"), tmp_path / "all.vcd", 5, [Fault("*", what, **more)])
    assert struck[what] > 1


@pytest.mark.parametrize("what", ["lost", "doubled", "errors"])
def test_replies_are_struck_whole(tmp_path, what):
    """Replies go to CABs that open circuits."""
    struck = compare(load("hub:2"), tmp_path / "all.vcd", 6, [Fault("*", what, kind="reply", times=3)])
    assert struck[what] >= (4 if what != "errors" else 1)


def test_a_cut_set_in_a_run_takes_what_is_on_the_way_and_its_repair_ends_it(tmp_path):
    """A fiber of 4 km: 250 symbols are on their way."""
    topology = Topology("far").hub("HUB1").cab("CAB1").cab("CAB2")
    topology = topology.fiber("CAB1", "HUB1.P0", length_m=4000).fiber("CAB2", "HUB1.P1")

    def act(system, known):
        sent = 0
        while sent <= 20:
            before = system.machine.engine.symbols()["CAB1", "HUB1.P0"]
            go(system, system.machine.time_ps + 5_000_000)
            sent = system.machine.engine.symbols()["CAB1", "HUB1.P0"] - before
        now = system.machine.time_ps
        placed = system.faults.cut("CAB1-HUB1.P0")
        taken = placed.symbols
        assert taken > 20
        go(system, now + 30_000_000)
        end = now + 30_000_000, system.machine.engine.symbols()
        placed.end()
        return [*known, (placed.fault, placed, now, end, now)]

    struck = compare(topology, tmp_path / "all.vcd", 7, [], act, 2 * END_PS)
    assert struck["cut"] > 20


@pytest.mark.parametrize("seed", range(2))
def test_faults_set_in_a_run_strike_what_is_sent_from_then_on(tmp_path, seed):
    """Frames that are under way are then data, and what waits in a latch is as it was."""
    seed += 100 * seeds.seed()
    rng = seeds.rng("later", seed)

    def act(system, known):
        now = system.machine.time_ps
        faults = [fault for fault in random_faults(rng, system.machine.fibers) if fault.what != "cut"]
        faults = [replace(fault, at_ps=None if fault.at_ps is None else now + fault.at_ps) for fault in faults]
        print("seed", seed, *faults, sep="\n")
        found = []
        for fault in faults:
            begin = now if fault.at_ps is None else fault.at_ps
            found.append(
                (fault, system.faults.add(fault), begin, None if fault.for_ps is None else begin + fault.for_ps, now)
            )
        return found

    compare(load("chain:2"), tmp_path / "all.vcd", seed, [], act)


def record(topology, seed, faults, system_seed, **options):
    """All that can be seen of a run."""
    recorder = Recorder(groups=EventGroup.SYMBOLS)
    machine = EngineMachine(load(topology), PROTOTYPE, recorder=recorder, **options)
    system = System.of(machine, load(topology), PROTOTYPE, seed=system_seed, options=QUICK)
    for fault in faults:
        system.faults.add(fault)
    talk(system, seeds.rng("traffic", seed), 6 * END_PS)
    log = list(recorder.recording().events())
    seen = log, system.faults.report(), [cab.datalink.counters for cab in system.cabs], machine.time_ps
    system.close()
    recorder.close()
    return seen


STORM = [
    "*:errors=2e-3",
    "CAB1:lost-ready=0.2",
    "*:doubled-command,nth=20,times=5",
    "CAB2:cut,at=500us,for=100us",
    "HUB1:reset,at=1ms",
    "HUB1.P1:disable,at=1500us,for=100us",
    "CAB1:stop,at=1800us,for=50us",
    "CAB1:delay=3us,at=700us,for=200us",
]


def test_a_run_replays_and_sleep_changes_nothing():
    first = record("hub:2", 1, STORM, 3)
    assert sum(hits > 0 for _, hits, _ in first[1]) >= 7, first[1]
    assert record("hub:2", 1, STORM, 3) == first
    assert record("hub:2", 1, STORM, 3, sleep=False) == first
    assert record("hub:2", 1, STORM, 4)[:2] != first[:2]


def test_the_share_of_struck_symbols_is_the_rate():
    """Half a million draws; eight standard deviations hold for any seed."""
    count = 500_000
    its_key = key(seeds.seed(), ("CAB1", "HUB1.P0"), 1)
    draws = [draw(its_key, 2 * n) / 2**64 for n in range(count)]
    for rate in (0.1, 1e-2, 1e-3):
        assert abs(sum(value < rate for value in draws) - rate * count) < 8 * (rate * count) ** 0.5
