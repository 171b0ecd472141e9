"""A call of the request-response protocol: what its task sees of it, and what its client does to bring it to an end.

What keeps a call going is the client's timer alone: servers only answer. Source: see ``software.transport.request``.
"""

from ..errors import (
    AnswerLost,
    CallCancelled,
    CallTimeout,
    ServerRestarted,
    ServerSilent,
    ServiceEnded,
    ServiceFull,
    ServiceMissing,
)
from ..kernel.plain import blocking
from ..packet import ASK, PacketKind, Reason
from .fragmentation import Reassembly
from .fragments import count, lacking
from .sequence import ahead

__all__ = ["Call", "Calling"]

#: Askings in vain after which the datalink is told that the route may be broken.
_SUSPECT = 2
_REFUSALS = {
    Reason.MISSING: (ServiceMissing, "has no service {service}"),
    Reason.FULL: (ServiceFull, "has as many requests for service {service} as it takes: call again later"),
    Reason.ENDED: (ServiceEnded, "has ended service {service}, or the task that worked on the request"),
    Reason.LOST: (AnswerLost, "has executed the request to service {service}, but does not keep the answer any more"),
    Reason.CANCELLED: (CallCancelled, "has been told that the call of service {service} is cancelled"),
}


class Call:
    """A call that is under way, or has ended. Who has one must await ``result`` or ``message``, or ``cancel`` it.

    Members
    -------
    over : bool
        Whether it has ended; the server may still have to be told that it is cancelled.
    error : CallError or None
        By which it ended.
    """

    __slots__ = ("_calling", "_bytes")

    def __init__(self, calling):
        self._calling = calling
        self._bytes = None

    def __str__(self):
        return str(self._calling)

    @property
    def over(self):
        """See above."""
        return self._calling.over

    @property
    def error(self):
        """See above."""
        return self._calling.error

    @blocking
    async def result(self):
        """Waits until the call has ended; the bytes of the answer. Raises a CallError if there is none."""
        if self._bytes is None:
            message = await self.message()
            self._bytes = await message.read()
            message.free()
        return self._bytes

    @blocking
    async def message(self):
        """As ``result``, but leaves the answer where it is in data memory: a Message that the caller frees. Once
        only."""
        return await self._calling.message()

    @blocking
    async def placed(self):
        """Waits until the call has ended and the place given to ``start`` is not written to any more. True if the
        answer lies there, False if the server gave one of another length, which is dropped. Raises a CallError."""
        return await self._calling.placed()

    async def left_alone(self):
        """Waits until the place of a call that is over is not written to any more: one packet. Cannot be ended."""
        await self._calling.left_alone()

    def cancel(self):
        """Gives the answer up: who waits for it gets CallCancelled, the server is told. Nothing if it was taken."""
        self._calling.cancel()


class Calling:
    """A Call as its client sees it: the request, the timer, the answer as far as it has come.

    Parameters
    ----------
    requests : Requests
    peer : Peer
        What the client knows of the server's CAB.
    server, service : int, int
        ID of that CAB, number of the service.
    parcel : OutgoingMessage
        The request.
    place : (int, int) or None
        Byte address and bytes of the place for the answer.

    Members
    -------
    over, error
        As of Call.
    """

    __slots__ = (
        "over",
        "error",
        "_requests",
        "_kernel",
        "_peer",
        "_server",
        "_service",
        "_number",
        "_parcel",
        "_boot",
        "_place",
        "_filling",
        "_incoming",
        "_answer",
        "_begun",
        "_slow",
        "_deadline",
        "_timer",
        "_tries",
        "_silent",
        "_heard",
        "_hearsay",
        "_progress",
        "_resent",
        "_waiting",
    )

    def __init__(self, requests, peer, server, service, parcel, place=None):
        self.over = False
        self.error = None
        self._requests = requests
        self._kernel = requests.kernel
        self._peer = peer
        self._server = server
        self._service = service
        self._parcel = parcel
        self._number = peer.add(self)
        self._boot = peer.boot
        self._place = place
        self._filling = None  # Reassembly in the place that was asked for last
        self._incoming = None  # Reassembly of the answer
        self._answer = None  # Message
        self._begun = None  # CPU cycle
        self._slow = 0  # CPU cycles that the request's fragments take on the fiber
        self._deadline = None  # CPU cycle
        self._timer = None
        self._tries = 0  # time-outs since the answer went on
        self._silent = 0  # askings since anything was heard
        self._heard = False  # whether anything was since the last time-out
        self._hearsay = False  # whether anything ever was
        self._progress = False  # whether the answer has gone on since the last time-out
        self._resent = False  # whether anything was sent twice
        self._waiting = []  # threads

    def __str__(self):
        return f"the answer of service {self._service} on CAB {self._server}"

    # -- by threads ----------------------------------------------------------------------------------
    async def begin(self, timeout_us):
        """Sends the request; the call ends within ``timeout_us``."""
        requests = self._requests
        self._slow = requests.cycles(requests.options.fragment_us) * len(self._parcel.parts)
        wait = min(self._peer.retry.timeout() + self._slow, requests.cycles(timeout_us))
        self._timer = await requests.timers.after(wait, self._fire)
        self._begun = self._timer.time - wait
        self._deadline = self._begun + requests.cycles(timeout_us)
        for index in self._first():
            if not self.over:
                await requests.send(*self._fragment(index))

    async def message(self):
        """See ``Call.message``."""
        while not self.over:
            # Its timer ends it at the deadline at the latest.
            await self._wait()
        if not self._parcel.own:
            await self._parcel.drained()
        if self.error is not None:
            raise self.error
        if self._answer is None:
            raise ValueError("the answer has been taken before")
        answer, self._answer = self._answer, None
        return self._kernel.notes.taken(answer)

    async def _wait(self):
        thread = self._kernel.current
        self._waiting.append(thread)
        await self._kernel.block(self, lambda: self._waiting.remove(thread))

    async def placed(self):
        """See ``Call.placed``."""
        while not self.over:
            await self._wait()
        await self.left_alone()
        answer = await self.message()
        if (answer.address, answer.length) == self._place:
            return True
        answer.free()
        return False

    async def left_alone(self):
        """See ``Call.left_alone``."""
        while self._filling is not None and self._filling.busy:
            self._waiting.append(self._kernel.current)
            await self._kernel.block(self, None)

    def _wake(self, _=None):
        while self._waiting:
            self._kernel.wake(self._waiting.pop(0))

    # -- what is sent; both levels -------------------------------------------------------------------
    def _first(self):
        """The fragments to begin with: all, but if the server's boot number is not known only the last, which makes
        the server tell it."""
        return range(0 if self._boot else len(self._parcel.parts) - 1, len(self._parcel.parts))

    def _fragment(self, index, ask=0):
        """What ``Requests.post`` and ``send`` want for it."""
        return (
            self._parcel,
            index,
            self._server,
            PacketKind.REQUEST | ask,
            self._service,
            self._number,
            self._requests.boot,
            self._boot,
        )

    def _send(self, index, ask=0):
        self._requests.post(*self._fragment(index, ask))

    def _tell(self, kind, word=0):
        self._requests.tell(self._server, kind, self._service, self._number, self._requests.boot, self._boot, word)

    # -- the end; both levels ------------------------------------------------------------------------
    def cancel(self):
        """See ``Call.cancel``."""
        if not self.over:
            self._end(
                CallCancelled(f"the call of service {self._service} on CAB {self._server} was cancelled"), tell=True
            )
        elif self._answer is not None:
            if self._place is None or self._answer.address != self._place[0]:
                self._answer.free()
            self._answer = None

    def _end(self, error=None, tell=False):
        """The call is over; ``tell``: the server is told, again and again by the call's timer, until it confirms."""
        counters = self._requests.counters
        self.over = True
        self.error = error
        self._parcel.release()
        for incoming in (self._incoming, self._filling):
            if incoming is not None and not incoming.taken:
                incoming.give_up()
        self._incoming = None
        if error is None:
            counters.answers += 1
        else:
            counters.failed += 1
        if tell:
            self._tries = 0
            self._tell(PacketKind.CANCEL)
        else:
            self._forget()
        self._wake()

    def _forget(self):
        """Nothing more is to be done for it."""
        if self._timer is not None:
            self._requests.timers.cancel(self._timer)
            self._timer = None
        self._peer.forget(self._number)

    # -- time-outs, at interrupt level ---------------------------------------------------------------
    def _fire(self, _, now):
        requests, peer = self._requests, self._peer
        options = requests.options
        self._kernel.door.spend(self._kernel.costs.request_timer)
        self._timer = None
        if self.over:
            self._tries += 1
            if self._tries >= options.cancel_attempts:
                self._forget()
                return
            self._tell(PacketKind.CANCEL)
            self._arm(now + peer.retry.timeout(self._tries))
            return
        waits = self._incoming is None and self._parcel.flying  # for fiber out, not for the server
        self._silent = 0 if self._heard else self._silent + (not waits)
        if now >= self._deadline or self._silent > options.attempts:
            self._end(self._silence(), True)
            self._arm(now + peer.retry.timeout())
            return
        if self._progress:
            self._tries = 0
        else:
            self._tries += 1
            if self._silent >= _SUSPECT or waits and self._tries >= _SUSPECT:
                requests.datalink.report_unresponsive(self._server)
            if not waits:
                self._ask()
        self._heard = self._progress = False
        self._arm(min(now + peer.retry.timeout(self._tries), self._deadline))

    def _ask(self):
        """Asks how far the server is."""
        self._resent = True
        self._requests.counters.retries += 1
        if self._incoming is not None:
            self._tell(PacketKind.LACKS, self._incoming.assembly.word)
        else:
            self._send(len(self._parcel.parts) - 1, ASK)

    def _arm(self, time):
        self._timer = self._requests.timers.at(time, self._fire)

    def _silence(self):
        """The error of a call that ends without a word from the server."""
        place = f"service {self._service} on CAB {self._server}"
        if self._hearsay and self._silent < _SUSPECT:
            return CallTimeout(f"{place} did not answer in time, but its CAB is there: allow more time")
        return ServerSilent(
            f"CAB {self._server} is silent: no answer of {place}, and nothing else was heard for {self._silent} askings"
        )

    # -- packets, at interrupt level -----------------------------------------------------------------
    def expect(self, packet):
        """A fragment of its answer has begun: the Reassembly that takes it, or None."""
        if self.over or packet.server_boot != self._boot:
            return None
        incoming = self._incoming
        if incoming is None:
            memory, length = self._requests.memory, packet.length
            if self._place is None or length != self._place[1]:
                return Reassembly.begin(memory, length)
            self._filling = Reassembly(memory, length, self._place[0], self._wake)
            return self._filling
        return incoming if incoming.assembly.length == packet.length and incoming.assembly.wants(packet.index) else None

    def take(self, packet, incoming):
        """A packet for it has arrived unharmed; ``incoming`` has its fragment."""
        if incoming is not None and (self.over or self._incoming not in (None, incoming)):
            incoming.give_up()
            incoming = None
        if packet.kind is PacketKind.REFUSED:
            self._refused(packet)
        elif packet.server_boot != self._boot:
            self._requests.counters.stale += 1
        elif not self.over:
            self._hear()
            if packet.kind is PacketKind.ANSWER:
                self._take_answer(packet, incoming)
            elif packet.kind is PacketKind.HAVE:
                self._send_again(packet.word)

    def _hear(self):
        """Something was heard of the server."""
        self._heard = True
        if not self._hearsay:
            self._hearsay = True
            if not self._resent:
                self._requests.interrupts.late.append(
                    lambda now: self._peer.retry.sample(max(0, now - self._begun - self._slow))
                )

    def _take_answer(self, packet, incoming):
        counters = self._requests.counters
        if incoming is None:
            if self._incoming is None:
                counters.no_room += 1
                return
            counters.duplicates += 1
        else:
            self._incoming = incoming
            incoming.assembly.add(packet.index)
            self._progress = True
            if not incoming.assembly.missing:
                self._tell(PacketKind.ACK)
                self._answer = incoming.message(self._server, self._number)
                self._incoming = None
                self._end()
                return
        if packet.tell:
            self._tell(PacketKind.LACKS, self._incoming.assembly.word)

    def _send_again(self, word):
        """The server lacks fragments."""
        if self._parcel.flying:
            return
        missing = lacking(word, count(self._parcel.length))
        for index in missing:
            self._resent = True
            self._send(index, ASK if index == missing[-1] else 0)

    def _refused(self, packet):
        reason = Reason(packet.word)
        if reason is Reason.BOOT:
            self._other_boot(packet.server_boot)
        elif self.over:
            if reason is Reason.CANCELLED:
                self._forget()
        elif packet.server_boot != self._boot:
            self._requests.counters.stale += 1
        elif reason is Reason.ROOM:
            self._hear()
        else:
            error, text = _REFUSALS[reason]
            self._end(error(f"CAB {self._server} {text.format(service=self._service)}"))

    def _other_boot(self, boot):
        """The server's CAB tells its boot number."""
        peer = self._peer
        if not boot or (peer.boot and ahead(boot, peer.boot) < 0) or boot == self._boot:
            self._requests.counters.stale += 1
            return
        peer.boot = boot
        if self.over:
            self._forget()
        elif not self._boot:
            # What it has had so far it has not looked at: there can have been no execution.
            self._boot = boot
            self._resent = True
            self._hear()
            for index in self._first():
                self._send(index)
        else:
            self._end(
                ServerRestarted(
                    f"CAB {self._server} has started anew: whether the request was executed before is not known; call "
                    "again if it may be executed twice"
                ),
            )
