"""Specification of hdl/hub/port/input_queue.py: H14; docs/hub.md, "Input side of a port". It tells how many entries
there are, and when one is offered. A bench compares all entries, a proof follows one of them."""

from nectar.hdl.link.symbol import COMMAND_LENGTH

from .spec import Spec, choose

__all__ = ["InputQueueSpec"]


class InputQueueSpec(Spec):
    """``level``: entries that are committed, in a queue with room for ``capacity``. ``valid``: the oldest is
    offered."""

    inputs = ("commit", "amount", "clear", "pop")

    def __init__(self, capacity):
        self.capacity = capacity
        self.state = {"level": (capacity.bit_length(), 0), "valid": (1, 0)}

    def outputs(self, s, i):
        """The oldest counts as read while it is offered."""
        return {
            "full": s.level == self.capacity,
            "tight": s.level + COMMAND_LENGTH > self.capacity,
            "empty": s.level == 0,
            "level": s.level - s.valid,
            "valid": s.valid,
        }

    def following(self, s, i):
        """What is committed is offered from the second cycle on. A clearing takes what was committed before."""
        gone = choose(i.clear, s.level, i.pop)
        return {"level": s.level - gone + choose(i.commit, i.amount, 0), "valid": s.level > gone}
