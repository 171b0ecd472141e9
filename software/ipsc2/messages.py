"""Messages between the processes of nodes: short ones in one trip, long ones in three.

Source: P. Pierce, "The NX/2 Operating System" (1988), section 3. Specification: docs/nx2.md.
"""

from collections import deque

from ..errors import ProgramError
from .layout import BUFFERS, HEADER_BYTES, SHORT, Header, Kind

__all__ = ["Arrival", "Messages", "Receive", "Send"]


class _Work:
    """A call that has begun. ``done``: bool. ``on_done()`` is called once, at either level."""

    __slots__ = ("done", "on_done", "waiter")

    def __init__(self, on_done=None):
        self.done = False
        self.on_done = on_done
        self.waiter = None

    def __str__(self):
        return "a message"


class Send(_Work):
    """A message on its way out; ``done``: all of it is in the network, its bytes may be changed."""

    __slots__ = ("node", "pid", "source_pid", "type", "address", "length", "number")


class Receive(_Work):
    """A receive. ``done``: ``arrival`` tells of the message, or is longer than the room: then ``too_long`` is true."""

    __slots__ = ("pid", "match", "address", "room", "arrival", "too_long")


class Arrival:
    """A message at its receiver: ``node``, ``pid`` and ``number`` of its sender, ``type``, ``length``.

    ``buffer``: short buffer that holds it; ``kept``: block of the heap that holds it or will; ``coming``: on its way
    into the heap; ``receive``: the Receive that waits for that.
    """

    __slots__ = ("node", "pid", "number", "type", "length", "buffer", "kept", "coming", "receive")

    def __init__(self, node, pid, number, type, length):
        self.node, self.pid, self.number, self.type, self.length = node, pid, number, type, length
        self.buffer = self.kept = self.receive = None
        self.coming = False


class Messages:
    """The message system of a node.

    Parameters
    ----------
    kernel : Kernel
    number, nodes : int
        Of this node; of all nodes.
    heap : Allocator
        Memory for messages that nobody has asked for yet.
    buffers : list of int
        Byte addresses of free short buffers: BUFFERS for each other node.

    Members
    -------
    adapter : Adapter
        Set before the kernel runs.
    sent : dict of Kind → int
        Messages handed to the hardware.
    """

    __slots__ = (
        "kernel",
        "door",
        "number",
        "nodes",
        "heap",
        "adapter",
        "sent",
        "_free",
        "_credits",
        "_owed",
        "_waiting",
        "_long",
        "_numbers",
        "_queues",
        "_receives",
        "_wanted",
        "_granted",
    )

    def __init__(self, kernel, number, nodes, heap, buffers):
        self.kernel, self.door = kernel, kernel.door
        self.number, self.nodes, self.heap = number, nodes, heap
        self.adapter = None
        self.sent = dict.fromkeys(Kind, 0)
        self._free = buffers
        self._credits = [BUFFERS] * nodes
        self._owed = [0] * nodes
        self._waiting = [deque() for _ in range(nodes)]
        self._long = {}  # number -> Send whose proxy has left
        self._numbers = 0
        self._queues = {}  # pid -> [Arrival], in the order in which they were sent
        self._receives = {}  # pid -> [Receive], in the order of their calls
        self._wanted = deque()  # (Arrival, address, Receive or None): long messages to be asked for
        self._granted = None  # the one that has been asked for

    # -- calls of threads ----------------------------------------------------------------------------
    async def _enter(self, cost, length):
        costs = self.kernel.costs
        self.door.spend(cost + (costs.check if length else 0))
        self.door.mask()
        await self.door.now()

    async def send(self, node, pid, source_pid, type, address, length, on_done=None):
        """Begins to send ``length`` bytes at ``address`` (of whole words) to process ``pid`` of ``node``. Returns the
        Send. ProgramError for a node that is none."""
        if not isinstance(node, int) or not 0 <= node < self.nodes:
            raise ProgramError(f"a node is 0 to {self.nodes - 1}, not {node!r}")
        if address % 4 or length < 0:
            raise ValueError(f"a message is 0 bytes or more from a whole word on, not {length} at 0x{address:X}")
        send = Send(on_done)
        send.node, send.pid, send.source_pid, send.type = node, pid, source_pid, type
        send.address, send.length = address, length
        await self._enter(self.kernel.costs.send, length)
        try:
            self._numbers = send.number = (self._numbers + 1) & 0xFFFFFFFF
            if node == self.number:
                await self._send_here(send)
            else:
                self._waiting[node].append(send)
                self._release(node)
        finally:
            self.door.unmask()
        return send

    async def receive(self, pid, match, address, room, on_done=None):
        """Begins to receive the oldest message for ``pid`` whose type ``match`` takes, into ``room`` bytes at
        ``address``; they are rounded up to whole words. Returns the Receive."""
        receive = Receive(on_done)
        receive.pid, receive.match, receive.address, receive.room = pid, match, address, room
        receive.arrival, receive.too_long = None, False
        await self._enter(self.kernel.costs.receive, room)
        try:
            arrival = self._find(pid, match)
            if arrival is None:
                self._receives.setdefault(pid, []).append(receive)
            else:
                await self._match(receive, arrival)
        finally:
            self.door.unmask()
        return receive

    async def probe(self, pid, match):
        """The oldest Arrival for ``pid`` whose type ``match`` takes, and that no receive has; None if there is none."""
        await self._enter(self.kernel.costs.receive, 0)
        self.door.unmask()
        return self._find(pid, match)

    async def wait(self, work):
        """Waits until a Send or Receive is done. ProgramError if the message is longer than the room for it."""
        kernel = self.kernel
        self.door.mask()
        await self.door.now()
        self.door.unmask()
        if not work.done:
            work.waiter = kernel.current
            await kernel.block(work, None)
        if isinstance(work, Receive):
            self.door.spend(kernel.costs.complete)
            if work.too_long:
                raise ProgramError(
                    f"a message of {work.arrival.length} bytes from node {work.arrival.node} has come for a receive "
                    f"that has room for {work.room}"
                )

    # -- either level, interrupts held off -----------------------------------------------------------
    def _finish(self, work):
        work.done = True
        if work.waiter is not None:
            self.door.spend(self.kernel.costs.wake)
            self.kernel.wake(work.waiter)
        if work.on_done is not None:
            work.on_done()

    def _find(self, pid, match):
        for arrival in self._queues.get(pid, ()):
            if arrival.receive is None and match(arrival.type):
                return arrival
        return None

    def _taker(self, pid, type):
        receives = self._receives.get(pid, ())
        for receive in receives:
            if receive.match(type):
                receives.remove(receive)
                return receive
        return None

    async def _copy(self, source, target, length):
        if length:
            data = await self.door.read_block(source, length)
            self.door.write_block(target, data)
            self.door.spend((length + 3) // 4 * self.kernel.costs.copy_word)

    async def _send_here(self, send):
        kept = self.heap.allocate(send.length)
        if kept is None:
            raise ProgramError(f"{self.kernel.name} has no memory for a message of {send.length} bytes to itself")
        await self._copy(send.address, kept, send.length)
        arrival = Arrival(self.number, send.source_pid, send.number, send.type, send.length)
        arrival.kept = kept
        self._finish(send)
        await self._offer(send.pid, arrival)

    async def _offer(self, pid, arrival):
        """A message, or its proxy, is there: gives it to a receive, or puts it into the queue."""
        self._queues.setdefault(pid, []).append(arrival)
        receive = self._taker(pid, arrival.type)
        if receive is not None:
            await self._match(receive, arrival)

    async def _match(self, receive, arrival):
        """The Receive takes the Arrival, which is in the queue of its process."""
        receive.arrival = arrival
        arrival.receive = receive
        if arrival.length > receive.room:
            receive.too_long = True
            self._finish(receive)
        elif arrival.coming:
            pass
        elif arrival.buffer is None and arrival.kept is None:
            self._queues[receive.pid].remove(arrival)
            self._wanted = deque(wish for wish in self._wanted if wish[0] is not arrival)
            self._wanted.append((arrival, receive.address, receive))
            self._ask()
        else:
            await self._take(receive, arrival)

    async def _take(self, receive, arrival):
        """Copies a message that is here to where it is wanted."""
        self._queues[receive.pid].remove(arrival)
        if arrival.buffer is not None:
            await self._copy(arrival.buffer + HEADER_BYTES, receive.address, arrival.length)
            self._free.append(arrival.buffer)
            self._owe(arrival.node)
        else:
            await self._copy(arrival.kept, receive.address, arrival.length)
            self.heap.free(arrival.kept)
            self._keep_more()
        self._finish(receive)

    def _keep_more(self):
        """Asks for long messages that nobody has asked for, as far as there is memory."""
        for queue in self._queues.values():
            for arrival in queue:
                if arrival.buffer is None and arrival.kept is None and arrival.receive is None:
                    self._keep(arrival)

    def _keep(self, arrival):
        arrival.kept = self.heap.allocate(arrival.length)
        if arrival.kept is not None:
            arrival.coming = True
            self._wanted.append((arrival, arrival.kept, None))
            self._ask()

    # -- protocols -----------------------------------------------------------------------------------
    def _post(self, kind, node, pid=0, source_pid=0, type=0, length=0, number=0, **message):
        self.sent[kind] += 1
        header = Header(kind, self.number, self.number ^ node, 0, pid, source_pid, type, length, number)
        self.adapter.post(header, **message)

    def launched(self, header):
        """The header goes out: with the buffers that are owed to its node."""
        node = self.number ^ header.probe
        owed, self._owed[node] = self._owed[node], 0
        return header.returning(owed)

    def _owe(self, node):
        self._owed[node] += 1
        if self._owed[node] == BUFFERS // 2:
            self._post(Kind.RETURN, node)

    def _release(self, node):
        """Lets messages go to ``node`` while there are buffers for them."""
        waiting = self._waiting[node]
        while waiting and self._credits[node]:
            self._credits[node] -= 1
            send = waiting.popleft()
            fields = (node, send.pid, send.source_pid, send.type, send.length, send.number)
            if send.length <= SHORT:
                self._post(
                    Kind.SHORT,
                    *fields,
                    address=send.address,
                    size=send.length,
                    on_sent=lambda send=send: self._finish(send),
                )
            else:
                self._long[send.number] = send
                self._post(Kind.PROXY, *fields)

    def _ask(self):
        """Asks for the next long message."""
        if self._granted is None and self._wanted:
            self._granted = arrival, address, _ = self._wanted.popleft()
            self.adapter.body(address + SHORT, arrival.length - SHORT)
            self._post(Kind.GRANT, arrival.node, number=arrival.number)

    async def arrived(self, head):
        """At interrupt level: a message has arrived at ``head``. Returns the place for the next one."""
        door, costs = self.door, self.kernel.costs
        header = Header.unpack(await door.read_block(head, HEADER_BYTES))
        kind, source = header.kind, header.source
        door.spend(costs.arrive if kind in (Kind.SHORT, Kind.DATA) else costs.control)
        self._credits[source] += header.returned
        self._release(source)
        if kind == Kind.SHORT:
            arrival = Arrival(source, header.source_pid, header.number, header.type, header.length)
            arrival.buffer = head
            head = self._free.pop()
            await self._offer(header.pid, arrival)
        elif kind == Kind.PROXY:
            arrival = Arrival(source, header.source_pid, header.number, header.type, header.length)
            self._owe(source)
            await self._offer(header.pid, arrival)
            if arrival.receive is None:
                self._keep(arrival)
        elif kind == Kind.GRANT:
            send = self._long.pop(header.number)
            self._post(
                Kind.DATA,
                source,
                length=send.length,
                number=send.number,
                address=send.address,
                size=send.length,
                on_sent=lambda: self._finish(send),
            )
        elif kind == Kind.DATA:
            await self._came(head)
        return head

    async def _came(self, head):
        """The long message that was asked for is there, but for its first bytes."""
        (arrival, address, receive), self._granted = self._granted, None
        await self._copy(head + HEADER_BYTES, address, SHORT)
        self._ask()
        if receive is not None:
            self._finish(receive)
            return
        arrival.coming = False
        if arrival.receive is not None and not arrival.receive.too_long:
            await self._take(arrival.receive, arrival)
