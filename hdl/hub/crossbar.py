"""Crossbar: takes each input's symbol to the outputs that listen to it.

Source: "The Design of Nectar" (1989), section 4.1.
"""

from amaranth.hdl import Array, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .messages import Passage, check_ports, index_bits

__all__ = ["Crossbar"]


class Crossbar(wiring.Component):
    """Selectors without registers; the register behind the crossbar is in the output port.

    Parameters
    ----------
    ports : int
        Ports of the HUB.

    Members
    -------
    passage, move : In(Passage).array(ports), In(ports)
        For each input what it sends, and that it goes to all outputs connected in this cycle.
    connected, owner : In(ports), In(index).array(ports)
        The status table.
    out, push : Out(Passage).array(ports), Out(ports)
        For each output what its input sends, and that it comes in this cycle.

    Timing
    ------
    Combinational.

    Raises
    ------
    TypeError, ValueError
        If ``ports`` is not an int from 2 to 128.
    """

    def __init__(self, ports):
        check_ports(ports)
        self.ports = ports
        super().__init__({
            "passage": In(Passage).array(ports), "move": In(ports),
            "connected": In(ports), "owner": In(index_bits(ports)).array(ports),
            "out": Out(Passage).array(ports), "push": Out(ports),
        })

    def elaborate(self, platform):
        m = Module()
        passages = Array([passage.as_value() for passage in self.passage])
        for o in range(self.ports):
            m.d.comb += [
                self.out[o].eq(passages[self.owner[o]]),
                self.push[o].eq(self.connected[o] & self.move.bit_select(self.owner[o], 1)),
            ]
        return m
