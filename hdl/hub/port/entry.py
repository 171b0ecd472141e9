"""What the entries of an input queue are: symbols, and in place of the commands for this HUB two entries each.

Source: ours. Of the control codes only start, end and command enter the queue, so that a few bits tell them apart.
"""

__all__ = ["OWN", "OWN_OP_BITS", "CLOSES", "is_own", "is_start", "is_command", "is_closing"]

#: First entry of a command for this HUB, with the lower bits of its opcode below; the second is the rest of the opcode
#: and the parameter.
OWN = 0x180
OWN_OP_BITS = 7
#: Set in the opcode of a close all.
CLOSES = 0x100


def is_own(entry):
    """Whether ``entry`` is the first one of a command for this HUB."""
    return entry[8] & entry[7]


def is_closing(entry):
    """Whether ``entry``, which begins no command for this HUB, is the opcode of a close all. Bit 8 is not part of
    the symbol then."""
    return entry[8] & entry[4]


def is_start(symbol):
    """Whether ``symbol``, which is a byte or one of the control codes that are sent, is a start of packet."""
    return symbol[8] & ~symbol[2] & ~symbol[0]


def is_command(symbol):
    """Whether ``symbol``, which is a byte or one of the control codes that enter a queue, begins a command."""
    return symbol[8] & symbol[2] & symbol[0]
