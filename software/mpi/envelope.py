"""Which communicator, tag and kind a message has: all of it is in the type of its Nectarine message.

- bits 31–21: context, the number of the communicator
- bits 20–18: kind
- bits 17–0: tag; of a collective call its number (bits 17–13), the code of its name (12–6), the phase (5–0)
"""

from enum import IntEnum

__all__ = ["CONTEXTS", "Kind", "TAG_UB", "in_parts", "packed", "selector", "step", "tag_of", "whole"]

_TAG_BITS = 18
#: Largest tag of a program.
TAG_UB = (1 << _TAG_BITS) - 1
#: Communicators that a process may belong to at once.
CONTEXTS = 1 << 11

_CODE_BITS, _PHASE_BITS = 7, 6
_NUMBER_SHIFT = _CODE_BITS + _PHASE_BITS
_NUMBERS = 1 << _TAG_BITS - _NUMBER_SHIFT


class Kind(IntEnum):
    """What a message is. Bit 1 tells of a message that comes in parts."""

    STANDARD = 0  # sent in standard, buffered or ready mode
    SYNCHRONOUS = 1  # its sender waits until a receive has taken it
    IN_PARTS = 2  # sent in any mode: its length and a number; its bytes follow in messages with that number
    COLLECTIVE = 4  # belongs to a collective call
    TAKEN = 5  # the answer: a receive has taken the synchronous message of that tag
    COLLECTIVE_IN_PARTS = 6
    PART = 7  # bytes of a message that comes in parts; the tag is its number


_PARTS = Kind.IN_PARTS << _TAG_BITS


def packed(context, kind, tag):
    """The type of a Nectarine message."""
    return (context << 3 | kind) << _TAG_BITS | tag


def in_parts(type):
    """Whether the message comes in parts."""
    return bool(type & _PARTS) and type >> _TAG_BITS & 7 != Kind.PART


def whole(type):
    """The type of the same message, if it did not come in parts."""
    return type & ~_PARTS


def selector(context, tag=None):
    """What Nectarine takes as type for a receive: messages of the program, of that tag (None: of any)."""
    if tag is None:
        return lambda type: type >> _TAG_BITS + 2 == context << 1
    wanted, kinds = packed(context, Kind.STANDARD, tag), 3 << _TAG_BITS
    return lambda type: type & ~kinds == wanted


def tag_of(type):
    """(kind, tag) of a type."""
    return Kind(type >> _TAG_BITS & 7), type & TAG_UB


def step(number, code, phase):
    """The tag of a message of a collective call: its number in the communicator, its name's code, the phase."""
    if not 0 <= phase < 1 << _PHASE_BITS:
        raise ValueError(f"the phase of a collective call is 0 to {(1 << _PHASE_BITS) - 1}, not {phase!r}")
    return (number % _NUMBERS << _CODE_BITS | code) << _PHASE_BITS | phase
