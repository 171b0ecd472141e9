"""Joins a port of a board to a fiber that has another clock.

Source: ours. ``docs/serial.md``, "Another clock".
"""

from amaranth.hdl import ClockDomain, ClockSignal, Module
from amaranth.lib import wiring
from amaranth.lib.fifo import AsyncFIFO
from amaranth.lib.wiring import In, Out

from .port import FiberPort
from .symbol import SYMBOL_BITS, Control

__all__ = ["FiberCrossing"]

#: Places of the FIFOs of symbols that arrive and that leave.
DEPTH, LEAVING_DEPTH = 8, 16
#: Symbols that leave are taken while fewer are seen in the FIFO. A symbol is seen four cycles after it has been taken,
#: so up to 11 have to have room. With 7 the rate falls below a symbol a cycle where both clocks are alike.
LEAVING = 8


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
    more of the board's. Idles are not passed on. Both clocks have to be reset together.
    """

    def __init__(self):
        super().__init__({"board": In(FiberPort()), "fiber": Out(FiberPort()), "lost": Out(1)})

    def elaborate(self, platform):
        m = Module()
        # Symbols that arrive are always taken, in a reset, too, so their FIFO needs none. With a reset it is one signal
        # of all ports, and was in the latest path of a HUB.
        m.domains += ClockDomain("arrival", reset_less=True, local=True)
        m.d.comb += ClockSignal("arrival").eq(ClockSignal("line"))
        m.submodules.arriving = arriving = AsyncFIFO(
            width=SYMBOL_BITS, depth=DEPTH, w_domain="arrival", r_domain="sync"
        )
        m.submodules.leaving = leaving = AsyncFIFO(
            width=SYMBOL_BITS, depth=LEAVING_DEPTH, w_domain="sync", r_domain="line"
        )
        board, fiber = self.board, self.fiber
        m.d.comb += [
            arriving.w_data.eq(fiber.rx.payload),
            arriving.w_en.eq(fiber.rx.valid & (fiber.rx.payload != Control.IDLE)),
            self.lost.eq(arriving.w_en & ~arriving.w_rdy),
            arriving.r_en.eq(1),
            fiber.tx.payload.eq(leaving.r_data),
            fiber.tx.valid.eq(leaving.r_rdy),
            leaving.r_en.eq(fiber.tx.ready),
        ]
        # A FIFO compares before it knows whether a symbol is there or has room, and so does what tells idles apart. A
        # board looks at what comes, and at whether there is room, in front of its own registers.
        m.d.sync += [
            board.rx.payload.eq(arriving.r_data),
            board.rx.valid.eq(arriving.r_rdy),
            leaving.w_data.eq(board.tx.payload),
            leaving.w_en.eq(board.tx.valid & board.tx.ready & (board.tx.payload != Control.IDLE)),
            board.tx.ready.eq(leaving.w_level < LEAVING),
        ]
        return m
