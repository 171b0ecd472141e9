"""The node: CPU bus, memory, two channels of DMA, FIFOs, serializer and deserializer, registers.

Source: Close, "The iPSC/2 Node Architecture" (1988), section 2; ``docs/ipsc2-node.md`` specifies this board. The CPU
itself is software, and the router is another module.
"""

from amaranth.hdl import Cat, Const, EnableInserter, Module, ResetInserter, Signal
from amaranth.lib import fifo, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..formats import MOST_WIRE, WORD_BITS, flight
from ..signatures import NodeSink, NodeSource
from .bus import Bus, CpuPort
from .control import Control
from .deserializer import Deserializer
from .fetch import Fetch
from .registers import MEMORY_BYTES, REG
from .serializer import Serializer
from .store import Store

__all__ = ["FIFO_WORDS", "HEADROOM", "Node"]

_WIDTH = 2 * WORD_BITS
#: Words of 32 bits that each of the two FIFOs holds.
FIFO_WORDS = 32
#: Words that the FIFO inward has room for when RDY falls: those under way, half a word before, and one in its port.
HEADROOM = (flight(7, MOST_WIRE) + 1) // 2 + 2


class Node(wiring.Component):
    """A node without its router.

    Parameters
    ----------
    memory_bytes : int
        Size of the memory: a power of two, 4 kbyte to 8 Mbyte.

    Members
    -------
    bus : Out(CpuPort())
        The CPU bus.
    irq : Out(1)
        Interrupt line of the CPU.
    tick : In(1)
        A period of the strobe: serializer and deserializer, and the router, move in cycles with 1 only.
    source : Out(NodeSource()), sink : In(NodeSink())
        To and from the router.
    reset_link : Out(1)
        In this cycle software resets the router.
    idle : Out(1)
        Nothing but an access of the CPU, the router or the timer can change the state.
    wake_in, slept : Out(32), In(32)
        Clock edges that may be left out; that were left out.

    Timing
    ------
    ``docs/ipsc2-node.md``, "Bus".

    Raises
    ------
    TypeError, ValueError
        If there is no memory of such a size.
    """

    def __init__(self, memory_bytes=MEMORY_BYTES):
        self._bus = Bus(memory_bytes)
        self._control = Control(memory_bytes)
        super().__init__(
            {
                "bus": Out(CpuPort()),
                "irq": Out(1),
                "tick": In(1),
                "source": Out(NodeSource()),
                "sink": In(NodeSink()),
                "reset_link": Out(1),
                "idle": Out(1),
                "wake_in": Out(_WIDTH),
                "slept": In(_WIDTH),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.bus = bus = self._bus
        m.submodules.control = control = self._control
        reset = Signal()
        m.d.comb += [reset.eq(control.reset), self.reset_link.eq(reset)]
        connect(m, flipped(self.bus), bus.cpu)

        def part(component, moves=None):
            """A part that software can reset, and that moves with ``moves`` only."""
            if moves is not None:
                component = EnableInserter(moves)(component)
            return ResetInserter(reset)(component)

        size = bus.memory_bytes
        fetch, store, serializer, deserializer = Fetch(size), Store(size), Serializer(), Deserializer()
        width = len(fetch.words.payload.as_value())
        outward = fifo.SyncFIFOBuffered(width=width, depth=FIFO_WORDS)
        inward = fifo.SyncFIFOBuffered(width=len(store.words.payload.as_value()), depth=FIFO_WORDS)
        m.submodules.fetch = part(fetch)
        m.submodules.store = part(store)
        m.submodules.outward = part(outward)
        m.submodules.inward = part(inward)
        m.submodules.serializer = part(serializer, self.tick)
        m.submodules.deserializer = part(deserializer, self.tick)
        connect(m, flipped(self.source), serializer.source)
        connect(m, flipped(self.sink), deserializer.sink)

        # Outward: memory, FIFO, serializer. Only one word is on its way to the FIFO, so it has room when it comes.
        m.d.comb += [
            fetch.areas.payload.eq(control.areas.payload),
            fetch.areas.valid.eq(control.areas.valid),
            control.areas.ready.eq(fetch.areas.ready),
            bus.out_wants.eq(fetch.wants),
            bus.out_address.eq(fetch.address),
            fetch.done.eq(bus.out_done),
            fetch.read_data.eq(bus.out_data),
            outward.w_data.eq(fetch.words.payload.as_value()),
            outward.w_en.eq(fetch.words.valid),
            fetch.words.ready.eq(outward.w_rdy),
            serializer.words.payload.as_value().eq(outward.r_data),
            serializer.words.valid.eq(outward.r_rdy),
            outward.r_en.eq(serializer.words.ready & self.tick),
            control.sent.eq(serializer.sent & self.tick),
            control.refused.eq(serializer.refused & self.tick),
            control.aborted.eq(serializer.aborted & self.tick),
        ]
        # Inward: deserializer, FIFO, memory.
        m.d.comb += [
            inward.w_data.eq(deserializer.words.payload.as_value()),
            inward.w_en.eq(deserializer.words.valid & self.tick),
            deserializer.words.ready.eq(inward.w_rdy),
            deserializer.room.eq(inward.w_level <= FIFO_WORDS - HEADROOM),
            store.words.payload.as_value().eq(inward.r_data),
            store.words.valid.eq(inward.r_rdy),
            inward.r_en.eq(store.words.ready),
            bus.in_wants.eq(store.wants),
            bus.in_address.eq(store.address),
            bus.in_data.eq(store.write_data),
            store.done.eq(bus.in_done),
            store.head.eq(control.head),
            store.arm.eq(control.arm),
            store.body.eq(control.body),
            store.set_body.eq(control.set_body),
            control.body_left.eq(store.body_left),
            control.arrived.eq(store.arrived),
        ]
        was_arrived = Signal()
        m.d.sync += was_arrived.eq(store.arrived)
        m.d.comb += control.checksum.eq(store.arrived & ~was_arrived & store.bad)
        # What software asks for between two ticks waits for the tick.
        for name, port in (("abort", serializer.abort), ("drop", deserializer.drop)):
            waits = Signal(name=f"{name}_waits")
            asked = getattr(control, name)
            m.d.comb += port.eq(asked | waits)
            m.d.sync += waits.eq((asked | waits) & ~self.tick)

        def word(register, **values):
            """A word of a register, from its fields."""
            found, place = [], 0
            for each in sorted(REG[register].fields, key=lambda each: each.low):
                value = Signal(each.width, name=f"{register.lower()}_{each.name}")
                m.d.comb += value.eq(values.pop(each.name))
                found += [Const(0, each.low - place), value]
                place = each.low + each.width
            assert not values
            return Cat(*found)

        m.d.comb += [
            control.result.eq(
                word(
                    "IN_RESULT",
                    words=store.stored,
                    too_long=store.too_long,
                    in_body=store.in_body,
                    bad=store.bad,
                    cut=store.cut,
                    valid=store.arrived,
                )
            ),
            control.status.eq(
                word(
                    "STATUS",
                    out_areas=fetch.count,
                    out_busy=serializer.busy,
                    asking=serializer.source.request & ~serializer.source.grant,
                    granted=serializer.source.grant,
                    allowed=serializer.source.allow,
                    receiving=deserializer.receiving,
                    armed=store.armed,
                    in_words=inward.level,
                    out_words=outward.level,
                )
            ),
            control.register.eq(bus.register),
            control.write.eq(bus.register_write),
            control.act.eq(bus.register_act),
            control.data.eq(bus.register_data),
            bus.register_value.eq(control.value),
            bus.register_error.eq(control.error),
            control.slept.eq(self.slept),
            self.wake_in.eq(control.wake_in),
            self.irq.eq(control.irq),
            self.idle.eq(
                bus.quiet
                & (fetch.count == 0)
                & (outward.level == 0)
                & (inward.level == 0)
                & ~serializer.busy
                & ~deserializer.receiving
                & ~self.sink.open
                & (store.arrived == was_arrived)
            ),
        ]
        return m
