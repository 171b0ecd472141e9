"""A process of an NX/2 program, and the calls that it makes.

Source: P. Pierce, "The NX/2 Operating System" (1988), section 4: names, parameters and meaning of the calls;
``masktrap`` and ``flick`` are as in Intel's library. Specification: docs/nx.md.
"""

from ...hdl.host.events import Layer
from ..errors import ProgramError
from ..kernel.plain import as_coroutine, blocking
from ..nectarine.buffer import Buffer
from ..nectarine.inbox import Sources
from ..nectarine.options import SHORT
from ..packet import ANY_CAB
from .globals import GlobalCalls
from .messages import ANYONE, Receipt, Receiving, Sending, buffer_of, selector_of, type_of, words_of

__all__ = ["Process"]


class _Hook:
    """An ``hrecv`` whose message has not been handled."""

    __slots__ = ("receiving", "handler")

    def __init__(self, receiving, handler):
        self.receiving = receiving
        self.handler = handler


class Process(GlobalCalls):
    """A process: what its function is given. Made by ``NX``.

    Members
    -------
    nx : NX
    task : Task
        Its Nectarine task.
    cab : Cab or Node
        The CAB or the workstation that is its node, with all its calls.
    thread : Thread
    node, pid : int
        As ``mynode`` and ``mypid`` tell.
    hooks : list
        Calls of ``hrecv`` whose messages have not been handled.
    """

    __slots__ = ("nx", "task", "cab", "thread", "node", "pid", "keeper", "_operations", "_last", "hooks", "_masked",
                 "_handling", "_receipt")  # fmt: skip

    def __init__(self, nx, task, node, pid, keeper):
        self.nx = nx
        self.task = task
        self.cab = task.on
        self.thread = task.kernel.current
        self.node = node
        self.pid = pid
        self.keeper = keeper
        self._operations = {}  # message id -> Sending or Receiving
        self._last = 0  # message id
        self.hooks = []
        self._masked = 0
        self._handling = False
        self._receipt = None

    def __repr__(self):
        return f"<process {self.pid} of node {self.node}>"

    # -- inside --------------------------------------------------------------------------------------
    async def enter(self):
        """At the start of each call: its cost; handlers that are due run."""
        kernel = self.cab.kernel
        kernel.door.spend(kernel.costs.nx_call)
        kernel.check_pending()
        await self._handle()

    def _due(self):
        """The first hook whose message is there, or None."""
        if self._masked or self._handling:
            return None
        return next((hook for hook in self.hooks if hook.receiving.ready), None)

    async def _handle(self):
        """Runs the handlers that are due, one after the other."""
        while (hook := self._due()) is not None:
            self.hooks.remove(hook)
            receipt, self._handling = self._receipt, True
            try:
                costs = self.cab.kernel.costs
                self.cab.door.spend(costs.interrupt_entry + costs.interrupt_exit)
                got = await hook.receiving.outcome()
                await as_coroutine(hook.handler, got.type, got.count, got.node, got.pid)
            finally:
                self._receipt, self._handling = receipt, False

    async def stop(self):
        """The process has ended."""
        await self.keeper.stop()

    async def until(self, what, ready):
        """Waits until ``ready()``; handlers whose messages come meanwhile run."""
        while not ready():
            await self.task.inbox.wait(what, lambda: ready() or self._due() is not None)
            await self._handle()

    async def finish_operation(self, operation):
        """Waits for the end of a Sending or a Receiving, and returns its outcome; handlers run meanwhile."""
        if self.hooks:
            await operation.begin()
            await self.until(operation, lambda: operation.ready)
        return await operation.outcome()

    async def send_to(self, call, type, data, records):
        """Begins to send the same bytes to several tasks. Returns the Sending."""
        task = self.task
        destination = records[0].place[0] if len(records) == 1 else ANY_CAB
        with task.cab.kernel.notes.behind(Layer.NX, destination, len(data)):
            if len(records) == 1 or isinstance(data, Buffer) or len(data) <= SHORT:
                return Sending(call, [await task.isend(record, data, type) for record in records])
            copy = await task.buffer(len(data))
            copy.write(data)
            task.copies.cpu_out += len(data)
            sending = Sending(call, [await task.isend(record, copy, type) for record in records])
            copy.free()
            return sending

    async def receiving(self, call, typesel, buf, length):
        """Begins to receive, whether anything waits for the message or not. Returns the Receiving."""
        receiving = Receiving(self, call, selector_of(call, typesel), buffer_of(call, buf, length, True))
        await receiving.begin()
        return receiving

    async def receive_from(self, kind, record, source, type):
        """The bytes of the next message of ``type`` from a task; ``source`` names it in the call ``kind``."""
        receiving = Receiving(self, kind, type, None, Sources(frozenset([record.place]), source))
        await self.finish_operation(receiving)
        return receiving.data

    def _number(self, operation):
        self._last += 1
        self._operations[self._last] = operation
        return self._last

    def _operation(self, call, mid):
        operation = self._operations.get(mid)
        if operation is None:
            if isinstance(mid, int) and 0 < mid <= self._last:
                raise ProgramError(f"{call}: message id {mid} is used up: its end has been told before")
            raise ProgramError(f"{call}: there is no message id {mid!r}: isend and irecv give them")
        return operation

    async def _end(self, mid):
        """The operation is over: its message id is used up."""
        receipt = await self.finish_operation(self._operations.pop(mid))
        self._receipt = receipt or self._receipt

    def _look(self, selector):
        """Whether there is such a message; if so, the info calls tell of it."""
        arrival = self.task.inbox.find(ANYONE, selector)
        if arrival is None:
            return False
        self._receipt = Receipt(arrival.type, arrival.length, self.nx.address(arrival.source))
        return True

    def _info(self, call):
        if self._receipt is None:
            raise ProgramError(f"{call}: no message has been received or probed for yet")
        return self._receipt

    # -- blocking calls ------------------------------------------------------------------------------
    @blocking
    async def csend(self, type, buf, length, node, pid):
        """Sends the first ``length`` bytes of ``buf`` to process ``pid`` of ``node``; -1: of all other nodes.

        Returns when the buffer is no longer needed; this does not tell that the message was received. ``type``: 0 to
        2**31 - 1."""
        await self.enter()
        await self.finish_operation(await self._send("csend", type, buf, length, node, pid))

    async def _send(self, call, type, buf, length, node, pid):
        data = buffer_of(call, buf, length)
        return await self.send_to(call, type_of(call, type), data, self.nx.records(call, node, pid, self.node))

    @blocking
    async def crecv(self, typesel, buf, length):
        """Receives the oldest message that ``typesel`` selects into ``buf``, which has room for ``length`` bytes; waits
        until it is there. A longer message is an error that ends the process."""
        await self.enter()
        receiving = Receiving(self, "crecv", selector_of("crecv", typesel), buffer_of("crecv", buf, length, True))
        self._receipt = await self.finish_operation(receiving)

    @blocking
    async def cprobe(self, typesel):
        """Waits until a message that ``typesel`` selects can be received. The info calls tell of it."""
        selector = selector_of("cprobe", typesel)
        await self.enter()
        inbox = self.task.inbox
        await self.until(f"cprobe of {words_of(selector)}", lambda: inbox.find(ANYONE, selector) is not None)
        self._look(selector)

    # -- calls that return at once -------------------------------------------------------------------
    @blocking
    async def isend(self, type, buf, length, node, pid):
        """Begins what ``csend`` does. Returns a message id; ``buf`` must not be changed until ``msgwait`` or
        ``msgdone`` tells the end."""
        await self.enter()
        return self._number(await self._send("isend", type, buf, length, node, pid))

    @blocking
    async def irecv(self, typesel, buf, length):
        """Begins what ``crecv`` does. Returns a message id; ``msgwait`` or ``msgdone`` tells when the message is in
        ``buf``."""
        await self.enter()
        return self._number(await self.receiving("irecv", typesel, buf, length))

    @blocking
    async def msgwait(self, mid):
        """Waits until the operation with that message id is over, and uses the id up. Of a receive, the info calls tell
        of its message."""
        await self.enter()
        self._operation("msgwait", mid)
        await self._end(mid)

    @blocking
    async def msgdone(self, mid):
        """Whether the operation with that message id is over; if so, the id is used up. Of a receive, the info calls
        tell of its message then."""
        await self.enter()
        operation = self._operation("msgdone", mid)
        if not operation.ready:
            await self.cab.kernel.pause()  # what would bring it about may have its turn
        if operation.ready:
            await self._end(mid)
            return True
        return False

    @blocking
    async def iprobe(self, typesel):
        """Whether a message that ``typesel`` selects can be received. If so, the info calls tell of it."""
        selector = selector_of("iprobe", typesel)
        await self.enter()
        await self.cab.kernel.pause()
        return self._look(selector)

    # -- interrupt-driven calls ----------------------------------------------------------------------
    @blocking
    async def hrecv(self, typesel, buf, length, handler):
        """Begins to receive one message; when it is in ``buf``, ``handler(type, count, node, pid)`` runs in this
        process: at the start of its next call of NX/2, or at once while it waits in one. Handlers do not interrupt each
        other; those of several messages run in the order of their calls."""
        if not callable(handler):
            raise ProgramError(f"hrecv: the handler is a function of type, count, node and pid, not {handler!r}")
        await self.enter()
        self.hooks.append(_Hook(await self.receiving("hrecv", typesel, buf, length), handler))

    @blocking
    async def masktrap(self, state):
        """1: no handler runs until ``masktrap(0)``; then those run that are due. Returns the state before."""
        if state not in (0, 1):
            raise ProgramError(f"masktrap: the state is 1 (no handler runs) or 0, not {state!r}")
        before, self._masked = self._masked, 1
        try:
            await self.enter()
        finally:
            self._masked = int(state)
        await self._handle()
        return before

    @blocking
    async def flick(self):
        """Lets the other processes of the node run, and handlers that are due."""
        await self.enter()
        await self.cab.kernel.pause()
        await self._handle()

    # -- information ---------------------------------------------------------------------------------
    def infotype(self):
        """Type of the message that was received or probed for last."""
        return self._info("infotype").type

    def infocount(self):
        """Bytes of the message that was received or probed for last."""
        return self._info("infocount").count

    def infonode(self):
        """Node of the sender of the message that was received or probed for last."""
        return self._info("infonode").node

    def infopid(self):
        """Process id of the sender of the message that was received or probed for last."""
        return self._info("infopid").pid

    def mynode(self):
        """Number of the node of this process: 0 to ``numnodes() - 1``."""
        return self.node

    def mypid(self):
        """Id of this process on its node: 0 to 19."""
        return self.pid

    def numnodes(self):
        """Number of nodes."""
        return self.nx.numnodes
