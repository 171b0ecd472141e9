"""Proof of hdl/cab/slots.py: whose cycle it is, and how long anybody waits for one.

Statement: docs/cab.md, "Data memory": a frame of four slots; each user that waits is served within 4 cycles; a slot
that is not wanted goes to the first of an order. Cycles that were slept through count, so nobody who waits may be put
to sleep."""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.cab.slots import REUSE, SLOTS, Slots
from ..specs.slots import SlotsSpec
from ..specs.spec import agree, beside
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "SlotsProof"]


class SlotsProof(wiring.Component):
    """Slots among users that want a cycle, and withdraw, as they like."""

    def __init__(self):
        self.slots = Slots()
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.slots = look_into(self.slots, platform)
        slots = self.slots
        wants, given, slept = slots.wants, slots.given, slots.slept
        m.d.comb += [wants.eq(AnySeq(SLOTS)), slept.eq(AnySeq(slept.shape()))]

        spec, shown = beside(m, SlotsSpec(), {"wants": wants, "slept": slept})
        slot = Signal(range(SLOTS))
        m.d.comb += [
            slot.eq(shown.slot),
            agree(given, shown.given, "a slot is its user's, and if he does not want it the first one's who does"),
        ]

        # One user, who asks without pause and whose board does not sleep meanwhile.
        user, waited, distance = Signal(range(SLOTS)), Signal(range(SLOTS + 1)), Signal(range(SLOTS))
        m.d.comb += [
            user.eq(AnyConst(user.shape())),
            Assume((waited == 0) | (slept == 0)),
            distance.eq(user - slot),
            Assert(
                ~(wants.bit_select(user, 1) & (slot == user)) | (given == 1 << user), "one cycle in each frame is his"
            ),
            Assert(waited < SLOTS, "who waits is served within a frame"),
            Assert(slots.probes.count == spec.cycle),
            Assert((waited == 0) | (waited + distance < SLOTS), "he has waited since his slot at the most"),
        ]
        with m.If(wants.bit_select(user, 1) & ~given.bit_select(user, 1)):
            m.d.sync += waited.eq(waited + 1)
        with m.Else():
            m.d.sync += waited.eq(0)
        return m


def _both(s):
    """Who has a slot that its user does not want, if nobody is kept from it but by the one just before him."""
    given = {now.value: s.wants[now.value] & ~s.wants[one.value] for one, now in zip(REUSE, REUSE[1:])}
    given[REUSE[0].value] = s.wants[REUSE[0].value]
    return Cat(given[n] for n in range(SLOTS))


PROOFS = [
    Proof(
        "slots",
        "it gives everybody his slot within a frame",
        'docs/cab.md, "Data memory"',
        holds={"slots": Attempt(SlotsProof)},
        search=Attempt(SlotsProof, mode="bmc", depth=6),
        faults={
            "fiber in goes first, whosever slot it is": Fault(Slots, "owner", lambda was, s: was & ~s.wants[0]),
            "the schedule stands still": Fault(Slots, "count", lambda was, s: s.slot),
            "the schedule forgets the cycles that were slept through": Fault(
                Slots, "count", lambda was, s: s.count + 1
            ),
            "two have a slot that is not wanted": Fault(Slots, "given", lambda was, s: Mux(s.owner, was, _both(s))),
            "a slot that is not wanted is lost": Fault(Slots, "given", lambda was, s: Mux(s.owner, was, 0)),
        },
    )
]
