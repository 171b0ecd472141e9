"""The CAB board of the pure-Python model: what ``docs/cab.md`` says, packet by packet instead of cycle by cycle.

Symbols reach data memory when their packet has ended, and a packet's place in the input queue is reckoned, not held: see ``modelnet.Arrival``.
"""

import zlib
from collections import deque

from ...hdl.cab.addresses import CRC_BYTES, HEADER_BYTES, ID_VALUE, REG, REGIONS, TX_LIST_DEPTH, Irq
from ...hdl.link.symbol import Control
from .modelnet import QUEUE, Arrival, Command, Stretch

__all__ = ["ModelCab"]

#: Cycles from an entry's turn to its first symbol, from the last byte of a packet to RECEIVED, from a header to PACKET.
_SEND, _STORE, _SHOW = 3, 4, 3
_REPLIES = 8
_DATA = REGIONS["data"]
_BY_ADDRESS = {register.address: register for register in REG.values()}
_EVENTS = (1 << Irq.SENT) | (1 << Irq.TIMER) | (1 << Irq.ERROR)


class ModelCab:
    """A CAB without its CPU.

    Members
    -------
    fiber : ModelFiber or None
        Out of its port.
    memory : bytearray
    """

    def __init__(self, machine, board, period_ps, first_ps, symbol_ps, memory_bytes):
        self.machine = machine
        self.name = board.name
        self.period_ps = period_ps
        self.first_ps = first_ps          # time of edge 0
        self.symbol_ps = symbol_ps
        self.fiber = None
        self.memory = bytearray(memory_bytes)
        self._events = 0                  # SENT, TIMER, ERROR
        self._enable = 0
        self._compare = 0
        self._timer = 0                   # counts settings, so that an older one can be told
        self._tx_list = deque()
        self._tx_busy = self._tx_waits = self._tx_open = False
        self._tx_ready = True
        self._tx_address = self._tx_sent = self._tx_crc = 0
        self._rx_address = self._rx_limit = 0
        self._rx_packets = deque()
        self._rx_shown = self._rx_running = self._rx_discards = False
        self._rx_result = None
        self._rx_stray = False
        self._replies = deque()
        self._errors = dict.fromkeys(("overrun", "stray", "framing", "reply_lost"), 0)

    # -- the CPU bus ---------------------------------------------------------------------------------
    @property
    def irq(self):
        """The interrupt line."""
        return bool(self._pending() & self._enable)

    def _pending(self):
        return (self._events | self._rx_shown << Irq.PACKET | (self._rx_result is not None) << Irq.RECEIVED
                | bool(self._replies) << Irq.REPLY)

    def access(self, request):
        """Carries out a request; returns (data, error)."""
        address = request.address
        offset = address - _DATA.base
        if 0 <= offset < len(self.memory):
            if not request.write:
                return int.from_bytes(self.memory[offset:offset + 4], "big"), False
            for lane in range(4):
                if request.select & 8 >> lane:
                    self.memory[offset + lane] = request.data >> 8 * (3 - lane) & 0xFF
            return 0, False
        register = _BY_ADDRESS.get(address)
        if register is None or request.select != 0xF or ("w" if request.write else "r") not in register.access:
            return 0, True
        if request.write:
            fields = sum(field.mask for field in register.fields) or 0xFFFFFFFF
            return 0, getattr(self, "_write_" + register.name.lower())(request.data & fields) is False
        return getattr(self, "_read_" + register.name.lower())(), False

    def _cycle(self):
        return (self.machine.time_ps - self.first_ps) // self.period_ps

    def _read_irq_pending(self):
        return self._pending()

    def _write_irq_pending(self, value):
        self._events &= ~(value & _EVENTS)

    def _read_irq_enable(self):
        return self._enable

    def _write_irq_enable(self, value):
        self._enable = value

    def _read_id(self):
        return ID_VALUE

    def _read_timer_now(self):
        return self._cycle() & 0xFFFFFFFF

    def _read_timer_compare(self):
        return self._compare

    def _write_timer_compare(self, value):
        self._compare = value
        self._timer += 1
        ahead = value - self._cycle() & 0xFFFFFFFF
        wait = ahead + 1 if ahead < 1 << 31 else 1
        self.machine.at(self.machine.time_ps + wait * self.period_ps, self._fire, self._timer)

    def _write_timer_stop(self, value):
        self._timer += 1

    def _fire(self, setting):
        if setting == self._timer:
            self._timer += 1
            self._raise(Irq.TIMER)

    def _raise(self, irq):
        self._events |= 1 << irq
        self.machine.interrupt(self)

    def _count(self, name):
        self._errors[name] = min(self._errors[name] + 1, 255)
        self._raise(Irq.ERROR)

    def _read_errors(self):
        return sum(REG["ERRORS"].__getattr__(name).put(count) for name, count in self._errors.items())

    # -- fiber out -----------------------------------------------------------------------------------
    def _read_tx_status(self):
        status = REG["TX_STATUS"]
        return (status.free.put(TX_LIST_DEPTH - len(self._tx_list)) | status.busy.put(self._tx_busy) | status.ready.put(self._tx_ready)
                | status.waiting.put(self._tx_waits) | status.sent.put(self._tx_sent))

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
        if length and not self._inside(self._tx_address, length):
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
            free = self.fiber.send(piece, now)
        self.machine.at(max(free, now + self.period_ps), self._tx_work, entry)

    def _piece(self, register, value, address):
        """What an entry of the list sends; None for nothing."""
        if register.name == "TX_COMMAND":
            return Command(register.opcode.get(value), register.hub.get(value), register.param.get(value))
        if register.name == "TX_SYMBOL":
            if value in (Control.START, Control.END):
                return Stretch(b"", value == Control.START, value == Control.END)
            if value > 0xFF:
                return None          # the model sends no other control codes
            self._tx_crc = zlib.crc32(bytes([value]), self._tx_crc)
            return Stretch(bytes([value]))
        offset = address - _DATA.base
        length = register.length.get(value)
        data = bytes(self.memory[offset:offset + length]) if length else b""
        start, end = bool(register.start.get(value)), bool(register.end.get(value))
        self._tx_crc = zlib.crc32(data, 0 if start else self._tx_crc)
        if register.crc.get(value):
            data += self._tx_crc.to_bytes(4, "big")
        self._tx_open = (start or self._tx_open) and not end
        return Stretch(data, start, end) if data or start or end else None

    def _write_tx_ready(self, value):
        if self.fiber is not None:
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
        if isinstance(piece, Command):
            return
        packets = self._rx_packets
        if piece.start:
            if packets and packets[-1].ended is None:
                packets[-1].ended, packets[-1].cut = head, True
                self._count("framing")
            packets.append(Arrival())
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
        if self._rx_running:
            if packet.ended is not None:
                due = packet.ended + _STORE * self.period_ps
                if due > now:
                    self.machine.at(due, self._rx_work, None)
                else:
                    self._rx_finish(packet)
        elif not self._rx_shown:
            known = packet.header_at(self.symbol_ps)
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
        data = self._rx_result[1] if self._rx_result is not None else self._rx_packets[0].bytes()
        if len(data) < HEADER_BYTES + CRC_BYTES:
            data = data[:-CRC_BYTES]
        return int.from_bytes(data[4 * word:4 * word + 4].ljust(4, b"\0") if 4 * word < min(len(data), HEADER_BYTES) else b"", "big")

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
        self._rx_limit = limit
        self._rx_begin()
        return True

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
        body, crc = data[:-CRC_BYTES], data[-CRC_BYTES:]
        payload = body[HEADER_BYTES:]
        word = result.header.put(min(len(body), HEADER_BYTES))
        word |= result.crc_bad.put(len(data) < CRC_BYTES or zlib.crc32(body) != int.from_bytes(crc, "big"))
        word |= result.framing.put(packet.cut or packet.lost)
        if self._rx_discards:
            self._rx_discards = False
            word |= result.discarded.mask
        else:
            stored = payload[:self._rx_limit]
            offset = self._rx_address - _DATA.base
            if stored:
                self.memory[offset:offset + len(stored)] = stored
            word |= result.length.put(len(stored)) | result.too_long.put(len(payload) > len(stored))
        self._rx_result = word, data
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
        return (status.level.put(min(level, QUEUE)) | status.open.put(self._rx_shown or self._rx_running)
                | status.dma.put(self._rx_running))

    def _read_reply(self):
        if not self._replies:
            return 0
        return REG["REPLY"].valid.mask | self._replies.popleft()
