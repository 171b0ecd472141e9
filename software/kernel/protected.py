"""A protected task: its own code runs in user mode in a domain of its own, the kernel's code that it calls in
supervisor mode.

Specification: docs/kernel.md. Source: "The Design of Nectar" (1989), section 5.2; how a task is ended and what is
reclaimed is ours."""

from struct import Struct

from ...hdl.cab.addresses import REG, REGIONS, Irq
from ...hdl.cab.regions import PAGE_BITS, AccessKind
from ..door import BusError, Operation, OperationKind
from ..errors import EndThread, Fault, NotYours, ProgramError, ReceiverEnded
from .plain import as_coroutine
from .thread import BLOCK, close

__all__ = ["ProtectedTask"]

_NOW = Operation(OperationKind.NOW)
_INFO = REG["TRAP_INFO"]
_RECORD = Struct(">II")
_READ_RECORD = Operation(OperationKind.READ_BLOCK, REG["TRAP_ADDRESS"].address, _RECORD.size)
_PENDING = REG["IRQ_PENDING"].address
_ACTS = {AccessKind.READ: "read", AccessKind.WRITE: "write", AccessKind.EXECUTE: "execute"}
#: Operations that the code of a task that has been ended may still ask for, in ``finally`` clauses; none of them is
#: done.
_STRIKES = 8
#: Methods of things that protocols give a task: the first that there is ends it.
_CLOSERS = ("abort", "cancel", "close")
#: Microseconds that closing one thing which the task has left may take.
_CLOSING_US = 1000


class ProtectedTask:
    """What the kernel knows of a protected task; ``run`` is its thread's coroutine.

    Parameters
    ----------
    cab : Cab
    task : function, async or plain
        Called as ``task(show(cab), ...)``.
    args : tuple
    show : callable(task, value)
        What the task sees of something of the kernel's.

    Members
    -------
    name : str
    domain : int or None
        Its protection domain.
    blocks : dict of int → int
        Address and size of its blocks of memory, those of its messages among them.
    messages : dict of int → Message
        The messages that it has taken or reserved, by identity.
    boxes : list of Mailbox
        The mailboxes that it reads from.
    things : list
        What protocols gave it and may have to be closed.
    user : bool
        Whether the CPU runs its own code, and not the kernel's for it.
    dead : BaseException or None
        What has ended it.
    coroutine : coroutine or None
        Its own code, once it has begun.
    vouched : bool
        Whether software above the kernel's carries out a call for it, which names areas of its own, too.
    """

    __slots__ = (
        "cab",
        "kernel",
        "door",
        "memory",
        "name",
        "domain",
        "blocks",
        "messages",
        "boxes",
        "things",
        "user",
        "dead",
        "coroutine",
        "vouched",
        "_domains",
        "_task",
        "_args",
        "_show",
    )

    def __init__(self, cab, task, args, show):
        self.cab = cab
        self.kernel = cab.kernel
        self.door = cab.door
        self.memory = cab.memory
        self.name = getattr(task, "__name__", "task")
        self.domain = None
        self.blocks = {}
        self.messages = {}
        self.boxes = []
        self.things = []
        self.user = self.vouched = False
        self.dead = self.coroutine = None
        self._domains = cab.domains
        self._task = task
        self._args = args
        self._show = show

    async def run(self):
        """The whole of it: a domain, the task, and what it leaves."""
        self.domain = await self._domains.get()
        try:
            args = [self._show(self, each) for each in self._args]
            self.coroutine = as_coroutine(self._task, self._show(self, self.cab), *args)
            result = await _Code(self, self.coroutine)
        except GeneratorExit:  # all is closed: nobody would carry out what is awaited
            raise
        except BaseException:
            await self._reclaim()
            raise
        await self._reclaim()
        return result

    # -- modes ---------------------------------------------------------------------------------------
    def trap(self):
        """From its own code into the kernel's. What it has posted must be done."""
        self.user = False
        self._domains.leave()
        self.door.spend(self.kernel.costs.system_call)

    def back(self):
        """From the kernel's code into its own."""
        self._domains.enter(self.domain)
        self.user = True

    def call(self, function, *args, **options):
        """Has the kernel do ``function(...)``, which is no coroutine, for the task."""
        if self.dead is not None:
            raise self.dead
        if not self.user:
            return function(*args, **options)
        self.trap()
        try:
            return function(*args, **options)
        finally:
            self.back()

    async def wait(self, function, *args, **options):
        """The same for a coroutine function."""
        if self.dead is not None:
            raise self.dead
        if not self.user:
            return await function(*args, **options)
        await self.door.now()  # a store of its own that fails must not be taken for the kernel's
        self.trap()
        try:
            return await function(*args, **options)
        finally:
            self.back()

    async def vouch(self, function, *args, **options):
        """As ``wait``, for software above the kernel's, which has checked the areas that the task names."""
        return await self.wait(self._vouched, function, args, options)

    async def _vouched(self, function, args, options):
        self.vouched = True
        try:
            return await function(*args, **options)
        finally:
            self.vouched = False

    def fault(self, failure):
        """A refused access of its own: reads the trap record, ends the task. A generator of operations, which
        returns the Fault."""
        self.user = False
        self._domains.leave()
        self.door.spend(self.kernel.costs.fault)
        address, info = _RECORD.unpack((yield _READ_RECORD))
        self.door.write(_INFO.address, 0)
        self.door.write(_PENDING, 1 << Irq.TRAP)
        act = "write" if failure.write else "read"
        if _INFO.valid.get(info) and not _INFO.vme.get(info) and _INFO.domain.get(info) == self.domain:
            act = _ACTS[AccessKind(_INFO.kind.get(info))]
            if address ^ failure.address > 3:
                failure = BusError(address, act == "write")
        self.back()
        return self.end_by(failure.address, act)

    def end_by(self, address, act):
        """Notes that the task has ended by a Fault, and returns that."""
        region = next((region.name for region in REGIONS.values() if region.base <= address < region.end), "hole")
        if self.dead is None:
            self.dead = Fault(self.name, address, act, region)
            self._domains.faults.append(self.dead)
        return self.dead

    # -- memory --------------------------------------------------------------------------------------
    def adopt(self, address):
        """Gives it the pages of the block at ``address``."""
        size = self.blocks[address] = self.memory.block_size(address)
        self._domains.allow(self.domain, address, size)

    def disown(self, address):
        """Takes them away. Raises NotYours if it does not have them."""
        size = self.blocks.pop(address, None)
        if size is None:
            raise NotYours(f"0x{address:06X} is not a block of {self.name}: it may have been given back before")
        self._domains.forbid(self.domain, address, size)

    def admit(self, address, length):
        """Fault unless the area is its own."""
        page = 1 << PAGE_BITS
        at, end = address, address + length
        while at < end:
            if not any(start <= at < start + size for start, size in self.blocks.items()):
                raise self.end_by(at, "read")
            at = (at | page - 1) + 1

    def alone(self, message):
        """Whether a message shares no page with anything else."""
        return message.address is None or self.memory.block_size(message.address) >= 1 << PAGE_BITS

    def hold(self, message):
        """The message is the task's from here on."""
        self.messages[id(message)] = message
        if message.address is not None and self.alone(message):
            self.adopt(message.address)

    async def move(self, message):
        """Moves a message that it holds to pages of its own."""
        if not self.alone(message):
            memory, old = self.memory, message.address
            block = await memory.allocate(memory.paged(message.length))
            memory.write(block, await memory.read(old, message.length))
            message.address = block
            memory.free(old)
            self.adopt(block)

    def let_go(self, message):
        """The message is not the task's any more. Raises NotYours if it was not."""
        if self.messages.pop(id(message), None) is None:
            raise NotYours(f"{message!r} does not belong to {self.name}: it has been released, committed or put")
        if message.address is not None and self.alone(message):
            self.disown(message.address)

    def keep(self, thing):
        """Notes what has to be closed when the task ends."""
        if any(hasattr(thing, name) for name in _CLOSERS) and all(thing is not other for other in self.things):
            self.things.append(thing)

    # -- mailboxes -----------------------------------------------------------------------------------
    def own(self, box):
        """It reads from ``box`` from here on, until it ends. Raises NotYours if somebody else does."""
        if box.owner is self:
            return
        if box.owner is not None or box.readers:
            who = box.owner.name if box.owner is not None else "a task of the kernel's"
            raise NotYours(f"{box} is read by {who}: use another one")
        box.reopen(ReceiverEnded)
        box.owner, box.paged = self, True
        self.boxes.append(box)

    # -- the end -------------------------------------------------------------------------------------
    async def _reclaim(self):
        """Gives back all that it has."""
        for thing in self.things:
            await self._close(thing)
        for box in self.boxes:
            box.owner, box.paged = None, False
            box.close(ReceiverEnded)
        await self.cab.datalink.finish()
        for message in list(self.messages.values()):
            self.let_go(message)
            message.free()
        for address in list(self.blocks):
            self.disown(address)
            self.memory.free(address)
        self._domains.give(self.domain)

    async def _close(self, thing):
        for name in _CLOSERS:
            close = getattr(thing, name, None)
            if close is not None:
                try:
                    result = close()
                    if hasattr(result, "__await__"):
                        await self.kernel.within(_CLOSING_US, result)
                except (ProgramError, EndThread):
                    pass  # it was over already, or the other side does not answer: the protocol goes on alone
                return


class _Code:
    """Runs the task's coroutine ``inner`` step by step, and turns bus errors of its own accesses into the fault that
    ends it."""

    __slots__ = ("task", "inner")

    def __init__(self, task, inner):
        self.task = task
        self.inner = inner

    def __await__(self):
        task, inner = self.task, self.inner
        task.back()
        value = error = None
        strikes = 0
        try:
            while True:
                try:
                    operation = inner.send(value) if error is None else inner.throw(error)
                except StopIteration as stop:
                    result = stop.value
                    break
                value = error = None
                if task.dead is not None and task.user:
                    strikes += 1
                    if strikes > _STRIKES:
                        inner.close()
                        result = None
                        break
                    error = task.dead
                    continue
                try:
                    if operation is BLOCK and task.user:  # it waits by something that is not its own to call
                        value = yield from self._wait()
                    else:
                        value = yield operation
                        if task.user:
                            task.kernel.check_pending()  # so that one that never calls the kernel can be ended
                except BusError as failure:
                    error = (yield from task.fault(failure)) if task.user else failure
                except EndThread as end:
                    error = task.dead = task.dead or end
                except Exception as failure:
                    error = failure
        except GeneratorExit:
            failure = close(inner)
            if failure is not None:
                raise failure from None
            raise
        except BaseException:
            yield from self._leave()
            if task.dead is not None:
                raise task.dead from None
            raise
        yield from self._leave()
        if task.dead is not None:
            raise task.dead
        return result

    def _wait(self):
        """The thread gives the CPU away outside a call of the kernel: as if it had called it."""
        task = self.task
        try:
            yield _NOW
        except BusError as failure:
            task.kernel.interrupt(task.kernel.current, (yield from task.fault(failure)))
        task.trap()
        try:
            return (yield BLOCK)
        finally:
            task.back()

    def _leave(self):
        """Into the kernel for good, once all stores are done."""
        task = self.task
        if task.user:
            try:
                yield _NOW
            except BusError as failure:
                yield from task.fault(failure)
            task.trap()
