"""software/monitor.py: bytes of a HUB's monitor become counters, events, connections; reading survives lost replies
(docs/monitor.md)."""

from types import SimpleNamespace

import pytest

from nectar.hdl.hub.commands import Op
from nectar.hdl.hub.monitor_map import POP, Clear, CounterId, Event, Flag, Select
from nectar.software import NoReply
from nectar.software.monitor import HubMonitor, Span, decode_counters, decode_events, events_text, spans
from nectar.verification import seeds
from nectar.verification.software.helpers import drive


def entry(kind, time, source=0, output=0):
    """An event's bytes, as docs/monitor.md lays them out."""
    return (int(kind) << 36 | (time & 0x3FFFF) << 18 | source << 8 | output).to_bytes(5, "big")


def test_counters_are_two_bytes_each_the_high_one_first():
    data = bytes(range(32))
    counts = decode_counters(data)
    assert counts[CounterId.OPENED] == 0x0001 and counts[CounterId.FLUSHED] == 0x1E1F and len(counts) == 16
    with pytest.raises(ValueError, match="32 bytes, not 31"):
        decode_counters(data[:-1])


def test_events_have_times_and_the_ports_that_they_tell():
    records = decode_events(
        [
            entry(Event.OPENED, 3, 1, 2),
            entry(Event.REFUSED, 9, 4, 2),
            entry(Event.CLOSED, 262143, 0, 2),
            entry(Event.TIMED_OUT, 262143, 5),
        ],
        70,
    )
    assert records == [
        (210, 3, Event.OPENED, 1, 2),
        (630, 9, Event.REFUSED, 4, 2),
        (262143 * 70, 262143, Event.CLOSED, None, 2),
        (262143 * 70, 262143, Event.TIMED_OUT, 5, None),
    ]


def test_a_wrap_gives_the_high_part_of_the_time():
    events = [
        entry(Event.OPENED, 262000, 1, 2),
        entry(Event.WRAP, 5, 0, 1),
        entry(Event.CLOSED, 6, 0, 2),
        entry(Event.WRAP, 7, 127, 127),
        entry(Event.LOST, 8),
        entry(Event.WRAP, 1, 0, 3),
        entry(Event.OPENED, 2, 0, 1),
    ]
    records = decode_events(events, 1)
    assert [record.kind for record in records] == [Event.OPENED, Event.CLOSED, Event.LOST, Event.OPENED]
    assert [record.cycle for record in records] == [262000, (1 << 18) + 6, (16383 << 18) + 8, (16384 + 3 << 18) + 2]


@pytest.mark.parametrize(
    "data, message",
    [(bytes(4), "5 bytes, not 4"), (entry(9, 1), "9000040000 is no event"), (bytes(6), "5 bytes, not 6")],
)
def test_what_is_no_event_is_refused(data, message):
    with pytest.raises(ValueError, match=message):
        decode_events([entry(Event.OPENED, 0, 1, 2), data], 70)


def test_connections_and_locks_begin_and_end():
    records = decode_events(
        [
            entry(Event.CLOSED, 1, 0, 9),
            entry(Event.OPENED, 10, 1, 2),
            entry(Event.LOCKED, 11, 3, 2),
            entry(Event.REFUSED, 12, 4, 2),
            entry(Event.OPENED, 20, 5, 2),
            entry(Event.CLOSED, 30, 0, 2),
            entry(Event.UNLOCKED, 40, 3, 2),
            entry(Event.OPENED, 50, 1, 7),
        ],
        10,
    )
    assert spans(records) == [
        Span("connection", None, 9, None, 10),
        Span("connection", 1, 2, 100, 200),
        Span("lock", 3, 2, 110, 400),
        Span("connection", 5, 2, 200, 300),
        Span("connection", 1, 7, 500, None),
    ]


def test_what_was_lost_ends_nothing_and_is_not_made_up():
    records = decode_events([entry(Event.OPENED, 1, 1, 2), entry(Event.LOST, 5), entry(Event.CLOSED, 6, 0, 2)], 1)
    assert spans(records) == [Span("connection", 1, 2, 1, None), Span("connection", None, 2, None, 6)]


def test_a_timeline_is_one_line_an_event():
    records = decode_events(
        [
            entry(Event.OPENED, 100, 1, 2),
            entry(Event.CLOSED, 200, 0, 2),
            entry(Event.TIMED_OUT, 300, 3),
            entry(Event.LOST, 301),
            entry(Event.SUPERVISOR, 302, 0, 1),
        ],
        70,
    )
    assert events_text(records, {1: "CAB2"}) == [
        "       7.000 us  opened     P1 CAB2 -> P2",
        "      14.000 us  closed     P2",
        "      21.000 us  timed_out  P3",
        "      21.070 us  lost",
        "      21.140 us  supervisor P0, parameter 1",
    ]


class Hub:
    """What the three commands do, without a HUB; replies get lost at random."""

    def __init__(self, entries, loss=0.0, rng=None):
        self.entries, self.loss, self.rng = list(entries), loss, rng
        self.selected, self.cleared, self.attempts = 0, [], 4

    async def command(self, op, hub, param=0, attempts=4):
        """As Datalink.command."""
        assert hub == 9
        for _ in range(self.attempts if attempts > 1 else 1):
            value = self.do(op, param)
            if not self.loss or self.rng.random() >= self.loss:
                return value
        raise NoReply("lost")

    def do(self, op, param):
        """The command itself."""
        if op == Op.MONITOR_SELECT_REPLY:
            self.selected = param
        elif op == Op.MONITOR_CLEAR_REPLY:
            self.cleared.append(param)
        else:
            assert op == Op.MONITOR_READ_REPLY
            if self.selected == Select.EVENTS:
                shown = (self.entries[0] if self.entries else bytes(5))[param & ~POP]
                if param & POP and self.entries:
                    self.entries.pop(0)
                return shown
            return {Select.FLAGS: Flag.ENABLED | Flag.READY, Select.IDENTITY: (1, 16, 5, 10, 20)[param % 5]}.get(
                self.selected, param
            )
        return param


def reader(hub):
    """A HubMonitor on it."""
    return HubMonitor(SimpleNamespace(datalink=hub), 9, 70)


def test_everything_is_read_by_three_commands():
    hub = Hub([])
    monitor = reader(hub)
    assert drive(monitor.identity()) == (1, 16, 5, 10, 20)
    assert drive(monitor.flags(3)) == [Flag.ENABLED | Flag.READY] * 3
    assert drive(monitor.counters(4)) == decode_counters(bytes(range(32)))
    for action in (monitor.start(), monitor.stop(), monitor.clear(4)):
        drive(action)
    assert hub.cleared == [Clear.RECORD, Clear.STOP, 4] and drive(monitor.events()) == []


@pytest.mark.parametrize("seed", range(20))
def test_no_event_is_lost_or_read_twice_when_replies_get_lost(seed):
    rng = seeds.rng("monitor", seed)
    entries = [
        entry(rng.choice((Event.OPENED, Event.REFUSED)), time, rng.randrange(16), rng.randrange(16))
        for time in range(1, 40)
    ]
    hub = Hub(entries, loss=0.02 * seed, rng=rng)
    hub.attempts = 30
    records = drive(reader(hub).events())
    assert records == decode_events(entries, 70) and not hub.entries
