"""From words to frames on the line: flags, escapes, checksum.

Source: docs/cable.md, which is ours; byte stuffing as in RFC 1662.
"""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..cab.crc32 import Crc32
from .numbers import ESCAPE, ESCAPED, FLAG

__all__ = ["Framer", "LastWord"]


class LastWord(data.Struct):
    """A word of a frame; ``last``: the frame ends behind it."""

    word: 32
    last: 1


class Framer(wiring.Component):
    """Makes a frame of the words up to each ``last``.

    Members
    -------
    words : In(stream.Signature(LastWord))
    bytes : Out(stream.Signature(8))

    Timing
    ------
    A byte in each second cycle at best. A frame has a flag before it and one behind it.
    """

    words: In(stream.Signature(LastWord))
    bytes: Out(stream.Signature(8))

    def elaborate(self, platform):
        m = Module()
        m.submodules.crc = crc = Crc32()
        place = Signal(2)
        payload = self.words.payload
        bytes_ = Array(payload.word.word_select(3 - n, 8) for n in range(4))
        checks = Array(crc.crc.word_select(n, 8) for n in range(4))
        byte = Signal(8)
        special = Signal()
        checking = Signal()
        escaped = Signal()
        m.d.comb += [
            special.eq((byte == FLAG) | (byte == ESCAPE)),
            crc.data.eq(byte),
        ]
        with m.If(checking):
            m.d.comb += byte.eq(checks[place])
        with m.Else():
            m.d.comb += byte.eq(bytes_[place])
        ready = Signal()  # the byte on the stream is taken, or there is none
        m.d.comb += ready.eq(~self.bytes.valid | self.bytes.ready)
        with m.If(self.bytes.ready):
            m.d.sync += self.bytes.valid.eq(0)
        with m.FSM():
            with m.State("idle"):
                m.d.comb += crc.start.eq(1)
                m.d.sync += checking.eq(0)
                with m.If(self.words.valid & ready):
                    m.d.sync += [self.bytes.payload.eq(FLAG), self.bytes.valid.eq(1)]
                    m.next = "bytes"
            with m.State("bytes"):
                with m.If(ready & (checking | self.words.valid)):
                    m.d.sync += self.bytes.valid.eq(1)
                    with m.If(special & ~escaped):
                        m.d.sync += [self.bytes.payload.eq(ESCAPE), escaped.eq(1)]
                    with m.Else():
                        m.d.sync += [
                            self.bytes.payload.eq(byte ^ (escaped << (ESCAPED.bit_length() - 1))),
                            escaped.eq(0),
                            place.eq(place + 1),
                        ]
                        m.d.comb += crc.valid.eq(~checking)
                        with m.If(place == 3):
                            m.d.comb += self.words.ready.eq(~checking)
                            m.d.sync += checking.eq(checking | payload.last)
                            with m.If(checking):
                                m.next = "flag"
            with m.State("flag"):
                with m.If(ready):
                    m.d.sync += [self.bytes.payload.eq(FLAG), self.bytes.valid.eq(1)]
                    m.next = "idle"
        return m
