"""From bytes to a serial line.

Source: ours; the form of a byte is that of ``uart_receiver``.
"""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .uart_receiver import check_bit_cycles

__all__ = ["UartTransmitter"]


class UartTransmitter(wiring.Component):
    """Sends bytes on a line.

    Parameters
    ----------
    bit_cycles : int
        Clock cycles of a bit, 4 to 65536.

    Members
    -------
    bytes : In(stream.Signature(8))
    tx : Out(1)
        The line; 1 while nothing is sent.

    Timing
    ------
    A byte takes ten bits. ``tx`` comes from a register; a byte is taken in the last cycle of the one before, so that
    there is no gap.

    Raises
    ------
    TypeError, ValueError
        If a bit cannot take that many cycles.
    """

    def __init__(self, bit_cycles):
        check_bit_cycles(bit_cycles)
        self.bit_cycles = bit_cycles
        super().__init__({"bytes": In(stream.Signature(8)), "tx": Out(1, init=1)})

    def elaborate(self, platform):
        m = Module()
        wait = Signal(range(self.bit_cycles))
        left = Signal(range(10))  # bits behind the one on the line
        rest = Signal(9)
        m.d.comb += self.bytes.ready.eq((left == 0) & (wait == 0))
        with m.If(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.Elif(left != 0):
            m.d.sync += [
                wait.eq(self.bit_cycles - 1),
                left.eq(left - 1),
                self.tx.eq(rest[0]),
                rest.eq(Cat(rest[1:], 1)),
            ]
        with m.Elif(self.bytes.valid):
            m.d.sync += [wait.eq(self.bit_cycles - 1), left.eq(9), self.tx.eq(0), rest.eq(Cat(self.bytes.payload, 1))]
        return m
