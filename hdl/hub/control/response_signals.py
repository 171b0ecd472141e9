"""What the sections of the response unit share: the command and its table entries, its kind, and the refusals."""

from amaranth.hdl import Signal

from ..commands import Error, Op
from ..messages import LEVEL_BITS, index_bits
from ..monitor.recorder import PORT_BITS
from .controller import Order

__all__ = ["QUESTIONS", "ResponseSignals"]

#: Commands whose answer is not their parameter.
QUESTIONS = (
    Op.STATUS_OUTPUT,
    Op.STATUS_ERRORS,
    Op.STATUS_INPUT,
    Op.STATUS_QUEUE,
    Op.STATUS_LOCK,
    Op.STATUS_READY,
    Op.IDENTITY_REPLY,
    Op.SIZE_REPLY,
)


class ResponseSignals:
    """The signals, each made and named once, in the order of the cycles; proofs look into them. The order comes in
    cycle t. ``ports``: ports of the HUB."""

    def __init__(self, ports):
        bits = index_bits(ports)

        # Cycle t + 1: the order.
        self.early = Signal(Order(ports), reset_less=True)
        self.early_giver = Signal(ports)  # the port that gave the command, one-hot; 0 if there is none
        self.early_place = Signal(ports, reset_less=True)  # the port that the command names, one-hot
        self.locks = Signal()  # a lock that is granted

        # Cycle t + 2: the command, and the commands that have an effect in this cycle.
        self.valid = Signal()
        self.giver = Signal(ports, reset_less=True)  # the port that gave the command, one-hot
        self.order = Signal(Order(ports), reset_less=True)
        self.place = Signal(ports, reset_less=True)  # the port that the command names, one-hot
        self.question = Signal(len(QUESTIONS), reset_less=True)  # which of QUESTIONS it is
        self.absent = Signal(reset_less=True)  # the named port does not exist
        self.unlocks = Signal()  # an unlock
        self.frees = Signal()  # an unlock mine
        self.forgets = Signal()  # a status neighbour
        self.supervises = Signal()  # a supervisor command
        self.responds = Signal()  # a command that gets its response from here

        # Cycle t + 2: the table entries of the named port.
        self.connections = Signal(ports, reset_less=True)  # outputs to which it is connected as an input
        self.in_use = Signal(reset_less=True)  # its output is connected
        self.holder = Signal(bits, reset_less=True)  # the input that is connected to its output
        self.taken = Signal(reset_less=True)  # its output is locked
        self.locker = Signal(bits, reset_less=True)  # the input that has the lock
        self.ours = Signal()  # the command's own port has the lock
        self.usable = Signal(reset_less=True)  # it is enabled
        self.ready_bit = Signal(reset_less=True)
        self.errors = Signal(9, reset_less=True)
        self.level = Signal(LEVEL_BITS, reset_less=True)

        # Cycle t + 3: the command, and the answer to it if it is not refused.
        self.responding = Signal()
        self.asker = Signal(ports)  # the port that gave the command, one-hot
        self.effect = Signal(ports, reset_less=True)  # the port that the command names, one-hot
        self.answer = Signal(8, reset_less=True)
        self.count = Signal(range(ports + 1), reset_less=True)  # outputs to which the named port is connected
        self.said = Signal(8, reset_less=True)  # ID or kind from the neighbour's hello

        # Cycle t + 3: the event for the record.
        self.event_input = Signal(PORT_BITS, reset_less=True)
        self.event_output = Signal(PORT_BITS, reset_less=True)
        self.had = Signal(reset_less=True)  # the command's port had this connection or lock before

        # Cycle t + 3: the kind of the command.
        self.is_unlock = Signal(reset_less=True)
        self.is_open = Signal(reset_less=True)
        self.is_lock = Signal(reset_less=True)
        self.is_status = Signal(reset_less=True)
        self.is_await = Signal(reset_less=True)
        self.is_flow = Signal(reset_less=True)  # it acts on a ready bit or sends a ready signal
        self.is_repair = Signal(reset_less=True)
        self.is_raise = Signal(reset_less=True)
        self.is_lower = Signal(reset_less=True)
        self.is_supervisor = Signal(reset_less=True)
        self.is_unknown = Signal(reset_less=True)
        self.is_test = Signal(reset_less=True)  # an open or lock that tests
        self.is_count = Signal(reset_less=True)  # the answer is ``count``
        self.is_neighbour = Signal(reset_less=True)  # the answer is ``said``
        self.is_quiet = Signal(reset_less=True)  # a hello

        # Cycle t + 3: what may refuse the command.
        self.done = Signal(name="done_before", reset_less=True)  # the controller has granted the command
        self.expired = Signal(reset_less=True)  # the watchdog gave the command up
        self.retry = Signal(reset_less=True)  # the command waits until it can be granted
        self.bad = Signal(reset_less=True)  # the named port does not exist, or is the command's own port
        self.missing = Signal(reset_less=True)  # the named port does not exist
        self.disabled = Signal(reset_less=True)
        self.busy = Signal(name="busy_output", reset_less=True)  # another input is connected to the output
        self.shut = Signal(reset_less=True)  # another input has locked the output
        self.not_ours = Signal(reset_less=True)  # the lock is not the command's port's
        self.not_owned = Signal(reset_less=True)  # the connection is not the command's port's
        self.alone = Signal(reset_less=True)  # no other input is connected to the output
        self.refused = {error: Signal(name=f"refused_{error.name.lower()}") for error in Error}

        # Cycle t + 4: the same in registers.
        self.judged = {error: Signal(name=f"judged_{error.name.lower()}") for error in Error}
        self.answers = Signal()  # a command gets its response
        self.answered = Signal(ports)  # its port, one-hot
        self.named = Signal(ports, reset_less=True)  # the port that it names, one-hot
        self.text = Signal(8, reset_less=True)  # the answer if the command is not refused
        self.silent = Signal()  # a hello
