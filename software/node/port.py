"""The CAB's side of its node: the shared area, the node's commands, its boxes. Specification: docs/nodes.md.

Source: "The Design of Nectar" (1989), section 6.2.3: the most efficient interface is shared memory; messages are built
and consumed in place in CAB memory, services are invoked by a command in a special mailbox on the CAB."""

from dataclasses import dataclass
from struct import Struct

from ...hdl.cab.addresses import REG, Irq
from ...hdl.cab.regions import PAGE_BITS
from ..datalink.datalink import Switching
from ..errors import ProgramError
from ..kernel.condition import Condition
from ..kernel.domains import VME
from ..kernel.vmechannel import lies_in_node
from ..packet import Status
from ..transport.commands import status_of
from .boxes import Box
from .connections import NodeConnections
from .landings import NodeAreas
from .layout import (
    AREA,
    AREA_BYTES,
    ARRIVAL,
    BOXES,
    CALL,
    CIRCUIT,
    COMMAND,
    COMMANDS,
    COUNTS,
    DEPTH,
    HEADER,
    HELLO,
    INTO,
    LEVEL,
    MAGIC,
    MASK,
    OUTCOME,
    POOL,
    POOL_BYTES,
    RINGS_BYTES,
    SLEEPING,
    VECTOR,
    Code,
    arrival_at,
    call_at,
    command_at,
)
from .multicasts import multicast
from .pages import Pages
from .refused import Refused

__all__ = ["NodePort"]

_PAGE = 1 << PAGE_BITS
_INTERRUPT = REG["VME_INTERRUPT"]
_BELL_PAGE = REG["VME_BELL"].address & -_PAGE
_SWITCHING = {0: Switching.PACKET, CIRCUIT: Switching.CIRCUIT}
_COUNTS = Struct(f">{1 + BOXES}I")
#: Commands whose area may lie in the node's memory.
_FROM_NODE = (Code.DATAGRAM, Code.MULTICAST, Code.CALL, Code.REPLY, Code.RECEIVE)
#: Requests that may wait for the node in a service.
_CAPACITY = 64


@dataclass(slots=True)
class NodeCounters:
    """What a CAB has seen of its node."""

    bells: int = 0
    commands: int = 0  # carried out, or failed
    refused: int = 0  # that made no sense
    nonsense: int = 0  # counts that cannot be


class NodePort(Pages):
    """What a CAB with a node has of it.

    Parameters
    ----------
    cab : Cab
    boot : int
        Which start of the CAB it is.

    Members
    -------
    counters : NodeCounters
    on_bell : list of coroutine functions
        Called at interrupt level when the node has called.
    connections : NodeConnections
    areas : NodeAreas
        Messages that go into the node's memory.
    workers : dict of int → callable(int)
        Of layers above: called by the port's thread with the number of a WORK command for that worker, which ends it by
        ``answer``.
    """

    __slots__ = (
        "kernel",
        "door",
        "counters",
        "on_bell",
        "connections",
        "areas",
        "workers",
        "boot",
        "_boxes",
        "_answers",
        "_put",
        "_done",
        "_sleeping",
        "_look",
        "_loads",
        "_pump",
        "_raised",
        "_again",
        "_requests",
        "_numbers",
        "_room",
        "_seen",
    )

    def __init__(self, cab, boot):
        super().__init__(cab)
        self.kernel = cab.kernel
        self.door = cab.door
        self.counters = NodeCounters()
        self.on_bell = []
        self.connections = NodeConnections(self)
        self.areas = NodeAreas(self)
        self.workers = {}
        self.boot = boot
        self._boxes = {}
        self._answers = {}  # address -> Message of an answer that the node has
        self._put = self._done = 0  # commands
        self._sleeping = None  # the thread, while it has nothing to do
        self._loads = False  # so is interrupt level, at its end
        self._look = False  # the thread is to look whether processes of the node sleep
        self._pump = {}  # boxes to be looked at (a dict as an ordered set)
        self._raised = False
        self._again = {}  # status/IDs of interrupts that are to be raised behind it (a dict as an ordered set)
        self._requests = {}  # number -> (Box, Request) that the node has
        self._numbers = 0
        self._room = Condition(cab.kernel, "room in a box of the node")
        self._seen = (0,) * BOXES  # what the node has counted
        if cab.memory.size < 2 * AREA_BYTES or cab.memory.try_allocate(AREA_BYTES) != AREA:
            raise ProgramError(
                f"{cab.name} has no room for what it shares with its node: give it {2 * AREA_BYTES} bytes of data "
                f"memory or more"
            )
        cab.kernel.boot.append(self._begin)

    def _begin(self):
        """Sets the area up and calls the node: before threads run."""
        cab = self.cab
        cab.memory.store(HEADER, bytes(RINGS_BYTES))
        cab.domains.open_vme()
        cab.domains.allow(VME, AREA, AREA_BYTES)
        cab.domains.allow(VME, _BELL_PAGE, _PAGE)
        interrupts = cab.interrupts
        interrupts.on_taken, interrupts.on_bell = self._taken, self._bell
        interrupts.add(Irq.VME_TAKEN, Irq.VME_BELL)
        self.door.write_block(HEADER, HELLO.pack(MAGIC, cab.id, self.boot, 0))
        self.call_node()
        self.kernel.spawn(self._run, name="node's commands")

    # -- interrupts to the node ----------------------------------------------------------------------
    def call_node(self, vector=VECTOR):
        """Raises the VME interrupt with that status/ID. While the node has not taken the last one yet, once it has.
        From both levels."""
        if self._raised:
            self._again[vector] = None
            return
        self._raised = True
        self.door.write(_INTERRUPT.address, _INTERRUPT.vector.put(vector) | _INTERRUPT.level.put(LEVEL))

    def rouse_node(self):
        """Has processes of the node that sleep look again, if any do. From both levels."""
        interrupts = self.cab.interrupts
        if not interrupts.active:
            self._look = True
            self.rouse()
        elif not self._loads:
            self._loads = True
            interrupts.loads.append((SLEEPING, 4, self._slept))

    def _slept(self, word):
        self._loads = False
        if any(word):
            self.call_node()

    def _taken(self):
        self._raised = False
        if self._again:
            vector = next(iter(self._again))
            del self._again[vector]
            self.call_node(vector)

    # -- the node's calls, at interrupt level --------------------------------------------------------
    async def _bell(self):
        self.counters.bells += 1
        self.door.spend(self.kernel.costs.node_bell)
        commands, *released = _COUNTS.unpack(await self.door.read_block(COUNTS, _COUNTS.size))
        if commands != self._put:
            if (commands - self._done & 0xFFFFFFFF) > COMMANDS:
                self.counters.nonsense += 1
            else:
                self._put = commands
                self.rouse()
        for number, box in self._boxes.items():
            if released[number] != self._seen[number] and not box.taken(released[number]):
                self.counters.nonsense += 1
        if released != self._seen:
            self.connections.room()
        self._seen = released
        for action in self.on_bell:
            await action()

    def pump(self, box):
        """Has the thread look after a box. From both levels."""
        self._pump[box] = None
        self.rouse()

    def rouse(self):
        """Has the port's thread look what there is to do. From both levels."""
        thread, self._sleeping = self._sleeping, None
        if thread is not None:
            self.door.spend(self.kernel.costs.wake)
            self.kernel.wake(thread)

    # -- the thread ----------------------------------------------------------------------------------
    async def _run(self):
        kernel = self.kernel
        while True:
            while self._pump:
                box = next(iter(self._pump))
                del self._pump[box]
                await box.pump()
                self._room.broadcast()
            await self.connections.refresh()
            if self._look:
                self._look = False
                self._slept(await self.door.read_block(SLEEPING, 4))
            if self._done != self._put:
                number, self._done = self._done, self._done + 1 & 0xFFFFFFFF
                await self._command(number)
            elif not (self._pump or self._look or self.connections.is_stale):
                self._sleeping = kernel.current
                await kernel.block("a command of the node", None)

    async def _command(self, number):
        self.door.spend(self.kernel.costs.node_command)
        word, cab, address, length, timeout_us = COMMAND.unpack(
            await self.door.read_block(command_at(number), COMMAND.size)
        )
        code, box, port = word >> 24, word >> 16 & 0xFF, word & 0xFFFF
        area = [(address, length)] if length else []
        try:
            in_pool = POOL <= address <= address + length <= POOL + POOL_BYTES
            in_node = code in _FROM_NODE and lies_in_node(address, length)
            if length and not in_pool and not in_node:
                raise Refused(Status.BAD_AREA)
            if code == Code.DATAGRAM:
                if box not in _SWITCHING:
                    raise Refused(Status.BAD_SWITCHING)
                sending = self.cab.datagram.send((self._member(cab), port), area, _SWITCHING[box])
                if cab == self.cab.id:
                    self._apart(number, sending)  # it may wait for the node itself
                else:
                    await self._finish(number, sending)
            elif code == Code.MULTICAST:
                self._apart(number, multicast(self, number, port, area, timeout_us))
            elif code in self.connections.CODES:
                work = self.connections.command(code, box, port, cab, address, length, timeout_us)
                await self._finish(number, work)
            elif code == Code.CALL:
                self._apart(number, self._call(number, box, self._member(cab), port, area, timeout_us))
            elif code == Code.REPLY:
                self._apart(number, self._reply(cab, area))
            elif code == Code.RECEIVE:
                self._apart(number, self.areas.receive(port, address, length, timeout_us))
            elif code == Code.CANCEL:
                await self._finish(number, self.areas.cancel(port))
            elif code == Code.WORK:
                if port not in self.workers:
                    raise Refused(Status.BAD_CONNECTION)
                self.workers[port](number)
            elif code == Code.FREE:
                await self._finish(number, self._free(address))
            elif code == Code.OPEN:
                await self._finish(number, self._open(self._closed(box), port, cab))
            elif code == Code.SERVE:
                await self._finish(number, self._serve(self._closed(box), port))
            elif code == Code.LISTEN:
                await self._finish(number, self._listen(self._closed(box), port, cab))
            elif code == Code.CLOSE:
                await self._finish(number, self._close(box))
            else:
                raise Refused(Status.BAD_CODE)
        except Refused as refusal:
            self.counters.refused += 1
            self._tell(number, refusal.args[0])

    def _member(self, cab):
        if cab > 254:
            raise Refused(Status.BAD_MEMBERS)
        return cab

    def _closed(self, box):
        if box >= BOXES or box in self._boxes:
            raise Refused(Status.BAD_CONNECTION)
        return box

    def _apart(self, number, work):
        """What may have to wait for somebody gets a thread of its own."""
        self.kernel.spawn(self._finish, number, work, name=f"node's command {number}")

    async def _finish(self, number, work):
        """Does the work of a command and tells what became of it."""
        try:
            outcome = await work or (Status.DONE,)
        except Refused as refusal:
            self.counters.refused += 1
            self._tell(number, refusal.args[0])
            return
        except (ProgramError, ValueError) as error:
            self.counters.commands += 1
            self._tell(number, status_of(error))
            return
        self.counters.commands += 1
        self._tell(number, *outcome)

    def _tell(self, number, status, first=0, second=0):
        self.door.write_block(
            command_at(number) + COMMAND.size, OUTCOME.pack(first, second, (number + 1 & MASK) << 8 | status)
        )

    async def answer(self, number, first=0, second=0):
        """By a thread: a WORK command is done. Calls the node if processes of it sleep."""
        self.counters.commands += 1
        self._tell(number, Status.DONE, first, second)
        if await self.door.read(SLEEPING):
            self.call_node()

    def show(self, message):
        """Lends a message to the node until it gives it back by FREE. It lies in pages of its own. From both levels."""
        self.lend(message)
        if message.address is not None:
            self._answers[message.address] = message

    # -- the commands --------------------------------------------------------------------------------
    async def _open(self, number, mailbox, rouses):
        target = self.unread(mailbox)
        box = self._boxes[number] = Box(self, number, self._seen[number])
        self.door.write_block(arrival_at(number, 0), bytes(DEPTH * ARRIVAL.size))
        box.rouses = bool(rouses)
        target.open()
        target.paged = True
        target.on_arrival = box.arrive
        box.mailbox = target
        await box.pump()

    async def _listen(self, number, port, backlog):
        box = Box(self, number, self._seen[number])
        self.door.write_block(arrival_at(number, 0), bytes(DEPTH * ARRIVAL.size))
        box.listener = self.cab.stream.listen(port, backlog)
        box.server = self.kernel.spawn(self.connections.hand_over, box, name=f"connections to port {port} of the node")
        self._boxes[number] = box

    async def _serve(self, number, service):
        box = Box(self, number, self._seen[number])
        self.door.write_block(arrival_at(number, 0), bytes(DEPTH * ARRIVAL.size))
        box.service = self.cab.request.serve(service, _CAPACITY)
        box.server = self.kernel.spawn(self._hand_over, box, name=f"requests for service {service} of the node")
        self._boxes[number] = box

    async def _hand_over(self, box):
        """The thread of a service: hands its requests to the node."""
        service = box.service
        while not service.over:
            request = await service.receive()
            await self.isolate(request.message)
            while box.full:
                await self._room.wait()
            self._numbers = number = self._numbers + 1 & MASK
            self._requests[number] = box, request
            box.put(request.message, request.source << 24 | number, lent=False)

    async def _close(self, number):
        box = self._boxes.pop(number, None)
        if box is None:
            raise Refused(Status.BAD_CONNECTION)
        left = [key for key, (where, _) in self._requests.items() if where is box]
        box.close()
        for _, request in [self._requests.pop(key) for key in left]:
            self.withdraw(request.message)
            if request.cancelled:
                await request.reply()  # which nobody hears, and which frees it

    async def _call(self, number, box, cab, service, area, timeout_us):
        place = None
        if box == INTO:
            place = CALL.unpack(await self.door.read_block(call_at(number), CALL.size))[:2]
            if not lies_in_node(*place):
                raise Refused(Status.BAD_AREA)
        call = await self.cab.request.start((cab, service), area, timeout_us or None)
        message = await call.message()
        if place is not None:
            return await self.areas.put(place, message)
        await self.isolate(message)
        self.show(message)
        return Status.DONE, message.address or 0, message.length

    def unread(self, number):
        """A mailbox that nobody reads from."""
        target = self.cab.mailbox(number)
        if target.trusted or target.owner is not None or target.readers or target.on_arrival is not None:
            raise Refused(Status.BAD_CONNECTION)
        return target

    async def _free(self, address):
        message = self._answers.pop(address, None)
        if message is None:
            raise Refused(Status.BAD_AREA)
        self.take_back(message)

    async def _reply(self, number, area):
        box, request = self._requests.pop(number, (None, None))
        if request is None:
            raise Refused(Status.BAD_CONNECTION)
        self.withdraw(request.message)
        return Status.DONE, int(await request.reply(area)), 0
