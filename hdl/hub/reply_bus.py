"""Reply bus: carries replies from port to port, one in every cycle, beside crossbar and connections.

Source: "The Design of Nectar" (1989), section 4.2.1: a reply is never blocked and arrives within a bounded time. The bus
is ours (``docs/hub.md``, "Replies").
"""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .arbiter import Arbiter
from .messages import Reply, check_ports, index_bits, one_hot_index, port_mask

__all__ = ["ReplyBus", "RoutedReply"]


class RoutedReply(data.Struct):
    """A reply at the port where it arrived, or where its command arrived."""

    reply: Reply
    own: 1  # goes out of this very port: the answer to a command


class ReplyBus(wiring.Component):
    """Moves replies to the ports from which they leave.

    Parameters
    ----------
    ports : int
        Ports of the HUB.

    Members
    -------
    source : In(stream.Signature(RoutedReply)).array(ports)
        Replies that wait at each port.
    connected, owner : as in StatusTable
        A reply that arrived at a port leaves through the input connected to the port's output.
    reply, push : Out(Reply), Out(ports)
        A reply for one output port, one-hot.
    full : In(ports)
        Output ports that have no room.
    lost : Out(ports)
        One-hot, the port whose reply had nowhere to go or found no room.
    busy : Out(1)
        A reply is on the bus.

    Timing
    ------
    One reply a cycle, the ports in turns, so that each waits for at most ports - 1 others. A reply that is taken in cycle t is
    pushed, or lost, in cycle t + 1. The route is the one of cycle t.
    """

    def __init__(self, ports):
        check_ports(ports)
        self.ports = ports
        bits = index_bits(ports)
        super().__init__({
            "source": In(stream.Signature(RoutedReply)).array(ports),
            "connected": In(ports), "owner": In(bits).array(ports),
            "reply": Out(Reply), "push": Out(ports), "full": In(ports), "lost": Out(ports), "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.turns = turns = Arbiter(self.ports)
        index = Signal(range(self.ports))
        taken = Signal(RoutedReply)
        m.d.comb += [
            index.eq(one_hot_index(turns.pick)),
            taken.eq(Array([source.payload.as_value() for source in self.source])[index]),
        ]
        for i, source in enumerate(self.source):
            m.d.comb += [turns.asks[i].eq(source.valid), source.ready.eq(turns.pick[i])]

        origin, target = Signal(self.ports), Signal(self.ports)
        m.d.sync += origin.eq(turns.pick)
        with m.If(turns.pick != 0):
            m.d.sync += [
                self.reply.eq(taken.reply),
                target.eq(Mux(taken.own, turns.pick,
                              Mux((self.connected & turns.pick).any(), port_mask(Array(self.owner)[index], self.ports), 0))),
            ]

        delivers = Signal()
        m.d.comb += delivers.eq((target & ~self.full).any())
        with m.If(origin != 0):
            m.d.comb += [
                self.push.eq(Mux(delivers, target, 0)),
                self.lost.eq(Mux(delivers, 0, origin)),
            ]
        m.d.comb += self.busy.eq(origin != 0)
        return m
