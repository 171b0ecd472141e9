"""Where the bytes of a word lie on the data lines.

Source: ANSI/IEEE 1014, section 2.3 (big-endian: the lower address is on the more significant lines; bytes and halfwords
on D15 to D00).
"""

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..memory import LANES
from ..registers import WORD_BITS

__all__ = ["Lanes"]


class Lanes(wiring.Component):
    """Between the data lines and a word of the CAB, for both directions.

    Members
    -------
    wide : In(1)
        LWORD* is asserted.
    strobe : In(2)
        DS1* (the even byte), DS0* (the odd one): 1 when asserted.
    high : In(1)
        A01.
    lines_in : In(32), word_out : Out(32)
        From the lines to the word; lanes that are not selected may hold anything.
    word_in : In(32), lines_out : Out(32)
        The other way.
    select : Out(4)
        Bytes of the word; bit 3 is the byte at its own address.
    drive : Out(2)
        Halves of the lines that are used: D31 to D16, D15 to D00.
    bad : Out(1)
        These lines ask for bytes that are not a byte, an aligned halfword or a word.

    Timing
    ------
    No registers.
    """

    wide: In(1)
    strobe: In(2)
    high: In(1)
    lines_in: In(WORD_BITS)
    word_out: Out(WORD_BITS)
    word_in: In(WORD_BITS)
    lines_out: Out(WORD_BITS)
    select: Out(LANES)
    drive: Out(2)
    bad: Out(1)

    def elaborate(self, platform):
        """A word, or one of its halves on the lower lines."""
        m = Module()
        with m.If(self.wide):
            m.d.comb += [
                self.bad.eq(~self.strobe.all() | self.high),
                self.select.eq(~0),
                self.drive.eq(3),
                self.word_out.eq(self.lines_in),
                self.lines_out.eq(self.word_in),
            ]
        with m.Else():
            m.d.comb += [
                self.bad.eq(self.strobe == 0),
                self.select.eq(Mux(self.high, self.strobe, Cat(0, 0, self.strobe))),
                self.drive.eq(1),
                self.word_out.eq(self.lines_in[:16].replicate(2)),
                self.lines_out.eq(self.word_in.word_select(~self.high, 16)),
            ]
        return m
