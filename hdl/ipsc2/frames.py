"""Where the frames are in a row of pairs: words, nibbles, probes.

Source: Nugent, "The iPSC/2 Direct-Connect Communications Technology" (1988), "Channel Protocol": start bits, RDY and
EOM in each frame, so that the end of a message is found on the fly. What is done with a pair that cannot begin a frame
is ours.
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from .formats import DATA_START, NIBBLE_PAIRS, NIBBLE_START, PAIR_BITS, RDY_PLACE, SHORT_PROBE_PAIRS, WORD_PAIRS

__all__ = ["Frames"]


class _Kind(enum.Enum, shape=2):
    """What the frame is, or the last one was: a word with EOM is ``FINAL`` behind its second pair."""

    NIBBLE = 0
    PROBE = 1
    WORD = 2
    FINAL = 3


class Frames(wiring.Component):
    """Follows the frames of a direction.

    Parameters
    ----------
    probe_pairs : int
        Pairs of a probe: ``SHORT_PROBE_PAIRS`` or ``WORD_PAIRS``.

    Members
    -------
    data, strobe : In(2), In(1)
        The pair of this cycle, and whether there is one.
    probe : In(1)
        A frame that begins in this cycle with (0, 0) is a probe; else it is a word.
    padding : In(1)
        (0, 0) begins no frame in this cycle.
    place : Out(4)
        Place of the pair in its frame, from 0 on; of the next one if there is none.
    data_begins, nibble_begins, wrong : Out(1)
        The pair begins a word or a probe; begins a nibble; stands where a frame should begin, and begins none.
    status : Out(1)
        The pair has RDY in bit 0.
    eom : Out(1)
        The pair is one of a word with EOM, from its second pair on. Not 0 without a strobe.
    plain : Out(1)
        The pair is the second of a word without EOM.
    ends, last : Out(1)
        The pair is the last of its frame; and that of a word with EOM.

    Timing
    ------
    All in the cycle of the pair. A cycle without ``strobe`` changes nothing.

    Raises
    ------
    ValueError
        If no probe has so many pairs.
    """

    def __init__(self, probe_pairs):
        if probe_pairs not in (SHORT_PROBE_PAIRS, WORD_PAIRS):
            raise ValueError(f"a probe has {SHORT_PROBE_PAIRS} or {WORD_PAIRS} pairs, not {probe_pairs!r}")
        self.probe_pairs = probe_pairs
        super().__init__(
            {
                "data": In(PAIR_BITS),
                "strobe": In(1),
                "probe": In(1),
                "padding": In(1),
                "place": Out(range(WORD_PAIRS)),
                "data_begins": Out(1),
                "nibble_begins": Out(1),
                "wrong": Out(1),
                "status": Out(1),
                "eom": Out(1),
                "plain": Out(1),
                "ends": Out(1),
                "last": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        kind = Signal(_Kind, reset_less=True)  # means something within a frame only
        begins = Signal()  # here a frame should begin
        second = Signal()
        marked = Signal()  # the pair has EOM of a word in bit 1
        pairs = Signal(range(WORD_PAIRS + 1))
        m.d.comb += [
            begins.eq(self.strobe & (self.place == 0)),
            self.data_begins.eq(begins & (self.data == DATA_START) & ~self.padding),
            self.nibble_begins.eq(begins & (self.data == NIBBLE_START)),
            self.wrong.eq(begins & self.data.xor()),
            second.eq(self.place == RDY_PLACE),
            self.status.eq(self.strobe & second),
            marked.eq((kind == _Kind.WORD) & self.status),
            self.eom.eq((kind == _Kind.FINAL) & (self.place != 0) | marked & self.data[1]),
            self.plain.eq(marked & ~self.data[1]),
        ]
        with m.Switch(kind):
            with m.Case(_Kind.NIBBLE):
                m.d.comb += pairs.eq(NIBBLE_PAIRS)
            with m.Case(_Kind.PROBE):
                m.d.comb += pairs.eq(self.probe_pairs)
            with m.Default():
                m.d.comb += pairs.eq(WORD_PAIRS)
        m.d.comb += [
            self.ends.eq(self.strobe & (self.place != 0) & (self.place == pairs - 1)),
            self.last.eq(self.ends & (kind == _Kind.FINAL)),
        ]

        with m.If(self.nibble_begins):
            m.d.sync += [kind.eq(_Kind.NIBBLE), self.place.eq(1)]
        with m.Elif(self.data_begins):
            m.d.sync += self.place.eq(1)
            with m.If(self.probe):
                m.d.sync += kind.eq(_Kind.PROBE)
            with m.Else():
                m.d.sync += kind.eq(_Kind.WORD)
        with m.Elif(self.ends):
            m.d.sync += self.place.eq(0)
        with m.Elif(self.strobe & (self.place != 0)):
            m.d.sync += self.place.eq(self.place + 1)
            with m.If(self.eom):
                m.d.sync += kind.eq(_Kind.FINAL)

        if platform == "formal":
            self.probes = SimpleNamespace(kind=kind)
        m.d.comb += [
            Assert((self.place == 0) | (self.place < pairs), "within the frame"),
            Assert((kind != _Kind.FINAL) | (self.place != RDY_PLACE), "EOM is known from the second pair on"),
        ]
        return m
