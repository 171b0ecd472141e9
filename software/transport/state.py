"""Where a connection of the byte stream stands. Specification: docs/transports.md.

Source: RFC 793 (1981)."""

from enum import Enum

__all__ = ["State"]


class State(Enum):
    """Where a connection stands."""

    OPENING = "has been called for here, and has no answer yet"
    ACCEPTING = "has been called for there, and is answered, but that answer is not acknowledged yet"
    OPEN = "is set up; either direction may have ended"
    ENDED = "has ended in both directions, and lingers"
    FAILED = "is no more; its error says why"
