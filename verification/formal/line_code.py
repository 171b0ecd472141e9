"""Proof of hdl/link/encoder.py and decoder.py: each undoes the other.

Statement: docs/serial.md, "Code".
"""

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Module, Mux
from amaranth.lib import wiring

from ...hdl.link.symbol import Control

__all__ = ["LineCodeProof"]

#: As docs/serial.md has them.
_RESERVED, _VIOLATION = 0x107, 0x1FF


class LineCodeProof(wiring.Component):
    """Any symbol through encoder and decoder; any word through decoder and encoder."""

    def __init__(self, Encoder, Decoder):
        self.parts = [Encoder(), Decoder(), Decoder(), Encoder()]
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        encoder, decoder, first, second = self.parts
        m.submodules.encoder, m.submodules.decoder, m.submodules.first, m.submodules.second = self.parts
        symbol = encoder.symbol
        known = ~symbol[8]
        for code in Control:
            known |= symbol == code
        m.d.comb += [
            symbol.eq(AnySeq(9)), decoder.word.eq(encoder.word),
            Assert(decoder.symbol == Mux(known, symbol, _RESERVED), "what is sent comes out; every reserved code as one of them"),
            Assert(~decoder.violation, "and is no violation"),
            first.word.eq(AnySeq(10)), second.symbol.eq(first.symbol),
            Assert(first.violation == (first.symbol == _VIOLATION), "a violation is told by a code that is never sent"),
            Assert(first.violation | (second.word == first.word), "no symbol has two words"),
        ]
        return m
