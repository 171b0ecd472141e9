"""The CPU's window on the VME bus: an access of the CPU becomes a single transfer.

Source: "The Design of Nectar" (1989), section 6.2.2 (messages in CAB-accessible VME memory); the window is ours.
"""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..access import WINDOW_BITS, WindowPort
from ..registers import RegisterPort
from .master import MasterPort
from .registers import VME_REG

__all__ = ["Window"]


class Window(wiring.Component):
    """Makes transfers of what the CPU asks.

    Members
    -------
    window : In(WindowPort())
    port : Out(MasterPort())
    vme_window : In(RegisterPort)
        Its register.

    Timing
    ------
    A byte, an aligned halfword or a word is one transfer; other sets of bytes, and a modifier of block transfers, are
    an error in the first cycle.
    """

    window: In(WindowPort())
    port: Out(MasterPort())
    vme_window: In(RegisterPort(VME_REG["VME_WINDOW"]))

    def elaborate(self, platform):
        """Which bytes, then one transfer."""
        m = Module()
        window, port = self.window, self.port
        modifier = Signal(6)
        page = Signal(32 - WINDOW_BITS)
        m.d.comb += [self.vme_window.value.modifier.eq(modifier), self.vme_window.value.page.eq(page)]
        with m.If(self.vme_window.write):
            m.d.sync += [modifier.eq(self.vme_window.data.modifier), page.eq(self.vme_window.data.page)]

        lane = Signal(2)
        possible = Signal()
        taken = Signal()
        with m.Switch(window.select):
            for select, size, first in (
                (0b1111, 2, 0),
                (0b1100, 1, 0),
                (0b0011, 1, 2),
                (0b1000, 0, 0),
                (0b0100, 0, 1),
                (0b0010, 0, 2),
                (0b0001, 0, 3),
            ):
                with m.Case(select):
                    m.d.comb += [port.size.eq(size), lane.eq(first), possible.eq(modifier[:2] != 3)]
        m.d.comb += [
            port.valid.eq(window.valid & possible & ~taken),
            port.first.eq(1),
            port.last.eq(1),
            port.write.eq(window.write),
            port.am.eq(modifier),
            port.address.eq(Cat(lane, window.address[2:], page)),
            port.data.eq(window.write_data),
            window.done.eq(window.valid & (~possible | (taken & port.done))),
            window.error.eq(~possible | port.berr | port.timeout),
            window.read_data.eq(port.read_data),
        ]
        with m.If(port.valid & port.ready):
            m.d.sync += taken.eq(1)
        with m.Elif(port.done):
            m.d.sync += taken.eq(0)
        return m
