"""Origin: where the messages of a node source enter its router.

Source: Nugent, "The iPSC/2 Direct-Connect Communications Technology" (1988), "Routing Operation": the serializer
requests the channel of the lowest bit of the probe. What is refused, and the cycles, are ours: ``docs/ipsc2.md``, "Node
source".
"""

from types import SimpleNamespace

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .element import check_dimensions
from .formats import CHANNELS, EXTERNAL, WORD_BITS, WORD_PAIRS, channels
from .frames import Frames
from .signatures import Lane, NodeSource

__all__ = ["Origin"]


class Origin(wiring.Component):
    """Asks for a channel for the node source, and passes its pairs.

    Parameters
    ----------
    dimensions : int
        Dimensions of the cube, 1 to 7: which channels a router has.
    remote : bool
        The origin is at the other end of channel 7: all messages go to this channel, also one with the probe 0.

    Members
    -------
    source : In(NodeSource())
        The node source.
    asks : Out(8)
        One-hot: the channel that is asked for.
    granted : In(1)
        The channel takes a pair in this cycle.
    allow : In(1)
        DESTINATION READY of the granted channel.
    lane : Out(Lane())
        The message, with the probe in front.

    Timing
    ------
    Combinational; frames are followed by the cycles of ``granted``.

    Raises
    ------
    TypeError, ValueError
        If ``dimensions`` is not an int from 1 to 7.
    """

    def __init__(self, dimensions, remote=False):
        check_dimensions(dimensions)
        self.dimensions = dimensions
        self.remote = remote
        super().__init__(
            {
                "source": In(NodeSource()),
                "asks": Out(CHANNELS),
                "granted": In(1),
                "allow": In(1),
                "lane": Out(Lane()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.frames = frames = Frames(WORD_PAIRS)
        sent = Signal()  # the probe has been

        wrong = Signal()
        address = self.source.probe[:CHANNELS]
        absent = [n for n in range(WORD_BITS) if n not in channels(self.dimensions)]
        m.d.comb += wrong.eq(Cat(self.source.probe[n] for n in absent).any())
        if not self.remote:
            with m.If(address == 0):
                m.d.comb += wrong.eq(1)
        m.d.comb += self.source.refused.eq(self.source.request & wrong)
        with m.If(self.source.request & ~wrong & ~self.granted):
            m.d.comb += self.asks.eq(1 << EXTERNAL if self.remote else address & (~address + 1))

        m.d.comb += [
            self.source.grant.eq(self.granted),
            self.source.allow.eq(self.granted & self.allow),
            frames.data.eq(self.source.data),
            frames.strobe.eq(self.granted),
            frames.probe.eq(~sent),
            self.lane.data.eq(self.source.data),
            self.lane.strobe.eq(self.granted),
            self.lane.status.eq(frames.status),
            self.lane.last.eq(frames.last),
        ]
        if platform == "formal":
            self.probes = SimpleNamespace(frames=frames, sent=sent)
        with m.If(frames.last):
            m.d.sync += sent.eq(0)
        with m.Elif(frames.ends):
            m.d.sync += sent.eq(1)
        return m
