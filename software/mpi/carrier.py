"""A rank on a node: its calls are made by the CAB, and the bytes of its messages move over VME.

Specification: docs/mpi.md, "Ranks on nodes". The process gives its CAB each call as a command. What the program sends
the node stores into CAB memory when the call asks for it; what it receives lies in pages of CAB memory until the node
has loaded it. The CAB's CPU copies between these and the memory of its messages.
"""

import inspect

from ..errors import CabSilent
from ..kernel.scope import Scope
from ..nectarine.buffer import Buffer
from ..nectarine.nodebuffer import CabMemory
from ..nectarine.nodeproxy import Landing

__all__ = ["Carried", "Carrier", "carried"]

#: Bytes that go over VME at a time. The CAB's CPU copies one such piece while the next is on the bus: 65,536 bytes take
#: 14 ms from the node's memory into a message instead of 16.
_PIECE = 1 << 14


class _Waits:
    """The call in which the CAB waits for a process, in the words of its kernel."""

    __slots__ = ("_proxy",)

    def __init__(self, proxy):
        self._proxy = proxy

    def __str__(self):
        thread = self._proxy.thread
        return "a call" if thread is None else str(thread.call or thread.waits_for)


class Carrier:
    """What brings the calls of a rank to its CAB, and bytes there and back.

    Parameters
    ----------
    task : NodeTask
    """

    __slots__ = ("task", "_late_out", "_late_in")

    def __init__(self, task):
        self.task = task
        self._late_out = []  # bytes that threads of the CAB have sent, and that the node has not stored
        self._late_in = []  # bytes that they have received, and that the node has not loaded

    # -- on the node ---------------------------------------------------------------------------------
    async def run(self, coroutine, enter):
        """Has the CAB run a coroutine; returns what it gives. ``enter`` is called before each of its turns."""

        async def call(_):
            value = await Scope(coroutine, enter)
            while self._late_out:
                await self.out(self._late_out.pop(0))
            while self._late_in:
                await self.into(self._late_in.pop(0))
            return value

        try:
            return (await self.task.do(_Waits(self.task.proxy), call))[0]
        finally:
            if inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
                coroutine.close()

    async def last(self, coroutine, enter):
        """The same of what is to be done at the end, though the CAB may have stopped."""
        try:
            await self.run(coroutine, enter)
        except CabSilent:
            pass

    # -- on the CAB ----------------------------------------------------------------------------------
    @property
    def _called(self):
        """Whether the thread that runs carries out a call, while the process waits for its end."""
        proxy = self.task.proxy
        return proxy.thread is not None and proxy.thread is proxy.task.cab.kernel.current

    def seen(self, data):
        """A Buffer in CAB memory that the program has, as the CAB sees it."""
        if isinstance(data.memory, CabMemory):
            return Buffer(self.task.agent.cab.memory, data.address, data.length)
        return data

    async def out(self, data):
        """Bytes of the program come from the node's memory; returns them. For a thread besides the calls the node
        stores them at the end of the process's present call, or of its next."""
        if not len(data):
            return data
        if not self._called:
            self._late_out.append(data)
            return data
        task, memory, got = self.task, self.task.agent.cab.memory, bytearray()
        stored = []  # (address, length) of pieces in CAB memory

        async def take():
            while stored:
                address, length = stored.pop()
                got.extend(await memory.load(address, length))
                task.release(address)

        for piece in _pieces(data):

            async def store(piece=piece):
                address = await task.area(len(piece))
                task.shared.store(address, bytes(piece))
                task.copies.node_out += len(piece)
                coming.append((address, len(piece)))

            coming = []
            await task.proxy.ask(store, take)
            stored += coming
        await take()
        return got

    async def into(self, data):
        """Bytes go to the program, in the node's memory; returns what the node has loaded. For a thread besides the
        calls the node loads them at the end of the process's present call, or of its next."""
        if not data:
            return data
        if not self._called:
            self._late_in.append(data)
            return data
        task, memory, got = self.task, self.task.agent.cab.memory, bytearray()
        pieces, places = _pieces(data), []
        try:
            for piece in pieces[:2]:  # the node reads one while the CPU writes the other
                landing = await Landing.of(memory, len(piece))
                task.proxy.port.show(landing)
                places.append(landing.address)
            memory.write(places[0], bytes(pieces[0]))
            for number, piece in enumerate(pieces):

                async def load(piece=piece, address=places[number % 2]):
                    got.extend(await task.shared.load(address, len(piece)))
                    task.copies.node_in += len(piece)

                async def write_next(number=number + 1):
                    if number < len(pieces):
                        memory.write(places[number % 2], bytes(pieces[number]))

                await task.proxy.ask(load, write_next)
        finally:
            for address in places:
                task.give_back(address)
        return got


def _pieces(data):
    """The parts of bytes that go over VME one by one."""
    view = memoryview(data).cast("B")
    return [view[first : first + _PIECE] for first in range(0, len(view), _PIECE)]


def carried(carrier, operation):
    """A collective operation of a rank on a node: ``operation(exchange, data, ...)`` whose data, bytes or a list of
    these, come from the node, and whose result, of the same kinds, goes there."""

    async def run(exchange, *args):
        if not args:
            return await operation(exchange)
        data, *rest = args
        given = await _each(carrier.out, data)
        result = await operation(exchange, given, *rest)
        return data if result is given else await _each(carrier.into, result)

    return run


class Carried:
    """Collective operations of a rank on a node: those of a module, each ``carried``."""

    __slots__ = ("_carrier", "_operations")

    def __init__(self, carrier, operations):
        self._carrier = carrier
        self._operations = operations

    def __getattr__(self, name):
        return carried(self._carrier, getattr(self._operations, name))


async def _each(move, data):
    """Moves bytes, or a list of these, at once."""
    if not isinstance(data, list):
        return data if data is None else await move(data)
    moved = memoryview(await move(b"".join(each for each in data if each is not None)))
    parts = []
    for each in data:
        length = 0 if each is None else len(each)
        parts.append(None if each is None else bytes(moved[:length]))
        moved = moved[length:]
    return parts
