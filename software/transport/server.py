"""The server's side of the request-response protocol: services, requests, answers that are kept.

A request is known by its client's CAB, boot number and number. It is executed at most once: see ``_Client.window`` and
``Requests.boot``. Source: see ``software.transport.request``.
"""

from ..packet import ASK, PacketKind, Protocol, Reason
from .datagram import MAX_MESSAGE
from .fragmentation import Reassembly, pack_up
from .fragments import lacking
from .sequence import SequenceWindow, ahead
from .service import Service
from .work import Inbox, State, Work

__all__ = ["Server"]

#: Looks at the age of what is kept in the time that the options name.
_LOOKS = 4


class _Client:
    """What a server knows of the CAB of a client."""

    __slots__ = ("boot", "window", "works")

    def __init__(self, boot):
        self.boot = boot
        self.window = SequenceWindow()  # numbers of requests that were accepted or refused
        self.works = {}  # number -> Work


class Server:
    """Services of one CAB. ``requests``: its Requests."""

    __slots__ = ("requests", "kernel", "memory", "_inboxes", "_clients", "_kept", "_kept_bytes", "_sweeping")

    def __init__(self, requests):
        self.requests = requests
        self.kernel = requests.kernel
        self.memory = requests.memory
        self._inboxes = {}  # service number -> Inbox
        self._clients = {}  # CAB ID -> _Client
        self._kept = {}  # Works that are ANSWERED or REFUSED, the oldest first (a dict as an ordered set)
        self._kept_bytes = 0
        self._sweeping = False

    def serve(self, number, capacity):
        """See ``Requests.serve``."""
        if not 0 <= number <= 0xFFFF:
            raise ValueError(f"a service number is 0 to 65535, not {number}")
        old = self._inboxes.get(number)
        if old is not None and not old.over:
            raise ValueError(f"service {number} of {self.kernel.name} is taken")
        if old is not None:
            self.close(old)
        inbox = self._inboxes[number] = Inbox(self.kernel, number, capacity)
        return Service(self, inbox)

    def close(self, inbox):
        """See ``Service.close``: refuses what waits."""
        if inbox.closed:
            return
        inbox.closed = True
        if self._inboxes.get(inbox.number) is inbox:
            del self._inboxes[inbox.number]
        while inbox.works:
            self._refuse_late(inbox.works.popleft())
        inbox.wake_all()

    async def reply(self, work, data):
        """See ``Request.reply``."""
        kernel, requests = self.kernel, self.requests
        kernel.door.spend(kernel.costs.request_reply)
        if work.state is not State.WORKING:
            raise ValueError("the request has been answered before")
        parcel = None
        if not work.gone:
            areas = requests.datalink.route(work.source).areas
            sent = Protocol.REQUEST, work.source
            parcel = await pack_up(kernel, self.memory, data, MAX_MESSAGE, areas, sent)
        work.free()
        work.state = State.ANSWERED
        if work.gone:
            # The client has cancelled it, or its CAB has started anew; perhaps while memory was waited for.
            if parcel is not None:
                parcel.release()
            return False
        requests.counters.replies += 1
        work.parcel = parcel
        self._keep(work)
        for index in range(len(parcel.parts)):
            if not work.gone:
                await requests.send(*self._fragment(work, index))
        if not parcel.own:
            await parcel.drained()
            while not work.gone:
                # The sweep ends this after keep_us at the latest.
                work.waiter = kernel.current
                await kernel.block(f"the end of {work!r}", lambda: self._leave(work))
            await parcel.drained()
        return True

    def _leave(self, work):
        """The task that waits until its client has the answer is not to wait any more."""
        work.waiter = None
        self._drop(work)

    # -- what is kept; both levels -------------------------------------------------------------------
    def _keep(self, work):
        """Keeps an answer or a refusal; gives up the oldest ones beyond the bounds."""
        options = self.requests.options
        work.looks = 0
        self._kept[work] = None
        self._kept_bytes += work.kept
        while len(self._kept) > options.answers or (self._kept_bytes > options.answer_bytes and len(self._kept) > 1):
            self.requests.counters.forgotten += 1
            self._drop(next(iter(self._kept)))

    def _drop(self, work):
        """Forgets a request; its number stays in the window, so that it is not executed again."""
        client = self._clients.get(work.source)
        if client is not None and client.works.get(work.number) is work:
            del client.works[work.number]
        work.gone = True
        if work in self._kept:
            del self._kept[work]
            self._kept_bytes -= work.kept
        if work.parcel is not None:
            work.parcel.release()
            if work.waiter is not None:
                self.kernel.wake(work.waiter)
                work.waiter = None
        elif work.state is State.COMING:
            work.incoming.give_up()
            work.inbox.reserved -= 1
        elif work.state is State.WAITING:
            work.inbox.withdraw(work)
            work.free()
        elif work.task is not None and work.task.ended:
            work.free()

    def _refuse_late(self, work):
        """A request that was accepted will not be answered: frees it, tells the client, keeps the reason."""
        work.free()
        work.refuse(Reason.ENDED)
        self._keep(work)
        self._say(work, PacketKind.REFUSED, Reason.ENDED)

    def _fragment(self, work, index, ask=0):
        """What ``Requests.post`` and ``send`` want for it."""
        return (
            work.parcel,
            index,
            work.source,
            PacketKind.ANSWER | ask,
            work.inbox.number,
            work.number,
            work.boot,
            self.requests.boot,
        )

    def _send(self, work, index, ask=0):
        self.requests.post(*self._fragment(work, index, ask))

    def _say(self, work, kind, word=0):
        number = work.inbox.number if work.inbox is not None else 0
        self.requests.tell(work.source, kind, number, work.number, work.boot, self.requests.boot, word)

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
            work = client.works.get(packet.number)
            if work is not None:
                incoming = work.incoming
                return (
                    incoming
                    if incoming is not None
                    and incoming.assembly.length == packet.length
                    and incoming.assembly.wants(packet.index)
                    else None
                )
            if client.window.seen(packet.number):
                return None
        inbox = self._inboxes.get(packet.service)
        if inbox is None or inbox.over or inbox.full:
            return None
        return Reassembly.begin(self.memory, packet.length)

    def take(self, packet, incoming):
        """A packet from a client has arrived unharmed; ``incoming`` has its fragment."""
        client = self._known(packet)
        work = None if client is None else client.works.get(packet.number)
        if client is None:
            pass
        elif packet.kind is PacketKind.REQUEST:
            if work is None:
                work = self._begin(client, packet, incoming)
            elif work.incoming is None or work.incoming is not incoming:
                self.requests.counters.duplicates += 1
                if packet.tell:
                    self._status(work)
            if work is not None and work.incoming is not None and work.incoming is incoming:
                self._go_on(client, work, packet)
                return
        elif packet.kind is PacketKind.ACK:
            if work is not None and work.state is State.ANSWERED:
                work.acknowledged = True
                self._drop(work)
        elif packet.kind is PacketKind.LACKS:
            self._send_again(work, packet)
        else:
            self._cancel(client, work, packet)
        if incoming is not None and (work is None or work.incoming is not incoming):
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
                for work in list(client.works.values()):
                    work.cancelled = True
                    self._drop(work)
            client = self._clients[packet.source] = _Client(packet.client_boot)
        elif packet.client_boot != client.boot:
            requests.counters.stale += 1
            return None
        return client

    def _begin(self, client, packet, incoming):
        """The first fragment of a request: a Work for it, unless it is refused."""
        requests = self.requests
        self.kernel.door.spend(self.kernel.costs.request_window)
        if client.window.seen(packet.number):
            requests.counters.duplicates += 1
            if packet.tell:
                self._refuse(packet, Reason.LOST)
            return None
        inbox = self._inboxes.get(packet.service)
        reason = None
        if inbox is None:
            reason = Reason.MISSING
        elif inbox.over:
            reason = Reason.ENDED
        elif inbox.full:
            reason = Reason.FULL
        if reason is None and incoming is None:
            requests.counters.no_room += 1
            if packet.tell:
                self._refuse(packet, Reason.ROOM)
            return None
        work = client.works[packet.number] = Work(packet.source, packet.number, packet.client_boot, inbox)
        if reason is None:
            inbox.reserved += 1
            work.incoming = incoming
        else:
            client.window.add(packet.number)
            work.refuse(reason)
            self._keep(work)
            self._refuse(packet, reason)
        if not self._sweeping:
            self._sweeping = True
            requests.interrupts.late.append(self._sweep_later)
        return work

    def _go_on(self, client, work, packet):
        """A fragment that was missing is there."""
        incoming = work.incoming
        incoming.assembly.add(packet.index)
        work.looks = 0
        if incoming.assembly.missing:
            if packet.tell:
                self._say(work, PacketKind.HAVE, incoming.assembly.word)
            return
        client.window.add(packet.number)
        work.incoming = None
        work.message = incoming.message(work.source, work.number)
        work.state = State.WAITING
        self.requests.counters.requests += 1
        work.inbox.arrive(work)

    def _status(self, work):
        """Tells a client that asks how far its request is."""
        state = work.state
        if state is State.COMING:
            self._say(work, PacketKind.HAVE, work.incoming.assembly.word)
        elif state is State.ANSWERED and not work.parcel.flying:
            self._say(work, PacketKind.WORKING)  # a word that bad fibers damage more rarely than a fragment
            self._send(work, len(work.parcel.parts) - 1)
        elif state is State.REFUSED:
            self._say(work, PacketKind.REFUSED, work.reason)
        elif state is State.ANSWERED or not self._abandoned(work):
            self._say(work, PacketKind.WORKING)

    def _abandoned(self, work):
        """Whether nobody will answer; then the client is told."""
        if work.state is State.WAITING and work in work.inbox.works:
            over = work.inbox.over
            if over:
                work.inbox.withdraw(work)
        else:
            over = work.task is not None and work.task.ended
        if over:
            self._refuse_late(work)
        return over

    def _send_again(self, work, packet):
        """A client lacks fragments of its answer."""
        if work is None:
            self._refuse(packet, Reason.LOST)
        elif work.state is State.ANSWERED and not work.parcel.flying:
            work.looks = 0
            self._say(work, PacketKind.WORKING)
            missing = lacking(packet.word, len(work.parcel.parts))
            for index in missing:
                self._send(work, index, ASK if index == missing[-1] else 0)

    def _cancel(self, client, work, packet):
        """The client does not want an answer."""
        if not client.window.seen(packet.number):
            client.window.add(packet.number)
        if work is not None:
            self.requests.counters.cancelled += 1
            work.cancelled = True
            self._drop(work)
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
            for work in list(client.works.values()):
                spend(cost)
                left += 1
                work.looks += 1
                age = work.looks * period
                if work.state is State.COMING:
                    if age > options.stall_us:
                        self._drop(work)
                elif work.state in (State.ANSWERED, State.REFUSED):
                    if age > options.keep_us:
                        self.requests.counters.forgotten += work.state is State.ANSWERED
                        self._drop(work)
                else:
                    self._abandoned(work)
        if left:
            self._sweep_later(now)
        else:
            self._sweeping = False
