"""Specification of hdl/cab/slots.py: docs/cab.md, "Data memory"."""

from .spec import Spec, choose

__all__ = ["SlotsSpec"]

FIBER_IN, FIBER_OUT, VME, CPU = range(4)
#: Who gets a slot that its user does not want.
ORDER = FIBER_IN, FIBER_OUT, CPU, VME


class SlotsSpec(Spec):
    """Cycle n after a reset, those slept through counted, is slot n modulo 4."""

    inputs = ("wants", "slept")
    state = {"cycle": (2, 0)}

    def outputs(self, s, i):
        """A slot is its user's; if its user does not want it, the first one's in order who does."""
        slot = s.cycle + i.slept & 3
        other = 0
        for user in reversed(ORDER):
            other = choose(i.wants >> user & 1, 1 << user, other)
        return {"given": choose(i.wants >> slot & 1, 1 << slot, other), "slot": slot}

    def following(self, s, i):
        """The next slot."""
        return {"cycle": s.cycle + i.slept + 1}
