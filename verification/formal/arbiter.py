"""Proof of hdl/hub/control/arbiter.py: who is next, and how long anybody waits.

Statement: docs/hub.md, "Controller and status table": turns by port number; who asks waits for at most N - 1 others.
"""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.control.arbiter import Arbiter
from ..specs.arbiter import ArbiterSpec
from ..specs.spec import agree, beside
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "ArbiterProof", "waiting"]


def last_number(last, count):
    """Number of the one that is 1 in ``last``, who was picked last; after a reset, the last of all."""
    return Mux(last == 0, count - 1, sum(Mux(last[n], n, 0) for n in range(count)))


def waiting(m, arbiter, count, port):
    """Counts the turns in a row that ``port``, a number, asked for and did not get; asserts that they stay below
    ``count``.

    Returns the counter. It is bounded by the distance that the turn still has to go: count - distance.
    """
    waited = Signal(range(count + 1))
    with m.If(arbiter.asks.bit_select(port, 1) & arbiter.keep):
        pass
    with m.Elif(arbiter.asks.bit_select(port, 1) & ~arbiter.pick.bit_select(port, 1)):
        m.d.sync += waited.eq(waited + 1)
    with m.Else():
        m.d.sync += waited.eq(0)
    last, distance = Signal(range(count)), Signal(range(2 * count + 1))
    m.d.comb += [
        last.eq(last_number(arbiter.probes.last, count)),
        distance.eq(Mux(port > last, port - last, port + count - last)),
        Assert(waited + distance <= count, "everybody between the last and this one has at most one turn before it"),
        Assert(waited < count, "at most count - 1 others are picked before who asks without pause"),
    ]
    return waited


class ArbiterProof(wiring.Component):
    """An arbiter among ``count`` that ask as they like."""

    def __init__(self, count):
        self.arbiter = Arbiter(count)
        self.count = count
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.arbiter = look_into(self.arbiter, platform)
        asks, pick = self.arbiter.asks, self.arbiter.pick
        m.d.comb += [asks.eq(AnySeq(self.count)), self.arbiter.keep.eq(AnySeq(1)), self.arbiter.back.eq(AnySeq(1))]

        port = Signal(range(self.count))
        m.d.comb += [port.eq(AnyConst(port.shape())), Assume(port < self.count)]
        waiting(m, self.arbiter, self.count, port)

        spec, shown = beside(
            m, ArbiterSpec(self.count), {"asks": asks, "keep": self.arbiter.keep, "back": self.arbiter.back}
        )
        m.d.comb += [
            Assert(last_number(self.arbiter.probes.last, self.count) == spec.last),
            Assert(last_number(self.arbiter.probes.last_before, self.count) == spec.before),
            agree(pick, shown.pick, "the first behind the last turn who asks is picked, and nobody else"),
        ]
        return m


PROOFS = [
    Proof(
        "arbiter",
        "it takes turns, and at most N - 1 others go before who asks without pause",
        'docs/hub.md, "Controller and status table"',
        holds={
            "1": Attempt(lambda: ArbiterProof(1)),
            "3": Attempt(lambda: ArbiterProof(3)),
            "9": Attempt(lambda: ArbiterProof(9)),
            "16": Attempt(lambda: ArbiterProof(16), nightly=True),
        },
        search=Attempt(lambda: ArbiterProof(6), mode="bmc", depth=6),
        faults={
            "the lowest number always wins": Fault(Arbiter, "early", lambda was, s: s.asks),
            "a pick in vain stays a turn": Fault(Arbiter, "back", lambda was, s: 0),
            "no turn is taken": Fault(Arbiter, "behind", lambda was, s: s.behind),
            "nobody is picked when all behind are silent": Fault(Arbiter, "pick", lambda was, s: was & s.behind),
            "all are picked at once": Fault(Arbiter, "pick", lambda was, s: s.asks),
        },
    )
]
