"""The command mailbox: transports invoked by commands in data memory. Specification: docs/transports.md.

Source: "The Design of Nectar" (1989), section 6.2.2: each transport protocol can be invoked through a procedure call or
by placing a command in a special mailbox; in both cases the message is a list of areas. The commands' format is ours.
"""

from dataclasses import dataclass
from typing import NamedTuple

from ..datalink.datalink import Switching
from ..errors import (
    AnswerLost,
    BadCommand,
    CallTimeout,
    CircuitError,
    ConnectionClosed,
    MailboxClosed,
    MailboxFull,
    MessageTooLong,
    MulticastFailed,
    NodeMemoryError,
    NoRoute,
    ProgramError,
    ServerRestarted,
    ServerSilent,
    ServiceEnded,
    ServiceFull,
    ServiceMissing,
    StreamError,
)
from ..kernel.condition import Condition
from ..kernel.lock import Lock
from ..packet import AREA, COMMAND, RESULT, Code, Status

__all__ = ["Commands", "Command", "MAILBOX", "status_of"]

#: The command mailbox, unless ``start`` names another.
MAILBOX = 0xFFFF
#: Commands that wait for something at the same time; those behind them stay in the mailbox.
_AT_ONCE = 16
#: How long a result may wait for a place in its mailbox, in microseconds.
_PATIENCE_US = 100_000
_SWITCHING = (Switching.PACKET, Switching.CIRCUIT)
_MEMBERS = {Code.DATAGRAM: (1, 254), Code.STREAM: (0, 0), Code.REQUEST: (1, 1), Code.MULTICAST: (1, 254)}
#: The first that fits.
_STATUS = (
    (MessageTooLong, Status.TOO_LONG),
    (NodeMemoryError, Status.NODE_MEMORY),
    (NoRoute, Status.NO_ROUTE),
    (CircuitError, Status.CIRCUIT),
    (CallTimeout, Status.TIMED_OUT),
    (ServerSilent, Status.SILENT),
    (ServiceMissing, Status.NO_SERVICE),
    (ServiceFull, Status.SERVICE_FULL),
    (ServiceEnded, Status.SERVICE_ENDED),
    (ServerRestarted, Status.RESTARTED),
    (AnswerLost, Status.ANSWER_LOST),
    (MulticastFailed, Status.NOT_ALL),
    (StreamError, Status.CONNECTION),
)


def status_of(error):
    """The Status that tells of an error."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), Status.FAILED)


class Command(NamedTuple):
    """A command, taken apart. ``pack`` makes its bytes."""

    code: int
    reply: int  # mailbox for the result
    tag: int = 0
    port: int = 0  # mailbox, service, or number of a connection
    members: tuple = ()  # CAB IDs
    areas: tuple = ()  # (byte address, bytes)
    timeout_us: int = 0  # 0: the transport's own
    circuit: int = 0

    def pack(self):
        """The bytes that are put into the command mailbox."""
        members = bytes(self.members)
        return (
            COMMAND.pack(
                self.code, self.circuit, self.reply, self.tag, self.port, len(members), len(self.areas), self.timeout_us
            )
            + members
            + bytes(-len(members) % 4)
            + b"".join(AREA.pack(*area) for area in self.areas)
        )

    @classmethod
    def unpack(cls, data):
        """The Command of these bytes, at least those of COMMAND. BadCommand if they are not as many as its counts
        say."""
        code, circuit, reply, tag, port, members, areas, timeout_us = COMMAND.unpack_from(data)
        first = COMMAND.size + members + -members % 4
        if len(data) != first + areas * AREA.size:
            raise BadCommand(
                Status.BAD_LENGTH,
                f"a command with {members} CABs and {areas} areas has {first + areas * AREA.size} bytes, not "
                f"{len(data)}",
            )
        return cls(
            code,
            reply,
            tag,
            port,
            tuple(data[COMMAND.size : COMMAND.size + members]),
            tuple(AREA.iter_unpack(data[first:])),
            timeout_us,
            circuit,
        )


@dataclass(slots=True)
class CommandCounters:
    """What the command mailbox has seen."""

    commands: int = 0  # understood
    refused: int = 0  # answered with a Status below 16
    headless: int = 0  # too short to tell where the result should go: dropped
    unanswered: int = 0  # results that found no place in their mailbox in time


class Commands:
    """Executes what is put into the command mailbox of a CAB.

    Parameters
    ----------
    cab : Cab

    Members
    -------
    counters : CommandCounters
    """

    __slots__ = ("cab", "counters", "_thread", "_connections", "_next", "_running", "_idle")

    def __init__(self, cab):
        self.cab = cab
        self.counters = CommandCounters()
        self._thread = None
        self._connections = {}  # number -> (Connection, Lock)
        self._next = 1
        self._running = 0
        self._idle = Condition(cab.kernel, f"the end of a command of {cab.name}")

    def start(self, mailbox=MAILBOX):
        """Starts the kernel thread that takes commands out of ``mailbox``. ValueError if there is one already."""
        if self._thread is not None and not self._thread.ended:
            raise ValueError(f"{self.cab.name} takes commands already: stop that first")
        box = self.cab.mailbox(mailbox)
        box.trusted = True
        self._thread = self.cab.kernel.spawn(self._take, box, name="commands")

    def stop(self):
        """Takes no more commands; those under way go on. May be called twice."""
        if self._thread is not None and not self._thread.ended:
            self._thread.end()

    def lend(self, connection):
        """A number, 1 to 65535, by which commands may name a Connection of the byte stream."""
        while self._next in self._connections:
            self._next = self._next % 0xFFFF + 1
        number, self._next = self._next, self._next % 0xFFFF + 1
        self._connections[number] = connection, Lock(self.cab.kernel, f"another command for {connection}")
        return number

    def take_back(self, number):
        """Commands may not name the connection any more. KeyError if none has that number."""
        del self._connections[number]

    # -- the kernel's thread -------------------------------------------------------------------------
    async def _take(self, box):
        kernel = self.cab.kernel
        while True:
            message = await box.take()
            length = message.length
            data = await message.read()
            message.free()
            if length < COMMAND.size:
                self.counters.headless += 1
                continue
            try:
                command = self._decode(data)
            except BadCommand as error:
                self.counters.refused += 1
                await self._tell(*COMMAND.unpack_from(data)[2:4], error.status, str(error).encode())
                continue
            self.counters.commands += 1
            if command.code == Code.DATAGRAM:
                await self._execute(command)
                continue
            while self._running >= _AT_ONCE:
                # Each of those has a time-out, or waits for a peer that reads.
                await self._idle.wait()
            self._running += 1
            kernel.spawn(self._apart, command, name=f"command {command.tag}")

    def _decode(self, data):
        """The Command, if all in it is as it should be; else BadCommand, whose ``status`` says what is not."""
        costs, memory = self.cab.kernel.costs, self.cab.memory
        self.cab.door.spend(costs.command_decode)
        command = Command.unpack(data)
        self.cab.door.spend(costs.command_area * (len(command.areas) + len(command.members)))
        least, most = _MEMBERS.get(command.code, (0, 0))
        own, end = self.cab.id, memory.base + memory.size
        wrong = None
        if command.code not in _MEMBERS:
            wrong = Status.BAD_CODE, f"there is no command {command.code}"
        elif command.circuit not in (0, 1) or command.circuit and command.code != Code.DATAGRAM:
            wrong = Status.BAD_SWITCHING, f"{Code(command.code).name} cannot be switched by method {command.circuit}"
        elif (
            not least <= len(command.members) <= most
            or 255 in command.members
            or (own in command.members and command.code != Code.DATAGRAM)
        ):
            wrong = Status.BAD_MEMBERS, f"{Code(command.code).name} cannot go to the CABs {list(command.members)}"
        elif not all(memory.base <= address <= address + length <= end for address, length in command.areas):
            wrong = Status.BAD_AREA, "an area does not lie in data memory"
        elif command.code == Code.STREAM and command.port not in self._connections:
            wrong = Status.BAD_CONNECTION, f"there is no connection {command.port}"
        if wrong is not None:
            raise BadCommand(*wrong)
        return command

    async def _apart(self, command):
        """A thread: a command that may have to wait."""
        try:
            await self._execute(command)
        finally:
            self._running -= 1
            self._idle.signal()

    async def _execute(self, command):
        status, content = Status.DONE, b""
        try:
            content = await self._call(command)
        except (ProgramError, ValueError) as error:
            status = status_of(error)
            content = str(error).encode("ascii", "replace")
        await self._tell(command.reply, command.tag, status, content)

    async def _call(self, command):
        """Has a transport do it; the content of the result."""
        cab, areas, timeout_us = self.cab, list(command.areas), command.timeout_us or None
        if command.code == Code.DATAGRAM:
            members = command.members[0] if len(command.members) == 1 else list(command.members)
            await cab.datagram.send((members, command.port), areas, _SWITCHING[command.circuit])
        elif command.code == Code.REQUEST:
            return await cab.request.call((command.members[0], command.port), areas, timeout_us)
        elif command.code == Code.MULTICAST:
            await cab.multicast.send((command.members, command.port), areas, timeout_us)
        else:
            if command.port not in self._connections:
                raise ConnectionClosed(f"connection {command.port} has been taken back")
            connection, lock = self._connections[command.port]
            async with lock:
                sending = connection.send(areas)
                await (sending if timeout_us is None else cab.within(timeout_us, sending))
        return b""

    async def _tell(self, mailbox, tag, status, content=b""):
        """Puts a result into its mailbox; drops it, which is counted, if there is no place for it in time."""
        box, memory = self.cab.mailbox(mailbox), self.cab.memory
        try:
            message = await box.reserve(RESULT.size + len(content), _PATIENCE_US)
        except (MailboxFull, MailboxClosed, MessageTooLong):
            self.counters.unanswered += 1
            return
        memory.write(message.address, RESULT.pack(tag, status, len(content)) + content)
        box.commit(message)
