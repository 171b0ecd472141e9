"""Deserializer: makes words of what the network brings, and checks that a message is whole.

Source: Nugent, "The iPSC/2 Direct-Connect Communications Technology" (1988), "Routing Operation": the destination
absorbs the probe, pads it with 8 zeros, signals RDY by the state of its FIFO, checks the checksum and strips it, and
passes its state and the end of the message on to the node. Cycles and the ends of incomplete messages are ours:
``docs/ipsc2-node.md``.
"""

from amaranth.hdl import Assert, Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..formats import PAIR_BITS, RDY_PLACE, SHORT_PROBE_PAIRS, WORD_BITS
from ..frames import Frames
from ..signatures import NodeSink
from .checksum import CHECKSUM_BITS, START, advance

__all__ = ["Deserializer", "InWord"]

_SHORT_BITS = (SHORT_PROBE_PAIRS - 2) * PAIR_BITS


class InWord(data.Struct):
    """A word that has arrived. With ``last``, the message's last one: ``bad``, its checksum is wrong, or words were
    lost; ``cut``, it has ended without its checksum or with half a word."""

    data: 2 * WORD_BITS
    last: 1
    bad: 1
    cut: 1


class Deserializer(wiring.Component):
    """Receives messages.

    Members
    -------
    sink : In(NodeSink())
        From the router.
    words : Out(stream of InWord)
        The words of the messages. What is not taken in its cycle is lost, and the message is ``bad``; only the last
        word waits. A message that ends while the last word of the one before waits is forgotten: it had no RDY, and no
        data.
    room : In(1)
        The FIFO behind ``words`` can take what may still come when RDY falls.
    drop : In(1)
        The message that is coming in is given up: it ends, ``cut`` and ``bad``, and its rest is ignored.
    receiving : Out(1)
        A message is coming in.

    Timing
    ------
    A word is at ``words`` in the cycle of the last pair of the next one; the last word in the cycle behind the last
    pair of the checksum word. RDY is ``room`` from the cycle behind the last pair of the probe on, but 0 while the last
    word of the message before waits.
    """

    def __init__(self):
        super().__init__(
            {
                "sink": In(NodeSink()),
                "words": Out(stream.Signature(InWord)),
                "room": In(1),
                "drop": In(1),
                "receiving": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        closed = Signal()
        m.d.comb += closed.eq(~self.sink.open)
        m.submodules.frames = frames = ResetInserter(closed)(Frames(SHORT_PROBE_PAIRS))
        known = Signal()  # the probe is there
        carries = Signal(reset_less=True)  # the frame is no nibble
        unit = Signal(WORD_BITS - PAIR_BITS, reset_less=True)  # what has come of its data
        unit_next = Signal(WORD_BITS)
        low = Signal(WORD_BITS, reset_less=True)
        odd = Signal()  # low is the first half of a word
        held = Signal(2 * WORD_BITS, reset_less=True)
        full = Signal()  # there is a word in held
        lost = Signal()
        ignores = Signal()  # until the circuit is closed
        value = Signal(CHECKSUM_BITS, reset_less=True)
        value_next = Signal(CHECKSUM_BITS)
        final = Signal(data.StructLayout({"data": 2 * WORD_BITS, "bad": 1, "cut": 1}), reset_less=True)
        waits = Signal()  # final is to be given on
        passes = Signal()
        arrives = Signal()  # a frame with data has arrived
        cut = Signal()

        m.d.comb += [
            frames.data.eq(self.sink.data),
            frames.strobe.eq(self.sink.strobe & ~ignores),
            frames.probe.eq(~known),
            unit_next.eq(Cat(unit, self.sink.data)),
            value_next.eq(advance(value, self.sink.data)),
            arrives.eq(frames.ends & carries),
            self.sink.ready.eq(known & self.room & ~waits),
            cut.eq(self.receiving & (closed | self.drop) & ~frames.last),
        ]
        with m.If(frames.data_begins):
            m.d.sync += carries.eq(1)
        with m.Elif(frames.nibble_begins):
            m.d.sync += carries.eq(0)
        with m.If(frames.data_begins & ~known):
            m.d.sync += value.eq(START)
        with m.If(frames.strobe & carries & (frames.place > RDY_PLACE)):
            m.d.sync += [unit.eq(unit_next[PAIR_BITS:]), value.eq(value_next)]

        # Words: each is given on when the next one is whole, since the last one tells how the message has ended.
        m.d.comb += [
            passes.eq(arrives & odd & full & ~frames.last),
            self.words.valid.eq(waits | passes),
            self.words.payload.data.eq(Mux(waits, final.data, held)),
            self.words.payload.last.eq(waits),
            self.words.payload.bad.eq(waits & final.bad),
            self.words.payload.cut.eq(waits & final.cut),
        ]
        with m.If(waits & self.words.ready):
            m.d.sync += waits.eq(0)
        with m.If(passes & (waits | ~self.words.ready)):
            m.d.sync += lost.eq(1)
        with m.If(self.sink.open & ~ignores):
            m.d.sync += self.receiving.eq(1)
        short = unit_next[WORD_BITS - _SHORT_BITS :]
        with m.If(arrives):
            m.d.sync += [known.eq(1), odd.eq(~odd), low.eq(Mux(known, unit_next, short))]
            with m.If(odd):
                m.d.sync += [held.eq(Cat(low, unit_next)), full.eq(1)]
            with m.If(~known):
                m.d.sync += value.eq(advance(value_next, zeros=WORD_BITS - _SHORT_BITS))
        over = Signal()
        m.d.comb += over.eq(cut | frames.last)
        with m.If(over):
            m.d.sync += [self.receiving.eq(0), ignores.eq(self.sink.open & ~frames.last)]
            m.d.sync += [waits.eq(1), known.eq(0), odd.eq(0), full.eq(0), lost.eq(0)]
        with m.If(~waits | self.words.ready):
            # A word that is not full is the probe alone, or not even that.
            m.d.sync += [
                final.data.eq(Mux(full, held, Mux(known, low[:_SHORT_BITS], 0))),
                final.bad.eq(cut | lost | (value_next != 0)),
                final.cut.eq(cut | odd),
            ]
        with m.If(closed):
            m.d.sync += ignores.eq(0)
        m.d.comb += Assert(~odd | known, "words come behind the probe")
        return m
