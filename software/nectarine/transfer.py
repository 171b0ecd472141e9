"""Long messages: records of those that go out, and how their bytes come to their place.

Source: P. Pierce, "The NX/2 Operating System" (1988), section "Long Messages": three trips. The first is an envelope
by the channel; the others are a matter of the machine. Specification: docs/nectarine.md."""

from ..errors import MessageWithdrawn

__all__ = ["Transfer", "Transfers"]

#: Bytes that the CPU copies at once between tasks of one CAB.
_CHUNK = 4096


class Transfer:
    """A long message whose receiver has not pulled it all.

    Parameters
    ----------
    number : int
    to : (int, int)
        CAB ID and number of the receiving task.
    address, length : int, int
        Its bytes in data memory.
    then : callable(TaskError or None)
        Called once: the receiver has all of it, or never will.

    Members
    -------
    under : int
        Pieces that are being read.
    begun, over : bool, bool
        Whether any piece was asked for; whether ``then`` was called.
    timer : Timer or None
        Until the receiver is asked whether it has all.
    queries : int
        How often it was.
    noted : int
        Its message's number in a recording; 0: none.
    """

    __slots__ = ("number", "to", "address", "length", "then", "under", "begun", "over", "timer", "queries", "noted",
                 "_pulled")  # fmt: skip

    def __init__(self, number, to, address, length, then, noted=0):
        self.number = number
        self.to = to
        self.address = address
        self.length = length
        self.then = then
        self.under = 0
        self.begun = False
        self.over = False
        self.timer = None
        self.queries = 0
        self.noted = noted
        self._pulled = {}  # offset -> bytes

    def pulled(self, offset, length):
        """The receiver has those bytes. Whether it has all."""
        self._pulled[offset] = length
        return sum(self._pulled.values()) == self.length

    def end(self, error=None):
        """See ``then``."""
        if not self.over:
            self.over = True
            self.then(error)


class Transfers:
    """Long messages of one CAB, out and in. A subclass says how those of other CABs come, by ``_bring``.

    Parameters
    ----------
    cab : Cab
    """

    __slots__ = ("cab", "kernel", "memory", "_out", "_count")

    #: The bytes of a long message begin at a multiple of this, in bytes.
    aligned = 1

    def __init__(self, cab):
        self.cab = cab
        self.kernel = cab.kernel
        self.memory = cab.memory
        self._out = {}  # number -> Transfer
        self._count = 0

    # -- out -----------------------------------------------------------------------------------------
    def begin(self, to, address, length, then, noted=0):
        """A Transfer of those bytes; ``then`` and ``noted`` as there."""
        self.kernel.door.spend(self.kernel.costs.nectarine_transfer)
        self._count = self._count % 0xFFFFFFFF + 1
        transfer = self._out[self._count] = Transfer(self._count, to, address, length, then, noted)
        return transfer

    def end(self, number, error=None):
        """The receiver has all of that transfer, or (``error``) will have no more of it; nothing if it is over. Pieces
        under way are read to their end before an error is told."""
        transfer = self._out.get(number)
        if transfer is not None:
            self._forget(transfer)
            if error is None or not transfer.under:
                transfer.end(error)
            else:
                transfer.then, then = lambda _: then(error), transfer.then

    def _forget(self, transfer):
        del self._out[transfer.number]
        if transfer.timer is not None:
            self.cab.timers.cancel(transfer.timer)

    def lost(self, cab, error):
        """No task of that CAB will receive anything more."""
        for number, transfer in list(self._out.items()):
            if transfer.to[0] == cab:
                self.end(number, error)

    def withdraw(self, number):
        """Takes a transfer back. False if its receiver has begun to pull."""
        transfer = self._out.get(number)
        if transfer is None or transfer.begun:
            return False
        self.end(number, MessageWithdrawn("the message was withdrawn before its receiver has pulled it"))
        return True

    # -- in ------------------------------------------------------------------------------------------
    async def bring(self, arrival, buffer, store, copies):
        """Brings the bytes of a long message into ``buffer``, a Buffer, or to ``store(offset, data)`` if that is None;
        notes in ``copies`` who has moved them. False if its sender has withdrawn it. Raises PeerStopped,
        PeerStartedAnew."""
        if arrival.channel.peer != self.cab.id:
            return await self._bring(arrival, buffer, store, copies)
        done = await self.copy(arrival, store)
        copies.cpu_in += arrival.length * done
        return done

    def accepted(self):
        """A receive has its message, short or long: its cost is that of ``nectarine_receive``, unless a subclass says
        otherwise."""

    async def _bring(self, arrival, buffer, store, copies):
        raise NotImplementedError

    async def copy(self, arrival, store):
        """Copies the bytes of a long message of a task of this CAB: ``store(offset, data)`` takes them piece by piece.
        False if its sender has withdrawn it."""
        transfer = self._out.get(arrival.transfer)
        if transfer is None:
            return False
        transfer.begun = True
        transfer.under += 1
        done = False
        try:
            for offset in range(0, transfer.length, _CHUNK):
                data = await self.memory.load(transfer.address + offset, min(_CHUNK, transfer.length - offset))
                store(offset, data)
            done = True
        finally:
            transfer.under -= 1
            if done and transfer.number in self._out:
                self._forget(transfer)
            if transfer.number not in self._out:
                transfer.end()
        return True
