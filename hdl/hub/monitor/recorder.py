"""Recorder of decisions of the controller, and of ends of connections and locks: events with times in one block RAM.

Source: "The Design of Nectar" (1989), section 4.1: an instrumentation board records events of the crossbar and its
controller. The layout is ours (``docs/monitor.md``).
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ..messages import check_ports, one_hot_index, port_mask
from ..monitor_map import EVENT_DEPTH, TIME_BITS, Event

__all__ = ["Recorder", "Decision", "Entry", "PORT_BITS"]

#: Bits of a port in an event.
PORT_BITS = 7


class Decision(data.Struct):
    """An event of the HUB: a decision of the controller, or the end of a connection or lock."""

    output: PORT_BITS
    input: PORT_BITS
    kind: 4


class Entry(data.Struct):
    """A recorded event with its time."""

    what: Decision
    time: TIME_BITS


def _lowest(mask, enable):
    """The lowest bit that is set in ``mask``, if ``enable``."""
    before, distance = mask << 1, 1
    while distance < len(mask):
        before |= before << distance
        distance *= 2
    return mask & ~before & enable.replicate(len(mask))


class Recorder(wiring.Component):
    """Writes one event in a cycle, first in first out.

    Parameters
    ----------
    ports : int
        Ports of the HUB.

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
    One event is written in a cycle: decisions first; then TIMED_OUT, CLOSED and UNLOCKED, each by port number. An event
    of cycle t is stamped with t + 1 - s, where s is the cycle of ``start``. If the event waits, the stamp is late by
    the time of the wait.

    A CLOSED that still waits when its output is opened anew is left out. An UNLOCKED that still waits when its output
    is locked anew is left out, too. Before an event, WRAP is written if the high part of the time has changed since the
    last event, and LOST if events were lost. A decision waits during these writes. It is lost if others follow in every
    cycle. When the record is full all events are lost.

    Raises
    ------
    TypeError, ValueError
        If ``ports`` is not an int from 2 to 128.
    """

    def __init__(self, ports):
        check_ports(ports)
        self.ports = ports
        super().__init__(
            {
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
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = storage = memory.Memory(shape=Entry, depth=EVENT_DEPTH, init=[], attrs={"no_rw_check": 1})
        write_port, read_port = storage.write_port(), storage.read_port()

        # A reset ends the recording. The other registers have no reset: while nothing is recorded they are cleared in
        # every cycle, or mean nothing.
        now = Signal(TIME_BITS + 2 * PORT_BITS, reset_less=True)
        # WRAP and LOST are to be written
        wrapped = Signal(reset_less=True)
        lost = Signal(reset_less=True)
        m.d.sync += now.eq(Mux(self.running, now + 1, 0))
        with m.If(self.start):
            m.d.sync += [now.eq(0), self.running.eq(1)]
        with m.Elif(self.stop):
            m.d.sync += self.running.eq(0)

        # Decisions on their way. A decision that cannot be written at once is held.
        begin = Signal()  # earlier events do not count
        m.d.comb += begin.eq(self.start | ~self.running)
        early, new, held = (Signal(Decision, name=name, reset_less=True) for name in ("early", "new", "held"))
        early_valid, new_valid, held_valid = (
            Signal(name=f"{name}_valid", reset_less=True) for name in ("early", "new", "held")
        )
        m.d.sync += [
            early.eq(self.decision),
            early_valid.eq(self.decision_valid),
            new.eq(early),
            new_valid.eq(early_valid),
        ]

        # Other events wait in a bit for each port, and are picked in order. An event that a decision replaces is
        # dropped.
        others = {Event.TIMED_OUT: self.expired, Event.CLOSED: self.closed, Event.UNLOCKED: self.unlocked}
        replaced_by = {Event.CLOSED: Event.OPENED, Event.UNLOCKED: Event.LOCKED}
        waiting = {kind: Signal(self.ports, name=f"waiting_{kind.name.lower()}", reset_less=True) for kind in others}
        picked = Signal(self.ports, reset_less=True)
        picked_kind = Signal(Event, reset_less=True)
        picked_valid = Signal(reset_less=True)
        pick = Signal()
        mask = Signal(self.ports)
        target = Signal(self.ports)
        new_target = Signal(self.ports, reset_less=True)
        m.d.comb += target.eq(port_mask(early.output, self.ports))
        m.d.sync += new_target.eq(target)
        turn, masks = pick, []
        for kind, pulses in others.items():
            chosen = Signal(self.ports, name=f"chosen_{kind.name.lower()}")
            found = Signal(name=f"found_{kind.name.lower()}")
            m.d.comb += [chosen.eq(_lowest(waiting[kind], turn)), found.eq(waiting[kind].any())]
            masks.append(chosen)
            kept = waiting[kind] & ~chosen
            if kind in replaced_by:
                kept &= ~Mux(early_valid & (early.kind == replaced_by[kind]), target, 0)
            m.d.sync += waiting[kind].eq(pulses | kept)
            with m.If(turn & found):
                m.d.sync += picked_kind.eq(kind)
            turn = turn & ~found
        m.d.comb += mask.eq(reduce(or_, masks))
        with m.If(pick):
            m.d.sync += picked.eq(mask)

        event = Signal(Decision)
        take = Signal()
        decided = Signal()
        dropped = Signal()  # the new decision replaces the picked event
        index = one_hot_index(picked)
        m.d.comb += [
            dropped.eq(
                new_valid
                & (picked & new_target).any()
                & Cat((picked_kind == kind) & (new.kind == by) for kind, by in replaced_by.items()).any()
            ),
            decided.eq(held_valid | new_valid),
            pick.eq(~picked_valid | ~(decided | wrapped | lost)),
        ]
        with m.If(pick):
            m.d.sync += picked_valid.eq(Cat(waiting.values()).any())
        with m.Elif(take & ~decided | dropped):
            m.d.sync += picked_valid.eq(0)
        with m.If(held_valid):
            m.d.comb += event.eq(held)
        with m.Elif(new_valid):
            m.d.comb += event.eq(new)
        with m.Else():
            m.d.comb += [event.kind.eq(picked_kind), event.output.eq(index)]
            with m.If(picked_kind == Event.TIMED_OUT):
                m.d.comb += [event.input.eq(index), event.output.eq(0)]

        # Writing.
        first = Signal(range(EVENT_DEPTH), reset_less=True)
        count = Signal(range(EVENT_DEPTH + 1))
        full = Signal()
        something = Signal()
        m.d.comb += [
            full.eq(count[-1]),
            something.eq(decided | picked_valid),
            take.eq(something & (full | ~wrapped & ~lost)),
            write_port.en.eq((something | lost) & ~full & self.running),
            write_port.addr.eq(first + count),
            write_port.data.time.eq(now),
            write_port.data.what.eq(event),
        ]
        with m.If(wrapped):
            m.d.comb += [
                write_port.data.what.kind.eq(Event.WRAP),
                Cat(write_port.data.what.output, write_port.data.what.input).eq(now[TIME_BITS:]),
            ]
        with m.Elif(lost):
            m.d.comb += [
                write_port.data.what.kind.eq(Event.LOST),
                write_port.data.what.input.eq(0),
                write_port.data.what.output.eq(0),
            ]
        with m.If(write_port.en):
            m.d.sync += wrapped.eq(0)
            with m.If(~wrapped):
                m.d.sync += lost.eq(0)
        with m.If(now[:TIME_BITS].all()):
            m.d.sync += wrapped.eq(1)
        with m.If(held_valid | ~take):
            with m.If(~held_valid | take):
                m.d.sync += [held.eq(new), held_valid.eq(new_valid)]
            with m.Elif(new_valid):
                m.d.sync += lost.eq(1)
        with m.If(take & full):
            m.d.sync += lost.eq(1)

        taken = Signal()
        m.d.comb += taken.eq(self.pop & (count != 0))
        m.d.sync += [first.eq(first + taken), count.eq(count + write_port.en - taken)]
        with m.If(begin):
            m.d.sync += [
                *(bit.eq(0) for bit in (early_valid, new_valid, held_valid, picked_valid, wrapped, lost)),
                *(ports.eq(0) for ports in waiting.values()),
            ]
        with m.If(self.start):
            m.d.sync += count.eq(0)

        # Reading.
        m.d.sync += self.valid.eq(count != 0)
        m.d.comb += [
            read_port.addr.eq(first),
            self.oldest.eq(read_port.data),
        ]

        if platform == "formal":
            m.d.comb += Assert(count <= EVENT_DEPTH, "the record holds no more than its room")
        return m
