"""Messages that come before their receive: a layer above Nectarine may keep them, so that their senders can go on.

Source: P. Pierce, "The NX/2 Operating System" (1988), section 3: messages that wait to be received neither stop others
nor are lost; a long message is fetched if a receive is posted for it or if there is memory for all of it.
Specification: docs/nx.md, "Messages that wait"; docs/mpi.md.
"""

from ..errors import TaskError

__all__ = ["Kept", "Keeper", "SHARE", "SLOTS_USED"]

#: Short messages of one other CAB that may wait in the slots of its channel before one is moved.
SLOTS_USED = 4
#: Messages are kept as long as no more than 1 / SHARE of the data memory is in use, their blocks included.
SHARE = 2


class Kept:
    """Where kept messages are, in the place of a channel: a slot is a block of the heap, without an envelope.

    ``peer``: the CAB's own ID. ``changed()`` is called when a block has become free."""

    __slots__ = ("peer", "_memory", "_changed")

    #: As of Slotted.
    front, keeps = 0, True

    def __init__(self, peer, memory, changed):
        self.peer = peer
        self._memory = memory
        self._changed = changed

    async def give(self, slot):
        """The message in that slot has been copied."""
        self.give_late(slot)

    def give_late(self, slot):
        """As ``give``, from both levels."""
        self._memory.free(slot)
        self._changed()  # a message that found no room may be kept now


class Keeper:
    """Keeps the messages of one task for which no receive was posted, as long as there is memory.

    A long message is pulled into a block of data memory, if it is wanted. A short one is moved out of its slot as soon
    as SLOTS_USED messages wait in slots of the same channel, so that messages for others still come through.

    Parameters
    ----------
    task : Task
    keepers : list of Keeper
        Those of the tasks of the same layer on the same CAB.
    wants : callable(Arrival) → bool
        Whether a long message is to be kept; all by default.
    """

    __slots__ = ("task", "wants", "_keepers", "_kept", "_failed", "_refused", "_thread")

    def __init__(self, task, keepers, wants=lambda arrival: True):
        self.task = task
        self.wants = wants
        self._keepers = keepers
        self._kept = Kept(task.cab.id, task.cab.memory, task.inbox.changed)
        self._failed = []  # messages that could not be fetched: their receives will hear why
        self._refused = None  # bytes in use when there was room, but not in one piece
        keepers.append(self)
        self._thread = task.cab.kernel.spawn(self._run, name=f"{task.name}: messages that wait")

    async def stop(self):
        """The task has ended."""
        self._thread.end()
        while not self._thread.ended:
            await self.task.cab.kernel.pause()
        self._keepers.remove(self)

    def slots(self, channel):
        """Short messages that wait in slots of ``channel``."""
        return sum(arrival.channel is channel and not arrival.transfer for arrival in self.task.inbox.arrivals)

    def _next(self):
        """The oldest message that is to be kept and for which there is memory, or None."""
        for arrival in self.task.inbox.arrivals:
            if arrival.moving or arrival.channel.keeps or arrival in self._failed:
                continue
            if arrival.transfer:
                wanted = self.wants(arrival)
            else:
                wanted = sum(each.slots(arrival.channel) for each in self._keepers) >= SLOTS_USED
            if wanted and self._room(arrival.length):
                return arrival
        return None

    def _room(self, length):
        memory = self.task.cab.memory
        if self._refused is not None and memory.used >= self._refused:
            return False
        block = 1 << max(0, length - 1).bit_length()
        return memory.used + block <= memory.size // SHARE

    async def _run(self):
        """The thread."""
        inbox, memory, kernel = self.task.inbox, self.task.cab.memory, self.task.cab.kernel
        while True:
            await inbox.wait("a message to keep", lambda: self._next() is not None)
            arrival = self._next()
            if arrival is None:  # received meanwhile
                continue
            kernel.door.spend(kernel.costs.nectarine_keep)
            address = memory.try_allocate(arrival.length)
            self._refused = memory.used if address is None else None
            if address is not None:
                await self._keep(arrival, address)

    async def _keep(self, arrival, address):
        """Moves the bytes of a message to ``address``."""
        inbox, memory = self.task.inbox, self.task.cab.memory
        slot, channel = arrival.slot, arrival.channel
        arrival.slot, arrival.moving = None, True
        done = False
        try:
            if not arrival.transfer and arrival.length:
                memory.store(address, await memory.load(slot + channel.front, arrival.length))
            await channel.give(slot)
            done = not arrival.transfer or await self._fetch(arrival, address)
        except TaskError:  # the receive that asks for the bytes hears of it
            pass
        finally:
            arrival.moving = False
            if done:
                self.task.agent.received(arrival)
                arrival.transfer, arrival.slot, arrival.channel = 0, address, self._kept
            else:
                memory.free(address)
                self._failed = [each for each in self._failed if each in inbox.arrivals] + [arrival]
            inbox.changed()

    async def _fetch(self, arrival, address):
        """Brings the bytes of a long message. False if its sender has withdrawn it."""
        task = self.task
        transfers, memory = task.agent.transfers, task.cab.memory
        if arrival.channel.peer != task.cab.id:
            done = await transfers.pull(arrival, address)
            task.copies.dma_in += arrival.length * done
        else:
            done = await transfers.copy(arrival, lambda offset, data: memory.store(address + offset, data))
            task.copies.cpu_in += arrival.length * done
        return done
