"""The sending side: packets into the fiber-out list, ahead of the fiber.

Source: "The Design of Nectar" (1989), sections 4.2.3 and 6.2.1 (the datalink gathers the packet from where it lies);
*Network-Based Multicomputers*, section 5.3.1 (the source tests the ready bit, here by ``wait_ready``).
"""

from collections import deque

from ...hdl.cab.addresses import HEADER_BYTES, REG, TX_LIST_DEPTH, Irq
from ...hdl.link.symbol import ANY_HUB
from ...hdl.hub.commands import Op
from ..errors import MessageTooLong
from ..kernel.lock import Lock
from ..kernel.thread import BLOCK
from .route import CLOSE_ALL, command_word

__all__ = ["FiberOut"]

_STATUS = REG["TX_STATUS"].address
_COMMAND = REG["TX_COMMAND"].address
_ADDRESS = REG["TX_ADDRESS"].address
_AREA = REG["TX_AREA"].address
_START = REG["TX_AREA"].start.mask
_FINISH = REG["TX_AREA"].end.mask | REG["TX_AREA"].crc.mask
_NOTIFY = REG["TX_AREA"].notify.mask
_FREE = REG["TX_STATUS"].free.mask
_WAITING = REG["TX_STATUS"].waiting.mask
_SENT_LOW = REG["TX_STATUS"].sent.low
_SENT = Irq.SENT
_CLOSE_UNCOUNTED = command_word(Op.CLOSE_ALL, ANY_HUB, 0)

#: Places for headers, used in turn: one for each entry of the list and for those that are being worked on, so that a
#: header has left when its place is used again.
_HEADERS = TX_LIST_DEPTH + 4
#: Of the packets of a long message one in so many is counted when it has left: each costs an interrupt when somebody waits for room.
_COUNT = 4
#: Entries that must be free before a thread that waits for room is woken, so that it refills the list in one go.
_REFILL = TX_LIST_DEPTH // 2


class FiberOut:
    """Fiber out of one CAB. Whoever writes holds ``lock``.

    Members
    -------
    lock : Lock
    quiet : bool
        Whether all that was written has left, as far as is known.
    """

    __slots__ = ("kernel", "door", "memory", "interrupts", "watch", "counters", "lock", "_patience", "_free", "_queued", "_uncounted", "_sent",
                 "_done", "_room", "_wanted", "_finishing", "_headers", "_header", "_status", "_stalled", "_seen", "_recent", "_unclosed")

    def __init__(self, kernel, memory, interrupts, watch, counters, patience):
        self.kernel = kernel
        self.door = kernel.door
        self.memory = memory
        self.interrupts = interrupts
        self.watch = watch
        self.counters = counters
        self.lock = Lock(kernel, f"the fiber out of {kernel.name}")
        self._patience = patience        # ticks of the watch until a ready signal is taken for lost
        self._free = TX_LIST_DEPTH       # entries that are free at least
        self._queued = 0                 # entries marked notify that were written since reset
        self._sent = 0                   # those of them that are known to have left
        self._uncounted = 0              # packets written since the last of them
        self._done = deque()             # (count of ``_sent`` to wait for, action, argument)
        self._room = None                # thread that waits for room
        self._wanted = 0                 # entries that it waits for
        self._finishing = 0              # threads that wait until what they sent has left
        block = memory.try_allocate(_HEADERS * HEADER_BYTES)
        self._headers = [block + index * HEADER_BYTES for index in range(_HEADERS)]
        self._header = 0
        self._status = 0
        self._stalled = 0
        self._seen = None
        self._recent = False             # whether anything was written since the last look of the watch
        self._unclosed = False           # whether the close all of a quiet time is still to be sent
        interrupts.on_status = self._on_status
        memory.on_shortage = self.hurry
        watch.watchers.append(self._tick)

    @property
    def quiet(self):
        """See the class."""
        return self._queued == self._sent

    # -- writing the list ----------------------------------------------------------------------------
    async def packet(self, opens, header, areas, close=True, last=True, done=None, argument=None):
        """Writes a packet: the commands ``opens``, then the bytes of ``header`` and of ``areas`` with their CRC, then *close all*.

        ``areas``: list of (byte address, bytes). ``last``: False if the caller is going to send more at once; only then may it be left
        uncounted. ``done(argument)`` (only with ``last``) is called, at either level, some time after all of it has left. Returns when
        all is in the list. The caller holds the lock. Raises MessageTooLong for more than the list could hold at once.
        """
        need = len(opens) + len(areas) + 2
        if self._free < need:
            await self._make_room(need)
        self._free -= need
        kernel, door = self.kernel, self.door
        write = door.write
        self._recent = True
        self._uncounted += 1
        counted = last or self._uncounted == _COUNT
        if counted:
            self._queued += 1
            self._uncounted = 0
        door.spend(kernel.costs.datalink_send + kernel.costs.datalink_entry * need)
        for word in opens:
            write(_COMMAND, word)
        if kernel.trace is not None:
            await kernel.note("queued", header[2], header[6] << 8 | header[7])
        place = self._headers[self._header]
        self._header = (self._header + 1) % _HEADERS
        door.write_block(place, header)
        write(_ADDRESS, place)
        finish = _FINISH | _NOTIFY if counted and not close else _FINISH
        if areas:
            write(_AREA, HEADER_BYTES | _START)
            last = len(areas) - 1
            for index, (address, length) in enumerate(areas):
                write(_ADDRESS, address)
                write(_AREA, length | finish if index == last else length)
        else:
            write(_AREA, HEADER_BYTES | _START | finish)
        if close:
            write(_COMMAND, CLOSE_ALL if counted else _CLOSE_UNCOUNTED)
        self.counters.packets_sent += 1
        if done is not None:
            self._done.append((self._queued, done, argument))
        if not self.watch.on:
            await self.watch.start()

    async def commands(self, words, done=None, argument=None):
        """Writes HUB commands (TX_COMMAND words); CLOSE_ALL is counted. The caller holds the lock.

        ``done`` as above, if the last word is CLOSE_ALL.
        """
        if self._free < len(words):
            await self._make_room(len(words))
        self._free -= len(words)
        if CLOSE_ALL in words:
            self._queued += words.count(CLOSE_ALL)
            self._uncounted = 0
        self._recent = True
        self.door.spend(self.kernel.costs.datalink_entry * len(words))
        for word in words:
            self.door.write(_COMMAND, word)
        if done is not None:
            self._done.append((self._queued, done, argument))
        if not self.watch.on:
            await self.watch.start()

    async def _make_room(self, need):
        """Waits until ``need`` entries of the list are free. The caller alone writes the list."""
        if need > TX_LIST_DEPTH:
            raise MessageTooLong(f"{need} hops and areas do not go into the {TX_LIST_DEPTH} entries of the fiber-out list: "
                                 "send fewer areas, or to fewer CABs at once")
        while True:
            status = await self.door.read(_STATUS)
            self._look(status)
            free = status & _FREE
            if free >= need:
                self._free = free
                return
            self._room = thread = self.kernel.current
            self._wanted = max(need, _REFILL)
            thread.waits_for = self.lock
            self.interrupts.add(_SENT)
            await BLOCK

    # -- what has left -------------------------------------------------------------------------------
    def _look(self, status):
        """Takes note of what has left according to TX_STATUS; from both levels."""
        self._status = status
        sent = self._sent + ((status >> _SENT_LOW) - self._sent & 0xFF)
        if sent != self._sent:
            self._sent = sent
            done = self._done
            while done and done[0][0] <= sent:
                _, action, argument = done.popleft()
                action(argument)

    def _on_status(self, status):
        """At interrupt level."""
        self._look(status)
        interrupts = self.interrupts
        if interrupts.enabled >> _SENT & 1:
            if self._room is not None and status & _FREE >= self._wanted:
                self.kernel.wake(self._room)
                self._room = None
            if self._room is None and not self._finishing and not (self._done and self.memory.awaited):
                interrupts.remove(_SENT)

    async def finish(self):
        """Waits until all that has been written so far has left."""
        if self._queued == self._sent:
            return
        thread = self.kernel.current
        thread.waits_for = self.lock
        self._finishing += 1
        self._done.append((self._queued, self._finished, thread))
        self.interrupts.add(_SENT)
        await BLOCK

    def _finished(self, thread):
        self._finishing -= 1
        self.kernel.wake(thread)

    async def hurry(self):
        """Sees to it that ``done`` of what leaves is called at once, from now on until no thread waits for memory."""
        self._look(await self.door.read(_STATUS))
        if self._done:
            self.interrupts.add(_SENT)

    # -- recovery ------------------------------------------------------------------------------------
    def _tick(self):
        """A look of the watch, at interrupt level, behind ``_on_status`` of the same interrupt."""
        recent, self._recent = self._recent, False
        self._unclosed |= recent
        if self._queued != self._sent:
            seen = (self._sent, self._status & _FREE)
            if not self._status & _WAITING or seen != self._seen:
                self._stalled = 0
            else:
                self._stalled += 1
                if self._stalled >= self._patience:
                    # The ready signal of the last packet got lost (or its HUB holds it for longer than anyone should).
                    self._stalled = 0
                    self.counters.ready_recovered += 1
                    self.door.write(REG["TX_CONTROL"].address, REG["TX_CONTROL"].set_ready.mask)
            self._seen = seen
            return True
        if recent or self._uncounted or self.lock.holder is not None:
            return True
        if self._unclosed:
            # All has left and nobody writes: if the last close all got lost, this one does its work.
            self._unclosed = False
            self._free -= 1
            self.door.write(_COMMAND, _CLOSE_UNCOUNTED)
        return False
