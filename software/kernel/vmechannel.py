"""The CAB's VME DMA channel, as the software above it sees it: bytes between data memory and the node's memory.

Source: "The Design of Nectar" (1989), sections 5.1 and 6.2.2 (a message is given as areas in CAB or VME memory; VME and
network transfers of its packets overlap). Specification: docs/nodes.md, "The node's memory"; docs/vme.md.
"""

from collections import deque
from dataclasses import dataclass

from ...hdl.cab.addresses import REG, Irq
from ...hdl.cab.vme.numbers import NODE_MEMORY, NODE_MEMORY_BYTES, Modifier
from ..door import BusError
from ..errors import NodeMemoryError

__all__ = ["VmeChannel", "is_remote", "lies_in_node"]

_ADDRESS, _REMOTE = REG["VD_ADDRESS"].address, REG["VD_REMOTE"].address
_SEND, _FETCH = REG["VD_SEND"], REG["VD_FETCH"]
_STATUS, _RESULT = REG["VD_STATUS"], REG["VD_RESULT"]
_ENTERING = (_SEND.address, _FETCH.address)
_WORD = _SEND.modifier.put(Modifier.A32_USER_BLOCK) | _SEND.notify.mask
#: Entries in the list at a time.
_DEPTH = 8


def is_remote(address):
    """Whether the address of an area is one on the VME bus rather than one of the CAB."""
    return address >= NODE_MEMORY


def lies_in_node(address, length):
    """Whether an area lies in the node's memory."""
    return NODE_MEMORY <= address <= address + length <= NODE_MEMORY + NODE_MEMORY_BYTES


@dataclass(slots=True)
class ChannelCounters:
    """What the channel of one CAB has moved."""

    entries: int = 0  # that have ended well
    bytes_out: int = 0  # to the node's memory
    bytes_in: int = 0  # from it
    failed: int = 0  # entries that a bus error or a silent bus has cut short


class _Move:
    """An entry of the list. ``done(error)`` is called at interrupt level when it has ended: None or a
    NodeMemoryError."""

    __slots__ = ("register", "remote", "local", "length", "done")

    def __init__(self, register, remote, local, length, done):
        self.register = register
        self.remote = remote
        self.local = local
        self.length = length
        self.done = done


class VmeChannel:
    """The channel of one CAB with a node.

    Parameters
    ----------
    kernel : Kernel
    interrupts : Interrupts

    Members
    -------
    counters : ChannelCounters
    """

    __slots__ = ("kernel", "door", "counters", "_interrupts", "_queue", "_under_way", "_seen")

    def __init__(self, kernel, interrupts):
        self.kernel = kernel
        self.door = kernel.door
        self.counters = ChannelCounters()
        self._interrupts = interrupts
        self._queue = deque()
        self._under_way = deque()
        self._seen = 0  # VD_STATUS.done, as last seen
        interrupts.on_moved, interrupts.on_moves = self._moved, self._fill
        kernel.boot.append(lambda: interrupts.add(Irq.VME_DONE, Irq.VME_ERROR))

    @property
    def is_at_interrupt_level(self):
        """Whether the interrupt handler runs, at whose end what was queued is begun."""
        return self._interrupts.active

    # -- what is to be moved; from both levels -------------------------------------------------------
    def fetch(self, remote, local, length, done):
        """Queues a move from VME address ``remote`` to byte address ``local``. A thread calls ``enter`` behind it."""
        self._queue.append(_Move(_FETCH, remote, local, length, done))
        self._interrupts.moves = self._interrupts.active

    def send(self, local, remote, length, done):
        """The same in the other direction."""
        self._queue.append(_Move(_SEND, remote, local, length, done))
        self._interrupts.moves = self._interrupts.active

    async def enter(self):
        """By a thread: the channel begins with what was queued."""
        self.door.mask()
        try:
            await self._fill()
        finally:
            self.door.unmask()

    # -- the list; at interrupt level, or with interrupts held off -----------------------------------
    async def _fill(self):
        """Enters what there is room for."""
        door, cost = self.door, self.kernel.costs.vme_entry
        while self._queue and len(self._under_way) < _DEPTH:
            move = self._queue[0]
            door.spend(cost)
            door.write(_ADDRESS, move.local)
            door.write(_REMOTE, move.remote)
            door.write(move.register.address, _WORD | move.register.length.put(move.length))
            try:
                await door.read(_STATUS.address)
            except BusError as error:
                if error.address not in _ENTERING:
                    raise
                return  # the entry at work was cut short; VME_ERROR is about to tell
            self._under_way.append(self._queue.popleft())

    async def _moved(self, is_cut):
        """VME_DONE, or VME_ERROR (``is_cut``)."""
        door, counters = self.door, self.counters
        door.spend(self.kernel.costs.vme_moved)
        done = _STATUS.done.get(await door.read(_STATUS.address))
        for _ in range(done - self._seen & 0xFF):
            move = self._under_way.popleft()
            counters.entries += 1
            if move.register is _SEND:
                counters.bytes_out += move.length
            else:
                counters.bytes_in += move.length
            move.done(None)
        self._seen = done
        if is_cut:
            result = await door.read(_RESULT.address)
            door.write(_RESULT.address, 0)
            counters.failed += 1
            self._cut_short(result)
        await self._fill()

    def _cut_short(self, result):
        """The entry at work has failed, and with it all that belongs to the same message; the others begin anew."""
        move, *others = *self._under_way, *self._queue
        error = self._error(move, result)
        self._under_way.clear()
        self._queue = deque(other for other in others if other.done != move.done)
        move.done(error)
        for other in others:
            if other.done == move.done:
                other.done(error)

    def _error(self, move, result):
        what = "refuses an access" if _RESULT.berr.get(result) else "does not answer, or does not grant its bus"
        return NodeMemoryError(
            f"the node of {self.kernel.name} {what} to {move.length} bytes at 0x{move.remote:08X} of its memory"
        )
