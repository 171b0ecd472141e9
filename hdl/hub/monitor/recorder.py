"""Recorder of decisions of the controller, and of ends of connections and locks: events with times in one block RAM.

Source: "The Design of Nectar" (1989), section 4.1: an instrumentation board records events of the crossbar and its
controller. The layout is ours (``docs/monitor.md``).
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Assert, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory
from amaranth.lib.wiring import In, Out

from ..messages import one_hot_index, port_mask
from ..monitor_map import EVENT_DEPTH, TIME_BITS, Event
from ..part import HubPart

__all__ = ["Recorder", "Decision", "Entry", "PORT_BITS"]

#: Bits of a port in an event.
PORT_BITS = 7
#: Events that wait for their turn, in order of precedence.
_WAITING = (Event.TIMED_OUT, Event.CLOSED, Event.UNLOCKED)
#: Waiting events, and the kind of the decision that replaces a waiting event of its output.
_REPLACED_BY = {Event.CLOSED: Event.OPENED, Event.UNLOCKED: Event.LOCKED}


class Decision(data.Struct):
    """An event of the HUB: a decision of the controller, or the end of a connection or lock."""

    output: PORT_BITS
    input: PORT_BITS
    kind: 4


class Entry(data.Struct):
    """A recorded event with its time."""

    what: Decision
    time: TIME_BITS


def _lowest(mask):
    """The lowest bit that is set in ``mask``."""
    before, distance = mask << 1, 1
    while distance < len(mask):
        before |= before << distance
        distance *= 2
    return mask & ~before


class _Signals:
    """What the sections of the recorder of so many ``ports`` share. Registers without a reset: see ``_keep_time``."""

    def __init__(self, ports):
        # The time, with the part that WRAP tells; and what is to be written before the next event.
        self.runs = Signal()  # since ``start``
        self.writes = Signal()  # a cycle later
        self.now = Signal(TIME_BITS + 2 * PORT_BITS, reset_less=True)
        self.wrapped = Signal(reset_less=True)  # WRAP
        self.lost = Signal(reset_less=True)  # LOST

        # Decisions on their way.
        self.early = Signal(Decision, reset_less=True)
        self.next = Signal(Decision, reset_less=True)
        self.new = Signal(Decision, reset_less=True)
        self.held = Signal(Decision, reset_less=True)  # it could not be written at once
        self.early_valid = Signal(reset_less=True)
        self.next_valid = Signal(reset_less=True)
        self.new_valid = Signal(reset_less=True)
        self.held_valid = Signal(reset_less=True)
        # For each kind of event that a decision replaces, one-hot: the output at which ``early`` replaces it, and the
        # output at which ``next`` does.
        self.replaces, self.replaced = (
            {kind: Signal(ports, name=f"{name}_{kind.name.lower()}", reset_less=True) for kind in _REPLACED_BY}
            for name in ("replaces", "replaced")
        )
        self.decided = Signal()  # there is a decision to write

        # Other events.
        self.waiting = {kind: Signal(ports, name=f"waiting_{kind.name.lower()}", reset_less=True) for kind in _WAITING}
        # Of each kind the event that is next: its port, one-hot.
        self.first_of = {kind: Signal(ports, name=f"first_{kind.name.lower()}", reset_less=True) for kind in _WAITING}
        self.has_first = {kind: Signal(name=f"has_{kind.name.lower()}", reset_less=True) for kind in _WAITING}
        self.pick = Signal()  # one of them is picked, if there is one
        self.picked = Signal(ports, reset_less=True)  # the port of the picked event, one-hot
        self.picked_kind = Signal(Event, reset_less=True)
        self.picked_valid = Signal(reset_less=True)

        # The event to write, and the record.
        self.event = Signal(Decision)
        self.take = Signal()  # the event is written, or lost as the record is full
        self.first = Signal(range(EVENT_DEPTH), reset_less=True)  # place of the oldest event
        self.count = Signal(range(EVENT_DEPTH + 1))
        self.full = Signal()


class Recorder(HubPart):
    """Writes one event in a cycle, first in first out.

    Members
    -------
    start, stop : In(1)
        Pulses. ``start``: the record is emptied and begins anew. ``stop``: recording ends.
    decision, decision_valid : In(Decision), In(1)
        OPENED, REFUSED, LOCKED, UNLOCKED or SUPERVISOR.
    closed, unlocked, expired : In(ports)
        Pulses: the connection to this output ends; the lock on this output ends without a decision; the watchdog
        expires at this input. If ``closed`` and an OPENED that takes effect in the same cycle name the same output, the
        old connection ends before the new connection begins.
    oldest, valid : Out(Entry), Out(1)
        The oldest event of the cycle before, if there was an event.
    pop : In(1)
        The oldest event is taken out; no effect when there is none.
    running : Out(1)
        Events are recorded.

    Timing
    ------
    One event is written in a cycle: decisions first; then TIMED_OUT, CLOSED and UNLOCKED, each by port number among
    those that wait when one of them is chosen to be the next. An event of cycle t is stamped with t + 1 - s, where s is
    the cycle of ``start``. If the event waits, the stamp is late by the time of the wait.

    A decision waits while WRAP or LOST is written. It is lost if others follow in every cycle. When these two are
    written, and which events are left out, is told in ``docs/monitor.md``, "Record".
    """

    def members(self):
        ports = self.ports
        return {
            "start": In(1),
            "stop": In(1),
            "decision": In(Decision),
            "decision_valid": In(1),
            "closed": In(ports),
            "unlocked": In(ports),
            "expired": In(ports),
            "oldest": Out(Entry),
            "valid": Out(1),
            "pop": In(1),
            "running": Out(1),
        }

    def elaborate(self, platform):
        """The time; decisions and the other events on their way; the event to write; writing; the beginning of the
        record; reading."""
        m = Module()
        # Nobody looks at a place while it is written. If synthesis did not know that, a recorder of 16 ports would take
        # 568 LUTs instead of 522, and 83 flip-flops more.
        m.submodules.memory = storage = memory.Memory(shape=Entry, depth=EVENT_DEPTH, init=[], attrs={"no_rw_check": 1})
        write_port, read_port = storage.write_port(), storage.read_port()
        s = _Signals(self.ports)
        self._keep_time(m, s)
        self._take_decision(m, s)
        self._pick_other(m, s)
        self._choose_event(m, s)
        self._write(m, s, write_port)
        self._hold_decision(m, s)
        self._account(m, s, write_port)
        self._begin(m, s)
        self._show(m, s, read_port)
        if platform == "formal":
            m.d.comb += Assert(s.count <= EVENT_DEPTH, "the record holds no more than its room")
        return m

    def _keep_time(self, m, s):
        """The time since the second cycle after ``start``, and whether events are recorded.

        A reset ends the recording. The other registers have no reset: while nothing is recorded they are cleared in
        every cycle, or mean nothing."""
        m.d.comb += self.running.eq(s.runs | s.writes)
        m.d.sync += [s.now.eq(Mux(s.writes, s.now + 1, 0)), s.writes.eq(s.runs & ~self.start)]
        with m.If(self.start):
            m.d.sync += [s.now.eq(0), s.runs.eq(1)]
        with m.Elif(self.stop):
            m.d.sync += s.runs.eq(0)

    def _take_decision(self, m, s):
        """A decision of cycle t is ``early`` in t + 1, ``next`` in t + 2, and ``new``, to be written, in t + 3."""
        m.d.sync += [
            s.early.eq(self.decision),
            s.early_valid.eq(self.decision_valid),
            s.next.eq(s.early),
            s.next_valid.eq(s.early_valid),
            s.new.eq(s.next),
            s.new_valid.eq(s.next_valid),
        ]
        place = port_mask(self.decision.output, self.ports)
        for kind, by in _REPLACED_BY.items():
            replaces = self.decision_valid & (self.decision.kind == by)
            m.d.sync += [s.replaces[kind].eq(Mux(replaces, place, 0)), s.replaced[kind].eq(s.replaces[kind])]

    def _pick_other(self, m, s):
        """An event of cycle t that is no decision waits from t + 1 on in a bit of its port. It can become the next of
        its kind, in t + 2, and be picked, to be written in t + 3. An event that a decision replaces is dropped here."""
        pulses = {Event.TIMED_OUT: self.expired, Event.CLOSED: self.closed, Event.UNLOCKED: self.unlocked}
        turn, masks = s.pick, []
        for kind, waiting in s.waiting.items():
            first, has = s.first_of[kind], s.has_first[kind]
            left, chosen = (Signal(self.ports, name=f"{name}_{kind.name.lower()}") for name in ("left", "chosen"))
            moves = Signal(name=f"moves_{kind.name.lower()}")
            here = ~s.replaces[kind] if kind in _REPLACED_BY else Const((1 << self.ports) - 1)
            m.d.comb += [left.eq(waiting & here), chosen.eq(_lowest(left)), moves.eq(~has | turn)]
            m.d.sync += waiting.eq(pulses[kind] | left & ~Mux(moves, chosen, 0))
            with m.If(moves):
                m.d.sync += [first.eq(chosen), has.eq(left.any())]
            with m.Else():
                m.d.sync += [first.eq(first & here), has.eq((first & here).any())]
            masks.append(Mux(turn & has, first, 0))
            with m.If(turn & has):
                m.d.sync += s.picked_kind.eq(kind)
            turn = turn & ~has
        with m.If(s.pick):
            m.d.sync += s.picked.eq(reduce(or_, masks))

    def _choose_event(self, m, s):
        """The event to write in this cycle: the decision that is held, else the new one, else the picked event."""
        dropped = Signal()  # the next decision replaces the picked event
        index = one_hot_index(s.picked)
        hits = [(s.picked_kind == kind) & (s.picked & replaced).any() for kind, replaced in s.replaced.items()]
        m.d.comb += [
            dropped.eq(Cat(hits).any()),
            s.decided.eq(s.held_valid | s.new_valid),
            s.pick.eq(~s.picked_valid | ~(s.decided | s.wrapped | s.lost)),
        ]
        with m.If(s.pick):
            m.d.sync += s.picked_valid.eq(Cat(s.has_first.values()).any())
        with m.Elif(s.take & ~s.decided | dropped):
            m.d.sync += s.picked_valid.eq(0)
        with m.If(s.held_valid):
            m.d.comb += s.event.eq(s.held)
        with m.Elif(s.new_valid):
            m.d.comb += s.event.eq(s.new)
        with m.Else():
            m.d.comb += [s.event.kind.eq(s.picked_kind), s.event.output.eq(index)]
            with m.If(s.picked_kind == Event.TIMED_OUT):
                m.d.comb += [s.event.input.eq(index), s.event.output.eq(0)]

    def _write(self, m, s, write_port):
        """Writes the event in this cycle, or first WRAP or LOST. In a full record the event is lost."""
        something = Signal()
        m.d.comb += [
            s.full.eq(s.count[-1]),
            something.eq(s.decided | s.picked_valid),
            s.take.eq(something & (s.full | ~s.wrapped & ~s.lost)),
            write_port.en.eq((something | s.lost) & ~s.full & s.writes),
            write_port.addr.eq(s.first + s.count),
            write_port.data.time.eq(s.now),
            write_port.data.what.eq(s.event),
        ]
        with m.If(s.wrapped):
            m.d.comb += [
                write_port.data.what.kind.eq(Event.WRAP),
                Cat(write_port.data.what.output, write_port.data.what.input).eq(s.now[TIME_BITS:]),
            ]
        with m.Elif(s.lost):
            m.d.comb += [
                write_port.data.what.kind.eq(Event.LOST),
                write_port.data.what.input.eq(0),
                write_port.data.what.output.eq(0),
            ]
        with m.If(write_port.en):
            m.d.sync += s.wrapped.eq(0)
            with m.If(~s.wrapped):
                m.d.sync += s.lost.eq(0)
        with m.If(s.now[:TIME_BITS].all()):
            m.d.sync += s.wrapped.eq(1)

    def _hold_decision(self, m, s):
        """A new decision that cannot be written in this cycle is held. It is lost if another one is held already, or if
        the record is full."""
        with m.If(s.held_valid | ~s.take):
            with m.If(~s.held_valid | s.take):
                m.d.sync += [s.held.eq(s.new), s.held_valid.eq(s.new_valid)]
            with m.Elif(s.new_valid):
                m.d.sync += s.lost.eq(1)
        with m.If(s.take & s.full):
            m.d.sync += s.lost.eq(1)

    def _account(self, m, s, write_port):
        """The place and the number of the events in the record, from the next cycle on."""
        taken = Signal()
        m.d.comb += taken.eq(self.pop & (s.count != 0))
        m.d.sync += [s.first.eq(s.first + taken), s.count.eq(s.count + write_port.en - taken)]

    def _begin(self, m, s):
        """While nothing is recorded, and in the cycle of ``start``, earlier events do not count."""
        begin = Signal()
        m.d.comb += begin.eq(self.start | ~s.runs)
        with m.If(begin):
            m.d.sync += [
                *(bit.eq(0) for bit in (s.early_valid, s.next_valid, s.new_valid, s.held_valid, s.picked_valid)),
                *(bit.eq(0) for bit in (*s.has_first.values(), s.wrapped, s.lost)),
                *(ports.eq(0) for ports in s.waiting.values()),
            ]
        with m.If(self.start):
            m.d.sync += s.count.eq(0)

    def _show(self, m, s, read_port):
        """Reading, in one cycle."""
        m.d.sync += self.valid.eq(s.count != 0)
        m.d.comb += [
            read_port.addr.eq(s.first),
            self.oldest.eq(read_port.data),
        ]
