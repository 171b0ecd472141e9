"""What a task on a node may call: the calls of a Task, which its CAB makes for it.

Source: "The Design of Nectar" (1989), section 6.3: tasks on any CAB or node, buffers in any memory; section 6.2.3: the
node builds and consumes messages in CAB memory, and calls the CAB by commands. Specification: docs/nectarine.md,
"Tasks on nodes"."""

from ..errors import CabSilent, EndThread, MessageTooLong, ProgramError
from ..kernel.plain import as_coroutine, blocking
from ..node.layout import CALL, POOL_BYTES, Code
from ..packet import Status
from .buffer import Buffer
from .directory import End
from .handle import ReceiveHandle
from .inbox import ANY, Receive
from .nodebuffer import CabMemory, NodeMemory
from .nodehandle import NodeHandle
from .nodeproxy import NodeReceive, Work
from .task import Task, TaskExit

__all__ = ["NodeTask", "NodeTasks"]

#: Words that tell the CAB what to do.
_WORDS = CALL.size // 4
#: Between two looks whether there is room in the pool, in microseconds.
_LOOK_US = 100


class NodeTask(Task):
    """A task on a node: what its function is given. The CAB's part of it is a Proxy.

    Members
    -------
    node : Node
        The node that it runs on, with all its calls; so is ``on``.
    copies : Copies
        Those of its CAB, and those of the node's CPU over VME.
    shared : Shared
        What the node shares with its CAB.
    proxy : Proxy
    begun : bool
        Whether its process runs.
    cancelled : bool
        Whether another task has ended it before it began.
    """

    __slots__ = ("node", "shared", "begun", "cancelled", "proxy", "_back", "_areas", "_boot", "_missed")

    def __init__(self, proxy, node):
        task = proxy.task
        self.application = task.application
        self.record = task.record
        self.agent = task.agent
        self.directory = task.directory
        self.copies = task.copies
        self.handles = {}
        self.node = node
        self.shared = node.shared
        self.begun = self.cancelled = False
        self._buffers = []
        self.proxy = proxy
        self._back = []  # addresses of blocks of CAB memory that are to be given back
        self._areas = set()  # of the pool
        self._boot = None  # start of the CAB that they are of
        self._missed = None  # Work of whose end the process was not told, since it was ended

    @property
    def on(self):
        """See above."""
        return self.node

    @property
    def kernel(self):
        """That of the node."""
        return self.node.kernel

    @property
    def cab(self):
        """A task on a node has none. Raises ProgramError."""
        raise ProgramError(f"task {self.name} runs on {self.node.name}, not on a CAB: task.on has the node's calls")

    # -- inside --------------------------------------------------------------------------------------
    async def do(self, what, call):
        """Has the CAB carry out ``call(task)``, which ``what`` names; None: the task has ended. Returns what it
        returns, and the two values of the command."""
        shared = self.shared
        work = Work(call)
        with self.kernel.current.calling(what), shared.bus():
            await self._give_back()
            while True:
                command = await shared.place(Code.WORK, what, port=self.number, call=[0] * _WORDS)
                self.proxy.works[command.number] = work
                try:
                    status, *values = await shared.outlast(command)
                except EndThread:
                    self._missed = work
                    raise
                action, work.wanted = work.wanted, None
                if action is None or status != Status.DONE:
                    break
                await action()
        if status != Status.DONE:
            raise CabSilent(f"the CAB of {self.node.name} has started anew: it does not know task {self.name} any more")
        if work.error is not None:
            raise work.error
        return work.value, values

    async def _give_back(self):
        while self._back:
            await self.shared.place(Code.FREE, "giving back a message", address=self._back.pop())

    def give_back(self, address):
        """The block of CAB memory at that address is given back with the next call."""
        self._back.append(address)

    async def area(self, length):
        """An area of the pool for a message; waits until there is room."""
        if length > POOL_BYTES // 2:
            raise MessageTooLong(
                f"a message from a node's memory has at most {POOL_BYTES // 2} bytes, not {length}: send it from a "
                "buffer in CAB memory, task.buffer(length, memory='cab')"
            )
        while True:
            self.node.door.spend(self.node.costs.room)
            address = self.shared.pool.allocate(length)
            if address is not None:
                self._areas.add(address)
                return address
            sends = [handle for handle in self.handles if handle.sends]
            if sends:
                await sends[0].outcome(str(sends[0]), lambda task: sends[0].cab_handle.wait(None))
            else:
                await self.node.sleep(_LOOK_US)

    def release(self, area):
        """Gives an area back to the pool; None: nothing."""
        if area is not None:
            self._areas.discard(area)
            if self._boot == self.node.boot:
                self.shared.pool.free(area)

    async def _outgoing(self, data):
        """Where the bytes of a message are in CAB memory, as a Buffer of the CAB, and the area of the pool or None."""
        memory = self.agent.cab.memory
        if isinstance(data, Buffer):
            data.check()
            if isinstance(data.memory, CabMemory):
                return Buffer(memory, data.address, data.length), None
            data = data.memory.bytes[data.address : data.address + data.length]
        else:
            data = bytes(memoryview(data).cast("B"))
        if not data:
            return b"", None
        area = await self.area(len(data))
        with self.shared.bus():
            self.shared.store(area, data)
        self.copies.node_out += len(data)
        return Buffer(memory, area, len(data)), area

    async def run(self):
        """The process: the task's function, and its end."""
        record, error = self.record, None
        await self.node.attached()
        self.begun = True
        self._boot = self.node.boot
        try:
            if self.cancelled:
                raise EndThread()
            how = End.RETURNED, 0, await as_coroutine(record.function, self, *record.args)
        except TaskExit as exit:
            how = End.EXIT, exit.status
        except EndThread as end:
            how, error = (End.ENDED,), end
        except GeneratorExit:
            raise
        except BaseException as failure:
            how, error = (End.FAILED,), failure
        record.finish(*how)
        try:
            await self.do(f"the end of {self.name}", None)
            if self._missed is not None and isinstance(received := self._missed.value, NodeReceive):
                self._back += [received.address] if received.address is not None else []
            for buffer in self._buffers:
                if not buffer.freed:
                    buffer.free()
            with self.shared.bus():
                await self._give_back()
        except CabSilent:  # it has nothing of this task any more
            pass
        for area in list(self._areas):
            self.release(area)
        if error is not None:
            raise error

    # -- buffers -------------------------------------------------------------------------------------
    @blocking
    async def buffer(self, length, memory="node"):
        """See Task; ``memory`` is "node", the node's own memory, or "cab", that of its CAB, from which messages leave
        without a copy."""
        if memory not in ("cab", "node"):
            raise ValueError(f"the memory of a buffer is 'cab' or 'node', not {memory!r}")
        if memory == "node":
            kept = NodeMemory(self.node, length)
        else:
            port = self.proxy.port
            landing, _ = await self.do("buffer", lambda task: CabMemory.lent(task, port, length))
            kept = CabMemory(self, landing)
        buffer = Buffer(kept, kept.address, length, computer=self.node.computer)
        self._buffers = [each for each in self._buffers if not each.freed] + [buffer]
        return buffer

    # -- messages ------------------------------------------------------------------------------------
    @blocking
    async def send(self, to, data=b"", type=0, timeout_us=None):
        """See Task."""
        record = self.directory[to]
        source, area = await self._outgoing(data)
        what = f"send to {record.name}, type {type}"
        try:
            await self.do(what, lambda task: task.send(record, source, type, timeout_us))
        except ProgramError:
            self.release(area)
            raise
        self.release(area)

    @blocking
    async def isend(self, to, data=b"", type=0):
        """See Task."""
        record = self.directory[to]
        source, area = await self._outgoing(data)
        what = f"isend to {record.name}, type {type}"
        try:
            handle, _ = await self.do(what, lambda task: task.isend(record, source, type))
        except ProgramError:
            self.release(area)
            raise
        return NodeHandle(self, handle, area=area)

    def _receiving(self, buffer, source, type):
        """What makes the CAB's handle of a receive, and the buffer that the node fills."""
        sources, selector = self._sources(source), self._selector(type)
        if isinstance(buffer, Buffer):
            buffer.check()
            if isinstance(buffer.memory, CabMemory):
                target = Buffer(self.agent.cab.memory, buffer.address, buffer.length)
                return lambda task: ReceiveHandle(task, target, sources, selector), None
        elif buffer is not None:
            buffer = memoryview(buffer).cast("B")
            if buffer.readonly:
                raise TypeError("a message is received into a Buffer or a writable object such as bytearray")
        room = None if buffer is None else len(buffer)
        return lambda task: NodeReceive(task, room, sources, selector), buffer

    @blocking
    async def receive(self, buffer=None, source=ANY, type=ANY, timeout_us=None):
        """See Task."""
        made, buffer = self._receiving(buffer, source, type)
        what = Receive(self._sources(source), type, None).words()
        handle, values = await self.do(what, lambda task: task.take(made(task), timeout_us))
        mine = NodeHandle(self, handle, buffer)
        await mine.settle(values)
        return mine

    @blocking
    async def ireceive(self, buffer=None, source=ANY, type=ANY):
        """See Task."""
        made, buffer = self._receiving(buffer, source, type)

        async def begin(task):
            handle = made(task)
            await handle.begin()
            return handle

        handle, values = await self.do("ireceive", begin)
        mine = NodeHandle(self, handle, buffer)
        if isinstance(handle, NodeReceive) and handle.shown:
            await mine.settle(values)
        return mine

    @blocking
    async def probe(self, source=ANY, type=ANY, timeout_us=0):
        """See Task."""
        what = f"probe of messages from {self._sources(source).words}"
        found, _ = await self.do(what, lambda task: task.probe(source, type, timeout_us))
        return found

    @blocking
    async def select(self, items, timeout_us=None):
        """See Task."""
        items = list(items)
        over = next((item for item in items if isinstance(item, NodeHandle) and item.ready), None)
        if over is not None:
            return over
        theirs = [item.cab_handle if isinstance(item, NodeHandle) else item for item in items]

        async def choose(task):
            chosen = await task.select(theirs, timeout_us)
            return next(index for index, item in enumerate(theirs) if item is chosen)

        index, _ = await self.do(f"select of {', '.join(map(self._words, items))}", choose)
        return items[index]

    # -- tasks ---------------------------------------------------------------------------------------
    @blocking
    async def spawn(self, name, function, *args, on=None, protected=False):
        """See Task."""
        record, _ = await self.do(
            f"spawn of {name}", lambda task: task.spawn(name, function, *args, on=on, protected=protected)
        )
        return record

    @blocking
    async def end(self, other):
        """See Task."""
        await self.do("end", lambda task: task.end(other))


class NodeTasks:
    """The tasks of an application on one node.

    Parameters
    ----------
    cab : str
        Name of its CAB.
    node : Node
    """

    __slots__ = ("cab", "node", "_asked")

    def __init__(self, cab, node):
        self.cab = cab
        self.node = node
        self._asked = []  # callables(NodeTasks) for when the CAB has called
        node.on_call.append(self._called)

    def begin(self, task):
        """Starts the process of a NodeTask. Returns its Thread."""
        return self.node.spawn(lambda _: task.run(), name=task.name)

    @staticmethod
    def end(task, thread):
        """Ends it, at its wait or at its next."""
        task.cancelled = True
        if task.begun:
            thread.end()

    def ask(self, action):
        """By the CAB, which calls the node then: ``action(self)`` is to be done."""
        self._asked.append(action)

    def _called(self):
        asked, self._asked = self._asked, []
        for action in asked:
            action(self)
