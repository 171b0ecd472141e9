"""What a board gives to a top, and how a top is joined to it.

A *top* is a ``wiring.Component`` that knows no board. What it wants of one it says by the names of its members, each of
which may be missing:

``leds`` : Out(n)
    Lights; bit 0 is the one that matters most. 1 is on. A board with fewer leaves out the last ones.
``uart`` : Out(UART)
    The board's USB serial. Both lines are 1 while nothing is sent; ``rx`` is not synchronous to any clock.
``line_0``, ``line_1``, ... : Out(line(samples))
    Serial fibers as of ``SerialPhy.line``, by the clock ``line``.
``wires_0``, ``wires_1``, ... : Out(WIRES)
    Parallel fibers as of ``ParallelPhy.wires``, by the clock ``sync``.

Its clock domains are ``sync``, and ``line`` if it has serial fibers; both come with a reset, which ends at the same
time in both, some microseconds after the FPGA has been loaded. ``boards.fiber.Fiber`` makes a fiber of a ``FiberPort``.
Plain numbers of the board come as ``BoardInterface``."""

from dataclasses import dataclass

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..hdl.link.symbol import SYMBOL_BITS

__all__ = ["BoardInterface", "PHYS", "UART", "WIRES", "line"]

#: Kinds of fiber that pins can be.
PHYS = ("serial", "parallel")
#: Signature of the board's serial line.
UART = wiring.Signature({"rx": In(1), "tx": Out(1)})
#: Signature of a parallel fiber at the pins.
WIRES = wiring.Signature(
    {"tx_data": Out(SYMBOL_BITS), "tx_strobe": Out(1), "rx_data": In(SYMBOL_BITS), "rx_strobe": In(1)}
)


def line(samples):
    """Signature of a serial fiber at the pins, ``samples`` of it in a cycle."""
    return wiring.Signature({"rx": In(samples), "tx": Out(samples)})


@dataclass(frozen=True)
class BoardInterface:
    """Numbers of the board that a top is made for.

    Parameters
    ----------
    clock_hz : int
        Rate of the clock ``sync``.
    line_hz : int
        Rate of the clock ``line``.
    samples, oversampling : int
        Of a serial fiber, as in ``SerialPhy``.
    one_clock : bool
        ``line`` and ``sync`` are the same clock, with the same reset.
    leds : int
        Lights that the board has.
    """

    clock_hz: int = 50_000_000
    line_hz: int = 50_000_000
    samples: int = 2
    oversampling: int = 4
    one_clock: bool = False
    leds: int = 8

    @property
    def baud(self):
        """Bits of a serial fiber in a second."""
        return self.line_hz * self.samples // self.oversampling
