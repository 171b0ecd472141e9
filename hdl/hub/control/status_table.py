"""Status table: which input each output listens to.

The table is kept twice, as the paper's figure suggests. For each input it holds the mask of the outputs, which the
crossbar and the commands obey. For each output it holds the number of the input: for replies, for questions, and for
the selectors of a crossbar that is not ``late``.

Source: "The Design of Nectar" (1989), section 4.1.
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ..messages import index_bits
from ..part import HubPart

__all__ = ["StatusTable"]


class StatusTable(HubPart):
    """The connections of a HUB.

    Members
    -------
    named : In(ports).array(ports)
        For each input: the output that its command names, one-hot; 0 if there is none.
    enter : In(ports)
        Inputs whose connection to the named output is entered. The output must be free and not the input's own port.
    entered_input : In(index)
        The input of the connection that is entered in this cycle, as a number.
    close_one : In(ports)
        Inputs whose connection to the named output ends, if there is one.
    close_mine : In(ports)
        Inputs all of whose connections end.
    closed : In(ports)
        Outputs whose connection ends.
    mine : Out(ports)
        Inputs to which the named output is connected.
    targets : Out(ports).array(ports)
        For each input: the mask of the outputs connected to it.
    connected, owner : Out(ports), Out(index).array(ports)
        ``connected``: outputs that are in use. ``owner``: for each of them the number of its input; for the others the
        number of the last input.
    ended : Out(ports)
        Outputs that were in use in the cycle before and are not in use any more.

    Timing
    ------
    A connection that is entered in cycle t shows in ``targets``, ``connected`` and ``owner`` in cycle t + 1. A
    connection that is closed in cycle t has left ``targets`` in t + 1 and ``connected`` in t + 2. Closing wins over
    entering. ``mine`` belongs to ``named`` in the same cycle.
    """

    def members(self):
        ports, bits = self.ports, index_bits(self.ports)
        return {
            "named": In(ports).array(ports),
            "enter": In(ports),
            "entered_input": In(bits),
            "close_one": In(ports),
            "close_mine": In(ports),
            "closed": In(ports),
            "mine": Out(ports),
            "targets": Out(ports).array(ports),
            "connected": Out(ports),
            "owner": Out(bits).array(ports),
            "ended": Out(ports),
        }

    def elaborate(self, platform):
        m = Module()
        ports = range(self.ports)

        entered = Signal(self.ports)
        entries = []
        for i, place in enumerate(self.named):
            # An OR of LUTs with two outputs each. Synthesis alone makes a chain, which is latest with 16 ports, since
            # the head looks in the same cycle at a command that closes.
            pairs = [Signal(name=f"mine_{i}_{o}", attrs={"keep": 1}) for o in ports[::2]]
            m.d.comb += [
                *(pair.eq((self.targets[i] & place)[2 * n : 2 * n + 2].any()) for n, pair in enumerate(pairs)),
                self.mine[i].eq(Cat(pairs).any()),
            ]
            entries.append(Mux(self.enter[i], place & ~(1 << i), 0))
            # What the input does has two bits, so a connection is one LUT and a reset. Synthesis alone
            # makes it two: with 16 ports 949 LUTs instead of 753.
            closes, all_or_enters = (
                Signal(name=f"{name}_{i}", attrs={"keep": 1}) for name in ("closes", "all_or_enters")
            )
            m.d.comb += [
                closes.eq(self.close_one[i] | self.close_mine[i]),
                all_or_enters.eq(self.close_mine[i] | self.enter[i] & ~self.close_one[i]),
            ]
            for o in ports:
                if o != i:
                    listens = self.targets[i][o]
                    m.d.sync += listens.eq(
                        Mux(closes, listens & ~(place[o] | all_or_enters), listens | place[o] & all_or_enters)
                    )
                    with m.If(self.closed[o]):
                        m.d.sync += listens.eq(0)

        in_use = Signal(self.ports)
        m.d.comb += [
            in_use.eq(reduce(or_, self.targets)),
            entered.eq(reduce(or_, entries)),
            self.ended.eq(self.connected & ~in_use),
        ]
        m.d.sync += self.connected.eq(in_use | entered)
        for o in ports:
            with m.If(entered[o]):
                m.d.sync += self.owner[o].eq(self.entered_input)

        if platform == "formal":
            for o in ports:
                listens = Signal(self.ports, name=f"listens_{o}")
                m.d.comb += [
                    listens.eq(sum(self.targets[i][o] << i for i in ports)),
                    Assert((listens & (listens - 1))[: self.ports] == 0, "an output listens to one input at most"),
                    Assert(~self.targets[o][o], "no output listens to the input of its own port"),
                ]
        return m
