"""Detector of *close all* in a stream of symbols.

It stands at each head, which must not let anything follow a close all. The last symbol of a close all is marked on its
way through the crossbar, so that the output registers recognise it as it leaves.

Source: "The Design of Nectar" (1989), section 4.2.1.
"""

from types import SimpleNamespace

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..link.symbol import COMMAND_LENGTH, SYMBOL_BITS
from .commands import Op
from .entry import is_command

__all__ = ["CloseAllDetector"]


class CloseAllDetector(wiring.Component):
    """Follows the commands in a stream.

    Members
    -------
    symbol, strobe : In(9), In(1)
        A symbol of the stream. Commands in it are complete.
    command : Out(1)
        This symbol is a command's control code; the next one is its opcode.
    forget : In(1)
        What follows in the stream is thrown away: the next symbol begins something new.
    inside : Out(1)
        This symbol is the opcode of a close all or stands behind it.
    last : Out(1)
        This symbol is the last of a close all.

    Timing
    ------
    All outputs belong to the symbol of the same cycle and mean nothing without ``strobe``. ``last`` depends on what went before only.
    """

    def __init__(self):
        super().__init__({"symbol": In(SYMBOL_BITS), "strobe": In(1), "forget": In(1),
                          "command": Out(1), "inside": Out(1), "last": Out(1)})

    def elaborate(self, platform):
        m = Module()
        place = Signal(range(COMMAND_LENGTH))  # symbols of a close all, or of what may become one, that went before
        m.d.comb += [
            self.command.eq((place == 0) & is_command(self.symbol)),
            self.inside.eq(place[1] | ((place == 1) & (self.symbol == Op.CLOSE_ALL))),
            self.last.eq(place == COMMAND_LENGTH - 1),
        ]
        with m.If(self.strobe):
            with m.If(self.command | self.inside):
                m.d.sync += place.eq(place + 1)
            with m.Else():
                m.d.sync += place.eq(0)
        with m.If(self.forget):
            m.d.sync += place.eq(0)

        if platform == "formal":
            self.spy = SimpleNamespace(place=place)
        return m
