"""Mailboxes: where messages wait for threads.

Source: "The Design of Nectar" (1989), section 6.1: a FIFO in the usual case of one reader and one writer; several
readers, several writers and out-of-order reads besides. Specification: docs/kernel.md.
"""

from collections import deque

from ..errors import MailboxClosed, MailboxFull, MessageTooLong, NotYours, OutOfMemory, ReceiverEnded, TimedOut
from .message import Message
from .plain import blocking

__all__ = ["Mailbox", "CAPACITY"]

#: Messages that a mailbox holds unless it is told otherwise.
CAPACITY = 256


class _Writer:
    """A thread that waits for room: for ``message``, or, if that is None, for one of ``length`` bytes that it wants
    to fill."""

    __slots__ = ("thread", "message", "length")

    def __init__(self, thread, message, length):
        self.thread = thread
        self.message = message
        self.length = length


class Mailbox:
    """A bounded FIFO of messages.

    Parameters
    ----------
    kernel : Kernel
    number : int
        By which other CABs name it.
    capacity : int
        Messages that it holds, those that are on their way into it among them.
    capacity_bytes : int or None
        Bytes that these may have together; None: no bound.

    Members
    -------
    on_arrival : callable(message) → bool, or None
        Called with each message that comes in, at the level of whoever puts it in; it may not wait. True: it has taken
        the message.
    on_begin : callable(message), or None
        Called at interrupt level with each message whose first bytes are about to arrive.
    closed : bool
    refused : int
        Messages refused because it was closed, or because they would never have found room.
    owner : ProtectedTask or None
        The protected task that reads from it.
    trusted : bool
        Whether protected tasks and other CABs may not use it: for what the kernel believes.
    paged : bool
        Whether messages get pages of their own when they arrive: for a protected task.
    """

    __slots__ = (
        "kernel",
        "number",
        "capacity",
        "capacity_bytes",
        "on_arrival",
        "on_begin",
        "refused",
        "owner",
        "trusted",
        "paged",
        "_messages",
        "_readers",
        "_writers",
        "_places",
        "_bytes",
        "_count",
        "_shut",
    )

    def __init__(self, kernel, number, capacity=CAPACITY, capacity_bytes=None):
        if capacity < 1:
            raise ValueError(f"a mailbox holds at least 1 message, not {capacity}")
        self.kernel = kernel
        self.number = number
        self.capacity = capacity
        self.capacity_bytes = capacity_bytes
        self.on_arrival = self.on_begin = None
        self.refused = 0
        self.owner = None
        self.trusted = False
        self.paged = False
        self._messages = deque()
        self._readers = deque()  # (thread, match)
        self._writers = deque()  # _Writer
        self._places = 0  # kept for messages that are reserved
        self._bytes = 0  # of messages and reserved places
        self._count = 0  # messages that have come in
        self._shut = None  # class of the error that tells that it is closed

    def __str__(self):
        return f"mailbox {self.number} of {self.kernel.name}"

    def __len__(self):
        return len(self._messages)

    @property
    def full(self):
        """Whether it can take no more."""
        return not self._fits(0)

    @property
    def reserved(self):
        """Places that are kept for messages on their way."""
        return self._places

    @property
    def readers(self):
        """How many threads wait for a message."""
        return len(self._readers)

    @property
    def writers(self):
        """How many threads wait for room."""
        return len(self._writers)

    @property
    def closed(self):
        """See the class."""
        return self._shut is not None

    def fits(self, length):
        """Whether a message of ``length`` bytes finds a place in it now, whatever there is of memory."""
        return not self._writers and self._fits(length)

    def _fits(self, length):
        limit = self.capacity_bytes
        return len(self._messages) + self._places < self.capacity and (limit is None or self._bytes + length <= limit)

    # -- opening and closing, from both levels -------------------------------------------------------
    def close(self, error=MailboxClosed):
        """Frees its messages and refuses others; threads that wait here get ``error``."""
        self._shut = error
        while self._messages:
            message = self._messages.popleft()
            self._bytes -= message.length
            message.free()
        for queue in (self._readers, self._writers):
            while queue:
                item = queue.popleft()
                thread = item.thread if isinstance(item, _Writer) else item[0]
                self.kernel.fail(thread, self._closed())

    def open(self):
        """Makes it usable again."""
        self._shut = None

    def reopen(self, error):
        """Makes it usable again if it was closed with that error."""
        if self._shut is error:
            self._shut = None

    def _closed(self):
        if self._shut is ReceiverEnded:
            return ReceiverEnded(f"{self} is closed: the task that it belonged to has ended")
        return MailboxClosed(f"{self} is closed: open it again before it is used")

    def _check(self):
        if self._shut is not None:
            raise self._closed()
        if self.trusted and self.kernel.current.task is not None:
            raise NotYours(f"{self} is the kernel's own: protected tasks call the protocols")

    def refuses(self, length):
        """Whether a message of ``length`` bytes from outside must be turned away: closed, or it would never find
        room. It is counted then."""
        if self._shut is None and not self.trusted and self._never(length) is None:
            return False
        self.refused += 1
        return True

    def _never(self, length):
        """The error of a message that would never find room, or None."""
        if self.capacity_bytes is not None and length > self.capacity_bytes:
            return MessageTooLong(f"{self} holds {self.capacity_bytes} bytes, not {length}: send it in parts")
        size = self.kernel.memory.size
        if length > size:
            return OutOfMemory(f"{self.kernel.name} has {size} bytes of data memory, not {length}: send it in parts")
        return None

    def _check_length(self, length):
        error = self._never(length)
        if error is not None:
            raise error

    # -- writing in place ----------------------------------------------------------------------------
    def try_reserve(self, length, source=None, number=0, paged=False):
        """A Message of ``length`` bytes to be filled in place and committed; None if there is no place or no memory.
        From both levels."""
        if self._shut is not None or self._writers or not self._fits(length):
            return None
        memory = self.kernel.memory
        address = None
        if length:
            address = memory.try_allocate(memory.paged(length) if paged or self.paged else length)
            if address is None:
                return None
        self._places += 1
        self._bytes += length
        message = Message(memory, address, length, source, number, self)
        message.reserved = True
        return message

    @blocking
    async def reserve(self, length, timeout_us=None, paged=False):
        """A Message of ``length`` bytes to be filled in place and committed. Waits for a place in the mailbox and for
        memory.

        ``paged``: in pages of its own. Raises MailboxFull after ``timeout_us`` microseconds, MailboxClosed, and
        MessageTooLong or OutOfMemory if there would never be room.
        """
        if timeout_us is None:
            return await self._reserve(length, paged)
        kernel = self.kernel
        try:
            if timeout_us > 0:
                return await kernel.within(timeout_us, self._reserve(length, paged))
            self._check()
            self._check_length(length)
            message = self.try_reserve(length, kernel.cab_id, paged=paged)
        except TimedOut:
            message = None
        if message is None:
            raise self._is_full()
        return message

    async def _reserve(self, length, paged):
        kernel, memory = self.kernel, self.kernel.memory
        kernel.check_pending()
        self._check()
        self._check_length(length)
        if self._writers or not self._fits(length):
            writer = _Writer(kernel.current, None, length)
            self._writers.append(writer)
            await kernel.block(f"room in {self}", lambda: self._leave(writer), lambda _: self.unkeep(length))
        else:
            self._keep(length)
        address = None
        if length:
            try:
                address = await memory.allocate(memory.paged(length) if paged or self.paged else length)
            except BaseException:
                self.unkeep(length)
                raise
        return self._reserved(address, length, kernel.cab_id, 0)

    def _reserved(self, address, length, source, number):
        message = Message(self.kernel.memory, address, length, source, number, self)
        message.reserved = True
        return message

    def commit(self, message, length=None):
        """Puts in a message that was reserved, shortened to ``length`` bytes. From both levels.

        Raises MailboxClosed if it has been closed since; the message is released then.
        """
        if not message.reserved or message.mailbox is not self:
            raise ValueError(f"{message!r} was not reserved in {self}, or has been committed or released")
        if length is not None:
            if not 0 <= length <= message.length:
                raise ValueError(f"a message reserved with {message.length} bytes cannot be committed with {length}")
            self._bytes -= message.length - length
            message.shorten(length)
            self._room()
        if not self.arrive(message):
            raise self._closed()

    def arrive(self, message):
        """As ``commit`` at interrupt level: False, and counted, if the mailbox has been closed since."""
        message.reserved = False
        self._places -= 1
        self._bytes -= message.length
        if self._shut is not None:
            self.refused += 1
            message.free()
            self._room()
            return False
        if self._put(message):
            self._room()
        return True

    def release(self, message):
        """Gives a message's memory back; of one that is reserved its place, too. From both levels."""
        message.free()

    def keep(self, length):
        """Keeps a place for a message of ``length`` bytes whose memory is the caller's affair; False if there is none.
        ``arrive`` puts it in, ``unkeep`` gives the place back. From both levels.
        """
        if self._shut is not None or self._writers or not self._fits(length):
            return False
        self._keep(length)
        return True

    def _keep(self, length):
        self._places += 1
        self._bytes += length

    def unkeep(self, length):
        """Gives back a place that was kept: its message will not come."""
        self._places -= 1
        self._bytes -= length
        self._room()

    # -- putting -------------------------------------------------------------------------------------
    def try_put(self, message):
        """Puts a message; False if the mailbox is full. From both levels. Raises MailboxClosed."""
        self._check()
        if self._writers or not self._fits(message.length):
            return False
        self._put(message)
        return True

    @blocking
    async def put(self, message, timeout_us=None):
        """Puts a message; waits while the mailbox is full.

        Raises MailboxFull after ``timeout_us`` microseconds, MailboxClosed, MessageTooLong if it would never find room;
        the message is still the caller's then."""
        self.kernel.check_pending()
        if not self.try_put(message):
            self._check_length(message.length)
            kernel = self.kernel
            timeout = kernel.cycles(timeout_us)
            writer = _Writer(kernel.current, message, message.length)
            self._writers.append(writer)
            try:
                await kernel.block(f"room in {self}", lambda: self._leave(writer), timeout=timeout)
            except TimedOut:
                raise self._is_full() from None

    def _is_full(self):
        return MailboxFull(f"{self} is full: {len(self._messages)} messages wait in it, {self._places} places are kept")

    def _leave(self, writer):
        """A writer does not wait any more; one behind it may want less."""
        self._writers.remove(writer)
        self._room()

    def _put(self, message):
        """Hands a message to the upcall or to the first reader that takes it (and returns True), or keeps it."""
        kernel = self.kernel
        costs = kernel.costs
        message.order = self._count = self._count + 1
        if self.on_arrival is not None:
            kernel.door.spent += costs.upcall
            if self.on_arrival(message):
                return True
        if self._readers and self._offer(message):
            return True
        kernel.door.spent += costs.mailbox_put
        self._messages.append(message)
        self._bytes += message.length
        return False

    def _offer(self, message):
        """Hands a message to the first reader that takes it."""
        kernel, readers = self.kernel, self._readers
        for index, (thread, match) in enumerate(readers):
            if match is None or match(message):
                del readers[index]
                kernel.door.spent += kernel.costs.mailbox_put + kernel.costs.wake
                kernel.wake(thread, message)
                return True
        return False

    def _room(self):
        """A place has become free."""
        writers = self._writers
        while writers and self._fits(writers[0].length):
            writer = writers.popleft()
            if writer.message is not None:
                self._put(writer.message)
            else:
                self._keep(writer.length)
            self.kernel.wake(writer.thread)
        if self.kernel.on_room is not None:
            self.kernel.on_room()

    # -- taking --------------------------------------------------------------------------------------
    def try_take(self, match=None):
        """Takes out the oldest message (for which ``match(message)`` is true); None if there is none. From both
        levels. Raises MailboxClosed."""
        self._check()
        return self._oldest(match)

    def _oldest(self, match):
        """As ``try_take``, of a mailbox that may be used."""
        kernel, messages = self.kernel, self._messages
        costs = kernel.costs
        cost, found = costs.mailbox_get, None
        if match is None:
            found = messages.popleft() if messages else None
        else:
            for index, message in enumerate(messages):
                cost += costs.mailbox_look
                if match(message):
                    del messages[index]
                    found = message
                    break
        kernel.door.spent += cost
        if found is not None:
            self._bytes -= found.length
            if self._writers or kernel.on_room is not None:
                self._room()
        return found

    @blocking
    async def take(self, match=None, timeout_us=None):
        """Takes out the oldest message (for which ``match(message)`` is true); waits until there is one.

        Threads that wait are served in their order. Raises TimedOut after ``timeout_us`` microseconds, MailboxClosed.
        """
        kernel = self.kernel
        message = None
        if kernel.current.pending is not None:
            kernel.check_pending()
        self._check()
        if self._messages:
            message = self._oldest(match)
        if message is None:
            timeout = kernel.cycles(timeout_us)
            reader = kernel.current, match
            self._readers.append(reader)
            message = await kernel.block(self, lambda: self._readers.remove(reader), self._return, timeout)
            kernel.door.spent += kernel.costs.mailbox_get
        return kernel.notes.taken(message) if message.layer else message

    def _return(self, message):
        """A message that its reader did not come to take: to the next reader, or to where it was."""
        if self._shut is not None:
            self.refused += 1
            message.free()
        elif not self._offer(message):
            behind = sum(other.order < message.order for other in self._messages)
            self._messages.insert(behind, message)
            self._bytes += message.length

    receive, try_receive = take, try_take
