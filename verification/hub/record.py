"""Whether a record of events (hdl/hub/monitor/recorder.py) tells what happened: docs/monitor.md, "Record"."""

from collections import deque, namedtuple

from nectar.hdl.hub.monitor_map import Event

__all__ = ["REPLACED_BY", "Decided", "Item", "compare"]

Item = namedtuple("Item", "time kind input output")


class Decided(Item):
    """What the recorder was told as a decision."""


#: Kinds that are decisions only, and what leaves out the end of the connection or lock before it.
DECIDED = (Event.OPENED, Event.REFUSED, Event.LOCKED, Event.SUPERVISOR)
REPLACED_BY = {Event.CLOSED: Event.OPENED, Event.UNLOCKED: Event.LOCKED}


class Judge:
    """Whether ``events`` tell of what was ``told``: order, stamps, nothing more and nothing less."""

    def __init__(self, told, events):
        self.told, self.events = told, events
        times = [event.time for event in events]
        assert times == sorted(set(times)), "one event a cycle, in the order of time"
        self.written = set(times)
        self.first = {
            event.time for event in events if event.kind in (*DECIDED, Event.WRAP)
        }  # what everything else waits for
        self.replacing = set()  # decisions that left out an end

    def _gaps(self, item, event):
        """When it could have been written before."""
        return [time for time in range(item.time, event.time) if time not in self.written]

    def late(self, item, event):
        """By how much an end is late; it waits only while others are written."""
        gaps = self._gaps(item, event)
        assert item.time <= event.time and len(gaps) <= 2, f"{event} was {item} and could have been written at {gaps}"
        return event.time - item.time

    def decisions(self):
        """All but UNLOCKED, which is told as an end, too."""
        decisions = [item for item in self.told if item.kind in DECIDED]
        recorded = [event for event in self.events if event.kind in DECIDED]
        assert [item[1:] for item in recorded] == [item[1:] for item in decisions]
        for item, event in zip(decisions, recorded):
            assert 0 <= event.time - item.time <= 2, f"{event} is stamped late, it was {item}"

    def ends(self, kind, port):
        """Ends of one output's connections or locks, between their beginnings; returns how late they were."""
        kinds = kind, REPLACED_BY[kind]
        waiting = deque(item for item in self.told if item.kind in kinds and item.output == port)
        for event in (event for event in self.events if event.kind in kinds and event.output == port):
            item = waiting.popleft()
            while item.kind == kind and event.kind != kind and waiting:
                item = waiting.popleft()  # the old connection's end is left out before a new one
                self.replacing.add(event.time)
            assert item.kind == event.kind and item.time <= event.time, f"{event} is not {item}"
            if isinstance(item, Decided):
                assert event.time - item.time <= 2, f"{event} is stamped late, it was {item}"
                self.first.add(event.time)
            else:
                yield self.late(item, event)
        assert not waiting, f"{waiting} not recorded"

    def _before(self, time, earliest):
        """The first cycle from ``earliest`` on from which only decisions are written up to ``time``."""
        while time > earliest and time - 1 in self.first:
            time -= 1
        return time

    def _turns(self, item, event):
        """When the time-out that was recorded as ``event`` may have been chosen. From then on it waits for decisions,
        and for the one event that had been chosen before. What is left out frees its turn."""
        turn = self._before(event.time, item.time)
        turns = [turn, *(time + 1 for time in range(turn, event.time) if time in self.replacing)]
        ahead = turn - 1
        if ahead >= item.time and ahead in self.written:
            early = self._before(ahead, item.time)
            turns += [early, early + 1]
        return turns

    def time_outs(self, told, events):
        """How late the time-outs of one input were, a list; None if ``events`` do not tell of those ``told``."""
        if not told or not events:
            return None if told or events else []
        if told[0].time > events[0].time or len(self._gaps(told[0], events[0])) > 2:
            return None
        for turn in self._turns(told[0], events[0]):
            # Once more before it was its turn is once.
            others = self.time_outs([item for item in told[1:] if item.time > turn], events[1:])
            if others is not None:
                return [events[0].time - told[0].time, *others]
        return None


def compare(told, events):
    """Fails unless the record tells what happened; returns how late the last one was, in cycles."""
    judge = Judge(told, events)
    judge.decisions()
    late = [cycles for kind in REPLACED_BY for port in range(128) for cycles in judge.ends(kind, port)]
    for port in range(128):
        both = [
            [item for item in items if item.kind == Event.TIMED_OUT and item.input == port] for items in (told, events)
        ]
        others = judge.time_outs(*both)
        assert others is not None, f"{both[0]} was recorded as {both[1]}"
        late += others
    return max(late, default=0)
