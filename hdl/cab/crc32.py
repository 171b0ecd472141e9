"""CRC-32 of IEEE 802.3, as zlib computes it, a byte in each cycle.

Source: "The Design of Nectar" (1989), sections 5.1 and 5.2 (hardware checksum); which checksum is ours.
"""

from functools import reduce
from operator import xor

from amaranth.hdl import C, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["CRC32_POLYNOMIAL", "Crc32"]

#: x**32 + x**26 + x**23 + ... + 1, least significant bit first.
CRC32_POLYNOMIAL = 0xEDB88320


def _shifted(value):
    """The remainder that ``value`` leaves after eight more zero bits have passed."""
    for _ in range(8):
        value = value >> 1 ^ (CRC32_POLYNOMIAL if value & 1 else 0)
    return value


class Crc32(wiring.Component):
    """Checksum of the bytes since the last ``start``.

    Members
    -------
    start : In(1)
        Forget all bytes before this cycle. A byte given in the same cycle is thrown away.
    valid : In(1)
        ``data`` is the next byte.
    data : In(8)
    crc : Out(32)
        CRC-32 of all bytes before this cycle.

    Timing
    ------
    One byte in each cycle; ``crc`` has it in the next.
    """

    start: In(1)
    valid: In(1)
    data: In(8)
    crc: Out(32)

    def elaborate(self, platform):
        """Each bit that is shifted out adds its remainder: word-wide operations, which simulate fast."""
        m = Module()
        remainder = Signal(32, init=0xFFFFFFFF)
        out = Signal(8)
        m.d.comb += [out.eq(remainder[:8] ^ self.data), self.crc.eq(~remainder)]
        with m.If(self.start):
            m.d.sync += remainder.eq(remainder.init)
        with m.Elif(self.valid):
            terms = [Mux(out[bit], C(_shifted(1 << bit), 32), 0) for bit in range(8)]
            m.d.sync += remainder.eq(reduce(xor, terms, remainder[8:]))
        return m
