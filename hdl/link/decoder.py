"""From ten bits of the line to the nine-bit symbol.

Source: ``code4b5b``, which has the numbers and says where they are from; ``docs/serial.md``, "Code".
"""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .code4b5b import DATA, VIOLATION, WORD_BITS, WORDS
from .symbol import CONTROL_BIT, SYMBOL_BITS

__all__ = ["Decoder"]


class Decoder(wiring.Component):
    """Table of the line code, backwards.

    Members
    -------
    word : In(10)
        Any ten bits, bit 9 arrived first.
    symbol : Out(9)
        The symbol that is sent as this word; ``VIOLATION`` if there is none.
    violation : Out(1)
        No symbol is sent as this word.

    Timing
    ------
    No registers.
    """

    def __init__(self):
        super().__init__({"word": In(WORD_BITS), "symbol": Out(SYMBOL_BITS), "violation": Out(1)})

    def elaborate(self, platform):
        m = Module()

        def nibble(code, name):
            """The nibble that a five-bit symbol stands for, and whether it stands for one."""
            value = Signal(4, name=f"{name}_value")
            valid = Signal(name=f"{name}_valid")
            with m.Switch(code):
                for number, pattern in enumerate(DATA):
                    with m.Case(pattern):
                        m.d.comb += [value.eq(number), valid.eq(1)]
            return value, valid

        low, low_valid = nibble(self.word[:5], "low")
        high, high_valid = nibble(self.word[5:], "high")
        with m.If(low_valid & high_valid):
            m.d.comb += self.symbol.eq(Cat(low, high))
        with m.Else():
            with m.Switch(self.word):
                for symbol, code in WORDS.items():
                    if symbol & CONTROL_BIT:
                        with m.Case(code):
                            m.d.comb += self.symbol.eq(symbol)
                with m.Default():
                    m.d.comb += [self.symbol.eq(VIOLATION), self.violation.eq(1)]
        return m
