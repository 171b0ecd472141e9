"""The checksum word that ends a message.

Source: Nugent, "The iPSC/2 Direct-Connect Communications Technology" (1988), "Routing Operation": the source appends a
checksum word with EOM, the destination checks and strips it. The paper does not give the algorithm: it is ours,
``docs/ipsc2-node.md``, "Checksum".
"""

from amaranth.hdl import Cat

__all__ = ["CHECKSUM_BITS", "START", "advance", "checksum"]

#: Bits of the checksum.
CHECKSUM_BITS = 16
#: Its value before the first bit.
START = 0xFFFF
#: The polynomial x^16 + x^12 + x^5 + 1, bit 15 - n for x^n: bits come in the order in which they are sent.
_POLYNOMIAL = 0x8408


def advance(value, data=(), zeros=0):
    """The checksum behind the bits ``data``, bit 0 first, and so many ``zeros``, if it was ``value`` before; Amaranth
    values.

    Each bit is the parity of some of these bits, since the division is linear."""
    rows = [{bit} for bit in range(CHECKSUM_BITS)]  # which bits of value and data each bit is the parity of
    for taken in [*({CHECKSUM_BITS + place} for place in range(len(data))), *[set()] * zeros]:
        out = rows[0] ^ taken
        rows = [row ^ (out if _POLYNOMIAL >> bit & 1 else set()) for bit, row in enumerate([*rows[1:], set()])]
    bits = Cat(value, data)
    return Cat(Cat(bits[bit] for bit in sorted(row)).xor() for row in rows)


def checksum(words):
    """The checksum word of a message: ``words`` of 16 bits as ints, the probe first."""
    value = START
    for word in words:
        for place in range(CHECKSUM_BITS):
            value = value >> 1 ^ (_POLYNOMIAL if (value ^ word >> place) & 1 else 0)
    return value
