"""Fiber in of the pure-Python model's CAB: what ``docs/cab.md`` says, packet by packet instead of cycle by cycle.

Symbols reach data memory when their packet has ended, and a packet's place in the input queue is reckoned, not held:
see ``fiber.Arrival``. So software cannot take single symbols out of that queue here: RX_MODE.direct is refused.
"""

from collections import deque

from ....hdl.cab.addresses import CRC_BYTES, HEADER_BYTES, REG, REGIONS, RX_LIST_DEPTH, Check, Irq
from ....hdl.cab.regions import AccessKind
from .checksum import TRAILER_BYTES, internet, trailer
from .fiber import Arrival, Command
from .hub import QUEUE

__all__ = ["FiberIn"]

#: Cycles from the last byte of a packet to RECEIVED, from a header to PACKET.
_STORE, _SHOW = 4, 3
#: Replies that the CAB keeps until software reads them.
_REPLIES = 8
_DATA = REGIONS["data"]


class FiberIn:
    """The part of a ModelCab that receives: packets, replies, ready signals, and their registers."""

    def _fiber_in_begin(self):
        """As after a reset."""
        self._rx_address = 0
        self._rx_packets = deque()
        self._rx_shown = self._rx_running = self._rx_discards = False
        self._rx_result = None
        self._rx_stray = False
        self._replies = deque()
        self._errors = dict.fromkeys(("overrun", "stray", "framing", "reply_lost"), 0)
        self._rx_areas = []
        self._rx_mode = 0
        self._rx_threshold = self._rx_count = self._rx_stored = 0
        self._rx_body = b""

    def signalled(self, signal):
        """A ready signal or a reply has arrived."""
        _, kind, value = signal
        self._rx_count += 1 if kind == "ready" else 4
        if kind == "ready":
            self._ready()
        elif len(self._replies) < _REPLIES:
            self._replies.append(value)
            self.machine.interrupt(self)
        else:
            self._count("reply_lost")

    def arrive(self, arrival):
        """The first symbol of a piece has arrived."""
        _, piece, head, tail = arrival
        self._rx_count += piece.length
        if isinstance(piece, Command):
            return
        packets = self._rx_packets
        if piece.start:
            if packets and packets[-1].ended is None:
                packets[-1].ended, packets[-1].cut = head, True
                self._count("framing")
            packets.append(Arrival())
            self._raise(Irq.START)
            self._rx_stray = False
        elif not packets or packets[-1].ended is not None:
            if not self._rx_stray:
                self._rx_stray = True
                self._count("stray")
            return
        packets[-1].stretches.append((piece, head, tail))
        if piece.end:
            packets[-1].ended = tail
        self._rx_work(None)

    def _rx_work(self, _):
        """Does what can be done with the oldest packet now; comes back when more can."""
        if not self._rx_packets or self._rx_result is not None:
            return
        packet, now = self._rx_packets[0], self.machine.time_ps
        if packet.check is None:
            mode = REG["RX_MODE"]
            packet.check, packet.skip = Check(mode.check.get(self._rx_mode)), mode.skip.get(self._rx_mode)
            self._rx_stored, self._rx_body = 0, b""
        if self._rx_running:
            if packet.ended is not None:
                due = packet.ended + _STORE * self.period_ps
                if due > now:
                    self.machine.at(due, self._rx_work, None)
                else:
                    self._rx_finish(packet)
        elif not self._rx_shown:
            known = packet.header_at(self.symbol_ps, HEADER_BYTES + TRAILER_BYTES[packet.check])
            if known is not None:
                due = known + _SHOW * self.period_ps
                if due > now:
                    self.machine.at(due, self._rx_work, None)
                else:
                    self._rx_shown = True
                    self.machine.interrupt(self)

    def _rx_header(self, word):
        if not self._rx_shown and self._rx_result is None:
            return 0
        data, check = (
            self._rx_result[1:]
            if self._rx_result is not None
            else (self._rx_packets[0].bytes(), self._rx_packets[0].check)
        )
        data = data[: max(len(data) - TRAILER_BYTES[check], 0)]
        return int.from_bytes(
            data[4 * word : 4 * word + 4].ljust(4, b"\0") if 4 * word < min(len(data), HEADER_BYTES) else b"", "big"
        )

    def _read_rx_header0(self):
        return self._rx_header(0)

    def _read_rx_header1(self):
        return self._rx_header(1)

    def _read_rx_header2(self):
        return self._rx_header(2)

    def _read_rx_header3(self):
        return self._rx_header(3)

    def _read_rx_address(self):
        return self._rx_address

    def _write_rx_address(self, value):
        self._rx_address = value & 0xFFFFFF

    def _write_rx_start(self, limit):
        if not self._rx_shown or (limit and not self._inside(self._rx_address, limit)):
            return False
        if not self._guard.allows_area(self._rx_address, limit, AccessKind.WRITE):
            return False
        self._rx_areas.append((self._rx_address, limit))
        self._rx_begin()
        return True

    def _write_rx_area(self, length):
        if (
            self._rx_running
            or len(self._rx_areas) >= RX_LIST_DEPTH
            or length
            and not self._inside(self._rx_address, length)
        ):
            return False
        if not self._guard.allows_area(self._rx_address, length, AccessKind.WRITE):
            return False
        self._rx_areas.append((self._rx_address, length))
        return True

    def _read_rx_mode(self):
        return self._rx_mode

    def _write_rx_mode(self, value):
        mode = REG["RX_MODE"]
        if mode.check.get(value) > max(Check) or mode.skip.get(value) > HEADER_BYTES or mode.direct.get(value):
            return False
        self._rx_mode = value
        return True

    def _read_rx_queue(self):
        return 0

    def _read_rx_count(self):
        return self._rx_count & 0xFFFFFFFF

    def _read_rx_progress(self):
        return self._rx_stored

    def _read_rx_threshold(self):
        return self._rx_threshold

    def _write_rx_threshold(self, value):
        self._rx_threshold = value

    def _read_rx_sum(self):
        return internet(self._rx_body)

    def _rx_begin(self):
        """Software has said what is to become of the packet. The queue has held all that came until now."""
        self._rx_shown, self._rx_running = False, True
        now = self.machine.time_ps
        held = 0
        for packet in self._rx_packets:
            held += packet.count_by(now, self.symbol_ps)
            if held > QUEUE + HEADER_BYTES + CRC_BYTES:
                packet.lost = True
                self._count("overrun")
        self._rx_work(None)

    def _rx_finish(self, packet):
        self._rx_packets.popleft()
        self._rx_running = False
        result, data = REG["RX_RESULT"], packet.bytes()
        body = data[: max(len(data) - TRAILER_BYTES[packet.check], 0)]
        payload = body[HEADER_BYTES:]
        word = result.header.put(min(len(body), HEADER_BYTES))
        word |= result.crc_bad.put(data[len(body) :] != trailer(packet.check, body, packet.skip))
        word |= result.framing.put(packet.cut or packet.lost)
        if self._rx_discards:
            self._rx_discards = False
            word |= result.discarded.mask
        else:
            stored = rest = payload[: sum(length for _, length in self._rx_areas)]
            for address, length in self._rx_areas:
                part, rest = rest[:length], rest[length:]
                self.memory[address - _DATA.base : address - _DATA.base + len(part)] = part
            self._rx_stored = len(stored)
            if 0 < self._rx_threshold <= len(stored):
                self._raise(Irq.RX_THRESHOLD)
            word |= result.length.put(len(stored)) | result.too_long.put(len(payload) > len(stored))
        self._rx_areas = []
        self._rx_body = body[packet.skip :]
        self._rx_result = word, data, packet.check
        self.machine.interrupt(self)

    def _read_rx_result(self):
        return self._rx_result[0] if self._rx_result is not None else 0

    def _write_rx_release(self, value):
        self._rx_result = None
        self._rx_work(None)

    def _write_rx_control(self, value):
        control = REG["RX_CONTROL"]
        if control.reset.get(value):
            self._rx_packets.clear()
            self._rx_shown = self._rx_running = self._rx_discards = False
            self._rx_areas = []
        elif control.discard.get(value):
            if self._rx_shown:
                self._rx_discards = True
                self._rx_begin()
            elif self._rx_running:
                self._rx_discards = True

    def _read_rx_status(self):
        status = REG["RX_STATUS"]
        now = self.machine.time_ps
        level = sum(packet.count_by(now, self.symbol_ps) for packet in self._rx_packets)
        return (
            status.level.put(min(level, QUEUE))
            | status.open.put(self._rx_shown or self._rx_running)
            | status.dma.put(self._rx_running)
            | status.areas.put(0 if self._rx_running else RX_LIST_DEPTH - len(self._rx_areas))
        )

    def _read_reply(self):
        if not self._replies:
            return 0
        return REG["REPLY"].valid.mask | self._replies.popleft()
