"""Specification of hdl/link/queue.py: docs/cab.md, "Fiber in". It tells how many symbols there are, and when one is
offered. A bench compares all symbols, a proof follows one of them."""

from .spec import Spec, choose

__all__ = ["QueueSpec"]


class QueueSpec(Spec):
    """``level``: symbols inside of a queue of ``depth``. ``fresh``, ``younger``: one has come in the last cycle, in the
    cycle before that."""

    inputs = ("push__valid", "output__ready", "clear")

    def __init__(self, depth):
        self.depth = depth
        self.state = {"level": (depth.bit_length(), 0), "fresh": (1, 0), "younger": (1, 0)}

    def outputs(self, s, i):
        """A symbol is offered from the third cycle on; what finds no room, and only that, is lost."""
        full = s.level == self.depth
        return {
            "level": s.level,
            "overflow": i.push__valid & full,
            "output__valid": s.level > s.fresh + s.younger,
            "stores": i.push__valid & (full == 0),
        }

    def following(self, s, i):
        """One comes and one goes; ``clear`` takes both."""
        shown = self.outputs(s, i)
        level = s.level + shown["stores"] - (shown["output__valid"] & i.output__ready)
        stays = i.clear == 0
        return {
            "level": choose(stays, level, 0),
            "fresh": stays & shown["stores"],
            "younger": stays & s.fresh,
        }
