"""Skid buffer between crossbar and output register.

Source: "The Design of Nectar" (1989), section 4: a symbol takes five cycles through the prototype. This buffer as one
of the five is ours, and so is the buffer of the profiles in which an input learns late that an output is held up
(``docs/hub.md``, "Timing").
"""

from amaranth.hdl import Assert, Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..messages import CrossbarBeat
from .entry import is_start
from .places import Places

__all__ = ["SkidBuffer"]


class SkidBuffer(wiring.Component):
    """FIFO past which a symbol may go.

    Parameters
    ----------
    late : bool
        A symbol comes a cycle after ``space``, and there are three places; otherwise two.

    Members
    -------
    beat, push : In(CrossbarBeat), In(1)
        A symbol; only if there is ``space``, or with ``late``, if there was ``space`` in the cycle before.
    space : Out(1)
        A symbol may come in this cycle; with ``late``, in the next.
    ended : In(1)
        The connection ends: symbols here, and a symbol that comes in this cycle, lose the mark of a close all.
    waits, oldest : Out(1), Out(CrossbarBeat)
        A symbol is here; the one that came first.
    pop : In(1)
        This symbol is taken. If none is here the symbol that comes is taken.
    start : Out(1)
        A start of packet is here.

    Timing
    ------
    All outputs are registers but for ``start``. A stream that was held up goes on without gaps.
    """

    def __init__(self, late):
        self._places = 3 if late else 2
        super().__init__(
            {
                "beat": In(CrossbarBeat),
                "push": In(1),
                "space": Out(1),
                "ended": In(1),
                "waits": Out(1),
                "oldest": Out(CrossbarBeat),
                "pop": In(1),
                "start": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        places = Places(CrossbarBeat, self._places)
        some = places.some
        m.d.comb += [
            # Of three places there is one for a symbol that comes in this cycle, and another for one in the next.
            self.space.eq(~some[1]),
            self.waits.eq(some[0]),
            self.oldest.eq(places.entries[0]),
            self.start.eq(Cat(taken & is_start(beat.symbol) for taken, beat in zip(some, places.entries)).any()),
        ]
        places.connect(m, self.beat, self.push, self.pop)
        with m.If(self.ended):
            m.d.sync += Cat(beat.closes for beat in places.entries).eq(0)

        if platform == "formal":
            self.probes = places
            m.d.comb += [
                Assert((some & (some + 1)) == 0, "the places are taken from the first on"),
                Assert(~(self.push & some[-1]), "the crossbar pushes only into a free place"),
            ]
        return m
