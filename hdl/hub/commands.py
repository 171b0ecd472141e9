"""The HUB's command table: opcode, class, executor, parameter, reply, effect, errors, use.

Plain Python that imports nothing of the hardware: the decoder, the software, the tests and the
documentation are made from it. Source: "The Design of Nectar" (1989), section 4.2.

An opcode's bits have meaning:

====  =========================================================================================
bit   meaning
====  =========================================================================================
7     supervisor: obeyed only from ports that may give such commands
6:4   group: 0 open, 1 close, 2 lock, 3 status, 4 flow control, 5 echo (6 and 7 are free)
3:1   within the group; for open: 3 reserved (0), 2 *test* (needs the ready bit), 1 *retry*
0     reply: the HUB answers. In the reply itself: 1 done, 0 refused
====  =========================================================================================
"""

from dataclasses import dataclass
from enum import Enum, IntEnum

__all__ = ["SUPERVISOR", "TEST", "RETRY", "REPLY", "Group", "Op", "Error", "Executor", "Command", "COMMANDS",
           "BY_OPCODE", "STATUS_CONNECTED"]

SUPERVISOR = 0x80
TEST = 0x04
RETRY = 0x02
REPLY = 0x01
#: Set in the reply to STATUS_OUTPUT when the output is in use; the other bits are then its input port.
STATUS_CONNECTED = 0x80


class Group(IntEnum):
    """Bits 6:4 of an opcode."""

    OPEN = 0
    CLOSE = 1
    LOCK = 2
    STATUS = 3
    FLOW = 4
    ECHO = 5


class Executor(Enum):
    """Who executes a command (section 4.1): what needs serialising goes to the controller."""

    PORT = "input port"
    OUTPUT = "output register"
    CONTROLLER = "central controller"


class Error(IntEnum):
    """Value byte of a reply that refuses."""

    BUSY = 1         # the output is in use
    NOT_READY = 2    # the ready bit of the output is 0 (test open)
    BAD_PORT = 3     # no such port, or the command's own port
    NOT_MINE = 4     # no connection leads from this input to that output
    UNKNOWN = 5      # no such opcode


class Op(IntEnum):
    """Opcodes."""

    OPEN = 0x00
    OPEN_RETRY = RETRY
    OPEN_RETRY_REPLY = RETRY | REPLY
    TEST_OPEN_RETRY = TEST | RETRY
    CLOSE = 0x10
    CLOSE_ALL = 0x14
    STATUS_OUTPUT = 0x31
    STATUS_ERRORS = 0x33


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

    @property
    def supervisor(self):
        """Whether only a supervisor port may give it."""
        return bool(self.op & SUPERVISOR)

    @property
    def group(self):
        """The group in bits 6:4."""
        return Group(self.op >> 4 & 7)


COMMANDS = (
    Command(Op.OPEN, Executor.CONTROLLER, "output port", "none",
            "connects this input to the output if it is free",
            (Error.BUSY, Error.BAD_PORT),
            "a try that must not wait: what follows is discarded when the output is taken"),
    Command(Op.OPEN_RETRY, Executor.CONTROLLER, "output port", "none",
            "connects this input to the output; waits, and holds what follows, until it is free",
            (Error.BAD_PORT,),
            "every hop but the last of a circuit"),
    Command(Op.OPEN_RETRY_REPLY, Executor.CONTROLLER, "output port", "done: the port",
            "as open retry, and answers when the connection stands",
            (Error.BAD_PORT,),
            "the last hop of a circuit: the reply says that the whole route stands"),
    Command(Op.TEST_OPEN_RETRY, Executor.CONTROLLER, "output port", "none",
            "as open retry, but waits also for the output's ready bit",
            (Error.BAD_PORT,),
            "every hop under packet switching: a packet moves only where there is room for it"),
    Command(Op.CLOSE, Executor.PORT, "output port", "none",
            "closes the connection from this input to the output",
            (Error.NOT_MINE, Error.BAD_PORT),
            "takes one branch off a multicast, or a route down hop by hop from its far end"),
    Command(Op.CLOSE_ALL, Executor.OUTPUT, "not used; HUB ID not used either", "none",
            "closes, at every HUB on the way, the connection that it has just left through",
            (),
            "the end of every transfer: it travels behind the data and so cannot overtake them"),
    Command(Op.STATUS_OUTPUT, Executor.CONTROLLER, "output port",
            "done: 0 when free, else 0x80 | the input port connected to it",
            "reads the status table", (Error.BAD_PORT,),
            "finds out how far a route that does not answer has come"),
    Command(Op.STATUS_ERRORS, Executor.CONTROLLER, "port",
            "done: the number of errors counted at that port, at most 255",
            "reads a port's error counter", (Error.BAD_PORT,),
            "tells a lossy fiber or a faulty sender from a busy HUB"),
)

BY_OPCODE = {int(row.op): row for row in COMMANDS}
