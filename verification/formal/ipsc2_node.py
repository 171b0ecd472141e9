"""Proofs of hdl/ipsc2/node: DMA in writes nowhere but to its places, and the bus serves each access once.

Statement: docs/ipsc2-node.md, "DMA" and "Bus".
"""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.ipsc2.node.bus import CPU, IN, OUT, Bus
from ...hdl.ipsc2.node.registers import CPU_CYCLES, DMA_CYCLES
from ...hdl.ipsc2.node.store import Store
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "NodeBusProof", "StoreProof"]

_SIZE = 1 << 12
_WORDS = _SIZE // 4


class StoreProof(wiring.Component):
    """DMA in with places that lie in memory, words and answers at any time."""

    def __init__(self):
        self.store = Store(_SIZE)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        store = self.store
        m.submodules.store = look_into(store, platform)
        foreign = Signal(range(_WORDS))  # a word of no place

        def within(place):
            """No word of the place is the foreign one, and it ends in memory."""
            outside = (foreign < place.address) | (foreign >= place.address + place.words)
            return outside & (place.address + place.words <= _WORDS)

        m.d.comb += [
            foreign.eq(AnyConst(len(foreign))),
            *(getattr(store, name).eq(AnySeq(len(getattr(store, name).as_value()))) for name in ("head", "body")),
            *(getattr(store, name).eq(AnySeq(1)) for name in ("arm", "set_body")),
            store.words.valid.eq(AnySeq(1)),
            store.words.payload.eq(AnySeq(35)),
            store.done.eq(AnySeq(1) & store.wants),
            Assume(~store.arm | within(store.head)),
            Assume(~store.set_body | within(store.body)),
            Assert(~store.wants | (store.address != foreign), "a word is written to a place that software named"),
            Assert(~store.wants | store.words.valid, "what is written has arrived"),
            Assert(~(store.wants & store.done) | store.words.ready, "it is written once"),
            Assert((store.probes.head.words == 0) | within(store.probes.head)),
            Assert((store.probes.body.words == 0) | within(store.probes.body)),
        ]
        return m


class NodeBusProof(wiring.Component):
    """The bus with users who ask when they like: DMA as docs/ipsc2-node.md has it, the CPU may withdraw."""

    def __init__(self):
        self.bus = Bus(_SIZE)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        bus = self.bus
        m.submodules.bus = look_into(bus, platform)
        wants = {CPU: bus.cpu.valid, IN: bus.in_wants, OUT: bus.out_wants}
        m.d.comb += [
            *(signal.eq(AnySeq(1)) for signal in wants.values()),
            *(
                signal.eq(AnySeq(len(signal)))
                for signal in (bus.cpu.address, bus.cpu.write, bus.cpu.select, bus.cpu.write_data)
            ),
            *(signal.eq(AnySeq(len(signal))) for signal in (bus.in_address, bus.in_data, bus.out_address)),
        ]
        # Cycles for which somebody has had the bus, and whether it is the CPU.
        since = Signal(range(DMA_CYCLES))
        processor = Signal()
        length = Signal(range(DMA_CYCLES + 1))
        served = Signal()
        m.d.comb += [
            length.eq(Mux(processor, CPU_CYCLES, DMA_CYCLES)),
            served.eq(bus.cpu.done | bus.in_done | bus.out_done),
            Assert(served == ((since != 0) & (since == length - 1)), "an access is done in its last cycle, once"),
            Assert(~served | (bus.cpu.done == processor), "by whom it was asked for"),
            Assert(~bus.cpu.ready | (since == 0), "and none begins before"),
            Assert(~bus.quiet | (since == 0)),
            Assert((since == 0) == (bus.probes.owner == 0)),
            Assert((since == 0) | (bus.probes.left == length - 1 - since)),
            Assert((since == 0) | (processor == bus.probes.owner[CPU])),
            Assert((since == 0) | (since < length)),
            Assert((bus.probes.owner & (bus.probes.owner - 1)) == 0),
        ]
        with m.If((since == 0) & (bus.cpu.valid | bus.in_wants | bus.out_wants)):
            m.d.sync += [since.eq(1), processor.eq(bus.cpu.ready)]
        with m.Elif(served):
            m.d.sync += since.eq(0)
        with m.Elif(since != 0):
            m.d.sync += since.eq(since + 1)
        return m


PROOFS = [
    Proof(
        "node-store",
        "DMA in writes to its places only, each word once",
        'docs/ipsc2-node.md, "DMA"',
        holds={"store": Attempt(StoreProof)},
        search=Attempt(StoreProof, mode="bmc", depth=6),
        faults={
            "a word goes behind the head": Fault(Store, "address", lambda was, s: was + s.in_body),
            "a full place is written to": Fault(Store, "there", lambda was, s: was | s.armed),
            "a word is written before it has come": Fault(Store, "wants", lambda was, s: s.armed & s.there),
            "a word that was written is not taken": Fault(Store, "words__ready", lambda was, s: was & ~s.done),
        },
    ),
    Proof(
        "node-bus",
        "one at a time has the bus, for its cycles, and each access is done once",
        'docs/ipsc2-node.md, "Bus"; D4',
        holds={"bus": Attempt(NodeBusProof)},
        search=Attempt(NodeBusProof, mode="bmc", depth=12),
        faults={
            "two have it": Fault(Bus, "picked", lambda was, s: was | s.in_wants << IN),
            "the CPU is taken on while DMA has the bus": Fault(Bus, "cpu__ready", lambda was, s: s.cpu__valid),
            "an access is done twice": Fault(Bus, "done", lambda was, s: was | s.acts),
        },
    ),
]
