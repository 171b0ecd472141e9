"""Proof of hdl/cab/tx_reader.py: the DMA of fiber out reads the words of its areas and no others, and passes their
bytes on in order.

Statement: docs/cab.md, "Fiber out" (gather, areas at any byte with any length).
"""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.utils import exact_log2

from ...hdl.cab.addresses import LENGTH_BITS
from ...hdl.cab.memory import LANES
from ...hdl.cab.tx_reader import EntryKind, TxReader
from .faults import Fault, with_fields
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "TxReaderProof"]


class TxReaderProof(wiring.Component):
    """A reader: entries whose areas lie in data memory, room and the memory's cycles at any time."""

    def __init__(self, data_bytes):
        self.reader = TxReader(data_bytes)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        reader, size = self.reader, self.reader.data_bytes
        m.submodules.reader = look_into(reader, platform)
        probes, memory, item, entry = reader.probes, reader.memory, reader.items.payload, reader.entries.payload
        bits = exact_log2(size)

        foreign = Signal(bits - 2)  # a word of no area
        room_stays = Signal()
        length = Signal(LENGTH_BITS)
        area = Signal()
        m.d.comb += [
            foreign.eq(AnyConst(bits - 2)),
            reader.entries.valid.eq(AnySeq(1)),
            entry.eq(AnySeq(len(entry.as_value()))),
            reader.memory_data.eq(AnySeq(32)),
            memory.ready.eq(AnySeq(1) & memory.valid),
            reader.items.ready.eq(AnySeq(1)),
            length.eq(entry.value),
            area.eq(entry.kind.as_value() == EntryKind.AREA.value),
            Assume(~area | (entry.value < 1 << LENGTH_BITS) & (entry.bytes == (entry.value != 0))),
            Assume(~area | (length == 0) | (entry.address + length <= size)),
            Assume(
                ~area
                | (length == 0)
                | (foreign < entry.address[2:])
                | (foreign > (entry.address + length - 1)[2:LENGTH_BITS])
            ),
            Assume(reader.items.ready | ~room_stays),
        ]
        m.d.sync += room_stays.eq(reader.items.ready & ~reader.items.valid)

        # The area at work: where its next byte is, and how many there are.
        works, at, left, first = Signal(), Signal(bits), Signal(LENGTH_BITS), Signal()
        begun, count = Signal.like(entry), Signal(3)
        room = LANES - at[:2]
        begins = reader.entries.valid & reader.entries.ready & area & (length != 0)
        m.d.comb += [count.eq(Mux(left < room, left, room)), works.eq(left != 0)]
        with m.If(begins):
            m.d.sync += [at.eq(entry.address), left.eq(length), first.eq(1), begun.eq(entry)]
        with m.Elif(works & reader.items.valid & reader.items.ready):
            m.d.sync += [at.eq(at + count), left.eq(left - count), first.eq(0)]
        final = count == left
        m.d.comb += [
            Assert((probes.reads | probes.passes) == works, "an area is worked on until its last byte"),
            Assert(~(probes.reads & probes.passes)),
            Assert(reader.busy == works),
            Assert(
                ~works
                | (
                    (probes.address == at[2:])
                    & (probes.first == at[:2])
                    & (probes.remaining == left)
                    & (at + left <= size)
                )
            ),
            Assert(~works | (foreign < at[2:]) | (foreign > (at + left - 1)[2 : bits + 1])),
            Assert(
                ~memory.valid | (works & reader.items.ready & (memory.address == at[2:])),
                "only words of the area are read",
            ),
            Assert(~(memory.valid & (memory.address == foreign)), "what is in no area is not read"),
            Assert(
                ~probes.passes
                | reader.items.valid
                & item.lanes
                & (item.first == at[:2])
                & (item.last == (at[:2] + count - 1)[:2])
                & (item.word == reader.memory_data),
                "all bytes of the word that are the area's, and no others",
            ),
            Assert(
                ~probes.passes
                | (
                    (item.prefix == (first & begun.start))
                    & (item.end == (final & begun.end))
                    & (item.crc == (final & begun.crc))
                    & (item.notify == (final & begun.notify))
                )
            ),
            Assert(~probes.passes | room_stays),
            Assert(~probes.reads | ~reader.items.valid),
            Assert(
                works
                | (
                    reader.items.valid
                    == (
                        reader.entries.valid
                        & (entry.kind.as_value() <= EntryKind.SYMBOL.value)
                        & ~(area & (length != 0))
                    )
                )
            ),
            Assert(~(works & reader.entries.ready), "entries wait for the one before"),
        ]
        for kept in ("start", "end", "crc", "notify"):
            m.d.comb += Assert(
                ~works | (getattr(probes, kept) == (getattr(begun, kept) & (first if kept == "start" else 1)))
            )
        return m


PROOFS = [
    Proof(
        "tx_reader",
        "it reads its areas and nothing else",
        'docs/cab.md, "Fiber out"',
        holds={
            "4 kbyte": Attempt(lambda: TxReaderProof(4 << 10)),
            "1 Mbyte": Attempt(lambda: TxReaderProof(1 << 20)),
        },
        search=Attempt(lambda: TxReaderProof(4 << 10), mode="bmc", depth=8, timeout=60),
        faults={
            "a word more than the area has is read": Fault(TxReader, "final", lambda was, s: s.reach < LANES),
            "the second word begins where the first did": Fault(
                TxReader, "first", lambda was, s: Mux(s.passes, s.first, was)
            ),
            "the last word is sent whole": Fault(
                TxReader, "items__payload", lambda was, s: Mux(s.passes, with_fields(was, last=LANES - 1), was)
            ),
            "a word is read without room for it": Fault(TxReader, "memory__valid", lambda was, s: s.reads),
            "every word begins a packet": Fault(TxReader, "start", lambda was, s: Mux(s.passes, s.start, was)),
        },
    )
]
