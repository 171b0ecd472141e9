"""The server's side of the request-response protocol: services, requests, answers that are kept.

A request is known by its client's CAB, boot number and number. It is executed at most once: see ``_Client.window`` and
``Requests.boot``. Source: see ``software.transport.request``.
"""

from ..packet import ASK, PacketKind, Reason
from .datagram import MAX_MESSAGE
from .fragmentation import Reassembly, pack_up
from .fragments import lacking
from .sequence import SequenceWindow, ahead
from .service import Request, Service, State

__all__ = ["Server"]

#: Looks at the age of what is kept in the time that the options name.
_LOOKS = 4


class _Client:
    """What a server knows of the CAB of a client."""

    __slots__ = ("boot", "window", "works")

    def __init__(self, boot):
        self.boot = boot
        self.window = SequenceWindow()  # numbers of requests that were accepted or refused
        self.works = {}  # number -> Request


class Server:
    """Services of one CAB. ``requests``: its Requests."""

    __slots__ = ("requests", "kernel", "memory", "_services", "_clients", "_kept", "_kept_bytes", "_sweeping")

    def __init__(self, requests):
        self.requests = requests
        self.kernel = requests.kernel
        self.memory = requests.memory
        self._services = {}
        self._clients = {}  # CAB ID -> _Client
        self._kept = {}  # Requests that are ANSWERED or REFUSED, the oldest first (a dict as an ordered set)
        self._kept_bytes = 0
        self._sweeping = False

    def serve(self, number, capacity):
        """See ``Requests.serve``."""
        if not 0 <= number <= 0xFFFF:
            raise ValueError(f"a service number is 0 to 65535, not {number}")
        old = self._services.get(number)
        if old is not None and not old.over:
            raise ValueError(f"service {number} of {self.kernel.name} is taken")
        if old is not None:
            old.close()
        service = self._services[number] = Service(self, number, capacity)
        return service

    def closed(self, service):
        """Refuses what waits in a service."""
        if self._services.get(service.number) is service:
            del self._services[service.number]
        while service._requests:
            request = service._requests.popleft()
            self._refuse_late(request)

    async def reply(self, request, data):
        """See ``Request.reply``."""
        kernel, requests = self.kernel, self.requests
        kernel.door.spend(kernel.costs.request_reply)
        if request._state is not State.WORKING:
            raise ValueError("the request has been answered before")
        parcel = None
        if not request._gone:
            parcel = await pack_up(
                kernel, self.memory, data, MAX_MESSAGE, requests.datalink.route(request.source).areas
            )
        if request.message is not None:
            request.message.free()
            request.message = None
        request._state = State.ANSWERED
        if request._gone:
            # The client has cancelled it, or its CAB has started anew; perhaps while memory was waited for.
            if parcel is not None:
                parcel.release()
            return False
        requests.counters.replies += 1
        request._parcel = parcel
        self._keep(request)
        for index in range(len(parcel.parts)):
            if not request._gone:
                await requests.send(*self._fragment(request, index))
        if not parcel.own:
            await parcel.drained()
            while not request._gone:
                # The sweep ends this after keep_us at the latest.
                request._waiter = kernel.current
                await kernel.block(f"the end of {request!r}", lambda: self._leave(request))
            await parcel.drained()
        return True

    def _leave(self, request):
        """The task that waits until its client has the answer is not to wait any more."""
        request._waiter = None
        self._drop(request)

    # -- what is kept; both levels -------------------------------------------------------------------
    def _keep(self, request):
        """Keeps an answer or a refusal; gives up the oldest ones beyond the bounds."""
        options = self.requests.options
        request._looks = 0
        self._kept[request] = None
        self._kept_bytes += request._parcel.length if request._parcel is not None else 0
        while len(self._kept) > options.answers or (self._kept_bytes > options.answer_bytes and len(self._kept) > 1):
            self.requests.counters.forgotten += 1
            self._drop(next(iter(self._kept)))

    def _drop(self, request):
        """Forgets a request; its number stays in the window, so that it is not executed again."""
        client = self._clients.get(request.source)
        if client is not None and client.works.get(request.number) is request:
            del client.works[request.number]
        request._gone = True
        if request in self._kept:
            del self._kept[request]
            self._kept_bytes -= request._parcel.length if request._parcel is not None else 0
        if request._parcel is not None:
            request._parcel.release()
            if request._waiter is not None:
                self.kernel.wake(request._waiter)
                request._waiter = None
        elif request._state is State.COMING:
            request._incoming.give_up()
            request._service._reserved -= 1
        elif request._state is State.WAITING:
            if request in request._service._requests:
                request._service._requests.remove(request)
            request.message.free()
            request.message = None
        elif request.message is not None and request.task is not None and request.task.ended:
            request.message.free()
            request.message = None

    def _refuse_late(self, request):
        """A request that was accepted will not be answered: frees it, tells the client, keeps the reason."""
        if request.message is not None:
            request.message.free()
            request.message = None
        request._state, request._reason = State.REFUSED, Reason.ENDED
        self._keep(request)
        self._say(request, PacketKind.REFUSED, Reason.ENDED)

    def _fragment(self, request, index, ask=0):
        """What ``Requests.post`` and ``send`` want for it."""
        return (
            request._parcel,
            index,
            request.source,
            PacketKind.ANSWER | ask,
            request._service.number,
            request.number,
            request._boot,
            self.requests.boot,
        )

    def _send(self, request, index, ask=0):
        self.requests.post(*self._fragment(request, index, ask))

    def _say(self, request, kind, word=0):
        number = request._service.number if request._service is not None else 0
        self.requests.tell(request.source, kind, number, request.number, request._boot, self.requests.boot, word)

    def _refuse(self, packet, reason):
        """Tells a client why its packet was not taken."""
        self.requests.counters.refused += 1
        self.requests.tell(
            packet.source,
            PacketKind.REFUSED,
            packet.service,
            packet.number,
            packet.client_boot,
            self.requests.boot,
            reason,
        )

    # -- packets, at interrupt level -----------------------------------------------------------------
    def expect(self, packet):
        """A fragment of a request has begun: the Reassembly that takes it, or None."""
        client = self._clients.get(packet.source)
        if packet.server_boot != self.requests.boot:
            return None
        if client is not None and client.boot == packet.client_boot:
            request = client.works.get(packet.number)
            if request is not None:
                incoming = request._incoming
                return (
                    incoming
                    if incoming is not None
                    and incoming.assembly.length == packet.length
                    and incoming.assembly.wants(packet.index)
                    else None
                )
            if client.window.seen(packet.number):
                return None
        service = self._services.get(packet.service)
        if service is None or service.over or service.full:
            return None
        return Reassembly.begin(self.memory, packet.length)

    def take(self, packet, incoming):
        """A packet from a client has arrived unharmed; ``incoming`` has its fragment."""
        client = self._known(packet)
        request = None if client is None else client.works.get(packet.number)
        if client is None:
            pass
        elif packet.kind is PacketKind.REQUEST:
            if request is None:
                request = self._begin(client, packet, incoming)
            elif request._incoming is None or request._incoming is not incoming:
                self.requests.counters.duplicates += 1
                if packet.tell:
                    self._status(request)
            if request is not None and request._incoming is not None and request._incoming is incoming:
                self._go_on(client, request, packet)
                return
        elif packet.kind is PacketKind.ACK:
            if request is not None and request._state is State.ANSWERED:
                self._drop(request)
        elif packet.kind is PacketKind.LACKS:
            self._send_again(request, packet)
        else:
            self._cancel(client, request, packet)
        if incoming is not None and (request is None or request._incoming is not incoming):
            incoming.give_up()

    def _known(self, packet):
        """The client that a packet is from; None if the packet is for or from another start of a CAB."""
        requests = self.requests
        if packet.server_boot != requests.boot:
            if packet.kind is PacketKind.CANCEL:
                self._refuse(packet, Reason.CANCELLED if not packet.server_boot else Reason.BOOT)
            elif packet.kind is PacketKind.LACKS or (packet.kind is PacketKind.REQUEST and packet.tell):
                self._refuse(packet, Reason.BOOT)
            requests.counters.stale += bool(packet.server_boot)
            return None
        client = self._clients.get(packet.source)
        if client is None or ahead(packet.client_boot, client.boot) > 0:
            if client is not None:
                # Its CAB has started anew: nobody waits for these any more.
                for request in list(client.works.values()):
                    request.cancelled = True
                    self._drop(request)
            client = self._clients[packet.source] = _Client(packet.client_boot)
        elif packet.client_boot != client.boot:
            requests.counters.stale += 1
            return None
        return client

    def _begin(self, client, packet, incoming):
        """The first fragment of a request: a Request for it, unless it is refused."""
        requests = self.requests
        self.kernel.door.spend(self.kernel.costs.request_window)
        if client.window.seen(packet.number):
            requests.counters.duplicates += 1
            if packet.tell:
                self._refuse(packet, Reason.LOST)
            return None
        service = self._services.get(packet.service)
        reason = None
        if service is None:
            reason = Reason.MISSING
        elif service.over:
            reason = Reason.ENDED
        elif service.full:
            reason = Reason.FULL
        if reason is None and incoming is None:
            requests.counters.no_room += 1
            if packet.tell:
                self._refuse(packet, Reason.ROOM)
            return None
        request = client.works[packet.number] = Request(
            self, packet.source, packet.number, packet.client_boot, service, State.COMING
        )
        if reason is None:
            service._reserved += 1
            request._incoming = incoming
        else:
            client.window.add(packet.number)
            request._state, request._reason = State.REFUSED, reason
            self._keep(request)
            self._refuse(packet, reason)
        if not self._sweeping:
            self._sweeping = True
            requests.interrupts.late.append(self._sweep_later)
        return request

    def _go_on(self, client, request, packet):
        """A fragment that was missing is there."""
        incoming = request._incoming
        incoming.assembly.add(packet.index)
        request._looks = 0
        if incoming.assembly.missing:
            if packet.tell:
                self._say(request, PacketKind.HAVE, incoming.assembly.word)
            return
        client.window.add(packet.number)
        request._incoming = None
        request.message = incoming.message(request.source, request.number)
        request._state = State.WAITING
        self.requests.counters.requests += 1
        request._service._arrive(request)

    def _status(self, request):
        """Tells a client that asks how far its request is."""
        state = request._state
        if state is State.COMING:
            self._say(request, PacketKind.HAVE, request._incoming.assembly.word)
        elif state is State.ANSWERED and not request._parcel.flying:
            self._send(request, len(request._parcel.parts) - 1)
        elif state is State.REFUSED:
            self._say(request, PacketKind.REFUSED, request._reason)
        elif state is State.ANSWERED or not self._abandoned(request):
            self._say(request, PacketKind.WORKING)

    def _abandoned(self, request):
        """Whether nobody will answer; then the client is told."""
        if request._state is State.WAITING and request in request._service._requests:
            over = request._service.over
            if over:
                request._service._requests.remove(request)
        else:
            over = request.task is not None and request.task.ended
        if over:
            self._refuse_late(request)
        return over

    def _send_again(self, request, packet):
        """A client lacks fragments of its answer."""
        if request is None:
            self._refuse(packet, Reason.LOST)
        elif request._state is State.ANSWERED and not request._parcel.flying:
            request._looks = 0
            missing = lacking(packet.word, len(request._parcel.parts))
            for index in missing:
                self._send(request, index, ASK if index == missing[-1] else 0)

    def _cancel(self, client, request, packet):
        """The client does not want an answer."""
        if not client.window.seen(packet.number):
            client.window.add(packet.number)
        if request is not None:
            self.requests.counters.cancelled += 1
            request.cancelled = True
            self._drop(request)
        self._refuse(packet, Reason.CANCELLED)

    # -- age, at interrupt level ---------------------------------------------------------------------
    def _sweep_later(self, now):
        options = self.requests.options
        self.requests.timers.at(
            now + self.requests.cycles(min(options.keep_us, options.stall_us)) // _LOOKS, self._sweep
        )

    def _sweep(self, _, now):
        """Drops what nobody has asked for in a long time."""
        options, spend, cost = self.requests.options, self.kernel.door.spend, self.kernel.costs.request_sweep
        period = min(options.keep_us, options.stall_us) // _LOOKS
        left = 0
        for client in self._clients.values():
            for request in list(client.works.values()):
                spend(cost)
                left += 1
                request._looks += 1
                age = request._looks * period
                if request._state is State.COMING:
                    if age > options.stall_us:
                        self._drop(request)
                elif request._state in (State.ANSWERED, State.REFUSED):
                    if age > options.keep_us:
                        self.requests.counters.forgotten += request._state is State.ANSWERED
                        self._drop(request)
                else:
                    self._abandoned(request)
        if left:
            self._sweep_later(now)
        else:
            self._sweeping = False
