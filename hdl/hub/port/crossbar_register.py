"""Register between crossbar and output port, for profiles that have one.

Source: "The Design of Nectar" (1989), section 4: a symbol takes five cycles through the prototype. This register as one
of the five is ours."""

from types import SimpleNamespace

from amaranth.hdl import Array, Assert, Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..messages import CrossbarBeat
from .entry import is_start

__all__ = ["CrossbarRegister"]

_PLACES = 2


class CrossbarRegister(wiring.Component):
    """Two registers behind the crossbar, used in turns.

    Members
    -------
    beat, push : In(CrossbarBeat), In(1)
        A symbol; only when there is ``space``.
    space : Out(1)
        A symbol may come in this cycle.
    ended : In(1)
        The connection ends: symbols here, and a symbol that comes in this cycle, lose the mark of a close all.
    output : Out(stream.Signature(CrossbarBeat))
        The oldest symbol.
    start : Out(1)
        A start of packet is here.

    Timing
    ------
    One cycle. ``space`` depends on registers only. A stream flows without gaps nevertheless.
    """

    def __init__(self):
        super().__init__(
            {
                "beat": In(CrossbarBeat),
                "push": In(1),
                "space": Out(1),
                "ended": In(1),
                "output": Out(stream.Signature(CrossbarBeat)),
                "start": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        places = [Signal(CrossbarBeat, name=f"place_{n}", reset_less=True) for n in range(_PLACES)]
        pushed = Signal(range(2 * _PLACES))
        taken = Signal(range(2 * _PLACES))
        starts = Signal(_PLACES)
        m.d.comb += [
            self.space.eq((pushed - taken)[: len(pushed)] != _PLACES),
            self.output.valid.eq(pushed != taken),
            self.output.payload.eq(Array([place.as_value() for place in places])[taken[0]]),
            self.start.eq(starts.any()),
        ]
        with m.If(self.ended):
            m.d.sync += Cat(place.closes for place in places).eq(0)
        with m.If(self.output.valid & self.output.ready):
            m.d.sync += [taken.eq(taken + 1), starts.bit_select(taken[0], 1).eq(0)]
        with m.If(self.push):
            m.d.sync += [pushed.eq(pushed + 1), starts.bit_select(pushed[0], 1).eq(is_start(self.beat.symbol))]
            for n, place in enumerate(places):
                with m.If(pushed[0] == n):
                    m.d.sync += [
                        place.symbol.eq(self.beat.symbol),
                        place.closes.eq(self.beat.closes & ~self.ended),
                    ]

        if platform == "formal":
            self.probes = SimpleNamespace(places=places, pushed=pushed, taken=taken, starts=starts)
            m.d.comb += [
                Assert((pushed - taken)[: len(pushed)] <= _PLACES, "no symbol is written over another"),
                Assert(~(self.push & ~self.space), "the crossbar pushes only into a free place"),
            ]
        return m
