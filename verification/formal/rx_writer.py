"""Proof of hdl/cab/rx_writer.py: the DMA of fiber in writes the bytes that it took to the areas that it was given, and
nothing else.

Statement: docs/cab.md, "Fiber in" (scatter, at any byte address). One arbitrary byte of the memory lies in none of the
areas: it is never written. One arbitrary byte that is taken is followed until it is in memory."""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.utils import exact_log2

from ...hdl.cab.addresses import LENGTH_BITS
from ...hdl.cab.memory import LANES
from ...hdl.cab.rx_writer import RxWriter
from .faults import Fault, with_fields
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "RxWriterProof"]


class RxWriterProof(wiring.Component):
    """A store: bytes, areas in data memory, the memory's cycles, flushes and its user's giving up at any time."""

    def __init__(self, data_bytes):
        self.store = RxWriter(data_bytes)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        store, size = self.store, self.store.data_bytes
        m.submodules.store = look_into(store, platform)
        probes, memory, area = store.probes, store.memory, store.areas.payload
        bits = exact_log2(size)

        foreign = Signal(bits)  # a byte of no area
        m.d.comb += [
            foreign.eq(AnyConst(bits)),
            store.areas.valid.eq(AnySeq(1)),
            area.address.eq(AnySeq(bits)),
            area.length.eq(AnySeq(LENGTH_BITS)),
            Assume((area.length == 0) | (area.address + area.length <= size)),
            Assume((foreign < area.address) | (foreign >= area.address + area.length)),
            store.data.eq(AnySeq(8)),
            store.flush.eq(AnySeq(1)),
            store.valid.eq(AnySeq(1) & ~store.flush),
            store.forget.eq(AnySeq(1)),
            memory.ready.eq(AnySeq(1) & memory.valid),
        ]

        # The area at work, as its bytes are taken.
        at, left, takes = Signal(bits), Signal(LENGTH_BITS), Signal()
        m.d.comb += takes.eq(store.valid & store.ready)
        with m.If(store.areas.valid & store.areas.ready):
            m.d.sync += [at.eq(area.address), left.eq(area.length)]
        with m.If(takes):
            m.d.sync += [at.eq(at + 1), left.eq(left - 1)]
        with m.If(store.forget):
            m.d.sync += left.eq(0)

        def lane(select, address):
            """The bit of ``select`` that is the byte at ``address``."""
            return select.bit_select(~address[:2], 1)

        def holds(select, word, address, value):
            return lane(select, address) & (word.word_select(~address[:2], 8) == value)

        m.d.comb += [
            Assert((probes.address == at) & (probes.remaining == left)),
            Assert(~takes | (left != 0), "no byte is taken for which there is no room"),
            Assert((left == 0) | (at + left <= size), "the area at work lies in memory"),
            Assert((left == 0) | (foreign < at) | (foreign >= at + left)),
            Assert((probes.select == 0) | ((at[:2] != 0) & (left != 0)), "bytes wait for more of their word"),
            *(Assert(~probes.select[LANES - 1 - n] | (n < at[:2])) for n in range(LANES)),
            Assert(~(lane(probes.select, foreign) & (foreign[2:] == at[2:]))),
            Assert(
                ~(memory.valid & lane(memory.select, foreign) & (memory.address == foreign[2:])),
                "what is in no area is not written",
            ),
            Assert(store.exhausted == ((left == 0) & ~store.areas.valid)),
        ]

        # The byte that is followed: in the word that is put together, then in the word that waits for the memory.
        together, waits, value, place = Signal(), Signal(), Signal(8), Signal(bits)
        done = memory.valid & memory.ready
        starts = takes & ~(together | waits) & AnySeq(1)
        with m.If(starts):
            m.d.sync += [value.eq(store.data), place.eq(at)]
        moves = Signal()  # the word that is put together goes to the memory
        free = ~memory.valid | memory.ready
        m.d.comb += moves.eq(
            (takes & ((at[:2] == LANES - 1) | (left == 1))) | (store.flush & (probes.select != 0) & free)
        )
        m.d.sync += [
            together.eq((together | starts) & ~moves & ~store.forget),
            waits.eq(((together | starts) & moves) | (waits & ~done)),
        ]
        m.d.comb += [
            Assert(~(moves & ~free), "no word is lost for the next one"),
            Assert(~(together & waits)),
            Assert(
                ~together | (holds(probes.select, probes.word, place, value) & (place[2:] == at[2:])),
                "what was taken is there",
            ),
            Assert(
                ~waits
                | (memory.valid & (memory.address == place[2:]) & holds(memory.select, memory.data, place, value)),
                "and is written to its place, unchanged",
            ),
            Assert(~store.empty | ~(together | waits), "it is not told to be written before it is"),
        ]
        return m


def _ends_word(s):
    """Whether the byte that is offered is the last one of its word."""
    return s.address[:2] == LANES - 1


def _moves_on(s):
    """Whether a word goes to the memory."""
    free = ~s.memory__valid | s.memory__ready
    return (s.valid & s.ready & (_ends_word(s) | s.last)) | (s.flush & (s.select != 0) & free)


def _ends_early(s):
    """Whether an area ends with the byte that is taken, and its word does not."""
    return s.valid & s.ready & s.last & ~_ends_word(s)


PROOFS = [
    Proof(
        "rx_writer",
        "it writes what it took where it may, and nothing else",
        'docs/cab.md, "Fiber in"',
        holds={
            "4 kbyte": Attempt(lambda: RxWriterProof(4 << 10)),
            "1 Mbyte": Attempt(lambda: RxWriterProof(1 << 20)),
        },
        search=Attempt(lambda: RxWriterProof(4 << 10), mode="bmc", depth=8),
        faults={
            "an area has one byte more": Fault(
                RxWriter, "areas__payload", lambda was, s: with_fields(was, length=was.length + 1)
            ),
            "bytes of the word before are written again": Fault(
                RxWriter, "select", lambda was, s: Mux(_moves_on(s) & ~s.forget, s.select, was)
            ),
            "a word that ends early goes to the next place": Fault(
                RxWriter,
                "memory__address",
                lambda was, s: Mux(_moves_on(s) & ~(s.valid & s.ready), (s.address + 1)[2:], was),
            ),
            "the end of an area does not end its word": (
                Fault(RxWriter, "ready", lambda was, s: was | ~s.areas__ready & s.last & ~_ends_word(s)),
                Fault(RxWriter, "select", lambda was, s: Mux(_ends_early(s) & ~s.forget, s.selected, was)),
                Fault(
                    RxWriter,
                    "memory__valid",
                    lambda was, s: Mux(_ends_early(s), s.memory__valid & ~s.memory__ready, was),
                ),
                *(
                    Fault(RxWriter, name, lambda was, s, name=name: Mux(_ends_early(s), s[name], was))
                    for name in ("memory__address", "memory__select", "memory__data")
                ),
            ),
            "a word is taken while the one before waits": Fault(RxWriter, "ready", lambda was, s: ~s.areas__ready),
            "all is told to be written too early": Fault(RxWriter, "empty", lambda was, s: s.select == 0),
        },
    )
]
