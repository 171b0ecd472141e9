"""Events of a recording as Python sees them: a class for each kind. ``docs/recording.md`` tells what they mean.

Times are simulated picoseconds. ``board`` is the name of a HUB, a CAB or a node.
"""

from typing import NamedTuple

from ..hdl.host.events import Channel, EventKind, FaultMark, PacketMark, ReceivedMark, VmeMark

__all__ = [
    "DECODERS",
    "Answered",
    "Arrived",
    "Asked",
    "Causes",
    "Command",
    "Connected",
    "Delivered",
    "Disconnected",
    "Dma",
    "Fault",
    "Fiber",
    "Idle",
    "Interrupt",
    "Irq",
    "Numbered",
    "Packet",
    "PacketStart",
    "Pending",
    "Queue",
    "Queued",
    "Read",
    "Ready",
    "ReadyBit",
    "Received",
    "Repeated",
    "Reply",
    "Returned",
    "Send",
    "Symbol",
    "Thread",
    "Vme",
]


class Fiber(NamedTuple):
    """One direction of a pair of fibers."""

    number: int
    sender: str  # sending end: "CAB1", "HUB1.P3"
    receiver: str
    symbol_ps: int
    delay_ps: int


# -- fibers ----------------------------------------------------------------------------------------------
class PacketStart(NamedTuple):
    """A start of packet goes on the wire."""

    kind = EventKind.PACKET_START
    time_ps: int
    fiber: Fiber
    number: int  # of this packet on this fiber, from 0


class Packet(NamedTuple):
    """An end of packet, or the start of packet that has cut it off, goes on the wire."""

    kind = EventKind.PACKET
    time_ps: int
    fiber: Fiber
    number: int
    begin_ps: int  # when its start went on the wire
    length: int  # bytes, checksum included
    mark: PacketMark
    data: bytes  # its bytes; the first HEAD_BYTES if the recording does not have all


class Command(NamedTuple):
    """A command has been sent: the time is that of its last symbol."""

    kind = EventKind.COMMAND
    time_ps: int
    fiber: Fiber
    begin_ps: int
    opcode: int
    hub: int
    param: int
    missing: int  # bytes that it lacks, the last ones


class Reply(NamedTuple):
    """A reply has been sent; as Command."""

    kind = EventKind.REPLY
    time_ps: int
    fiber: Fiber
    begin_ps: int
    opcode: int
    hub: int
    param: int
    missing: int


class Ready(NamedTuple):
    """A ready signal goes on the wire."""

    kind = EventKind.READY
    time_ps: int
    fiber: Fiber


class Symbol(NamedTuple):
    """A symbol goes on the wire."""

    kind = EventKind.SYMBOL
    time_ps: int
    fiber: Fiber
    symbol: int  # nine bits


class Fault(NamedTuple):
    """A fault on demand has struck a symbol, or a cut has taken so many that were under way."""

    kind = EventKind.FAULT
    time_ps: int
    fiber: Fiber
    mark: FaultMark
    sent: int
    arrived: int
    arrival_ps: int
    symbols: int  # that a cut has taken; 0: this is one symbol


# -- messages --------------------------------------------------------------------------------------------
class Send(NamedTuple):
    """A call that sends a message begins."""

    kind = EventKind.SEND
    time_ps: int
    board: str
    layer: int
    message: int  # its number among those that this CAB has sent, from 1
    destination: int  # CAB's ID
    length: int
    parent: int  # the message that this one is sent for; 0: none


class Numbered(NamedTuple):
    """A message has got the number by which packets name it."""

    kind = EventKind.NUMBERED
    time_ps: int
    board: str
    layer: int
    message: int
    destination: int
    number: int


class Queued(NamedTuple):
    """All entries of a packet's *open* commands are in the fiber-out list; the packet follows."""

    kind = EventKind.QUEUED
    time_ps: int
    board: str
    header: bytes


class Arrived(NamedTuple):
    """The interrupt handler has read that a packet has begun."""

    kind = EventKind.ARRIVED
    time_ps: int
    board: str
    header: bytes


class Delivered(NamedTuple):
    """The last packet of a message has ended."""

    kind = EventKind.DELIVERED
    time_ps: int
    board: str
    layer: int
    source: int  # CAB's ID
    number: int
    length: int


class Read(NamedTuple):
    """A thread has taken a message out of its mailbox."""

    kind = EventKind.READ
    time_ps: int
    board: str
    layer: int
    source: int
    number: int
    length: int


class Repeated(NamedTuple):
    """A transport sends a packet, or what a message lacks, once more."""

    kind = EventKind.REPEATED
    time_ps: int
    board: str
    layer: int
    destination: int
    number: int


# -- CPUs ------------------------------------------------------------------------------------------------
class Thread(NamedTuple):
    """A thread goes on; the kernel has taken ``cycles`` CPU cycles to bring it there."""

    kind = EventKind.THREAD
    time_ps: int
    board: str
    name: str
    cycles: int


class Idle(NamedTuple):
    """No thread can go on."""

    kind = EventKind.IDLE
    time_ps: int
    board: str


class Interrupt(NamedTuple):
    """The interrupt handler begins."""

    kind = EventKind.INTERRUPT
    time_ps: int
    board: str


class Causes(NamedTuple):
    """The interrupt handler has read what there is to do."""

    kind = EventKind.CAUSES
    time_ps: int
    board: str
    causes: int  # bits of Irq (hdl.cab.addresses)


class Answered(NamedTuple):
    """The interrupt handler has given a packet that has begun its place, or has refused it."""

    kind = EventKind.ANSWERED
    time_ps: int
    board: str


class Returned(NamedTuple):
    """The interrupt handler has ended."""

    kind = EventKind.RETURNED
    time_ps: int
    board: str


# -- boards ----------------------------------------------------------------------------------------------
class Irq(NamedTuple):
    """A computer's interrupt line is at another level from this edge on."""

    kind = EventKind.IRQ
    time_ps: int
    board: str
    level: int


class Asked(NamedTuple):
    """An input of a router asks for an output (level 1), or does so no more without having got it (0)."""

    kind = EventKind.ASKED
    time_ps: int
    board: str
    output: int
    input: int
    probe: int  # the routing probe by which it asks
    level: int


class Connected(NamedTuple):
    """An output of a HUB or a router has got an input."""

    kind = EventKind.CONNECTED
    time_ps: int
    board: str
    output: int
    input: int


class Disconnected(NamedTuple):
    """An output of a HUB or a router has lost its input."""

    kind = EventKind.DISCONNECTED
    time_ps: int
    board: str
    output: int
    input: int


class Queue(NamedTuple):
    """The symbols in an input queue."""

    kind = EventKind.QUEUE
    time_ps: int
    board: str
    port: int
    level: int


class ReadyBit(NamedTuple):
    """The ready bit of an output of a HUB or a router is at another level from this edge on."""

    kind = EventKind.READY_BIT
    time_ps: int
    board: str
    output: int
    level: int


class Dma(NamedTuple):
    """A DMA channel begins (level 1) or ends to work on an area; of fiber in, on all areas of a packet; of a node, on
    all areas that wait, or on a message."""

    kind = EventKind.DMA
    time_ps: int
    board: str
    channel: Channel
    level: int


class Pending(NamedTuple):
    """The pending interrupts of a node are others from this edge on."""

    kind = EventKind.PENDING
    time_ps: int
    board: str
    causes: int  # bits of the register IRQ_PENDING


class Received(NamedTuple):
    """A DMA channel of a node has stored a message."""

    kind = EventKind.RECEIVED
    time_ps: int
    board: str
    words: int  # of 32 bits
    mark: ReceivedMark


class Vme(NamedTuple):
    """A cycle of a VME bus has ended: one transfer, or the acknowledgment of an interrupt."""

    kind = EventKind.VME
    time_ps: int  # the strobes rise
    board: str  # the master: a node
    begin_ps: int  # the address goes on the lines
    address: int  # of its first byte; of an acknowledgment the interrupt's level
    length: int  # bytes: 1, 2 or 4, as D8, D16 or D32
    mark: VmeMark


# -- records → events --------------------------------------------------------------------------------------
def _frame(made):
    def decoded(where, time_ps, detail, a, b, c, data):
        a <<= 8 * detail
        return made(time_ps, where, b, a >> 16, a >> 8 & 0xFF, a & 0xFF, detail)

    return decoded


def _header(made):
    """A packet's header: byte 0 is ``detail``, 1 to 3 are in ``c``, 4 to 7 in ``a``, 8 to 15 in ``b``."""

    def decoded(where, time_ps, detail, a, b, c, data):
        words = (detail << 24 | c).to_bytes(4, "big"), a.to_bytes(4, "big"), b.to_bytes(8, "big", signed=True)
        return made(time_ps, where, b"".join(words))

    return decoded


def _fault(where, time_ps, detail, a, b, c, data):
    return Fault(time_ps, where, FaultMark(detail), a, c & 0xFFFF, b, c >> 16)


def _of_board(made):
    return lambda where, time_ps, detail, a, b, c, data: made(time_ps, where)


def _connection(made):
    return lambda where, time_ps, detail, a, b, c, data: made(time_ps, where, a, c)


#: EventKind → callable(fiber or board, time, detail, a, b, c, data) → the event. Of a THREAD, ``a`` is its name.
DECODERS = {
    EventKind.PACKET_START: lambda at, t, d, a, b, c, data: PacketStart(t, at, a),
    EventKind.PACKET: lambda at, t, d, a, b, c, data: Packet(t, at, a, b, c, PacketMark(d), data),
    EventKind.COMMAND: _frame(Command),
    EventKind.REPLY: _frame(Reply),
    EventKind.READY: _of_board(Ready),
    EventKind.SYMBOL: lambda at, t, d, a, b, c, data: Symbol(t, at, a),
    EventKind.FAULT: _fault,
    EventKind.SEND: lambda at, t, d, a, b, c, data: Send(t, at, d, a, c, b & 0xFFFF_FFFF, b >> 32),
    EventKind.NUMBERED: lambda at, t, d, a, b, c, data: Numbered(t, at, d, a, c, b),
    EventKind.QUEUED: _header(Queued),
    EventKind.ARRIVED: _header(Arrived),
    EventKind.DELIVERED: lambda at, t, d, a, b, c, data: Delivered(t, at, d, c, a, b),
    EventKind.READ: lambda at, t, d, a, b, c, data: Read(t, at, d, c, a, b),
    EventKind.REPEATED: lambda at, t, d, a, b, c, data: Repeated(t, at, d, c, a),
    EventKind.THREAD: lambda at, t, d, a, b, c, data: Thread(t, at, a, b),
    EventKind.IDLE: _of_board(Idle),
    EventKind.INTERRUPT: _of_board(Interrupt),
    EventKind.CAUSES: lambda at, t, d, a, b, c, data: Causes(t, at, a),
    EventKind.ANSWERED: _of_board(Answered),
    EventKind.RETURNED: _of_board(Returned),
    EventKind.IRQ: lambda at, t, d, a, b, c, data: Irq(t, at, d),
    EventKind.CONNECTED: _connection(Connected),
    EventKind.DISCONNECTED: _connection(Disconnected),
    EventKind.QUEUE: lambda at, t, d, a, b, c, data: Queue(t, at, d, a),
    EventKind.READY_BIT: lambda at, t, d, a, b, c, data: ReadyBit(t, at, a, d),
    EventKind.DMA: lambda at, t, d, a, b, c, data: Dma(t, at, Channel(a), d),
    EventKind.ASKED: lambda at, t, d, a, b, c, data: Asked(t, at, a, c, b, d),
    EventKind.PENDING: lambda at, t, d, a, b, c, data: Pending(t, at, a),
    EventKind.RECEIVED: lambda at, t, d, a, b, c, data: Received(t, at, a, ReceivedMark(d)),
    EventKind.VME: lambda at, t, d, a, b, c, data: Vme(t, at, b, a, c, VmeMark(d)),
}
