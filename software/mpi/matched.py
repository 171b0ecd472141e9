"""Messages that a matched probe has found: no other receive gets them. Names are mpi4py's."""

from .constants import ANY_SOURCE, ANY_TAG, PROC_NULL
from .exception import ErrorClass, Exception
from .handle import Handle
from .pending import Nothing, Receiving
from .pickling import pickle
from .probing import probed
from .process import blocked, running
from .request import Request
from .spec import Room, to_receive

__all__ = ["MESSAGE_NO_PROC", "MESSAGE_NULL", "Message"]


def _loaded(data):
    """The object of a message's bytes, by what the program has made of ``MPI.pickle``."""
    return pickle.loads(data)


class _Matched:
    """A message that was found: its communicator, and the Incoming that has it; both None of a probe of PROC_NULL."""

    __slots__ = ("__weakref__", "communicator", "handle", "constant")

    def __init__(self, communicator=None, handle=None):
        self.communicator = communicator
        self.handle = handle
        self.constant = None


class Message(Handle):
    """A message that a matched probe has found. It is null once it was received."""

    @classmethod
    def Probe(cls, comm, source=ANY_SOURCE, tag=ANY_TAG, status=None):
        """Waits for a message, and keeps it from other receives."""
        return cls._probe("Mprobe", comm, source, tag, status, True)

    @classmethod
    def Iprobe(cls, comm, source=ANY_SOURCE, tag=ANY_TAG, status=None):
        """As ``Probe``, None if there is no message now."""
        return cls._probe("Improbe", comm, source, tag, status, False)

    probe, iprobe = Probe, Iprobe

    @classmethod
    def _probe(cls, call, comm, source, tag, status, wait):
        communicator = comm.communicator
        if source == PROC_NULL:
            if status is not None:
                status.fill(PROC_NULL, ANY_TAG)
            return MESSAGE_NO_PROC
        handle = blocked(probed(call, communicator, source, tag, status, wait, True))
        return cls.of(_Matched(communicator, handle)) if handle else None

    async def _receive(self, call, room, load=None, early=False):
        """Begins to receive; returns the Pending."""
        matched = self.target
        process = running()
        process.spend()
        if self.constant is None:
            self.target = None
        if matched.handle is None:
            return Nothing(process)
        matched.handle.aim(call, room.nbytes, process.seen(room.buffer))
        if early:
            await matched.handle.begin()
        return Receiving(matched.communicator, matched.handle, room.store, load)

    def _room(self, buf):
        """The Room of a buffer; Exception (ERR_REQUEST) if the message is null."""
        if self.target is None:
            raise Exception(ErrorClass.ERR_REQUEST, "the message is null: it has been received")
        return to_receive(buf, PROC_NULL if self.target.handle is None else ANY_SOURCE)

    async def _finished(self, pending, status):
        pending = await pending
        try:
            await pending.finish()
        finally:
            if status is not None:
                pending.fill(status)
        return pending.take()

    def Recv(self, buf, status=None):
        """Receives it into a buffer."""
        blocked(self._finished(self._receive("Mrecv", self._room(buf)), status))

    def Irecv(self, buf):
        """Begins ``Recv``. Returns a Request."""
        return Request.of(blocked(self._receive("Imrecv", self._room(buf), early=True)))

    def recv(self, status=None):
        """The object that was sent."""
        self._room(bytearray())
        return blocked(self._finished(self._receive("mrecv", Room(), _loaded), status))

    def irecv(self):
        """Begins ``recv``. Returns a Request, whose ``wait`` gives the object."""
        self._room(bytearray())
        return Request.of(blocked(self._receive("imrecv", Room(), _loaded, early=True)))


MESSAGE_NULL = Message.nothing = Message.constant_of("MESSAGE_NULL", None)
MESSAGE_NO_PROC = Message.constant_of("MESSAGE_NO_PROC", _Matched())
