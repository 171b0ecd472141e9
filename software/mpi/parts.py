"""Messages from Python's memory that are too long for the CABs' data memory, or for which it has no room now.

The heading goes in the place of the message. It has the length (8 bytes) and a number of the sender's (4 bytes), which
is even. When a receive has taken it, the receiver asks for the parts by an empty message of kind PART with that number
plus 1. The parts follow as messages of kind PART with that number, at most two of them on their way. So what nobody
receives takes no data memory.
"""

from struct import Struct

from ..errors import TaskError
from ..nectarine.buffer import Buffer
from ..nectarine.handle import ReceiveHandle, SendHandle
from ..nectarine.inbox import Sources
from .envelope import TAG_UB, Kind, packed

__all__ = ["HEADING", "PartsIn", "PartsOut", "WHOLE"]

#: Bytes of the longest message that is not sent in parts.
WHOLE = 1 << 17
#: Bytes of a part.
_PART = 1 << 16
_TOGETHER = 2
HEADING = Struct(">QI")


def _only(record):
    """Messages of that task."""
    return Sources(frozenset([record.place]), record.name)


class PartsOut:
    """The parts of a message on their way out.

    Parameters
    ----------
    process : Process
    record : Record
        Of the receiving task.
    context : int
    data : bytes-like
    then : callable(TaskError or None)
        Called at the end.

    Members
    -------
    heading : bytes
    over : bool
        Whether all have left, or never will.
    """

    __slots__ = ("heading", "over", "_process", "_record", "_type", "_data", "_then", "_thread")

    def __init__(self, process, record, context, data, then):
        process.messages_in_parts += 1
        number = 2 * process.messages_in_parts & TAG_UB
        self.heading = HEADING.pack(len(data), number)
        self.over = False
        self._process = process
        self._record = record
        self._type = packed(context, Kind.PART, number)
        self._data = memoryview(data)
        self._then = then
        self._thread = None

    def begin(self):
        """They begin to leave, in a thread of their own."""
        self._thread = self._process.spawn(self._run, f"{self._process.task.name}: a message in parts")

    async def _run(self):
        error, handles = None, []
        task, record = self._process.task, self._record
        try:
            await ReceiveHandle(task, None, _only(record), self._type + 1).wait()
            for first in range(0, len(self._data), _PART):
                if len(handles) == _TOGETHER:
                    await handles.pop(0).wait()
                data = self._data[first : first + _PART]
                handles.append(SendHandle(task, record, data, self._type))
                await handles[-1].begin(data)
            for handle in handles:
                await handle.wait()
        except TaskError as failure:
            error = failure
        finally:
            self.over = True
            self._data = None
            self._then(error)

    async def end(self):
        """No more of them leave."""
        if self._thread is not None and not self.over:
            self._thread.end()
            while not self._thread.ended:
                await self._process.kernel.pause()
        self.over = True


class PartsIn:
    """The parts of a message on their way in.

    Parameters
    ----------
    task : Task
        That receives them.
    source : Record
    context : int
    heading : bytes

    Members
    -------
    length : int
        Bytes of the message.
    """

    __slots__ = ("length", "_task", "_source", "_type")

    def __init__(self, task, source, context, heading):
        self.length, number = HEADING.unpack(heading)
        self._task = task
        self._source = source
        self._type = packed(context, Kind.PART, number)

    async def receive(self, buffer):
        """Receives them into a Buffer, or returns the bytes."""
        handles, data = [], bytearray()
        asking = SendHandle(self._task, self._source, b"", self._type + 1)
        await asking.begin(b"")
        for first in range(0, self.length, _PART):
            if len(handles) == _TOGETHER:
                data += (await handles.pop(0).wait()).data or b""
            place = buffer[first : min(first + _PART, self.length)] if isinstance(buffer, Buffer) else None
            handles.append(ReceiveHandle(self._task, place, _only(self._source), self._type))
            await handles[-1].begin()
        for handle in handles:
            data += (await handle.wait()).data or b""
        await asking.wait()
        return None if isinstance(buffer, Buffer) else data
