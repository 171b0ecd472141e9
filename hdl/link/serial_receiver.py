"""Receives symbols from a serial fiber, and knows whether it may be believed.

Source: ``docs/serial.md``, "Receiver". Ours; the prototype had TAXI chips.
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .aligner import Aligner
from .bits import BitRecovery
from .code4b5b import VIOLATION, WORD_BITS
from .decoder import Decoder
from .elastic import ElasticBuffer
from .symbol import SYMBOL_BITS, Control
from .transmitter import line_rate

__all__ = ["SerialReceiver", "TRIAL", "WORSE", "WORST"]

#: Words without a violation that must come before any symbol is delivered.
TRIAL = 32
#: A violation counts so much, a good word takes one off; the link is lost when it comes to more than ``WORST``.
WORSE, WORST = 4, 15


class SerialReceiver(wiring.Component):
    """Receiver of a serial fiber.

    Parameters
    ----------
    samples : int
        Samples of the line in a cycle, 1 to 8.
    oversampling : int
        Samples of a bit, 4 to 8; a multiple of ``samples``.

    Members
    -------
    line : In(samples)
        From the fiber; bit 0 came first.
    symbols : Out
        ``payload`` arrives in a cycle in which ``valid`` is 1; never idle. What was damaged is ``VIOLATION``.
    up : Out(1)
        Symbols are delivered.
    violation : Out(1)
        A word arrived that is none, while the link was up.
    lost : Out(1)
        The link, which was up, is no longer.
    overrun : Out(1)
        A symbol found no room in the elastic buffer: the sender is too fast, or sends too few idles.

    Timing
    ------
    At most one symbol in ``WORD_BITS * oversampling / samples`` cycles. When the link is lost, one ``VIOLATION`` is
    delivered. ``violation``, ``lost`` and ``overrun`` are 1 for one cycle each time.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not an integer, out of range, or does not fit the other.
    """

    def __init__(self, samples=4, oversampling=4):
        self.cycles = WORD_BITS * line_rate(samples, oversampling)
        self.samples = samples
        self.oversampling = oversampling
        super().__init__(
            {
                "line": In(samples),
                "symbols": Out(wiring.Signature({"payload": Out(SYMBOL_BITS), "valid": Out(1)})),
                "up": Out(1),
                "violation": Out(1),
                "lost": Out(1),
                "overrun": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.bits = bits = BitRecovery(self.samples, self.oversampling)
        m.submodules.aligner = aligner = Aligner(len(bits.bits))
        m.submodules.decoder = decoder = Decoder()
        m.submodules.elastic = elastic = ElasticBuffer()
        m.d.comb += [
            bits.line.eq(self.line),
            aligner.bits.eq(bits.bits),
            aligner.count.eq(bits.count),
            decoder.word.eq(aligner.word),
        ]

        # May what comes be believed? If it is neither on trial nor up, two idle words in a row are searched for.
        # ``score``: good words of the trial, and then how bad it is, which its lower bits are enough for; in a search
        # nobody looks at it.
        trial = Signal()
        score = Signal(range(TRIAL), reset_less=True)
        badness = score[: WORST.bit_length()]
        good = Signal()
        bad = Signal()
        m.d.comb += [
            good.eq(aligner.strobe & ~decoder.violation),
            bad.eq(aligner.strobe & decoder.violation),
            self.violation.eq(self.up & bad),
            self.lost.eq(self.up & (aligner.quiet | aligner.moved | (bad & (badness > WORST - WORSE)))),
        ]
        with m.If(self.lost | aligner.quiet | (trial & bad)):
            m.d.sync += [trial.eq(0), self.up.eq(0)]
        with m.Elif(trial & good & score.all()):
            m.d.sync += [trial.eq(0), self.up.eq(1)]
        with m.If(trial & good):
            m.d.sync += score.eq(score + 1)  # the last one makes it 0
        with m.Elif(bad):
            m.d.sync += badness.eq(badness + WORSE)
        with m.Elif(good & (badness != 0)):
            m.d.sync += badness.eq(badness - 1)
        # Two idles where no words were, or at another place, begin a trial; a damaged line may show two by chance, not
        # the words of a trial.
        with m.If(aligner.pair & (~(trial | self.up) | aligner.moved)):
            m.d.sync += [trial.eq(1), self.up.eq(0), score.eq(0)]

        m.d.comb += [
            elastic.push.payload.eq(decoder.symbol),
            elastic.push.valid.eq(self.up & aligner.strobe & (decoder.symbol != Control.IDLE)),
            elastic.idle.eq(~self.up | (aligner.strobe & (decoder.symbol == Control.IDLE))),
            self.symbols.payload.eq(elastic.output.payload),
            self.symbols.valid.eq(elastic.output.valid),
            self.overrun.eq(elastic.overflow),
        ]
        with m.If(self.lost):
            m.d.comb += [elastic.push.payload.eq(VIOLATION), elastic.push.valid.eq(1)]

        # The time of a symbol by this clock.
        cycle = Signal(range(self.cycles))
        m.d.comb += elastic.slot.eq(cycle == self.cycles - 1)
        m.d.sync += cycle.eq(cycle + 1)
        with m.If(elastic.slot):
            m.d.sync += cycle.eq(0)
        return m
