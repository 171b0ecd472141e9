"""Counters of all ports: 16 of 16 bits each, in one block RAM behind a walker that goes from port to port.

Source: "The Design of Nectar" (1989), section 4.1 names an instrumentation board; what is counted is ours
(``docs/monitor.md``).
"""

from amaranth.hdl import Array, Assert, Cat, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from .messages import check_ports, index_bits, one_hot_index
from .monitor_map import COUNTER_BITS, Counter

__all__ = ["Counters"]

#: Counters that are exact: a port adds their events up until the walker comes.
_SUMMED = (Counter.OPENED, Counter.PACKETS)


class Counters(wiring.Component):
    """Counts events of all ports by name.

    Parameters
    ----------
    ports : int
        Ports of the HUB.

    Members
    -------
    events : In(16).array(ports)
        Events of each port, by number of the Counter; any of them in any cycle in which ``awake`` is 1.
    awake : In(1)
        There may be an event.
    clear : In(ports)
        Pulses: the counters of these ports are 0 from the next cycle on.
    port, counter : In(range(ports)), In(4)
        The counter to read.
    value : Out(16)
        What it shows. A counter stops at 65535.
    busy : Out(1)
        Something is still to be counted or cleared; while it is 0 and ``awake`` too, nothing changes.

    Timing
    ------
    ``value`` is what the counter of cycle t shows in cycle t + 2; one reading in every cycle.
    The walker stays at a port one cycle for each counter that has something to count, at least one cycle. What happened since its last
    visit counts once, for OPENED and PACKETS as often as it happened, up to the room of a port's sums: 2 N - 1 packets, N / 2 connections, or the
    next greater 2**n - 1. A port whose counters are cleared, which all are by a reset, costs the next visit 16 cycles more.

    Raises
    ------
    TypeError, ValueError
        If ``ports`` is not an int from 2 to 128.
    """

    def __init__(self, ports):
        check_ports(ports)
        self.ports = ports
        self.room = {Counter.OPENED: (1 << bits_for(ports // 2)) - 1, Counter.PACKETS: (1 << bits_for(2 * ports - 1)) - 1}
        super().__init__({
            "events": In(len(Counter)).array(ports), "awake": In(1), "clear": In(ports),
            "port": In(range(ports)), "counter": In(range(len(Counter))), "value": Out(COUNTER_BITS), "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        kinds = len(Counter)
        m.submodules.memory = storage = memory.Memory(shape=COUNTER_BITS, depth=kinds << index_bits(self.ports), init=[])
        write_port, read_port, look_port = storage.write_port(), storage.read_port(), storage.read_port()

        turn, at = Signal(range(self.ports)), Signal(self.ports, init=1)  # the port to visit next, as number and as mask
        visit, load = Signal(), Signal()                                  # the walker goes on; takes along what it finds
        dirty = Signal(self.ports, init=-1)                               # ports whose counters are to be cleared

        # What has happened at each port since the walker's last visit.
        found, sums = [], {kind: [] for kind in _SUMMED}
        for n, events in enumerate(self.events):
            leave = Signal(name=f"leave_{n}")
            noted = Signal(kinds, name=f"noted_{n}")
            m.d.comb += leave.eq(at[n] & load | self.clear[n])
            bits = list(noted)
            for kind in Counter:
                if kind in _SUMMED:
                    total = Signal(range(self.room[kind] + 1), name=f"{kind.name.lower()}_{n}")
                    sums[kind].append(total)
                    bits[kind] = total.any()
                    with m.If(leave):
                        m.d.sync += total.eq(events[kind])
                    with m.Elif(events[kind] & ~total.all()):
                        m.d.sync += total.eq(total + 1)
                else:
                    m.d.sync += noted[kind].eq(events[kind] | noted[kind] & ~leave)
            found.append(Cat(bits))

        # The walker: the port where it stands, and what it has still to do there, lowest number first.
        port = Signal(range(self.ports))
        work, after, here = Signal(kinds), Signal(kinds), Signal(kinds)
        clearing, parked, clean = Signal(), Signal(), Signal()
        carried = {kind: Signal(range(self.room[kind] + 1), name=f"{kind.name.lower()}_carried", reset_less=True) for kind in _SUMMED}
        done, rest = Signal(), Signal()
        m.d.comb += [
            after.eq(work & (work - 1)),
            here.eq(Array(found)[turn]),
            done.eq(after == 0),
            rest.eq(at[0] & clean & ~self.awake),
            visit.eq(done & ~clearing & ~parked & ~rest),
            load.eq(visit & ~(dirty & at).any()),
            self.busy.eq(~parked),
        ]
        m.d.sync += work.eq(after)
        with m.If(done):
            m.d.sync += clearing.eq(0)
        with m.If(visit):
            m.d.sync += [
                port.eq(turn),
                turn.eq(Mux(at[-1], 0, turn + 1)),
                at.eq(at.rotate_left(1)),
                work.eq(Mux(load, here, (1 << kinds) - 1)),
                clearing.eq(~load),
                *(carried[kind].eq(Array(sums[kind])[turn]) for kind in _SUMMED),
                clean.eq((at[0] | clean) & load & (here == 0)),
            ]
        with m.If(self.awake):
            m.d.sync += [clean.eq(0), parked.eq(0)]
        with m.Elif(done & ~clearing & rest):
            # It rests after a round without work, always here, so that what it does next depends on no time before.
            m.d.sync += parked.eq(1)

        # A counter is read, added to and written in three cycles; the walker comes back to it after four at the earliest.
        cleared = Signal()
        m.d.sync += [
            cleared.eq(clearing & done),
            dirty.eq(dirty & ~Mux(cleared, at.rotate_right(1), 0) | self.clear),
        ]
        address, address_1, address_2 = (Signal(len(write_port.addr), name=f"address_{k}", reset_less=True) for k in range(3))
        valid_1, valid_2, clearing_1 = Signal(), Signal(), Signal(reset_less=True)
        amount, total = (Signal(len(carried[Counter.PACKETS]), name=name, reset_less=True) for name in ("amount", "amount_2"))
        old = Signal(COUNTER_BITS, reset_less=True)
        new = Signal(COUNTER_BITS + 1)
        m.d.comb += [
            address.eq(Cat(one_hot_index(work & ~after), port)),
            read_port.addr.eq(address),
            new.eq(old + total),
            write_port.addr.eq(address_2),
            write_port.data.eq(new[:COUNTER_BITS] | new[COUNTER_BITS].replicate(COUNTER_BITS)),
            write_port.en.eq(valid_2),
        ]
        m.d.sync += [
            address_1.eq(address),
            valid_1.eq(work != 0),
            clearing_1.eq(clearing),
            amount.eq(Mux(clearing, 0, Mux(work[Counter.OPENED], carried[Counter.OPENED], Mux(work[Counter.PACKETS], carried[Counter.PACKETS], 1)))),
            address_2.eq(address_1),
            valid_2.eq(valid_1),
            total.eq(amount),
            old.eq(Mux(clearing_1, 0, read_port.data)),
        ]

        # Reading. A port whose counters are still to be cleared shows 0.
        hidden_1, hidden_2 = Signal(), Signal()
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
                Assert((at & (at - 1))[:self.ports] == 0, "the walker stands at one port"),
                Assert((at >> turn)[0], "number and mask name the same port"),
            ]
        return m
