"""A serial fiber behind a port of a board: sender, receiver, and what went wrong.

Source: "The Design of Nectar" (1989), section 3.2: fibers and TAXI chips at 100 Mbit/s; ``docs/serial.md`` specifies
what stands for them here.
"""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .port import FiberPort
from .serial_receiver import SerialReceiver
from .transmitter import INTERVAL_HUB, Transmitter

__all__ = ["SerialPhy"]


class SerialPhy(wiring.Component):
    """Both ends of a pair of serial fibers.

    Parameters
    ----------
    samples : int
        Samples of the line in a cycle, 1 to 8: 1 for a plain pin, more for what the pins of an FPGA put together.
    oversampling : int
        Samples of a bit, 4 to 8; a multiple of ``samples``.
    interval : int
        Symbols that are sent at most between two pairs of idles: ``INTERVAL_HUB``, or ``INTERVAL_CAB`` at a CAB.

    Members
    -------
    fiber : In(FiberPort())
        To be connected to the port of a board.
    line.rx, line.tx : In(samples), Out(samples)
        From and to the fiber; bit 0 is the oldest. ``line.rx`` need not be synchronous to the clock.
    up : Out(1)
        What arrives is believed. What is sent does not depend on it.
    violations, losses, overruns : Out(8)
        How often a word arrived that is none; the link was lost; a symbol found no room. They stop at 255.
    clear : In(1)
        Sets the three to 0; what happens in this very cycle is not counted.

    Timing
    ------
    A symbol takes ``10 * oversampling / samples`` cycles, on the line and at ``fiber``. A counter shows what happened
    in the cycle after.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not an integer, out of range, or does not fit the others.
    """

    def __init__(self, samples=4, oversampling=4, interval=INTERVAL_HUB):
        self.transmitter = Transmitter(samples, oversampling, interval)
        self.receiver = SerialReceiver(samples, oversampling)
        super().__init__(
            {
                "fiber": In(FiberPort()),
                "line": Out(wiring.Signature({"rx": In(samples), "tx": Out(samples)})),
                "up": Out(1),
                "violations": Out(8),
                "losses": Out(8),
                "overruns": Out(8),
                "clear": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.transmitter = transmitter = self.transmitter
        m.submodules.receiver = receiver = self.receiver
        m.d.comb += [
            transmitter.symbols.payload.eq(self.fiber.tx.payload),
            transmitter.symbols.valid.eq(self.fiber.tx.valid),
            self.fiber.tx.ready.eq(transmitter.symbols.ready),
            self.line.tx.eq(transmitter.line),
            receiver.line.eq(self.line.rx),
            self.up.eq(receiver.up),
            self.fiber.rx.payload.eq(receiver.symbols.payload),
            self.fiber.rx.valid.eq(receiver.symbols.valid),
        ]
        for count, event in (
            (self.violations, receiver.violation),
            (self.losses, receiver.lost),
            (self.overruns, receiver.overrun),
        ):
            with m.If(self.clear):
                m.d.sync += count.eq(0)
            with m.Elif(event & ~count.all()):
                m.d.sync += count.eq(count + 1)
        return m
