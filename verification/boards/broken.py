"""HUBs with something wrong, for the self-test to find."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...hdl.hub.hub import Hub
from ...hdl.hub.profile import MODERN
from ...hdl.link.port import FiberPort
from ...hdl.link.symbol import Control

__all__ = ["FAULTS", "BrokenHub"]

#: What may be wrong, at one port, with every 64th byte, 16th start or ready that leaves it, or with the port itself.
FAULTS = ("flipped", "lost", "doubled", "dead", "start lost", "ready lost", "exchanged")
_EVERY = 64


class BrokenHub(wiring.Component):
    """A HUB of ``ports`` ports, port 1 of which may have a fault.

    Members
    -------
    As Hub. ``fault`` is a signal to be set: 0 for none, else one more than the index in FAULTS. ``exchanged``: with
    port 0.

    Timing
    ------
    As Hub.
    """

    def __init__(self, ports):
        self.ports = ports
        self.fault = Signal(range(len(FAULTS) + 1))
        super().__init__({"hub_id": In(8), **{f"port_{n}": Out(FiberPort()) for n in range(ports)}, "idle": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.hub = hub = Hub(self.ports, MODERN)
        m.d.comb += [hub.hub_id.eq(self.hub_id), self.idle.eq(hub.idle)]
        pins, inner = ([getattr(board, f"port_{n}") for n in range(self.ports)] for board in (self, hub))
        for outside, inside in zip(pins, inner, strict=True):
            m.d.comb += [
                inside.rx.payload.eq(outside.rx.payload),
                inside.rx.valid.eq(outside.rx.valid),
                outside.tx.payload.eq(inside.tx.payload),
                outside.tx.valid.eq(inside.tx.valid),
                inside.tx.ready.eq(outside.tx.ready),
            ]
        with m.If(self._has("exchanged")):
            for outside, inside in (pins[0], inner[1]), (pins[1], inner[0]):
                m.d.comb += [
                    outside.tx.payload.eq(inside.tx.payload),
                    outside.tx.valid.eq(inside.tx.valid),
                    inside.tx.ready.eq(outside.tx.ready),
                ]
        self._break(m, inner[1], pins[1])
        return m

    def _has(self, name):
        return self.fault == FAULTS.index(name) + 1

    def _break(self, m, inside, outside):
        symbol = inside.tx.payload
        kind = Mux(
            self._has("start lost"),
            symbol == Control.START,
            Mux(self._has("ready lost"), symbol == Control.READY, ~symbol[8]),
        )
        count = Signal(range(_EVERY))
        hit, again = Signal(), Signal()
        taken = inside.tx.valid & inside.tx.ready
        m.d.comb += hit.eq(kind & (count == _EVERY - 1) & inside.tx.valid)
        with m.If(taken & kind):
            m.d.sync += count.eq(count + 1)
        with m.If(self._has("flipped") & hit):
            m.d.comb += outside.tx.payload.eq(symbol ^ 0x10)
        with m.If((self._has("lost") | self._has("start lost") | self._has("ready lost")) & hit):
            m.d.comb += [outside.tx.valid.eq(0), inside.tx.ready.eq(1)]
        with m.If(self._has("doubled") & hit & ~again):
            m.d.comb += inside.tx.ready.eq(0)
            m.d.sync += again.eq(outside.tx.ready)
        with m.Elif(outside.tx.ready):
            m.d.sync += again.eq(0)
        with m.If(self._has("dead")):
            m.d.comb += [outside.tx.valid.eq(0), inside.tx.ready.eq(0)]
