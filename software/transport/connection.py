"""A connection of the byte stream as its task sees it. Specification: docs/transports.md."""

from ..errors import ConnectionClosed
from ..kernel.lock import Lock
from ..kernel.message import areas_of
from ..kernel.plain import blocking
from ..packet import MAX_DATA, Protocol
from .sendqueue import MOST_PIECES
from .state import State

__all__ = ["Connection"]

#: Bytes that are copied into one block.
_CHUNK = 8 * MAX_DATA


class Connection:
    """Made by ``Stream.connect`` and ``Listener.accept``.

    Members
    -------
    peer, port : int
        ID of the CAB at the other end; the port that was called.
    packets_sent, packets_repeated, acknowledgments_sent : int
        With data or the end of it; of these, again; without.
    error : StreamError or None
        Why it has failed.
    endpoint : Endpoint
        What the protocol keeps of it: its state, its windows, its times.

    What is told of a failure: every call raises the connection's error, a StreamError, from then on.
    """

    __slots__ = ("peer", "port", "endpoint", "_stream", "_kernel", "_sending", "_receiving")

    def __init__(self, endpoint):
        self.peer, self.port = endpoint.peer, endpoint.port
        self.endpoint = endpoint
        self._stream = endpoint.stream
        self._kernel = endpoint.kernel
        self._sending = Lock(self._kernel, f"the end of another send of {self}")
        self._receiving = Lock(self._kernel, f"the end of another receive of {self}")

    def __str__(self):
        return str(self.endpoint)

    @property
    def error(self):
        """Why it has failed; None as long as it has not."""
        return self.endpoint.error

    @property
    def packets_sent(self):
        """How many packets with data, or the end of it, were sent."""
        return self.endpoint.packets_sent

    @property
    def packets_repeated(self):
        """How many of these were sent again."""
        return self.endpoint.packets_repeated

    @property
    def acknowledgments_sent(self):
        """How many packets without data were sent."""
        return self.endpoint.acknowledgments_sent

    # -- what tasks call -----------------------------------------------------------------------------
    @blocking
    async def send(self, data):
        """Sends bytes, a Message, or a list of areas of data memory, each (byte address, bytes).

        Bytes are copied into data memory; it returns when all are there, and waits while more than ``unsent`` bytes are
        not acknowledged. Of a Message or areas nothing is copied, and it returns when all have been acknowledged and
        may be used again; if such a wait is ended or timed out, the connection is aborted. It waits for as long as the
        peer lives and does not read: use ``cab.within`` to bound that.

        Raises ConnectionClosed after ``close``, and the connection's error.
        """
        own = isinstance(data, (bytes, bytearray, memoryview))
        areas = () if own else areas_of(data, self._stream.memory, "a connection sends")
        length = len(data) if own else sum(size for _, size in areas)
        self._kernel.notes.sending(Protocol.STREAM, self.endpoint.peer, length)
        self._kernel.door.spend(self._kernel.costs.stream_send)
        async with self._sending:
            self._may_send()
            if own:
                data = bytes(data)
                for offset in range(0, len(data), _CHUNK):
                    await self._copy(data[offset : offset + _CHUNK])
            elif areas:
                await self._lend(areas)

    @blocking
    async def receive(self, limit=1 << 16, timeout_us=None):
        """The next bytes, at most ``limit``: waits until there is one at least. b"" when the other side has ended its
        direction.

        TimedOut after ``timeout_us`` microseconds. Raises the connection's error; what had come and was not read is
        lost then."""
        end = self.endpoint
        if limit < 1:
            raise ValueError(f"receive takes at least 1 byte, not {limit}")
        kernel, into = self._kernel, end.into
        kernel.door.spend(kernel.costs.stream_send)
        async with self._receiving:
            while not into.available:
                if end.error is not None:
                    raise end.error
                if into.over:
                    return b""
                await end.came.wait(timeout_us)
            data = b""
            for address, length in self._readable(limit):
                data += await self._stream.memory.read(address, length)
            self._check()
            await self.taken(len(data))
        return data

    async def taken(self, length):
        """The next ``length`` bytes have been read from the ring: tells the other side of the room, if it is time."""
        end = self.endpoint
        if end.into.take(length) and not end.into.over:
            await self._stream.datalink.send(end.route, end.control(), ())
        if end.state is State.ENDED:
            end.tidy()
        self._kernel.notes.read(Protocol.STREAM, end.peer, end.number, length)

    @blocking
    async def close(self):
        """Ends this direction: returns when the other side has acknowledged all, and the end. What it still sends can
        be received.

        The connection's memory is given back when both directions have ended and all has been read; who does not want
        the rest calls ``abort``."""
        end = self.endpoint
        async with self._sending:
            self._check()
            await self.end()
        while not end.out.finished and end.state is not State.ENDED:
            self._check()
            await end.sent.wait()

    async def end(self):
        """No more bytes follow in this direction; returns at once."""
        end = self.endpoint
        if not end.out.closing:
            end.out.closing = True
            await end.push()

    async def give(self, address, length):
        """``length`` bytes of data memory at ``address`` are to be sent; returns before they are. They are needed until
        ``endpoint.queue.needed`` is behind them."""
        self._kernel.notes.sending(Protocol.STREAM, self.endpoint.peer, length)
        self._kernel.door.spend(self._kernel.costs.stream_send)
        self.endpoint.give(address, length, False)
        await self.endpoint.push()

    def abort(self):
        """Ends the connection at once, in both directions; the other side hears of it by an error. From both levels;
        may be called twice."""
        self.endpoint.abort()

    # -- in short ------------------------------------------------------------------------------------
    def _check(self):
        if self.endpoint.error is not None:
            raise self.endpoint.error

    def _may_send(self):
        self._check()
        if self.endpoint.out.closing:
            raise ConnectionClosed(f"{self} has been closed on this side: send before")

    def _readable(self, limit):
        end = self.endpoint
        self._check()
        return end.ring(end.into.taken, min(limit, end.into.available))

    async def _copy(self, part):
        end = self.endpoint
        queue, memory = end.queue, self._stream.memory
        while len(queue) >= MOST_PIECES or queue.copied and queue.copied + len(part) > self._stream.options.unsent:
            await end.sent.wait()
            self._check()
        block = await memory.allocate(len(part))
        memory.write(block, part)
        await self._kernel.door.now()  # in memory before interrupt level may send it
        if end.error is not None:
            memory.free(block)
            raise end.error
        end.give(block, len(part), True)
        await end.push()

    async def _lend(self, areas):
        end = self.endpoint
        try:
            for address, length in areas:
                while len(end.queue) >= MOST_PIECES:
                    await end.sent.wait()
                    self._check()
                end.give(address, length, False)
                await end.push()
            stop = end.out.end
            while end.queue.holds(stop):
                self._check()
                await end.sent.wait()
            self._check()
        except GeneratorExit:  # the system is closed
            raise
        except BaseException:
            self.abort()
            while not end.queue.idle:
                await end.sent.wait()
            raise
