"""Packets, commands and replies of a recording as a packet file for Wireshark (docs/recording.md, "Packet files").

Each fiber, in each direction, is an interface. A record is one frame with two bytes in front: a FrameKind, and how many
bytes the frame lacks. The time is that at which its first symbol goes on the wire.
"""

import heapq
from enum import IntEnum

from ..hdl.host.events import EventGroup, EventKind, FaultMark, PacketMark
from .pcapng import CRC_ERROR, OUTBOUND, Pcapng

__all__ = ["KINDS", "NEEDED", "FrameKind", "PacketFile", "choose"]

#: What a recording must have.
NEEDED = EventGroup.PACKETS | EventGroup.BYTES | EventGroup.CONTROLS
#: The kinds of events that it is made of.
KINDS = (EventKind.PACKET_START, EventKind.PACKET, EventKind.COMMAND, EventKind.REPLY, EventKind.FAULT)

_FAULTS = {
    FaultMark.LOST: "lost",
    FaultMark.DOUBLED: "doubled",
    FaultMark.DAMAGED: "damaged",
    FaultMark.DELAYED: "delayed",
}


class FrameKind(IntEnum):
    """First byte of a record."""

    PACKET = 1
    COMMAND = 2
    REPLY = 3


class PacketFile:
    """Writes frames in the order of their times.

    Parameters
    ----------
    file : binary file
    version : str
        Of the program.
    fibers : list of Fiber
        All of the recording, in their order.
    chosen : collection of int
        Numbers of the fibers whose frames are written.
    """

    def __init__(self, file, version, fibers, chosen=None):
        written = [fiber for fiber in fibers if chosen is None or fiber.number in chosen]
        self._interfaces = {fiber.number: place for place, fiber in enumerate(written)}
        self._file = Pcapng(
            file,
            f"Nectar {version}",
            [
                (
                    f"{fiber.sender}>{fiber.receiver}",
                    f"fiber from {fiber.sender} to {fiber.receiver}, {fiber.delay_ps / 1000:g} ns",
                    round(8e12 / fiber.symbol_ps),
                )
                for fiber in written
            ],
        )
        self._lag_ps = 4 * max((fiber.symbol_ps for fiber in written), default=0)  # of a command that is under way
        self._open = {}  # number of a fiber -> [time at which a packet has begun, ...] that has not ended
        self._faults = {number: [] for number in self._interfaces}
        self._waiting = []  # frames that an earlier one may still come before: (begin, count, ...)
        self._count = 0

    def event(self, event):
        """Takes an event of the recording; events come by time."""
        fiber = getattr(event, "fiber", None)
        if fiber is None or fiber.number not in self._interfaces:
            return
        kind = event.kind
        if kind == EventKind.PACKET_START:
            self._open[fiber.number] = event.time_ps
        elif kind == EventKind.FAULT:
            self._faults[fiber.number].append(event)
        elif kind == EventKind.PACKET:
            self._open.pop(fiber.number, None)
            self._packet(event)
        elif kind in (EventKind.COMMAND, EventKind.REPLY):
            self._command(event)
        self._pass_on(event.time_ps)

    def _packet(self, event):
        comments = self._struck(event.fiber.number, event.begin_ps, event.time_ps)
        if event.mark & PacketMark.CUT:
            comments.insert(0, "cut off by another start of packet: it has no end")
        flags = OUTBOUND
        if not event.mark & PacketMark.CRC_GOOD:
            comments.insert(0, "wrong CRC")
            flags |= CRC_ERROR
        self._frame(event, FrameKind.PACKET, 0, event.data, event.length, flags, comments)

    def _command(self, event):
        kind = FrameKind.COMMAND if event.kind == EventKind.COMMAND else FrameKind.REPLY
        data = bytes((event.opcode, event.hub, event.param))[: 3 - event.missing]
        comments = self._struck(event.fiber.number, event.begin_ps, event.time_ps)
        if event.missing:
            comments.insert(0, f"cut short: {event.missing} of 3 bytes are missing")
        self._frame(event, kind, event.missing, data, 3, OUTBOUND, comments)

    def _struck(self, number, begin_ps, end_ps):
        """What faults have done to the symbols from the one time to the other, in words; they are forgotten then."""
        faults, texts = self._faults[number], []
        while faults and faults[0].time_ps <= end_ps:
            fault = faults.pop(0)
            if fault.time_ps < begin_ps:
                continue
            if fault.symbols:
                texts.append(f"fault: the fiber was cut, {fault.symbols} symbols under way were lost")
            else:
                what = " and ".join(text for mark, text in _FAULTS.items() if fault.mark & mark)
                arrived = f", 0x{fault.arrived:03X} arrives" if fault.mark & FaultMark.DAMAGED else ""
                at = (fault.time_ps - begin_ps) // 1000
                texts.append(f"fault: symbol 0x{fault.sent:03X} after {at} ns {what}{arrived}")
        return texts

    def _frame(self, event, kind, missing, data, length, flags, comments):
        record = bytes((kind, missing)) + data
        whole = 2 + length - missing
        self._count += 1
        heapq.heappush(
            self._waiting,
            (event.begin_ps, self._count, self._interfaces[event.fiber.number], record, whole, flags, comments),
        )

    def _pass_on(self, time_ps):
        """Writes the frames that no frame which is under way can come before."""
        earliest = min([time_ps - self._lag_ps, *self._open.values()])
        while self._waiting and self._waiting[0][0] < earliest:
            self._write(heapq.heappop(self._waiting))

    def _write(self, frame):
        begin_ps, _, interface, record, whole, flags, comments = frame
        self._file.packet(interface, begin_ps // 1000, record, length=whole, flags=flags, comments=comments)

    def flush(self):
        """All that has been written is in the file."""
        self._file.flush()

    def end(self):
        """Writes what is left. Packets that have not ended are left out."""
        while self._waiting:
            self._write(heapq.heappop(self._waiting))
        self.flush()


def choose(fibers, names):
    """The numbers of the fibers that ``names`` choose: a fiber's end ("CAB1", "HUB1.P3": both directions), a board
    (all its fibers), or one direction ("CAB1>HUB1.P0"). Raises ValueError, one line, for a name that chooses none."""
    chosen = set()
    for name in names:
        sender, arrow, receiver = name.partition(">")
        found = {
            fiber.number
            for fiber in fibers
            if (
                (fiber.sender, fiber.receiver) == (sender, receiver)
                if arrow
                else name in (fiber.sender, fiber.receiver, _board(fiber.sender), _board(fiber.receiver))
            )
        }
        if not found:
            boards = sorted({_board(fiber.sender) for fiber in fibers})
            first = fibers[0]
            # A port, rather than a board that has only one.
            end = max(first.sender, first.receiver, key=lambda end: "." in end)
            raise ValueError(
                f"there is no fiber {name!r}; write a board ({', '.join(boards[:4])}{', …' * (len(boards) > 4)}), an "
                f"end ({end}), or one direction ({first.sender}>{first.receiver})"
            )
        chosen |= found
    return chosen


def _board(end):
    return end.partition(".")[0]
