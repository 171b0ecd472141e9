"""The fiber's side of the reference model of the CAB: what is sent, what is received. See ``reference``."""

import zlib
from collections import deque

from nectar.hdl.cab.addresses import CRC_BYTES, HEADER_BYTES, REG, RX_LIST_DEPTH, TX_LIST_DEPTH, Check, Irq
from nectar.hdl.cab.regions import Right
from nectar.hdl.link.symbol import Control, is_control

__all__ = ["BusFault", "FiberInModel", "FiberOutModel", "INPUT_QUEUE", "fields", "internet_checksum", "word"]

#: Symbols that the input queue holds.
INPUT_QUEUE = 1024 + 128
_REPLIES = 8
_QUEUED = (Control.START, Control.END)


def fields(name, word):
    """The fields of register ``name`` in ``word``, as a dict."""
    return {field.name: field.get(word) for field in REG[name].fields}


def word(name, **values):
    """A word of register ``name`` with those fields."""
    return sum(getattr(REG[name], field).put(int(value)) for field, value in values.items())


def internet_checksum(data):
    """The Internet checksum of bytes (RFC 1071)."""
    data = bytes(data) + b"\0" * (len(data) % 2)
    total = sum(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


class BusFault(Exception):
    """The access ends in a bus error."""


_TRAILER = {Check.CRC32: CRC_BYTES, Check.INTERNET: 2, Check.NONE: 0}


class _Packet:
    """A packet that is being received."""

    def __init__(self, check, skip):
        self.data = bytearray()
        self.check = check
        self.skip = skip
        self.ended = False
        self.answered = False  # software has named a place, or discarded it
        self.areas = []  # (offset, length)
        self.dropped = None  # bytes stored when it was discarded
        self.too_long = self.framing = self.discarded = False

    @property
    def body(self):
        """All bytes that are not, or not perhaps, the CRC."""
        return bytes(self.data[: max(len(self.data) - _TRAILER[self.check], 0)])

    @property
    def stored(self):
        """The bytes that go to memory."""
        room = sum(length for _, length in self.areas) if self.answered else 0
        return self.body[HEADER_BYTES:][: room if self.dropped is None else self.dropped]

    @property
    def waits(self):
        """Whether software must say what to do."""
        return not self.answered and (self.ended or len(self.body) >= HEADER_BYTES)


class FiberOutModel:
    """What the board sends. ``sent``: symbols that have left, a list of int that the bench may empty."""

    def reset_fiber_out(self):
        """As after a reset; what has been sent has been sent."""
        self.ready = True
        self.entries = deque()
        self.sent_count = 0
        self.tx_address = 0
        self.packet_open = False
        self.covered = bytearray()  # bytes since the last start of packet
        self.tx_threshold = 0
        self.tx_count = 0

    def _enter(self, entry):
        if len(self.entries) >= TX_LIST_DEPTH:
            raise BusFault
        self.entries.append(entry)

    def _write_tx_command(self, value):
        self._enter(("command", fields("TX_COMMAND", value)))

    def _write_tx_symbol(self, value):
        self._enter(("symbol", fields("TX_SYMBOL", value)))

    def _write_tx_area(self, value):
        area = fields("TX_AREA", value)
        entry = "area", area | {"offset": self._area(self.tx_address, area["length"])}
        if len(self.entries) < TX_LIST_DEPTH:
            self._allowed(self.tx_address, area["length"], Right.READ)
        self._enter(entry)

    def _read_tx_address(self):
        return self.tx_address

    def _write_tx_address(self, value):
        self.tx_address = value & 0xFFFFFF

    def _write_tx_ready(self, value):
        self.sent.append(Control.READY)
        self.tx_count += 1

    def _write_tx_control(self, value):
        control = fields("TX_CONTROL", value)
        if control["reset"]:
            self.entries.clear()
            if self.packet_open:
                self._send(Control.END)
        if control["set_ready"]:
            self.ready = True

    def _read_tx_progress(self):
        return len(self.covered) & 0xFFFFF

    def _read_tx_threshold(self):
        return self.tx_threshold

    def _write_tx_threshold(self, value):
        self.tx_threshold = value & 0xFFFFF

    def _read_tx_count(self):
        return self.tx_count & 0xFFFFFFFF

    @property
    def waiting(self):
        """Whether the list's first entry waits for the ready bit."""
        return bool(self.entries and self.entries[0][1].get("wait_ready") and not self.ready)

    def _read_tx_status(self):
        begun = 1 if self.entries else 0
        return word(
            "TX_STATUS",
            free=TX_LIST_DEPTH - len(self.entries) + begun,
            busy=bool(self.entries),
            ready=self.ready,
            waiting=self.waiting,
            sent=self.sent_count & 0xFF,
        )

    def _send(self, symbol, covered=True):
        if symbol == Control.IDLE:
            return
        self.sent.append(symbol)
        self.tx_count += 1
        if symbol == Control.START:
            self.ready, self.packet_open, self.covered = False, True, bytearray()
        elif symbol == Control.END:
            self.packet_open = False
        elif not is_control(symbol) and covered:
            self.covered.append(symbol)
            if len(self.covered) & 0xFFFFF == self.tx_threshold:
                self.events.add(Irq.TX_THRESHOLD)

    def _work(self, kind, entry):
        if kind == "command":
            for symbol in (Control.COMMAND, entry["opcode"], entry["hub"], entry["param"]):
                self._send(symbol, covered=False)
        elif kind == "symbol":
            self._send(entry["symbol"])
        else:
            if entry["start"]:
                self._send(Control.START)
            for byte in self.data[entry["offset"] : entry["offset"] + entry["length"]] if entry["length"] else b"":
                self._send(byte)
            if entry["crc"]:
                trailer = (
                    internet_checksum(self.covered).to_bytes(2, "big")
                    if entry["internet"]
                    else zlib.crc32(self.covered).to_bytes(CRC_BYTES, "big")
                )
                for byte in trailer:
                    self._send(byte)
            if entry["end"]:
                self._send(Control.END)
        if entry.get("notify"):
            self.sent_count += 1
            self.events.add(Irq.SENT)


class FiberInModel:
    """What the board receives."""

    def reset_fiber_in(self):
        """As after a reset."""
        self.queue = deque()  # (symbol, whether others were lost before it)
        self.lost = False
        self.frames = {Control.REPLY: [], Control.COMMAND: []}
        self.missing = {Control.REPLY: 0, Control.COMMAND: 0}
        self.replies = deque()
        self.packet = None
        self.result = None  # RX_RESULT while RECEIVED is pending
        self.header = bytes(HEADER_BYTES)
        self.in_run = False
        self.rx_address = 0
        self.rx_areas = []
        self.rx_mode = {"check": 0, "direct": 0, "skip": 0}
        self.rx_threshold = 0
        self.rx_count = 0
        self.rx_stored = 0
        self.rx_body = b""

    def arrive(self, symbol):
        """A symbol has arrived; anything that can follow from it does."""
        if symbol == Control.IDLE:
            return
        self.rx_count += 1
        if symbol == Control.READY:
            self.ready = True
        elif is_control(symbol):
            self._cut(Control.REPLY)
            if symbol == Control.REPLY:
                self.missing[Control.REPLY] = 3
            elif symbol in (*_QUEUED, Control.COMMAND):
                self._cut(Control.COMMAND)
                if symbol == Control.COMMAND:
                    self.missing[Control.COMMAND] = 3
                else:
                    self._enqueue(symbol)
            else:
                self._error("stray")
        elif self.missing[Control.REPLY]:
            self._frame(Control.REPLY, symbol)
        elif self.missing[Control.COMMAND]:
            self._frame(Control.COMMAND, symbol)
        else:
            self._enqueue(symbol)
        self._settle()

    def _cut(self, kind):
        if self.missing[kind]:
            self._error("framing")
        self.missing[kind] = 0
        self.frames[kind] = []

    def _frame(self, kind, byte):
        self.frames[kind].append(byte)
        self.missing[kind] -= 1
        if self.missing[kind]:
            return
        frame, self.frames[kind] = self.frames[kind], []
        if kind == Control.REPLY:
            if len(self.replies) < _REPLIES:
                self.replies.append(frame)
            else:
                self._error("reply_lost")

    def _enqueue(self, symbol):
        if symbol == Control.START:
            self.events.add(Irq.START)
        if len(self.queue) >= INPUT_QUEUE:
            self.lost = True
            self._error("overrun")
        else:
            self.queue.append((symbol, self.lost))
            self.lost = False

    def _read_reply(self):
        if not self.replies:
            return 0
        opcode, hub, value = self.replies.popleft()
        return word("REPLY", valid=1, opcode=opcode, hub=hub, value=value)

    def _receive(self):
        """One step at the head of the input queue; whether there was one."""
        packet = self.packet
        if packet is None and self.rx_mode["direct"]:
            return False
        if packet is None:
            if not self.queue or self.result is not None and self.queue[0][0] == Control.START:
                return False
            symbol, _ = self.queue.popleft()
            if symbol == Control.START:
                self.packet, self.in_run, self.header = (
                    _Packet(self.rx_mode["check"], self.rx_mode["skip"]),
                    False,
                    bytes(HEADER_BYTES),
                )
                self.rx_stored, self.rx_body = 0, b""
            elif not self.in_run:
                self.in_run = True
                self._error("stray")
            return True
        if packet.ended and packet.answered:
            self._finish(packet)
            return True
        if packet.waits or not self.queue:
            return False
        symbol, lost = self.queue[0]
        packet.framing |= lost
        if symbol == Control.START:
            packet.framing = packet.ended = True
            self._error("framing")
        else:
            self.queue.popleft()
            if symbol == Control.END:
                packet.ended = True
            else:
                packet.data.append(symbol)
                if packet.answered and not packet.discarded and len(packet.body) > HEADER_BYTES + len(packet.stored):
                    packet.too_long = True
        self._progress(packet)
        self.header = packet.body[:HEADER_BYTES].ljust(HEADER_BYTES, b"\0")
        return True

    def _progress(self, packet):
        stored = len(packet.stored)
        if self.rx_stored < self.rx_threshold <= stored:
            self.events.add(Irq.RX_THRESHOLD)
        self.rx_stored, self.rx_body = stored, packet.body[packet.skip :]

    def _finish(self, packet):
        body = packet.body
        stored = rest = packet.stored
        for offset, length in packet.areas:
            part, rest = rest[:length], rest[length:]
            self.data[offset : offset + len(part)] = part
        self.rx_areas = []
        trailer = bytes(packet.data[len(body) :])
        right = {
            Check.CRC32: zlib.crc32(body).to_bytes(CRC_BYTES, "big"),
            Check.INTERNET: internet_checksum(body[packet.skip :]).to_bytes(2, "big"),
            Check.NONE: b"",
        }
        good = trailer == right[packet.check]
        self.result = word(
            "RX_RESULT",
            length=len(stored),
            header=min(len(body), HEADER_BYTES),
            crc_bad=not good,
            too_long=packet.too_long,
            framing=packet.framing,
            discarded=packet.discarded,
        )
        self.packet = None

    def _read_rx_result(self):
        return self.result or 0

    def _header_word(number):
        return lambda self: int.from_bytes(self.header[4 * number : 4 * number + 4], "big")

    _read_rx_header0, _read_rx_header1, _read_rx_header2, _read_rx_header3 = map(_header_word, range(4))

    def _read_rx_address(self):
        return self.rx_address

    def _write_rx_address(self, value):
        self.rx_address = value & 0xFFFFFF

    def _write_rx_start(self, value):
        limit = fields("RX_START", value)["limit"]
        offset = self._area(self.rx_address, limit)
        if self.packet is None or not self.packet.waits:
            raise BusFault
        self._allowed(self.rx_address, limit, Right.WRITE)
        self.packet.answered, self.packet.areas = True, [*self.rx_areas, (offset, limit)]

    def _write_rx_area(self, value):
        length = fields("RX_AREA", value)["length"]
        offset = self._area(self.rx_address, length)
        if len(self.rx_areas) >= RX_LIST_DEPTH or self.packet is not None and self.packet.areas:
            raise BusFault
        self._allowed(self.rx_address, length, Right.WRITE)
        self.rx_areas.append((offset, length))

    def _read_rx_mode(self):
        return word("RX_MODE", **self.rx_mode)

    def _write_rx_mode(self, value):
        mode = fields("RX_MODE", value)
        if mode["check"] > max(Check) or mode["skip"] > HEADER_BYTES:
            raise BusFault
        self.rx_mode = mode

    def _read_rx_queue(self):
        if not self.rx_mode["direct"] or self.packet is not None or not self.queue:
            return 0
        symbol, lost = self.queue.popleft()
        return word("RX_QUEUE", valid=1, symbol=symbol, lost=lost)

    def _read_rx_count(self):
        return self.rx_count & 0xFFFFFFFF

    def _read_rx_progress(self):
        return self.rx_stored

    def _read_rx_threshold(self):
        return self.rx_threshold

    def _write_rx_threshold(self, value):
        self.rx_threshold = value & 0xFFFFF

    def _read_rx_sum(self):
        return internet_checksum(self.rx_body)

    def _write_rx_release(self, value):
        self.result = None

    def _write_rx_control(self, value):
        control = fields("RX_CONTROL", value)
        packet = self.packet
        if control["reset"]:
            self.queue.clear()
            self.lost = self.in_run = False
            self.packet = None
            self.rx_areas = []
        elif control["discard"] and packet is not None and (packet.waits or packet.answered) and not packet.discarded:
            packet.dropped = len(packet.stored)
            packet.answered = packet.discarded = True

    def _read_rx_status(self):
        packet = self.packet
        return word(
            "RX_STATUS",
            level=len(self.queue),
            open=packet is not None and not packet.ended,
            dma=packet is not None and packet.answered and not packet.discarded,
            areas=0 if packet is not None and packet.areas else RX_LIST_DEPTH - len(self.rx_areas),
        )
