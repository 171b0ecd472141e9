"""A node with its kernel, its memory and its messages, put together.

Source: P. Pierce, "The NX/2 Operating System" (1988).
"""

from types import SimpleNamespace

from ...hdl.ipsc2.node.registers import MEMORY_BYTES
from ..errors import NotOnThisMachine
from ..kernel.kernel import Kernel
from ..kernel.memory import Memory
from ..nectarine.localchannel import LocalChannel
from ..processor import Processor
from .adapter import Adapter
from .arithmetic import I387
from .costs import I386
from .layout import BUFFER_BYTES, BUFFERS
from .messages import Messages
from .timers import NodeTimers
from .transfers import LongMessages

__all__ = ["Node"]

#: What only a CAB of Nectar has → what it is.
_OF_A_CAB = {
    "datalink": "datalink",
    "datagram": "datagrams",
    "stream": "byte streams",
    "request": "request-response protocol",
    "multicast": "multicast",
    "mailbox": "mailboxes",
    "commands": "command mailbox",
    "domains": "protection domains",
    "faults": "protection domains",
    "node": "files and nodes behind it",
    "port": "node behind it",
}


class Node(Processor):
    """The software of one node; what its tasks see of it.

    Parameters
    ----------
    name : str
    number, nodes : int
        Its number in the cube; how many nodes there are.
    door : Door
    memory_bytes : int
        Memory of the node, a power of two. The upper half is the heap.
    costs : NodeCosts

    Members
    -------
    name, id, door, kernel, memory, timers
        See Processor.
    messages : Messages
    """

    def __init__(self, name, number, nodes, door, memory_bytes=MEMORY_BYTES, costs=I386):
        half = memory_bytes // 2
        count = BUFFERS * (nodes - 1) + 1
        if (count + 1) * BUFFER_BYTES > half:
            raise ValueError(f"{memory_bytes} bytes of memory are too few for the short buffers of {nodes} nodes")
        self.name, self.id, self.door = name, number, door
        self.kernel = Kernel(door, name, costs, I387)
        self.kernel.cab_id = number
        self.memory = Memory(self.kernel, half, half)
        self.timers = NodeTimers(self.kernel)
        header, *buffers = (at * BUFFER_BYTES for at in range(count + 1))
        head = buffers.pop()
        self.messages = messages = Messages(self, nodes, buffers)
        messages.adapter = Adapter(
            self, header, head, messages.arrived, messages.launched, messages.queued, messages.stuck
        )
        messages.adapter.watch = messages.watch

    def __repr__(self):
        return f"<Node {self.name} of the cube>"

    def __getattr__(self, name):
        if name in _OF_A_CAB:
            raise NotOnThisMachine(f"{self.name} is a node of the iPSC/2: it has no {_OF_A_CAB[name]}")
        raise AttributeError(f"a node of the iPSC/2 has no {name!r}")

    def carriage(self, deliver, lost, query):
        """See Processor. Nothing is asked for again: the hardware delivers."""
        messages = self.messages
        messages.deliver, messages.lost = deliver, lost
        messages.transfers = LongMessages(self, messages)
        return SimpleNamespace(
            channels=messages, transfers=messages.transfers, local=LocalChannel(messages), daemons=()
        )
