"""Sends symbols over a serial fiber: 4B/5B words, most significant bit first, NRZI.

Source: ``docs/serial.md``, "Sender". Ours; the prototype had TAXI chips.
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .code4b5b import SYNC, WORD_BITS
from .encoder import Encoder
from .symbol import SYMBOL_BITS, Control

__all__ = ["Transmitter", "INTERVAL_HUB", "INTERVAL_CAB", "line_rate"]

#: Symbols that a HUB sends at most between two pairs of idles.
INTERVAL_HUB = 2046
#: The same of a CAB, which thereby stays slower than any HUB, whatever their clocks are.
INTERVAL_CAB = 1022


def line_rate(samples, oversampling):
    """Cycles of a bit, an int, for ``samples`` in a cycle and ``oversampling`` samples in a bit.

    Raises TypeError or ValueError if they are no integers, too few or too many, or do not fit.
    """
    for name, value, least, most in (("samples", samples, 1, 8), ("oversampling", oversampling, 4, 8)):
        if not isinstance(value, int):
            raise TypeError(f"{name} must be an integer, not {value!r}")
        if not least <= value <= most:
            raise ValueError(f"{name} must be {least} to {most}, not {value}")
    if oversampling % samples:
        raise ValueError(f"a bit of {oversampling} samples does not take a whole number of cycles of {samples}")
    return oversampling // samples


class Transmitter(wiring.Component):
    """Sender of a serial fiber.

    Parameters
    ----------
    samples : int
        Samples that the line takes in a cycle, 1 to 8.
    oversampling : int
        Samples of a bit, 4 to 8; a multiple of ``samples``.
    interval : int
        Symbols between two pairs of idles at most, 2 to 65535.

    Members
    -------
    symbols : In(stream.Signature(9))
        What is to be sent. ``ready`` is 1 in one cycle of each symbol's time, and does not depend on ``valid``.
    line : Out(samples)
        To the fiber; bit 0 goes first.

    Timing
    ------
    A symbol takes ``WORD_BITS * oversampling / samples`` cycles. It begins on the line two cycles after it was taken;
    its first bit is a change of level or none. Where no symbol is valid, an idle is sent; so are two after ``interval``
    symbols without two idles in a row.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not an integer, out of range, or does not fit the others.
    """

    def __init__(self, samples=4, oversampling=4, interval=INTERVAL_HUB):
        self.beats = line_rate(samples, oversampling)
        if not isinstance(interval, int):
            raise TypeError(f"the interval must be an integer, not {interval!r}")
        if not 2 <= interval <= 65535:
            raise ValueError(f"the interval must be 2 to 65535 symbols, not {interval}")
        self.interval = interval
        super().__init__({"symbols": In(stream.Signature(SYMBOL_BITS)), "line": Out(samples)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.encoder = encoder = Encoder()

        # When bits and symbols begin.
        beat = Signal(range(self.beats))
        place = Signal(range(WORD_BITS))
        bit_ends = Signal()
        slot = Signal()
        m.d.comb += [bit_ends.eq(beat == self.beats - 1), slot.eq(bit_ends & (place == WORD_BITS - 1))]
        if self.beats > 1:
            m.d.sync += beat.eq(beat + 1)
            with m.If(bit_ends):
                m.d.sync += beat.eq(0)
        with m.If(bit_ends):
            m.d.sync += place.eq(place + 1)
        with m.If(slot):
            m.d.sync += place.eq(0)

        # What is sent next.
        since = Signal(range(self.interval + 1))  # symbols since the last two idles in a row
        was_idle = Signal(init=1)
        forced = Signal()
        idle = Signal()
        m.d.comb += [
            forced.eq(since == self.interval),
            self.symbols.ready.eq(slot & ~forced),
            idle.eq(forced | ~self.symbols.valid | (self.symbols.payload == Control.IDLE)),
            encoder.symbol.eq(self.symbols.payload),
        ]
        with m.If(slot):
            m.d.sync += was_idle.eq(idle)
            with m.If(idle & was_idle):
                m.d.sync += since.eq(0)
            with m.Elif(~forced):
                m.d.sync += since.eq(since + 1)

        # The line.
        word = Signal(WORD_BITS, init=SYNC)
        level = Signal()
        with m.If(bit_ends):
            m.d.sync += [word.eq(word << 1), level.eq(level ^ word[-1])]
        with m.If(slot):
            m.d.sync += word.eq(encoder.word)
            with m.If(idle):
                m.d.sync += word.eq(SYNC)
        m.d.comb += self.line.eq(level.replicate(len(self.line)))
        return m
