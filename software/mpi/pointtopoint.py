"""Messages from one rank to another: the calls of a communicator. Names are mpi4py's."""

import warnings
from enum import Enum
from functools import partial

from ..nectarine.buffer import Buffer
from .buffering import attach, detach, flush, iflush
from .constants import ANY_SOURCE, ANY_TAG, PROC_NULL
from .envelope import Kind
from .exception import ErrorClass, Exception
from .matched import Message
from .messages import Answer, Incoming, Outgoing, checked_tag
from .package import rc
from .pending import Both, Nothing, Receiving, Sending, prepared
from .pickling import pickle
from .probing import probed
from .process import blocked
from .request import Prequest, Request
from .spec import load_room, to_receive, to_send

__all__ = ["PointToPoint"]


def _loaded(data):
    """The object of a message's bytes, by what the program has made of ``MPI.pickle``."""
    return pickle.loads(data)


class _Mode(Enum):
    """When a send is over."""

    STANDARD = "when its data may be changed"
    SYNCHRONOUS = "when a receive has taken the message"
    BUFFERED = "at once"


async def _send(call, communicator, data, dest, tag, mode=_Mode.STANDARD):
    """Begins to send; returns the Pending. ``data``: a Buffer, bytes-like, or a function that gives such."""
    process = communicator.process
    checked_tag(tag)
    process.spend()
    if dest == PROC_NULL:
        return Nothing(process)
    kind = Kind.SYNCHRONOUS if mode is _Mode.SYNCHRONOUS else Kind.STANDARD
    data = data() if callable(data) else data
    data = process.seen(data) if isinstance(data, Buffer) else await process.out(data)
    if mode is _Mode.BUFFERED and not isinstance(data, Buffer):
        data = bytes(data)
    handle = Outgoing(call, communicator, dest, data, kind, tag)
    if mode is _Mode.BUFFERED:
        attached = communicator.buffer or process.buffer
        if attached is None:
            raise Exception(ErrorClass.ERR_BUFFER, f"{call}: attach a buffer first")
        attached.take(handle)
    answer = None
    if mode is _Mode.SYNCHRONOUS and handle.short:
        answer = Answer(handle, communicator)
        await answer.begin()
    await handle.start()
    free = mode is _Mode.BUFFERED or handle.copied and mode is _Mode.STANDARD
    if free:
        process.leave(handle)
    return Sending(process, handle, answer, free)


async def _receive(call, communicator, room, source, tag, load=None):
    """Begins to receive; returns the Pending."""
    process = communicator.process
    checked_tag(tag, ANY_TAG)
    process.spend()
    if source == PROC_NULL:
        return Nothing(process)
    handle = Incoming(call, communicator, source, tag, room.nbytes, process.seen(room.buffer))
    return Receiving(communicator, handle, room.store, load)


async def _receive_early(*args):
    """As ``_receive``; the message is fetched whether anybody waits for it or not."""
    pending = await _receive(*args)
    await pending.begin()
    return pending


async def _finished(begin, status=None):
    """Waits for the end of the operation that ``begin()`` begins; returns the object of a lower-case call."""
    pending = await begin()
    try:
        await pending.finish()
    finally:
        if status is not None:
            pending.fill(status)
    return pending.take()


async def _both(send, receive):
    """The Pending of a send and a receive that are begun."""
    return Both(await send(), await receive())


class PointToPoint:
    """The calls. In all of them a rank may be PROC_NULL: nothing is sent then, and what is received is empty.

    Raises
    ------
    Exception
        ERR_RANK, ERR_TAG for a rank or tag that there is not; ERR_TRUNCATE for a message that is longer than the
        buffer, which is lost; ERR_PROC_FAILED if the CAB of the other rank has stopped.
    """

    __slots__ = ()

    # -- inside --------------------------------------------------------------------------------------
    def _sender(self, call, buf, dest, tag, mode=_Mode.STANDARD):
        return partial(_send, call, self.communicator, to_send(buf, dest), dest, tag, mode)

    def _object_sender(self, call, obj, dest, tag, mode=_Mode.STANDARD):
        data = b"" if dest == PROC_NULL else pickle.dumps(obj)
        return partial(_send, call, self.communicator, data, dest, tag, mode)

    def _receiver(self, call, buf, source, tag, receive=_receive_early):
        return partial(receive, call, self.communicator, to_receive(buf, source), source, tag)

    def _object_receiver(self, call, buf, source, tag, receive=_receive_early, room=None):
        return partial(receive, call, self.communicator, load_room(buf, room), source, tag, _loaded)

    def _begin(self, begin):
        return Request.of(blocked(begin()))

    def _starting(self, call, buf, dest, tag, mode=_Mode.STANDARD):
        to_send(buf, dest)
        begin = partial(_send, call, self.communicator, partial(to_send, buf, dest), dest, tag, mode)
        return self._prepared(begin)

    def _prepared(self, begin):
        return Prequest.of(blocked(prepared(self.communicator.process, begin)))

    # -- buffers, blocking ---------------------------------------------------------------------------
    def Send(self, buf, dest, tag=0):
        """Sends the elements of a buffer; returns when they may be changed."""
        blocked(_finished(self._sender("Send", buf, dest, tag)))

    def Bsend(self, buf, dest, tag=0):
        """As ``Send``, with room in the attached buffer."""
        blocked(_finished(self._sender("Bsend", buf, dest, tag, _Mode.BUFFERED)))

    def Ssend(self, buf, dest, tag=0):
        """As ``Send``; returns when a receive has taken the message."""
        blocked(_finished(self._sender("Ssend", buf, dest, tag, _Mode.SYNCHRONOUS)))

    def Rsend(self, buf, dest, tag=0):
        """As ``Send``, for a receive that has been called."""
        blocked(_finished(self._sender("Rsend", buf, dest, tag)))

    def Recv(self, buf, source=ANY_SOURCE, tag=ANY_TAG, status=None):
        """Receives a message into a buffer."""
        blocked(_finished(self._receiver("Recv", buf, source, tag, _receive), status))

    def Sendrecv(self, sendbuf, dest, sendtag=0, recvbuf=None, source=ANY_SOURCE, recvtag=ANY_TAG, status=None):
        """Sends a message and receives one."""
        send = self._sender("Sendrecv", sendbuf, dest, sendtag)
        receive = self._receiver("Sendrecv", recvbuf, source, recvtag)
        blocked(_finished(partial(_both, send, receive), status))

    def Sendrecv_replace(self, buf, dest, sendtag=0, source=ANY_SOURCE, recvtag=ANY_TAG, status=None):
        """Sends a message and receives one into the same buffer."""
        both = self._replacing("Sendrecv_replace", buf, dest, sendtag, source, recvtag)
        blocked(_finished(both, status))

    def _replacing(self, call, buf, dest, sendtag, source, recvtag):
        data, receive = to_send(buf, dest), self._receiver(call, buf, source, recvtag)
        if not isinstance(data, (bytes, memoryview)):
            raise NotImplementedError(f"{call} in a Buffer of Nectarine")
        send = partial(_send, call, self.communicator, bytes(data), dest, sendtag)
        return partial(_both, send, receive)

    # -- buffers, non-blocking -----------------------------------------------------------------------
    def Isend(self, buf, dest, tag=0):
        """Begins ``Send``. Returns a Request."""
        return self._begin(self._sender("Isend", buf, dest, tag))

    def Ibsend(self, buf, dest, tag=0):
        """Begins ``Bsend``. Returns a Request."""
        return self._begin(self._sender("Ibsend", buf, dest, tag, _Mode.BUFFERED))

    def Issend(self, buf, dest, tag=0):
        """Begins ``Ssend``. Returns a Request."""
        return self._begin(self._sender("Issend", buf, dest, tag, _Mode.SYNCHRONOUS))

    def Irsend(self, buf, dest, tag=0):
        """Begins ``Rsend``. Returns a Request."""
        return self._begin(self._sender("Irsend", buf, dest, tag))

    def Irecv(self, buf, source=ANY_SOURCE, tag=ANY_TAG):
        """Begins ``Recv``. Returns a Request."""
        return self._begin(self._receiver("Irecv", buf, source, tag))

    def Isendrecv(self, sendbuf, dest, sendtag=0, recvbuf=None, source=ANY_SOURCE, recvtag=ANY_TAG):
        """Begins ``Sendrecv``. Returns a Request."""
        send = self._sender("Isendrecv", sendbuf, dest, sendtag)
        return self._begin(partial(_both, send, self._receiver("Isendrecv", recvbuf, source, recvtag)))

    def Isendrecv_replace(self, buf, dest, sendtag=0, source=ANY_SOURCE, recvtag=ANY_TAG):
        """Begins ``Sendrecv_replace``. Returns a Request."""
        return self._begin(self._replacing("Isendrecv_replace", buf, dest, sendtag, source, recvtag))

    # -- buffers, persistent -------------------------------------------------------------------------
    def Send_init(self, buf, dest, tag=0):
        """A Prequest that sends the elements of a buffer each time it is started."""
        return self._starting("Send_init", buf, dest, tag)

    def Bsend_init(self, buf, dest, tag=0):
        """As ``Send_init``, with ``Bsend``."""
        return self._starting("Bsend_init", buf, dest, tag, _Mode.BUFFERED)

    def Ssend_init(self, buf, dest, tag=0):
        """As ``Send_init``, with ``Ssend``."""
        return self._starting("Ssend_init", buf, dest, tag, _Mode.SYNCHRONOUS)

    def Rsend_init(self, buf, dest, tag=0):
        """As ``Send_init``, with ``Rsend``."""
        return self._starting("Rsend_init", buf, dest, tag)

    def Recv_init(self, buf, source=ANY_SOURCE, tag=ANY_TAG):
        """A Prequest that receives a message into a buffer each time it is started."""
        return self._prepared(self._receiver("Recv_init", buf, source, tag))

    def Psend_init(self, buf, partitions, dest, tag=0, info=None):
        """Not there: NotImplementedError."""
        raise NotImplementedError("Psend_init: partitioned communication is not there")

    def Precv_init(self, buf, partitions, source=ANY_SOURCE, tag=ANY_TAG, info=None):
        """Not there: NotImplementedError."""
        raise NotImplementedError("Precv_init: partitioned communication is not there")

    # -- probes --------------------------------------------------------------------------------------
    def Probe(self, source=ANY_SOURCE, tag=ANY_TAG, status=None):
        """Waits until there is a message that ``Recv`` would take. Returns True."""
        return self._probed("Probe", source, tag, status, True)

    def Iprobe(self, source=ANY_SOURCE, tag=ANY_TAG, status=None):
        """Whether there is a message that ``Recv`` would take."""
        return self._probed("Iprobe", source, tag, status, False)

    def _probed(self, call, source, tag, status, wait):
        if source == PROC_NULL:
            if status is not None:
                status.fill(PROC_NULL, ANY_TAG)
            return True
        return bool(blocked(probed(call, self.communicator, source, tag, status, wait, False)))

    def Mprobe(self, source=ANY_SOURCE, tag=ANY_TAG, status=None):
        """Waits for a message, and keeps it from other receives. Returns a Message."""
        return Message.Probe(self, source, tag, status)

    def Improbe(self, source=ANY_SOURCE, tag=ANY_TAG, status=None):
        """As ``Mprobe``, None if there is no message now."""
        return Message.Iprobe(self, source, tag, status)

    probe, iprobe, mprobe, improbe = Probe, Iprobe, Mprobe, Improbe

    # -- objects -------------------------------------------------------------------------------------
    def send(self, obj, dest, tag=0):
        """Sends an object, pickled."""
        blocked(_finished(self._object_sender("send", obj, dest, tag)))

    def bsend(self, obj, dest, tag=0):
        """As ``send``, with room in the attached buffer."""
        blocked(_finished(self._object_sender("bsend", obj, dest, tag, _Mode.BUFFERED)))

    def ssend(self, obj, dest, tag=0):
        """As ``send``; returns when a receive has taken the message."""
        blocked(_finished(self._object_sender("ssend", obj, dest, tag, _Mode.SYNCHRONOUS)))

    def recv(self, buf=None, source=ANY_SOURCE, tag=ANY_TAG, status=None):
        """Receives an object. ``buf`` is deprecated: room for so many bytes, or a buffer for them."""
        if buf is not None:
            warnings.warn("the 'buf' argument is deprecated", UserWarning, stacklevel=2)
        return blocked(_finished(self._object_receiver("recv", buf, source, tag, _receive), status))

    def sendrecv(self, sendobj, dest, sendtag=0, recvbuf=None, source=ANY_SOURCE, recvtag=ANY_TAG, status=None):
        """Sends an object and receives one."""
        if recvbuf is not None:
            warnings.warn("the 'buf' argument is deprecated", UserWarning, stacklevel=2)
        send = self._object_sender("sendrecv", sendobj, dest, sendtag)
        receive = self._object_receiver("sendrecv", recvbuf, source, recvtag)
        return blocked(_finished(partial(_both, send, receive), status))

    def isend(self, obj, dest, tag=0):
        """Begins ``send``. Returns a Request."""
        return self._begin(self._object_sender("isend", obj, dest, tag))

    def ibsend(self, obj, dest, tag=0):
        """Begins ``bsend``. Returns a Request."""
        return self._begin(self._object_sender("ibsend", obj, dest, tag, _Mode.BUFFERED))

    def issend(self, obj, dest, tag=0):
        """Begins ``ssend``. Returns a Request."""
        return self._begin(self._object_sender("issend", obj, dest, tag, _Mode.SYNCHRONOUS))

    def irecv(self, buf=None, source=ANY_SOURCE, tag=ANY_TAG):
        """Begins ``recv``. Returns a Request, whose ``wait`` gives the object. ``buf``: room for so many bytes, or a
        buffer for them; by default ``mpi4py.rc.irecv_bufsz`` bytes."""
        return self._begin(
            self._object_receiver("irecv", buf, source, tag, room=rc(self.communicator.process).irecv_bufsz)
        )

    # -- attached buffers ----------------------------------------------------------------------------
    def Attach_buffer(self, buf):
        """Attaches a buffer for buffered sends of this communicator. None: there is always room."""
        attach(self.communicator, buf)

    def Detach_buffer(self):
        """Waits until all buffered messages have left; returns the buffer."""
        return detach(self.communicator)

    def Flush_buffer(self):
        """Waits until all buffered messages have left."""
        flush(self.communicator)

    def Iflush_buffer(self):
        """Begins ``Flush_buffer``. Returns a Request."""
        return iflush()
