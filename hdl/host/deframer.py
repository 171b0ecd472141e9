"""From bytes to whole frames in a buffer: takes off flags, escapes and the checksum.

Source: docs/cable.md, which is ours; byte stuffing as in RFC 1662.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..cab.crc32 import Crc32
from .numbers import ESCAPE, ESCAPED, FLAG, FRAME_WORDS, RESIDUE

__all__ = ["Deframer"]


class Deframer(wiring.Component):
    """Writes the words of each frame into a buffer, from its beginning on, and tells when one is whole.

    Members
    -------
    data : In(8), valid : In(1)
        A byte has come.
    hold : In(1)
        The buffer and ``length`` must stay as they are: what comes is lost, and so is the rest of a frame of which
        something was lost.
    wrong : In(1)
        A byte was lost before this cycle: the frame that it belonged to is no good.
    address : Out(range(FRAME_WORDS)), word : Out(32), write : Out(1)
        The buffer's writing side.
    frame : Out(1), length : Out
        A whole frame is in the buffer: that many words, the last of which is the checksum.

    Timing
    ------
    A byte may come in each cycle. ``write`` comes in the cycle after a word's last byte, ``frame`` in the cycle after
    the flag. Nothing is said of a frame that is damaged, is not a whole number of words (two at least), or has more
    than FRAME_WORDS of them."""

    data: In(8)
    valid: In(1)
    hold: In(1)
    wrong: In(1)
    address: Out(range(FRAME_WORDS))
    word: Out(32)
    write: Out(1)
    frame: Out(1)
    length: Out(range(FRAME_WORDS + 1))

    def elaborate(self, platform):
        m = Module()
        m.submodules.crc = crc = Crc32()
        good = Signal()  # what has come since the flag is worth keeping
        escaped = Signal()
        place = Signal(2)  # of the next byte in its word
        words = Signal(range(FRAME_WORDS + 1))
        is_flag = Signal()
        is_escape = Signal()
        m.d.comb += [
            is_flag.eq(self.data == FLAG),
            is_escape.eq(self.data == ESCAPE),
            crc.start.eq(self.valid & is_flag),
            crc.valid.eq(self.valid & ~is_flag & ~is_escape),
            crc.data.eq(self.data ^ (escaped << (ESCAPED.bit_length() - 1))),
        ]
        m.d.sync += [self.write.eq(0), self.frame.eq(0)]
        with m.If(self.valid):
            with m.If(is_flag):
                m.d.sync += [
                    self.frame.eq(
                        good & ~self.hold & ~self.wrong & ~escaped & (place == 0) & (words > 1) & (crc.crc == RESIDUE)
                    ),
                    self.length.eq(Mux(self.hold, self.length, words)),
                    good.eq(~self.hold & ~self.wrong),
                    escaped.eq(0),
                    place.eq(0),
                    words.eq(0),
                ]
            with m.Elif(is_escape):
                m.d.sync += escaped.eq(1)
                with m.If(escaped):
                    m.d.sync += good.eq(0)
            with m.Else():
                m.d.sync += [escaped.eq(0), place.eq(place + 1), self.word.eq(Cat(crc.data, self.word[:24]))]
                with m.If(place == 3):
                    m.d.sync += [self.write.eq(good & ~self.hold), self.address.eq(words), words.eq(words + 1)]
                with m.If(words == FRAME_WORDS):
                    m.d.sync += [good.eq(0), words.eq(words)]
        with m.If((self.hold | self.wrong) & ~(self.valid & is_flag)):
            m.d.sync += good.eq(0)
        return m
