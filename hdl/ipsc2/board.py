"""The board: a node and its router, with the channels, the CPU bus and the interrupt line as pins.

Source: Close, "The iPSC/2 Node Architecture" (1988), section 2: the Direct-Connect module sits on the node's board.
``docs/ipsc2-node.md``, "Board", specifies the pins.
"""

from amaranth.hdl import EnableInserter, Module, ResetInserter
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .formats import CHANNELS, channels
from .node.bus import CpuPort
from .node.node import Node
from .node.registers import MEMORY_BYTES
from .router import Router
from .signatures import Channel

__all__ = ["Board"]

_WIDTH = 32


class Board(wiring.Component):
    """A node with its router.

    Parameters
    ----------
    dimensions : int
        Dimensions of the cube, 1 to 7.
    memory_bytes : int
        Size of the memory: a power of two, 4 kbyte to 8 Mbyte.

    Members
    -------
    channel_0, …, channel_7 : Out(Channel())
        A channel for each dimension, and channel 7 to a device outside of the cube.
    bus : Out(CpuPort())
        The CPU bus.
    irq : Out(1)
        Interrupt line of the CPU.
    tick : In(1)
        A period of the strobe: channels move in cycles with 1 only. Boards that are joined have the same ticks.
    busy, held, violation : Out(8)
        The router's.
    idle : Out(1)
        Nothing but an access of the CPU, the timer, or a channel that carries something else than status nibbles can
        change more than the places of the nibbles.
    wake_in, slept : Out(32), In(32)
        Clock edges that may be left out; that were left out.

    Timing
    ------
    ``docs/ipsc2.md``, "Circuits", in ticks; ``docs/ipsc2-node.md``, "Bus", in cycles.

    Raises
    ------
    TypeError, ValueError
        If ``dimensions`` is not an int from 1 to 7, or there is no memory of such a size.
    """

    def __init__(self, dimensions=7, memory_bytes=MEMORY_BYTES):
        self._router = Router(dimensions)
        self._node = Node(memory_bytes)
        self.dimensions = dimensions
        super().__init__(
            {
                **{f"channel_{n}": Out(Channel()) for n in channels(dimensions)},
                "bus": Out(CpuPort()),
                "irq": Out(1),
                "tick": In(1),
                **{name: Out(CHANNELS) for name in ("busy", "held", "violation")},
                "idle": Out(1),
                "wake_in": Out(_WIDTH),
                "slept": In(_WIDTH),
            }
        )

    def elaborate(self, platform):
        m = Module()
        node, router = self._node, self._router
        m.submodules.node = node
        m.submodules.router = ResetInserter(node.reset_link)(EnableInserter(self.tick)(router))
        connect(m, node.source, router.source)
        connect(m, router.sink, node.sink)
        connect(m, flipped(self.bus), node.bus)
        for n in channels(self.dimensions):
            connect(m, flipped(getattr(self, f"channel_{n}")), getattr(router, f"channel_{n}"))
        m.d.comb += [
            self.irq.eq(node.irq),
            node.tick.eq(self.tick),
            self.busy.eq(router.busy),
            self.held.eq(router.held),
            self.violation.eq(router.violation),
            self.idle.eq(node.idle & (router.busy == 0) & (router.held == 0)),
            self.wake_in.eq(node.wake_in),
            node.slept.eq(self.slept),
        ]
        return m
