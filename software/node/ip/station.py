"""The CAB's side of the network driver: packets from the node's ring to the fiber, and from the fiber to the node's
ring. All of it runs at interrupt level, but for multicasts. Specification: docs/net.md."""

from dataclasses import dataclass

from ....hdl.cab.addresses import REG, Irq
from ...datalink.fiberin import Answer
from ...errors import NoRoute, ProgramError
from ...packet import ANY_CAB, Protocol, pack, unpack
from .layout import (
    ARRIVED,
    LEAST,
    LEFT,
    LEFT_WORD,
    MTU,
    NODE,
    NODE_WORDS,
    PUT,
    SLEEPS_WORD,
    SLOTS,
    SUM_BYTES,
    VECTOR,
    Part,
    arrived_at,
    in_slot,
    out_slot,
    padded,
    put_at,
)

__all__ = ["Station"]

_IP = int(Protocol.IP)
#: Behind the packet's bytes the Internet checksum of all before it; then the CRC-32, as behind every packet.
_SUMMED = REG["TX_AREA"].crc.mask | REG["TX_AREA"].internet.mask
_WORD = (1 << 32) - 1
#: Packets under way from which on the board is to say when one has left.
_MANY = 8


@dataclass(slots=True)
class StationCounters:
    """What a CAB has seen of its node's IP packets."""

    sent: int = 0
    multicast: int = 0  # of them, to all
    received: int = 0
    refused: int = 0  # entries or counts of the node that cannot be
    no_route: int = 0  # dropped: no way to that CAB
    no_room: int = 0  # dropped: the node had not taken the ones before
    damaged: int = 0  # dropped: CRC, length
    wrong_sum: int = 0  # dropped: Internet checksum
    malformed: int = 0  # dropped: headers that contradict themselves, packets for others


class Station:
    """What a CAB does for the network driver of its node.

    Parameters
    ----------
    cab : Cab
        With a node.

    Members
    -------
    counters : StationCounters
    """

    __slots__ = (
        "cab",
        "counters",
        "summed",
        "_door",
        "_costs",
        "_put",
        "_taken",
        "_come",
        "_left",
        "_gone",
        "_number",
        "_several",
        "_sleeping",
        "_current",
        "_looks",
    )

    def __init__(self, cab):
        if cab.port is None:
            raise ProgramError(f"{cab.name} has no node for a network driver to run on")
        self.cab = cab
        self.counters = StationCounters()
        self.summed = True  # for FiberIn: has the board's Internet checksum of each packet
        self._door, self._costs = cab.door, cab.kernel.costs
        self._put = self._taken = self._come = self._left = 0  # counts, as in the shared words
        self._gone = set()  # packets that have left, beyond ``_left``
        self._number = 0  # of the next packet's header
        self._several = []  # multicasts that the thread is to send
        self._sleeping = None  # that thread
        self._current = None  # packet whose DMA runs
        self._looks = False  # interrupt level, at its end, looks whether the driver sleeps
        cab.datalink.register(Protocol.IP, self)
        cab.port.on_bell.append(self._bell)
        cab.kernel.boot.append(self._begin)
        cab.kernel.spawn(self._run, name="IP multicasts of the node")

    def _begin(self):
        """Before threads run: all counts are 0."""
        self._door.write_block(NODE_WORDS, bytes(arrived_at(SLOTS - 1) + 16 - NODE_WORDS))

    # -- out, at interrupt level ---------------------------------------------------------------------
    async def _bell(self):
        """The node calls."""
        door, counters = self._door, self.counters
        put, taken, _ = NODE.unpack(await door.read_block(NODE_WORDS, NODE.size))
        self._tell()
        if (put - self._left & _WORD) > SLOTS or (self._come - taken & _WORD) > SLOTS:
            counters.refused += 1
            return
        self._taken = taken
        while self._put != put:
            number, self._put = self._put, self._put + 1 & _WORD
            door.spend(self._costs.ip_send)
            word, to = PUT.unpack(await door.read_block(put_at(number), PUT.size))
            length, parts = word & 0xFFFF, word >> 16
            if not LEAST <= length <= MTU or parts > Part.UNSUMMED or to > ANY_CAB or to == self.cab.id:
                counters.refused += 1
                self._left_board(number)
            elif to == ANY_CAB:
                self._several.append((number, parts, length))
                self._rouse()
            else:
                self._send(number, parts, length, to)

    def _send(self, number, parts, length, to):
        route = self.cab.datalink.back(to)
        if route is None:
            self.counters.no_route += 1
            self._left_board(number)
            return
        self.counters.sent += 1
        self.cab.datalink.post(route, *self._packet(number, parts, length, to), self._left_board, number)
        if (self._put - self._left & _WORD) >= _MANY:
            self.cab.interrupts.add(Irq.SENT)

    def _packet(self, number, parts, length, to):
        """Header and areas."""
        self._number = self._number + 1 & 0xFFFF
        header = pack(_IP, self.cab.id, to, parts, 0, self._number, length, 0)
        slot = out_slot(number)
        return header, [(slot, padded(length) | _SUMMED), (slot, 0)]

    def _left_board(self, number):
        """The slot of a packet is free. From both levels."""
        self._gone.add(number)
        if self.cab.interrupts.active:
            self._tell()

    def _tell(self):
        """Tells the node which slots are free. At interrupt level only: what a thread posts might be older."""
        before = self._left
        while self._left in self._gone:
            self._gone.remove(self._left)
            self._left = self._left + 1 & _WORD
        if self._left != before:
            self._door.write_block(LEFT_WORD, LEFT.pack(self._left))

    # -- multicasts, by a thread ---------------------------------------------------------------------
    def _rouse(self):
        thread, self._sleeping = self._sleeping, None
        if thread is not None:
            self._door.spend(self._costs.wake)
            self.cab.kernel.wake(thread)

    async def _run(self):
        kernel, datalink = self.cab.kernel, self.cab.datalink
        while True:
            while not self._several:
                self._sleeping = kernel.current
                await kernel.block("a multicast of the node", None)
            number, parts, length = self._several.pop(0)
            others = sorted(cab for cab in datalink.routes if cab != self.cab.id)
            try:
                route = await datalink.find(*others) if others else None
                if route is None:
                    raise NoRoute("there is no other CAB")
                header, areas = self._packet(number, parts, length, ANY_CAB)
                await datalink.send(route, header, areas, True, self._left_board, number)
                self.counters.multicast += 1
            except ProgramError:
                self.counters.no_route += 1
                self._left_board(number)

    # -- in: upcalls of the datalink, at interrupt level ---------------------------------------------
    def packet(self, header):
        """A packet has begun: names the place for it."""
        self._door.spend(self._costs.ip_match)
        counters = self.counters
        _, source, to, parts, port, _, length, offset = unpack(header)
        if (
            to not in (self.cab.id, ANY_CAB)
            or source in (self.cab.id, ANY_CAB)
            or not LEAST <= length <= MTU
            or parts > Part.UNSUMMED
            or port
            or offset
        ):
            counters.malformed += 1
            return Answer.DISCARD
        if (self._come - self._taken & _WORD) >= SLOTS:
            counters.no_room += 1
            return Answer.DISCARD
        self._current = source, length, parts
        return in_slot(self._come), padded(length) + SUM_BYTES

    def received(self, stored, good):
        """The packet has ended: shows it to the node."""
        counters, interrupts = self.counters, self.cab.interrupts
        self._tell()
        source, length, parts = self._current
        if not good or stored != padded(length) + SUM_BYTES:
            counters.damaged += 1
            return False
        if interrupts.sum:
            counters.wrong_sum += 1
            return False
        self._door.spend(self._costs.ip_received)
        counters.received += 1
        number, self._come = self._come, self._come + 1 & _WORD
        self._door.write_block(arrived_at(number), ARRIVED.pack(parts << 16 | length, source, self._come))
        if not self._looks:
            self._looks = True
            interrupts.loads.append((SLEEPS_WORD, 4, self._slept))
        return False

    def _slept(self, word):
        self._looks = False
        if any(word):
            self.cab.port.call_node(VECTOR)
