"""Proof of hdl/cab/scatter.py: the areas that fiber in's DMA is given are those that were named, in order, each once.

Statement: docs/cab.md, "Fiber in". The list inside is Amaranth's FIFO; in its place stands a row of registers, ``Row``,
and a search compares the two (``FifoSearch``).
"""

from types import SimpleNamespace
from unittest import mock

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Array, Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from ...hdl.cab import scatter as module
from ...hdl.cab.addresses import ADDRESS_BITS, LENGTH_BITS, REGIONS
from ...hdl.cab.scatter import Scatter
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "FifoSearch", "Row", "ScatterProof"]


class Row(wiring.Component):
    """As ``SyncFIFO``, of ``depth`` registers, ``places``, the oldest first."""

    def __init__(self, *, width, depth):
        self.depth = depth
        self.places = [Signal(width, name=f"place_{n}") for n in range(depth + 1)]
        super().__init__(
            {
                "w_data": In(width),
                "w_rdy": Out(1),
                "w_en": In(1),
                "r_data": Out(width),
                "r_rdy": Out(1),
                "r_en": In(1),
                "level": Out(range(depth + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        enters, leaves = Signal(), Signal()
        m.d.comb += [
            self.w_rdy.eq(self.level != self.depth),
            self.r_rdy.eq(self.level != 0),
            self.r_data.eq(self.places[0]),
            enters.eq(self.w_en & self.w_rdy),
            leaves.eq(self.r_en & self.r_rdy),
            Assert(self.level <= self.depth, "no more entries than there is room for"),
        ]
        m.d.sync += self.level.eq(self.level + enters - leaves)
        for n in range(self.depth):
            with m.If(enters & (n == self.level - leaves)):
                m.d.sync += self.places[n].eq(self.w_data)
            with m.Elif(leaves):
                m.d.sync += self.places[n].eq(self.places[n + 1])
        return m


class FifoSearch(wiring.Component):
    """Amaranth's FIFO beside the row: they say the same, whatever is asked of them."""

    def __init__(self, width, depth, Fifo=SyncFIFO):
        self.both = Row(width=width, depth=depth), Fifo(width=width, depth=depth)
        self.width = width
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.row, m.submodules.fifo = row, fifo = self.both
        w_en, r_en, w_data = Signal(), Signal(), Signal(self.width)
        m.d.comb += [w_en.eq(AnySeq(1)), r_en.eq(AnySeq(1)), w_data.eq(AnySeq(self.width))]
        for one in self.both:
            m.d.comb += [one.w_en.eq(w_en), one.r_en.eq(r_en), one.w_data.eq(w_data)]
        m.d.comb += Assert(
            (row.w_rdy == fifo.w_rdy)
            & (row.r_rdy == fifo.r_rdy)
            & (row.level == fifo.level)
            & (~row.r_rdy | (row.r_data == fifo.r_data)),
            "the same",
        )
        return m


class ScatterProof(wiring.Component):
    """The list of areas, with ``depth`` places: registers written, packets that wait, are over and take areas, at any
    time."""

    def __init__(self, data_bytes, depth):
        self.depth = depth
        self.scatter = Scatter(data_bytes)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        scatter, size, base = self.scatter, self.scatter.data_bytes, REGIONS["data"].base
        rows = []

        def row(**parameters):
            rows.append(Row(**parameters))
            return rows[-1]

        with mock.patch.multiple(module, fifo=SimpleNamespace(SyncFIFO=row), RX_LIST_DEPTH=self.depth):
            m.submodules.scatter = look_into(scatter, platform)
        probes, [list_] = scatter.probes, rows
        areas = scatter.areas
        wants = Signal(2)
        m.d.comb += [
            wants.eq(AnySeq(2)),
            scatter.waits.eq(AnySeq(1)),
            scatter.clear.eq(AnySeq(1)),
            areas.ready.eq(AnySeq(1)),
        ]
        for n, name in enumerate(("rx_address", "rx_area", "rx_start"), 1):
            port = getattr(scatter, name)
            m.d.comb += [
                port.data.eq(AnySeq(32)),
                port.write.eq((wants == n) & ~(0 if name == "rx_address" else port.refuse)),
            ]

        # What is named, and a byte that is in none of it.
        address, foreign = Signal(ADDRESS_BITS), Signal(ADDRESS_BITS)
        m.d.comb += foreign.eq(AnyConst(ADDRESS_BITS))
        with m.If(scatter.rx_address.write):
            m.d.sync += address.eq(scatter.rx_address.data)
        for name, length in (("rx_area", scatter.rx_area.data.length), ("rx_start", scatter.rx_start.data.limit)):
            port = getattr(scatter, name)
            m.d.comb += [
                Assert(
                    port.area_address == address, "the area that the protection is asked about is the one that is used"
                ),
                Assert(
                    ~port.write | (length == 0) | ((address >= base) & (address + length <= base + size)),
                    "it lies in data memory",
                ),
                Assume(~port.write | (length == 0) | (foreign < address) | (foreign >= address + length)),
            ]

        def good(area):
            """Inside data memory, and not where the foreign byte is."""
            at = base + area.address
            return (area.length == 0) | (
                (at + area.length <= base + size) & ((foreign < at) | (foreign >= at + area.length))
            )

        layout = areas.payload.shape()
        m.d.comb += [
            *(Assert((n >= list_.level) | good(layout(list_.places[n]))) for n in range(list_.depth)),
            Assert(~probes.final_waits | good(probes.final)),
            Assert(~areas.valid | good(areas.payload), "no area but those that were named"),
            Assert(~probes.final_waits | probes.running),
        ]

        # One of the areas is followed, be it RX_START's: how many are before it.
        follows, is_last, ahead = Signal(), Signal(), Signal(range(list_.depth + 1))
        named = Signal.like(areas.payload)
        takes, forgotten = Signal(), Signal()
        entering = (scatter.rx_area.write | scatter.rx_start.write) & AnySeq(1) & ~follows
        m.d.comb += takes.eq(areas.valid & areas.ready)
        with m.If(entering):
            m.d.sync += [
                follows.eq(1),
                is_last.eq(scatter.rx_start.write),
                named.address.eq(address),
                named.length.eq(Mux(scatter.rx_start.write, scatter.rx_start.data.limit, scatter.rx_area.data.length)),
                ahead.eq(list_.level - (list_.r_en & list_.r_rdy)),
            ]
        with m.Elif(follows & list_.r_en & list_.r_rdy & (ahead != 0)):
            m.d.sync += ahead.eq(ahead - 1)
        with m.Elif(follows & takes):
            m.d.sync += follows.eq(0)
        # Another RX_START comes only for another packet.
        m.d.comb += [Assume(~(scatter.rx_start.write & probes.running)), forgotten.eq(scatter.clear)]
        with m.If(forgotten):
            m.d.sync += follows.eq(0)
        with m.If(follows):
            m.d.comb += [
                Assert(
                    ~is_last | (probes.running & probes.final_waits & (ahead == list_.level) & (probes.final == named)),
                    "the last one waits for its turn",
                ),
                Assert(
                    is_last
                    | ((ahead < list_.level) & (Array(list_.places)[ahead] == named.as_value()) & ~probes.emptying),
                    "one of the list, too",
                ),
                Assert(~(takes & (ahead == 0)) | (areas.payload == named), "each is given once, in order"),
            ]
        m.d.comb += [
            Assert(~takes | probes.running, "none before RX_START"),
            Assert(
                ~(probes.running & ~probes.emptying & (probes.final_waits | (list_.level != 0))) | areas.valid,
                "and none is held back then",
            ),
            Assert(LENGTH_BITS >= len(areas.payload.address)),
        ]
        return m


def _last_is_taken(s):
    """Whether the area of RX_START is taken."""
    return s.areas__valid & s.areas__ready & ~s["list.r_rdy"]


PROOFS = [
    Proof(
        "scatter",
        "it gives the areas that were named",
        'docs/cab.md, "Fiber in"',
        holds={
            "4 kbyte": Attempt(lambda: ScatterProof(4 << 10, 3), timeout=100, nightly=True),
            "1 Mbyte": Attempt(lambda: ScatterProof(1 << 20, 3), timeout=100, nightly=True),
        },
        search=Attempt(lambda: ScatterProof(4 << 10, 2), mode="bmc", depth=9, timeout=90),
        everyday=0,
        faults={
            "an area of RX_START that comes while the list is emptied is lost": Fault(
                Scatter,
                "final_waits",
                lambda was, s: Mux(s.rx_start__write, was, was & ~(s.areas__ready & ~s["list.r_rdy"])),
            ),
            "an area may lie anywhere": Fault(
                Scatter, "rx_area__refuse", lambda was, s: s.running | s.emptying | ~s["list.w_rdy"]
            ),
            "the last area goes first": Fault(
                Scatter, "areas__payload", lambda was, s: Mux(s.final_waits, s.final, s["list.r_data"])
            ),
            "areas of a packet that is over are given to the next": Fault(
                Scatter,
                "final_waits",
                lambda was, s: Mux(s.clear, s.rx_start__write | s.final_waits & ~_last_is_taken(s), was),
            ),
            "areas are taken before RX_START": Fault(Scatter, "list.r_en", lambda was, s: s.emptying | s.areas__ready),
        },
    ),
    Proof(
        "fifo",
        "a row of registers does what the FIFO does, in the first cycles after a reset, enough to go around",
        "Amaranth's SyncFIFO",
        holds={
            "2 places": Attempt(lambda: FifoSearch(4, 2), mode="bmc", depth=8, timeout=100),
            "3 places": Attempt(lambda: FifoSearch(4, 3), mode="bmc", depth=8, timeout=100),
        },
        search=Attempt(
            lambda: FifoSearch(4, 3, lambda width, depth: Row(width=width, depth=depth - 1)), mode="bmc", depth=5
        ),
        faults={"a FIFO with a place less": ()},
    ),
]
