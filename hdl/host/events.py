"""Numbers of the events that a simulation records, and of the file that keeps them (``docs/recording.md``).

Plain Python that imports nothing of the hardware: the engine's C++ core, software, reader, tests and documents read
the numbers from here. Source: ours.
"""

from enum import IntEnum, IntFlag

__all__ = [
    "EVENT",
    "EVENT_ALIGN",
    "HEAD_BYTES",
    "LEVELS",
    "MAGIC",
    "NO_PLACE",
    "QUEUE_STEP",
    "VERSION",
    "Channel",
    "EventGroup",
    "EventKind",
    "FaultMark",
    "Layer",
    "PacketMark",
    "ReceivedMark",
    "VmeMark",
    "GROUP_OF",
]

#: First bytes of a file of events.
MAGIC = b"NECTAREV"
#: Version of the file's format.
VERSION = 2
#: Members of a record, in their order: name → code of the module ``struct``. ``size`` bytes follow a record, filled
#: up with zeros to a multiple of EVENT_ALIGN.
EVENT = {
    "time_ps": "q",
    "kind": "B",  # an EventKind
    "detail": "B",
    "place": "H",  # of an event of a fiber: its number; of any other: the board's or node's; NO_PLACE
    "a": "I",
    "b": "q",
    "c": "I",
    "size": "I",
}
EVENT_ALIGN = 8
NO_PLACE = 0xFFFF
#: Bytes of a packet that are kept without EventGroup.BYTES: its header, and as many behind it.
HEAD_BYTES = 32
#: A level of an input queue is recorded when it has passed a multiple of this.
QUEUE_STEP = 16


class EventKind(IntEnum):
    """What has happened. ``docs/recording.md`` tells what ``detail``, ``a``, ``b``, ``c`` and the bytes are."""

    # the file itself
    NAME = 0  # a text and its number
    END = 1  # the recording was ended in order; nothing follows
    # fibers, as their sending ends see them
    PACKET_START = 8
    PACKET = 9  # a packet has ended
    COMMAND = 10
    REPLY = 11
    READY = 12
    SYMBOL = 13
    FAULT = 14  # a fault on demand has struck a symbol
    # messages and packets, as software sees them
    SEND = 16  # a call that sends begins
    NUMBERED = 17  # its message has got the number by which packets name it
    QUEUED = 18  # a packet is in the fiber-out list
    ARRIVED = 19  # the interrupt handler has read that a packet has begun
    DELIVERED = 20  # a message is complete at its receiver
    READ = 21  # a thread has taken a message out of its mailbox
    REPEATED = 22  # a transport sends something once more
    # CPUs
    THREAD = 24  # a thread gets the CPU
    IDLE = 25  # no thread can run
    INTERRUPT = 26  # the interrupt handler begins
    CAUSES = 27  # it has read what there is to do
    ANSWERED = 28  # a packet that has begun has got its place, or was refused
    RETURNED = 29  # it has ended
    # boards' pins and registers
    IRQ = 32  # a CAB's interrupt line has changed
    CONNECTED = 33  # an output of a HUB has got an input
    DISCONNECTED = 34
    QUEUE = 35  # level of an input queue
    READY_BIT = 36  # an output's ready bit has changed
    DMA = 37  # a DMA channel of a CAB has begun or ended to move data
    VME = 38  # a cycle of a VME bus has ended
    ASKED = 39  # an input of a router asks for an output, or does so no more without having got it
    PENDING = 40  # the pending interrupts of a node have changed
    RECEIVED = 41  # a DMA channel of a node has stored a message


class EventGroup(IntFlag):
    """Which events are recorded."""

    MESSAGES = 0x01  # SEND to REPEATED
    PACKETS = 0x02  # PACKET_START, PACKET, FAULT
    BYTES = 0x04  # all bytes of packets instead of the first HEAD_BYTES
    CONTROLS = 0x08  # COMMAND, REPLY, READY
    SYMBOLS = 0x10  # SYMBOL
    CPU = 0x20  # THREAD to RETURNED
    BOARDS = 0x40  # IRQ to RECEIVED


#: What each kind belongs to; those of the file itself are always there.
GROUP_OF = {
    EventKind.PACKET_START: EventGroup.PACKETS,
    EventKind.PACKET: EventGroup.PACKETS,
    EventKind.COMMAND: EventGroup.CONTROLS,
    EventKind.REPLY: EventGroup.CONTROLS,
    EventKind.READY: EventGroup.CONTROLS,
    EventKind.SYMBOL: EventGroup.SYMBOLS,
    EventKind.FAULT: EventGroup.PACKETS,
    **dict.fromkeys([kind for kind in EventKind if 16 <= kind < 24], EventGroup.MESSAGES),
    **dict.fromkeys([kind for kind in EventKind if 24 <= kind < 32], EventGroup.CPU),
    **dict.fromkeys([kind for kind in EventKind if 32 <= kind < 48], EventGroup.BOARDS),
}

#: Groups by the names that users type.
LEVELS = {
    "messages": EventGroup.MESSAGES | EventGroup.PACKETS,
    "packets": EventGroup.MESSAGES | EventGroup.PACKETS | EventGroup.BYTES,
    "all": ~EventGroup.SYMBOLS & EventGroup(0x7F),
}


class PacketMark(IntFlag):
    """``detail`` of a PACKET."""

    CRC_GOOD = 1  # its last four bytes are the CRC-32 of the others
    CUT = 2  # it has ended by another start of packet instead of its end


class Channel(IntEnum):
    """``a`` of a DMA."""

    FIBER_OUT = 0
    FIBER_IN = 1
    VME = 2
    NETWORK_OUT = 3  # of a node of the iPSC/2, as the next
    NETWORK_IN = 4


class VmeMark(IntFlag):
    """``detail`` of a VME."""

    STORE = 1  # otherwise a load
    BLOCK = 2  # a transfer of a block
    ACKNOWLEDGE = 4  # of an interrupt: the address is its level
    ERROR = 8  # ended by BERR* or by the bus timer


class ReceivedMark(IntFlag):
    """``detail`` of a RECEIVED; the names are those of IN_RESULT (``docs/ipsc2-node.md``)."""

    TOO_LONG = 1
    IN_BODY = 2
    BAD = 4
    CUT = 8


class FaultMark(IntFlag):
    """``detail`` of a FAULT: what became of the symbol."""

    LOST = 1
    DOUBLED = 2
    DAMAGED = 4
    DELAYED = 8


class Layer(IntEnum):
    """``detail`` of the events of messages: whose message it is. 1 to 6 are the protocols of ``software.packet``."""

    DATAGRAM = 1
    STREAM = 2
    REQUEST = 3
    MULTICAST = 4
    PRESENCE = 5
    CHANNEL = 6
    NECTARINE = 16
    NX = 17
    MPI = 18
    # messages of NX/2 on the wire, by their kind (``docs/nx2.md``)
    NX2_SHORT = 33
    NX2_PROXY = 34
    NX2_GRANT = 35
    NX2_DATA = 36
    NX2_RETURN = 37
    NX2_GONE = 38
    NX2_ASK = 39
