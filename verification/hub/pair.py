"""Two HUBs joined by a pair of fibers, as one design under test with the pins of one."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from nectar.hdl.hub.hub import Hub
from nectar.hdl.hub.profile import PROTOTYPE
from nectar.hdl.link.port import FiberPort

__all__ = ["Pair"]


class Pair(wiring.Component):
    """Two HUBs of three ports: port 2 of the first is joined to port 0 of the second.

    Parameters
    ----------
    profile : HubProfile

    Members
    -------
    hub_id : In(8)
        ID of the first HUB; the second has the next one.
    port_0, port_1, port_2, port_3 : Out(FiberPort())
        Ports 0 and 1 of the first HUB, 1 and 2 of the second.
    idle : Out(1)
        Nothing is under way in either, nor between them.
    """

    def __init__(self, profile=PROTOTYPE):
        self.profile = profile
        super().__init__({"hub_id": In(8), **{f"port_{n}": Out(FiberPort()) for n in range(4)}, "idle": Out(1)})

    def elaborate(self, platform):
        """A fiber takes a symbol in every cycle and delivers it in the same one."""
        m = Module()
        m.submodules.first = first = Hub(ports=3, profile=self.profile)
        m.submodules.second = second = Hub(ports=3, profile=self.profile)
        m.d.comb += [first.hub_id.eq(self.hub_id), second.hub_id.eq(self.hub_id + 1)]
        for near, far in ((first.port_2, second.port_0), (second.port_0, first.port_2)):
            m.d.comb += [far.rx.payload.eq(near.tx.payload), far.rx.valid.eq(near.tx.valid), near.tx.ready.eq(1)]
        for outside, inside in (
            (self.port_0, first.port_0),
            (self.port_1, first.port_1),
            (self.port_2, second.port_1),
            (self.port_3, second.port_2),
        ):
            m.d.comb += [
                inside.rx.payload.eq(outside.rx.payload),
                inside.rx.valid.eq(outside.rx.valid),
                outside.tx.payload.eq(inside.tx.payload),
                outside.tx.valid.eq(inside.tx.valid),
                inside.tx.ready.eq(outside.tx.ready),
            ]
        m.d.comb += self.idle.eq(first.idle & second.idle & ~first.port_2.tx.valid & ~second.port_0.tx.valid)
        return m
