"""What benches of the CAB write into registers and send over fibers: register words, packets with their check sums,
anything that may arrive."""

import random
import zlib

from nectar.hdl.cab.addresses import REG
from nectar.hdl.link.symbol import Control, command, packet, reply
from nectar.verification.cab.reference_fiber import internet_checksum

__all__ = ["put", "random_arrival", "some_length", "with_crc", "with_sum"]

_RESERVED = [code for code in range(0x100, 0x200) if code not in set(Control)]


def put(name, **values):
    """A word of register ``name`` with those fields."""
    return sum(getattr(REG[name], field).put(int(value)) for field, value in values.items())


def with_crc(data):
    """``data`` and its CRC-32, as a sender puts it on the fiber."""
    return bytes(data) + zlib.crc32(data).to_bytes(4, "big")


def with_sum(data):
    """``data`` and its Internet checksum."""
    return bytes(data) + internet_checksum(data).to_bytes(2, "big")


def some_length():
    return random.choice(
        [
            random.randrange(8),
            random.randrange(40),
            random.randrange(40),
            random.randrange(300),
            random.choice([15, 16, 17, 1024, 1100, 1300]),
        ]
    )


def random_arrival():
    """Symbols as a fiber may bring them: packets good and bad, frames, and rubbish."""
    data = random.randbytes(some_length())
    kind = random.random()
    if kind < 0.45:
        symbols = packet(with_crc(data))
    elif kind < 0.55:
        symbols = packet(random.choice([data, with_sum(data), with_sum(data)]))  # CRC wrong or missing
    elif kind < 0.62:
        symbols = packet(with_crc(data))[:-1]  # without end
    elif kind < 0.69:
        symbols = [*packet(data)[:-1], *packet(with_crc(data))]  # cut short by a start
    elif kind < 0.77:
        symbols = reply(*random.randbytes(3), done=random.random() < 0.5) * random.choice([1, 1, 1, 9])
    elif kind < 0.82:
        symbols = command(*random.randbytes(3))
    elif kind < 0.88:
        symbols = [*data]  # bytes outside a packet
    else:
        codes = [*Control, Control.START, Control.END, random.choice(_RESERVED)]
        symbols = [
            random.choice(codes) if random.random() < 0.4 else random.getrandbits(8)
            for _ in range(random.randrange(30))
        ]
    symbols = [int(symbol) for symbol in symbols]
    for _ in range(random.choice([0, 0, 1, 3])):
        place = random.randrange(len(symbols) + 1)
        symbols[place:place] = random.choice(
            [
                [Control.READY],
                [Control.READY],
                [Control.IDLE],
                reply(*random.randbytes(3)),
                reply(*random.randbytes(3))[:2],
                command(*random.randbytes(3)),
                command(*random.randbytes(3))[:3],
                [random.choice(_RESERVED)],
            ]
        )
    return symbols
