"""Two who want the same port: the master's, or the one to the address map.

Source: ours.
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..access import AccessPort
from .master import MasterPort

__all__ = ["ShareAccess", "ShareMaster"]


def _asked(signature):
    return [name for name, member in signature.members.items() if member.flow == Out and name not in ("valid", "lock")]


def _told(signature):
    return [name for name, member in signature.members.items() if member.flow == In and name not in ("ready", "done")]


class ShareMaster(wiring.Component):
    """The DMA channel and the CPU's window share the bus master, cycle by cycle of the bus.

    Members
    -------
    a, b : In(MasterPort())
    port : Out(MasterPort())

    Timing
    ------
    Nothing is delayed. Who has not had the last cycle goes first.
    """

    a: In(MasterPort())
    b: In(MasterPort())
    port: Out(MasterPort())

    def elaborate(self, platform):
        """A turn lasts from a first transfer that is taken to the end of the cycle."""
        m = Module()
        port = self.port
        turn, held, chosen = (Signal(name=name) for name in ("turn", "held", "chosen"))
        last = Signal()
        m.d.comb += chosen.eq(Mux(held, turn, Mux(turn, ~self.a.valid, self.b.valid)))
        for number, asker in enumerate((self.a, self.b)):
            with m.If(chosen == number):
                m.d.comb += [
                    *(getattr(port, name).eq(getattr(asker, name)) for name in _asked(MasterPort())),
                    port.valid.eq(asker.valid),
                    asker.ready.eq(port.ready),
                ]
            m.d.comb += [
                *(getattr(asker, name).eq(getattr(port, name)) for name in _told(MasterPort())),
                asker.done.eq(port.done & held & (turn == number)),
            ]
        flying = Signal()
        with m.If(port.done):
            m.d.sync += flying.eq(0)
        with m.If((port.done & (last | port.berr | port.timeout)) | (held & ~flying & port.finish & ~port.valid)):
            m.d.sync += held.eq(0)
        with m.If(port.valid & port.ready):
            m.d.sync += [held.eq(1), turn.eq(chosen), last.eq(port.last), flying.eq(1)]
        return m


class ShareAccess(wiring.Component):
    """The VME slave and the synchronous host port share the way to the address map.

    Members
    -------
    a, b : In(AccessPort())
    port : Out(AccessPort())

    Timing
    ------
    Nothing is delayed while one alone wants it; one access at a time else. While one holds its lock the other waits.
    Who has not had the last access goes first.
    """

    a: In(AccessPort())
    b: In(AccessPort())
    port: Out(AccessPort())

    def elaborate(self, platform):
        """A choice stays until the access is taken; the next one is made when it is done and nothing is locked."""
        m = Module()
        port = self.port
        turn, busy, stays, chosen = (Signal(name=name) for name in ("turn", "busy", "stays", "chosen"))
        locked = Signal()
        m.d.comb += [
            locked.eq(Mux(turn, self.b.lock, self.a.lock) & stays),
            chosen.eq(Mux(busy | locked, turn, Mux(turn, ~self.a.valid, self.b.valid))),
        ]
        for number, asker in enumerate((self.a, self.b)):
            with m.If(chosen == number):
                m.d.comb += [
                    *(getattr(port, name).eq(getattr(asker, name)) for name in _asked(AccessPort())),
                    port.valid.eq(asker.valid),
                    port.lock.eq(asker.lock),
                    asker.ready.eq(port.ready),
                ]
            m.d.comb += [
                *(getattr(asker, name).eq(getattr(port, name)) for name in _told(AccessPort())),
                asker.done.eq(port.done & (turn == number)),
            ]
        with m.If(port.done):
            m.d.sync += busy.eq(0)
        with m.If(stays & ~locked & ~busy):
            m.d.sync += stays.eq(0)
        with m.If(port.valid):
            m.d.sync += [busy.eq(1), turn.eq(chosen), stays.eq(1)]
        return m
