"""Buffers that a program attaches for buffered sends. Names are mpi4py's.

The bytes of a buffered send are copied into the data memory of the CAB, as of any send from Python's memory. The
attached buffer bounds what stays in Python's memory, since it goes in parts.
"""

from functools import partial

from .buffers import BOTTOM
from .exception import ErrorClass, Exception
from .memory import buffer
from .pending import Collective
from .process import blocked, caller
from .request import Request

__all__ = [
    "Attach_buffer",
    "Attached",
    "BSEND_OVERHEAD",
    "BUFFER_AUTOMATIC",
    "Detach_buffer",
    "Flush_buffer",
    "Iflush_buffer",
    "attach",
    "detach",
    "flush",
    "iflush",
]

#: Bytes of an attached buffer that each message takes besides its own.
BSEND_OVERHEAD = 32
#: In place of a buffer: there is always room.
BUFFER_AUTOMATIC = type(BOTTOM)("BUFFER_AUTOMATIC", -2)


class Attached:
    """An attached buffer.

    Parameters
    ----------
    given : buffer or BUFFER_AUTOMATIC
    """

    __slots__ = ("given", "_handles")

    def __init__(self, given):
        self.given = given
        self._handles = []

    def take(self, handle):
        """A message is to be sent. Exception (ERR_BUFFER) if there is no room for it."""
        self._handles = [each for each in self._handles if not (each.copied or each.ready)]
        if self.given is not BUFFER_AUTOMATIC:
            used = sum(each.length + BSEND_OVERHEAD for each in [*self._handles, handle])
            if used > len(self.given):
                raise Exception(
                    ErrorClass.ERR_BUFFER,
                    f"{handle}: the attached buffer has {len(self.given)} bytes, {used} are needed: "
                    "attach a larger one",
                )
        self._handles.append(handle)


def attach(owner, buf):
    """Attaches a buffer to a Process or a Communicator."""
    if owner.buffer is not None:
        raise Exception(ErrorClass.ERR_BUFFER, "a buffer is attached already: detach that one first")
    automatic = buf is None or buf is BUFFER_AUTOMATIC
    owner.buffer = Attached(BUFFER_AUTOMATIC if automatic else buffer.frombuffer(buf))


def flush(owner):
    """Waits until the messages in the attached buffer have left."""
    blocked(caller().left("Flush_buffer"))


def iflush():
    """Begins ``flush``. Returns a Request."""
    process = caller()

    async def begin():
        return Collective(process, "Iflush_buffer", partial(process.left, "Iflush_buffer"))

    return Request.of(blocked(begin()))


def detach(owner):
    """Takes the attached buffer back, once its messages have left; returns it."""
    if owner.buffer is None:
        raise Exception(ErrorClass.ERR_BUFFER, "no buffer is attached")
    flush(owner)
    attached, owner.buffer = owner.buffer, None
    return attached.given


def Attach_buffer(buf):
    """Attaches a buffer for buffered sends of communicators that have none of their own. None: there is always room."""
    attach(caller(), buf)


def Detach_buffer():
    """Waits until all buffered messages have left; returns the buffer."""
    return detach(caller())


def Flush_buffer():
    """Waits until all buffered messages have left."""
    flush(caller())


def Iflush_buffer():
    """Begins ``Flush_buffer``. Returns a Request."""
    return iflush()
