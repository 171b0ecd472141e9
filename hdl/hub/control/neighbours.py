"""Hellos of the neighbours of the HUB's ports.

Source: ours (``docs/hub.md``, "Neighbours").
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import memory
from amaranth.lib.wiring import In, Out

from ..commands import KIND_UNKNOWN
from ..messages import index_bits
from ..part import HubPart
from ..reply_bus import HelloWrite

__all__ = ["Neighbours"]


class Neighbours(HubPart):
    """Table of the last hello at each port.

    Members
    -------
    hello : In(HelloWrite(ports))
        A hello.
    index : In(range(ports))
        The port that is looked up.
    id, kind : Out(8), Out(8)
        ID and kind of its neighbour; 0 and KIND_UNKNOWN if there has been no hello.
    forget : In(1)
        The neighbour of this port is forgotten in the next cycle. A hello whose kind comes in the same cycle or later
        is kept.

    Timing
    ------
    ``id`` and ``kind`` follow ``index`` in the same cycle. A hello shows in the cycle after its kind. ``forget`` shows
    two cycles later.
    """

    def members(self):
        ports, bits = self.ports, index_bits(self.ports)
        return {"hello": In(HelloWrite(ports)), "index": In(bits), "forget": In(1), "id": Out(8), "kind": Out(8)}

    def elaborate(self, platform):
        m = Module()
        known = Signal(self.ports)

        def remembered(write):
            """The byte that was last written for the port that is looked up."""
            storage = memory.Memory(shape=8, depth=self.ports, init=[])
            write_port, read_port = storage.write_port(), storage.read_port(domain="comb")
            m.d.comb += [
                write_port.addr.eq(self.hello.index),
                write_port.data.eq(self.hello.byte),
                write_port.en.eq(write),
                read_port.addr.eq(self.index),
            ]
            return storage, read_port.data

        m.submodules.ids, last_id = remembered(self.hello.id)
        m.submodules.kinds, last_kind = remembered(self.hello.kind)
        shown = known.bit_select(self.index, 1)
        m.d.comb += [
            self.id.eq(Mux(shown, last_id, 0)),
            self.kind.eq(Mux(shown, last_kind, KIND_UNKNOWN)),
        ]
        forgotten = Signal(self.ports)
        heard = Signal(self.ports)
        m.d.comb += heard.eq(Mux(self.hello.kind, 1 << self.hello.index, 0))
        m.d.sync += [
            forgotten.eq(Mux(self.forget, 1 << self.index, 0) & ~heard),
            known.eq(known & ~forgotten | heard),
        ]
        return m
