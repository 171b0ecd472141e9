"""Finds the bits in samples of a serial line, by looking where its level changes.

Source: ``docs/serial.md``, "Bits". Ours; the prototype had TAXI chips.
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from .transmitter import line_rate

__all__ = ["BitRecovery", "VOTES"]

#: How many more early changes than late ones, or the other way round, move the place where bits are taken by a sample.
VOTES = 4


class BitRecovery(wiring.Component):
    """Bits of a line that is sampled several times in a bit by a clock of its own.

    Parameters
    ----------
    samples : int
        Samples in a cycle, 1 to 8.
    oversampling : int
        Samples in a bit, 4 to 8; a multiple of ``samples``.

    Members
    -------
    line : In(samples)
        Levels of the line, bit 0 first; need not be synchronous to the clock.
    bits : Out(1), or Out(2) if a cycle has as many samples as a bit
        Levels of the bits that end here, bit 0 first.
    count : Out(1) or Out(2)
        How many bits these are: none, one, or (rarely, when the line is faster than the clock) two.

    Timing
    ------
    A sample is looked at two cycles after it was at the pins, and is at ``bits`` in the cycle after. Bits are taken
    half a bit behind the place where changes are seen; whenever ``VOTES`` more changes came early than late, or late
    than early, that place moves by one sample behind the next bit. That bit, and the second of two in a cycle, have no
    vote; a bit with changes both early and late has none, and several early ones count once.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not an integer, out of range, or does not fit the other.
    """

    def __init__(self, samples=4, oversampling=4):
        line_rate(samples, oversampling)
        self.samples = samples
        self.oversampling = oversampling
        width = 2 if samples == oversampling else 1
        super().__init__({"line": In(samples), "bits": Out(width), "count": Out(width)})

    def elaborate(self, platform):
        m = Module()
        samples, oversampling = self.samples, self.oversampling

        # The line may change at any time. A change before a bit lies between two of the samples that are kept.
        window = Signal(samples)
        m.submodules.synchronizer = FFSynchronizer(self.line, window)
        past = Signal(oversampling)  # the samples before the window, the newest at the top
        m.d.sync += past.eq(Cat(past, window)[-oversampling:])
        row = Cat(past, window)

        # Where the next bit is taken: so many samples behind the window's first.
        ahead = Signal(range(oversampling + 1))
        balance = Signal(range(-VOTES, VOTES + 1))  # late changes less early ones
        taken = Signal()
        two = Signal()
        step = Signal(range(-1, 2))
        sample = Signal()
        edges = Signal(oversampling)  # changes since the bit before, the oldest first
        m.d.comb += [
            taken.eq(ahead < samples),
            step.eq(Mux(balance == VOTES, 1, Mux(balance == -VOTES, -1, 0))),
            two.eq((samples == oversampling) & (ahead == 0) & (step == -1)),
        ]
        with m.Switch(ahead):
            for n in range(samples):
                with m.Case(n):
                    m.d.comb += [
                        sample.eq(row[n + oversampling]),
                        edges.eq(row[n : n + oversampling] ^ row[n + 1 : n + 1 + oversampling]),
                    ]
        # Changes in the middle between two bits are neither early nor late.
        few = (oversampling - 1) // 2
        early, late = edges[:few].any(), edges[-few:].any()
        m.d.sync += [self.bits.eq(sample), self.count.eq(taken)]
        with m.If(taken):
            m.d.sync += [
                ahead.eq(ahead + oversampling - samples + step),
                balance.eq(Mux(step != 0, 0, balance + late - early)),
            ]
            with m.If(two):
                m.d.sync += [ahead.eq(oversampling - 1), self.bits.eq(Cat(sample, window[-1])), self.count.eq(2)]
        with m.Else():
            m.d.sync += ahead.eq(ahead - samples)
        if platform == "formal":
            m.d.comb += Assert(~taken | two | (ahead + oversampling + step >= samples), "the next bit is still to come")
        return m
