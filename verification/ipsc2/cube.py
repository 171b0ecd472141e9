"""A cube of routers, with wires that delay, and devices at channel 7 of its first and of its last node."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...hdl.ipsc2.formats import CHANNELS, EXTERNAL, MOST_WIRE
from ...hdl.ipsc2.remote import Remote
from ...hdl.ipsc2.router import Router

__all__ = ["Cube", "delayed"]


def delayed(m, lines, cycles, name):
    """data and strobe of ``lines`` so many ``cycles`` later."""
    data, strobe = lines.data, lines.strobe
    for n in range(cycles):
        next_data, next_strobe = Signal(2, name=f"{name}_data_{n}"), Signal(name=f"{name}_strobe_{n}")
        m.d.sync += [next_data.eq(data), next_strobe.eq(strobe)]
        data, strobe = next_data, next_strobe
    return data, strobe


class Cube(wiring.Component):
    """The routers. Endpoints are the nodes, then the device of node 0 and that of the last node. Each pin of node
    source and node sink is a row: bits of endpoint e from e times its width on.

    ``dimensions``: of the cube. ``wire``: cycles by which each channel delays; None: some 0, some more, to MOST_WIRE.
    ``cut``: bit 8 n + k is 1: nothing comes out of the wire from channel k of node n.
    """

    def __init__(self, dimensions, wire=None):
        self.dimensions, self.wire = dimensions, wire
        self.nodes = 1 << dimensions
        ends = self.nodes + 2
        super().__init__(
            {
                "request": In(ends),
                "probe": In(16 * ends),
                "source_data": In(2 * ends),
                "ready": In(ends),
                "grant": Out(ends),
                "allow": Out(ends),
                "refused": Out(ends),
                "open": Out(ends),
                "data": Out(2 * ends),
                "strobe": Out(ends),
                "busy": Out(CHANNELS * self.nodes),
                "held": Out(CHANNELS * self.nodes),
                "violation": Out(CHANNELS * self.nodes),
                "device_violation": Out(2),
                "cut": In(CHANNELS * self.nodes),
            }
        )

    def delay(self, node, channel):
        """Cycles by which the wire from ``channel`` of ``node`` delays."""
        return (node + 3 * channel) % (MOST_WIRE + 1) if self.wire is None else self.wire

    def elaborate(self, platform):
        m = Module()
        routers = [Router(self.dimensions) for _ in range(self.nodes)]
        remotes = {0: Remote(self.dimensions), self.nodes - 1: Remote(self.dimensions)}
        for n, router in enumerate(routers):
            m.submodules[f"router_{n}"] = router
        for n, remote in remotes.items():
            m.submodules[f"remote_{n}"] = remote

        def join(tx, rx, node, channel):
            data, strobe = delayed(m, tx, self.delay(node, channel), f"wire_{node}_{channel}")
            m.d.comb += [rx.data.eq(data), rx.strobe.eq(strobe & ~self.cut[CHANNELS * node + channel])]

        for n, router in enumerate(routers):
            for k in range(self.dimensions):
                join(getattr(router, f"channel_{k}").tx, getattr(routers[n ^ 1 << k], f"channel_{k}").rx, n, k)
            if n in remotes:
                join(router.channel_7.tx, remotes[n].channel.rx, n, EXTERNAL)
                join(remotes[n].channel.tx, router.channel_7.rx, n, EXTERNAL)
        ends = [*routers, *(remotes[n] for n in (0, self.nodes - 1))]
        for n, end in enumerate(ends):
            m.d.comb += [
                end.source.request.eq(self.request[n]),
                end.source.probe.eq(self.probe.word_select(n, 16)),
                end.source.data.eq(self.source_data.word_select(n, 2)),
                end.sink.ready.eq(self.ready[n]),
                self.grant[n].eq(end.source.grant),
                self.allow[n].eq(end.source.allow),
                self.refused[n].eq(end.source.refused),
                self.open[n].eq(end.sink.open),
                self.data.word_select(n, 2).eq(end.sink.data),
                self.strobe[n].eq(end.sink.strobe),
            ]
        for name in ("busy", "held", "violation"):
            m.d.comb += getattr(self, name).eq(Cat(getattr(router, name) for router in routers))
        m.d.comb += self.device_violation.eq(Cat(remote.violation for remote in remotes.values()))
        return m
