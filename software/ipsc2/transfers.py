"""Long messages of the tasks of a node: the second and the third trip. Specification: docs/nx2.md."""

from ..nectarine.transfer import Transfers

__all__ = ["LongMessages"]


class LongMessages(Transfers):
    """Long messages of one node, out and in.

    Parameters
    ----------
    node : Node
    messages : Messages
    """

    __slots__ = ("_messages",)

    #: DMA moves whole words.
    aligned = 4

    def __init__(self, node, messages):
        super().__init__(node)
        self._messages = messages

    def granted(self, number):
        """At interrupt level: the receiver asks for that message. The Transfer, or None if it is no more."""
        transfer = self._out.get(number)
        if transfer is not None:
            transfer.begun = True
            transfer.under += 1
        return transfer

    def left(self, transfer, error):
        """At interrupt level: all of it is in the network, or (``error``) never will be."""
        transfer.under -= 1
        if transfer.number in self._out:
            self._forget(transfer)
        transfer.end(error)

    def accepted(self):
        """See Transfers."""
        self.kernel.door.spend(self.kernel.costs.complete)

    async def _bring(self, arrival, buffer, store, copies):
        memory, length = self.memory, arrival.length
        direct = buffer is not None and _in_words(buffer, length)
        address = buffer.address if direct else await memory.allocate(length)
        try:
            if not await self._messages.fetch(arrival, address):
                return False
            copies.dma_in += length
            if not direct:
                store(0, await memory.load(address, length))
                copies.cpu_in += length
        finally:
            if not direct:
                memory.free(address)
        return True


def _in_words(buffer, length):
    """Whether whole words at the start of a Buffer may be stored for so many bytes: nothing else is in the last."""
    return not buffer.address % 4 and (not length % 4 or length == buffer.length and buffer.is_end)
