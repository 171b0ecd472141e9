"""Crossbar: takes each input's symbol to the outputs that listen to it.

Source: "The Design of Nectar" (1989), section 4.1.
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Array, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..link.symbol import SYMBOL_BITS
from .messages import check_ports, index_bits

__all__ = ["Crossbar"]


class Crossbar(wiring.Component):
    """Selectors without registers; the register behind the crossbar is in the output port.

    Parameters
    ----------
    ports : int
        Ports of the HUB.

    Members
    -------
    symbol, move : In(9).array(ports), In(ports)
        For each input its symbol, and that it goes to all outputs connected.
    targets, owner : In(ports).array(ports), In(index).array(ports)
        The status table.
    out_symbol, push : Out(9).array(ports), Out(ports)
        For each output the symbol of its input, and that it comes in this cycle.
    """

    def __init__(self, ports):
        check_ports(ports)
        self.ports = ports
        super().__init__({
            "symbol": In(SYMBOL_BITS).array(ports), "move": In(ports),
            "targets": In(ports).array(ports), "owner": In(index_bits(ports)).array(ports),
            "out_symbol": Out(SYMBOL_BITS).array(ports), "push": Out(ports),
        })

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.push.eq(reduce(or_, (Mux(self.move[i], self.targets[i], 0) for i in range(self.ports))))
        for o in range(self.ports):
            m.d.comb += self.out_symbol[o].eq(Array(self.symbol)[self.owner[o]])
        return m
