"""Two boards, joined by channel 0: what the bench of the whole node simulates."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ....hdl.ipsc2.board import Board
from ....hdl.ipsc2.node.bus import CpuPort

__all__ = ["Pair"]


class Pair(wiring.Component):
    """A cube of one dimension. ``tick`` is 1 in 7 of 8 cycles of 16 MHz: the 14 million periods of a strobe.

    ``cut``: nothing arrives on the channel. ``spoil``: bit n inverts what node n receives.
    """

    def __init__(self, memory_bytes):
        self.memory_bytes = memory_bytes
        super().__init__(
            {
                **{f"node_{n}": Out(CpuPort()) for n in range(2)},
                "irq": Out(2),
                "idle": Out(2),
                "cut": In(1),
                "spoil": In(2),
            }
        )

    def elaborate(self, platform):
        m = Module()
        phase = Signal(3)
        tick = Signal()
        m.d.sync += phase.eq(phase + 1)
        m.d.comb += tick.eq(phase != 7)
        boards = [Board(1, self.memory_bytes) for _ in range(2)]
        for n, (mine, its) in enumerate([boards, boards[::-1]]):
            m.submodules[f"board_{n}"] = mine
            wiring.connect(m, wiring.flipped(getattr(self, f"node_{n}")), mine.bus)
            m.d.comb += [
                mine.tick.eq(tick),
                self.irq[n].eq(mine.irq),
                self.idle[n].eq(mine.idle),
                mine.channel_0.rx.data.eq(its.channel_0.tx.data ^ self.spoil[n]),
                mine.channel_0.rx.strobe.eq(its.channel_0.tx.strobe & ~self.cut),
            ]
        return m
