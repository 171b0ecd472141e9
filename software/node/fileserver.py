"""What a node does for its CAB: files in one folder. Specification: docs/nodes.md.

Files are those of the host that runs the simulation; what the node's own system would take for them is in the costs.
"""

import errno
from pathlib import Path

from .layout import ANSWER, CHUNK, FILE, FILES, MASK, FileCode, FileStatus, Mode, chunk_at, file_at

__all__ = ["FileServer", "MOST_FILES"]

#: Files that may be open at the same time.
MOST_FILES = 64
_OPENING = {Mode.READ: "rb", Mode.WRITE: "wb", Mode.APPEND: "ab"}
_ERRNO = {
    errno.ENOENT: FileStatus.MISSING,
    errno.EACCES: FileStatus.DENIED,
    errno.EPERM: FileStatus.DENIED,
    errno.EROFS: FileStatus.DENIED,
    errno.EISDIR: FileStatus.WRONG_KIND,
    errno.ENOTDIR: FileStatus.WRONG_KIND,
    errno.ENOSPC: FileStatus.NO_SPACE,
    errno.EBADF: FileStatus.BAD_HANDLE,
    errno.ENAMETOOLONG: FileStatus.MISSING,
    errno.EMFILE: FileStatus.TOO_MANY,
}


class _No(Exception):
    """A FileStatus that is not DONE."""


class FileServer:
    """Answers the file requests of a CAB, in their order.

    Parameters
    ----------
    node : Node

    Members
    -------
    open : int
        Files that are open.
    served : int
        Requests answered.
    """

    def __init__(self, node):
        self.node = node
        self.served = 0
        self._folder = None
        self._files = {}  # handle -> file of the host
        self._handles = 0
        self._next = 0  # number of the next request

    @property
    def open(self):
        """See the class."""
        return len(self._files)

    def lend(self, folder):
        """Files are those in ``folder``; None: there are none. ValueError if it is no folder."""
        if folder is not None and not Path(folder).is_dir():
            raise ValueError(f"{folder} is no folder that a node could lend")
        self._folder = None if folder is None else Path(folder).resolve()

    def begin(self):
        """The CAB has started: its files of before are closed."""
        self.close()
        self._next = 0

    def close(self):
        """Closes all files."""
        while self._files:
            self._files.popitem()[1].close()

    async def serve(self, posted):
        """Answers all requests up to the count ``posted``."""
        node = self.node
        if (posted - self._next & 0xFFFFFFFF) > FILES:
            return  # a count that no CAB writes
        while self._next != posted:
            number, self._next = self._next, self._next + 1 & 0xFFFFFFFF
            node.door.spend(node.costs.file_request)
            code, handle, length, mode = FILE.unpack(await node.door.read_block(file_at(number), FILE.size))
            status, value = FileStatus.DONE, 0
            try:
                value = await self._do(code, handle, length, mode, chunk_at(number))
            except _No as no:
                status = no.args[0]
            except OSError as error:
                status = _ERRNO.get(error.errno, FileStatus.FAILED)
            node.door.write_block(file_at(number) + FILE.size, ANSWER.pack(value, (number + 1 & MASK) << 8 | status))
            node.ring()
            self.served += 1

    async def _do(self, code, handle, length, mode, chunk):
        node, costs = self.node, self.node.costs
        if length > CHUNK:
            raise _No(FileStatus.BAD_REQUEST)
        if code == FileCode.OPEN:
            path = await node.shared.load(chunk, length)
            node.door.spend(costs.file_open)
            return self._open(path, mode)
        file = self._files.get(handle)
        if file is None:
            raise _No(FileStatus.BAD_HANDLE)
        words = length + 3 >> 2
        if code == FileCode.READ:
            if not file.readable():
                raise _No(FileStatus.BAD_HANDLE)
            data = file.read(length)
            node.door.spend(costs.file_transfer + words * costs.file_word)
            node.shared.store(chunk, data)
            return len(data)
        if code == FileCode.WRITE:
            if not file.writable():
                raise _No(FileStatus.BAD_HANDLE)
            data = await node.shared.load(chunk, length)
            node.door.spend(costs.file_transfer + words * costs.file_word)
            return file.write(data)
        if code != FileCode.CLOSE:
            raise _No(FileStatus.BAD_REQUEST)
        node.door.spend(costs.file_close)
        del self._files[handle]
        file.close()
        return 0

    def _open(self, path, mode):
        """A handle for a file of the folder."""
        if self._folder is None:
            raise _No(FileStatus.REFUSED)
        if mode not in _OPENING:
            raise _No(FileStatus.BAD_REQUEST)
        if len(self._files) >= MOST_FILES:
            raise _No(FileStatus.TOO_MANY)
        try:
            target = (self._folder / path.decode()).resolve()
        except (ValueError, RuntimeError):  # no text, a zero byte, links in a circle
            raise _No(FileStatus.MISSING) from None
        if not target.is_relative_to(self._folder):
            raise _No(FileStatus.REFUSED)
        if target.exists() and not target.is_file() and not target.is_dir():
            raise _No(FileStatus.WRONG_KIND)  # a device or a pipe: opening it could wait for ever
        file = open(target, _OPENING[mode], buffering=0)
        self._handles += 1
        self._files[self._handles] = file
        return self._handles
