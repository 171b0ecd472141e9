"""Whether the nodes from which something is expected are still there. Specification: docs/nx2.md, "The watch"."""

from .layout import Kind

__all__ = ["Expectation", "Watch"]

#: Looks at which a message may still be on its way out.
_STUCK = 4
#: Looks at which a node may still owe an answer: more than a message of it to a stopped node can hold the answer up.
_SILENT = 8
#: A node that owes an answer is asked again at each so manyth look. Few questions: a stopped node has no room for many.
_AGAIN = 4
#: Answers after which a node that sends nothing else is asked no more.
_ANSWERS = 4
#: Mbyte/s of a channel (fact D1).
_RATE = 2.8


class Expectation:
    """What is expected of one other node, and what is known of it; in its Channel it is ``watch``.

    Parameters
    ----------
    watch : Watch
    channel : Channel
    """

    __slots__ = ("_watch", "_channel", "_threads", "_heard", "_came", "_queued", "_asked", "_silent", "_answers")

    def __init__(self, watch, channel):
        self._watch = watch
        self._channel = channel
        self._threads = 0
        self._heard = self._came = False  # since the last look: anything; more than an answer
        self._queued = False  # a question has not left
        self._asked = False  # a question has left, and nothing has been heard since
        self._silent = self._answers = 0  # looks without an answer; answers without anything else

    async def begin(self):
        """By a thread, before it waits for something that only the other node can bring about."""
        self._threads += 1
        self._answers = 0
        await self._watch.want(self._channel)

    def end(self):
        """It does not wait any more."""
        self._threads -= 1

    def heard(self, came):
        """At interrupt level: a message of the node has arrived. ``came``: it is more than an answer."""
        self._heard = True
        self._asked = False
        if came:
            self._came = True
            if self._answers:
                self._answers = 0
                self._watch.wanted |= self.open

    @property
    def open(self):
        """Whether the node is to be asked."""
        return self._answers < _ANSWERS and (self._threads > 0 or self._channel.expects)

    def look(self):
        """At interrupt level, at each look, if it is open. Whether the node is to be given up."""
        heard, came, self._heard, self._came = self._heard, self._came, False, False
        if heard:
            self._silent = 0
            self._answers += not came
            if self._answers == _ANSWERS:
                return False
        elif self._asked:
            self._silent += 1
            if self._silent == _SILENT:
                return True
        if not came and not self._queued and not self._silent % _AGAIN:
            self._queued = True
            self._watch.messages.post(Kind.ASK, self._channel.peer, on_sent=self._left)
        return False

    def _left(self, error):
        """The question is in the network."""
        self._queued = False
        self._asked = error is None


class Watch:
    """The looks of one node.

    Parameters
    ----------
    messages : Messages

    Members
    -------
    period_us : int
        From one look to the next: microseconds. A message is given up when each of the nodes could have sent one as
        long as the heap meanwhile.
    wanted : bool
        Something is expected of a node that was not at the last look.
    """

    __slots__ = ("messages", "kernel", "period_us", "wanted", "_timer", "_launched", "_looks")

    def __init__(self, messages):
        self.messages = messages
        self.kernel = messages.kernel
        longest_us = messages.memory.size / _RATE
        self.period_us = round(messages.nodes * longest_us / _STUCK)
        self.wanted = False
        self._timer = None
        self._launched = self._looks = 0  # of the message that is on its way out: its number, looks so far

    @property
    def due(self):
        """Whether ``begin`` is to be called."""
        return self._timer is None and (self.wanted or self.messages.adapter.busy)

    def begin(self, now):
        """At CPU cycle ``now``, from interrupt level or with interrupts held off: looks from now on, for as long as
        something is expected."""
        self.wanted = False
        self._timer = self.messages.cab.timers.at(now + self.kernel.span(self.period_us), self._look)

    async def want(self, channel):
        """By a thread: something is expected of the node of that Channel. If it is given up, that is told anew."""
        self.wanted = True
        if channel.error is not None:
            await self.messages.held_off(self.messages.lost, channel, channel.error)
        elif self._timer is None:
            await self.messages.held_off(lambda: None)

    def _look(self, _, now):
        messages, adapter = self.messages, self.messages.adapter
        self.kernel.door.spend(self.kernel.costs.look)
        self._timer, self.wanted = None, False
        if adapter.busy and self._launched == adapter.launched:
            self._looks += 1
            if self._looks == _STUCK:
                adapter.abort()
        else:
            self._launched, self._looks = adapter.launched, 0
        open = [channel for channel in messages.channels if channel.watch.open]
        for channel in open:
            if channel.watch.look():
                messages.give_up(channel.peer, "does not answer whether it is there")
        self.wanted = any(channel.watch.open for channel in open)
        if self.due:
            self.begin(now)
