"""examples/hub_monitor.py: what a program reads from a HUB's monitor by commands is what the fibers show."""

import importlib.util
from collections import Counter
from statistics import median

import pytest

from nectar.hdl.host.events import EventGroup
from nectar.hdl.hub.monitor_map import CounterId, Event
from nectar.hdl.link.symbol import Control
from nectar.sim.profile import PROTOTYPE
from nectar.sim.recorder import Recorder
from nectar.sim.topology import load
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.monitor import spans
from nectar.software.packet import HEADER
from nectar.software.system import System
from nectar.verification.bench import ROOT
from nectar.verification.software.helpers import LIMIT, drive

TALKERS = (1, 2, 3)
CYCLE_NS = PROTOTYPE.hub_period_ps / 1000
SYMBOL_NS = PROTOTYPE.symbol_ps / 1000
#: Symbols of a packet and its close all besides the message: start, header, CRC, end, four of the command.
FRAME = 1 + HEADER.size + 4 + 1 + 4


class Seen:
    """One run of the example: what it has read, and the symbols that went over the fibers."""

    def __init__(self):
        spec = importlib.util.spec_from_file_location("hub_monitor", ROOT / "examples" / "hub_monitor.py")
        program = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(program)
        read = []
        program.report = lambda *arguments: read.append(arguments)
        topology = load(program.TOPOLOGY)
        recorder = Recorder(groups=EventGroup.SYMBOLS)
        machine = EngineMachine(topology, PROTOTYPE, recorder=recorder)
        system = System.of(machine, topology, PROTOTYPE, limit_ps=LIMIT)
        try:
            drive(program.main(system, []))
            self.log = list(recorder.recording().events())
        finally:
            system.close()
            recorder.close()
        ((_, _, self.names, self.identity, self.events, self.counters),) = read
        self.sizes = program.SIZES

    def left(self, port, symbol):
        """Times in ns at which a control symbol started out of a port of the HUB."""
        return [
            entry.time_ps / 1000
            for entry in self.log
            if entry.fiber.sender == f"HUB1.P{port}" and entry.symbol == symbol
        ]


@pytest.fixture(scope="module")
def seen():
    return Seen()


def test_every_message_was_a_connection_and_every_connection_has_ended(seen):
    """H18: two messages from each of three CABs to each other one; nothing refused, locked, lost or timed out."""
    found = spans(seen.events)
    assert Counter((span.input, span.output) for span in found) == {
        (a, b): len(seen.sizes) for a in TALKERS for b in TALKERS if a != b
    }
    assert all(span.what == "connection" and span.end_ns is not None for span in found)
    assert {event.kind for event in seen.events} <= {Event.OPENED, Event.CLOSED, Event.SUPERVISOR}
    times = [event.cycle for event in seen.events]
    assert times == sorted(set(times)) and times[0] > 0
    assert all(event.time_ns == event.cycle * CYCLE_NS for event in seen.events)


def test_connections_of_a_port_follow_each_other(seen):
    """H1: the record alone shows that connections of an output, and of an input, follow each other."""
    for side in ("input", "output"):
        for port in TALKERS:
            mine = sorted(
                (span for span in spans(seen.events) if getattr(span, side) == port), key=lambda span: span.begin_ns
            )
            assert len(mine) == len(seen.sizes) * 2
            assert all(a.end_ns < b.begin_ns for a, b in zip(mine, mine[1:], strict=False))


def test_connections_last_as_long_as_their_packets(seen):
    """H4: from the decision until the close all has left: at least the symbols' time, and for most hardly more."""
    extra = []
    for a in TALKERS:
        for b in TALKERS:
            lengths = sorted(
                span.end_ns - span.begin_ns for span in spans(seen.events) if (span.input, span.output) == (a, b)
            )
            extra += [
                length - (FRAME + size) * SYMBOL_NS for length, size in zip(lengths, sorted(seen.sizes), strict=False)
            ]
    assert min(extra) > -2 * SYMBOL_NS
    assert median(extra) < 20 * CYCLE_NS


def test_the_record_agrees_with_the_symbols_on_the_fibers(seen):
    """H18: each close all leaves where and when CLOSED says, each start of packet behind its OPENED; one zero of
    time for all."""
    zeros, pairs = [], []
    for port in TALKERS:
        mine = sorted((span for span in spans(seen.events) if span.output == port), key=lambda span: span.begin_ns)
        starts, closes = seen.left(port, Control.START), seen.left(port, Control.COMMAND)
        assert len(mine) == len(starts) == len(closes)
        zeros += [close + 3 * SYMBOL_NS - span.end_ns for span, close in zip(mine, closes, strict=True)]
        pairs += zip(mine, starts, strict=True)
    assert max(zeros) - min(zeros) < 6 * SYMBOL_NS
    zero = median(zeros)
    late = [start - zero - span.begin_ns for span, start in pairs]
    assert min(late) > 0
    assert median(late) < 10 * CYCLE_NS + 2 * SYMBOL_NS


def test_counters_tell_connections_and_packets(seen):
    """H18: as many connections and packets as there were, at the ports of those who sent; no error anywhere."""
    for port, counts in seen.counters.items():
        expected = len(seen.sizes) * 2 if port in TALKERS else 0
        assert {counter: count for counter, count in counts.items() if count} == (
            {CounterId.OPENED: expected, CounterId.PACKETS: expected} if expected else {}
        )
    assert seen.identity == (1, 16, 5, 10, 20)
