"""The receiving side: start of packet, upcall, DMA, ready signal, end of packet.

Source: "The Design of Nectar" (1989), section 6.2.1: the interrupt handler makes an upcall to the transport, which
names the place for the packet before the input queue overflows. *Network-Based Multicomputers*, section 5.3.1: software
sends the ready signal when it has started the DMA; section 5.3.4: an extra one repairs one that was lost."""

from enum import Enum

from ...hdl.cab.addresses import HEADER_BYTES, REG, REGIONS, Irq
from ...hdl.host.events import EventGroup, EventKind
from ..door import STORE
from ..packet import note_header

__all__ = ["FiberIn", "Answer"]

_ADDRESS = REG["RX_ADDRESS"].address
_START = REG["RX_START"].address
_AREA = REG["RX_AREA"].address
_MESSAGES = int(EventGroup.MESSAGES)
_NOWHERE = REGIONS["data"].base
_RELEASE = REG["RX_RELEASE"].address
_CONTROL = REG["RX_CONTROL"].address
_DISCARD = REG["RX_CONTROL"].discard.mask
_RESET = REG["RX_CONTROL"].reset.mask
_READY = REG["TX_READY"].address
_RESULT = REG["RX_RESULT"]
_LENGTH = _RESULT.length.mask
_HEADER, _WHOLE = _RESULT.header.mask, _RESULT.header.put(HEADER_BYTES)
_BAD = _RESULT.crc_bad.mask | _RESULT.too_long.mask | _RESULT.framing.mask | _RESULT.discarded.mask

_PACKET = int(Irq.PACKET)

#: Looks of the watch for which it goes on behind a burst; at the 1st, 2nd, 4th, 8th and 16th an extra ready signal is
#: sent.
_QUIET = 16
#: A packet of which no more than this many bytes are to come has ended before a second interrupt could begin.
_SHORT = 16


class Answer(Enum):
    """What an upcall may return besides places."""

    HOLD = "there is no room now: keep the packet, and ask again when there may be"
    DISCARD = "drop the packet"
    CHECK = "drop its bytes, but tell at its end whether it came without an error"


# Looked up once: enumerations are slow, and these are wanted for every packet.
_HOLD, _DROP, _CHECK = Answer.HOLD, Answer.DISCARD, Answer.CHECK


class FiberIn:
    """Fiber in of one CAB; everything in here runs at interrupt level.

    Parameters
    ----------
    hold : int
        CPU cycles for which a packet may wait for room, which holds up everything behind it.
    patience : int
        Looks of the watch after which a packet that does not end is given up.
    spare : bool
        Whether extra ready signals are sent behind a burst.

    A transport protocol has two methods, called at interrupt level:

    - ``packet(header: bytes)`` → (address, limit), HOLD, DISCARD or CHECK: where the bytes behind the header go, and
      how many of them at most; or a list of such places, 16 at most, filled in order;
    - ``received(length: int, good: bool)`` → bool: the packet that it was last asked about has ended, with ``length``
      bytes stored, ``good`` if without any error. True if another packet is likely to follow at once.

    One whose attribute ``summed`` is true finds in ``Interrupts.sum``, when it is told of a packet's end, the board's
    Internet checksum of all its bytes.

    One that answers HOLD has a third, ``gave_up()``: the packet for which it last did so has waited in vain, and is
    dropped.
    """

    __slots__ = (
        "kernel",
        "door",
        "timers",
        "interrupts",
        "watch",
        "counters",
        "protocols",
        "_hold",
        "_patience",
        "_spare",
        "_receiver",
        "_checking",
        "_held",
        "_holder",
        "_hold_timer",
        "_recent",
        "_quiet",
        "_age",
    )

    def __init__(self, kernel, timers, interrupts, watch, counters, hold, patience, spare):
        self.kernel = kernel
        self.door = kernel.door
        self.timers = timers
        self.interrupts = interrupts
        self.watch = watch
        self.counters = counters
        self.protocols = {}
        self._hold = hold
        self._patience = patience
        self._spare = spare
        self._receiver = None  # protocol of the packet whose DMA runs
        self._checking = False  # and none of its bytes are wanted
        self._held = False  # a packet waits for room, and PACKET is disabled
        self._holder = None  # protocol that keeps it
        self._hold_timer = None
        self._recent = False  # a packet has come since the last look of the watch
        self._quiet = 0  # looks since the last one
        self._age = 0  # looks since the packet under way began
        interrupts.on_packet = self._on_packet
        interrupts.on_received = self._on_received
        watch.watchers.append(self._tick)

    # -- start of packet -----------------------------------------------------------------------------
    def _on_packet(self, header):
        kernel, door = self.kernel, self.door
        costs = kernel.costs
        if door.groups & _MESSAGES and not self._held:
            note_header(door, EventKind.ARRIVED, header)
        door.spent += costs.datalink_packet + costs.upcall
        self._recent = True
        self._age = 0
        if not self.watch.on:
            self.watch.start_late()
        protocol = self.protocols.get(header[0])
        if protocol is None:
            self.counters.unknown_protocol += 1
            place = _DROP
        else:
            place = protocol.packet(header)
            if place is _HOLD:
                self._holder = protocol
                self._keep()
                return False
        if self._held:
            self._let_go()
        if place is _DROP:
            if protocol is not None:
                self.counters.refused += 1
            self._discard()
            return False
        self._receiver = protocol
        self.interrupts.sums = getattr(protocol, "summed", False)
        self._checking = place is _CHECK
        if self._checking:
            address, limit = _NOWHERE, 0
        elif isinstance(place, list):
            *first, (address, limit) = place
            for start, length in first:
                door.write(_ADDRESS, start)
                door.write(_AREA, length)
        else:
            address, limit = place
        door.post((STORE, _ADDRESS, 4, address, STORE, _START, 4, limit, STORE, _READY, 4, 0))
        return limit <= _SHORT and not self._checking

    def _discard(self):
        self._receiver = None
        self.door.post((STORE, _CONTROL, 4, _DISCARD, STORE, _READY, 4, 0))

    # -- packets that wait for room ------------------------------------------------------------------
    def _keep(self):
        if not self._held:
            self._held = True
            self.counters.held += 1
            self.interrupts.late.append(self._begin_hold)
            self.kernel.on_room = self._ask_again
        self.interrupts.remove(_PACKET)

    def _begin_hold(self, now):
        self._hold_timer = self.timers.at(now + self._hold, self._expire)

    def _ask_again(self):
        """There may be room; from both levels. The interrupt, which still pends, makes the upcall once more."""
        self.interrupts.add(_PACKET)

    def _let_go(self):
        self._held = False
        self.kernel.on_room = None
        if self._hold_timer is not None:
            self.timers.cancel(self._hold_timer)
            self._hold_timer = None

    def _expire(self, _, now):
        self.counters.hold_expired += 1
        self._hold_timer = None
        self._holder.gave_up()
        self._let_go()
        self._discard()
        self.interrupts.add(_PACKET)

    # -- end of packet -------------------------------------------------------------------------------
    def _on_received(self, result):
        door, counters = self.door, self.counters
        door.post((STORE, _RELEASE, 4, 0))
        door.spent += self.kernel.costs.datalink_received
        protocol, self._receiver = self._receiver, None
        if self._checking:
            self._checking = False
            result &= ~_RESULT.too_long.mask
        good = not result & _BAD
        if good and result & _HEADER != _WHOLE:
            counters.short += 1
            good = False
        if good:
            counters.packets_received += 1
        elif not result & _RESULT.discarded.mask:
            if result & _RESULT.framing.mask:
                counters.framing_errors += 1
            elif result & _RESULT.too_long.mask:
                counters.too_long += 1
            elif result & _RESULT.crc_bad.mask:
                counters.crc_errors += 1
        if protocol is None:
            return False
        return protocol.received(result & _LENGTH, good)

    # -- recovery, "Network-Based Multicomputers", section 5.3.4
    # ------------------------------------------------------------------------------------
    def _tick(self):
        """A look of the watch."""
        if self._receiver is not None:
            self._age += 1
            if self._age >= self._patience:
                # The packet's end got lost, and nothing came that would have shown it.
                self.counters.stalled += 1
                protocol, self._receiver = self._receiver, None
                self._checking = False
                self.door.write(_CONTROL, _RESET)
                protocol.received(0, False)
            return True
        if self._recent or self._held:
            self._recent = False
            self._quiet = 0
            return True
        # A quiet time behind a burst: if the last ready signal got lost, or the packet that it would have answered,
        # this one sets the sender going again.
        self._quiet += 1
        if self._spare and not self._quiet & self._quiet - 1:
            self.counters.ready_repeated += 1
            self.door.write(_READY, 0)
        return self._quiet < _QUIET

    def alert(self):
        """Something odd came in, at interrupt level: the watch is to look."""
        self._recent = True
        self.watch.start_late()
