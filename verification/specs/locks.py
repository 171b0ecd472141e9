"""Specification of hdl/hub/control/locks.py: docs/hub.md, "Controller and status table", Locks. It is that of one
output; each output has its own."""

from .spec import Spec, Where, choose, number

__all__ = ["LockSpec"]


class LockSpec(Spec):
    """The lock on an output of a HUB of ``ports`` ports.

    ``holder``: mask of the input that holds the lock. ``known``: of the input for which the output is locked; one that
    has released its locks is known for a cycle more.
    """

    inputs = ("change", "who", "give_back", "release")

    def __init__(self, ports):
        self.ports = ports
        self.state = {"holder": (ports, 0), "known": (ports, 0)}

    def outputs(self, s, i):
        """``held`` and ``shut`` are masks of inputs: who holds the lock, and whom it shuts out."""
        locked = s.known != 0
        return {
            "held": s.holder,
            "locked": locked,
            "shut": choose(locked, (1 << self.ports) - 1 - s.known, 0),
            "owner": Where(locked, number(s.known, self.ports)),
            "ended": locked & (s.holder == 0),
        }

    def following(self, s, i):
        """A change goes before what is given back; who releases all locks has none in the next cycle."""
        kept = i.give_back == 0
        holder = choose(i.change, i.who, choose(kept, s.holder, 0))
        known = choose(i.change, i.who, choose(kept & (s.holder != 0), s.known, 0))
        return {"holder": holder - (holder & i.release), "known": known}
