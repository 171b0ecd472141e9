"""A connection of the byte stream as its task sees it. Specification: docs/transports.md."""

from ..errors import ConnectionAborted, ConnectionClosed
from ..kernel.lock import Lock
from ..kernel.message import areas_of
from ..packet import MAX_DATA, Refusal
from .endpoint import State
from .retransmission import RetransmissionTimers
from .sendqueue import MOST_PIECES

__all__ = ["Connection"]

#: Bytes that are copied into one block.
_CHUNK = 8 * MAX_DATA


class Connection(RetransmissionTimers):
    """Made by ``Stream.connect`` and ``Listener.accept``.

    Members
    -------
    peer, port : int
        ID of the CAB at the other end; the port that was called.
    packets_sent, packets_repeated, acknowledgments_sent : int
        With data or the end of it; of these, again; without.

    What is told of a failure: every call raises the connection's error, a StreamError, from then on.
    """

    __slots__ = ("_sending", "_receiving")

    def __init__(self, stream, *details):
        super().__init__(stream, *details)
        self._sending = Lock(stream.kernel, f"the end of another send of {self}")
        self._receiving = Lock(stream.kernel, f"the end of another receive of {self}")

    # -- what tasks call -----------------------------------------------------------------------------
    async def send(self, data):
        """Sends bytes, a Message, or a list of areas of data memory, each (byte address, bytes).

        Bytes are copied into data memory; it returns when all are there, and waits while more than ``unsent`` bytes are
        not acknowledged. Of a Message or areas nothing is copied, and it returns when all have been acknowledged and
        may be used again; if such a wait is ended or timed out, the connection is aborted. It waits for as long as the
        peer lives and does not read: use ``cab.within`` to bound that.

        Raises ConnectionClosed after ``close``, and the connection's error.
        """
        own = isinstance(data, (bytes, bytearray, memoryview))
        areas = () if own else areas_of(data, self.stream.memory, "a connection sends")
        self.kernel.door.spend(self.kernel.costs.stream_send)
        async with self._sending:
            self._may_send()
            if own:
                data = bytes(data)
                for offset in range(0, len(data), _CHUNK):
                    await self._copy(data[offset : offset + _CHUNK])
            elif areas:
                await self._lend(areas)

    async def receive(self, limit=1 << 16, timeout_us=None):
        """The next bytes, at most ``limit``: waits until there is one at least. b"" when the other side has ended its
        direction.

        TimedOut after ``timeout_us`` microseconds. Raises the connection's error; what had come and was not read is
        lost then."""
        if limit < 1:
            raise ValueError(f"receive takes at least 1 byte, not {limit}")
        kernel, into = self.kernel, self.into
        kernel.door.spend(kernel.costs.stream_send)
        async with self._receiving:
            while not into.available:
                if self.error is not None:
                    raise self.error
                if into.over:
                    return b""
                await self.came.wait(timeout_us)
            data = b""
            for address, length in self._readable(limit):
                data += await self.stream.memory.read(address, length)
            self._check()
            if into.take(len(data)) and not into.over:
                await self.stream.datalink.send(self.route, self.control(), ())
            if self.state is State.ENDED:
                self.tidy()
        return data

    async def close(self):
        """Ends this direction: returns when the other side has acknowledged all, and the end. What it still sends can
        be
        received.

        The connection's memory is given back when both directions have ended and all has been read; who does not want
        the rest calls ``abort``."""
        async with self._sending:
            self._check()
            if not self.out.closing:
                self.out.closing = True
                await self._push()
        while not self.out.finished and self.state is not State.ENDED:
            self._check()
            await self._sent.wait()

    def abort(self):
        """Ends the connection at once, in both directions; the other side hears of it by an error. From both levels;
        may be called twice."""
        if self.state is State.FAILED or self.state is State.ENDED and not self.into.available:
            return
        if self.state not in (State.OPENING, State.ENDED):
            self.stream.datalink.post(self.route, self.stream.reset(self, Refusal.ABORTED))
        self.fail(ConnectionAborted(f"{self} was aborted on this side"))

    # -- in short ------------------------------------------------------------------------------------
    def _check(self):
        if self.error is not None:
            raise self.error

    def _may_send(self):
        self._check()
        if self.out.closing:
            raise ConnectionClosed(f"{self} has been closed on this side: send before")

    def _readable(self, limit):
        self._check()
        return self.ring(self.into.taken, min(limit, self.into.available))

    async def _copy(self, part):
        queue, memory = self.queue, self.stream.memory
        while len(queue) >= MOST_PIECES or queue.copied and queue.copied + len(part) > self.stream.options.unsent:
            await self._sent.wait()
            self._check()
        block = await memory.allocate(len(part))
        memory.write(block, part)
        await self.kernel.door.now()  # in memory before interrupt level may send it
        if self.error is not None:
            memory.free(block)
            raise self.error
        self._give(block, len(part), True)
        await self._push()

    async def _lend(self, areas):
        try:
            for address, length in areas:
                while len(self.queue) >= MOST_PIECES:
                    await self._sent.wait()
                    self._check()
                self._give(address, length, False)
                await self._push()
            stop = self.out.end
            while self.queue.holds(stop):
                self._check()
                await self._sent.wait()
            self._check()
        except GeneratorExit:  # the system is closed
            raise
        except BaseException:
            self.abort()
            while not self.queue.idle:
                await self._sent.wait()
            raise

    def _give(self, address, length, own):
        self.queue.add(self.out.end, address, length, own)
        self.out.give(length)
        self.stream.counters.bytes_sent += length

    async def _push(self):
        """Sends what may be sent; while a thread does so interrupt level does not."""
        if self._pushing:
            return
        self._pushing = True
        try:
            while True:
                now = await self.kernel.door.now()
                stretch = self.out.ready(MAX_DATA) if self.state is State.OPEN else None
                if stretch is None:
                    break
                header, areas = self.segment(*stretch)
                if self._timed is not None and self._timed[1] is None:
                    self._timed[1] = now
                await self.stream.datalink.send(self.route, header, areas, True, self.left, stretch[0])
        finally:
            self._pushing = False
        await self.stream.settle(self)
