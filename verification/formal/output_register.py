"""Proof of hdl/cab/output.py: what enters leaves unchanged and in order, and the two places are never filled over.

Statement: docs/cab.md, "Fiber out"; the docstring of OutputRegister.
"""

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Module, Mux
from amaranth.lib import wiring

from ...hdl.cab.output import OutputRegister
from ...hdl.link.symbol import Control
from ..specs.output import OutputSpec
from ..specs.spec import agree, beside
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "OutputRegisterProof"]


class OutputRegisterProof(wiring.Component):
    """A register: symbols, but the idle one, and a fiber that takes them, at any time."""

    def __init__(self):
        self.output = OutputRegister()
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.output = look_into(self.output, platform)
        output, probes = self.output, self.output.probes
        push, tx = output.push, output.tx
        m.d.comb += [
            push.payload.eq(AnySeq(len(push.payload.as_value()))),
            push.valid.eq(AnySeq(1)),
            tx.ready.eq(AnySeq(1)),
            Assume(push.payload.symbol != Control.IDLE),
            Assume(push.payload.start == (push.payload.symbol == Control.START)),
        ]
        spec, shown = beside(
            m,
            OutputSpec(),
            {"push__payload": push.payload.as_value(), "push__valid": push.valid, "tx__ready": tx.ready},
        )
        found = {"tx__valid": tx.valid, "tx__payload": tx.payload}
        for name, value in vars(shown).items():
            m.d.comb += agree(found[name] if name in found else getattr(output, name), value, f"{name} is as specified")
        places = (probes.front_valid, probes.front, spec.first), (probes.spare_valid, probes.spare, spec.second)
        for n, (valid, place, kept) in enumerate(places):
            symbol, start = place.symbol, place.start
            m.d.comb += [
                Assert(valid == (spec.count > n)),
                Assert(~valid | (place.as_value() == kept)),
                Assert(~valid | (symbol != Control.IDLE) & (start == (symbol == Control.START))),
            ]
        m.d.comb += Assert(spec.count <= 2, "there is room for two")
        return m


PROOFS = [
    Proof(
        "output_register",
        "it keeps order and content of two",
        'docs/cab.md, "Fiber out"',
        holds={"output register": Attempt(OutputRegisterProof)},
        search=Attempt(OutputRegisterProof, mode="bmc", depth=6),
        faults={
            "a third symbol is asked for": Fault(OutputRegister, "room", lambda was, s: 1),
            "a third symbol fills over the second": Fault(
                OutputRegister, "spare", lambda was, s: Mux(s.push__valid, s.push__payload, s.spare)
            ),
            "the second is lost": Fault(OutputRegister, "spare_valid", lambda was, s: was & s.spare_valid),
            "a start that waits behind is not seen": Fault(
                OutputRegister, "start_inside", lambda was, s: s.start_left | s.front_valid & s.front.start
            ),
            "what stays is told to have left": Fault(
                OutputRegister, "left", lambda was, s: s.front_valid & s.front.notify
            ),
        },
    )
]
