"""Errors that a program hears of. Each message says what happened and what to do about it."""

__all__ = [
    "ProgramError",
    "UnfinishedRun",
    "NotOnThisMachine",
    "MessageTooLong",
    "OutOfMemory",
    "NodeMemoryError",
    "NoRoute",
    "TimedOut",
    "MailboxFull",
    "MailboxClosed",
    "ReceiverEnded",
    "NotYours",
    "ThreadEnded",
    "EndThread",
    "Fault",
    "CircuitError",
    "NoReply",
    "CommandRefused",
    "CallError",
    "CallTimeout",
    "ServerSilent",
    "ServiceMissing",
    "ServiceFull",
    "ServiceEnded",
    "ServerRestarted",
    "AnswerLost",
    "CallCancelled",
    "MulticastFailed",
    "BadCommand",
    "StreamError",
    "ConnectTimeout",
    "ConnectRefused",
    "PeerSilent",
    "PeerRestarted",
    "PeerAborted",
    "ConnectionAborted",
    "ConnectionClosed",
    "PortInUse",
    "RoutingCycle",
    "FaultError",
    "CapabilityError",
    "CabStopped",
    "CableError",
    "NodeError",
    "NodeAbsent",
    "NodeSilent",
    "NodeStopped",
    "CabSilent",
    "FileError",
    "FileMissing",
    "FileRefused",
    "TaskError",
    "NoSuchTask",
    "TaskEnded",
    "PeerStopped",
    "PeerStartedAnew",
    "BufferTooShort",
    "MessageWithdrawn",
    "TooLate",
    "described",
]


class ProgramError(Exception):
    """A program could not go on: its fault, the network's, or the given time's. Shown to users as one line."""


class NotOnThisMachine(ProgramError, AttributeError):
    """A program uses what only another machine has."""


class UnfinishedRun(ProgramError):
    """Nothing can happen any more although tasks wait, or the time is up. The message says who waits for what; if the
    tasks are several, in a line for each group of equal ones."""


class MessageTooLong(ProgramError):
    """A message has more bytes than the protocol takes, or more areas than the fiber-out list."""


class NodeMemoryError(ProgramError):
    """The memory of a node does not take or give the bytes of a message: a page is not open, or the node is silent."""


class OutOfMemory(ProgramError):
    """More bytes were asked for than the CAB's data memory could ever give."""


class NoRoute(ProgramError):
    """The routing table has no way to a CAB."""


class CircuitError(ProgramError):
    """A circuit did not come to stand, in spite of all attempts. ``error`` is what a HUB refused it with (an
    ``Error``), or None."""

    def __init__(self, message, error=None):
        super().__init__(message)
        self.error = error


class NoReply(ProgramError):
    """A HUB did not answer a command, in spite of all attempts."""


class CommandRefused(ProgramError):
    """A HUB has refused a command. ``error`` is an ``Error`` of ``nectar.hdl.hub.commands``; ``hub``, ``op`` and
    ``param`` are the command."""

    def __init__(self, hub, op, param, error):
        super().__init__(f"HUB {hub} refuses {op.name} of {param}: {error.name}")
        self.hub, self.op, self.param, self.error = hub, op, param, error


class CallError(ProgramError):
    """A call of a service has no answer; what is below says why. ``executed``: False if it is certain that the
    server did not execute the request."""

    executed = None


class CallTimeout(CallError):
    """The server's CAB is there, but the answer did not come in the time that the caller gave."""


class ServerSilent(CallError):
    """Nothing was heard of the server's CAB, in spite of all attempts."""


class ServiceMissing(CallError):
    """The CAB has no service of that number."""

    executed = False


class ServiceFull(CallError):
    """As many requests as the service takes wait for it already."""

    executed = False


class ServiceEnded(CallError):
    """The service was closed, or the task that should have answered has ended."""


class ServerRestarted(CallError):
    """The server's CAB has started anew since the request was sent."""


class AnswerLost(CallError):
    """The request was executed, but the server does not keep the answer any more."""

    executed = True


class CallCancelled(CallError):
    """The caller has cancelled the call."""


class MulticastFailed(ProgramError):
    """Not all members have the message. ``missing``: dict of CAB ID → why (str); all others have it."""

    def __init__(self, mailbox, missing):
        names = "; ".join(f"CAB {member} {why}" for member, why in sorted(missing.items()))
        super().__init__(f"the message to mailbox {mailbox} has not reached all: {names}; all others have it")
        self.missing = missing


class BadCommand(ProgramError):
    """A command in the command mailbox cannot be understood. ``status``: a ``Status`` (``nectar.software.packet``)
    that says why."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class StreamError(ProgramError):
    """A connection of the byte stream is no more, or never came to be; what is below says why."""


class ConnectTimeout(StreamError):
    """The other CAB did not answer in time to a connection that was to be opened: is it there, and running, and has
    its listener room?"""


class ConnectRefused(StreamError):
    """Nobody listens at the port that was called: start the server first."""


class PeerSilent(StreamError):
    """Nothing was heard any more from the other side of a connection, though it should have answered."""


class PeerRestarted(StreamError):
    """The other side does not know the connection any more: its CAB has started anew. Open a new one."""


class PeerAborted(StreamError):
    """The other side has aborted the connection; what it had not read is lost."""


class ConnectionAborted(StreamError):
    """This side has aborted the connection."""


class ConnectionClosed(StreamError):
    """Nothing can be sent on a connection, or accepted by a listener, that was closed on this side."""


class PortInUse(StreamError):
    """Somebody on this CAB listens at this port already: take another one, or close that listener."""


class RoutingCycle(ProgramError):
    """Routes that could wait for each other in a circle. ``channels`` is the circle: a list of (hub ID, output
    port)."""

    def __init__(self, channels):
        circle = " -> ".join(f"HUB {hub} P{port}" for hub, port in [*channels, *channels[:1]])
        super().__init__(
            f"these routes can wait for each other for ever, in the circle {circle}: change one of them, or leave them "
            f"out, and "
            "routes without circles are chosen"
        )
        self.channels = list(channels)


class TimedOut(ProgramError):
    """A wait has lasted longer than its time-out. What was waited for may still come: wait again, or give it up."""


class MailboxFull(TimedOut):
    """A mailbox had no room for a message within the time-out: let its readers catch up, or give it a larger
    capacity."""


class MailboxClosed(ProgramError):
    """A mailbox takes and gives no messages any more: it was closed. ``open`` makes it usable again."""


class ReceiverEnded(MailboxClosed):
    """A mailbox is closed because the task that it belonged to has ended."""


class NotYours(ProgramError):
    """A protected task has tried to use something of another task, a mailbox that this one reads for instance: use
    one of your own."""


class ThreadEnded(ProgramError):
    """A thread that was joined had been ended from outside, by ``end``."""


class EndThread(BaseException):
    """Raised in the wait of a thread that is to end (``Thread.end``). Not to be caught without being raised again."""


class Fault(ProgramError):
    """A protected task has made an access that it may not make, and has been ended.

    ``task`` is its name, ``address`` the first byte address refused, ``kind`` "read" or "write", ``region`` the name of
    the region or "hole"."""

    def __init__(self, task, address, kind, region):
        super().__init__(
            f"{task} may not {kind} 0x{address:06X} ({region}): a protected task may touch its own blocks and messages "
            f"only"
        )
        self.task, self.address, self.kind, self.region = task, address, kind, region


class FaultError(ProgramError):
    """A fault on demand that cannot be: what is wrong with it (docs/faults.md)."""


class CapabilityError(ProgramError):
    """The machine that a program runs on lacks a Capability (``software.machine``)."""


class CabStopped(ProgramError):
    """The CAB's software has been ended by a fault (*stop*): nothing runs on it until it is restarted."""


class CableError(ProgramError):
    """A board at the other end of a serial line cannot be used, or no more (``docs/cable.md``)."""


class NodeError(ProgramError):
    """A CAB and its node do not work together; what is below says why (docs/nodes.md)."""


class NodeAbsent(NodeError):
    """The CAB has no node."""


class NodeSilent(NodeError):
    """The node did not answer its CAB in time: it has stopped, or has much to do."""


class NodeStopped(NodeError):
    """What a process of a node that has been stopped has ended by."""


class CabSilent(NodeError):
    """The CAB did not answer its node in time, or refuses its accesses: its software has stopped or has started
    anew."""


class FileError(NodeError):
    """The node could not do what was asked of a file. ``status``: a ``FileStatus`` (``nectar.software.node.layout``)
    that says why."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class FileMissing(FileError):
    """There is no such file or folder."""


class FileRefused(FileError):
    """The path leads out of the folder that the node lends, or it lends none."""


class TaskError(ProgramError):
    """A message between tasks (Nectarine) is not on its way, or does not come; what is below says why."""


class NoSuchTask(TaskError):
    """The application has no task of that name."""


class TaskEnded(TaskError):
    """The task that the message is for has ended, or ended before it received the message."""


class PeerStopped(TaskError):
    """Nothing is heard any more of the CAB on which the other task runs. It is not known whether the task has the
    message."""


class PeerStartedAnew(TaskError):
    """The CAB on which the other task ran has started anew: the task is no more. It is not known whether it had the
    message."""


class BufferTooShort(TaskError):
    """A message has more bytes than the buffer of the receive that matches it. The message is kept: receive it with a
    larger buffer."""


class MessageWithdrawn(TaskError):
    """The message was withdrawn: by ``cancel``, or since its sender has ended."""


class TooLate(TaskError):
    """A send or a receive cannot be cancelled any more: its message is on its way, or there."""


def described(error):
    """``ValueError: what it says``; and what to do, where Python's own words do not tell."""
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, RuntimeError) and str(error) == "no running event loop":
        return f"{text}; asyncio does not run here: in a task 'await cab.sleep(microseconds)' waits in simulated time"
    return text
