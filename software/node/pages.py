"""Pages of data memory that the CAB opens to its node. Specification: docs/nodes.md, "The shared area".

Source: "The Design of Nectar" (1989), section 5.2 (VME has a protection domain of its own)."""

from ...hdl.cab.regions import PAGE_BITS
from ..kernel.domains import VME

__all__ = ["Pages"]

_PAGE = 1 << PAGE_BITS


class Pages:
    """The pages of messages that the node has for a time.

    Parameters
    ----------
    cab : Cab
    """

    __slots__ = ("cab",)

    def __init__(self, cab):
        self.cab = cab

    def lonely(self, message):
        """Whether a message shares no page with anything else."""
        return message.address is None or self.cab.memory.block_size(message.address) >= _PAGE

    async def isolate(self, message):
        """Moves a message to pages of its own if it has none. By a thread."""
        if not self.lonely(message):
            memory, old = self.cab.memory, message.address
            block = await memory.allocate(memory.paged(message.length))
            memory.write(block, await memory.read(old, message.length))
            message.address = block
            memory.free(old)

    def open_pages(self, address, length):
        """Opens the pages of so many bytes to the node. From both levels."""
        self.cab.domains.allow(VME, address, _whole(length))

    def close_pages(self, address, length):
        """Takes them back. From both levels."""
        self.cab.domains.forbid(VME, address, _whole(length))

    def lend(self, message):
        """Opens a message's pages to the node. From both levels."""
        if message.address is not None:
            self.open_pages(message.address, message.length)

    def withdraw(self, message):
        """Takes them back. From both levels."""
        if message.address is not None:
            self.close_pages(message.address, message.length)

    def take_back(self, message):
        """Takes a message back and frees it. From both levels."""
        self.withdraw(message)
        message.free()


def _whole(length):
    """Bytes of the pages that so many bytes begin at their first lie in."""
    return length + _PAGE - 1 & -_PAGE
