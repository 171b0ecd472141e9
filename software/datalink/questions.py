"""Questions to HUBs on the way and their answers, for those who look after routes; a reply that is late is never taken
for another's.

A reply has no check code. So a refusal that is not passing, and whatever ``sure`` answers, counts only when it was
heard twice in a row.

Source: "The Design of Nectar" (1989), sections 4.2.1 and 4.2.3, for the commands.
"""

from ...hdl.cab.addresses import REG
from ...hdl.hub.commands import REPLY, Error, Op
from ...hdl.link.symbol import ANY_HUB
from ..errors import NoReply
from .replies import DONE
from .route import CLOSE_ALL, command_word

__all__ = ["Questions", "Refused", "TAKEN"]

_REPLY = REG["REPLY"]
#: Refusals since others use the way.
TAKEN = (Error.BUSY, Error.LOCKED)
#: Questions sent at once: the CAB's port holds 8 replies, hellos among them.
_AT_ONCE = 5
#: Times that a question is asked whose answers differ.
_SURE = 8


class Refused(Exception):
    """A HUB has refused a question. ``error`` is an Error, ``hop`` the (hub, port or other parameter) asked about."""

    def __init__(self, error, hop):
        super().__init__(error, hop)
        self.error = error
        self.hop = hop


class _Held:
    """See Questions.held."""

    def __init__(self, questions, way):
        self._questions = questions
        self._way = way

    async def __aenter__(self):
        out = self._questions.datalink.out
        await out.__aenter__()
        try:
            for hop in self._way:
                await self._questions.ask(Op.OPEN_REPLY, *hop)
        except BaseException as error:
            await self.__aexit__(type(error), error, None)
            raise
        return self._questions

    async def __aexit__(self, kind, error, trace):
        out = self._questions.datalink.out
        if self._way and kind is not GeneratorExit:  # there nobody would carry out what is awaited
            await out.commands([CLOSE_ALL])
        await out.__aexit__(kind, error, trace)


class Questions:
    """Asks HUBs, one question at a time, each several times if need be.

    Parameters
    ----------
    datalink : Datalink
    replies : Replies
    """

    __slots__ = ("datalink", "replies", "_echo")

    def __init__(self, datalink, replies):
        self.datalink = datalink
        self.replies = replies
        self._echo = 0

    def held(self, way=()):
        """For ``async with``: holds the fiber out, and a connection along ``way`` (a list of (hub, port)) that is
        closed at the end.

        No *open* waits. Raises Refused, or NoReply of which ``hop`` is the (hub, port) that was asked for in vain.
        """
        return _Held(self, way)

    async def ask(self, op, hub, param=0, us=None):
        """The value of HUB ``hub``'s reply. Raises Refused, NoReply. The caller holds the fiber out. ``us``: one
        attempt only, which waits so long."""
        (word,) = await self._asked([op], hub, param, us)
        return _REPLY.value.get(word)

    async def whole(self, op, hub, param=0):
        """(ID of the HUB that answers, value) as ``ask``."""
        (word,) = await self._asked([op], hub, param, None)
        return _REPLY.hub.get(word), _REPLY.value.get(word)

    async def sure(self, op, hub, param=0):
        """As ``whole``, asked until two answers in a row are the same. NoReply if they never are."""
        before = None
        for _ in range(_SURE):
            answer = await self.whole(op, hub, param)
            if answer == before:
                return answer
            before = answer
        raise self._silent(f"HUB {hub} answers {op.name} of {param} differently each time", hub, param)

    async def pair(self, first, second, hub, param):
        """The values of two different commands sent directly behind each other, as ``ask``."""
        return tuple(_REPLY.value.get(word) for word in await self._asked([first, second], hub, param, None))

    async def each(self, op, hub, params):
        """The values of the same question about each of ``params``, as ``ask``; several are on their way at once."""
        values, params = [], list(params)
        cycles = self._cycles(self.datalink.options.status_us)
        for start in range(0, len(params), _AT_ONCE):
            part = params[start : start + _AT_ONCE]
            words = await self._once([(op, param) for param in part], hub, cycles)
            if words is None:
                await self._drain(hub, part[0])
            if words is None or not all(word & DONE for word in words):
                values += [await self.ask(op, hub, param) for param in part]
            else:
                values += [_REPLY.value.get(word) for word in words]
        return values

    def _cycles(self, us):
        return round(us * self.datalink.kernel.door.cpu_hz / 1_000_000)

    async def _asked(self, ops, hub, param, us):
        options = self.datalink.options
        cycles = self._cycles(us or options.status_us)
        refusal = None
        for attempt in range(1 if us else options.asks):
            if attempt and refusal is None:
                await self._drain(hub, param)
            words = await self._once([(op, param) for op in ops], hub, cycles)
            before, refusal = refusal, None
            if words is not None:
                refusal = next((Error(_REPLY.value.get(word)) for word in words if not word & DONE), None)
                if refusal is None:
                    return words
                # That others use the way holds for this moment only: what was asked before may hold no longer when it
                # is asked again.
                if refusal is before or refusal in TAKEN:
                    break
        if refusal is not None:
            raise Refused(refusal, (hub, param))
        raise self._silent(
            f"HUB {hub} does not answer {ops[0].name} of {param} to {self.datalink.kernel.name}", hub, param
        )

    @staticmethod
    def _silent(text, hub, param):
        error = NoReply(text)
        error.hop = hub, param
        return error

    async def _once(self, commands, hub, cycles):
        """The replies to ``commands``, each (op, param), sent together; None if not all come in time."""
        got = []

        def match(word):
            if (_REPLY.opcode.get(word) | REPLY) == commands[len(got)][0] and hub in (_REPLY.hub.get(word), ANY_HUB):
                got.append(word)
            return len(got) == len(commands)

        last = await self.replies.ask([command_word(op, hub, param) for op, param in commands], match, cycles)
        return got if last is not None else None

    async def _drain(self, hub, param):
        """Sees to it that nothing asked before is answered any more: replies come in order, and this one has a
        number of its own."""
        datalink = self.datalink
        datalink.counters.asked_again += 1
        for _ in range(datalink.options.asks):
            self._echo = echo = self._echo % 255 + 1
            cycles = self._cycles(datalink.options.status_us)

            def match(word):
                return (
                    _REPLY.opcode.get(word) == Op.ECHO_REPLY
                    and hub in (_REPLY.hub.get(word), ANY_HUB)
                    and _REPLY.value.get(word) == echo
                )

            if await self.replies.ask([command_word(Op.ECHO_REPLY, hub, echo)], match, cycles) is not None:
                return
        raise self._silent(f"HUB {hub} does not answer to {datalink.kernel.name} any more", hub, param)
