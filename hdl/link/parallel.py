"""A fiber of nine wires and a strobe, for boards that stand side by side.

Source: ours. ``docs/serial.md``, "Nine wires and a strobe".
"""

from amaranth.hdl import ClockDomain, ClockSignal, Module, Mux, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer, ResetSynchronizer
from amaranth.lib.fifo import AsyncFIFO
from amaranth.lib.wiring import In, Out

from .port import FiberPort
from .symbol import SYMBOL_BITS, Control

__all__ = ["ParallelPhy", "CYCLES", "DEPTH", "SILENCE"]

#: Symbols that are under way between the strobe and the clock at most.
DEPTH = 8
#: Cycles of a symbol.
CYCLES = 2
#: So many cycles after the last strobe the cable counts as unplugged.
SILENCE = 16


class ParallelPhy(wiring.Component):
    """Both ends of a pair of parallel fibers.

    Members
    -------
    fiber : In(FiberPort())
        To be connected to the port of a board.
    wires.tx_data, wires.tx_strobe : Out(9), Out(1)
        To the neighbour. A symbol stands around each rising edge of the strobe, a cycle before it and a cycle behind.
    wires.rx_data, wires.rx_strobe : In(9), In(1)
        From the neighbour, by its clock.
    up : Out(1)
        The neighbour's strobe runs.
    lost : Out(1)
        A symbol has found no room; stays 1 until ``clear``. Never if the neighbour's clock is less than twice as fast.
    clear : In(1)
        Sets ``lost`` to 0.

    Timing
    ------
    A symbol each two cycles. It rises the strobe in the cycle after it was taken, and is at the neighbour's board some
    six cycles later. The strobe always runs; idles stand where there is nothing else. The reset of the part that runs
    by the strobe ends two strobes after that of the board."""

    def __init__(self):
        wires = {"tx_data": Out(SYMBOL_BITS), "tx_strobe": Out(1), "rx_data": In(SYMBOL_BITS), "rx_strobe": In(1)}
        super().__init__(
            {
                "fiber": In(FiberPort()),
                "wires": Out(wiring.Signature(wires)),
                "up": Out(1),
                "lost": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        fiber, wires = self.fiber, self.wires

        # Out: the data change while the strobe falls.
        m.d.sync += wires.tx_strobe.eq(~wires.tx_strobe)
        m.d.comb += fiber.tx.ready.eq(wires.tx_strobe)
        with m.If(wires.tx_strobe):
            m.d.sync += wires.tx_data.eq(Mux(fiber.tx.valid, fiber.tx.payload, Control.IDLE))

        # In: by the clock that the neighbour sends along.
        m.domains.strobe = ClockDomain(local=True)
        m.d.comb += ClockSignal("strobe").eq(wires.rx_strobe)
        m.submodules.reset = ResetSynchronizer(ResetSignal(), domain="strobe")
        m.submodules.arriving = arriving = AsyncFIFO(width=SYMBOL_BITS, depth=DEPTH, w_domain="strobe", r_domain="sync")
        beat = Signal()  # changes with each strobe
        overran = Signal()  # changes with each symbol that is lost
        m.d.comb += [
            arriving.w_data.eq(wires.rx_data),
            arriving.w_en.eq(wires.rx_data != Control.IDLE),
            arriving.r_en.eq(1),
        ]
        # A board looks at what comes before it has a register for it (FiberCrossing).
        m.d.sync += [fiber.rx.payload.eq(arriving.r_data), fiber.rx.valid.eq(arriving.r_rdy)]
        m.d.strobe += beat.eq(~beat)
        with m.If(arriving.w_en & ~arriving.w_rdy):
            m.d.strobe += overran.eq(~overran)

        # Does the strobe run; has anything been lost.
        beat_here = Signal()
        overran_here = Signal()
        m.submodules.beat_sync = FFSynchronizer(beat, beat_here)
        m.submodules.overran_sync = FFSynchronizer(overran, overran_here)
        beat_before = Signal()
        overran_before = Signal()
        silent = Signal(range(SILENCE + 1), init=SILENCE)
        m.d.sync += [beat_before.eq(beat_here), overran_before.eq(overran_here)]
        m.d.comb += self.up.eq(silent != SILENCE)
        with m.If(beat_here != beat_before):
            m.d.sync += silent.eq(0)
        with m.Elif(self.up):
            m.d.sync += silent.eq(silent + 1)
        with m.If(self.clear):
            m.d.sync += self.lost.eq(0)
        with m.Elif(overran_here != overran_before):
            m.d.sync += self.lost.eq(1)
        return m
