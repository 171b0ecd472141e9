"""Proof of hdl/cab/output.py: what enters leaves unchanged and in order, and the two places are never filled over.

Statement: docs/cab.md, "Fiber out"; the docstring of OutputRegister.
"""

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.cab.output import OutputRegister
from ...hdl.link.symbol import Control
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
        oldest, newest, count = Signal.like(push.payload), Signal.like(push.payload), Signal(2)
        enters, leaves = Signal(), Signal()
        m.d.comb += [enters.eq(push.valid & (count != 2)), leaves.eq(tx.ready & (count != 0))]
        m.d.sync += count.eq(count + enters - leaves)
        with m.If(enters & (count == leaves)):
            m.d.sync += oldest.eq(push.payload)
        with m.Elif(leaves):
            m.d.sync += oldest.eq(newest)
        with m.If(enters & (count != leaves)):
            m.d.sync += newest.eq(push.payload)
        before, starts, told = Signal(), Signal(), Signal()  # of what left in the cycle before
        m.d.sync += [
            before.eq(leaves),
            starts.eq(leaves & (oldest.symbol == Control.START)),
            told.eq(leaves & oldest.notify),
        ]
        inside = (
            starts
            | ((count != 0) & (oldest.symbol == Control.START))
            | ((count == 2) & (newest.symbol == Control.START))
        )
        m.d.comb += [
            Assert((output.room == (count != 2)) & (count <= 2), "there is room for two"),
            Assert(
                (tx.valid == (count != 0)) & (probes.front_valid == (count != 0)) & (probes.spare_valid == (count == 2))
            ),
            Assert(
                (count == 0) | ((tx.payload == oldest.symbol) & (probes.front == oldest)),
                "the oldest is offered, unchanged",
            ),
            Assert((count != 2) | (probes.spare == newest)),
            Assert(
                (output.taken == before) & (output.left == told) & (output.start_left == starts),
                "what has left is told",
            ),
            Assert(output.start_inside == inside, "and a start that has not"),
            Assert(output.empty == ((count == 0) & ~told & ~starts)),
            Assert((count == 0) | (oldest.symbol != Control.IDLE)),
            Assert((count != 2) | (newest.symbol != Control.IDLE)),
            *(
                Assert((count < number) | (kept.start == (kept.symbol == Control.START)))
                for number, kept in ((1, oldest), (2, newest))
            ),
        ]
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
