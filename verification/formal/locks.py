"""Proof of hdl/hub/control/locks.py: an output is locked by one input at most, and both sides of the table agree.

Statement: docs/hub.md, "Controller and status table", Locks.
"""

from amaranth.asserts import AnySeq
from amaranth.hdl import Array, Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring

from .prove import look_into
from .status_table import any_port

__all__ = ["LocksProof", "lock_properties"]


def lock_properties(m, locks, i, o):
    """States what becomes of the lock of input ``i`` on output ``o``."""
    changes, mine, locked = locks.change.bit_select(o, 1), Signal(), Signal()
    rows = [Mux(changes, locks.who[n], held.bit_select(o, 1)) for n, held in enumerate(locks.held)]
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
        Assert(mine == expected, "a lock stands in the next cycle, is gone in the next cycle, and else nothing changes"),
        Assert(locked == ((holders != 0) | lost), "an output is locked exactly while an input holds the lock, or did in the cycle before"),
        Assert(~mine | (Array(locks.owner)[o] == i), "both sides name the same input"),
        Assert(Array(locks.shut)[i].bit_select(o, 1) == (locked & ~(mine | gave_back)), "to all others the output is shut"),
        Assert(locks.ended.bit_select(o, 1) == lost, "what is given back is told once"),
        Assert(locks.holding.bit_select(i, 1) == Array(locks.held)[i].any()),
    ]


class LocksProof(wiring.Component):
    """Locks of class ``Locks`` that change at any time, one for one input a cycle, and are given back at any time."""

    def __init__(self, Locks, ports):
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
            locks.release.eq(AnySeq(ports)),
            Assume((locks.who & (locks.who - 1))[:ports] == 0),
        ]
        lock_properties(m, locks, any_port(m, ports, "any_input"), any_port(m, ports, "any_output"))
        return m
