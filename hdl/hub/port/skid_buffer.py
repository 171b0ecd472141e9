"""Skid buffer between crossbar and output port, for profiles in which an input learns late that an output is held up.

Source: ours (``docs/hub.md``, "Timing")."""

from amaranth.hdl import Assert, Cat, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ..messages import CrossbarBeat
from .crossbar_register import MEMBERS
from .entry import is_start
from .places import Places

__all__ = ["SkidBuffer"]

_PLACES = 3


class SkidBuffer(wiring.Component):
    """FIFO that falls through.

    Members
    -------
    As CrossbarRegister, but for ``space``: a symbol may come in the next cycle.
    waits : Out(1)
        A symbol is here.

    Timing
    ------
    No cycle if nothing is here. ``space`` is a register. A stream that was held up goes on without gaps.
    """

    def __init__(self):
        super().__init__(MEMBERS | {"waits": Out(1)})

    def elaborate(self, platform):
        m = Module()
        places = Places(CrossbarBeat, _PLACES)
        some, oldest = places.some, places.entries[0]
        m.d.comb += [
            # A symbol that comes in this cycle, and another one in the next, have room.
            self.space.eq(~some[1]),
            self.waits.eq(some[0]),
            self.output.valid.eq(some[0] | self.push),
            self.output.payload.eq(Mux(some[0], oldest, self.beat)),
            self.start.eq(Cat(taken & is_start(beat.symbol) for taken, beat in zip(some, places.entries)).any()),
        ]
        places.connect(m, self.beat, self.push, self.output.ready)
        with m.If(self.ended):
            m.d.sync += Cat(beat.closes for beat in places.entries).eq(0)

        if platform == "formal":
            self.probes = places
            m.d.comb += [
                Assert((some & (some + 1)) == 0, "the places are taken from the first on"),
                Assert(~(self.push & some[-1]), "the crossbar pushes only into a free place"),
            ]
        return m
