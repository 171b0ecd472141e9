"""Proof of hdl/hub/control/locks.py: an output is locked by one input at most, and both sides of the table agree.

Statement: docs/hub.md, "Controller and status table", Locks.
"""

from amaranth.asserts import AnySeq
from amaranth.hdl import Array, Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.control.locks import Locks
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into
from .status_table import any_port

__all__ = ["PROOFS", "LocksProof", "lock_properties"]


def lock_properties(m, locks, i, o):
    """States what becomes of the lock of input ``i`` on output ``o``."""
    changes, mine, locked = locks.change.bit_select(o, 1), Signal(), Signal()
    kept = ~locks.give_back.bit_select(o, 1)
    rows = [Mux(changes, locks.who[n], held.bit_select(o, 1) & kept) for n, held in enumerate(locks.held)]
    holders = sum(held.bit_select(o, 1) for held in locks.held)
    gave_back = Signal()  # in the cycle before, this input would have had the lock and gave back all
    m.d.sync += gave_back.eq(Array(rows)[i] & locks.release.bit_select(i, 1))
    expected, lost = Signal(), Signal()  # lost: in the cycle before, the one who would have the lock gave back all
    m.d.sync += [
        expected.eq(Array(rows)[i] & ~locks.release.bit_select(i, 1)),
        lost.eq(sum(row & locks.release[n] for n, row in enumerate(rows)) != 0),
    ]
    m.d.comb += [
        mine.eq(Array(locks.held)[i].bit_select(o, 1)),
        locked.eq(locks.locked.bit_select(o, 1)),
        Assert(holders <= 1, "an output is locked by one input at most"),
        Assert(
            mine == expected, "a lock stands in the next cycle, is gone in the next cycle, and else nothing changes"
        ),
        Assert(
            locked == ((holders != 0) | lost),
            "an output is locked exactly while an input holds the lock, or did in the cycle before",
        ),
        Assert(~mine | (Array(locks.owner)[o] == i), "both sides name the same input"),
        Assert(
            Array(locks.shut)[i].bit_select(o, 1) == (locked & ~(mine | gave_back)), "to all others the output is shut"
        ),
        Assert(locks.ended.bit_select(o, 1) == lost, "what is given back is told once"),
        Assert(locks.holding.bit_select(i, 1) == Array(locks.held)[i].any()),
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
            locks.give_back.eq(AnySeq(ports)),
            locks.release.eq(AnySeq(ports)),
            Assume((locks.who & (locks.who - 1))[:ports] == 0),
        ]
        lock_properties(m, locks, any_port(m, ports, "any_input"), any_port(m, ports, "any_output"))
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
