"""What request-response and reliable multicast have in common: a header, fragments of a message behind it, and how a
packet is judged.

Ours; docs/transports.md has the header (``EXCHANGE`` in ``software.packet``).
"""

from ..datalink.fiberin import Answer
from ..packet import ANY_CAB, ASK, EXCHANGE, LENGTH_BITS, PacketKind
from .datagram import MAX_MESSAGE
from .fragments import count, size

__all__ = ["Exchange", "Fragment"]


class Fragment:
    """What the last word of a header says; ``word``, ``ask`` are the header's. To stand before a tuple among the
    bases, which has an ``index`` of its own."""

    __slots__ = ()

    @property
    def index(self):
        """Of the fragment."""
        return self.word >> LENGTH_BITS

    @property
    def length(self):
        """Bytes of the message."""
        return self.word & (1 << LENGTH_BITS) - 1

    @property
    def tell(self):
        """Whether to answer it at once, if it is a fragment: it is the last, or asks."""
        return self.ask or self.index == count(self.length) - 1


class Exchange:
    """A protocol of one CAB whose packets have an EXCHANGE header.

    Parameters
    ----------
    protocol : Protocol
    number : int
        The CAB's ID.
    boot : int
        Which start of the CAB this is, 1 to 65535; every start needs a number above that of the one before.
    kernel, memory, timers, interrupts, datalink
        The CAB's.
    waste : int
        Address of MAX_DATA bytes for what nobody wants.
    options, counters
        The protocol's own.
    cycles : (int, int)
        What the two upcalls cost, in CPU cycles.

    A protocol says what it takes (``KINDS``; ``DATA``, those of them that carry a fragment; ``REASONS`` of a refusal)
    and has three methods: ``_parse(source, destination, kind, ask, *fields)`` gives its own form of a header, or None
    for one that contradicts itself; ``_expect(packet)`` names the Incoming for a fragment, or None; ``_take(packet,
    incoming)`` is handed what has come whole, and tells whether more is likely to follow at once.
    """

    __slots__ = (
        "number",
        "boot",
        "kernel",
        "memory",
        "timers",
        "interrupts",
        "datalink",
        "options",
        "counters",
        "_protocol",
        "_waste",
        "_cycles",
        "_now",
    )

    KINDS = DATA = REASONS = frozenset()
    #: Destinations besides the CAB's own ID.
    EVERYONE = ()

    def __init__(
        self, protocol, number, boot, kernel, memory, timers, interrupts, datalink, waste, options, counters, cycles
    ):
        if not 1 <= boot <= 0xFFFF:
            raise ValueError(f"a boot number is 1 to 65535, not {boot}")
        self.number = number
        self.boot = boot
        self.kernel = kernel
        self.memory = memory
        self.timers = timers
        self.interrupts = interrupts
        self.datalink = datalink
        self.options = options
        self.counters = counters
        self._protocol = protocol
        self._waste = waste
        self._cycles = cycles
        self._now = None  # (packet, Incoming or None) of the packet under way
        datalink.register(protocol, self)

    def cycles(self, microseconds):
        """CPU cycles."""
        return round(microseconds * self.kernel.door.cpu_hz / 1_000_000)

    def header(self, destination, kind, *fields):
        """The bytes of a header; ``fields``: its last five, of which the last, 0 if left out, is the word."""
        self.kernel.door.spend(self.kernel.costs.transport_post)
        return EXCHANGE.pack(self._protocol, self.number, destination, kind, *fields, *(0,) * (5 - len(fields)))

    # -- upcalls of the datalink, at interrupt level -------------------------------------------------
    def packet(self, header):
        """A packet has begun: names the place for it. Nothing is believed of it yet."""
        counters = self.counters
        self.kernel.door.spend(self._cycles[0])
        _, source, destination, kind, *fields = EXCHANGE.unpack(header)
        if destination != self.number and destination not in self.EVERYONE:
            counters.misdelivered += 1
            return Answer.DISCARD
        packet = None
        if kind & ~ASK in self.KINDS and source not in (self.number, ANY_CAB):
            packet = self._parse(source, destination, PacketKind(kind & ~ASK), bool(kind & ASK), *fields)
        if packet is None:
            counters.malformed += 1
            return Answer.DISCARD
        if packet.kind not in self.DATA:
            self._now = packet, None
            return self._waste, 0
        if packet.length > MAX_MESSAGE or packet.index >= count(packet.length):
            counters.malformed += 1
            return Answer.DISCARD
        incoming = self._expect(packet)
        self._now = packet, incoming
        return self._waste if incoming is None else incoming.place(packet.index), size(packet.length, packet.index)

    def received(self, length, good):
        """The packet has ended."""
        counters = self.counters
        self.kernel.door.spend(self._cycles[1])
        packet, incoming = self._now
        self._now = None
        wanted = incoming is not None and incoming.placed()
        if not good:
            counters.damaged += 1
        elif (
            length != (size(packet.length, packet.index) if packet.kind in self.DATA else 0)
            or packet.kind is PacketKind.REFUSED
            and packet.word not in self.REASONS
        ):
            counters.malformed += 1
        else:
            return self._take(packet, incoming if wanted else None)
        if wanted and not incoming.assembly.begun:
            incoming.give_up()
        return False
