"""The symbol on the fiber: nine bits, control codes, command and reply framing.

Plain Python that imports nothing of the hardware: gateware, software, tests and documentation all
read the wire from here. ``docs/wire.md`` explains it.

Source: "The Design of Nectar" (1989), sections 3.2 and 4.2. The paper names the frames and says that
the prototype used TAXI chips; the code assignment below is ours, chosen among the command symbols of
the Am7968/Am7969 in 8-bit mode (FDDI's 4B/5B pairs) that may be repeated without disturbing the
receiver's clock recovery.
"""

from enum import IntEnum

__all__ = [
    "SYMBOL_BITS",
    "CONTROL_BIT",
    "Control",
    "ANY_HUB",
    "MAX_PACKET",
    "COMMAND_LENGTH",
    "REPLY_BIT",
    "command",
    "reply",
    "packet",
    "is_control",
]

#: Bits of a symbol: a byte and the bit that tells control codes from data.
SYMBOL_BITS = 9
#: Set in a control code, clear in a data byte.
CONTROL_BIT = 0x100
#: Symbols of a command or a reply on the wire: its control code and three bytes.
COMMAND_LENGTH = 4
#: The HUB ID that no HUB has; written into commands that every HUB on the route obeys (close all).
ANY_HUB = 0xFF
#: Data bytes between start and end of a packet under packet switching (the input queue's size).
MAX_PACKET = 1024
#: Bit 0 of an opcode asks for a reply; in the first byte of a reply it tells done (1) from refused (0).
REPLY_BIT = 0x01


class Control(IntEnum):
    """Control codes. The low four bits are the TAXI command number; the comment names its 4B/5B pair."""

    IDLE = 0x100  # JK, the sync pair: sent whenever there is nothing to send, never stored
    START = 0x102  # TT: start of packet
    END = 0x103  # TS: end of packet
    READY = 0x104  # IH: the start of your packet has left my input queue
    COMMAND = 0x105  # TR: a command of three bytes follows
    REPLY = 0x106  # SR: a reply of three bytes follows


def is_control(symbol):
    """Whether ``symbol`` (int, 0 to 0x1FF) is a control code."""
    return bool(symbol & CONTROL_BIT)


def _byte(name, value):
    if not 0 <= value <= 0xFF:
        raise ValueError(f"{name} must be 0 to 255, not {value!r}")
    return int(value)


def command(opcode, hub, param):
    """The four symbols of a command.

    ``opcode``, ``hub`` (HUB ID) and ``param`` (typically a port) are bytes; anything else raises
    ValueError. Source: section 4.2.
    """
    return [int(Control.COMMAND), _byte("opcode", opcode), _byte("hub", hub), _byte("param", param)]


def reply(opcode, hub, value, done=True):
    """The four symbols of a reply.

    ``opcode`` is the command's; its bit 0 is sent as 1 when the command was done and as 0 when it was
    refused, in which case ``value`` is an error code. ``hub`` is the ID of the HUB that answers.
    """
    opcode = _byte("opcode", opcode) & ~REPLY_BIT | (REPLY_BIT if done else 0)
    return [int(Control.REPLY), opcode, _byte("hub", hub), _byte("value", value)]


def packet(data):
    """The symbols of a data packet: start of packet, the bytes of ``data``, end of packet (section 4.2.1)."""
    return [int(Control.START), *bytes(data), int(Control.END)]
