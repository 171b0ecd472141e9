"""The fiber port of the pure-Python model's CAB: what ``docs/cab.md`` says, packet by packet instead of cycle by cycle.

Symbols reach data memory when their packet has ended, and a packet's place in the input queue is reckoned, not held:
see ``modelfiber.Arrival``. So software cannot take single symbols out of that queue here: RX_MODE.direct is refused.
"""

import zlib
from collections import deque

from ...hdl.cab.addresses import CRC_BYTES, HEADER_BYTES, REG, REGIONS, RX_LIST_DEPTH, TX_LIST_DEPTH, Check, Irq
from ...hdl.cab.regions import AccessKind
from ...hdl.link.symbol import COMMAND_LENGTH, Control
from .modelfiber import Arrival, Command, Stretch
from .modelnet import QUEUE

__all__ = ["ModelPort"]

#: Cycles from an entry's turn to its first symbol, from the last byte of a packet to RECEIVED, from a header to PACKET.
_SEND, _STORE, _SHOW = 3, 4, 3
_REPLIES = 8
_DATA = REGIONS["data"]
_TRAILER = {Check.CRC32: CRC_BYTES, Check.INTERNET: 2, Check.NONE: 0}


def _internet(data):
    """The Internet checksum of bytes (RFC 1071)."""
    data = bytes(data) + bytes(len(data) % 2)
    total = sum(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))
    return (total and (total - 1) % 0xFFFF + 1) ^ 0xFFFF


def _trailer(check, data, skip=0):
    """The bytes of a packet's checksum."""
    if check == Check.CRC32:
        return zlib.crc32(data).to_bytes(CRC_BYTES, "big")
    return _internet(data[skip:]).to_bytes(2, "big") if check == Check.INTERNET else b""


class ModelPort:
    """Fiber out and fiber in of a CAB; its registers."""

    def _port_begin(self):
        """As after a reset."""
        self._tx_list = deque()
        self._tx_busy = self._tx_waits = self._tx_open = False
        self._tx_ready = True
        self._tx_address = self._tx_sent = 0
        self._rx_address = 0
        self._rx_packets = deque()
        self._rx_shown = self._rx_running = self._rx_discards = False
        self._rx_result = None
        self._rx_stray = False
        self._replies = deque()
        self._errors = dict.fromkeys(("overrun", "stray", "framing", "reply_lost"), 0)
        self._tx_reply = None  # bytes so far of a reply frame that software sends symbol by symbol
        self._tx_covered = bytearray()  # bytes since the last start of packet
        self._tx_threshold = self._tx_count = 0
        self._rx_areas = []
        self._rx_mode = 0
        self._rx_threshold = self._rx_count = self._rx_stored = 0
        self._rx_body = b""

    # -- fiber out -----------------------------------------------------------------------------------
    def _read_tx_status(self):
        status = REG["TX_STATUS"]
        return (
            status.free.put(TX_LIST_DEPTH - len(self._tx_list))
            | status.busy.put(self._tx_busy)
            | status.ready.put(self._tx_ready)
            | status.waiting.put(self._tx_waits)
            | status.sent.put(self._tx_sent)
        )

    def _read_tx_address(self):
        return self._tx_address

    def _write_tx_address(self, value):
        self._tx_address = value & 0xFFFFFF

    def _write_tx_command(self, value):
        return self._tx_add(REG["TX_COMMAND"], value, 0)

    def _write_tx_symbol(self, value):
        return self._tx_add(REG["TX_SYMBOL"], value, 0)

    def _write_tx_area(self, value):
        register = REG["TX_AREA"]
        length = register.length.get(value)
        if length and not self._inside(self._tx_address, length) or len(self._tx_list) >= TX_LIST_DEPTH:
            return False
        if not self._guard.allows_area(self._tx_address, length, AccessKind.READ):
            return False
        return self._tx_add(register, value, self._tx_address)

    def _inside(self, address, length):
        return _DATA.base <= address and address + length <= _DATA.base + len(self.memory)

    def _tx_add(self, register, value, address):
        if len(self._tx_list) >= TX_LIST_DEPTH:
            return False
        self._tx_list.append((register, value, address))
        if len(self._tx_list) == 1 and not self._tx_busy:
            self._tx_busy = True
            self.machine.at(self.machine.time_ps + _SEND * self.period_ps, self._tx_work, None)
        return True

    def _tx_work(self, finished):
        """The entry ``finished`` has left; begins the next."""
        if finished is not None:
            register, value, _ = finished
            if any(field.name == "notify" and field.get(value) for field in register.fields):
                self._tx_sent = self._tx_sent + 1 & 0xFF
                self._raise(Irq.SENT)
        self._tx_busy = False
        if not self._tx_list:
            return
        register, value, address = self._tx_list[0]
        if register.name == "TX_COMMAND" and register.wait_ready.get(value) and not self._tx_ready:
            self._tx_waits = True
            return
        self._tx_waits = False
        self._tx_busy = True
        entry = self._tx_list.popleft()
        piece = self._piece(*entry)
        now = self.machine.time_ps
        free = now
        if piece is not None and self.fiber is not None:
            if piece.start:
                self._tx_ready = False
            self._tx_count += piece.length
            free = self.fiber.send(piece, now)
        self.machine.at(max(free, now + self.period_ps), self._tx_work, entry)

    def _piece(self, register, value, address):
        """What an entry of the list sends; None for nothing."""
        if register.name == "TX_COMMAND":
            return Command(register.opcode.get(value), register.hub.get(value), register.param.get(value))
        if register.name == "TX_SYMBOL":
            if value in (Control.START, Control.END):
                if value == Control.START:
                    self._tx_covered.clear()
                return Stretch(b"", value == Control.START, value == Control.END)
            if value > 0xFF:
                self._tx_reply = bytearray() if value == Control.REPLY else None
                return None  # the model sends no other control codes
            if self._tx_reply is not None:
                return self._reply_byte(value)
            self._cover(bytes([value]))
            return Stretch(bytes([value]))
        offset = address - _DATA.base
        length = register.length.get(value)
        data = bytes(self.memory[offset : offset + length]) if length else b""
        start, end = bool(register.start.get(value)), bool(register.end.get(value))
        if start:
            self._tx_covered.clear()
        if register.crc.get(value):
            data += _trailer(
                Check.INTERNET if register.internet.get(value) else Check.CRC32, bytes(self._tx_covered) + data
            )
        self._cover(data)
        self._tx_open = (start or self._tx_open) and not end
        return Stretch(data, start, end) if data or start or end else None

    def _reply_byte(self, value):
        """Takes a byte of a reply frame; the whole frame leaves with its last."""
        self._tx_reply.append(value)
        if len(self._tx_reply) == COMMAND_LENGTH - 1:
            if self.fiber is not None:
                self._tx_count += COMMAND_LENGTH
                self.fiber.signal("reply", self.machine.time_ps, int.from_bytes(self._tx_reply, "big"))
            self._tx_reply = None

    def _cover(self, data):
        """Data bytes leave."""
        before = len(self._tx_covered)
        self._tx_covered += data
        if before < self._tx_threshold <= len(self._tx_covered):
            self._raise(Irq.TX_THRESHOLD)

    def _read_tx_progress(self):
        return len(self._tx_covered) & 0xFFFFF

    def _read_tx_threshold(self):
        return self._tx_threshold

    def _write_tx_threshold(self, value):
        self._tx_threshold = value

    def _read_tx_count(self):
        return self._tx_count & 0xFFFFFFFF

    def _write_tx_ready(self, value):
        if self.fiber is not None:
            self._tx_count += 1
            self.fiber.signal("ready", self.machine.time_ps + self.period_ps)

    def _write_tx_control(self, value):
        control = REG["TX_CONTROL"]
        if control.reset.get(value):
            self._tx_list.clear()
            self._tx_waits = False
            if self._tx_open and self.fiber is not None:
                self._tx_open = False
                self.fiber.send(Stretch(b"", end=True), self.machine.time_ps)
        if control.set_ready.get(value):
            self._ready()

    def _ready(self):
        self._tx_ready = True
        if self._tx_waits:
            self._tx_work(None)

    # -- fiber in ------------------------------------------------------------------------------------
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
            known = packet.header_at(self.symbol_ps, HEADER_BYTES + _TRAILER[packet.check])
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
        data = data[: max(len(data) - _TRAILER[check], 0)]
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
        return _internet(self._rx_body)

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
        body = data[: max(len(data) - _TRAILER[packet.check], 0)]
        payload = body[HEADER_BYTES:]
        word = result.header.put(min(len(body), HEADER_BYTES))
        word |= result.crc_bad.put(data[len(body) :] != _trailer(packet.check, body, packet.skip))
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
