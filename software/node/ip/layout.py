"""The rings of the network driver in the shared area, and the form of its packets. Specification: docs/net.md.

Source: "The Design of Nectar" (1989), section 6.2.3: a network driver uses Nectar as a "dumb" network; the layout is
ours. All words are 32 bits, big-endian. Each word is written by one side only."""

from enum import IntFlag
from struct import Struct

from ...packet import MAX_DATA
from ..layout import AREA

__all__ = [
    "ARRIVED",
    "LEFT",
    "LEFT_WORD",
    "LEAST",
    "MTU",
    "NODE",
    "NODE_WORDS",
    "PUT",
    "PUT_WORD",
    "Part",
    "RING_EVERY",
    "SLEEPS_WORD",
    "SLOTS",
    "SLOT_BYTES",
    "SUM_BYTES",
    "TAKEN_WORD",
    "VECTOR",
    "arrived_at",
    "in_slot",
    "out_slot",
    "padded",
    "put_at",
]

#: Bytes of the Internet checksum behind each packet.
SUM_BYTES = 2
#: Bytes of the longest IP packet: with the checksum and a byte that makes them even it goes into one packet of Nectar.
MTU = 1000
#: Bytes of the shortest: its header.
LEAST = 20
#: Packets in each direction at the same time, and the bytes of a slot for one.
SLOTS = 32
SLOT_BYTES = 1024
#: Packets that the node takes before it tells the CAB.
RING_EVERY = 8
#: The status/ID of the interrupt that wakes the driver.
VECTOR = 0x4F

#: By the node: packets put, packets taken (counts modulo 2**32), 1 while the driver sleeps.
NODE = Struct(">III")
NODE_WORDS = AREA + 0xB000
PUT_WORD, TAKEN_WORD, SLEEPS_WORD = NODE_WORDS, NODE_WORDS + 4, NODE_WORDS + 8
#: By the CAB: packets of the node that have left, whose slots are free (a count modulo 2**32).
LEFT = Struct(">I")
LEFT_WORD = AREA + 0xB010
#: A packet that the node puts: Parts shifted by 16 with its bytes, the CAB that it is for.
PUT = Struct(">II")
#: A packet that has come: Parts shifted by 16 with its bytes, the CAB that it is from, the count of those that have
#: come, this one included.
ARRIVED = Struct(">III")
_PUT_RING = AREA + 0xB100
_ARRIVED_RING = AREA + 0xB200
_IN_SLOTS = AREA + 0x10000
_OUT_SLOTS = AREA + 0x18000


class Part(IntFlag):
    """What is special about a packet: byte 3 of its header."""

    UNSUMMED = 1  # its transport checksum is still to be filled in; the CABs have checked its bytes


def padded(length):
    """Bytes of a packet with the byte that makes them even."""
    return length + 1 & ~1


def put_at(number):
    """Address of the entry of packet ``number`` that the node puts."""
    return _PUT_RING + number % SLOTS * PUT.size


def arrived_at(number):
    """Address of the entry of packet ``number`` that has come."""
    return _ARRIVED_RING + number % SLOTS * 16


def out_slot(number):
    """Address of the bytes of packet ``number`` that the node puts."""
    return _OUT_SLOTS + number % SLOTS * SLOT_BYTES


def in_slot(number):
    """Address of the bytes of packet ``number`` that comes."""
    return _IN_SLOTS + number % SLOTS * SLOT_BYTES


if padded(MTU) + SUM_BYTES > MAX_DATA:
    raise AssertionError("a packet of IP must fit a packet of Nectar")
