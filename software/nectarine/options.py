"""Times and bounds of Nectarine."""

from dataclasses import dataclass

__all__ = ["ChannelOptions", "SHORT", "SLOT", "SLOTS"]

#: Short messages that one CAB may send to another before a task there has received any of them.
SLOTS = 8
#: Bytes of the place of a short message: envelope, data, and up to a power of two.
SLOT = 128
#: Most bytes of a short message; a longer one is pulled by its receiver.
SHORT = 100


@dataclass(frozen=True, slots=True)
class ChannelOptions:
    """How long the channels of a CAB wait for what, in microseconds."""

    first_us: int = 5_000  # until a message is sent again, as long as nothing was measured
    least_us: int = 1_000  # the same, at least, afterwards
    most_us: int = 100_000  # and at most
    attempts: int = 8  # askings without any word from a CAB until it is taken for stopped
    ack_us: int = 200  # that an acknowledgment waits for a message of the other direction that carries it
    idle_us: int = 500_000  # after which a CAB from which a task waits for something is asked whether it is there
    probes: int = 4  # such askings in a row that find it there, and no message has come: then no more until one has
