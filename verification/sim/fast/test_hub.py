"""The fast HUB shows at its pins what the RTL shows, in every cycle; and in whole systems nobody can tell them apart.

Specification: docs/hub.md, docs/wire.md; what is not equal: docs/engine.md, "Fast boards"."""

import itertools
from array import array
from pathlib import Path

import pytest

from nectar.hdl.hub.commands import FORCE, Op
from nectar.hdl.hub.monitor_map import POP, Clear, Select
from nectar.hdl.link.symbol import ANY_HUB, Control, command, packet, reply
from nectar.sim import build
from nectar.sim.topology import load
from nectar.verification import seeds
from nectar.verification.hub.fuzz import batch
from nectar.verification.sim.fast.hub_lockstep import HUB, Lockstep, Look, library, stream
from nectar.verification.sim.fast.hub_noise import KINDS, AllNoise
from nectar.verification.sim.test_sleep import record

CLOSE_ALL = command(Op.CLOSE_ALL, ANY_HUB, 0)
PORTS = 4
#: Cycles of one batch of noise.
BATCH = 400


@pytest.fixture(scope="module")
def pair():
    """Both HUBs; a test resets them first."""
    with Lockstep(PORTS) as both:
        yield both


def send(both, lines, *, more=80, look=Look.REGISTERS, ready=None):
    """Sends ``lines`` ({port: symbols}) and waits ``more`` cycles."""
    cycles = max(map(len, lines.values())) + more
    return both.run(stream(both.ports, lines, cycles), ready, look=look)


def begin_noise(both):
    """Out of reset, with the record of events running and selected, so that no counter is shown."""
    both.reset()
    set_up = [(Op.MONITOR_SELECT_REPLY, Select.EVENTS), (Op.MONITOR_CLEAR_REPLY, Clear.RECORD)]
    send(both, {0: [symbol for op, param in set_up for symbol in [*command(op, HUB, param), *[None] * 40]]})


def noise(both, rng, kind, batches, look=Look.REGISTERS):
    """Noise of a kind at all ports: busy and quiet, with fibers that are fast, slow and stopped."""
    begin_noise(both)
    sources = [AllNoise(port, both.ports, rng, kind) for port in range(both.ports)]
    for _ in range(batches):
        ready = [rng.choice([0, 0.3, 0.7, 0.9, 1, 1]) for _ in sources]
        both.run(*batch(sources, BATCH, rng.choice([0.03, 0.1, 0.3, 0.7, 1]), ready), look=look)


def test_every_command_takes_the_same_cycles(pair):
    """docs/commands.md: each command, with the own port, another, one that is forced, and one that does not exist."""
    for op, param in itertools.product(Op, (0, 1, FORCE | 1, 200)):
        pair.reset()
        begin = [*command(Op.OPEN, HUB, 2), *command(Op.LOCK, HUB, 2)] if param == 1 else []
        if op == Op.MONITOR_READ_REPLY:
            begin = command(Op.MONITOR_SELECT_REPLY, HUB, Select.FLAGS)
        send(pair, {0: [*begin, *command(op, HUB, param), *packet(b"ab"), *command(Op.ECHO_REPLY, HUB, 3)]})


def test_a_connection_is_made_used_and_closed_in_the_same_cycles(pair):
    """docs/hub.md, Timing; with each delay between two inputs that want an output, and behind a fiber that stops."""
    for late in range(24):
        pair.reset()
        lines = {
            0: [*command(Op.OPEN_REPLY, HUB, 1), *command(Op.OPEN, HUB, 3), *packet(bytes(range(12))), *CLOSE_ALL],
            1: [*[None] * (late + 10), *reply(1, 9, 3), Control.READY, *reply(Op.CLOSE_ALL_REPLY, 9, 3)],
            2: [*[None] * late, *command(Op.TEST_OPEN_RETRY_REPLY, HUB, 1), *packet(b"xyz"), *CLOSE_ALL],
        }
        rng = seeds.rng("fast HUB, stops", late)
        cycles = max(map(len, lines.values())) + 80
        ready = bytearray(rng.random() < 0.8 for _ in range(PORTS * cycles))
        pair.run(stream(PORTS, lines, cycles), array("B", bytes(ready)))


def test_retries_for_one_output_take_the_same_turns(pair):
    """docs/hub.md, "Turns and timing": a request that is picked in vain may lose its turn or not."""
    session = [*command(Op.OPEN_RETRY_REPLY, HUB, 1), 1, 2, 3, *CLOSE_ALL]
    for gap in range(12):
        pair.reset()
        send(pair, {0: session * 6, 2: [None] * gap + session * 6, 3: [None] * (3 * gap) + session * 6}, more=400)


def test_the_watchdog_ends_what_stands_still_in_the_same_cycle(pair):
    """docs/hub.md, Watchdog: connections, locks, a command that waits, a part of a command."""
    for what in (
        command(Op.OPEN, HUB, 1),
        command(Op.LOCK, HUB, 1),
        [*command(Op.LOWER_READY, HUB, 1), *command(Op.AWAIT_READY_REPLY, HUB, 1)],
        command(Op.OPEN, HUB, 1)[:2],
        [*command(Op.OPEN, HUB, 1), *packet(b"abc")[:3]],
    ):
        pair.reset()
        send(pair, {2: command(Op.WATCHDOG_TIME_REPLY, HUB, 6), 0: [*[None] * 30, *what]}, more=300)


def test_the_record_of_events_is_the_same(pair):
    """docs/monitor.md, Record: kinds, order and times."""
    pair.reset()
    begin = [*command(Op.MONITOR_SELECT_REPLY, HUB, Select.EVENTS), *[None] * 40]
    begin += [*command(Op.MONITOR_CLEAR_REPLY, HUB, Clear.RECORD), *[None] * 40]
    send(
        pair,
        {
            3: begin,
            0: [None] * len(begin) + command(Op.OPEN, HUB, 1) + command(Op.LOCK, HUB, 1) + packet(b"a") + CLOSE_ALL,
            1: [None] * len(begin) + command(Op.LOCK_RETRY, HUB, 1) + command(Op.OPEN, HUB, 2),
            2: [None] * (len(begin) + 40) + command(Op.RESET_PORT_REPLY, HUB, 0) + command(Op.UNLOCK_MINE, HUB, 0),
        },
    )
    bytes_ = [*command(Op.MONITOR_CLEAR_REPLY, HUB, Clear.STOP), *[None] * 40]
    for place in [0, 1, 2, 3, POP | 4] * 12:
        bytes_ += [*command(Op.MONITOR_READ_REPLY, HUB, place), *[None] * 30]
    send(pair, {3: bytes_})


def test_long_packets_pass_in_the_same_cycles(pair):
    """docs/hub.md, input queue: all ports send packets up to longer than the queues, with gaps, over fibers that are
    fast, slow, and stopped until queues are full; others wait for their outputs meanwhile."""
    cycles = 9000
    for number in range(3):
        rng = seeds.rng("fast HUB, long packets", number)
        pair.reset()
        lines = {}
        for port in range(PORTS):
            line = lines[port] = []
            while len(line) < cycles // 2:
                data = rng.randbytes(rng.choice([3, 200, 1000, 1200, 1300]))
                output = rng.choice([n for n in range(PORTS) if n != port])
                gap = rng.choice([0, 0, 0.1, 0.5])
                for symbol in [*command(Op.OPEN_RETRY_REPLY, HUB, output), *packet(data), *CLOSE_ALL]:
                    line += [None] * (rng.random() < gap) + [symbol]
                line += [None] * rng.choice([0, 40, 900])
        ready = bytearray(PORTS * cycles)
        for port in range(PORTS):
            at = 0
            while at < cycles:
                rate, end = rng.choice([0, 0.3, 0.9, 1, 1]), min(cycles, at + rng.randrange(300, 1500))
                for cycle in range(at, end):
                    ready[PORTS * cycle + port] = rng.random() < rate
                at = end
        pair.run(stream(PORTS, lines, cycles), array("B", bytes(ready)))


@pytest.mark.parametrize("kind", KINDS)
def test_noise_gives_the_same_in_every_cycle(pair, kind):
    for number in range(4):
        noise(pair, seeds.rng("fast HUB", kind, number), kind, 5)


def test_it_says_idle_when_nothing_but_a_symbol_can_change_it(pair):
    """docs/engine.md, Sleep: a fast HUB that is left alone while it says idle does the same."""
    for number in range(3):
        noise(pair, seeds.rng("fast HUB asleep", number), "user commands", 3, Look.REGISTERS | Look.SLEEP)
    for gap in range(0, 60, 7):
        pair.reset()
        line = [*command(Op.OPEN_REPLY, HUB, 1), *[None] * gap, *packet(b"ab"), *[None] * gap, *CLOSE_ALL]
        send(pair, {0: [*line, *[None] * 300, *line]}, look=Look.REGISTERS | Look.SLEEP)


@pytest.mark.nightly
@pytest.mark.parametrize("ports", [2, 3, 5, 16])
def test_noise_gives_the_same_in_hubs_of_all_sizes(ports):
    """Without time-outs, which may differ by a ready bit (docs/engine.md)."""
    with Lockstep(ports) as both:
        for kind in ("user commands", "no time-outs"):
            for number in range(5):
                noise(both, seeds.rng("fast HUB", ports, kind, number), kind, 5)


#: Faults of the fast HUB: file, text, what stands there instead.
FAULTS = {
    "a symbol can be read too early": ("hub_port.h", "visible_ = settled_;\n        s", "visible_ = tail_;\n        s"),
    "a start leaves the ready bit": ("hub_port.cpp", "if (enters) add(starts_, n);", ""),
    "a ready signal comes behind replies": ("hub_port.cpp", "if (p.readies) {", "if (p.readies && !p.sending) {"),
    "a reply bus that is a cycle too fast": ("hub.cpp", "now_ + COMMAND_LENGTH;", "now_ + COMMAND_LENGTH - 1;"),
    "turns begin at port 0": ("hub_central.cpp", "lowest(later ? later : wishes)", "lowest(wishes)"),
    "a lock keeps nobody out": ("hub_central.cpp", "!has(locked_shown_, name) ||", "true ||"),
    "a supervisor freezes nobody": (
        "hub_central.cpp",
        "freeze = frozen_ || (decided_.valid && decided_.supervisor);",
        "freeze = false;",
    ),
    "a reset of a queue sends no ready": ("hub.cpp", "pulses_.send_ready = halting_;", ""),
    "a watchdog that waits twice as long": ("hub.cpp", "std::int64_t{1} << log_", "std::int64_t{2} << log_"),
    "close all stays connected": ("hub_port.cpp", "if (leaves && leaving.closes && !ended)", "if (false)"),
    "the own port is not bad": ("hub_central.cpp", "if (bad || o == order.port) return", "if (bad) return"),
    "bytes go on to an output that takes none": ("hub_bytes.cpp", "if (to.behind == 2) add(full, o);", ""),
    "bytes begin to move with what has been told": ("hub_bytes.cpp", "pulses_ = Pulses();", ""),
    "bytes find room where there is none": ("hub_bytes.cpp", "LEAST_ROOM = 4;", "LEAST_ROOM = 0;"),
    "an event is recorded late": ("hub.cpp", "record_.tick(now_);", "record_.tick(now_ - 1);"),
}


def find(path):
    """Runs a part of the tests above with the library at ``path``."""
    with Lockstep(PORTS, path) as both:
        test_every_command_takes_the_same_cycles(both)
        test_a_connection_is_made_used_and_closed_in_the_same_cycles(both)
        test_the_watchdog_ends_what_stands_still_in_the_same_cycle(both)
        test_the_record_of_events_is_the_same(both)
        test_long_packets_pass_in_the_same_cycles(both)
        for kind in KINDS:
            noise(both, seeds.rng("fast HUB", kind), kind, 5)


@pytest.mark.parametrize(
    "fault", [pytest.param(fault, marks=[pytest.mark.nightly] if number else []) for number, fault in enumerate(FAULTS)]
)
def test_a_fault_in_the_fast_hub_is_found(fault, tmp_path, monkeypatch):
    """The lockstep itself can fail."""
    file, text, instead = FAULTS[fault]
    fast = Path(build.__file__).parent / "fast"
    for source in [*fast.glob("hub*"), *fast.glob("*.h")]:
        (tmp_path / source.name).write_text(source.read_text())
    source = (tmp_path / file).read_text()
    assert source.count(text) == 1, f"{file} has not one {text!r}"
    (tmp_path / file).write_text(source.replace(text, instead))
    path = library(PORTS, sorted(tmp_path.glob("hub*.cpp")))
    with pytest.raises(AssertionError, match="in the fast HUB"):
        find(path)


@pytest.mark.parametrize("name, seed", [("hub:4", 1), ("figure7", 2)])
def test_a_system_of_fast_hubs_does_the_same_at_the_same_time(name, seed):
    """Every symbol on every fiber, every packet, every reading of a clock, why it ended."""
    topology = load(name)
    why, end_ps, *expected = record(topology, seed)[0]
    seen = record(topology, seed, boards="fast", rtl=list(topology.cabs))[0]
    assert (seen[0], [*seen[2:]]) == (why, expected)
    assert end_ps - 10_000_000 < seen[1] <= end_ps  # a HUB that does not wait for its walker is quiet earlier


def test_rtl_and_fast_hubs_stand_in_one_system():
    """docs/engine.md, "Fast boards": they mix by name."""
    topology = load("figure7")
    why, _, *expected = record(topology, 5)[0]
    seen = record(topology, 5, boards="fast", rtl=["HUB1", "HUB3", *topology.cabs])[0]
    assert (seen[0], [*seen[2:]]) == (why, expected)
