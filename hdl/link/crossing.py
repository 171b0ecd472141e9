"""Joins a port of a board to a fiber that has another clock.

Source: ours. ``docs/serial.md``, "Another clock".
"""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.fifo import AsyncFIFO
from amaranth.lib.wiring import In, Out

from .port import FiberPort
from .symbol import SYMBOL_BITS, Control

__all__ = ["FiberCrossing", "DEPTH"]

#: Symbols that are under way between the two clocks at most, each way.
DEPTH = 8


class FiberCrossing(wiring.Component):
    """Two FIFOs between the clock ``sync`` of a board and the clock ``line`` of a fiber.

    Members
    -------
    board : In(FiberPort())
        To be connected to the port of a board; by the clock ``sync``.
    fiber : Out(FiberPort())
        A port like that of a board, by the clock ``line``.
    lost : Out(1)
        A symbol from the fiber found no room; by the clock ``line``. Never if the board's clock is not slower than
        symbols come.

    Timing
    ------
    One symbol a cycle of the slower clock, each way; a symbol is some three cycles of each clock under way, and one
    more of the board's on its way in. Idles are not passed on. Both clocks have to be reset together.
    """

    def __init__(self):
        super().__init__({"board": In(FiberPort()), "fiber": Out(FiberPort()), "lost": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.arriving = arriving = AsyncFIFO(width=SYMBOL_BITS, depth=DEPTH, w_domain="line", r_domain="sync")
        m.submodules.leaving = leaving = AsyncFIFO(width=SYMBOL_BITS, depth=DEPTH, w_domain="sync", r_domain="line")
        board, fiber = self.board, self.fiber
        m.d.comb += [
            arriving.w_data.eq(fiber.rx.payload),
            arriving.w_en.eq(fiber.rx.valid & (fiber.rx.payload != Control.IDLE)),
            self.lost.eq(arriving.w_en & ~arriving.w_rdy),
            arriving.r_en.eq(1),
            leaving.w_data.eq(board.tx.payload),
            leaving.w_en.eq(board.tx.valid & (board.tx.payload != Control.IDLE)),
            board.tx.ready.eq(leaving.w_rdy),
            fiber.tx.payload.eq(leaving.r_data),
            fiber.tx.valid.eq(leaving.r_rdy),
            leaving.r_en.eq(fiber.tx.ready),
        ]
        # Whether a symbol is there takes a comparison, and a board looks at what comes before it has a register for it.
        m.d.sync += [board.rx.payload.eq(arriving.r_data), board.rx.valid.eq(arriving.r_rdy)]
        return m
