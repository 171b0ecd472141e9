"""Fiber in: the list of areas that a packet is scattered over.

Source: "The Design of Nectar" (1989), section 5.2 (DMA to data memory); the list and its registers are ours
(docs/cab.md).
"""

from types import SimpleNamespace

from amaranth.hdl import Module, Mux, Shape, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .addresses import ADDRESS_BITS, LENGTH_BITS, REG, REGIONS, RX_LIST_DEPTH
from .memory import area_inside, check_data_bytes
from .registers import RegisterPort

__all__ = ["SCATTER_REGISTERS", "Scatter", "scatter_area"]

#: Its registers, in lower case.
SCATTER_REGISTERS = "rx_address", "rx_area", "rx_start"


def scatter_area(data_bytes):
    """Layout of an area: its first byte, counted from the start of data memory, and its length."""
    return data.StructLayout({"address": exact_log2(data_bytes), "length": LENGTH_BITS})


class Scatter(wiring.Component):
    """Keeps the areas until the packet comes that fills them.

    Parameters
    ----------
    data_bytes : int
        Size of the data memory, as in ``DataMemory``.

    Members
    -------
    rx_address, rx_area, rx_start : In(RegisterPort)
        Its registers. RX_AREA adds an area, RX_START the last one, and lets them be taken.
    waits : In(1)
        A packet waits for RX_START; else that is refused.
    areas : Out(stream.Signature(scatter_area(data_bytes)))
        The areas, in order, once RX_START has been written.
    clear : In(1)
        The packet is over, or forgotten: forget all areas.
    free : Out
        Areas that RX_AREA may still add; none while a packet is being stored.
    moves : Out(1)
        Areas are being forgotten.

    Timing
    ------
    An area in each cycle, the first in the cycle after RX_START was written. While a packet is being stored, RX_AREA
    is refused.

    Raises
    ------
    TypeError, ValueError
        If the size is not one of those of ``DataMemory``.
    """

    def __init__(self, data_bytes=REGIONS["data"].size):
        check_data_bytes(data_bytes)
        self.data_bytes = data_bytes
        super().__init__(
            {
                **{name: In(RegisterPort(REG[name.upper()])) for name in SCATTER_REGISTERS},
                "waits": In(1),
                "areas": Out(stream.Signature(scatter_area(data_bytes))),
                "clear": In(1),
                "free": Out(range(RX_LIST_DEPTH + 1)),
                "moves": Out(1),
            }
        )

    def elaborate(self, platform):
        """The address that both kinds of area begin at; the list; the last area."""
        m = Module()
        layout = scatter_area(self.data_bytes)
        bits = exact_log2(self.data_bytes)
        address = Signal(ADDRESS_BITS)
        running = Signal()
        final_waits = Signal()
        final = Signal(layout, reset_less=True)
        entry = Signal(layout)

        # Emptied by taking all out: the list is short.
        m.submodules.list = list_ = fifo.SyncFIFO(width=Shape.cast(layout).width, depth=RX_LIST_DEPTH)
        emptying = Signal()
        m.d.comb += [
            self.rx_address.value.eq(address),
            self.rx_area.area_address.eq(address),
            self.rx_start.area_address.eq(address),
            self.rx_area.refuse.eq(
                running | emptying | ~list_.w_rdy | ~area_inside(address, self.rx_area.data.length, self.data_bytes)
            ),
            self.rx_start.refuse.eq(~self.waits | ~area_inside(address, self.rx_start.data.limit, self.data_bytes)),
            entry.address.eq(address[:bits]),
            entry.length.eq(self.rx_area.data.length),
            list_.w_data.eq(entry),
            list_.w_en.eq(self.rx_area.write),
            list_.r_en.eq(emptying | (running & self.areas.ready)),
            self.free.eq(Mux(running, 0, RX_LIST_DEPTH - list_.level)),
            self.areas.valid.eq(running & ~emptying & (list_.r_rdy | final_waits)),
            self.moves.eq(emptying),
            self.areas.payload.eq(Mux(list_.r_rdy, list_.r_data, final)),
        ]
        with m.If(self.rx_address.write):
            m.d.sync += address.eq(self.rx_address.data)
        with m.If(self.rx_start.write):
            m.d.sync += [
                final.address.eq(address[:bits]),
                final.length.eq(self.rx_start.data.limit),
                final_waits.eq(1),
                running.eq(1),
            ]
        with m.Elif(self.areas.valid & self.areas.ready & ~list_.r_rdy):
            m.d.sync += final_waits.eq(0)
        with m.If(emptying & ~list_.r_rdy):
            m.d.sync += emptying.eq(0)
        with m.If(self.clear):
            m.d.sync += [running.eq(0), final_waits.eq(0), emptying.eq(1)]
        if platform == "formal":
            self.probes = SimpleNamespace(final=final, final_waits=final_waits, running=running, emptying=emptying)
        return m
