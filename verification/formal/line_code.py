"""Proof of hdl/link/encoder.py and decoder.py: each undoes the other.

Statement: docs/serial.md, "Code".
"""

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Cat, Module, Mux
from amaranth.lib import wiring

from ...hdl.link.code4b5b import RESERVED, WORDS
from ...hdl.link.decoder import Decoder
from ...hdl.link.encoder import Encoder
from ...hdl.link.symbol import Control
from .faults import Fault
from .proof import Attempt, Proof

__all__ = ["PROOFS", "LineCodeProof"]

#: As docs/serial.md has them.
_RESERVED, _VIOLATION = 0x107, 0x1FF


class LineCodeProof(wiring.Component):
    """Any symbol through encoder and decoder; any word through decoder and encoder."""

    def __init__(self):
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
            symbol.eq(AnySeq(9)),
            decoder.word.eq(encoder.word),
            Assert(
                decoder.symbol == Mux(known, symbol, _RESERVED),
                "what is sent comes out; every reserved code as one of them",
            ),
            Assert(~decoder.violation, "and is no violation"),
            first.word.eq(AnySeq(10)),
            second.symbol.eq(first.symbol),
            Assert(first.violation == (first.symbol == _VIOLATION), "a violation is told by a code that is never sent"),
            Assert(first.violation | (second.word == first.word), "no symbol has two words"),
        ]
        return m


PROOFS = [
    Proof(
        "line_code",
        "each undoes the other",
        'docs/serial.md, "Code"',
        # There are no registers, so that a search of one cycle leaves nothing out.
        holds={"all symbols and words": Attempt(LineCodeProof, mode="bmc")},
        search=Attempt(LineCodeProof, mode="bmc"),
        faults={
            "nibbles change places": Fault(
                Encoder, "word", lambda was, s: Mux(s.symbol[8], was, Cat(was[5:], was[:5]))
            ),
            "half a violation is taken for a byte": Fault(Decoder, "high_valid", lambda was, s: 1),
            "a reserved code is sent as an idle": Fault(
                Encoder, "word", lambda was, s: Mux(was == WORDS[RESERVED], WORDS[Control.IDLE], was)
            ),
            "a violation comes out as a byte": Fault(Decoder, "symbol", lambda was, s: Mux(s.violation, 0, was)),
        },
    )
]
