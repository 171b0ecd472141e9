"""Monitor of the HUB: its counters, its record of events and the state of its ports, shown byte by byte.

Source: "The Design of Nectar" (1989), section 4.1, names an instrumentation board on the HUB's backplane. All details
are ours (``docs/monitor.md``).
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ..messages import index_bits, is_absent, port_mask
from ..monitor_map import EVENT_BYTES, VERSION, Clear, CounterId, Flag, Select
from ..part import HubPart, give
from ..profile import HubProfile
from .counters import PortCounters
from .recorder import Decision, Recorder

__all__ = ["Monitor"]

_FLAG_BITS = max(Flag).bit_length()


class _Signals:
    """What the sections of the monitor share: registers without a reset, since no byte is asked for behind one."""

    def __init__(self):
        # Cycle t + 1: the selection.
        self.select = Signal(8, reset_less=True)
        self.offset = Signal(8, reset_less=True)

        # Cycle t + 2: the part whose byte is shown, and the bytes of the parts.
        self.shows_counters = Signal(reset_less=True)
        self.shows_flags = Signal(reset_less=True)
        self.shows_identity = Signal(reset_less=True)
        self.low = Signal(reset_less=True)  # of a counter, its low byte
        self.text = Signal(8 * EVENT_BYTES, reset_less=True)  # the oldest event
        self.event_bytes = Signal(EVENT_BYTES, reset_less=True)  # one-hot, the byte of it that is shown
        self.flags = Signal(8, name="flags_byte", reset_less=True)
        self.identity = Signal(8, name="identity_byte", reset_less=True)


class Monitor(HubPart):
    """Counts, records and shows.

    Parameters
    ----------
    ports : int
        Ports of the HUB.
    profile : HubProfile
        Source of the latencies that the identity tells.

    Members
    -------
    events, awake : as in PortCounters
        Events to count.
    decision, decision_valid, closed, unlocked, expired : as in Recorder
        Events to record.
    flags : In(6).array(ports)
        State of each port, bits as in Flag.
    watchdog_log : In(5)
        Logarithm of the watchdog's time.
    select, offset : In(8), In(8)
        ``select``: the selection, as in Select. ``offset``: the byte of the selection. When events are selected, bit 7
        of ``offset`` (POP) does not count for the byte.
    pop : In(1)
        Pulse: takes out the oldest event if POP is set in ``offset`` and events are selected.
    clear, clear_valid : In(8), In(1)
        The thing to clear, as in Clear. Ports that do not exist have no effect.
    byte : Out(8)
        The byte; 0 where there is nothing to show.
    active : Out(1)
        Events are recorded, or something is still to be counted. While ``active``, ``awake`` and ``clear_valid`` are 0,
        nothing changes.

    Timing
    ------
    ``byte`` in cycle t + 4 belongs to ``select`` and ``offset`` of cycle t. It shows the state of cycle t, including
    the event that ``pop`` takes out in cycle t. One reading in every cycle. *Clear* takes effect two cycles later.

    Raises
    ------
    TypeError, ValueError
        As HubPart, and if ``profile`` is not a HubProfile.
    """

    def __init__(self, ports, profile):
        if not isinstance(profile, HubProfile):
            raise TypeError(f"profile of a HUB must be a HubProfile, not {profile!r}")
        self.profile = profile
        super().__init__(ports)

    def members(self):
        ports = self.ports
        return {
            "events": In(len(CounterId)).array(ports),
            "awake": In(1),
            "decision": In(Decision),
            "decision_valid": In(1),
            "closed": In(ports),
            "unlocked": In(ports),
            "expired": In(ports),
            "flags": In(_FLAG_BITS).array(ports),
            "watchdog_log": In(5),
            "select": In(8),
            "offset": In(8),
            "pop": In(1),
            "clear": In(8),
            "clear_valid": In(1),
            "byte": Out(8),
            "active": Out(1),
        }

    def elaborate(self, platform):
        """Counters and recorder; the selection; the bytes of the parts; the byte that is shown."""
        m = Module()
        m.submodules.counters = counters = PortCounters(self.ports)
        m.submodules.recorder = recorder = Recorder(self.ports)
        s = _Signals()
        self._count_and_record(m, counters, recorder)
        self._select(m, s, counters, recorder)
        self._show_event(m, s, recorder)
        self._show_flags(m, s)
        self._show_identity(m, s)
        self._show_byte(m, s, counters)
        return m

    def _count_and_record(self, m, counters, recorder):
        """What is counted, and what clears the counters, one cycle late; what is recorded, and what starts the
        recorder.

        The ports are far away, and their events come late in the cycle: therefore registers."""
        clear = Signal(self.ports)
        start = Signal()
        stop = Signal()
        start_late = Signal()
        stop_late = Signal()
        awake = Signal()
        m.d.sync += [
            awake.eq(self.awake | self.clear_valid),
            *(ours.eq(events) for ours, events in zip(counters.events, self.events)),
            clear.eq(Mux(self.clear_valid, port_mask(self.clear, self.ports), 0)),
            start.eq(self.clear_valid & (self.clear == Clear.RECORD)),
            stop.eq(self.clear_valid & (self.clear == Clear.STOP)),
        ]
        give(m, recorder, self, "decision", "decision_valid")
        m.d.comb += [
            counters.awake.eq(awake),
            counters.clear.eq(clear),
            self.active.eq(
                recorder.running | counters.busy | clear.any() | start | start_late | recorder.start | awake
            ),
        ]
        # A decision is told two cycles late. All other events, and the start, are as late, so the time of an event is
        # the same.
        others = ("closed", "unlocked", "expired")
        late = {name: Signal(self.ports, name=f"{name}_late") for name in others}
        m.d.sync += [
            *(signal.eq(getattr(self, name)) for name, signal in late.items()),
            *(getattr(recorder, name).eq(signal) for name, signal in late.items()),
            start_late.eq(start),
            stop_late.eq(stop),
            recorder.start.eq(start_late),
            recorder.stop.eq(stop_late),
        ]

    def _select(self, m, s, counters, recorder):
        """Cycle t: the selection goes to the counters and to registers; the event that is shown is taken out.

        Cycle t + 1: whether a counter is shown, and which of its bytes."""
        m.d.comb += [
            counters.port.eq(self.select),
            counters.counter.eq(self.offset[1:]),
            recorder.pop.eq(self.pop & self.offset[7] & (self.select == Select.EVENTS)),
        ]
        m.d.sync += [
            s.select.eq(self.select),
            s.offset.eq(self.offset),
            s.low.eq(s.offset[0]),
            s.shows_counters.eq(~is_absent(s.select, self.ports) & (s.offset < 2 * len(CounterId))),
        ]

    def _show_event(self, m, s, recorder):
        """Cycle t + 1: the oldest event, for t + 2. The record's block RAM takes most of a cycle. So the whole event is
        registered, and the number of its selected byte, if any, is decoded beside it."""
        event = recorder.oldest
        m.d.sync += [
            s.text.eq(Cat(event.what.output, Const(0, 1), event.what.input, Const(0, 3), event.time, event.what.kind)),
            s.event_bytes.eq(
                Cat(
                    recorder.valid & (s.select == Select.EVENTS) & (s.offset[:7] == EVENT_BYTES - 1 - n)
                    for n in range(EVENT_BYTES)
                )
            ),
        ]

    def _show_flags(self, m, s):
        """Cycle t + 1: the flags of a port, for t + 2. The flags are those of cycle t: what tells them is far away."""
        port = s.offset[: index_bits(self.ports)]
        flags = [Signal(_FLAG_BITS, name=f"flags_{n}_before", reset_less=True) for n in range(self.ports)]
        m.d.sync += [
            *(ours.eq(theirs) for ours, theirs in zip(flags, self.flags)),
            s.shows_flags.eq((s.select == Select.FLAGS) & ~is_absent(s.offset, self.ports)),
            s.flags.eq(Cat(Cat(flag[bit] for flag in flags).bit_select(port, 1) for bit in range(_FLAG_BITS))),
        ]

    def _show_identity(self, m, s):
        """Cycle t + 1: a byte of the identity, for t + 2."""
        constants = [
            Const(VERSION, 8),
            Const(self.ports, 8),
            Const(self.profile.transfer, 8),
            Const(self.profile.setup_and_transfer, 8),
            self.watchdog_log,
        ]
        m.d.sync += [
            s.shows_identity.eq((s.select == Select.IDENTITY) & (s.offset < len(constants))),
            s.identity.eq(0),
        ]
        with m.Switch(s.offset[:3]):
            for n, constant in enumerate(constants):
                with m.Case(n):
                    m.d.sync += s.identity.eq(constant)

    def _show_byte(self, m, s, counters):
        """Cycle t + 2: the bytes of the other parts become one. Cycle t + 3: the counter's value comes, and the byte is
        chosen that is shown in t + 4."""
        others = Signal(8, reset_less=True)
        is_low = Signal(reset_less=True)
        in_counters = Signal(reset_less=True)
        m.d.sync += [
            others.eq(
                reduce(or_, (s.text.word_select(n, 8) & shown.replicate(8) for n, shown in enumerate(s.event_bytes)))
                | Mux(s.shows_flags, s.flags, 0)
                | Mux(s.shows_identity, s.identity, 0)
            ),
            is_low.eq(s.low),
            in_counters.eq(s.shows_counters),
            self.byte.eq(Mux(in_counters, Mux(is_low, counters.value[:8], counters.value[8:]), others)),
        ]
