"""Times and bounds of the datalink."""

from dataclasses import dataclass

__all__ = ["Options", "DatalinkCounters"]


@dataclass(frozen=True, slots=True)
class Options:
    """How long the datalink waits for what, in microseconds, and whether it takes circuits."""

    watch_us: int = 2_000  # between looks at what is under way
    ready_us: int = (
        100_000  # until a ready signal that does not come is taken for lost: longer than 15 others may be held
    )
    hold_us: int = 5_000  # that a packet may wait for room
    stall_us: int = 50_000  # until a packet or message that does not go on is given up
    reply_us: int = 10_000  # for the reply that says that a circuit stands
    status_us: int = 500  # for the reply to a status command
    attempts: int = 4  # at opening a circuit, and at a command of a task's
    asks: int = 8  # of a question about the network, before its HUB counts as silent
    looks: int = 3  # at ports whose neighbours do not say hello, until they count as unused
    look_us: int = 60  # before each of them
    suspect_us: int = 20_000  # between two looks at the way to the same CAB
    mend_us: int = 1_000_000  # between two trials of what is broken
    again_us: int = 200_000  # until the network is explored again for a CAB that is not known
    spare_ready: bool = True  # a CAB sends ready signals in the quiet behind a burst, in case one was lost
    circuits: bool = (
        True  # messages may go by circuit switching; else they go by packet switching, whatever the sender says
    )


@dataclass(slots=True)
class DatalinkCounters:
    """What the datalink of one CAB has seen."""

    packets_sent: int = 0
    packets_received: int = 0  # without error
    circuits: int = 0  # opened
    crc_errors: int = 0
    framing_errors: int = 0
    too_long: int = 0  # packets with more bytes than there was room for
    short: int = 0  # packets without a whole header
    unknown_protocol: int = 0
    refused: int = 0  # packets that a transport did not want
    held: int = 0  # packets that had to wait for room
    hold_expired: int = 0  # those that were discarded in the end
    stalled: int = 0  # packets that began and did not end
    ready_recovered: int = 0  # ready signals taken for lost
    ready_repeated: int = 0  # extra ready signals sent after a burst
    reply_timeouts: int = 0  # circuits of which no reply told in time
    status_replies: int = 0  # answers to the questions asked then
    looked: int = 0  # ways looked at because nothing arrived
    flushed: int = 0  # HUBs whose queue was flushed on the way
    repaired: int = 0  # ready signals made up for on the way
    broken: int = 0  # channels found broken
    rerouted: int = 0  # times that routes were changed for that
    asked_again: int = 0  # questions to HUBs that were not answered in time
    stray_replies: int = 0  # replies that nobody waited for
    damaged_replies: int = 0  # replies such as no HUB gives
    fiber_errors: int = 0  # interrupts ERROR
