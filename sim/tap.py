"""What a direction of a fiber carries, told symbol by symbol, as events: for back ends whose fibers are in Python.

Written from ``docs/recording.md``, as the engine's ``recorder.cpp`` was, so that the two check each other.
"""

import zlib

from ..hdl.host.events import HEAD_BYTES, EventGroup, EventKind, PacketMark
from ..hdl.link.symbol import COMMAND_LENGTH, Control, is_control

__all__ = ["Tap"]

_TRAILER_BYTES = 4


class _Frame:
    """A command or a reply under way."""

    def __init__(self, kind, begin_ps):
        self.kind = kind
        self.begin_ps = begin_ps
        self.bytes = []

    @property
    def missing(self):
        return COMMAND_LENGTH - 1 - len(self.bytes)


class Tap:
    """Follows the symbols of one direction of a fiber. ``number``: of the fiber."""

    def __init__(self, recorder, number):
        self._recorder = recorder
        self._number = number
        self._groups = recorder.groups
        self._command = self._reply = None  # _Frame
        self._packets = 0  # that have begun
        self._packet = None  # bytes of the one under way
        self._begin_ps = 0

    def symbol(self, start_ps, symbol):
        """A symbol goes on the wire at ``start_ps``."""
        if self._groups & EventGroup.SYMBOLS:
            self._recorder.add(start_ps, EventKind.SYMBOL, 0, self._number, symbol)
        if is_control(symbol):
            self._control(start_ps, symbol)
            return
        frame = self._reply or self._command
        if frame is not None:
            frame.bytes.append(symbol)
            if not frame.missing:
                self._end_frame(frame, start_ps)
        elif self._packet is not None:
            self._packet.append(symbol)

    def _control(self, start_ps, code):
        if code == Control.IDLE:
            return
        if code == Control.READY:
            if self._groups & EventGroup.CONTROLS:
                self._recorder.add(start_ps, EventKind.READY, 0, self._number)
            return
        if self._reply is not None:
            self._end_frame(self._reply, start_ps)
        if code == Control.REPLY:
            self._reply = _Frame(EventKind.REPLY, start_ps)
            return
        if code not in (Control.START, Control.END, Control.COMMAND):
            return
        if self._command is not None:
            self._end_frame(self._command, start_ps)
        if code == Control.COMMAND:
            self._command = _Frame(EventKind.COMMAND, start_ps)
            return
        if self._packet is not None:
            self._end_packet(start_ps, code == Control.START)
        if code == Control.START:
            self._packet, self._begin_ps = bytearray(), start_ps
            if self._groups & EventGroup.PACKETS:
                self._recorder.add(start_ps, EventKind.PACKET_START, 0, self._number, self._packets)
            self._packets += 1

    def _end_frame(self, frame, time_ps):
        if frame is self._reply:
            self._reply = None
        else:
            self._command = None
        if self._groups & EventGroup.CONTROLS:
            value = int.from_bytes(bytes(frame.bytes), "big")
            self._recorder.add(time_ps, frame.kind, frame.missing, self._number, value, frame.begin_ps)

    def _end_packet(self, time_ps, cut):
        data, self._packet = bytes(self._packet), None
        if not self._groups & EventGroup.PACKETS:
            return
        covered, trailer = data[:-_TRAILER_BYTES], data[-_TRAILER_BYTES:]
        good = len(trailer) == _TRAILER_BYTES and zlib.crc32(covered) == int.from_bytes(trailer, "big")
        mark = PacketMark.CRC_GOOD * good | PacketMark.CUT * cut
        kept = data if self._groups & EventGroup.BYTES else data[:HEAD_BYTES]
        self._recorder.add(
            time_ps, EventKind.PACKET, mark, self._number, self._packets - 1, self._begin_ps, len(data), kept
        )
