"""Long messages: the receiver pulls the bytes from the sender's buffer into its own, and nothing is copied.

Source: P. Pierce, "The NX/2 Operating System" (1988), section "Long Messages": three trips. Here the first is an
envelope by the channel, the second and third are a call of the request-response protocol. Specification:
docs/nectarine.md."""

from collections import deque
from struct import Struct

from ..errors import (
    AnswerLost,
    CallError,
    CallTimeout,
    PeerStartedAnew,
    PeerStopped,
    ServerRestarted,
    ServiceFull,
    ServiceMissing,
)
from ..transport.datagram import MAX_MESSAGE
from ..transport.fragments import count
from .transfer import Transfers

__all__ = ["SERVICE", "Pulls"]

#: The service by which CABs pull the bytes of long messages.
SERVICE = 0xFFFF
#: A request of it: transfer, offset, bytes.
_PULL = Struct(">III")
#: Pieces that are pulled at once.
_TOGETHER = 2
#: Times that a piece is asked for, if the call fails in a way that another may not.
_ATTEMPTS = 4
#: Microseconds until the receiver is asked whether it has all: 10 ms, and for each fragment twice the time that it
#: takes on the fiber; doubled each time, up to half a second.
_FIRST_US, _FRAGMENT_US, _MOST_US = 10_000, 200, 500_000


class Pulls(Transfers):
    """Long messages of one CAB of Nectar.

    Parameters
    ----------
    cab : Cab
    query : callable(Transfer)
        Asks the receiver, at interrupt level, whether it has all of a transfer.
    """

    __slots__ = ("query",)

    def __init__(self, cab, query):
        super().__init__(cab)
        self.query = query

    # -- out -----------------------------------------------------------------------------------------
    async def serve(self, _):
        """A thread: lets other CABs pull."""
        service = self.cab.request.serve(SERVICE)
        while True:
            request = await service.receive()
            self.kernel.spawn(self._answer, request, name="a long message")

    async def _answer(self, request):
        """A thread: lets a piece be pulled."""
        self.kernel.door.spend(self.kernel.costs.nectarine_transfer)
        words = await request.read()
        number, offset, length = _PULL.unpack(words) if len(words) == _PULL.size else (0, 0, 0)
        transfer = self._out.get(number)
        if transfer is None or transfer.to[0] != request.source or not 0 < length <= transfer.length - offset:
            await request.reply(b"")
            return
        transfer.begun = True
        transfer.under += 1
        if transfer.timer is None:
            transfer.timer = await self.cab.timers.after(self._patience(transfer), self._ask_after, transfer)
        try:
            await request.reply([(transfer.address + offset, length)])
        finally:
            transfer.under -= 1
            if request.acknowledged and transfer.pulled(offset, length) and number in self._out:
                self._forget(transfer)
            if number not in self._out and not transfer.under:
                transfer.end()

    def _patience(self, transfer):
        """CPU cycles until the receiver of a transfer is asked: an acknowledgment may have been lost."""
        first = _FIRST_US + _FRAGMENT_US * count(transfer.length)
        return round(min(first << transfer.queries, _MOST_US) * self.kernel.door.cpu_hz / 1_000_000)

    def _ask_after(self, transfer, now):
        """At interrupt level, when the timer of a transfer has gone off."""
        transfer.queries += 1
        self.query(transfer)
        transfer.timer = self.cab.timers.at(now + self._patience(transfer), self._ask_after, transfer)

    # -- in ------------------------------------------------------------------------------------------
    async def _bring(self, arrival, buffer, store, copies):
        memory = self.memory
        address = await memory.allocate(arrival.length) if buffer is None else buffer.address
        try:
            if not await self.pull(arrival, address):
                return False
            copies.dma_in += arrival.length
            if buffer is None:
                store(0, await memory.load(address, arrival.length))
                copies.cpu_in += arrival.length
        finally:
            if buffer is None:
                memory.free(address)
        return True

    async def pull(self, arrival, address):
        """Pulls the bytes of a long message to ``address``. False if its sender has withdrawn it. Raises PeerStopped,
        PeerStartedAnew."""
        cab, length = arrival.source[0], arrival.length
        pieces = deque((offset, min(MAX_MESSAGE, length - offset)) for offset in range(0, length, MAX_MESSAGE))
        under = deque()
        attempts = _ATTEMPTS * len(pieces)
        try:
            while pieces or under:
                while pieces and len(under) < _TOGETHER:
                    piece = pieces.popleft()
                    under.append((await self._ask(cab, arrival.transfer, address, *piece), piece))
                try:
                    if not await under[0][0].placed():
                        return False
                except (AnswerLost, CallTimeout, ServiceFull, ServiceMissing):
                    attempts -= 1
                    if not attempts:
                        raise
                    pieces.appendleft(under[0][1])
                under.popleft()
        except ServerRestarted as error:
            raise PeerStartedAnew(f"CAB {cab} has started anew before all of the message had come") from error
        except CallError as error:
            raise PeerStopped(f"CAB {cab} does not give the bytes of a message that it has sent: {error}") from error
        except GeneratorExit:  # the CAB has stopped
            under.clear()
            raise
        finally:
            for call, _ in under:
                call.cancel()
            for call, _ in under:
                await call.left_alone()
        return True

    async def _ask(self, cab, number, address, offset, length):
        self.kernel.door.spend(self.kernel.costs.nectarine_transfer)
        return await self.cab.request.start(
            (cab, SERVICE), _PULL.pack(number, offset, length), place=(address + offset, length)
        )
