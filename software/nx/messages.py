"""What the message calls of NX/2 have in common: type selectors, buffers, operations under way.

Source: P. Pierce, "The NX/2 Operating System" (1988), section 4.
"""

from ..errors import BufferTooShort, ProgramError
from ..nectarine.buffer import Buffer
from ..nectarine.handle import ReceiveHandle
from ..nectarine.inbox import Sources, selects

__all__ = [
    "ANYONE",
    "OWN_TYPES",
    "Receipt",
    "Receiving",
    "Sending",
    "buffer_of",
    "selector_of",
    "too_long",
    "type_of",
    "words_of",
]

#: Messages of any process.
ANYONE = Sources(None, "any process")
#: Types from here on are those of the library's own messages.
OWN_TYPES = 1 << 31
_MASKED = 31


def _any_type(type):
    """Type selector -1: all types of programs."""
    return type < OWN_TYPES


def type_of(call, type):
    """``type`` of a message to send. ProgramError if it is none."""
    if not isinstance(type, int) or not 0 <= type < OWN_TYPES:
        raise ProgramError(f"{call}: the type of a message is 0 to {OWN_TYPES - 1}, not {type!r}")
    return type


def selector_of(call, typesel):
    """What Nectarine takes as type for ``typesel``, which may be written as a signed or as an unsigned 32-bit number.
    ProgramError if it is neither."""
    if not isinstance(typesel, int) or not -OWN_TYPES <= typesel < 2 * OWN_TYPES:
        raise ProgramError(f"{call}: a type selector is a type, -1, or a mask with the sign bit set, not {typesel!r}")
    if typesel >= OWN_TYPES:
        typesel -= 2 * OWN_TYPES
    return _any_type if typesel == -1 else typesel


def words_of(selector):
    """What a selector takes, in words."""
    if selector is _any_type:
        return "any type"
    if selector >= 0:
        return f"type {selector}"
    return f"type {' or '.join(str(type) for type in range(_MASKED) if selector >> type & 1) or 'none'}"


def buffer_of(call, buf, length, writable=False):
    """The first ``length`` bytes of ``buf``: of a Buffer a part, of anything else a memoryview. None is a buffer of 0
    bytes. ProgramError if there are not so many, or if it is no buffer (of a receive: no writable one)."""
    if not isinstance(buf, Buffer):
        try:
            buf = memoryview(bytearray() if buf is None else buf).cast("B")
        except TypeError as error:
            raise ProgramError(f"{call}: a buffer is a Buffer or a bytes-like object without gaps: {error}") from None
        if writable and buf.readonly:
            raise ProgramError(f"{call}: a message is received into a Buffer or a writable object such as bytearray")
    if not isinstance(length, int) or not 0 <= length <= len(buf):
        raise ProgramError(f"{call}: the length is 0 to {len(buf)}, the bytes of the buffer, not {length!r}")
    return buf[:length]


def too_long(nx, call, room, arrivals, selector):
    """What to say of the message among ``arrivals`` that has more bytes than ``room``; None if it is not there."""
    for arrival in arrivals:
        if arrival.length > room and selects(selector, arrival.type):
            node, pid = nx.address(arrival.source)
            return (
                f"{call}: the message of type {arrival.type} from node {node}, process {pid} has {arrival.length} "
                f"bytes, the buffer {room}: receive it with a larger buffer"
            )
    return None


class Receipt:
    """A message that was received or probed for: ``type``, ``count`` (bytes), ``node`` and ``pid`` of its sender."""

    __slots__ = ("type", "count", "node", "pid")

    def __init__(self, type, count, address):
        self.type = type
        self.count = count
        self.node, self.pid = address


class Receiving(ReceiveHandle):
    """A receive that is under way, as a Nectarine handle.

    Parameters
    ----------
    process : Process
    call : str
        Its name, for messages.
    selector : int or callable
        As ``selector_of`` makes it.
    buffer : Buffer, memoryview or None
    sources : Sources
    """

    __slots__ = ("process", "call", "room", "selector", "sources")

    def __init__(self, process, call, selector, buffer, sources=ANYONE):
        self.process = process
        self.call = call
        self.selector = selector
        self.sources = sources
        self.room = None if buffer is None else len(buffer)
        super().__init__(process.task, buffer, sources, selector)

    def __str__(self):
        what = words_of(self.selector) if self.sources is ANYONE else f"a message of {self.sources.words}"
        return f"{self.call} of {what}"

    async def outcome(self):
        """Waits for the message, and returns its Receipt. ProgramError if it is longer than the buffer."""
        try:
            await self.wait()
        except BufferTooShort as error:
            said = too_long(self.process.nx, self.call, self.room, self.task.inbox.arrivals, self.selector)
            raise ProgramError(said or f"{self.call}: {error}") from None
        return Receipt(self.type, self.length, self.process.nx.address(self.source.place))


class Sending:
    """A message that is on its way to one process or several: Nectarine's handles for it."""

    __slots__ = ("call", "handles")

    def __init__(self, call, handles):
        self.call = call
        self.handles = handles

    def __str__(self):
        to = [handle.to.name for handle in self.handles]
        return f"{self.call} of type {self.handles[0].type} to {to[0] if len(to) == 1 else f'{len(to)} processes'}"

    @property
    def ready(self):
        """Whether all have left, or never will."""
        return all(handle.ready for handle in self.handles)

    async def begin(self):
        """Nothing: sends go on by themselves."""

    async def outcome(self):
        """Waits until all have left. Raises the error of the first that never will."""
        with self.handles[0].task.kernel.current.calling(self):
            for handle in self.handles:
                await handle.wait()
