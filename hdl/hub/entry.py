"""What the entries of an input queue are: symbols, and in place of the commands for this HUB two entries each.

Source: ours. Of the control codes only start, end and command enter the queue, so that a few bits tell them apart.
"""

__all__ = ["OWN", "is_own", "is_start", "is_command"]

#: First entry of a command for this HUB, with bits 7:1 of its opcode below; the second is bit 0 of the opcode and the parameter.
OWN = 0x180


def is_own(entry):
    """Whether ``entry`` is the first one of a command for this HUB."""
    return entry[8] & entry[7]


def is_start(symbol):
    """Whether ``symbol``, which is a byte or one of the control codes that are sent, is a start of packet."""
    return symbol[8] & ~symbol[2] & ~symbol[0]


def is_command(symbol):
    """Whether ``symbol``, which is a byte or one of the control codes that enter a queue, begins a command."""
    return symbol[8] & symbol[2]
