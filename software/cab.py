"""A CAB as its tasks see it: the kernel, the memory, the protocols, put together.

Source: "The Design of Nectar" (1989), section 6.
"""

from ..hdl.cab.addresses import REGIONS
from .costs import PROTOTYPE
from .datalink.datalink import Datalink
from .datalink.options import Options
from .kernel.domains import Domains
from .kernel.interrupts import Interrupts
from .kernel.kernel import Kernel, checked
from .kernel.memory import Memory
from .kernel.protected import ProtectedTask
from .kernel.timers import Timers
from .kernel.user import show
from .kernel.vmechannel import VmeChannel
from .nectarine.carriage import Carriage
from .node.files import NodeFiles
from .node.port import NodePort
from .packet import MAX_DATA
from .processor import Processor
from .transport.commands import Commands
from .transport.datagram import Datagram
from .transport.multicast import Multicast
from .transport.options import StreamOptions
from .transport.request import Requests
from .transport.stream import Stream

__all__ = ["Cab"]


class Cab(Processor):
    """One CAB and its software.

    Parameters
    ----------
    name : str
    number : int
        Its ID on the network, 0 to 254.
    door : Door
    routes : Table (``datalink.routes``), or dict of int → list of (hub ID, output port)
    memory_bytes : int
        Data memory that the board has.
    costs : Costs
    options : Options
        Times of the datalink.
    boot : int
        Which start of this CAB it is, 1 to 65535: each needs a higher number than the one before.
    node : bool
        Whether it has a node behind its VME bus (docs/nodes.md).
    names : dict of str → int
        IDs of all CABs by their names, for destinations that are given by name.

    Members
    -------
    name, id
    kernel : Kernel
    memory : Memory
    timers : Timers
    domains : Domains
    datalink : Datalink
    datagram : Datagram
    stream : Stream
    request : Requests
    multicast : Multicast
    commands : Commands
    node : NodeFiles
        Files of its node.
    port : NodePort or None
        What it does for its node.
    """

    can_multicast = True

    def __init__(
        self,
        name,
        number,
        door,
        routes,
        memory_bytes=REGIONS["data"].size,
        costs=PROTOTYPE,
        options=Options(),
        boot=1,
        node=False,
        names=None,
    ):
        if not 0 <= number <= 254:
            raise ValueError(f"the ID of a CAB is 0 to 254, not {number}")
        self.name = name
        self.id = number
        self.door = door
        self.kernel = Kernel(door, name, costs)
        self.kernel.cab_id = number
        self.memory = Memory(self.kernel, memory_bytes)
        self.timers = Timers(self.kernel)
        self.domains = Domains(self.kernel, self.memory)
        self.mailboxes = {}
        self.interrupts = interrupts = Interrupts(self.kernel)
        interrupts.on_timer = self.timers.fired
        if node:
            self.memory.channel = VmeChannel(self.kernel, interrupts)
        self.port = NodePort(self, boot) if node else None
        self.node = NodeFiles(self, self.port)
        self.datalink = Datalink(self.kernel, self.memory, self.timers, interrupts, routes, options, number, names)
        self.datagram = Datagram(
            number,
            self.kernel,
            self.memory,
            self.datalink,
            self.mailboxes,
            max(1, options.stall_us // options.watch_us),
        )
        self.stream = Stream(
            number,
            boot,
            self.kernel,
            self.memory,
            self.timers,
            interrupts,
            self.datalink,
            StreamOptions.fitting(memory_bytes),
        )
        waste = self.memory.try_allocate(MAX_DATA)
        self.request = Requests(number, boot, self.kernel, self.memory, self.timers, interrupts, self.datalink, waste)
        self.multicast = Multicast(
            number, boot, self.kernel, self.memory, self.timers, interrupts, self.datalink, self.mailbox, waste
        )
        self.commands = Commands(self)

    def __repr__(self):
        return f"<Cab {self.name}, ID {self.id}>"

    def mailbox(self, number):
        """Its mailbox ``number`` (0 to 65535)."""
        return self.datagram.mailbox(number)

    def spawn(self, task, *args, name=None, protected=False):
        """Starts another thread on this CAB: ``task(cab, *args)``. Returns the Thread; ``await thread.join()`` gives
        its result.

        An exception of a thread that nobody waits for at that time ends the run. ``protected``: the task runs in a
        protection domain of its own, and ``cab`` is what it sees of the CAB (docs/kernel.md).
        """
        if not protected:
            return self.kernel.spawn(task, self, *args, name=name)
        record = ProtectedTask(self, checked(task), args, show)
        thread = self.kernel.spawn(record.run, name=name or f"{record.name} {self.kernel.spawned + 1}")
        record.name = thread.name
        thread.task = record
        return thread

    def carriage(self, deliver, lost, query):
        """See Processor."""
        return Carriage(self, deliver, lost, query)

    @property
    def faults(self):
        """The faults of protected tasks so far, in their order."""
        return self.domains.faults
