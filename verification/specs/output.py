"""Specification of hdl/cab/output.py: docs/cab.md, "Fiber out"; the docstring of OutputRegister.

A payload is a symbol, *notify* in bit 9, and in bit 10 whether the symbol is a start.
"""

from nectar.hdl.link.symbol import Control

from .spec import Spec, Where, choose

__all__ = ["OutputSpec"]


def is_start(payload):
    """Whether the symbol is a start of packet."""
    return payload & 0x1FF == Control.START


class OutputSpec(Spec):
    """A list of at most two, ``count``: the oldest, ``first``, and the one behind it, ``second``. What the fiber took
    in the cycle before is ``left``, if ``gone`` is 1."""

    inputs = ("push__payload", "push__valid", "tx__ready")
    state = {"first": (11, 0), "second": (11, 0), "count": (2, 0), "left": (11, 0), "gone": (1, 0)}

    def outputs(self, s, i):
        """What is offered, and what is told of what has left. Software must not be told that all has left before it is
        told of the last symbol."""
        told, start_left = s.gone & (s.left >> 9) & 1, s.gone & is_start(s.left)
        inside = (s.count != 0) & is_start(s.first) | (s.count == 2) & is_start(s.second)
        return {
            "tx__valid": s.count != 0,
            "tx__payload": Where(s.count != 0, s.first & 0x1FF),
            "room": s.count != 2,
            "taken": s.gone,
            "left": told,
            "start_left": start_left,
            "start_inside": start_left | inside,
            "empty": (s.count == 0) & (told == 0) & (start_left == 0),
        }

    def following(self, s, i):
        """The fiber takes the oldest; what comes when there is room is the newest."""
        leaves, enters = i.tx__ready & (s.count != 0), i.push__valid & (s.count != 2)
        kept = s.count - leaves
        return {
            "first": choose(kept == 0, i.push__payload, choose(leaves, s.second, s.first)),
            "second": choose(kept == 0, s.second, choose(enters, i.push__payload, s.second)),
            "count": kept + enters,
            "left": s.first,
            "gone": leaves,
        }
