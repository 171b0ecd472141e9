"""Takes NRZI off the bits of a serial line and finds where words begin: where two words of the idle symbol stand in a
row.

Source: ``docs/serial.md``, "Words". Ours; the prototype had TAXI chips.
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .code4b5b import SYNC, WORD_BITS

__all__ = ["Aligner"]

#: So many bits after the last idle word it does not matter any more when it came.
_LONG = WORD_BITS + 1


class Aligner(wiring.Component):
    """Words out of bits.

    Parameters
    ----------
    width : int
        Bits that come at most in a cycle, 1 or 2.

    Members
    -------
    bits, count : In(width), In(range(width + 1))
        Levels of so many bits, bit 0 first.
    word : Out(10)
        The word, its first bit at the top.
    strobe : Out(1)
        There is a word.
    pair : Out(1)
        It is an idle one, and so were the ten bits before it; from here on words are counted.
    moved : Out(1)
        With ``pair``: words did not begin here before.
    quiet : Out(1)
        For ten bits the level has not changed, as it always does within a stream of words.

    Timing
    ------
    ``strobe`` comes two cycles after the word's last bit. A pair at a new place may come less than ten bits after the
    word before; one that would have ended in the same cycle is not told.

    Raises
    ------
    ValueError
        If ``width`` is not 1 or 2.
    """

    def __init__(self, width=2):
        if width not in (1, 2):
            raise ValueError(f"1 or 2 bits come in a cycle, not {width!r}")
        self.width = width
        super().__init__(
            {
                "bits": In(width),
                "count": In(range(width + 1)),
                "word": Out(WORD_BITS),
                "strobe": Out(1),
                "pair": Out(1),
                "moved": Out(1),
                "quiet": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        width = self.width
        level = Signal()
        history = Signal(WORD_BITS + width - 1)  # 1: the level changed; the newest at the bottom
        fresh = Signal.like(self.count)  # so many of them have just come
        m.d.sync += fresh.eq(self.count)
        with m.If(self.count == 1):
            m.d.sync += [level.eq(self.bits[0]), history.eq(Cat(self.bits[0] ^ level, history))]
        if width == 2:
            with m.If(self.count == 2):
                m.d.sync += [
                    level.eq(self.bits[1]),
                    history.eq(Cat(self.bits[1] ^ self.bits[0], self.bits[0] ^ level, history)),
                ]

        word = Signal(WORD_BITS, reset_less=True)
        m.d.comb += self.word.eq(word)
        place = Signal(range(WORD_BITS))  # bits since the last word, before the fresh ones
        since = Signal(range(_LONG + 1), init=_LONG)  # the same since the last idle word at any place
        place_next = Signal(range(WORD_BITS + width))
        since_next = Signal(range(_LONG + width))
        m.d.comb += [place_next.eq(place + fresh), since_next.eq(since + fresh)]
        m.d.sync += [
            place.eq(place_next),
            since.eq(Mux(since_next > _LONG, _LONG, since_next)),
            self.strobe.eq(0),
            self.pair.eq(0),
            self.moved.eq(0),
            self.quiet.eq((fresh != 0) & (history[:WORD_BITS] == 0)),
        ]
        # A word may end at the newest bit, or at the one before if two have come.
        older = Signal()
        m.d.sync += word.eq(Mux(older, history[-WORD_BITS:], history[:WORD_BITS]))
        ends = []
        for behind in range(width):
            found = Signal(name=f"found_{behind}")
            due = Signal(name=f"due_{behind}")
            pair = Signal(name=f"pair_{behind}")
            ten = history[behind : behind + WORD_BITS]
            m.d.comb += [
                found.eq(ten == SYNC),  # or has been before: `since` is then so already
                due.eq(place_next == WORD_BITS + behind),
                pair.eq(found & (since_next == WORD_BITS + behind)),
            ]
            with m.If(found):
                m.d.sync += since.eq(behind)
            with m.If(due):
                m.d.comb += older.eq(behind)
                m.d.sync += [place.eq(behind), self.strobe.eq(1)]
            ends.append((behind, due, pair))
        for behind, due, pair in ends:
            with m.If(pair):
                m.d.comb += older.eq(behind)
                m.d.sync += [place.eq(behind), self.strobe.eq(1), self.pair.eq(1), self.moved.eq(~due)]
        if platform == "formal":
            m.d.comb += Assert(place < WORD_BITS, "a word ends after ten bits")
        return m
