"""Questions to HUBs on the way and their answers, for those who look after routes; a reply that is late is never taken for another's.

Source: "The Design of Nectar" (1989), sections 4.2.1 and 4.2.3, for the commands.
"""

from ...hdl.cab.addresses import REG
from ...hdl.hub.commands import REPLY, Error, Op
from ...hdl.link.symbol import ANY_HUB
from ..errors import NoReply
from .replies import DONE
from .route import CLOSE_ALL, command_word

__all__ = ["Questions", "Refused"]

_REPLY = REG["REPLY"]


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
        if self._way and kind is not GeneratorExit:     # there nobody would carry out what is awaited
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
        """For ``async with``: holds the fiber out, and a connection along ``way`` (a list of (hub, port)) that is closed at the end.

        No *open* waits. Raises Refused, or NoReply of which ``hop`` is the (hub, port) that was asked for in vain.
        """
        return _Held(self, way)

    async def ask(self, op, hub, param=0, us=None):
        """The value of HUB ``hub``'s reply. Raises Refused, NoReply. The caller holds the fiber out. ``us``: one attempt only, which waits so long."""
        (word,) = await self._asked([op], hub, param, us)
        return _REPLY.value.get(word)

    async def whole(self, op, hub, param=0):
        """(ID of the HUB that answers, value) as ``ask``."""
        (word,) = await self._asked([op], hub, param, None)
        return _REPLY.hub.get(word), _REPLY.value.get(word)

    async def pair(self, first, second, hub, param):
        """The values of two different commands sent directly behind each other, as ``ask``."""
        return tuple(_REPLY.value.get(word) for word in await self._asked([first, second], hub, param, None))

    async def _asked(self, ops, hub, param, us):
        options = self.datalink.options
        cycles = round((us or options.status_us) * self.datalink.kernel.door.cpu_hz / 1_000_000)
        for attempt in range(1 if us else options.attempts):
            if attempt:
                await self._drain(hub, param)
            words = await self._once(ops, hub, param, cycles)
            if words is not None:
                for word in words:
                    if not word & DONE:
                        raise Refused(Error(_REPLY.value.get(word)), (hub, param))
                return words
        error = NoReply(f"HUB {hub} does not answer {ops[0].name} of {param} to {self.datalink.kernel.name}")
        error.hop = hub, param
        raise error

    async def _once(self, ops, hub, param, cycles):
        """The replies to ``ops``, sent together; None if not all come in time."""
        got = []

        def match(word):
            if (_REPLY.opcode.get(word) | REPLY) == ops[len(got)] and hub in (_REPLY.hub.get(word), ANY_HUB):
                got.append(word)
            return len(got) == len(ops)

        return got if await self.replies.ask([command_word(op, hub, param) for op in ops], match, cycles) is not None else None

    async def _drain(self, hub, param):
        """Sees to it that nothing asked before is answered any more: replies come in order, and this one has a number of its own."""
        datalink = self.datalink
        datalink.counters.asked_again += 1
        for _ in range(datalink.options.attempts):
            self._echo = echo = self._echo % 255 + 1
            cycles = round(datalink.options.status_us * datalink.kernel.door.cpu_hz / 1_000_000)

            def match(word):
                return (_REPLY.opcode.get(word) == Op.ECHO_REPLY and hub in (_REPLY.hub.get(word), ANY_HUB) and _REPLY.value.get(word) == echo)

            if await self.replies.ask([command_word(Op.ECHO_REPLY, hub, echo)], match, cycles) is not None:
                return
        error = NoReply(f"HUB {hub} does not answer to {datalink.kernel.name} any more")
        error.hop = hub, param
        raise error
