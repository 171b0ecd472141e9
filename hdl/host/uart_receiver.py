"""From a serial line to bytes.

Source: ours; the usual form of a byte: a start bit (0), eight data bits with the lowest first, a stop bit (1), no
parity."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

__all__ = ["UartReceiver", "check_bit_cycles"]


def check_bit_cycles(cycles):
    """Raises TypeError or ValueError if a bit cannot take that many cycles."""
    if not isinstance(cycles, int):
        raise TypeError(f"a bit of a serial line takes a whole number of cycles, not {cycles!r}")
    if not 4 <= cycles <= 65536:
        raise ValueError(f"a bit of a serial line takes 4 to 65536 cycles, not {cycles}")


class UartReceiver(wiring.Component):
    """Finds bytes on a line.

    Parameters
    ----------
    bit_cycles : int
        Clock cycles of a bit, 4 to 65536.

    Members
    -------
    rx : In(1)
        The line, not synchronous to the clock; 1 while nothing is sent.
    data : Out(8), valid : Out(1)
        A byte has come; it cannot be refused.
    wrong : Out(1)
        A byte has come whose stop bit was 0: it is left out.

    Timing
    ------
    ``valid`` and ``wrong`` are 1 for one cycle, in the middle of the stop bit. Each bit is looked at once, in its
    middle. After a wrong byte the line must be 1 before the next one can begin.

    Raises
    ------
    TypeError, ValueError
        If a bit cannot take that many cycles.
    """

    def __init__(self, bit_cycles):
        check_bit_cycles(bit_cycles)
        self.bit_cycles = bit_cycles
        super().__init__({"rx": In(1), "data": Out(8), "valid": Out(1), "wrong": Out(1)})

    def elaborate(self, platform):
        m = Module()
        line = Signal(init=1)
        m.submodules.synchronizer = FFSynchronizer(self.rx, line, init=1)
        wait = Signal(range(self.bit_cycles + self.bit_cycles // 2))  # cycles until the line is looked at
        bits = Signal(range(10))
        m.d.sync += [self.valid.eq(0), self.wrong.eq(0)]
        with m.FSM():
            with m.State("idle"):
                m.d.sync += [wait.eq(self.bit_cycles // 2 - 1), bits.eq(0)]
                with m.If(~line):
                    m.next = "byte"
            with m.State("byte"):
                m.d.sync += wait.eq(wait - 1)
                with m.If(wait == 0):
                    m.d.sync += [wait.eq(self.bit_cycles - 1), bits.eq(bits + 1)]
                    with m.If(bits == 0):
                        with m.If(line):  # a spike, no start bit
                            m.next = "idle"
                    with m.Elif(bits == 9):
                        m.d.sync += [self.valid.eq(line), self.wrong.eq(~line)]
                        m.next = "end"
                    with m.Else():
                        m.d.sync += self.data.eq(Cat(self.data[1:], line))
            with m.State("end"):
                with m.If(line):
                    m.next = "idle"
        return m
