"""A node: a workstation behind a CAB's VME bus, its processes, its operating system. Specification: docs/nodes.md.

Source: "The Design of Nectar" (1989), sections 2.3 and 6.2.3. A process runs until it waits or polls; what the system
does beside that is in the costs."""

from ..computer import Computer
from ..door import BusError
from ..kernel.kernel import Kernel
from ..kernel.plain import blocking, is_call
from .costs import SUN4
from .fileserver import FileServer
from .ip.layout import VECTOR as PACKET_VECTOR
from .layout import ACKNOWLEDGE, BELL, HEADER, HELLO, MAGIC, VECTOR
from .memory import NodeCopies, NodeMemory
from .messages import NodeDatagram, NodeMailbox, NodeMulticasts, NodeRequests
from .shared import Shared
from .sockets.network import Network
from .sockets.process import Process
from .sockets.python import process_python
from .streams import NodeStreams

__all__ = ["Node"]

#: CPU cycles that an idle process sleeps at once: a look at the clock every 10 us.
_NAP = 160


class Node:
    """One node.

    Parameters
    ----------
    name : str
    door : Door
        To VME.
    costs : NodeCosts
    on_spawn : callable(thread, daemon) or None
        Called with each process that is made.
    names : dict of str → int
        IDs of all CABs by their names.
    check_memory : callable() or None
        Raises CapabilityError if the machine has no memory of nodes on the bus.

    Members
    -------
    kernel : Kernel
        Its processes.
    datagram : NodeDatagram
    request : NodeRequests
    multicast : NodeMulticasts
    stream : NodeStreams
    network : Network
        What the sockets of its processes share (docs/sockets.md).
    copies : NodeCopies
        Of the messages of its processes.
    files : FileServer
        What it does for its CAB.
    boot : int
        Which start of the CAB it has seen; 0: none yet.
    cab_id : int or None
        The CAB's ID.
    computer : Computer
        How it keeps numbers: byte order and word size.
    on_call : list of callables
        Of layers above: called by the system process when the CAB has called.
    on_packet : callable or None
        The network driver's: called at interrupt level when a packet has come while it slept.
    """

    def __init__(self, name, door, costs=SUN4, on_spawn=None, names=None, check_memory=None):
        self.name = name
        self.names = names or {}
        self.door = door
        self.costs = costs
        self.on_spawn = on_spawn
        self.kernel = Kernel(door, name, costs)
        self.kernel.boot.append(lambda: door.attach(self._interrupt))
        self.boot = 0
        self.cab_id = None
        self.computer = Computer("big", 32)
        self.on_call = []
        self.on_packet = None
        self.copies = NodeCopies()
        self._check_memory = check_memory
        self._memory = NodeMemory(self)
        self.shared = Shared(self)
        self.datagram = NodeDatagram(self)
        self.request = NodeRequests(self)
        self.multicast = NodeMulticasts(self)
        self.stream = NodeStreams(self)
        self.network = Network(self)
        self.files = FileServer(self)
        self._mailboxes = {}
        self._called = False  # the CAB has interrupted since the system process last looked
        self._system = None  # its thread, while it waits
        self._waiting = []  # processes that wait for the CAB's first interrupt
        self.kernel.spawn(self._serve, name="system")

    def __repr__(self):
        return f"<Node {self.name}>"

    # -- what programs call --------------------------------------------------------------------------
    def spawn(self, task, *args, name=None, daemon=False):
        """Starts a process, ``task(node, *args)``. Returns its Thread. ``run`` does not wait for a ``daemon``."""
        if callable(task) and not is_call(task):
            task = Process(self, process_python()).runs(task)
        return self._spawned(self.kernel.spawn(task, self, *args, name=name), daemon)

    def spawn_thread(self, function, name):
        """Starts a thread of a process, for which ``run`` does not wait. Returns its Thread."""
        return self._spawned(self.kernel.spawn(function, name=name), True)

    def _spawned(self, thread, daemon):
        if self.on_spawn is not None:
            self.on_spawn(thread, daemon)
        return thread

    def lend(self, folder):
        """Lets the CAB's threads open the files in ``folder`` (a path; None: no files), and below it."""
        self.files.lend(folder)

    def mailbox(self, number):
        """Mailbox ``number`` of its CAB."""
        box = self._mailboxes.get(number)
        if box is None:
            box = self._mailboxes[number] = NodeMailbox(self, number)
        return box

    @property
    def memory(self):
        """The NodeMemory that its CAB can reach. CapabilityError on a machine without."""
        if self._check_memory is not None:
            self._check_memory()
        return self._memory

    @blocking
    async def attached(self):
        """Waits until the CAB has called for the first time."""
        if not self.boot:
            thread = self.kernel.current
            self._waiting.append(thread)
            await self.kernel.block(f"the CAB of {self.name} to start", lambda: self._waiting.remove(thread))

    def compute(self, time):
        """The process computes for that long, microseconds or a Work."""
        self.door.spend(self.kernel.computation(time))

    def compute_us(self, work):
        """How long that takes, in microseconds (float)."""
        return self.kernel.compute_us(work)

    @blocking
    async def sleep(self, microseconds):
        """The process sleeps; others may run."""
        end = await self.door.now() + self.cycles(microseconds)
        while (now := await self.door.now()) < end:
            if self.kernel.idle:
                self.door.spend(min(_NAP, end - now))
            else:
                await self.kernel.pause()

    @blocking
    async def pause(self):
        """Lets the other processes run."""
        await self.kernel.pause()

    @blocking
    async def now_us(self):
        """Microseconds since reset (float)."""
        return await self.door.now() * 1e6 / self.door.cpu_hz

    def cycles(self, microseconds):
        """Microseconds in CPU cycles."""
        return self.kernel.span(microseconds)

    def ring(self):
        """Calls the CAB; posted."""
        self.door.write(BELL, 0)

    def close(self):
        """Ends all processes, closes all files."""
        self.kernel.close()
        self.files.close()

    # -- its operating system ------------------------------------------------------------------------
    async def _interrupt(self):
        """At interrupt level: the CAB calls."""
        self.door.spend(self.costs.interrupt_entry)
        vector = await self.door.read(ACKNOWLEDGE) & 0xFF
        if vector == PACKET_VECTOR and self.on_packet is not None:
            self.door.spend(self.costs.wake)
            self.on_packet()
        elif vector == VECTOR:
            self._called = True
            thread, self._system = self._system, None
            if thread is not None:
                self.door.spend(self.costs.wake)
                self.kernel.wake(thread)
        self.door.spend(self.costs.interrupt_exit)

    async def _serve(self):
        """The process of the system that does what the CAB asks for."""
        kernel = self.kernel
        while True:
            while not self._called:
                self._system = kernel.current
                await kernel.block("its CAB", None)
            self._called = False
            try:
                magic, cab_id, boot, posted = HELLO.unpack(await self.door.read_block(HEADER, HELLO.size))
                if magic != MAGIC:
                    continue
                if boot != self.boot:
                    self.boot, self.cab_id = boot, cab_id
                    self.shared.begin()
                    self.files.begin()
                    while self._waiting:
                        kernel.wake(self._waiting.pop())
                self.shared.called()
                for action in self.on_call:
                    action()
                await self.files.serve(posted)
            except BusError:
                pass  # the CAB is being reset: it calls again when it has started
