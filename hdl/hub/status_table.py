"""Status table: which input each output listens to.

The table is kept twice, as the paper's figure suggests: per output, the number of its input, for the crossbar and the
replies; per input, the mask of its outputs, for the head that must wait until all of them can take a symbol.

Source: "The Design of Nectar" (1989), section 4.1.
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .messages import check_ports, index_bits

__all__ = ["StatusTable"]


class StatusTable(wiring.Component):
    """The connections of a HUB.

    Parameters
    ----------
    ports : int
        Ports of the HUB.

    Members
    -------
    grant_input, grant_index, grant_output : In(ports), In(index), In(ports)
        A connection to enter: its input, one-hot and as a number, and its output, one-hot; all 0 if there is none. The output
        is free or belongs to this input already.
    close : In(ports).array(ports)
        For each input the connections that it closes itself.
    closed : In(ports)
        Outputs whose connection ends.
    targets : Out(ports).array(ports)
        For each input the mask of the outputs connected to it.
    connected : Out(ports)
        Outputs that are in use.
    owner : Out(index).array(ports)
        For each output in use the number of its input.

    Timing
    ------
    What is entered or closed in cycle t shows in cycle t + 1. Closing wins over a grant.

    Raises
    ------
    TypeError, ValueError
        If ``ports`` is not an int from 2 to 128.
    """

    def __init__(self, ports):
        check_ports(ports)
        self.ports = ports
        bits = index_bits(ports)
        super().__init__({
            "grant_input": In(ports), "grant_index": In(bits), "grant_output": In(ports),
            "close": In(ports).array(ports), "closed": In(ports),
            "targets": Out(ports).array(ports), "connected": Out(ports), "owner": Out(bits).array(ports),
        })

    def elaborate(self, platform):
        m = Module()
        ports = range(self.ports)

        released = Signal(self.ports)
        m.d.comb += released.eq(self.closed | reduce(or_, self.close))
        m.d.sync += self.connected.eq((self.connected | self.grant_output) & ~released)
        for i in ports:
            granted = Signal(self.ports, name=f"granted_{i}")
            with m.If(self.grant_input[i]):
                m.d.comb += granted.eq(self.grant_output)
            m.d.sync += self.targets[i].eq((self.targets[i] | granted) & ~released)
        for o in ports:
            with m.If(self.grant_output[o]):
                m.d.sync += self.owner[o].eq(self.grant_index)

        if platform == "formal":
            for o in ports:
                listens = Signal(self.ports, name=f"listens_{o}")
                m.d.comb += [
                    listens.eq(sum(self.targets[i][o] << i for i in ports)),
                    Assert(listens == (self.connected[o] << self.owner[o]), "both sides of the table agree"),
                ]
        return m
