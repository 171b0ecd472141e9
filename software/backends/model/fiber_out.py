"""Fiber out of the pure-Python model's CAB: what ``docs/cab.md`` says, entry by entry instead of cycle by cycle."""

from collections import deque

from ....hdl.cab.addresses import REG, REGIONS, TX_LIST_DEPTH, Check, Irq
from ....hdl.cab.regions import AccessKind
from ....hdl.link.symbol import COMMAND_LENGTH, Control
from .checksum import trailer
from .fiber import Command, Stretch

__all__ = ["FiberOut"]

#: Cycles from an entry's turn to its first symbol.
_SEND = 3
_DATA = REGIONS["data"]


class FiberOut:
    """The part of a ModelCab that sends: the fiber-out list and its registers."""

    def _fiber_out_begin(self):
        """As after a reset."""
        self._tx_list = deque()
        self._tx_busy = self._tx_waits = self._tx_open = False
        self._tx_ready = True
        self._tx_address = self._tx_sent = 0
        self._tx_reply = None  # bytes so far of a reply frame that software sends symbol by symbol
        self._tx_covered = bytearray()  # bytes since the last start of packet
        self._tx_threshold = self._tx_count = 0

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
            data += trailer(
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
