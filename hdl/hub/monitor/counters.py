"""Counters of all ports: 16 of 16 bits each, in one block RAM behind a walker that goes from port to port.

Source: "The Design of Nectar" (1989), section 4.1, names an instrumentation board. The counters are ours
(``docs/monitor.md``).
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Array, Assert, Cat, Module, Mux, Signal
from amaranth.lib import memory
from amaranth.lib.wiring import In, Out

from ..messages import index_bits
from ..monitor_map import COUNTER_BITS, CounterId
from ..part import HubPart

__all__ = ["PortCounters"]

_KINDS = len(CounterId)
#: Counters whose events a port adds up until the walker comes, and the least number of cycles from one event to the
#: next.
_SUMMED = {CounterId.OPENED: 4, CounterId.PACKETS: 4}


def _room(events):
    """The smallest number of the form 3 * 2**n that is at least ``events``. A counter finds by two bits that it has to
    stop there: with 16 ports all counters take 701 LUTs, and 798 if they stop at ``events``."""
    return next(3 << n for n in range(8) if 3 << n >= events)


class _Signals:
    """What the sections of the counters of so many ``ports`` share. ``room``: as in PortCounters."""

    def __init__(self, ports, room):
        # The port to visit next, as number and as mask.
        self.turn = Signal(range(ports))
        self.at = Signal(ports, init=1)
        self.visit = Signal()  # the walker goes to this port
        self.load = Signal()  # the walker takes the port's events along
        self.dirty = Signal(ports, init=-1)  # ports whose counters are to be cleared

        # The walker: its port, and its counter there.
        self.port = Signal(range(ports))
        self.kind = Signal(range(_KINDS))
        self.idle = Signal(init=1)  # it is between two ports
        self.last = Signal()  # the last cycle at this port
        self.some = Signal()  # it has found events
        self.clearing = Signal()
        self.clean = Signal()  # nothing was found since port 0, and nothing can have happened

        # The events that the walker has found.
        self.arrived = Signal(_KINDS - len(_SUMMED))  # in its second cycle at a port
        self.found = Signal(len(self.arrived) + 1, reset_less=True)
        self.carried = {
            kind: Signal(most.bit_length(), name=f"{kind.name.lower()}_carried") for kind, most in room.items()
        }
        self.packets = Signal.like(self.carried[CounterId.PACKETS], reset_less=True)


class PortCounters(HubPart):
    """Counts events of all ports by name.

    Members
    -------
    events : In(16).array(ports)
        Events of each port, by number of the CounterId; only in cycles in which ``awake`` is 1.
    awake : In(1)
        There may be an event.
    clear : In(ports)
        Pulses: the counters of these ports are 0 from the next cycle on.
    port, counter : In(range(ports)), In(4)
        The counter to read.
    value : Out(16)
        Its value. A counter stops at 65535.
    busy : Out(1)
        Something is still to be counted or cleared. While ``busy`` and ``awake`` are 0, nothing changes.

    Timing
    ------
    ``value`` in cycle t + 3 belongs to ``port`` and ``counter`` of cycle t; one reading in every cycle.

    The walker stays at a port for 3 cycles. It stays for 16 cycles if there is something to count under another name
    than OPENED and PACKETS. All events of a name since the last visit count once; OPENED and PACKETS count each event,
    up to ``room``. Where counters are to be cleared (after a reset: at every port) the walker stays 17 cycles more.
    """

    def __init__(self, ports):
        super().__init__(ports)
        self.room = {kind: _room(3 * ports // apart) for kind, apart in _SUMMED.items()}

    def members(self):
        ports = self.ports
        return {
            "events": In(len(CounterId)).array(ports),
            "awake": In(1),
            "clear": In(ports),
            "port": In(range(ports)),
            "counter": In(range(len(CounterId))),
            "value": Out(COUNTER_BITS),
            "busy": Out(1),
        }

    def elaborate(self, platform):
        """The events at the ports; the walker that goes from port to port; the counters; reading."""
        m = Module()
        s = _Signals(self.ports, self.room)
        # One port to add to what is read, one to read from outside: synthesis makes two block RAMs of the same content.
        # ``no_rw_check`` says that nobody uses what a block RAM gives of a place that is written in the same cycle.
        m.submodules.memory = storage = memory.Memory(
            shape=COUNTER_BITS, depth=_KINDS << index_bits(self.ports), init=[], attrs={"no_rw_check": 1}
        )
        self._gather(m, s)
        self._choose_port(m, s)
        self._walk(m, s)
        self._rest(m, s)
        self._add(m, s, storage.write_port(), storage.read_port())
        self._show(m, s, storage.write_ports[0], storage.read_port())
        if platform == "formal":
            m.d.comb += [
                Assert(s.at == Array(1 << n for n in range(self.ports))[s.turn], "number and mask name the same port"),
                Assert(s.turn < self.ports, "the walker stays among the ports"),
            ]
        return m

    def _gather(self, m, s):
        """The events of all ports. The walker finds those of the port of its last visit two cycles after it has set
        out."""
        notes, sums = [], {kind: [] for kind in _SUMMED}
        for n, events in enumerate(self.events):
            self._gather_port(m, s, n, events, notes, sums)
        for kind, values in sums.items():
            m.d.comb += s.carried[kind].eq(reduce(or_, values))
        m.d.comb += s.arrived.eq(reduce(or_, notes))
        m.d.sync += s.packets.eq(s.carried[CounterId.PACKETS])

    def _gather_port(self, m, s, n, events, notes, sums):
        """The events at port ``n`` since the walker's last visit. The values that the walker takes along go to
        ``notes`` and ``sums``: they are 0 except for the port of its last visit."""
        visited, goes, leave = (Signal(name=f"{name}_{n}") for name in ("visited", "goes", "leave"))
        m.d.sync += visited.eq(s.at[n] & s.load)
        m.d.comb += [
            goes.eq(visited & ~s.dirty[n]),  # events behind a clearing wait until the clearing is done
            leave.eq(goes | self.clear[n]),
        ]

        def gather(name, bits, add, into):
            """A register of a port; ``add`` gives its value with the events of this cycle."""
            value = Signal(bits, name=f"{name}_{n}")
            after = Signal(bits, name=f"{name}_after_{n}")
            taken = Signal(bits, name=f"{name}_taken_{n}", reset_less=True)
            m.d.comb += after.eq(add(value))
            m.d.sync += [value.eq(Mux(leave, 0, after)), taken.eq(Mux(goes, after, 0))]
            into.append(taken)

        def plus(value, event):
            """``value`` + ``event``; it stops at ``room``."""
            return (value + (event & ~(value[-1] & value[-2])))[: len(value)]

        gather("noted", _KINDS - len(_SUMMED), lambda value: value | events[len(_SUMMED) :], notes)
        for kind in _SUMMED:
            gather(kind.name.lower(), self.room[kind].bit_length(), lambda value: plus(value, events[kind]), sums[kind])

    def _choose_port(self, m, s):
        """Whether the walker sets out for the next port in this cycle, and whether it takes the port's events along.

        It does not, but clears the port's counters, if they are to be cleared."""
        cleared = Signal()
        next_dirty = Signal(init=1)
        m.d.comb += [
            self.busy.eq(~(s.idle & s.at[0] & s.clean & ~s.some)),
            s.visit.eq(s.last & ~(s.at[0] & s.clean) | s.idle & (self.busy | self.awake)),
            s.load.eq(s.visit & ~next_dirty),
        ]
        m.d.sync += [
            cleared.eq(s.clearing & (s.kind == _KINDS - 1)),
            next_dirty.eq((s.dirty & s.at).any()),
            s.dirty.eq(s.dirty & ~Mux(cleared, s.at.rotate_right(1), 0) | self.clear),
        ]

    def _walk(self, m, s):
        """The walker: one counter in a cycle. In its second cycle at a port it sees whether it has found events."""
        m.d.sync += [
            s.kind.eq(s.kind + 1),
            s.found.eq(Mux(s.kind == 1, s.arrived << 1, s.found >> 1)),
        ]
        with m.If(s.idle | s.last):
            m.d.sync += s.idle.eq(~s.visit)
        with m.Elif(s.kind == 1):
            m.d.sync += [
                s.last.eq(~(s.arrived.any() | s.clearing)),
                s.some.eq(s.arrived.any() | s.clearing | Cat(s.carried.values()).any()),
            ]
        with m.Elif(s.kind == _KINDS - 2):
            m.d.sync += s.last.eq(~s.clearing)
        with m.Elif(s.kind == _KINDS - 1):
            m.d.sync += [s.idle.eq(1), s.clearing.eq(0)]
        with m.If(s.visit):
            m.d.sync += [
                s.port.eq(s.turn),
                s.kind.eq(0),
                s.turn.eq(Mux(s.at[-1], 0, s.turn + 1)),
                s.at.eq(s.at.rotate_left(1)),
                s.last.eq(0),
                s.some.eq(0),
                s.clearing.eq(~s.load),
            ]

    def _rest(self, m, s):
        """The walker rests at port 0 after a round without work: its place must not depend on the time without
        work."""
        with m.If(self.awake):
            m.d.sync += s.clean.eq(0)
        with m.Elif(s.visit & s.at[0]):
            m.d.sync += s.clean.eq(1)
        with m.Elif(s.some):
            m.d.sync += s.clean.eq(0)

    def _add(self, m, s, write_port, read_port):
        """A counter is addressed in the walker's cycle at it. Its value and the events are in registers two cycles
        later. Their sum is written in the cycle after that, from registers: the block RAM that gives the value takes
        most of a cycle, so the register of the value has to be beside it, wherever the sum is made.

        The walker comes back to the counter after six cycles at the earliest. So an address that is read here is never
        written in the same cycle."""
        address, address_1, address_2 = (
            Signal(len(write_port.addr), name=f"address_{k}", reset_less=True) for k in range(3)
        )
        valid_1 = Signal()
        valid_2 = Signal()
        clearing_1 = Signal(reset_less=True)
        amount_1, amount_2 = (Signal(len(s.packets), name=f"amount_{k}", reset_less=True) for k in (1, 2))
        old = Signal(COUNTER_BITS, reset_less=True)
        new = Signal(COUNTER_BITS + 1)
        with m.Switch(address_1[: len(s.kind)]):
            with m.Case(CounterId.OPENED):
                m.d.comb += amount_1.eq(s.carried[CounterId.OPENED])
            with m.Case(CounterId.PACKETS):
                m.d.comb += amount_1.eq(s.packets)
            with m.Default():
                m.d.comb += amount_1.eq(s.found[0])
        m.d.comb += [
            address.eq(Cat(s.kind, s.port)),
            read_port.addr.eq(address),
            new.eq(old + amount_2),
        ]
        m.d.sync += [
            write_port.addr.eq(address_2),
            write_port.data.eq(new[:COUNTER_BITS] | new[COUNTER_BITS].replicate(COUNTER_BITS)),
            write_port.en.eq(valid_2),
            Cat(address_1, address_2).eq(Cat(address, address_1)),
            Cat(valid_1, valid_2).eq(Cat(~s.idle, valid_1)),
            clearing_1.eq(s.clearing),
            amount_2.eq(amount_1),
            old.eq(Mux(clearing_1, 0, read_port.data)),
        ]

    def _show(self, m, s, write_port, look_port):
        """Reading, in three cycles. A port whose counters are still to be cleared shows 0.

        The block RAM takes most of a cycle, so what it gives goes straight into a register. What is written to the
        place that is looked at goes past it."""
        look = Signal(len(look_port.addr), reset_less=True)
        given = Signal(COUNTER_BITS, reset_less=True)
        written = [Signal(COUNTER_BITS, name=f"written_{k}", reset_less=True) for k in (1, 2)]
        past = Signal(2)
        hidden = Signal(3)
        m.d.sync += [
            look.eq(Cat(self.counter, self.port)),
            past.eq(Cat(write_port.en & (write_port.addr == look), past)),
            hidden.eq(Cat(s.dirty.bit_select(self.port, 1), hidden)),
            Cat(written).eq(Cat(write_port.data, written[0])),
            given.eq(look_port.data),
        ]
        m.d.comb += [
            look_port.addr.eq(look),
            self.value.eq(Mux(hidden[2], 0, Mux(past[1], written[1], given))),
        ]
