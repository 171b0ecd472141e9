"""Specification of hdl/hub/control/arbiter.py: docs/hub.md, "Controller and status table", turns by port number."""

from .spec import Spec, choose, number

__all__ = ["ArbiterSpec"]


class ArbiterSpec(Spec):
    """Turns among ``count``, as a walk around a ring that begins behind the last turn.

    ``last``: whose turn was last; ``before``: the same in the cycle before.
    """

    inputs = ("asks", "keep", "back")

    def __init__(self, count):
        self.count = count
        bits = max(1, (count - 1).bit_length())
        self.state = {"last": (bits, count - 1), "before": (bits, count - 1)}

    def outputs(self, s, i):
        """The first behind the last turn that asks."""
        everybody = (1 << self.count) - 1
        ring = (i.asks | i.asks << self.count) >> (s.last + 1) & everybody
        turned = (ring & -ring & everybody) << (s.last + 1)
        return {"pick": (turned | turned >> self.count) & everybody}

    def following(self, s, i):
        """A pick is a turn unless it is to be kept from being one; without a pick, the last turn may be taken back."""
        pick = self.outputs(s, i)["pick"]
        taken = choose(i.keep, s.last, number(pick, self.count))
        return {"last": choose(pick == 0, choose(i.back, s.before, s.last), taken), "before": s.last}
