"""The HUB's command table: opcode, class, executor, parameter, reply, effect, errors, use.

Plain Python that imports nothing of the hardware: the decoder, the software, the tests and the
documentation are made from it. Source: "The Design of Nectar" (1989), section 4.2, which counts 38 user and 14
supervisor commands and names some; ``docs/hub.md`` gives the rest of their meaning.

An opcode's bits have meaning:

====  =========================================================================================
bit   meaning
====  =========================================================================================
7     supervisor: obeyed only from ports that may give such commands
6:4   group; 6 in a reply: a hello between neighbours, which no command asks for
3:1   within the group; for open and lock, bit 2 is *test* and bit 1 *retry*
0     reply: the HUB answers. In the reply itself: 1 done, 0 refused
====  =========================================================================================
"""

import functools
from dataclasses import dataclass
from enum import Enum, IntEnum

__all__ = [
    "SUPERVISOR",
    "TEST",
    "RETRY",
    "REPLY",
    "Group",
    "SupervisorGroup",
    "Op",
    "Error",
    "Executor",
    "Command",
    "COMMANDS",
    "BY_OPCODE",
    "commands_of",
    "STATUS_IN_USE",
    "FORCE",
    "HELLO",
    "HELLO_ASK",
    "HELLO_HUB",
    "KIND_UNKNOWN",
    "WATCHDOG_DEFAULT",
    "WATCHDOG_MAX",
]

SUPERVISOR = 0x80
TEST = 0x04
RETRY = 0x02
REPLY = 0x01
#: Set in the reply to STATUS_OUTPUT and STATUS_LOCK if the output has a connection or a lock. The other bits are the
#: input that holds it.
STATUS_IN_USE = 0x80
#: In the parameter of a command that forces: 1 to set, 0 to clear. The other bits are the port.
FORCE = 0x80
#: Opcode of the reply frame in which neighbours tell each other their ID and kind.
HELLO = 0x60
#: The same, with the request that the neighbour answers.
HELLO_ASK = HELLO | REPLY
#: Set in the value of a hello from a HUB; the other bits are the port. A CAB sends 0.
HELLO_HUB = 0x80
#: Answer to STATUS_KIND while the neighbour has not said hello.
KIND_UNKNOWN = 0x7F
#: Binary logarithm of the watchdog's time in cycles after a reset, and the greatest.
WATCHDOG_DEFAULT, WATCHDOG_MAX = 20, 31


class Group(IntEnum):
    """Bits 6:4 of a user command's opcode."""

    OPEN = 0
    CLOSE = 1
    LOCK = 2
    STATUS = 3
    FLOW = 4
    ECHO = 5


class SupervisorGroup(IntEnum):
    """Bits 6:4 of a supervisor command's opcode."""

    PORT = 0
    RESET = 1
    FORCE = 2
    TIME = 3
    MONITOR = 4
    ALLOW = 7


class Executor(Enum):
    """The part that executes a command (section 4.1). The controller executes commands that need serialising."""

    PORT = "input port"
    OUTPUT = "output register"
    CONTROLLER = "central controller"


class Error(IntEnum):
    """Value byte of a reply that refuses."""

    BUSY = 1  # the output is in use
    NOT_READY = 2  # the ready bit of the output is 0 (test open)
    BAD_PORT = 3  # no such port, or the command's own port where it makes no sense
    NOT_MINE = 4  # this input holds no such connection or lock
    UNKNOWN = 5  # no such opcode
    LOCKED = 6  # the output is locked by another input
    NOT_ALLOWED = 7  # a supervisor command from a port that may not give any
    DISABLED = 8  # the port is disabled
    GIVEN_UP = 9  # the command waited, and was ended by the watchdog, a flush or a reset


class Op(IntEnum):
    """Opcodes."""

    OPEN = 0x00
    OPEN_REPLY = 0x01
    OPEN_RETRY = 0x02
    OPEN_RETRY_REPLY = 0x03
    TEST_OPEN = 0x04
    TEST_OPEN_REPLY = 0x05
    TEST_OPEN_RETRY = 0x06
    TEST_OPEN_RETRY_REPLY = 0x07
    CLOSE = 0x10
    CLOSE_REPLY = 0x11
    CLOSE_MINE = 0x12
    CLOSE_MINE_REPLY = 0x13
    CLOSE_ALL = 0x14
    CLOSE_ALL_REPLY = 0x15
    LOCK = 0x20
    LOCK_REPLY = 0x21
    LOCK_RETRY = 0x22
    LOCK_RETRY_REPLY = 0x23
    TEST_LOCK_REPLY = 0x25
    UNLOCK = 0x28
    UNLOCK_REPLY = 0x29
    UNLOCK_MINE = 0x2A
    STATUS_OUTPUT = 0x31
    STATUS_ERRORS = 0x33
    STATUS_INPUT = 0x35
    STATUS_QUEUE = 0x37
    STATUS_LOCK = 0x39
    STATUS_READY = 0x3B
    STATUS_NEIGHBOUR = 0x3D
    STATUS_KIND = 0x3F
    RAISE_READY = 0x40
    LOWER_READY = 0x42
    REPAIR_READY = 0x44
    AWAIT_READY_REPLY = 0x47
    FLUSH_REPLY = 0x49
    ECHO_REPLY = 0x51
    IDENTITY_REPLY = 0x53
    SIZE_REPLY = 0x55
    DISABLE_REPLY = 0x81
    ENABLE_REPLY = 0x83
    LOOP_BACK_REPLY = 0x85
    RESET_QUEUE_REPLY = 0x91
    RESET_PORT_REPLY = 0x93
    RESET_HUB = 0x94
    FORCE_CONNECTION_REPLY = 0xA1
    FORCE_LOCK_REPLY = 0xA3
    FORCE_READY_REPLY = 0xA5
    WATCHDOG_TIME_REPLY = 0xB1
    MONITOR_SELECT_REPLY = 0xC1
    MONITOR_READ_REPLY = 0xC3
    MONITOR_CLEAR_REPLY = 0xC5
    ALLOW_SUPERVISOR_REPLY = 0xF1


@dataclass(frozen=True)
class Command:
    """One row of the table."""

    op: Op
    executor: Executor
    parameter: str
    reply: str
    effect: str
    errors: tuple[Error, ...]
    use: str

    @property
    def name(self):
        """The command's name in words: ``open retry reply``."""
        return self.op.name.lower().replace("_", " ")

    @functools.cached_property
    def supervisor(self):
        """Whether only a supervisor port may give the command."""
        return bool(self.op & SUPERVISOR)

    @functools.cached_property
    def group(self):
        """The group in bits 6:4."""
        return (SupervisorGroup if self.supervisor else Group)(self.op >> 4 & 7)

    @functools.cached_property
    def part(self):
        """The part without which a HUB does not know the command: ``locks``, ``monitor``, or None."""
        if self.supervisor and self.group is SupervisorGroup.MONITOR:
            return "monitor"
        if not self.supervisor and self.group is Group.LOCK or self.op in (Op.STATUS_LOCK, Op.FORCE_LOCK_REPLY):
            return "locks"
        return None

    @functools.cached_property
    def any_hub(self):
        """Whether the first HUB on the way takes the command for its own if it bears HUB ID 255."""
        return not self.supervisor and self.group is Group.ECHO

    @functools.cached_property
    def waits(self):
        """Whether the command may hold the head of its queue until another event in the HUB."""
        return (
            self.op == Op.AWAIT_READY_REPLY
            or not self.supervisor
            and (self.group is Group.OPEN or self.op in (Op.LOCK_RETRY, Op.LOCK_RETRY_REPLY))
            and bool(self.op & RETRY)
        )


_PORT, _CONTROLLER, _OUTPUT = Executor.PORT, Executor.CONTROLLER, Executor.OUTPUT
_DONE_PORT = "done: the port"
_RETRIED = (Error.BAD_PORT, Error.DISABLED, Error.GIVEN_UP)
_TRIED = (Error.BUSY, Error.LOCKED, Error.BAD_PORT, Error.DISABLED)
_SUPERVISOR = (Error.NOT_ALLOWED, Error.BAD_PORT)

# fmt: off
COMMANDS = (
    # Open: eight commands. Bits 2, 1 and 0 are test, retry and reply.
    Command(Op.OPEN, _CONTROLLER, "output port", "none",
            "connects this input to the output if it is free",
            _TRIED, "a try that must not wait: what follows is discarded when the output is taken"),
    Command(Op.OPEN_REPLY, _CONTROLLER, "output port", _DONE_PORT,
            "as open, and answers",
            _TRIED, "tries one of several ways and takes another when it is refused"),
    Command(Op.OPEN_RETRY, _CONTROLLER, "output port", "none",
            "connects this input to the output; waits, and holds what follows, until it is free",
            _RETRIED, "every hop but the last of a circuit"),
    Command(Op.OPEN_RETRY_REPLY, _CONTROLLER, "output port", _DONE_PORT,
            "as open retry, and answers when the connection stands",
            _RETRIED, "the last hop of a circuit: the reply says that the whole route stands"),
    Command(Op.TEST_OPEN, _CONTROLLER, "output port", "none",
            "as open, but only if the output's ready bit is 1",
            (*_TRIED, Error.NOT_READY), "a packet that had better be lost than late"),
    Command(Op.TEST_OPEN_REPLY, _CONTROLLER, "output port", _DONE_PORT,
            "as test open, and answers",
            (*_TRIED, Error.NOT_READY), "asks whether a packet could go at once, and takes the way if so"),
    Command(Op.TEST_OPEN_RETRY, _CONTROLLER, "output port", "none",
            "as open retry, but waits also for the output's ready bit",
            _RETRIED, "every hop under packet switching: a packet moves only where there is room for it"),
    Command(Op.TEST_OPEN_RETRY_REPLY, _CONTROLLER, "output port", _DONE_PORT,
            "as test open retry, and answers",
            _RETRIED, "a packet whose sender wants to know when a hop was passed"),
    # Close: six.
    Command(Op.CLOSE, _PORT, "output port", "none",
            "closes the connection from this input to the output",
            (Error.NOT_MINE, Error.BAD_PORT),
            "takes one branch off a multicast, or a route down hop by hop from its far end"),
    Command(Op.CLOSE_REPLY, _PORT, "output port", _DONE_PORT,
            "as close, and answers",
            (Error.NOT_MINE, Error.BAD_PORT), "takes a branch down and knows that all before it has left the queue"),
    Command(Op.CLOSE_MINE, _PORT, "not used", "none",
            "closes every connection of this input in this HUB",
            (), "ends a multicast, or starts afresh from an unknown state"),
    Command(Op.CLOSE_MINE_REPLY, _PORT, "echoed", "done: the parameter",
            "as close mine, and answers",
            (), "the first step of a recovery: the answer says that nothing of this input stands any more"),
    Command(Op.CLOSE_ALL, _OUTPUT, "not used; HUB ID not used either", "none",
            "closes, at every HUB on the way, the connection that it has just left through",
            (), "the end of every transfer: it travels behind the data and so cannot overtake them"),
    Command(Op.CLOSE_ALL_REPLY, _PORT, "echoed", "done: the parameter",
            "given to the last HUB of a route: closes every connection of this input; its reply closes, at every HUB, "
            "the connection "
            "that it comes back along",
            (), "the end of a circuit whose source wants to know that the whole route is down"),
    # Locks on outputs: eight.
    Command(Op.LOCK, _CONTROLLER, "output port", "none",
            "keeps all other inputs from opening the output, until it is unlocked",
            (Error.LOCKED, Error.BAD_PORT, Error.DISABLED), "holds an output that will be needed soon"),
    Command(Op.LOCK_REPLY, _CONTROLLER, "output port", _DONE_PORT,
            "as lock, and answers",
            (Error.LOCKED, Error.BAD_PORT, Error.DISABLED),
            "collects the outputs of a multicast and gives way when one is taken"),
    Command(Op.LOCK_RETRY, _CONTROLLER, "output port", "none",
            "as lock; waits, and holds what follows, until no other input has the lock",
            _RETRIED, "collects outputs in the order of their numbers, which cannot deadlock"),
    Command(Op.LOCK_RETRY_REPLY, _CONTROLLER, "output port", _DONE_PORT,
            "as lock retry, and answers",
            _RETRIED, "the last lock of a set: the reply says that the whole set is held"),
    Command(Op.TEST_LOCK_REPLY, _CONTROLLER, "output port", _DONE_PORT,
            "takes nothing; done if lock would be done now",
            (Error.LOCKED, Error.BAD_PORT, Error.DISABLED), "looks before it takes"),
    Command(Op.UNLOCK, _CONTROLLER, "output port", "none",
            "gives back the lock on the output",
            (Error.NOT_MINE, Error.BAD_PORT), "lets others have an output"),
    Command(Op.UNLOCK_REPLY, _CONTROLLER, "output port", _DONE_PORT,
            "as unlock, and answers",
            (Error.NOT_MINE, Error.BAD_PORT), "lets others have it, and knows when"),
    Command(Op.UNLOCK_MINE, _CONTROLLER, "not used", "none",
            "gives back every lock of this input in this HUB",
            (), "the end of a multicast, or of a recovery"),
    # Status: eight, answered always.
    Command(Op.STATUS_OUTPUT, _CONTROLLER, "output port",
            "done: 0 when free, else 0x80 | the input port connected to it",
            "reads the status table",
            (Error.BAD_PORT,), "finds out how far a route that does not answer has come"),
    Command(Op.STATUS_ERRORS, _CONTROLLER, "port", "done: the number of errors counted at that port, at most 255",
            "reads a port's error counter",
            (Error.BAD_PORT,), "tells a lossy fiber or a faulty sender from a busy HUB"),
    Command(Op.STATUS_INPUT, _CONTROLLER, "input port", "done: the number of outputs connected to it",
            "counts the connections of an input",
            (Error.BAD_PORT,), "checks a multicast before the data are sent"),
    Command(Op.STATUS_QUEUE, _CONTROLLER, "input port", "done: the entries that wait in its queue, at most 255",
            "reads how full an input queue is",
            (Error.BAD_PORT,), "finds the HUB at which traffic jams"),
    Command(Op.STATUS_LOCK, _CONTROLLER, "output port",
            "done: 0 when not locked, else 0x80 | the input port that holds the lock",
            "reads a lock",
            (Error.BAD_PORT,), "finds who keeps an output"),
    Command(Op.STATUS_READY, _CONTROLLER, "output port", "done: the ready bit",
            "reads a ready bit",
            (Error.BAD_PORT,), "tells a lost ready signal from a busy output"),
    Command(Op.STATUS_NEIGHBOUR, _CONTROLLER, "port",
            "done: the ID of the board at its other end, 0 if it has not said hello",
            "tells what the neighbour has said, forgets it, and says hello anew",
            (Error.BAD_PORT,), "explores a network, HUB after HUB; asked twice, it notices a fiber that was unplugged"),
    Command(Op.STATUS_KIND, _CONTROLLER, "port",
            "done: 0x80 | its port for a HUB, 0 for a CAB, 0x7F if it has not said hello",
            "tells what the neighbour is",
            (Error.BAD_PORT,), "explores a network: which way on, and where it arrives there"),
    # Flow control: five.
    Command(Op.RAISE_READY, _CONTROLLER, "output port", "none",
            "sets the ready bit of an output that is connected to this input",
            (Error.NOT_MINE, Error.BAD_PORT), "goes on after a ready signal was lost"),
    Command(Op.LOWER_READY, _CONTROLLER, "output port", "none",
            "clears the ready bit of an output that is connected to this input",
            (Error.NOT_MINE, Error.BAD_PORT), "keeps packets away from a neighbour that must not be disturbed"),
    Command(Op.REPAIR_READY, _CONTROLLER, "own port, or an output port", "none",
            "sends a ready signal out of the port: the one at which it arrived, or one that is connected to this input",
            (Error.NOT_MINE, Error.BAD_PORT), "makes up for a ready signal that was lost on the fiber"),
    Command(Op.AWAIT_READY_REPLY, _CONTROLLER, "output port", "done: the port",
            "waits, and holds what follows, until the ready bit is 1, and answers",
            (Error.BAD_PORT, Error.GIVEN_UP), "waits for room without taking the output"),
    Command(Op.FLUSH_REPLY, _PORT, "echoed", "done: the parameter",
            "as it arrives, throws away all that is in the queue before it and ends a command that waits there",
            (), "recovers a route whose queues are stuck, HUB after HUB from the source"),
    # Echo: three, taken by any HUB when they bear HUB ID 255.
    Command(Op.ECHO_REPLY, _CONTROLLER, "any byte", "done: the parameter",
            "answers", (), "measures the way to a HUB and back; tells whether a HUB lives"),
    Command(Op.IDENTITY_REPLY, _CONTROLLER, "not used",
            "done: the port at which it arrived; the reply bears the HUB's ID",
            "tells the HUB and the port", (), "a CAB's first question: where am I?"),
    Command(Op.SIZE_REPLY, _CONTROLLER, "not used", "done: the number of ports",
            "tells the size", (), "explores a network: how many ports are to be asked"),
    # Supervisor: fourteen.
    Command(Op.DISABLE_REPLY, _CONTROLLER, "port", _DONE_PORT,
            "drops what arrives there, closes its connections and those that lead there, gives back its locks, and "
            "lets nobody open it",
            _SUPERVISOR, "takes a broken fiber or a babbling board out of the network"),
    Command(Op.ENABLE_REPLY, _CONTROLLER, "port", _DONE_PORT,
            "takes the port into use, with its ready bit 1, and says hello there",
            _SUPERVISOR, "takes a mended fiber into the network"),
    Command(Op.LOOP_BACK_REPLY, _CONTROLLER, "port, | 0x80 to begin", _DONE_PORT,
            "what leaves through the port arrives at it; the fiber is idle and not heard",
            _SUPERVISOR, "tests a port without its fiber"),
    Command(Op.RESET_QUEUE_REPLY, _CONTROLLER, "input port", _DONE_PORT,
            "empties the input queue and ends a command that waits there",
            _SUPERVISOR, "frees a queue that its own source cannot reach any more"),
    Command(Op.RESET_PORT_REPLY, _CONTROLLER, "port", _DONE_PORT,
            "empties the input queue, closes the connections of the port and those that lead there, gives back its "
            "locks and the lock on it, "
            "sets its ready bit, and says hello there",
            _SUPERVISOR, "starts a port afresh after its board was exchanged"),
    Command(Op.RESET_HUB, _CONTROLLER, "not used", "none",
            "as the reset pin: everything starts afresh",
            _SUPERVISOR[:1], "the last resort of a recovery"),
    Command(Op.FORCE_CONNECTION_REPLY, _CONTROLLER, "output port, | 0x80 to set", _DONE_PORT,
            "connects this input to the output, whoever has or locks it; or closes whatever connection leads there",
            (*_SUPERVISOR, Error.DISABLED), "gets through to a board behind a connection that hangs"),
    Command(Op.FORCE_LOCK_REPLY, _CONTROLLER, "output port, | 0x80 to set", _DONE_PORT,
            "takes the lock on the output from whoever has it; or clears it",
            _SUPERVISOR, "frees an output whose locker is gone"),
    Command(Op.FORCE_READY_REPLY, _CONTROLLER, "output port, | 0x80 to set", _DONE_PORT,
            "sets or clears the ready bit",
            _SUPERVISOR, "repairs flow control; drains a port before work on it"),
    Command(Op.WATCHDOG_TIME_REPLY, _CONTROLLER, "binary logarithm of the time in cycles, 4 to 31; 0: off",
            "done: the parameter",
            "sets how long something may stand still",
            _SUPERVISOR, "fits recovery to the longest pause that the software makes"),
    Command(Op.MONITOR_SELECT_REPLY, _CONTROLLER, "what to read: see docs/monitor.md", "done: the parameter",
            "selects what the monitor shows",
            _SUPERVISOR, "looks at a port's counters, the ports' state, or the record of events"),
    Command(Op.MONITOR_READ_REPLY, _CONTROLLER, "which byte", "done: the byte",
            "reads a byte of what is selected",
            _SUPERVISOR[:1], "fetches counters and events; asked again after a lost reply it tells the same"),
    Command(Op.MONITOR_CLEAR_REPLY, _CONTROLLER, "what to clear: see docs/monitor.md", "done: the parameter",
            "clears counters, or starts or stops the record of events",
            _SUPERVISOR, "begins a measurement"),
    Command(Op.ALLOW_SUPERVISOR_REPLY, _CONTROLLER, "port, | 0x80 to allow", _DONE_PORT,
            "says whether supervisor commands are obeyed from the port",
            _SUPERVISOR, "keeps the management of the network to the boards that do it"),
)
# fmt: on

BY_OPCODE = {int(row.op): row for row in COMMANDS}


def commands_of(*, monitor=True, locks=True):
    """The commands of a HUB with or without a monitor and locks: rows of ``COMMANDS`` (docs/hub.md, "Parts that may be
    left out")."""
    absent = {name for name, there in (("monitor", monitor), ("locks", locks)) if not there}
    return tuple(row for row in COMMANDS if row.part not in absent)
