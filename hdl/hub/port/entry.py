"""Entries of an input queue: symbols, and two entries for each command for this HUB.

Source: ours. Of the control codes only start, end and command enter the queue, so a few bits distinguish them.
"""

__all__ = ["OWN", "OWN_OP_BITS", "CLOSES", "is_own", "is_control_code", "is_start", "is_command", "is_closing"]

#: First entry of a command for this HUB. The bits below are the lower bits of its opcode. The second entry is the rest
#: of the opcode and the parameter.
OWN = 0x180
OWN_OP_BITS = 7
#: Set in the opcode of a close all.
CLOSES = 0x100


def is_own(entry):
    """Whether ``entry`` is the first entry of a command for this HUB."""
    return entry[8] & entry[7]


def is_closing(entry):
    """Whether ``entry`` is the opcode of a close all. Bit 8 is not part of the symbol then.

    Only for an entry that begins no command for this HUB."""
    return entry[8] & entry[4]


def is_control_code(entry):
    """Bit 8 of the symbol that ``entry`` stands for. Only for an entry that begins no command for this HUB."""
    return entry[8] & ~entry[4]


def is_start(symbol):
    """Whether ``symbol`` is a start of packet. It must be a byte, or a control code but neither reserved nor idle."""
    return symbol[8] & ~symbol[2] & ~symbol[0]


def is_command(symbol):
    """Whether ``symbol`` begins a command. It must be a byte or a control code that enters a queue."""
    return symbol[8] & symbol[2] & symbol[0]
