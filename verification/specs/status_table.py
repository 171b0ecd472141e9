"""Specification of hdl/hub/control/status_table.py: H4, H10; docs/hub.md, "Controller and status table". It is that of
one output; each output has its own."""

from .spec import Spec, Where, number

__all__ = ["ConnectionSpec"]


class ConnectionSpec(Spec):
    """The connection of an output of a HUB of ``ports`` ports.

    Inputs are masks of inputs: ``enter``, whose connection to this output is entered; ``close``, whose connection to
    it ends. ``owner``: mask of the input that is connected; ``before``: of the one that was, or was entered, in the
    cycle before.
    """

    inputs = ("enter", "close")

    def __init__(self, ports):
        self.ports = ports
        self.state = {"owner": (ports, 0), "before": (ports, 0)}

    def outputs(self, s, i):
        """``targets`` is a mask of inputs: who is connected."""
        return {
            "targets": s.owner,
            "connected": s.before != 0,
            "owner": Where(s.before != 0, number(s.before, self.ports)),
            "ended": (s.before != 0) & (s.owner == 0),
        }

    def following(self, s, i):
        """A connection stands in the next cycle, and one that is closed is free in it; closing goes first."""
        ahead = s.owner | i.enter
        return {"owner": ahead - (ahead & i.close), "before": ahead}
