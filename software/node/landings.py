"""The CAB's side of messages that go into the node's memory: packet by packet, while the next are on the fiber.

Source: "The Design of Nectar" (1989), section 6.2.2 (packet pipeline of VME and network transfers). Specification:
docs/nodes.md, "Messages in the node's memory"."""

from collections import deque

from ..errors import TimedOut
from ..packet import Status
from .refused import Refused

__all__ = ["NodeAreas"]


class Landing:
    """An area of the node's memory for the next message of a mailbox.

    Members
    -------
    message : Message or None
        The one that it is given to.
    outcome : (Status, int, int) or None
        Once it is over: bytes of the message, then source and number.
    length : int
        Bytes of the area.
    late : bool
        Whether its time is over, and only the message that it is given to is waited for.
    """

    __slots__ = (
        "message",
        "outcome",
        "length",
        "late",
        "_landings",
        "_address",
        "_begun",
        "_under_way",
        "_error",
        "_whole",
    )

    def __init__(self, landings, address, length):
        self.message = None
        self.outcome = None
        self.length = length
        self.late = False
        self._landings = landings
        self._address = address
        self._clear()

    def _clear(self):
        self._begun = 0  # bytes whose move has been queued
        self._under_way = 0  # moves
        self._error = None
        self._whole = False

    def take(self, message):
        """The message is given to it. From both levels."""
        self.message = message
        message.landing = self

    def more(self, filled):
        """The first ``filled`` bytes of the message have arrived. From both levels; a thread calls the channel's
        ``enter`` behind it."""
        message, begun = self.message, self._begun
        if filled > begun and self._error is None:
            self._begun = filled
            self._under_way += 1
            self._landings.channel.send(message.address + begun, self._address + begun, filled - begun, self._moved)

    def complete(self):
        """The whole message has arrived. From both levels."""
        self.more(self.message.length)
        self._whole = True
        self._settle()

    def lose(self):
        """The rest of the message will not come: the area is there for the next one. At interrupt level."""
        message, self.message = self.message, None
        message.landing = None
        if self._under_way:
            self._landings.lost(self, message)
            return
        message.free()
        self._clear()
        self._landings.again(self)

    def _moved(self, error):
        self._under_way -= 1
        self._error = self._error or error
        if self.message is not None:
            self._settle()
        elif not self._under_way:
            self._landings.found(self)

    def reuse(self):
        """What was lost is not moved any more."""
        self._clear()

    def _settle(self):
        if not self._whole or self._under_way:
            return
        message = self.message
        self.message = message.landing = None
        status = Status.DONE if self._error is None else Status.NODE_MEMORY
        self.end(status, message.length, (message.source or 0) << 16 | message.number)
        message.free()

    def end(self, status, first=0, second=0):
        """It is over: wakes the thread that waits for it. From both levels."""
        self.outcome = status, first, second
        self._landings.ended(self)


class Landings:
    """The areas that the node has given for the messages of one mailbox; in the order in which they were given.

    Parameters
    ----------
    port : NodePort
    mailbox : Mailbox
        Nobody else reads from it.
    """

    def __init__(self, port, mailbox):
        self.kernel = port.kernel
        self.channel = port.cab.memory.channel
        self.mailbox = mailbox
        self._free = deque()  # Landing that no message has been given to
        self._lost = {}  # Landing -> Message that it must not be used for before all moves have ended
        self._threads = {}  # Landing -> Thread
        mailbox.open()
        mailbox.on_begin, mailbox.on_arrival = self._begin, self._arrive

    # -- messages ------------------------------------------------------------------------------------
    def _begin(self, message):
        """A message has begun to arrive; at interrupt level."""
        if self._free and not len(self.mailbox) and message.length <= self._free[0].length:
            self._free.popleft().take(message)

    def _arrive(self, message):
        """A message has arrived; True if it has a landing. From both levels."""
        if message.landing is None:
            while self._free and message.length > self._free[0].length:
                self._free.popleft().end(Status.TOO_LONG, message.length)
            if not self._free:
                return False
            self._free.popleft().take(message)
        message.landing.complete()
        if not self.channel.is_at_interrupt_level:
            self.kernel.spawn(self.channel.enter, name="bytes for the node's memory")
        return True

    def again(self, landing):
        """A landing whose message was lost is the first for another."""
        if landing.late:
            landing.end(Status.TIMED_OUT)
        else:
            self._free.appendleft(landing)

    def lost(self, landing, message):
        """Its moves are still under way."""
        self._lost[landing] = message

    def found(self, landing):
        """Now they have ended."""
        self._lost.pop(landing).free()
        landing.reuse()
        self.again(landing)

    def ended(self, landing):
        """A landing is over."""
        thread = self._threads.get(landing)
        if thread is not None:
            self._threads[landing] = None
            self.kernel.wake(thread)

    # -- the node's command, by a thread -------------------------------------------------------------
    async def receive(self, address, length, timeout_us):
        """Has the next message put there: Status, its bytes, its source and number."""
        kernel, landing = self.kernel, Landing(self, address, length)
        looked = []

        def fits(message):
            looked.append(message.length)
            return len(looked) == 1 and message.length <= length

        message = self.mailbox.try_take(fits)
        if looked and message is None:
            return Status.TOO_LONG, looked[0], 0
        if message is not None:
            landing.take(message)
            landing.complete()
            await self.channel.enter()
        else:
            self._free.append(landing)
        if landing.outcome is None:
            await self._wait(kernel, landing, timeout_us)
        return landing.outcome

    async def _wait(self, kernel, landing, timeout_us):
        self._threads[landing] = kernel.current
        timeout = kernel.cycles(timeout_us or None)
        try:
            await kernel.block(
                f"a message in {self.mailbox} for the node", lambda: self._leave(landing), timeout=timeout
            )
        except TimedOut:
            if landing.message is None and landing not in self._lost:
                self._free.remove(landing)
                landing.outcome = Status.TIMED_OUT, 0, 0
                return
            # Its message is arriving: that ends, well or not.
            landing.late = True
            self._threads[landing] = kernel.current
            await kernel.block(f"the rest of a message in {self.mailbox}", None)
        finally:
            self._threads.pop(landing, None)

    def _leave(self, landing):
        self._threads.pop(landing, None)

    def close(self):
        """No more messages; what waits for some ends. Raises Refused while one is arriving."""
        if self._lost or len(self._threads) > len(self._free):
            raise Refused(Status.BAD_CONNECTION)
        while self._free:
            self._free.popleft().end(Status.BAD_CONNECTION)
        self.mailbox.on_begin = self.mailbox.on_arrival = None
        self.mailbox.close()


class NodeAreas:
    """The messages that a CAB puts into its node's memory.

    Parameters
    ----------
    port : NodePort
    """

    def __init__(self, port):
        self._port = port
        self._landings = {}  # number of a mailbox -> Landings

    async def receive(self, number, address, length, timeout_us):
        """Has the next message of mailbox ``number`` put there: as ``Landings.receive``."""
        if number not in self._landings:
            self._landings[number] = Landings(self._port, self._port.unread(number))
        return await self._landings[number].receive(address, length, timeout_us)

    async def cancel(self, number):
        """No more messages of that mailbox."""
        if number not in self._landings:
            raise Refused(Status.BAD_CONNECTION)
        self._landings[number].close()
        del self._landings[number]

    async def put(self, place, message):
        """Moves a Message to (address, bytes), and frees it: Status, 0, its bytes."""
        (address, room), length = place, message.length
        kernel, channel = self._port.kernel, self._port.cab.memory.channel
        waits, errors = [], []

        def moved(error):
            errors.append(error)
            if waits:
                kernel.wake(waits.pop())

        try:
            if length > room:
                return Status.TOO_LONG, 0, length
            if length:
                channel.send(message.address, address, length, moved)
                await channel.enter()
                if not errors:
                    waits.append(kernel.current)
                    await kernel.block("bytes for the node's memory", None)
        finally:
            message.free()
        return Status.NODE_MEMORY if any(errors) else Status.DONE, 0, length
