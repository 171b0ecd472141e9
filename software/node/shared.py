"""The node's side of the area that it shares with its CAB: commands, message memory, polling. Specification:
docs/nodes.md."""

from contextlib import contextmanager

from ..door import BusError
from ..errors import (
    AnswerLost,
    BadCommand,
    CabSilent,
    CallTimeout,
    CircuitError,
    MessageTooLong,
    MulticastFailed,
    NodeMemoryError,
    NoRoute,
    PortInUse,
    ProgramError,
    ServerRestarted,
    ServerSilent,
    ServiceEnded,
    ServiceFull,
    ServiceMissing,
    TimedOut,
)
from ..kernel.allocator import Allocator
from ..kernel.vmechannel import is_remote
from ..packet import Status
from .layout import (
    BOXES,
    CALL,
    COMMAND,
    COMMANDS,
    COUNTS,
    INTO,
    MASK,
    OUTCOME,
    POOL,
    POOL_BYTES,
    SLEEPING,
    Code,
    call_at,
    command_at,
)
from .memory import Part

__all__ = ["Command", "PATIENCE_US", "Shared"]

#: How long a command of which no time is known may take, in microseconds.
PATIENCE_US = 100_000
#: How long a process polls for the end of a command that may last for ever, before it sleeps, in microseconds.
_SPIN_US = 1_000
#: How long a process that sleeps for a time does not look whether it is over, or the CAB has called, in microseconds.
_NAP_US = 50
#: Between two looks whether a command is done for which the CAB's DMA uses the bus, in microseconds: so long the bus
#: is the DMA's.
_GAP_US = 10
#: Commands whose outcome has values.
_VALUED = (Code.CALL, Code.REPLY, Code.WORK, Code.MULTICAST, Code.RECEIVE)
_STATUS = frozenset(Status)
_ERRORS = {
    Status.TOO_LONG: MessageTooLong,
    Status.NODE_MEMORY: NodeMemoryError,
    Status.NO_ROUTE: NoRoute,
    Status.TIMED_OUT: CallTimeout,
    Status.SILENT: ServerSilent,
    Status.CIRCUIT: CircuitError,
    Status.CONNECTION: PortInUse,
    Status.NO_SERVICE: ServiceMissing,
    Status.SERVICE_FULL: ServiceFull,
    Status.SERVICE_ENDED: ServiceEnded,
    Status.RESTARTED: ServerRestarted,
    Status.ANSWER_LOST: AnswerLost,
}


class Command:
    """A command that the CAB has.

    Members
    -------
    outcome : (int, int, int) or None
        Status and two values, once they have been seen.
    """

    __slots__ = ("number", "what", "port", "area", "outcome", "valued", "boot", "moves")

    def __init__(self, number, what, port, area, valued, boot, moves):
        self.number = number
        self.what = what
        self.port = port  # mailbox or service
        self.area = area  # address in the pool, or None
        self.valued = valued  # whether its outcome has values
        self.boot = boot
        self.moves = moves  # whether the CAB's DMA uses the bus for it
        self.outcome = None


class Shared:
    """What all processes of a node share.

    Parameters
    ----------
    node : Node
    """

    def __init__(self, node):
        self.node = node
        self.door = node.door
        self.costs = node.costs
        self._failed = False  # the CAB's software has stopped
        self._sleepers = {}  # processes that sleep until the CAB calls -> whether they are to be woken
        self.begin()

    def begin(self):
        """The CAB has started: nothing is under way."""
        self.pool = Allocator(POOL, POOL_BYTES)
        self.boxes = {}  # number -> who reads from it
        self.released = [0] * BOXES  # messages of each that have been given back, as COUNTS has them
        self.connections = {}  # number -> NodeConnection
        self._next = 0
        self._slots = [None] * COMMANDS  # Command

    # -- accesses ------------------------------------------------------------------------------------
    @contextmanager
    def bus(self):
        """What is done in it raises CabSilent if the CAB refuses an access."""
        try:
            yield
        except BusError as error:
            raise CabSilent(
                f"the CAB of {self.node.name} refuses {'a store to' if error.write else 'a load from'} "
                f"0x{error.address:06X}: "
                "its software does not run, or has started anew"
            ) from error

    def store(self, address, data):
        """Copies bytes to the CAB; posted."""
        self.door.spend((len(data) + 3 >> 2) * self.costs.copy_word)
        self.door.write_block(address, data)

    async def load(self, address, length):
        """Copies bytes from the CAB."""
        self.door.spend((length + 3 >> 2) * self.costs.copy_word)
        return await self.door.read_block(address, length)

    async def poll(self, look, what, timeout_us, error=TimedOut, nap_us=0):
        """What the coroutine function ``look`` gives as soon as that is not None; it is called again and again, with
        ``nap_us`` between. ``error`` after ``timeout_us``."""
        node, door = self.node, self.door
        end = None if timeout_us is None else await door.now() + node.cycles(timeout_us)
        while True:
            door.spend(self.costs.poll)
            seen = await look()
            if seen is not None:
                return seen
            if end is not None and await door.now() >= end:
                raise error(f"a process of {node.name} has waited {timeout_us} us for {what}")
            if not node.kernel.idle:
                await node.kernel.pause()
            elif nap_us:
                door.spend(node.cycles(nap_us))

    # -- message memory ------------------------------------------------------------------------------
    async def room(self, length):
        """Address of so many bytes of the pool; waits until commands that use it are done."""
        if length > POOL_BYTES // 2:
            raise MessageTooLong(
                f"a message from a node has at most {POOL_BYTES // 2} bytes, not {length}: send it in parts"
            )
        while True:
            self.door.spend(self.costs.room)
            address = self.pool.allocate(length)
            if address is not None:
                return address
            reclaimed = [await each.reclaim() for each in list(self.connections.values())]
            if any(reclaimed):
                continue
            users = [command for command in self._slots if command is not None and command.area is not None]
            if not users and self.connections:
                await self.node.sleep(_NAP_US)
                continue
            if not users:
                raise MessageTooLong(
                    f"the message memory of {self.node.name} is taken by processes that have not put their commands yet"
                )
            await self._wait(min(users, key=lambda command: command.number - self._next & 0xFFFFFFFF))

    async def build(self, data):
        """Puts a message together in the pool; its address (0 for one without bytes). A Part of the node's memory is
        one already."""
        if isinstance(data, Part):
            data.check(self.node.memory)
            self.node.copies.dma_out += data.length
            return data.address
        if not data:
            return 0
        address = await self.room(len(data))
        self.store(address, data)
        self.node.copies.node_out += len(data)
        return address

    # -- commands ------------------------------------------------------------------------------------
    async def place(
        self, code, what, *, box=0, port=0, cab=0, address=0, length=0, timeout_us=0, call=None, keep=False
    ):
        """Gives the CAB a command; the Command. The area is given back to the pool when it is done, unless ``keep``.
        ``call``: eight words that go with it."""
        while True:
            old = self._slots[self._next % COMMANDS]
            if old is None or old.outcome is not None:
                break
            await self._wait(old)
        number, self._next = self._next, self._next + 1 & 0xFFFFFFFF
        command = self._slots[number % COMMANDS] = Command(
            number,
            what,
            port,
            address if length and not keep and not is_remote(address) else None,
            code in _VALUED,
            self.node.boot,
            is_remote(address) or box == INTO and code == Code.CALL,
        )
        door = self.door
        door.spend(self.costs.command)
        if call is not None:
            self.store(call_at(number), CALL.pack(*call))
        door.write_block(
            command_at(number), COMMAND.pack(code << 24 | box << 16 | port, cab, address, length, timeout_us)
        )
        door.write(COUNTS, self._next)
        self.node.ring()
        return command

    async def done(self, command, patience_us=PATIENCE_US):
        """Waits until a command has been done: its values. Raises what has become of it, CabSilent after
        ``patience_us``."""
        await self._wait(command, patience_us)
        status, *values = command.outcome
        if status == Status.DONE:
            return values
        if status == Status.NOT_ALL:
            raise await self._not_all(command, *values)
        if status not in _STATUS:
            raise ProgramError(
                f"{command.what}, asked by {self.node.name}: the CAB answers {status}, which has no meaning; "
                "is its software this version's?"
            )
        text = f"{command.what}, asked by {self.node.name}: {Status(status).name.lower().replace('_', ' ')}"
        if status in _ERRORS:
            raise _ERRORS[status](text)
        raise BadCommand(Status(status), text) if status < Status.TOO_LONG else ProgramError(text)

    async def _not_all(self, command, address, length):
        """The error of a multicast that has not reached all."""
        lines = (await self.load(address, length)).decode().split("\n")
        await self.place(Code.FREE, "giving back a text", address=address)
        missing = (line.partition(" ") for line in lines)
        return MulticastFailed(command.port, {int(member): why for member, _, why in missing})

    async def outlast(self, command):
        """Waits for the end of a WORK command, which may last for ever: polls for a while, then sleeps until the CAB
        calls. Returns status and two values. Raises CabSilent if the CAB has started anew."""
        with self.bus():
            await self.watch(
                lambda: self._look(command), command.what, f"whether it has done {command.what} is not known"
            )
        return command.outcome

    async def watch(self, look, what, stopped, timeout_us=None):
        """What the coroutine function ``look`` gives as soon as that is not None, as ``poll``. After a while the
        process does not poll any more but sleeps until the CAB calls.

        Raises TimedOut after ``timeout_us``; CabSilent if the CAB's software stops, with the words ``stopped``."""
        node, door, kernel = self.node, self.door, self.node.kernel
        thread = kernel.current
        now = await door.now()
        spins = now + node.cycles(_SPIN_US)
        end = None if timeout_us is None else now + node.cycles(timeout_us)
        while True:
            kernel.check_pending()
            door.spend(self.costs.poll)
            seen = await look()
            if seen is not None:
                return seen
            if self._failed:
                raise CabSilent(f"the CAB of {node.name} has stopped: {stopped}")
            now = await door.now()
            if end is not None and now >= end:
                raise TimedOut(f"a process of {node.name} has waited {timeout_us} us for {what}")
            if now < spins:
                if not kernel.idle:
                    await kernel.pause()
                continue
            self._sleepers[thread] = end is None
            door.write(SLEEPING, len(self._sleepers))
            seen = await look()  # what has come before the CAB could see that somebody sleeps
            if seen is not None:
                del self._sleepers[thread]
                return seen
            if end is None:
                await kernel.block(what, lambda: self._sleepers.pop(thread))
            else:
                try:
                    await self.rest(end, lambda: thread not in self._sleepers)
                finally:
                    self._sleepers.pop(thread, None)

    async def rest(self, end, over=lambda: False):
        """Sleeps until the CPU cycle ``end``, or until ``over()`` is true, which is looked at every 50 us."""
        node, kernel = self.node, self.node.kernel
        while not over() and (now := await self.door.now()) < end:
            kernel.check_pending()
            if kernel.idle:
                self.door.spend(min(node.cycles(_NAP_US), end - now))
            else:
                await kernel.pause()

    def called(self):
        """By the system process: the CAB has called. Those who sleep look again."""
        if self._sleepers:
            self.door.write(SLEEPING, 0)
            self.door.spend(len(self._sleepers) * self.costs.wake)
            self._rouse()

    def fail(self):
        """From outside: the CAB's software has stopped, which a line of the bus tells (SYSFAIL)."""
        self._failed = True
        self._rouse()

    def recover(self):
        """From outside: it starts again."""
        self._failed = False

    def _rouse(self):
        while self._sleepers:
            thread, blocked = self._sleepers.popitem()
            if blocked:
                self.node.kernel.wake(thread)

    async def _wait(self, command, patience_us=PATIENCE_US):
        """Until its outcome is known."""
        with self.bus():
            nap_us = _GAP_US if command.moves else 0
            await self.poll(lambda: self._look(command), command.what, patience_us, CabSilent, nap_us)

    async def _look(self, command):
        """True once the outcome is known."""
        if command.outcome is not None:
            return True
        if command.boot != self.node.boot:
            raise CabSilent(
                f"the CAB of {self.node.name} has started anew: whether it has done {command.what} is not known"
            )
        at = command_at(command.number) + COMMAND.size
        word = await self.door.read(at + OUTCOME.size - 4)
        if word >> 8 != command.number + 1 & MASK:
            return None
        values = OUTCOME.unpack(await self.door.read_block(at, OUTCOME.size))[:2] if command.valued else (0, 0)
        if command.outcome is None:
            command.outcome = word & 0xFF, *values
            if command.area is not None:
                self.door.spend(self.costs.room)
                self.pool.free(command.area)
                command.area = None
        return True
