"""Reply bus: carries replies from port to port, one in every cycle, beside crossbar and connections.

Source: "The Design of Nectar" (1989), section 4.2.1: a reply is never blocked and arrives within a bounded time. The bus
is ours (``docs/hub.md``, "Replies").
"""

from types import SimpleNamespace

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .arbiter import Arbiter
from .messages import Reply, RoutedReply, check_ports, index_bits, one_hot_index, port_mask

__all__ = ["ReplyBus"]


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

    Raises
    ------
    TypeError, ValueError
        If ``ports`` is not an int from 2 to 128.
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
        for i, source in enumerate(self.source):
            m.d.comb += [turns.asks[i].eq(source.valid), source.ready.eq(turns.pick[i])]

        origin = Signal(self.ports)
        target = Signal(self.ports, reset_less=True)
        reply = Signal(Reply, reset_less=True)
        m.d.sync += origin.eq(turns.pick)
        with m.If(turns.pick.any()):
            index = one_hot_index(turns.pick)
            taken = RoutedReply(Array([source.payload.as_value() for source in self.source])[index])
            m.d.sync += reply.eq(taken.reply)
            with m.If(taken.own):
                m.d.sync += target.eq(turns.pick)
            with m.Elif((self.connected & turns.pick).any()):
                m.d.sync += target.eq(port_mask(Array(self.owner)[index], self.ports))
            with m.Else():
                m.d.sync += target.eq(0)

        m.d.comb += [self.reply.eq(reply), self.busy.eq(origin.any())]
        with m.If(self.busy):
            with m.If((target & ~self.full).any()):
                m.d.comb += self.push.eq(target)
            with m.Else():
                m.d.comb += self.lost.eq(origin)

        if platform == "formal":
            self.spy = SimpleNamespace(turns=turns, origin=origin, target=target)
        return m
