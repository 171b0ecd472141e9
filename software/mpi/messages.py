"""Messages of MPI as handles of Nectarine: sends and receives that are under way, in the calls' own words."""

from ...hdl.host.events import Layer
from ..errors import TaskError, TooLate
from ..nectarine.buffer import Buffer
from ..nectarine.handle import ReceiveHandle, SendHandle
from ..nectarine.inbox import Sources
from ..nectarine.options import SHORT
from .constants import ANY_SOURCE, ANY_TAG
from .envelope import TAG_UB, Kind, in_parts, packed, selector, tag_of
from .exception import ErrorClass, Exception
from .parts import WHOLE, PartsIn, PartsOut

__all__ = ["Answer", "Incoming", "Outgoing", "checked_tag", "failed", "sources_of"]

_ANYONE = Sources(None, "any rank")


def sources_of(communicator, source):
    """What Nectarine takes as sources for messages of that rank, or of ANY_SOURCE."""
    if source == ANY_SOURCE:
        return _ANYONE
    return Sources(frozenset([communicator.record(source).place]), f"rank {source}")


def checked_tag(tag, other=None):
    """Exception (ERR_TAG) if it is no tag, nor ``other``."""
    if tag != other and not 0 <= tag <= TAG_UB:
        raise Exception(ErrorClass.ERR_TAG, f"a tag is 0 to {TAG_UB}, not {tag}")


def failed(handle, error):
    """What a process hears of a message whose other process is not there."""
    return Exception(ErrorClass.ERR_PROC_FAILED, f"{handle}: {error}")


class Outgoing(SendHandle):
    """A message on its way out.

    Parameters
    ----------
    call : str
        Name of the call.
    communicator : Communicator
    rank : int
        Of the receiver.
    data : bytes-like or Buffer
    kind : Kind
    tag : int

    Members
    -------
    placed : bool
        Whether the data are in the data memory of the CAB, and sent from there.
    """

    __slots__ = ("call", "rank", "tag", "placed", "_data", "_parts")

    def __init__(self, call, communicator, rank, data, kind, tag):
        self.call = call
        self.rank = rank
        self.tag = tag
        self.placed = isinstance(data, Buffer)
        self._data = data
        self._parts = None
        process, record = communicator.process, communicator.record(rank)
        long = not self.placed and len(data) > SHORT
        if long and (len(data) > WHOLE or not process.room(len(data))):
            self._parts = PartsOut(process, record, communicator.context, data, self._sent)
            self._data = self._parts.heading
            kind = Kind.COLLECTIVE_IN_PARTS if kind is Kind.COLLECTIVE else Kind.IN_PARTS
        super().__init__(process.task, record, self._data, packed(communicator.context, kind, tag))

    def __str__(self):
        return f"{self.call} to rank {self.rank}, tag {self.tag}"

    @property
    def short(self):
        """Whether it is a short message of Nectarine, of which nobody tells when it was taken."""
        return self.length <= SHORT and self._parts is None

    @property
    def copied(self):
        """Whether the data may be changed once it was started."""
        return not self.placed and self._parts is None

    @property
    def ready(self):
        """See Handle."""
        return super().ready and (self._parts is None or self._parts.over)

    async def start(self):
        """Begins to send it. Returns the handle."""
        data, self._data = self._data, None
        try:
            with self.task.cab.kernel.notes.behind(Layer.MPI, self.to.place[0], self.length):
                await self.begin(data)
        except TaskError as error:
            raise failed(self, error) from error
        if self._parts is not None:
            self._parts.begin()
        return self

    def _sent(self, error):
        """The parts have left, or never will."""
        self.error = self.error or error
        self.task.inbox.changed()

    async def _cancel(self):
        if self._parts is not None:
            raise TooLate(f"{self}: a message in parts cannot be cancelled")
        await super()._cancel()

    async def abandon(self):
        """See SendHandle."""
        if self._parts is not None:
            await self._parts.end()
        await super().abandon()

    async def outcome(self):
        """Waits until its data may be changed. Exception (ERR_PROC_FAILED) if the receiver is not there any more."""
        try:
            await self.wait()
        except TaskError as error:
            raise failed(self, error) from error


class Incoming(ReceiveHandle):
    """A message that a process wants.

    Parameters
    ----------
    call : str
    communicator : Communicator
    source, tag : int
        ANY_SOURCE, ANY_TAG: any.
    room : int or None
        Bytes that there is room for; None: as many as there are. A longer message is dropped, and the error of the
        handle is Exception (ERR_TRUNCATE).
    buffer : Buffer or None
        Where its bytes are to be; None: in ``data``.
    types : callable or None
        As ``type`` of a receive of Nectarine; None: messages of the program of that tag.
    """

    __slots__ = ("call", "communicator", "rank", "tag", "room", "_coming", "_target")

    def __init__(self, call, communicator, source, tag, room=None, buffer=None, types=None):
        self.call = call
        self.communicator = communicator
        self.rank = source
        self.tag = tag
        self.room = room
        self._coming = False  # parts of the message are on their way
        self._target = None  # the Buffer for them
        types = types or selector(communicator.context, None if tag == ANY_TAG else tag)
        super().__init__(communicator.process.task, None, sources_of(communicator, source), types)
        self.aim(call, room, buffer)

    def __str__(self):
        source = "any rank" if self.rank == ANY_SOURCE else f"rank {self.rank}"
        tag = "any tag" if self.tag == ANY_TAG else f"tag {self.tag}"
        return f"{self.call} from {source}, {tag}"

    @property
    def sent_tag(self):
        """Tag of the message that has come."""
        return tag_of(self.type)[1]

    def lies(self, channel=None):
        """Whether a short message has come (by that channel), and lies where it is until somebody waits for it."""
        arrival = self._receive.arrival
        if arrival is None or self.done or self.error is not None or self._fetching is not None or arrival.moving:
            return False
        if arrival.transfer or tag_of(arrival.type)[0] not in (Kind.STANDARD, Kind.COLLECTIVE):
            return False
        return channel in (None, arrival.channel)

    @property
    def ready(self):
        """See ReceiveHandle."""
        return super().ready or self.lies()

    def _early(self, receive):
        """A message has come, and nobody waits for it: a thread fetches it, unless it may lie where it is."""
        if not (self.lies() and self.communicator.process.may_lie(self, receive.arrival.channel)):
            super()._early(receive)

    def aim(self, call, room, buffer):
        """Says where the bytes of a message that it has, and has not fetched, are to be."""
        self.call = call
        self.room = room
        if buffer is not None:
            buffer.hold()
            self._buffer = buffer

    async def _fetch(self):
        arrival = self._receive.arrival
        if arrival is not None:
            await self._answer(arrival)
            self._coming = in_parts(arrival.type)
            if self._coming:
                self._target, self._buffer = self._buffer, None
            elif self._too_long(arrival.length):
                self._drop_buffer()
        await super()._fetch()
        if self._coming and self.error is None:
            await self._fetch_parts()

    async def _fetch_parts(self):
        """Brings the bytes of a message in parts, whose heading has come."""
        parts = PartsIn(self.task, self.source, self.communicator.context, self.data)
        self.length, self.data = parts.length, None
        self._buffer, self._target = self._target, None
        if self._too_long(self.length):
            self._drop_buffer()
        try:
            self.data = await parts.receive(self._buffer)
        except TaskError as error:
            self.error = error
        self._coming = False
        self._end(self.error)

    def _drop_buffer(self):
        """Nothing is put into the buffer."""
        if self._buffer is not None:
            self._buffer.release()
            self._buffer = None

    async def _answer(self, arrival):
        """Tells the sender of a short synchronous message that it was taken; of a long one the pull tells."""
        kind, tag = tag_of(arrival.type)
        if kind is Kind.SYNCHRONOUS and arrival.length <= SHORT:
            rank = self.communicator.rank_of(arrival.source)
            self.communicator.process.leave(
                await Outgoing(f"the answer to {self}", self.communicator, rank, b"", Kind.TAKEN, tag).start()
            )

    def _too_long(self, length):
        return self.room is not None and length > self.room

    def _end(self, error):
        if error is None and self._coming:
            return
        if error is None and self._too_long(self.length):
            self.data = None
            error = Exception(
                ErrorClass.ERR_TRUNCATE,
                f"{self}: the message has {self.length} bytes, the buffer {self.room}; the message is lost",
            )
        super()._end(error)

    async def outcome(self):
        """Waits until the bytes are there. Raises Exception: ERR_TRUNCATE, or ERR_PROC_FAILED if the sender is not
        there any more."""
        try:
            await self.wait()
        except TaskError as error:
            raise failed(self, error) from error


class Answer(Incoming):
    """What tells that a short synchronous message was taken.

    Parameters
    ----------
    handle : Outgoing
        The message.
    communicator : Communicator
    """

    __slots__ = ("_handle",)

    def __init__(self, handle, communicator):
        self._handle = handle
        taken = packed(communicator.context, Kind.TAKEN, handle.tag)
        super().__init__(handle.call, communicator, handle.rank, handle.tag, types=lambda type: type == taken)

    def __str__(self):
        return str(self._handle)
