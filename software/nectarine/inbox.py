"""What has come for a task and what the task wants to receive: which belongs to which.

Specification: docs/nectarine.md, "Which message a receive takes"."""

from dataclasses import dataclass

from ..errors import BufferTooShort

__all__ = ["ANY", "Arrival", "Inbox", "Look", "Receive", "Sources", "selects"]

#: Any source; any type.
ANY = -1
#: Types that a mask selects from.
_MASKED = 31


def selects(selector, type):
    """Whether ``selector`` takes a message of ``type``: that type, ANY, another negative number whose bits 0 to 30 are
    a mask of the types 0 to 30, or a predicate."""
    if callable(selector):
        return bool(selector(type))
    if selector == ANY or selector == type:
        return True
    return selector < 0 and type < _MASKED and bool(selector >> type & 1)


@dataclass(frozen=True, slots=True)
class Sources:
    """Tasks from which messages are wanted: (CAB ID, number) of each; None: any. ``words`` names them."""

    places: frozenset | None
    words: str

    @property
    def cab(self):
        """ID of the CAB from which alone their messages can come, or None."""
        cabs = {cab for cab, _ in self.places} if self.places else ()
        return next(iter(cabs)) if len(cabs) == 1 else None


class Look:
    """A task that waits until there is a message of ``sources``, without a receive. ``error``: there can be none."""

    __slots__ = ("sources", "error")

    def __init__(self, sources):
        self.sources = sources
        self.error = None


class Arrival:
    """A message that has come: its bytes in a slot, or the right to pull them.

    Members
    -------
    source : (int, int)
        CAB ID and number of the task that sent it.
    type, length : int, int
    transfer : int
        Of the sender, if the bytes are still there; else 0.
    channel : Channel or LocalChannel
        It came by.
    slot : int
        Where the channel has it.
    inbox : Inbox
        Of the task that it is for.
    receive : Receive or None
        The one that has got it.
    gone : bool
        Whether it will never be received.
    order : int
        Which message of the task it is.
    moving : bool
        Whether its bytes are being moved into other memory: a receive waits for the end of that.
    """

    __slots__ = ("source", "type", "length", "transfer", "channel", "slot", "inbox", "receive", "order",
                 "moving", "gone")  # fmt: skip

    def __init__(self, source, type, length, transfer, channel, slot):
        self.source = source
        self.type = type
        self.length = length
        self.transfer = transfer
        self.channel = channel
        self.slot = slot
        self.inbox = self.receive = None
        self.order = 0
        self.moving = self.gone = False

    @property
    def address(self):
        """Byte address of its bytes, if they are here."""
        return self.slot + self.channel.front


class Receive:
    """A receive of a task.

    Members
    -------
    sources : Sources
    selector : int or callable
        Of types, as for ``selects``.
    room : int or None
        Bytes of the buffer; None: as many as there are.
    arrival : Arrival or None
        The message that it has got.
    error : Exception or None
        By which it ended.
    done : bool
        Whether the bytes are in the buffer.
    waiter : Thread or None
        The one that waits for its message, and will fetch the bytes.
    on_match : callable(Receive) or None
        Called when it has got a message though no thread waits for it.
    """

    __slots__ = ("sources", "selector", "room", "arrival", "error", "done", "waiter", "on_match", "order")

    def __init__(self, sources, selector, room):
        self.sources = sources
        self.selector = selector
        self.room = room
        self.arrival = None
        self.error = None
        self.done = False
        self.waiter = None
        self.on_match = None
        self.order = 0

    @property
    def matched(self):
        """Whether there is something to do for who waits for it."""
        return self.arrival is not None or self.error is not None or self.done

    def takes(self, arrival):
        """Whether it matches that message, however long."""
        places = self.sources.places
        return (places is None or arrival.source in places) and selects(self.selector, arrival.type)

    def words(self):
        """What it waits for, in the calls' own words."""
        if callable(self.selector):
            kind = "a type that a function selects"
        elif self.selector == ANY:
            kind = "any type"
        elif self.selector < 0:
            types = [str(type) for type in range(_MASKED) if self.selector >> type & 1]
            kind = f"type {' or '.join(types) if types else 'none'}"
        else:
            kind = f"type {self.selector}"
        return f"receive from {self.sources.words}, {kind}"


class Inbox:
    """Messages and receives of one task.

    Parameters
    ----------
    kernel : Kernel

    Members
    -------
    arrivals : list of Arrival
        That no receive has got, in the order in which they came.
    receives : list of Receive
        That have got none, in the order in which they were called.
    looks : list of Look
    waiting : list of (Thread, callable() → bool)
        Threads that wait until something is true; looked at when something has come.
    """

    __slots__ = ("kernel", "arrivals", "receives", "looks", "waiting", "_count")

    def __init__(self, kernel):
        self.kernel = kernel
        self.arrivals = []
        self.receives = []
        self.looks = []
        self.waiting = []
        self._count = 0

    def _number(self, item):
        self._count += 1
        item.order = self._count

    def arrive(self, arrival):
        """A message has come: the first receive that matches it gets it. From both levels."""
        self._number(arrival)
        arrival.inbox = self
        self._offer(arrival)
        self.changed()

    def put_back(self, arrival):
        """A message that a receive had got, and that was not received: the next one that matches it gets it."""
        arrival.receive = None
        self._offer(arrival)
        self.changed()

    def _offer(self, arrival):
        for receive in list(self.receives):
            self._look()
            if receive.takes(arrival) and self._give(receive, arrival):
                return
        self.arrivals.append(arrival)
        self.arrivals.sort(key=lambda each: each.order)

    def post(self, receive):
        """A receive is called: it gets the oldest message that it matches, or waits. From both levels."""
        self._number(receive)
        self._seek(receive)

    def post_again(self, receive):
        """The message that a receive had got is no more: it looks for another, in its old place."""
        receive.arrival = None
        self._seek(receive)

    def _seek(self, receive):
        self.receives.append(receive)
        self.receives.sort(key=lambda each: each.order)
        for arrival in self.arrivals:
            self._look()
            if receive.takes(arrival):
                if self._give(receive, arrival):
                    self.arrivals.remove(arrival)
                return

    def _give(self, receive, arrival):
        """``receive`` matches ``arrival``: gives it, unless the buffer is too short. Returns whether it was taken."""
        self.receives.remove(receive)
        if receive.room is not None and arrival.length > receive.room:
            receive.error = BufferTooShort(
                f"{receive.words()}: the message has {arrival.length} bytes, the buffer {receive.room}; the message is "
                "kept: receive it with a larger buffer"
            )
            return False
        receive.arrival, arrival.receive = arrival, receive
        if receive.waiter is None and receive.on_match is not None:
            receive.on_match(receive)
        return True

    def find(self, sources, selector):
        """The oldest message from there and of that type that no receive has got, or None."""
        wanted = Receive(sources, selector, None)
        for arrival in self.arrivals:
            self._look()
            if wanted.takes(arrival):
                return arrival
        return None

    def fail(self, place, error):
        """Receives and looks for messages from tasks of CAB ``place`` alone end by ``error``."""
        for receive in list(self.receives):
            if receive.sources.cab == place:
                self.receives.remove(receive)
                receive.error = error
        for look in self.looks:
            if look.sources.cab == place:
                look.error = error
        self.changed()

    def _look(self):
        self.kernel.door.spend(self.kernel.costs.nectarine_look)

    # -- threads that wait ---------------------------------------------------------------------------
    def changed(self):
        """Wakes who waits for what is true now. From both levels."""
        for entry in list(self.waiting):
            thread, ready = entry
            if ready():
                self.waiting.remove(entry)
                self.kernel.door.spend(self.kernel.costs.wake)
                self.kernel.wake(thread)

    async def wait(self, what, ready, timeout=None):
        """Waits until ``ready()``, ``timeout`` CPU cycles at most (TimedOut). ``what`` is shown of a thread that waits
        for ever."""
        kernel = self.kernel
        thread = kernel.current
        with thread.calling(what):
            while not ready():
                entry = thread, ready
                self.waiting.append(entry)
                await kernel.block(what, lambda: self.waiting.remove(entry), timeout=timeout)
