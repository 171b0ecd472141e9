"""Proof of hdl/hub/control/locks.py: an output is locked by one input at most, and both sides of the table agree.

Statement: docs/hub.md, "Controller and status table", Locks.
"""

from amaranth.asserts import AnySeq
from amaranth.hdl import Array, Assert, Assume, Cat, Module, Mux
from amaranth.lib import wiring

from ...hdl.hub.control.locks import Locks
from ..specs.locks import LockSpec
from ..specs.spec import agree, beside
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into
from .status_table import any_port

__all__ = ["PROOFS", "LocksProof", "lock_properties"]


def lock_properties(m, locks, o):
    """States what becomes of the lock on output ``o``."""

    def bit(mask):
        return mask.bit_select(o, 1)

    inputs = {"change": bit(locks.change), "who": locks.who, "give_back": bit(locks.give_back)}
    spec, shown = beside(m, LockSpec(locks.ports), inputs | {"release": locks.release})
    m.d.comb += [
        Assert((spec.known & (spec.known - 1))[: locks.ports] == 0, "an output is locked by one input at most"),
        Assert((spec.holder & ~spec.known) == 0),
        agree(
            Cat(bit(held) for held in locks.held),
            shown.held,
            "a lock stands in the next cycle, is gone in the next cycle, and else nothing changes",
        ),
        agree(bit(locks.locked), shown.locked, "an output is locked while an input holds the lock, and a cycle more"),
        agree(Array(locks.owner)[o], shown.owner, "both sides name the same input"),
        agree(Cat(bit(shut) for shut in locks.shut), shown.shut, "to all others the output is shut"),
        agree(bit(locks.ended), shown.ended, "what is given back is told once"),
        *(Assert(locks.holding[n] == held.any()) for n, held in enumerate(locks.held)),
    ]


class LocksProof(wiring.Component):
    """Locks that change at any time, one for one input a cycle, and are given back at any time."""

    def __init__(self, ports):
        self.locks = Locks(ports)
        self.ports = ports
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        locks, ports = self.locks, self.ports
        m.submodules.locks = look_into(locks, platform)
        m.d.comb += [
            locks.change.eq(AnySeq(ports)),
            locks.who.eq(AnySeq(ports)),
            locks.given.eq(locks.who.any()),
            locks.give_back.eq(AnySeq(ports)),
            locks.release.eq(AnySeq(ports)),
            Assume((locks.who & (locks.who - 1))[:ports] == 0),
        ]
        lock_properties(m, locks, any_port(m, ports, "any_output"))
        return m


PROOFS = [
    Proof(
        "locks",
        "an output is locked by one input, and both sides agree",
        'docs/hub.md, "Controller and status table"',
        holds={
            "3 ports": Attempt(lambda: LocksProof(3)),
            "16 ports": Attempt(lambda: LocksProof(16), nightly=True),
        },
        search=Attempt(lambda: LocksProof(3), mode="bmc", depth=5),
        faults={
            "a lock is taken beside another's": Fault(
                Locks, "held__{n}", lambda was, s, n: Mux(s.release[n], was, was | s[f"held__{n}"])
            ),
            "what is given back stays": Fault(
                Locks,
                "held__{n}",
                lambda was, s, n: Mux(
                    s.release[n] & s.change.any(), s[f"held__{n}"] & ~s.change | Mux(s.who[n], s.change, 0), was
                ),
            ),
            "what is given back stays locked": Fault(
                Locks, "locked", lambda was, s: was | s.locked & s.ended & ~s.change
            ),
            "an output that is given back stays shut": Fault(
                Locks, "shut__{n}", lambda was, s, n: was | s[f"shut__{n}"] & s.give_back & ~s.change
            ),
            "what is given back is not locked anew": Fault(Locks, "held__{n}", lambda was, s, n: was & ~s.give_back),
            "a lock shuts nobody out": Fault(Locks, "shut__{n}", lambda was, s, n: was & ~s.change),
        },
    )
]
