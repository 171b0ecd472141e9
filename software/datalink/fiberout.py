"""The sending side: packets into the fiber-out list, ahead of the fiber.

Source: "The Design of Nectar" (1989), sections 4.2.3 and 6.2.1 (the datalink gathers the packet from where it lies);
*Network-Based Multicomputers*, section 5.3.1 (the source tests the ready bit, here by ``wait_ready``).
"""

from collections import deque
from itertools import cycle

from ...hdl.cab.addresses import HEADER_BYTES, REG, TX_LIST_DEPTH, Irq
from ...hdl.host.events import EventGroup, EventKind
from ...hdl.hub.commands import Op
from ...hdl.link.symbol import ANY_HUB
from ..door import STORE, Awaited, Operation, OperationKind
from ..errors import MessageTooLong
from ..kernel.lock import Lock
from ..kernel.thread import BLOCK
from ..packet import note_header
from .route import CLOSE_ALL, command_word

__all__ = ["FiberOut"]

_STATUS = REG["TX_STATUS"].address
_COMMAND = REG["TX_COMMAND"].address
_ADDRESS = REG["TX_ADDRESS"].address
_AREA = REG["TX_AREA"].address
_SYMBOL = REG["TX_SYMBOL"].address
_START = REG["TX_AREA"].start.mask
_FINISH = REG["TX_AREA"].end.mask | REG["TX_AREA"].crc.mask
_NOTIFY = REG["TX_AREA"].notify.mask
_FREE = REG["TX_STATUS"].free.mask
_WAITING = REG["TX_STATUS"].waiting.mask
_READY = REG["TX_STATUS"].ready.mask
_SENT_LOW = REG["TX_STATUS"].sent.low
_SENT = int(Irq.SENT)
_SENT_BIT = 1 << _SENT
_MESSAGES = int(EventGroup.MESSAGES)
_CLOSE_UNCOUNTED = command_word(Op.CLOSE_ALL, ANY_HUB, 0)
_READ_STATUS = Awaited(Operation(int(OperationKind.READ), _STATUS, 4))
#: The last entry of a packet that is counted, and of one that is not, for ``Door.post``.
_CLOSES = (STORE, _COMMAND, 4, CLOSE_ALL), (STORE, _COMMAND, 4, _CLOSE_UNCOUNTED)

#: Places for headers, used in turn: one for each entry of the list and for those that are being worked on, so that a
#: header has left when its place is used again.
_HEADERS = TX_LIST_DEPTH + 4
#: Of the packets of a long message one in so many is counted when it has left: each costs an interrupt when somebody
#: waits for room.
_COUNT = 4
#: Looks of the watch that fiber out may wait for a ready signal, if a transport hears no answers.
_DOUBT = 4
#: Entries that must be free before a thread that waits for room is woken, so that it refills the list in one go.
_REFILL = TX_LIST_DEPTH // 2


class FiberOut:
    """Fiber out of one CAB. Threads write under ``async with out:``, which holds ``lock``; what must not wait is
    posted.

    Software runs ahead of what it has posted to the board. So a thread lets go of the lock only when all that it wrote
    is on the board: then what interrupt handlers write comes behind it there, too, and ``done`` is called for the right
    packets.

    Members
    -------
    lock : Lock
    posted : deque
        Packets that were posted and wait for the lock or for room: (opens, header, areas, done, argument), the oldest
        first.
    link_suspect : bool
        A transport hears no answers: a ready signal that does not come is taken for lost much sooner, and then at every
        look of the watch, until the list is empty and the way can be looked at. What is damaged if that is wrong will
        be sent again. Ends when there is progress.
    still : bool
        Whether the thread that holds the lock waits for a reply, and has written nothing by halves.
    hello : tuple of int
        The symbols by which this CAB says who it is.
    quiet : bool
        Whether all that was written has left, as far as is known.
    """

    __slots__ = (
        "kernel",
        "door",
        "memory",
        "interrupts",
        "watch",
        "counters",
        "lock",
        "posted",
        "_patience",
        "_free",
        "_queued",
        "_uncounted",
        "_sent",
        "_done",
        "_room",
        "_wanted",
        "_finishing",
        "_places",
        "_status",
        "_stalled",
        "_seen",
        "_recent",
        "_unclosed",
        "_between",
        "link_suspect",
        "still",
        "hello",
        "_asked",
        "_forced",
    )

    def __init__(self, kernel, memory, interrupts, watch, counters, patience):
        self.kernel = kernel
        self.door = kernel.door
        self.memory = memory
        self.interrupts = interrupts
        self.watch = watch
        self.counters = counters
        self.lock = Lock(kernel, f"the fiber out of {kernel.name}", guard=True)
        self.posted = deque()
        self._patience = patience  # ticks of the watch until a ready signal is taken for lost
        self._free = TX_LIST_DEPTH  # entries that are free at least
        self._queued = 0  # entries marked notify that were written since reset
        self._sent = 0  # those of them that are known to have left
        self._uncounted = 0  # packets written since the last of them
        self._done = deque()  # (count of ``_sent`` to wait for, action, argument)
        self._room = None  # thread that waits for room
        self._wanted = 0  # entries that it waits for
        self._finishing = 0  # threads that wait until what they sent has left
        block = memory.try_allocate(_HEADERS * HEADER_BYTES)
        self._places = cycle([block + index * HEADER_BYTES for index in range(_HEADERS)])  # for headers
        self._status = 0
        self._stalled = 0
        self._seen = None
        self._recent = False  # whether anything was written since the last look of the watch
        self._unclosed = False  # whether the close all of a quiet time is still to be sent
        self._between = True  # no thread is in the midst of writing: a handler may write
        self.link_suspect = False
        self._forced = False  # and packets have been sent though no ready signal had come
        self.still = False
        self.hello = ()
        self._asked = False  # a hello is asked for and not yet written
        interrupts.on_status = self._on_status
        memory.on_shortage = self.flush_completions
        watch.watchers.append(self._tick)

    @property
    def quiet(self):
        """See the class."""
        return self._queued == self._sent

    def immediate(self, entries):
        """Whether a thread that writes so many entries now certainly waits for nothing."""
        return self.lock.holder is None and not self.posted and self._free >= entries

    # -- the lock ------------------------------------------------------------------------------------
    async def __aenter__(self):
        lock = self.lock
        if lock.holder is not None:
            await lock.acquire()
        else:
            lock.holder = self.kernel.current
        self._between = False
        return self

    async def __aexit__(self, kind, error, trace):
        if kind is not GeneratorExit:  # there nobody would carry out what is awaited
            if self._asked:
                await self.say_late_hello()
            await self.door.now()
            while self.posted and self._write_posted():
                await self.door.now()
        self._between = True
        self.lock.release()

    # -- writing the list ----------------------------------------------------------------------------
    async def send(self, opens, header, areas, last, done, argument):
        """``packet`` for one that stands alone, with the lock; posted packets may go first."""
        async with self:
            need = len(opens) + len(areas) + 2
            if self._free < need or self.posted:
                await self._make_room(need, True)
            self._write(need, opens, header, areas, True, last, done, argument)
            if not self.watch.on:
                await self.watch.start()

    async def packet(self, opens, header, areas, close=True, last=True, done=None, argument=None):
        """Writes a packet: the commands ``opens``, then the bytes of ``header`` and of ``areas`` with their CRC, then
        *close all*.

        ``areas``: list of (byte address, bytes). ``last``: False if the caller is going to send more at once; only then
        may it be left uncounted. ``done(argument)`` (only with ``last``) is called, at either level, some time after
        all of it has left. Returns when all is in the list. The caller holds the lock. Raises MessageTooLong for more
        than the list could hold at once."""
        need = len(opens) + len(areas) + 2
        if self._free < need:
            await self._make_room(need)
        self._write(need, opens, header, areas, close, last, done, argument)
        if not self.watch.on:
            await self.watch.start()

    def post(self, opens, header, areas, done=None, argument=None):
        """Writes a packet like ``packet``, at once if nobody holds the lock and there is room, else as soon as may be;
        never waits.

        From both levels, and without the lock. Packets that are posted keep their order. Raises MessageTooLong like
        ``packet``."""
        _fits(len(opens) + len(areas) + 2)
        self.posted.append((opens, header, areas, done, argument))
        self.interrupts.settled = None
        if self.interrupts.active:
            self._recent = True
            if self._between:
                self._write_posted()
            self.watch.start_late()
        elif len(self.posted) == 1 and self.lock.holder is None:
            self.kernel.spawn(self._carry, name="posted packets")

    async def _carry(self):
        """A thread: takes the lock, so that what threads have posted is written when it lets go of it."""
        async with self:
            if not self.watch.on:
                await self.watch.start()

    def _write_posted(self):
        """Writes what was posted, as far as there is room. Returns whether any was."""
        posted = self.posted
        some = False
        while posted:
            opens, header, areas, done, argument = posted[0]
            need = len(opens) + len(areas) + 2
            if self._free < need:
                self.interrupts.add(_SENT)
                break
            posted.popleft()
            self._write(need, opens, header, areas, True, True, done, argument)
            some = True
        return some

    def _write(self, need, opens, header, areas, close, last, done, argument):
        """Writes a packet of ``need`` entries, for which there is room."""
        self._free -= need
        self.interrupts.settled = None
        self._recent = True
        self._uncounted += 1
        counted = last or self._uncounted == _COUNT
        if counted:
            self._queued += 1
            self._uncounted = 0
        door, costs = self.door, self.kernel.costs
        door.spent += costs.datalink_send + costs.datalink_entry * need
        for word in opens:
            door.post((STORE, _COMMAND, 4, word))
        if door.groups & _MESSAGES:
            note_header(door, EventKind.QUEUED, header)
        place = next(self._places)
        door.write_block(place, header)
        entries = [STORE, _ADDRESS, 4, place, STORE, _AREA, 4, HEADER_BYTES | _START]
        for address, length in areas:
            entries += (STORE, _ADDRESS, 4, address, STORE, _AREA, 4, length)
        entries[-1] |= _FINISH | _NOTIFY if counted and not close else _FINISH
        if close:
            entries += _CLOSES[not counted]
        door.post(entries)
        self.counters.packets_sent += 1
        if done is not None:
            self._done.append((self._queued, done, argument))

    async def commands(self, words, done=None, argument=None):
        """Writes HUB commands (TX_COMMAND words); CLOSE_ALL is counted. The caller holds the lock.

        ``done`` as above, if the last word is CLOSE_ALL.
        """
        if self._free < len(words):
            await self._make_room(len(words))
        self._free -= len(words)
        self.interrupts.settled = None
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

    async def _make_room(self, need, alone=False):
        """Waits until ``need`` entries are free. ``alone``: nothing has been written since the lock was taken."""
        _fits(need)
        while True:
            status = await _READ_STATUS
            self._between = False
            self._look(status)
            self._free = status & _FREE
            wrote = alone and self.posted and self._write_posted()
            if self._free >= need:
                return
            if wrote:
                continue
            self._room = thread = self.kernel.current
            self._wanted = max(need, _REFILL)
            thread.waits_for = self.lock
            self.interrupts.add(_SENT)
            self._between = alone
            await BLOCK

    # -- hello ---------------------------------------------------------------------------------------
    def say_hello(self):
        """At interrupt level: the neighbour wants to know who is here. It is told as soon as no thread writes and
        there is room."""
        self._asked = True
        self.interrupts.settled = None
        if self._between or self.still:
            self._write_hello()

    def _write_hello(self):
        if self._free >= len(self.hello):
            self._asked = False
            self._free -= len(self.hello)
            self.interrupts.settled = None
            self.door.spend(self.kernel.costs.datalink_hello)
            for symbol in self.hello:
                self.door.write(_SYMBOL, symbol)

    async def say_late_hello(self):
        """By the thread that holds the lock, between whole packets and commands: says the hello that no handler
        could."""
        if self._asked:
            self._write_hello()
            await self.door.now()

    async def wait_still(self, block):
        """The thread that holds the lock awaits ``block`` and writes nothing meanwhile, so that hellos may be said."""
        self.still = True
        try:
            await block
        finally:
            self.still = False

    # -- what has left -------------------------------------------------------------------------------
    def _look(self, status):
        """Takes note of what has left according to TX_STATUS; from both levels."""
        self._status = status
        sent = self._sent = self._sent + ((status >> _SENT_LOW) - self._sent & 0xFF)
        done = self._done
        while done and done[0][0] <= sent:
            _, action, argument = done.popleft()
            action(argument)

    def _on_status(self, status):
        """At interrupt level."""
        known = self._between or self._asked and self.still
        if known:
            self._free = status & _FREE  # before ``_look``: what it calls may write
        self._status = status
        if (status >> _SENT_LOW) - self._sent & 0xFF:
            self._look(status)
        if self._between and self.posted:
            self._write_posted()
        if self._asked and known:
            self._write_hello()
        interrupts = self.interrupts
        if interrupts.enabled & _SENT_BIT:
            free = self._free if known else status & _FREE
            if self._room is not None and free >= self._wanted:
                self.kernel.wake(self._room)
                self._room = None
            if (
                self._room is None
                and not self._finishing
                and not self.posted
                and not (self._done and self.memory.awaited)
            ):
                interrupts.remove(_SENT)
        elif self._between and not self.posted and not self._asked:
            interrupts.settled = status

    async def ready(self):
        """Whether the HUB has room for another packet, as far as the board knows."""
        return bool(await _READ_STATUS & _READY)

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

    async def flush_completions(self):
        """Sees to it that ``done`` of what leaves is called at once, from now on until no thread waits for memory."""
        self._look(await _READ_STATUS)
        if self._done:
            self.interrupts.add(_SENT)

    # -- recovery ------------------------------------------------------------------------------------
    def _tick(self):
        """A look of the watch, at interrupt level, behind ``_on_status`` of the same interrupt."""
        recent, self._recent = self._recent, False
        self._unclosed |= recent
        if self._queued != self._sent:
            seen = (self._sent, self._status & _FREE)
            before = self._seen or (self._sent, 0)
            # Fewer free entries are no sign of life: they may have been written since. Nor is what was forced out.
            moved = (seen[0] != before[0] or seen[1] > before[1]) and not self._forced
            if not self._status & _WAITING or moved:
                self._stalled = 0
                self.link_suspect = self._forced = False
            else:
                self._stalled += 1
                if self._stalled >= (min(_DOUBT, self._patience) if self.link_suspect else self._patience):
                    # The ready signal of the last packet got lost (or its HUB holds it for longer than anyone should).
                    self._forced = self.link_suspect
                    self._stalled = _DOUBT if self.link_suspect else 0
                    self.counters.ready_recovered += 1
                    self.door.write(REG["TX_CONTROL"].address, REG["TX_CONTROL"].set_ready.mask)
            self._seen = seen
            return True
        if recent or self._uncounted or self.posted or self.lock.holder is not None:
            return True
        if self._unclosed:
            # All has left and nobody writes: if the last close all got lost, this one does its work.
            self._unclosed = False
            self._free -= 1
            self.interrupts.settled = None
            self.door.write(_COMMAND, _CLOSE_UNCOUNTED)
        return False


def _fits(entries):
    """Raises MessageTooLong for more entries than the list has."""
    if entries > TX_LIST_DEPTH:
        raise MessageTooLong(
            f"{entries} hops and areas do not go into the {TX_LIST_DEPTH} entries of the fiber-out list: "
            "send fewer areas, or to fewer CABs at once"
        )
