"""The Internet checksum, a byte in each cycle.

Source: RFC 1071 (the ones' complement of the ones' complement sum of 16-bit words, big-endian; an odd last byte is the
upper one); "The Design of Nectar" (1989), sections 5.1 and 5.2 (hardware checksum).
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SUM_BITS", "SUM_BYTES", "InternetSum"]

SUM_BITS = 16
SUM_BYTES = SUM_BITS // 8


class InternetSum(wiring.Component):
    """Checksum of the bytes since the last ``start``.

    Members
    -------
    start : In(1)
        Forget all bytes before this cycle. A byte given in the same cycle is thrown away.
    valid : In(1)
        ``data`` is the next byte.
    data : In(8)
    checksum : Out(16)
        Internet checksum of all bytes before this cycle; of none, 0xFFFF.

    Timing
    ------
    One byte in each cycle; ``checksum`` has it in the next.
    """

    start: In(1)
    valid: In(1)
    data: In(8)
    checksum: Out(SUM_BITS)

    def elaborate(self, platform):
        """What a sum carries out of its highest bit comes in at its lowest."""
        m = Module()
        total = Signal(SUM_BITS)
        odd = Signal()
        word = Signal(SUM_BITS)
        longer = Signal(SUM_BITS + 1)
        carried = Signal(SUM_BITS)
        m.d.comb += [
            word.eq(Mux(odd, self.data, self.data << 8)),
            longer.eq(total + word),
            carried.eq(total + word + 1),  # beside it, not behind it
            self.checksum.eq(~total),
        ]
        with m.If(self.start):
            m.d.sync += [total.eq(0), odd.eq(0)]
        with m.Elif(self.valid):
            m.d.sync += [total.eq(Mux(longer[SUM_BITS], carried, longer[:SUM_BITS])), odd.eq(~odd)]
        return m
