"""Commands that a HUB answers: sends them, waits for the reply.

Source: "The Design of Nectar" (1989), section 4.2.1.
"""

from ...hdl.cab.addresses import REG
from ...hdl.hub.commands import BY_OPCODE, HELLO, HELLO_ASK, REPLY, Error
from ...hdl.link.symbol import ANY_HUB
from ..errors import CommandRefused, NoReply
from ..kernel.thread import BLOCK
from .route import command_word

__all__ = ["Replies", "DONE"]

_REPLY = REG["REPLY"]
#: Set in a reply, as REPLY reads, if the command was done.
DONE = _REPLY.opcode.put(REPLY)
_ERRORS = frozenset(Error)


def _possible(word):
    """Whether a HUB gives such a reply: else it was damaged on the way."""
    return (_REPLY.opcode.get(word) | REPLY) in BY_OPCODE and (bool(word & DONE) or _REPLY.value.get(word) in _ERRORS)


class Replies:
    """What HUBs answer to one CAB. Callers hold the lock of ``out``, so that only one asks at a time."""

    __slots__ = ("kernel", "timers", "out", "counters", "_waiter", "_match", "_got")

    def __init__(self, kernel, timers, interrupts, out, counters):
        self.kernel = kernel
        self.timers = timers
        self.out = out
        self.counters = counters
        self._waiter = None  # thread that is blocked until a reply comes
        self._match = None  # tells of a reply whether it ends the wait; None while nobody asks
        self._got = None  # the reply that did
        interrupts.on_reply = self._on_reply

    async def ask(self, commands, match, cycles):
        """Sends ``commands`` and waits until ``match(word)`` of a reply is true: that reply, or None after
        ``cycles`` CPU cycles."""
        await self.out.say_late_hello()
        self._got = None
        self._match = match
        await self.out.commands(commands)
        timer = await self.timers.after(cycles, self._give_up)
        if self._got is None:
            self._waiter = thread = self.kernel.current
            thread.waits_for = "a HUB's reply"
            await self.out.wait_still(BLOCK)
        self._match = None
        self.timers.cancel(timer)
        return self._got

    async def command(self, op, hub, param, cycles, attempts):
        """Has HUB ``hub`` do a command and returns the value of its reply. See ``Datalink.command``."""
        if not op & REPLY:
            raise ValueError(f"{op!r} has no reply that could be waited for")

        def match(word):
            return (word ^ expected) & ~free == 0

        free = DONE | _REPLY.value.mask | (_REPLY.hub.mask if hub == ANY_HUB else 0)
        expected = _REPLY.valid.put(1) | _REPLY.opcode.put(op) | _REPLY.hub.put(hub)
        for _ in range(attempts):
            word = await self.ask([command_word(op, hub, param)], match, cycles)
            if word is not None:
                value = word & _REPLY.value.mask
                if not word & DONE:
                    raise CommandRefused(hub, op, param, Error(value))
                return value
        raise NoReply(
            f"HUB {hub} does not answer {op.name} to {self.kernel.name}: is it on the way, and nothing in front of the "
            f"command?"
        )

    def _on_reply(self, word):
        """At interrupt level."""
        self.kernel.door.spend(self.kernel.costs.datalink_reply)
        opcode = _REPLY.opcode.get(word)
        if opcode == HELLO_ASK:
            self.out.say_hello()
        elif opcode == HELLO:
            pass  # a HUB tells who it is, as an answer to nobody here
        elif not _possible(word):
            self.counters.damaged_replies += 1
        elif self._match is None:
            self.counters.stray_replies += 1
        elif self._got is None and self._match(word):
            self._got = word
            self._wake()

    def _give_up(self, _, now):
        self._wake()

    def _wake(self):
        """Wakes the thread, once, if it has come to wait."""
        if self._waiter is not None:
            self.kernel.wake(self._waiter)
            self._waiter = None
