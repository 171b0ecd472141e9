"""A node with its kernel, its memory and its messages, put together.

Source: P. Pierce, "The NX/2 Operating System" (1988).
"""

from ..kernel.allocator import Allocator
from ..kernel.kernel import Kernel
from .adapter import Adapter
from .costs import I386
from .layout import BUFFER_BYTES, BUFFERS
from .messages import Messages

__all__ = ["Node"]


class Node:
    """The software of one node.

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
    kernel : Kernel
    heap : Allocator
    messages : Messages
    """

    def __init__(self, name, number, nodes, door, memory_bytes, costs=I386):
        half = memory_bytes // 2
        count = BUFFERS * (nodes - 1) + 1
        if (count + 1) * BUFFER_BYTES > half:
            raise ValueError(f"{memory_bytes} bytes of memory are too few for the short buffers of {nodes} nodes")
        self.kernel = Kernel(door, name, costs)
        self.heap = Allocator(half, half)
        header, *buffers = (at * BUFFER_BYTES for at in range(count + 1))
        head = buffers.pop()
        self.messages = Messages(self.kernel, number, nodes, self.heap, buffers)
        self.messages.adapter = Adapter(self.kernel, header, head, self.messages.arrived, self.messages.launched)
