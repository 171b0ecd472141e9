"""The pins that every port of every board has: a symbol in, a symbol out.

Source: "The Design of Nectar" (1989), section 3.1: ports to CABs and to HUBs are identical. ``docs/wire.md``
specifies the pins.
"""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .symbol import SYMBOL_BITS

__all__ = ["FiberPort"]


class FiberPort(wiring.Signature):
    """A board's side of a pair of fibers.

    Members
    -------
    rx.payload : In(9)
        Symbol that arrives.
    rx.valid : In(1)
        A symbol arrives in this cycle; it cannot be refused.
    tx.payload : Out(9)
        Symbol to send; holds from ``tx.valid`` until it is taken.
    tx.valid : Out(1)
        There is a symbol to send.
    tx.ready : In(1)
        The fiber takes the symbol in a cycle in which ``tx.valid`` is 1 too.
    """

    def __init__(self):
        super().__init__(
            {
                "rx": In(wiring.Signature({"payload": Out(SYMBOL_BITS), "valid": Out(1)})),
                "tx": Out(wiring.Signature({"payload": Out(SYMBOL_BITS), "valid": Out(1), "ready": In(1)})),
            }
        )
