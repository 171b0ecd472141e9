"""Status table: which input each output listens to.

The table is kept twice, as the paper's figure suggests: per input, the mask of its outputs, which decides what happens; and,
a cycle later, per output the number of its input, for the replies and for questions.

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
    port : In(index).array(ports)
        For each input the output that its command names.
    enter : In(ports)
        Inputs whose connection to the output that they name is entered. The output is free, and stays named for one cycle more.
    entered_input, entered_output : In(index), In(ports)
        The connection that was entered in the cycle before: its input as a number, its output one-hot; all 0 if there was none.
    close_one : In(ports)
        Inputs whose connection to the output that they name ends, if there is one.
    close_mine : In(ports)
        Inputs all of whose connections end.
    closed : In(ports)
        Outputs whose connection ends.
    named : Out(ports).array(ports)
        For each input the output that it names, one-hot; 0 if there is no such port.
    mine : Out(ports)
        Inputs that name an output which is connected to them.
    targets : Out(ports).array(ports)
        For each input the mask of the outputs connected to it.
    connected, owner : Out(ports), Out(index).array(ports)
        Outputs that are in use, and for each of them the number of its input, as ``targets`` were in the cycle before.
    ended : Out(ports)
        Outputs that were in use in the cycle before and are no longer.

    Timing
    ------
    What is entered or closed in cycle t shows in ``targets`` in cycle t + 1, in ``connected`` and ``owner`` in t + 2. Closing wins over entering.
    ``named`` and ``mine`` belong to ``port`` in the same cycle.

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
            "port": In(bits).array(ports), "enter": In(ports), "entered_input": In(bits), "entered_output": In(ports),
            "close_one": In(ports), "close_mine": In(ports), "closed": In(ports),
            "named": Out(ports).array(ports), "mine": Out(ports), "targets": Out(ports).array(ports),
            "connected": Out(ports), "owner": Out(bits).array(ports), "ended": Out(ports),
        })

    def elaborate(self, platform):
        m = Module()
        ports = range(self.ports)

        changes = Signal(self.ports)  # the bit that an input names changes
        m.d.comb += changes.eq(self.enter | (self.close_one & self.mine))
        for i in ports:
            change = Signal(self.ports, name=f"change_{i}")
            with m.If(changes[i]):
                m.d.comb += change.eq(self.named[i])
            m.d.comb += [
                self.named[i].eq(1 << self.port[i]),
                self.mine[i].eq((self.targets[i] & self.named[i]).any()),
            ]
            m.d.sync += self.targets[i].eq((self.targets[i] ^ change) & ~self.closed)
            with m.If(self.close_mine[i]):
                m.d.sync += self.targets[i].eq(0)

        in_use = Signal(self.ports)
        m.d.comb += [
            in_use.eq(reduce(or_, self.targets)),
            self.ended.eq(self.connected & ~in_use),
        ]
        m.d.sync += self.connected.eq(in_use)
        for o in ports:
            with m.If(self.entered_output[o]):
                m.d.sync += self.owner[o].eq(self.entered_input)

        if platform == "formal":
            for o in ports:
                listens = Signal(self.ports, name=f"listens_{o}")
                m.d.comb += [
                    listens.eq(sum(self.targets[i][o] << i for i in ports)),
                    Assert((listens & (listens - 1))[:self.ports] == 0, "an output listens to one input at most"),
                ]
        return m
