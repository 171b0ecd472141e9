"""Files of the node, for threads of its CAB: open, read, write, close by VME interrupt. Specification: docs/nodes.md.

Source: "The Design of Nectar" (1989), section 6.1: the CAB's kernel relies on the node's operating system for more
complicated operations such as file I/O, and invokes these services by interrupting the node over the VME bus."""

from ..errors import FileError, FileMissing, FileRefused, MessageTooLong, NodeAbsent, NodeError, NodeSilent, TimedOut
from ..kernel.condition import Condition
from ..kernel.plain import blocking
from .layout import ANSWER, CHUNK, FILE, FILES, HEADER, HELLO, MASK, FileCode, FileStatus, Mode, chunk_at, file_at

__all__ = ["NodeFile", "NodeFiles", "TIMEOUT_US"]

#: How long a request waits for the node unless the caller says otherwise, in microseconds.
TIMEOUT_US = 1_000_000
_COUNT = HEADER + HELLO.size - 4
_MODES = {"r": Mode.READ, "w": Mode.WRITE, "a": Mode.APPEND}
_STATUS = frozenset(FileStatus)
_ERRORS = {FileStatus.MISSING: FileMissing, FileStatus.REFUSED: FileRefused}
_TEXTS = {
    FileStatus.MISSING: "there is no such file or folder",
    FileStatus.REFUSED: "it is not in the folder that the node lends, or the node lends none",
    FileStatus.DENIED: "the node's system does not allow it",
    FileStatus.WRONG_KIND: "it is a folder, or goes through something that is none",
    FileStatus.BAD_HANDLE: "the file is closed, or was not opened for that",
    FileStatus.NO_SPACE: "the node's disk is full",
    FileStatus.TOO_MANY: "too many files are open",
}


class _Asked:
    """A request that the node has."""

    __slots__ = ("code", "thread", "answer", "gone")

    def __init__(self, code):
        self.code = code
        self.thread = None  # that waits
        self.answer = None  # (value, status)
        self.gone = False  # nobody wants the answer any more


class NodeFiles:
    """The files of a CAB's node: ``cab.node``.

    Parameters
    ----------
    cab : Cab
    port : NodePort or None
        None if it has no node: then every call raises NodeAbsent.
    """

    __slots__ = ("cab", "kernel", "memory", "_port", "_asked", "_next", "_known", "_room")

    def __init__(self, cab, port):
        self.cab = cab
        self.kernel = cab.kernel
        self.memory = cab.memory
        self._port = port
        self._asked = {}  # number -> _Asked, oldest first
        self._next = 0
        self._room = Condition(cab.kernel, f"an answer of {cab.name}'s node")
        if port is not None:
            port.on_bell.append(self._bell)

    @blocking
    async def open(self, path, mode="r", timeout_us=TIMEOUT_US):
        """Opens a file of the node: a NodeFile. ``path`` is in the folder that the node lends; ``mode``: ``r``, ``w``
        (made anew) or ``a``.

        Raises NodeAbsent, NodeSilent, a FileError.
        """
        if mode not in _MODES:
            raise ValueError(f"a file of the node is opened with mode r, w or a, not {mode!r}")
        name = path.encode()
        if len(name) > CHUNK:
            raise MessageTooLong(f"a path has at most {CHUNK} bytes, not {len(name)}")
        handle, _ = await self.ask(FileCode.OPEN, 0, name, len(name), _MODES[mode], timeout_us, path)
        return NodeFile(self, path, handle)

    async def ask(self, code, handle, data, length, mode, timeout_us, path):
        """Has the node do something: (value, bytes that it has read). ``data``: bytes for it. Raises as ``open``."""
        kernel = self.kernel
        kernel.check_pending()
        if self._port is None:
            raise NodeAbsent(f"{self.cab.name} has no node: name it in the program's NODES")
        end = kernel.cycles(timeout_us) + await kernel.door.now()
        number = await self._place(end, path, timeout_us)
        asked = self._asked[number] = _Asked(code)
        kernel.door.spend(kernel.costs.node_request)
        if data:
            self.memory.write(chunk_at(number), data)
        kernel.door.write_block(file_at(number), FILE.pack(code, handle, length, mode))
        kernel.door.write(_COUNT, number + 1 & 0xFFFFFFFF)
        self._port.call_node()
        try:
            left = end - await kernel.door.now()
            if asked.answer is None:
                asked.thread = kernel.current
                await kernel.block(f"{self.cab.name}'s node to do something with {path}", lambda: None, timeout=left)
        except TimedOut as error:
            self._leave(number)
            raise await self._why(error, end, path, timeout_us) from None
        except BaseException:
            self._leave(number)
            raise
        value, status = asked.answer
        got = b""
        try:
            if code == FileCode.READ and status == FileStatus.DONE and value:
                got = await self.memory.read(chunk_at(number), min(value, length))
        finally:
            self._over(number)
        if status != FileStatus.DONE:
            status = FileStatus(status) if status in _STATUS else FileStatus.FAILED  # a node's word is checked
            raise _ERRORS.get(status, FileError)(
                status, f"{path}, on the node of {self.cab.name}: {_TEXTS.get(status, 'the node could not do it')}"
            )
        return value, got

    async def _place(self, end, path, timeout_us):
        """The number of the next request, once its slot is free."""
        try:
            while (self._next - FILES & 0xFFFFFFFF) in self._asked:
                left = end - await self.kernel.door.now()
                await self._room.wait(max(0, left) * 1e6 / self.kernel.door.cpu_hz)
        except TimedOut as error:
            raise await self._why(error, end, path, timeout_us) from None
        number, self._next = self._next, self._next + 1 & 0xFFFFFFFF
        return number

    async def _why(self, error, end, path, timeout_us):
        """The error of a wait that has timed out: ours, or that of somebody who has set another limit to it."""
        if await self.kernel.door.now() < end:
            return error
        return NodeSilent(
            f"the node of {self.cab.name} has not answered within {timeout_us} us, about {path}: is it running?"
        )

    def _leave(self, number):
        """Nobody wants the answer any more; until it comes the slot is the node's."""
        asked = self._asked[number]
        asked.thread, asked.gone = None, True
        if asked.answer is not None:
            self._dispose(number)

    def _dispose(self, number):
        """An answer that nobody wants; at either level."""
        asked = self._asked[number]
        self._over(number)
        value, status = asked.answer
        if asked.code == FileCode.OPEN and status == FileStatus.DONE:
            self.kernel.spawn(self._forget, value, name="close a file that nobody waits for")

    async def _forget(self, handle):
        try:
            await self.ask(FileCode.CLOSE, handle, b"", 0, 0, TIMEOUT_US, "a file that nobody waits for")
        except NodeError:
            pass  # the node has stopped: so are its files

    def _over(self, number):
        del self._asked[number]
        self._room.signal()

    async def _bell(self):
        """At interrupt level: the node has called. It answers in the order in which it was asked."""
        for number, asked in list(self._asked.items()):
            if asked.answer is not None:
                continue
            value, word = ANSWER.unpack(await self.kernel.door.read_block(file_at(number) + FILE.size, ANSWER.size))
            if word >> 8 != number + 1 & MASK:
                return
            asked.answer = value, word & 0xFF
            if asked.gone:
                self._dispose(number)
            elif asked.thread is not None:
                self.kernel.door.spend(self.kernel.costs.wake)
                self.kernel.wake(asked.thread)


class NodeFile:
    """A file of the node, open; made by ``NodeFiles.open``. It is read and written from where the last call has
    stopped."""

    __slots__ = ("path", "_files", "_handle", "_closed")

    def __init__(self, files, path, handle):
        self.path = path
        self._files = files
        self._handle = handle
        self._closed = False

    def __repr__(self):
        return f"<NodeFile {self.path}>"

    @blocking
    async def read(self, length, timeout_us=TIMEOUT_US):
        """At most ``length`` bytes; fewer only at the file's end. The time is for each 4096 bytes. Raises as
        ``open``."""
        parts = []
        while length > 0:
            _, part = await self._ask(FileCode.READ, b"", min(length, CHUNK), timeout_us)
            parts.append(part)
            length -= len(part)
            if not part:
                break
        return b"".join(parts)

    @blocking
    async def write(self, data, timeout_us=TIMEOUT_US):
        """Writes all of ``data``. The time is for each 4096 bytes. Raises as ``open``."""
        for start in range(0, len(data), CHUNK):
            part = data[start : start + CHUNK]
            await self._ask(FileCode.WRITE, part, len(part), timeout_us)

    @blocking
    async def close(self, timeout_us=TIMEOUT_US):
        """Closes it. May be called twice."""
        if not self._closed:
            self._closed = True
            await self._files.ask(FileCode.CLOSE, self._handle, b"", 0, 0, timeout_us, self.path)

    async def _ask(self, code, data, length, timeout_us):
        if self._closed:
            raise FileError(FileStatus.BAD_HANDLE, f"{self.path}: the file has been closed")
        return await self._files.ask(code, self._handle, data, length, 0, timeout_us, self.path)
