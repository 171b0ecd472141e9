"""The messages of one collective call: what the algorithms in ``collective`` are written on."""

from struct import Struct

from ..nectarine.buffer import Buffer
from ..transport.datagram import MAX_MESSAGE
from .callbook import Terms
from .constants import UNDEFINED
from .envelope import Kind, packed, step, whole
from .messages import Incoming, Outgoing

__all__ = ["Exchange"]

#: Mailbox of a CAB for the multicasts of context 0; those of the others follow.
MAILBOXES = 0xC000
#: Header of a multicast: the number of the call, the code of its name, whether more of the same follows.
_HEADER = Struct(">HB?")
#: Bytes that one multicast carries.
_PIECE = MAX_MESSAGE - _HEADER.size
_BLOCKS = ("Gather", "Scatter", "Allgather", "Alltoall")
_CALLS = [
    "Barrier",
    "Bcast",
    *(f"{name}{letter}" for name in _BLOCKS for letter in ("", "v")),
    "Alltoallw",
    "Reduce",
    "Allreduce",
    "Reduce_scatter_block",
    "Reduce_scatter",
    "Scan",
    "Exscan",
    "Neighbor_allgather",
    "Neighbor_allgatherv",
    "Neighbor_alltoall",
    "Neighbor_alltoallv",
    "Neighbor_alltoallw",
]
#: Names of collective calls; a message has the place of its call's name in this list.
_CALLS = [
    *_CALLS,
    *(f"I{name.lower()}" for name in _CALLS),
    *(f"{name}_init" for name in _CALLS),
    *(name.lower() for name in _CALLS if not name.endswith(("v", "w")) and "scatter_" not in name),
    "Dup",
    "Idup",
    "Create",
    "Create_group",
    "Split",
    "Split_type",
    "Create_cart",
    "Create_graph",
    "Create_dist_graph",
    "Create_dist_graph_adjacent",
    "Sub",
    "Create_from_group",
    "Create_from_groups",
    "Create_intercomm",
    "Merge",
    "Finalize",
    "another collective call",
]
#: Those of which a tag, or the leaders, tell which belong together.
_BY_TAG = ("Create_group", "Create_from_group", "Create_from_groups", "Create_intercomm", "Merge")
_CODES = {name: code for code, name in enumerate(_CALLS)}
_NONE = Terms()


class Exchange:
    """The messages of one collective call of one process. Messages of a phase between two processes keep their order.

    Parameters
    ----------
    communicator : Communicator
    name : str
        Of the call.
    place : str or None
        ``file:line`` of the program that makes it.
    terms : Terms
        What all ranks must give alike.

    Members
    -------
    rank, size : int
        Of an intercommunicator ``remote_size`` is the size of the other group, whose ranks ``to`` and ``source`` are.

    Raises
    ------
    Exception
        ERR_OTHER if another rank has made another call in its place, or has given other Terms.
    """

    __slots__ = ("communicator", "name", "rank", "size", "remote_size", "_number", "_code")

    def __init__(self, communicator, name, place=None, terms=_NONE):
        self.communicator = communicator
        self.name = name
        self.rank = communicator.rank
        self.size = len(communicator.members)
        self.remote_size = len(communicator.peers)
        self._number = communicator.collectives
        communicator.collectives += 1
        self._code = _CODES.get(name, len(_CALLS) - 1)
        if name not in _BY_TAG:
            communicator.process.world.calls.note(communicator, self._number, name, terms, place)

    def __str__(self):
        return f"{self.name} of {self.communicator.name or f'a communicator of {self.size} ranks'}"

    # -- one to one ----------------------------------------------------------------------------------
    async def isend(self, data, to, phase=0):
        """Begins to send bytes, or a Buffer, to a rank. Returns the handle: ``await handle.wait()`` returns when the
        data may be changed."""
        if not isinstance(data, Buffer):
            data = memoryview(data).cast("B")
        tag = step(self._number, self._code, phase)
        return await Outgoing(self.name, self.communicator, to, data, Kind.COLLECTIVE, tag).start()

    async def send(self, data, to, phase=0):
        """Sends bytes, or a Buffer, to a rank; returns when the data may be changed."""
        await (await self.isend(data, to, phase)).outcome()

    async def receive(self, source, phase=0):
        """The bytes that a rank has sent."""
        return await self._receive(source, phase, None) or b""

    async def receive_into(self, view, source, phase=0):
        """Receives the bytes that a rank has sent into a writable memoryview or a Buffer, which has room for them."""
        if isinstance(view, Buffer):
            await self._receive(source, phase, view)
        else:
            data = await self.receive(source, phase)
            view[: len(data)] = data

    async def _receive(self, source, phase, buffer):
        communicator = self.communicator
        wanted = packed(communicator.context, Kind.COLLECTIVE, step(self._number, self._code, phase))
        room = None if buffer is None else len(buffer)
        handle = Incoming(self.name, communicator, source, UNDEFINED, room, buffer, lambda type: whole(type) == wanted)
        await handle.outcome()
        return handle.data

    # -- to all --------------------------------------------------------------------------------------
    def can_multicast(self, nbytes=None):
        """Whether ``multicast`` is there: the machine has one, and each rank of an intracommunicator has a CAB of its
        own. All ranks get the same answer, whatever the number of bytes."""
        communicator = self.communicator
        if not communicator.process.cab.can_multicast or communicator.remote is not None or self.size < 2:
            return False
        return len({communicator.record(rank).place[0] for rank in range(self.size)}) == self.size

    async def multicast(self, data):
        """Sends bytes to all other ranks at once, by the HUBs; returns when they have been handed to the thread that
        sends them. One in each collective call at most."""
        communicator = self.communicator
        others = [communicator.record(rank).place[0] for rank in range(self.size) if rank != self.rank]
        to, data = (others, MAILBOXES + communicator.context), bytes(data)
        for first in range(0, len(data) or 1, _PIECE):
            header = _HEADER.pack(self._number & 0xFFFF, self._code, first + _PIECE < len(data))
            await communicator.process.multicasts.send(self.name, to, header + data[first : first + _PIECE])

    async def from_multicast(self, root):
        """The bytes that ``root`` sends by ``multicast``."""
        communicator = self.communicator
        wanted = communicator.record(root).place[0], self._number & 0xFFFF, self._code
        early, inbox = communicator.early, communicator.process.task.inbox
        with communicator.process.kernel.current.calling(f"{self.name} from rank {root}"):
            while wanted not in early:
                if communicator.reading:  # another thread will bring it
                    await inbox.wait(self, lambda: wanted in early or not communicator.reading)
                    continue
                communicator.reading = True
                try:
                    await self._read()
                finally:
                    communicator.reading = False
                    inbox.changed()
        return early.pop(wanted)

    async def _read(self):
        """Takes a multicast of the communicator out of the mailbox."""
        communicator = self.communicator
        message = await communicator.process.cab.mailbox(MAILBOXES + communicator.context).take()
        place, data = message.source, await message.read()
        message.free()
        number, code, more = _HEADER.unpack_from(data)
        data = communicator.parts.pop(place, b"") + data[_HEADER.size :]
        (communicator.parts if more else communicator.early)[place if more else (place, number, code)] = data

    # -- the CPU -------------------------------------------------------------------------------------
    def computed(self, work):
        """Charges the CPU for that Work."""
        self.communicator.process.compute(work)
