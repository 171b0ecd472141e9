"""The module ``select`` of a process on a node. Specification: docs/sockets.md."""

import errno
import types

from ...errors import TimedOut
from .errors import wrong
from .process import call, current

__all__ = ["MODULE"]

_IN, _PRI, _OUT, _ERR, _HUP, _NVAL = 1, 2, 4, 8, 16, 32
_MOST_US = 4_000_000_000


def _number(file):
    number = file if isinstance(file, int) else file.fileno()
    if number < 0:
        raise ValueError("file descriptor cannot be a negative integer (-1)")
    return number


async def _ready(process, wanted, timeout):
    """Waits until one of ``wanted``, (number, Description, events), is ready: a list of (number, events); empty after
    ``timeout`` seconds."""

    async def look():
        found = []
        for number, description, events in wanted:
            have = _IN if events & _IN and await description.readable() else 0
            have |= _OUT if events & _OUT and await description.writable() else 0
            if have:
                found.append((number, have))
        return found or None

    node = process.node
    node.door.spend(node.costs.socket_call)
    if timeout is not None and timeout <= 0:
        return await look() or []
    try:
        limit = None if timeout is None else min(timeout * 1e6, _MOST_US)
        return await node.shared.watch(look, "a socket to become ready", "sockets are lost", limit)
    except TimedOut:
        return []


def _select(rlist, wlist, xlist, timeout=None):
    """As ``select.select``; nothing is ever exceptional."""
    if timeout is not None and timeout < 0:
        raise ValueError("timeout must be non-negative")
    process = current()
    lists = [list(rlist), list(wlist)]
    events = {}
    for files, event in zip(lists, (_IN, _OUT), strict=True):
        for file in files:
            events[_number(file)] = events.get(_number(file), 0) | event
    wanted = [(number, process.description(number), event) for number, event in events.items()]
    found = dict(call(_ready(process, wanted, timeout)))
    return *(
        [file for file in files if found.get(_number(file), 0) & event]
        for files, event in zip(lists, (_IN, _OUT), strict=True)
    ), []


class Poll:
    """As ``select.poll()``."""

    def __init__(self):
        self._events = {}

    def register(self, fd, eventmask=_IN | _PRI | _OUT):
        """As in Python."""
        self._events[_number(fd)] = eventmask

    def modify(self, fd, eventmask):
        """As in Python."""
        if _number(fd) not in self._events:
            raise wrong(errno.ENOENT, "the socket is not registered")
        self._events[_number(fd)] = eventmask

    def unregister(self, fd):
        """As in Python."""
        del self._events[_number(fd)]

    def poll(self, timeout=None):
        """As in Python: ``timeout`` in milliseconds."""
        if not self._events and timeout == 0:
            return []
        process = current()
        wanted, gone = [], []
        for number, events in self._events.items():
            try:
                wanted.append((number, process.description(number), events))
            except OSError:
                gone.append((number, _NVAL))
        seconds = None if timeout is None or timeout < 0 else timeout / 1000
        return gone or call(_ready(process, wanted, seconds))


MODULE = types.ModuleType("select", "Which sockets of a process on a node are ready.")
vars(MODULE).update(
    error=OSError,
    select=_select,
    poll=Poll,
    PIPE_BUF=4096,
    POLLIN=_IN,
    POLLPRI=_PRI,
    POLLOUT=_OUT,
    POLLERR=_ERR,
    POLLHUP=_HUP,
    POLLNVAL=_NVAL,
    POLLRDNORM=64,
    POLLRDBAND=128,
    POLLWRNORM=256,
    POLLWRBAND=512,
)
