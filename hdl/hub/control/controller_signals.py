"""What the sections of the controller share: the requests, the check of each, and the decisions of the last cycles."""

from amaranth.hdl import Signal

from ..messages import index_bits
from .arbiter import Arbiter

__all__ = ["ControllerSignals"]


class ControllerSignals:
    """The signals, each made and named once; proofs look into them. Vectors have a bit for each port. ``ports``: ports
    of the HUB."""

    def __init__(self, ports):
        bits = index_bits(ports)
        # The kind of each request. It holds until the response.
        self.opens = Signal(ports)
        self.locks = Signal(ports)
        self.awaits = Signal(ports)
        self.tests = Signal(ports)
        self.waits = Signal(ports)  # it may wait until it can be granted

        # The requests that are checked.
        self.asking = Signal(ports)  # it has come, and waits for its decision
        self.freeze = Signal()  # nothing is checked
        self.frozen = Signal()  # a supervisor command is carried out

        # The result of the check, in the cycle after.
        self.possible = Signal(ports)  # the request can be granted
        self.at_once = Signal(ports)  # the request is decided, granted or not
        self.either = Signal(ports)
        self.may_open = Signal(ports)  # it can be granted and is an open
        self.may_enter = Signal(ports)  # the same, of an output that the input does not have yet
        self.may_lock = Signal(ports)  # it can be granted and is a lock that takes the lock
        # Requests that take their output: opens; opens and locks. An open of an output that the input has already takes
        # nothing.
        self.opening = Signal(ports)
        self.wanting = Signal(ports)

        # The pick among them.
        self.turns = Arbiter(ports)
        self.hit = Signal(ports)  # the decision of the cycle before has taken the output

        # The pick of the cycle before; then for each port what its pick means, if the port is the picked one.
        self.picked = Signal(ports)
        self.counts = Signal(ports)  # the pick is not in vain
        self.was_done = Signal(ports)  # the request is granted
        self.enters = Signal(ports)  # a connection is entered
        self.takes_output = Signal(ports)
        self.takes_lock = Signal(ports)
        self.supervisor = Signal(ports)  # it is a supervisor command from a port that may give one

        # The decision.
        self.decided = Signal(ports)  # its port, one-hot
        self.opening_now = Signal(ports)  # the same if it opens
        self.locking_now = Signal(ports)  # the same if it locks
        self.opens_now = Signal()
        self.locks_now = Signal()
        self.number = Signal(bits)  # number of the output
        self.opened_here = Signal(ports)  # it opens the output that the request of this port names
        self.locked_here = Signal(ports)
        self.gave_up = Signal(ports)  # the watchdog has expired while the port was waiting

        # The decision before that, and the one before it.
        self.picked_before = Signal(ports)
        self.opened = Signal()
        self.locked = Signal()
        self.output = Signal(bits)
        self.locked_before = Signal()
        self.output_before = Signal(bits)
