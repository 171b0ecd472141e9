"""From the nine-bit symbol to the ten bits of the line.

Source: ``code4b5b``, which has the numbers and says where they are from; ``docs/serial.md``, "Code".
"""

from amaranth.hdl import Array, Cat, Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .code4b5b import DATA, RESERVED, WORD_BITS, WORDS
from .symbol import CONTROL_BIT, SYMBOL_BITS

__all__ = ["Encoder"]


class Encoder(wiring.Component):
    """Table of the line code.

    Members
    -------
    symbol : In(9)
        Any symbol.
    word : Out(10)
        Its word, bit 9 to be sent first; reserved control codes have the word of ``RESERVED``.

    Timing
    ------
    No registers.
    """

    def __init__(self):
        super().__init__({"symbol": In(SYMBOL_BITS), "word": Out(WORD_BITS)})

    def elaborate(self, platform):
        m = Module()
        nibbles = Array(Const(code, 5) for code in DATA)
        with m.If(self.symbol[8]):
            with m.Switch(self.symbol):
                for symbol, code in WORDS.items():
                    if symbol & CONTROL_BIT and symbol != RESERVED:
                        with m.Case(symbol):
                            m.d.comb += self.word.eq(code)
                with m.Default():
                    m.d.comb += self.word.eq(WORDS[RESERVED])
        with m.Else():
            m.d.comb += self.word.eq(Cat(nibbles[self.symbol[:4]], nibbles[self.symbol[4:8]]))
        return m
