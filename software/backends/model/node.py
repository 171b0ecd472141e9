"""A node of the pure-Python model: its end of the VME bus, access by access (docs/nodes.md)."""

from ...node.layout import ACKNOWLEDGE

__all__ = ["ModelNode"]

#: CPU cycles from the edge at which a request is taken to the one at which it is answered, as the RTL has them in the
#: middle; further words of a block.
_STORE, _LOAD, _NEXT = 14, 17, 9


class ModelNode:
    """What a node's CPU has for a bus.

    Parameters
    ----------
    name : str
    board : ModelCab
        Its CAB; another after that has been restarted.
    """

    def __init__(self, name, board):
        self.name = name
        self.board = board
        self.period_ps = board.period_ps
        self.first_ps = board.first_ps

    @property
    def irq(self):
        """Whether an interrupt of the CAB waits."""
        return bool(self.board.waiting)

    def access(self, request):
        """Carries out a request; returns (data, error)."""
        if request.address >= ACKNOWLEDGE:
            return self.board.acknowledge(), False
        return self.board.vme_access(request)

    def block(self, operation, kernel):
        """Does a whole block of data memory and returns its words; None if it must go word by word."""
        return self.board.vme_block(operation)

    @staticmethod
    def answer(write, words=1):
        """Cycles from the edge at which the first of so many words is taken to the last answer."""
        return (_STORE if write else _LOAD) + _NEXT * (words - 1)
