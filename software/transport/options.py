"""Times and bounds of the request-response protocol, of reliable multicast and of the byte stream."""

from dataclasses import dataclass

__all__ = ["RequestOptions", "MulticastOptions", "StreamOptions"]


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """How long clients and servers wait for what, in microseconds, and how much a server keeps."""

    timeout_us: int = 1_000_000  # of a call, unless the caller names another
    first_us: int = 5_000  # until a request is asked after, as long as nothing was measured of its server
    least_us: int = 1_000  # the same, at least, afterwards
    most_us: int = 100_000  # and at most
    fragment_us: int = 100  # added for each fragment of the request, which takes 85 us on the fiber
    attempts: int = 8  # askings without any word from the server until it is given up
    cancel_attempts: int = 4  # at telling the server that a call is cancelled
    keep_us: int = 500_000  # that an answer is kept that the client has not acknowledged: longer than most_us
    stall_us: int = 100_000  # until a request of which fragments are missing is dropped
    answers: int = 64  # that are kept at once
    answer_bytes: int = 1 << 17  # in all of them


@dataclass(frozen=True, slots=True)
class MulticastOptions:
    """How long senders and receivers wait for what, in microseconds."""

    timeout_us: int = (
        200_000  # until members that have not acknowledged are named, unless the caller names another time
    )
    first_us: int = 5_000  # until members are asked, as long as nothing was measured
    least_us: int = 1_000  # the same, at least, afterwards
    most_us: int = 50_000  # and at most
    fragment_us: int = 100  # added for each fragment, which takes 85 us on the fiber
    stall_us: int = 100_000  # until a message of which fragments are missing is dropped


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How long connections wait for what, in microseconds, and what they hold."""

    buffer: int = 1 << 15  # bytes of a connection's receive buffer: a power of two, 4096 to 1 Mbyte
    unsent: int = 1 << 15  # bytes that send has copied and that are not acknowledged, before it waits
    backlog: int = 8  # connections of a listener that nobody has accepted yet
    connect_us: int = 500_000  # for a connection to be set up, unless the caller names another time
    first_us: int = 10_000  # until something is sent again, as long as nothing was measured
    least_us: int = 2_000  # the same, at least, afterwards
    most_us: int = 100_000  # and at most
    ack_us: int = 200  # that an acknowledgment may wait for more to acknowledge
    ack_packets: int = 4  # packets of data that it may wait for
    silence_us: int = 1_000_000  # without a word from a peer that should answer, until it is given up
    idle_us: int = 500_000  # without a word from a peer that need not say anything, until it is asked
    linger_us: int = 300_000  # that an ended connection answers a peer that has not heard of its end

    def __post_init__(self):
        if self.buffer & self.buffer - 1 or not 4096 <= self.buffer <= 1 << 20:
            raise ValueError(
                f"the buffer of a connection is a power of two, 4096 to {1 << 20} bytes, not {self.buffer}"
            )
        if self.silence_us < 2 * self.most_us:
            raise ValueError(
                f"silence_us ({self.silence_us}) must leave time for two repetitions, most_us ({self.most_us}) apart "
                f"at most"
            )

    @classmethod
    def fitting(cls, memory_bytes):
        """What suits a CAB with that much data memory: several connections and what is sent must have room beside
        all else."""
        buffer = max(4096, min(cls().buffer, memory_bytes // 8))
        return cls(buffer=buffer, unsent=buffer)
