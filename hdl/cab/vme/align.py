"""Moves bytes from words of one alignment to words of another.

Source: ours; "The Design of Nectar" (1989), section 5.2, only says that there is DMA between VME and data memory.
"""

from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..memory import LANES
from ..registers import WORD_BITS

__all__ = ["HELD_BYTES", "Align"]

#: Bytes that can be inside.
HELD_BYTES = 3 * LANES


class Align(wiring.Component):
    """A queue of bytes: lanes of a word in, lanes of a word out.

    Members
    -------
    clear : In(1)
        Forget all.
    put : In(1), put_first : In(2), put_count : In(3), put_word : In(32)
        Lanes ``put_first`` and after, ``put_count`` of them, are put in; there must be room. Lane 0 is bits 31 to 24.
    get : In(1), get_first : In(2), get_count : In(3), get_word : Out(32)
        The oldest bytes, in these lanes of ``get_word``; they are taken out if ``get`` is 1; they must be there.
    level : Out
        Bytes inside.

    Timing
    ------
    What is put in one cycle can be got from the next one on. Both may be done in one cycle.
    """

    clear: In(1)
    put: In(1)
    put_first: In(2)
    put_count: In(3)
    put_word: In(WORD_BITS)
    get: In(1)
    get_first: In(2)
    get_count: In(3)
    get_word: Out(WORD_BITS)
    level: Out(range(HELD_BYTES + 1))

    def elaborate(self, platform):
        """The oldest byte is the most significant one of the store."""
        m = Module()
        held = Signal(8 * HELD_BYTES)
        left = Signal.like(held)
        chunk = Signal.like(held)
        kept = Signal.like(self.level)
        keep = Signal.like(held)
        m.d.comb += [
            self.get_word.eq(held[-WORD_BITS:] >> 8 * self.get_first),
            left.eq(Mux(self.get, held << 8 * self.get_count, held)),
            kept.eq(Mux(self.get, self.level - self.get_count, self.level)),
            # The bytes put in, the first one leftmost and nothing behind the last one.
            keep.eq(~(((1 << 8 * HELD_BYTES) - 1) >> 8 * self.put_count)),
            chunk.eq(((self.put_word << 8 * self.put_first)[:WORD_BITS] << 8 * HELD_BYTES - WORD_BITS) & keep),
        ]
        m.d.sync += [
            held.eq(left),
            self.level.eq(kept),
            Assert(~self.get | (self.get_count <= self.level), "bytes that are taken out are there"),
            Assert(~self.put | (kept + self.put_count <= HELD_BYTES), "there is room for bytes put in"),
        ]
        with m.If(self.put):
            m.d.sync += [held.eq(left | chunk >> 8 * kept), self.level.eq(kept + self.put_count)]
        with m.If(self.clear):
            m.d.sync += [held.eq(0), self.level.eq(0)]
        return m
