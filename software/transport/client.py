"""The client's side of the request-response protocol: calls, their time-outs, their ends.

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
from ..packet import ASK, PacketKind, Reason
from .datagram import MAX_MESSAGE
from .fragmentation import Reassembly, pack_up
from .fragments import count, lacking
from .retry import Retry
from .sequence import SPAN, ahead

__all__ = ["Client", "Call"]

#: Askings in vain after which the datalink is told that the route may be broken.
_SUSPECT = 2
_REFUSALS = {
    Reason.MISSING: (ServiceMissing, "has no service {service}"),
    Reason.FULL: (ServiceFull, "has as many requests for service {service} as it takes: call again later"),
    Reason.ENDED: (ServiceEnded, "has ended service {service}, or the task that worked on the request"),
    Reason.LOST: (AnswerLost, "has executed the request to service {service}, but does not keep the answer any more"),
    Reason.CANCELLED: (CallCancelled, "has been told that the call of service {service} is cancelled"),
}


class _Peer:
    """What a client knows of the CAB of a server."""

    __slots__ = ("boot", "number", "calls", "retry", "waiting")

    def __init__(self, retry):
        self.boot = 0  # the server's boot number; 0 as long as it is not known
        self.number = 0  # of the next call
        self.calls = {}  # number -> Call that is under way, or whose cancellation is; oldest first
        self.retry = retry
        self.waiting = []  # threads that wait until another call may begin

    @property
    def full(self):
        """Whether the oldest call's number would leave the server's window if one more began."""
        return bool(self.calls) and ahead(self.number, next(iter(self.calls))) >= SPAN


class Call:
    """A call that is under way, or has ended. Who has one must await ``result`` or ``message``, or ``cancel`` it.

    Members
    -------
    over : bool
        Whether it has ended; the server may still have to be told that it is cancelled.
    error : CallError or None
        By which it ended.
    """

    __slots__ = (
        "over",
        "error",
        "_client",
        "_peer",
        "_server",
        "_service",
        "_number",
        "_parcel",
        "_boot",
        "_incoming",
        "_answer",
        "_bytes",
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

    def __init__(self, client, peer, server, service, parcel):
        self.over = False
        self.error = None
        self._client = client
        self._peer = peer
        self._server = server
        self._service = service
        self._parcel = parcel
        self._number = None
        self._boot = peer.boot
        self._incoming = None  # Reassembly of the answer
        self._answer = None  # Message
        self._bytes = None
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

    async def result(self):
        """Waits until the call has ended; the bytes of the answer. Raises a CallError if there is none."""
        if self._bytes is None:
            message = await self.message()
            self._bytes = await message.read()
            message.free()
        return self._bytes

    async def message(self):
        """As ``result``, but leaves the answer where it is in data memory: a Message that the caller frees. Once
        only."""
        kernel = self._client.kernel
        while not self.over:
            # Its timer ends it at the deadline at the latest.
            thread = kernel.current
            self._waiting.append(thread)
            await kernel.block(self, lambda: self._waiting.remove(thread))
        if not self._parcel.own:
            await self._parcel.drained()
        if self.error is not None:
            raise self.error
        if self._answer is None:
            raise ValueError("the answer has been taken before")
        answer, self._answer = self._answer, None
        return answer

    def cancel(self):
        """The answer is not wanted any more: who waits for it gets CallCancelled, and the server is told. Nothing if
        it was taken."""
        if not self.over:
            self._client.cancel(self)
        elif self._answer is not None:
            self._answer.free()
            self._answer = None


class Client:
    """Calls of one CAB. ``requests``: its Requests."""

    __slots__ = ("requests", "kernel", "memory", "_peers")

    def __init__(self, requests):
        self.requests = requests
        self.kernel = requests.kernel
        self.memory = requests.memory
        self._peers = {}  # CAB ID -> _Peer

    # -- by threads ----------------------------------------------------------------------------------
    async def start(self, server, service, data, timeout_us):
        """See ``Requests.start``."""
        requests, kernel = self.requests, self.kernel
        kernel.check_pending()
        options = requests.options
        timeout_us = options.timeout_us if timeout_us is None else timeout_us
        if not timeout_us > 0:
            raise ValueError(f"a time-out is more than 0 us, not {timeout_us}")
        if server == requests.number:
            raise ValueError(f"{kernel.name} calls itself: call the service's function instead")
        route = await requests.datalink.find(server)
        kernel.door.spend(kernel.costs.request_call)
        peer = self._peers.get(server)
        if peer is None:
            peer = self._peers[server] = _Peer(
                Retry(*map(requests.cycles, (options.first_us, options.least_us, options.most_us)))
            )
        parcel = await pack_up(kernel, self.memory, data, MAX_MESSAGE, route.areas, timeout_us)
        try:
            while peer.full:
                # Until the oldest call has ended, which its deadline sees to.
                thread = kernel.current
                peer.waiting.append(thread)
                await kernel.block(
                    f"the end of the oldest of {SPAN} calls to CAB {server}",
                    lambda: peer.waiting.remove(thread),
                    lambda _: self._admit(peer),
                )
        except BaseException:
            parcel.release()
            raise
        requests.counters.calls += 1
        call = Call(self, peer, server, service, parcel)
        call._number = peer.number
        peer.number = peer.number + 1 & 0xFFFF
        peer.calls[call._number] = call
        call._slow = requests.cycles(options.fragment_us) * len(parcel.parts)
        wait = min(peer.retry.timeout() + call._slow, requests.cycles(timeout_us))
        call._timer = await requests.timers.after(wait, self._fire, call)
        call._begun = call._timer.time - wait
        call._deadline = call._begun + requests.cycles(timeout_us)
        for index in self._first(call):
            if not call.over:
                await requests.send(*self._fragment(call, index))
        return call

    def _first(self, call):
        """The fragments to begin with: all, but if the server's boot number is not known only the last, which makes
        the server tell it."""
        return range(0 if call._boot else len(call._parcel.parts) - 1, len(call._parcel.parts))

    def _fragment(self, call, index, ask=0):
        """What ``Requests.post`` and ``send`` want for it."""
        return (
            call._parcel,
            index,
            call._server,
            PacketKind.REQUEST | ask,
            call._service,
            call._number,
            self.requests.boot,
            call._boot,
        )

    def _send(self, call, index, ask=0):
        self.requests.post(*self._fragment(call, index, ask))

    def _tell(self, call, kind, word=0):
        self.requests.tell(call._server, kind, call._service, call._number, self.requests.boot, call._boot, word)

    def cancel(self, call):
        """Ends a call whose answer is not wanted any more. From both levels."""
        self._end(call, CallCancelled(f"the call of service {call._service} on CAB {call._server} was cancelled"), True)

    # -- the ends of calls; both levels --------------------------------------------------------------
    def _end(self, call, error=None, tell=False):
        """The call is over; ``tell``: the server is told, again and again by the call's timer, until it confirms."""
        counters = self.requests.counters
        call.over = True
        call.error = error
        call._parcel.release()
        if call._incoming is not None:
            call._incoming.give_up()
            call._incoming = None
        if error is None:
            counters.answers += 1
        else:
            counters.failed += 1
        if tell:
            call._tries = 0
            self._tell(call, PacketKind.CANCEL)
        else:
            self._forget(call)
        for thread in call._waiting:
            self.kernel.wake(thread)
        call._waiting.clear()

    def _forget(self, call):
        """Nothing more is to be done for it."""
        if call._timer is not None:
            self.requests.timers.cancel(call._timer)
            call._timer = None
        peer = call._peer
        del peer.calls[call._number]
        self._admit(peer)

    def _admit(self, peer):
        """Another call may begin, perhaps."""
        if peer.waiting and not peer.full:
            self.kernel.wake(peer.waiting.pop(0))

    # -- time-outs, at interrupt level ---------------------------------------------------------------
    def _fire(self, call, now):
        requests, peer = self.requests, call._peer
        options = requests.options
        self.kernel.door.spend(self.kernel.costs.request_timer)
        call._timer = None
        if call.over:
            call._tries += 1
            if call._tries >= options.cancel_attempts:
                self._forget(call)
                return
            self._tell(call, PacketKind.CANCEL)
            self._arm(call, now + peer.retry.timeout(call._tries))
            return
        waits = call._incoming is None and call._parcel.flying  # for fiber out, not for the server
        call._silent = 0 if call._heard else call._silent + (not waits)
        if now >= call._deadline or call._silent > options.attempts:
            self._end(call, self._silence(call), True)
            self._arm(call, now + peer.retry.timeout())
            return
        if call._progress:
            call._tries = 0
        else:
            call._tries += 1
            if call._silent >= _SUSPECT or waits and call._tries >= _SUSPECT:
                requests.datalink.report_unresponsive(call._server)
            if not waits:
                self._ask(call)
        call._heard = call._progress = False
        self._arm(call, min(now + peer.retry.timeout(call._tries), call._deadline))

    def _ask(self, call):
        """Asks how far the server is."""
        call._resent = True
        self.requests.counters.retries += 1
        if call._incoming is not None:
            self._tell(call, PacketKind.LACKS, call._incoming.assembly.word)
        else:
            self._send(call, len(call._parcel.parts) - 1, ASK)

    def _arm(self, call, time):
        call._timer = self.requests.timers.at(time, self._fire, call)

    def _silence(self, call):
        """The error of a call that ends without a word from the server."""
        place = f"service {call._service} on CAB {call._server}"
        if call._hearsay and call._silent < _SUSPECT:
            return CallTimeout(f"{place} did not answer in time, but its CAB is there: allow more time")
        return ServerSilent(
            f"CAB {call._server} is silent: no answer of {place}, and nothing else was heard for {call._silent} askings"
        )

    # -- packets, at interrupt level -----------------------------------------------------------------
    def _call(self, packet):
        """The call that a packet belongs to; None if there is none."""
        if packet.client_boot != self.requests.boot:
            self.requests.counters.stale += 1
            return None
        peer = self._peers.get(packet.source)
        return None if peer is None else peer.calls.get(packet.number)

    def expect(self, packet):
        """A fragment of an answer has begun: the Reassembly that takes it, or None."""
        call = self._call(packet)
        if call is None or call.over or packet.server_boot != call._boot:
            return None
        incoming = call._incoming
        if incoming is None:
            return Reassembly.begin(self.memory, packet.length)
        return incoming if incoming.assembly.length == packet.length and incoming.assembly.wants(packet.index) else None

    def take(self, packet, incoming):
        """A packet from a server has arrived unharmed; ``incoming`` has its fragment."""
        call = self._call(packet)
        if incoming is not None and (call is None or call.over or call._incoming not in (None, incoming)):
            incoming.give_up()
            incoming = None
        if call is None:
            self._uncalled(packet)
        elif packet.kind is PacketKind.REFUSED:
            self._refused(call, packet)
        elif packet.server_boot != call._boot:
            self.requests.counters.stale += 1
        elif not call.over:
            self._hear(call)
            if packet.kind is PacketKind.ANSWER:
                self._take_answer(call, packet, incoming)
            elif packet.kind is PacketKind.HAVE:
                self._send_again(call, packet.word)

    def _uncalled(self, packet):
        """What comes late: a server that still keeps an answer is told that it need not."""
        counters = self.requests.counters
        if packet.kind is PacketKind.ANSWER and packet.client_boot == self.requests.boot:
            counters.duplicates += 1
            if packet.tell:
                self.requests.tell(
                    packet.source, PacketKind.ACK, packet.service, packet.number, packet.client_boot, packet.server_boot
                )

    def _hear(self, call):
        """Something was heard of the server."""
        call._heard = True
        if not call._hearsay:
            call._hearsay = True
            if not call._resent:
                self.requests.interrupts.late.append(
                    lambda now: call._peer.retry.sample(max(0, now - call._begun - call._slow))
                )

    def _take_answer(self, call, packet, incoming):
        counters = self.requests.counters
        if incoming is None:
            if call._incoming is None:
                counters.no_room += 1
                return
            counters.duplicates += 1
        else:
            call._incoming = incoming
            incoming.assembly.add(packet.index)
            call._progress = True
            if not incoming.assembly.missing:
                self._tell(call, PacketKind.ACK)
                call._answer = incoming.message(call._server, call._number)
                call._incoming = None
                self._end(call)
                return
        if packet.tell:
            self._tell(call, PacketKind.LACKS, call._incoming.assembly.word)

    def _send_again(self, call, word):
        """The server lacks fragments."""
        if call._parcel.flying:
            return
        missing = lacking(word, count(call._parcel.length))
        for index in missing:
            call._resent = True
            self._send(call, index, ASK if index == missing[-1] else 0)

    def _refused(self, call, packet):
        reason = Reason(packet.word)
        if reason is Reason.BOOT:
            self._other_boot(call, packet.server_boot)
        elif call.over:
            if reason is Reason.CANCELLED:
                self._forget(call)
        elif packet.server_boot != call._boot:
            self.requests.counters.stale += 1
        elif reason is Reason.ROOM:
            self._hear(call)
        else:
            error, text = _REFUSALS[reason]
            self._end(call, error(f"CAB {call._server} {text.format(service=call._service)}"))

    def _other_boot(self, call, boot):
        """The server's CAB tells its boot number."""
        peer = call._peer
        if not boot or (peer.boot and ahead(boot, peer.boot) < 0) or boot == call._boot:
            self.requests.counters.stale += 1
            return
        peer.boot = boot
        if call.over:
            self._forget(call)
        elif not call._boot:
            # What it has had so far it has not looked at: there can have been no execution.
            call._boot = boot
            call._resent = True
            self._hear(call)
            for index in self._first(call):
                self._send(call, index)
        else:
            self._end(
                call,
                ServerRestarted(
                    f"CAB {call._server} has started anew: whether the request was executed before is not known; call "
                    f"again if "
                    "it may be executed twice"
                ),
            )
