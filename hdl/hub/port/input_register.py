"""Input register of a port: a symbol from the fiber, or in loop back from the port's own output, and its kind.

Source: "The Design of Nectar" (1989), section 4.1. The kind of a symbol is decoded in front of the register, where
there is time for it.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...link.symbol import SYMBOL_BITS, Control

__all__ = ["SymbolKind", "InputRegister"]


class SymbolKind(data.Struct):
    """Kind of a symbol. At most one bit is set; none if no symbol or an idle arrives."""

    byte: 1
    frame: 1  # a start or an end of packet
    command: 1
    reply: 1
    ready: 1
    reserved: 1
    refused: 1  # a start, command or reply at a disabled port; such a port has no other kind


#: Kinds of control codes, and the codes that are refused at a disabled port.
_HEARD = {
    "frame": (Control.START, Control.END),
    "command": (Control.COMMAND,),
    "reply": (Control.REPLY,),
    "ready": (Control.READY,),
}
_REFUSED = (Control.START, Control.COMMAND, Control.REPLY)


def _kind(symbol, low, heard, shut):
    """The kind of a ``symbol``, as the bits of a SymbolKind, if it is there at a port that is in use: ``heard``; or at
    one that is not: ``shut``. ``low``: its bits 7:4 are 0."""
    # A control code that is not reserved has a number below 8.
    known = low & ~symbol[3]

    def among(codes):
        return Cat(symbol[:3] == code & 7 for code in codes).any()

    return Cat(
        heard & ~symbol[8],
        *(heard & symbol[8] & known & among(codes) for codes in _HEARD.values()),
        heard & symbol[8] & ~(known & among(Control)),
        shut & symbol[8] & known & among(_REFUSED),
    )


class InputRegister(wiring.Component):
    """Registers each symbol that arrives.

    Members
    -------
    rx_payload, rx_valid : In(9), In(1)
        The pins.
    looped, loop_symbol, loop_valid : In(1), In(9), In(1)
        In loop back, the symbol that leaves the port arrives instead of the symbol at the pins.
    enabled : In(1)
        The port is in use.
    coming : Out(9)
        The symbol that arrives, if one arrives.
    symbol, kind : Out(9), Out(SymbolKind)
        The symbol that arrived in the cycle before.
    valid : Out(1)
        A symbol arrived in the cycle before; an idle counts, too.

    Timing
    ------
    One cycle. ``symbol`` means nothing while no bit of ``kind`` is set.
    """

    def __init__(self):
        super().__init__(
            {
                "rx_payload": In(SYMBOL_BITS),
                "rx_valid": In(1),
                "looped": In(1),
                "loop_symbol": In(SYMBOL_BITS),
                "loop_valid": In(1),
                "enabled": In(1),
                "coming": Out(SYMBOL_BITS),
                "symbol": Out(SYMBOL_BITS),
                "kind": Out(SymbolKind),
                "valid": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        symbol = self.coming
        valid = Signal()
        # A symbol in loop back is known late in a cycle, whether the port is in use early.
        heard = Signal()
        shut = Signal()
        low = Signal(attrs={"keep": 1})
        held = Signal(SYMBOL_BITS, reset_less=True)
        m.d.comb += [
            symbol.eq(Mux(self.looped, self.loop_symbol, self.rx_payload)),
            valid.eq(Mux(self.looped, self.loop_valid, self.rx_valid)),
            heard.eq(valid & self.enabled),
            shut.eq(valid & ~self.enabled),
            low.eq(~symbol[4:8].any()),
            self.symbol.eq(held),
        ]
        m.d.sync += [held.eq(symbol), self.valid.eq(valid), self.kind.eq(_kind(symbol, low, heard, shut))]
        return m
