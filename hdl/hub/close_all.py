"""Detector of *close all* in a stream of symbols.

One stands at each head, which must not let anything follow a close all, and one at each output register, which closes
its connection behind it.

Source: "The Design of Nectar" (1989), section 4.2.1 ("the close all command is recognized at the output register").
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..link.symbol import SYMBOL_BITS, Control
from .commands import Op

__all__ = ["CloseAllDetector"]


class CloseAllDetector(wiring.Component):
    """Follows the commands in a stream.

    Members
    -------
    symbol, strobe : In(9), In(1)
        A symbol of the stream. Commands in it are complete.
    command : Out(1)
        This symbol is a command's control code; the next one is its opcode.
    inside : Out(1)
        This symbol is the opcode of a close all or stands behind it.
    last : Out(1)
        This symbol is the last of a close all.

    Timing
    ------
    All outputs belong to the symbol of the same cycle and mean nothing without ``strobe``, save ``last``, which includes it.
    """

    def __init__(self):
        super().__init__({"symbol": In(SYMBOL_BITS), "strobe": In(1),
                          "command": Out(1), "inside": Out(1), "last": Out(1)})

    def elaborate(self, platform):
        m = Module()
        with m.FSM(name="place"):
            with m.State("OUTSIDE"):
                m.d.comb += self.command.eq(self.symbol == Control.COMMAND)
                with m.If(self.strobe & self.command):
                    m.next = "OPCODE"
            with m.State("OPCODE"):
                m.d.comb += self.inside.eq(self.symbol == Op.CLOSE_ALL)
                with m.If(self.strobe):
                    with m.If(self.inside):
                        m.next = "HUB"
                    with m.Else():
                        m.next = "OUTSIDE"
            with m.State("HUB"):
                m.d.comb += self.inside.eq(1)
                with m.If(self.strobe):
                    m.next = "PARAM"
            with m.State("PARAM"):
                m.d.comb += [self.inside.eq(1), self.last.eq(self.strobe)]
                with m.If(self.strobe):
                    m.next = "OUTSIDE"
        return m
