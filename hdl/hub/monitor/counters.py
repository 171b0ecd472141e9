"""Counters of all ports: 16 of 16 bits each, in one block RAM behind a walker that goes from port to port.

Source: "The Design of Nectar" (1989), section 4.1, names an instrumentation board. The counters are ours
(``docs/monitor.md``).
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Array, Assert, Cat, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ..messages import check_ports, index_bits
from ..monitor_map import COUNTER_BITS, CounterId

__all__ = ["PortCounters"]

#: Counters whose events a port adds up until the walker comes, and the least number of cycles from one event to the
#: next.
_SUMMED = {CounterId.OPENED: 4, CounterId.PACKETS: 4}


def _room(events):
    """The smallest number of the form 3 * 2**n that is at least ``events``: a cheap number for a counter to stop at."""
    return next(3 << n for n in range(8) if 3 << n >= events)


class PortCounters(wiring.Component):
    """Counts events of all ports by name.

    Parameters
    ----------
    ports : int
        Ports of the HUB.

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
    ``value`` in cycle t + 2 belongs to ``port`` and ``counter`` of cycle t; one reading in every cycle.

    The walker stays at a port for 3 cycles. It stays for 16 cycles if there is something to count under another name
    than OPENED and PACKETS. All events of a name since the last visit count once; OPENED and PACKETS count each event,
    up to ``room``. Where counters are to be cleared (after a reset: at every port) the walker stays 17 cycles more.

    Raises
    ------
    TypeError, ValueError
        If ``ports`` is not an int from 2 to 128.
    """

    def __init__(self, ports):
        check_ports(ports)
        self.ports = ports
        self.room = {kind: _room(3 * ports // apart) for kind, apart in _SUMMED.items()}
        super().__init__(
            {
                "events": In(len(CounterId)).array(ports),
                "awake": In(1),
                "clear": In(ports),
                "port": In(range(ports)),
                "counter": In(range(len(CounterId))),
                "value": Out(COUNTER_BITS),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        kinds = len(CounterId)
        # Two copies of the same content: one to add to, one to read from outside. An address that is read in the first
        # copy is never written in the same cycle.
        depth = kinds << index_bits(self.ports)
        m.submodules.memory = storage = memory.Memory(
            shape=COUNTER_BITS, depth=depth, init=[], attrs={"no_rw_check": 1}
        )
        m.submodules.look = shown = memory.Memory(shape=COUNTER_BITS, depth=depth, init=[])
        write_port, read_port = storage.write_port(), storage.read_port()
        copy_port, look_port = shown.write_port(), shown.read_port()

        # the port to visit next, as number and as mask
        turn = Signal(range(self.ports))
        at = Signal(self.ports, init=1)
        # the walker goes to this port; it takes the port's events along
        visit = Signal()
        load = Signal()
        dirty = Signal(self.ports, init=-1)  # ports whose counters are to be cleared

        # The events at each port since the walker's last visit. The values that the walker takes along are 0 except for
        # the port of its last visit.
        notes, sums = [], {kind: [] for kind in _SUMMED}
        for n, events in enumerate(self.events):
            visited, goes, leave = (Signal(name=f"{name}_{n}") for name in ("visited", "goes", "leave"))
            m.d.sync += visited.eq(at[n] & load)
            m.d.comb += [
                goes.eq(visited & ~dirty[n]),  # events behind a clearing wait until the clearing is done
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
                """``value`` + ``event`` without a carry chain, which would cost more; it stops at ``room``."""
                more = event & ~(value[-1] & value[-2])
                return Cat(bit ^ (more & value[:k].all()) for k, bit in enumerate(value))

            gather("noted", kinds - len(_SUMMED), lambda value: value | events[len(_SUMMED) :], notes)
            for kind in _SUMMED:
                gather(
                    kind.name.lower(), self.room[kind].bit_length(), lambda value: plus(value, events[kind]), sums[kind]
                )

        # The walker: its port, its counter there, and the events that it has found.
        port = Signal(range(self.ports))
        kind = Signal(range(kinds))
        arrived = Signal(kinds - len(_SUMMED))  # the events that it finds, in its second cycle at a port
        found = Signal(len(arrived) + 1, reset_less=True)
        carried = {
            kind: Signal(room.bit_length(), name=f"{kind.name.lower()}_carried") for kind, room in self.room.items()
        }
        for summed, values in sums.items():
            m.d.comb += carried[summed].eq(reduce(or_, values))
        m.d.comb += arrived.eq(reduce(or_, notes))
        idle = Signal(init=1)  # it is between two ports
        # the last cycle at this port; the walker has found events
        last = Signal()
        some = Signal()
        clearing = Signal()
        cleared = Signal()
        next_dirty = Signal(init=1)
        clean = Signal()  # nothing was found since port 0, and nothing can have happened
        m.d.comb += [
            self.busy.eq(~(idle & at[0] & clean & ~some)),
            visit.eq(last & ~(at[0] & clean) | idle & (self.busy | self.awake)),
            load.eq(visit & ~next_dirty),
        ]
        packets = Signal.like(carried[CounterId.PACKETS], reset_less=True)
        m.d.sync += [
            packets.eq(carried[CounterId.PACKETS]),
            kind.eq(kind + 1),
            found.eq(Mux(kind == 1, arrived << 1, found >> 1)),
            cleared.eq(clearing & (kind == kinds - 1)),
            next_dirty.eq((dirty & at).any()),
            dirty.eq(dirty & ~Mux(cleared, at.rotate_right(1), 0) | self.clear),
        ]
        with m.If(idle | last):
            m.d.sync += idle.eq(~visit)
        with m.Elif(kind == 1):
            m.d.sync += [
                last.eq(~(arrived.any() | clearing)),
                some.eq(arrived.any() | clearing | Cat(carried.values()).any()),
            ]
        with m.Elif(kind == kinds - 2):
            m.d.sync += last.eq(~clearing)
        with m.Elif(kind == kinds - 1):
            m.d.sync += [idle.eq(1), clearing.eq(0)]
        with m.If(visit):
            m.d.sync += [
                port.eq(turn),
                kind.eq(0),
                turn.eq(Mux(at[-1], 0, turn + 1)),
                at.eq(at.rotate_left(1)),
                last.eq(0),
                some.eq(0),
                clearing.eq(~load),
            ]
        # The walker rests at port 0 after a round without work: its place must not depend on the time without work.
        with m.If(self.awake):
            m.d.sync += clean.eq(0)
        with m.Elif(visit & at[0]):
            m.d.sync += clean.eq(1)
        with m.Elif(some):
            m.d.sync += clean.eq(0)

        # A counter is read, added to and written in three cycles. The walker comes back to it after six cycles at the
        # earliest.
        address, address_1, address_2 = (
            Signal(len(write_port.addr), name=f"address_{k}", reset_less=True) for k in range(3)
        )
        valid_1 = Signal()
        valid_2 = Signal()
        clearing_1 = Signal(reset_less=True)
        amount_1, amount_2 = (Signal(len(packets), name=f"amount_{k}", reset_less=True) for k in (1, 2))
        old = Signal(COUNTER_BITS, reset_less=True)
        new = Signal(COUNTER_BITS + 1)
        with m.Switch(address_1[: len(kind)]):
            with m.Case(CounterId.OPENED):
                m.d.comb += amount_1.eq(carried[CounterId.OPENED])
            with m.Case(CounterId.PACKETS):
                m.d.comb += amount_1.eq(packets)
            with m.Default():
                m.d.comb += amount_1.eq(found[0])
        m.d.comb += [
            address.eq(Cat(kind, port)),
            read_port.addr.eq(address),
            new.eq(old + amount_2),
        ]
        m.d.sync += [
            Cat(address_1, address_2).eq(Cat(address, address_1)),
            Cat(valid_1, valid_2).eq(Cat(~idle, valid_1)),
            clearing_1.eq(clearing),
            amount_2.eq(amount_1),
            old.eq(Mux(clearing_1, 0, read_port.data)),
        ]
        for memory_port in (write_port, copy_port):
            m.d.comb += [
                memory_port.addr.eq(address_2),
                memory_port.data.eq(new[:COUNTER_BITS] | new[COUNTER_BITS].replicate(COUNTER_BITS)),
                memory_port.en.eq(valid_2),
            ]

        # Reading. A port whose counters are still to be cleared shows 0.
        hidden_1 = Signal()
        hidden_2 = Signal()
        look = Signal(len(write_port.addr), reset_less=True)
        m.d.sync += [
            look.eq(Cat(self.counter, self.port)),
            hidden_1.eq(dirty.bit_select(self.port, 1)),
            hidden_2.eq(hidden_1),
        ]
        m.d.comb += [
            look_port.addr.eq(look),
            self.value.eq(Mux(hidden_2, 0, look_port.data)),
        ]

        if platform == "formal":
            m.d.comb += [
                Assert(at == Array(1 << n for n in range(self.ports))[turn], "number and mask name the same port"),
                Assert(turn < self.ports, "the walker stays among the ports"),
            ]
        return m
