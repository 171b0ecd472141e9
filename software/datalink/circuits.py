"""Circuits: a route that stands before the data set out, and what to do when it does not come to stand.

Source: "The Design of Nectar" (1989), sections 4.2.1 and 4.2.2.
"""

from ...hdl.cab.addresses import REG
from ...hdl.hub.commands import STATUS_IN_USE, Error, Op
from ..errors import CircuitError
from .replies import DONE
from .route import CLOSE_ALL, command_word

__all__ = ["Circuits"]

_REPLY = REG["REPLY"]


def _refusal(word):
    """What the refusal of a command and its other reply have in common, but for the bit that tells them apart."""
    return word & ~(DONE | _REPLY.value.mask)


class Circuits:
    """Opens and closes circuits on one CAB's fiber out. Callers hold the fiber's lock.

    Parameters
    ----------
    reply_cycles, status_cycles : int
        CPU cycles to wait for the reply to an *open* and to a status command.
    attempts : int
    """

    __slots__ = ("kernel", "out", "replies", "counters", "_reply_cycles", "_status_cycles", "_attempts")

    def __init__(self, kernel, out, replies, counters, reply_cycles, status_cycles, attempts):
        self.kernel = kernel
        self.out = out
        self.replies = replies
        self.counters = counters
        self._reply_cycles = reply_cycles
        self._status_cycles = status_cycles
        self._attempts = attempts

    async def open(self, route):
        """Sends the circuit's command packets until every branch has answered.

        HUBs do an *open* of a connection that stands already at once, so the commands may be repeated at any time.
        Raises CircuitError when a HUB refuses, or after the last attempt; what was opened is then closed again.
        """
        await self._open(route, route.circuits, "circuit")
        self.counters.circuits += 1

    async def prepare(self, route):
        """The same for all of a packet's stages but the last, which is sent with the packet."""
        await self._open(route, route.before, "tree")

    async def _open(self, route, stages, what):
        for words, replies in stages:
            found = await self._stage(route, words, replies)
            if found is not None:
                await self.close()
                text, error = found
                raise CircuitError(f"no {what} from {self.kernel.name} over {route.hops} (HUB, port): {text}", error)

    async def _stage(self, route, words, replies):
        """Opens one stage; returns what is wrong (text, Error or None for silence), None if it stands."""
        found = ""
        refused = {_refusal(reply) for reply in replies}
        for _ in range(self._attempts):
            waiting = set(replies)

            def match(word):
                if word & DONE:
                    waiting.discard(word)
                    return not waiting
                return _refusal(word) in refused

            last = await self.replies.ask(words, match, self._reply_cycles)
            if last is not None and not last & DONE:
                error = Error(_REPLY.value.get(last))
                return f"HUB {_REPLY.hub.get(last)} refuses: {error.name}", error
            if last is not None:
                return None
            self.counters.reply_timeouts += 1
            found = await self._look(route)
        return found, None

    async def close(self):
        """Sends *close all*."""
        await self.out.commands([CLOSE_ALL])

    async def _look(self, route):
        """Asks the HUBs how far the route has come; returns it in words.

        A HUB that still waits for an output does not answer, since commands never overtake each other. A HUB that
        answers has done, or never got, what was sent before.
        """
        for hub, port in route.hops:

            def match(word, hub=hub):
                return word >> 8 & 0xFF == hub and word >> 16 & 0xFE == Op.STATUS_OUTPUT & 0xFE

            word = await self.replies.ask([command_word(Op.STATUS_OUTPUT, hub, port)], match, self._status_cycles)
            if word is None:
                return f"HUB {hub} does not answer, port {port} may be in use all the time"
            self.counters.status_replies += 1
            value = word & 0xFF
            if not value & STATUS_IN_USE:
                return f"HUB {hub} has not connected port {port}"
        return "all HUBs have made their connections, but the reply gets lost"
