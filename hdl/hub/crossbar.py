"""Crossbar: brings each input's symbol to the outputs that listen to this input.

Source: "The Design of Nectar" (1989), section 4.1.
"""

from functools import reduce
from operator import or_
from types import SimpleNamespace

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from .messages import CrossbarBeat, index_bits
from .part import HubPart

__all__ = ["Crossbar"]


class Crossbar(HubPart):
    """Selectors, and whether the outputs of an input can take a symbol.

    Parameters
    ----------
    ports : int
        Ports of the HUB.
    late : bool
        ``blocked`` comes from registers, made of the table and ``space`` in the cycle before. Selectors then obey the
        masks (``targets``), which is quick on an FPGA. Otherwise they obey the numbers (``owner``), which is quick in a
        simulator.

    Members
    -------
    beat, move : In(CrossbarBeat).array(ports), In(ports)
        For each input: its symbol, and that the symbol goes to all its outputs.
    targets, owner : as in StatusTable
        The status table. No input is connected to the output of its own port.
    space : In(ports)
        Outputs that take a symbol; if ``late``, in the next cycle.
    enter, named : as in StatusTable
        Only if ``late``: the connection that is entered.
    listened, blocked, clear : Out(ports), Out(ports), Out(ports)
        Inputs to which outputs listen; inputs one of whose outputs takes no symbol, among these if ``late`` an output
        whose connection has ended in the cycle before; inputs that are not ``blocked``, if ``late`` from other
        registers.
    out, push : Out(CrossbarBeat).array(ports), Out(ports)
        For each output: the symbol of its input, 0 if it has none, and that the symbol comes in this cycle.

    Timing
    ------
    Combinational but for ``late``.
    """

    def __init__(self, ports, late=False):
        self.late = late
        super().__init__(ports)

    def members(self):
        ports = self.ports
        return {
            "beat": In(CrossbarBeat).array(ports),
            "move": In(ports),
            "targets": In(ports).array(ports),
            "owner": In(index_bits(ports)).array(ports),
            "space": In(ports),
            "enter": In(ports),
            "named": In(ports).array(ports),
            "listened": Out(ports),
            "blocked": Out(ports),
            "clear": Out(ports, init=(1 << ports) - 1),
            "out": Out(CrossbarBeat).array(ports),
            "push": Out(ports),
        }

    def elaborate(self, platform):
        m = Module()
        ports = range(self.ports)
        # The masks that the selectors obey, without an input's own port. Signals, since Amaranth writes an expression
        # again wherever it is used: with 128 ports 76 Mbyte of RTLIL instead of 10.
        masks = [Signal(self.ports, name=f"mask_{i}") for i in ports]
        m.d.comb += [mask.eq(self.targets[i] & ~(1 << i)) for i, mask in enumerate(masks)]
        domain = m.d.sync if self.late else m.d.comb
        for i, mask in enumerate(masks):
            blocks = (mask & ~self.space).any()
            if self.late:
                # A connection that has just ended may still block: whether it ends is known late in the cycle. So is
                # what is entered: the output is looked up apart from it.
                blocks |= self.enter[i] & (self.named[i] & ~self.space).any()
            m.d.comb += self.listened[i].eq(mask.any())
            domain += [self.blocked[i].eq(blocks), self.clear[i].eq(~blocks)]
        if not self.late:
            # An output that listens to no input is shown nothing: with the symbols of an input that it listened to once
            # it would change with each of them, which costs a simulator as much as an output that sends.
            listens = Signal(self.ports)
            m.d.comb += [
                listens.eq(reduce(or_, masks)),
                self.push.eq(reduce(or_, (Mux(self.move[i], masks[i], 0) for i in ports))),
            ]
        for o in ports:
            others = [i for i in ports if i != o]
            if self.late:
                # A LUT takes two inputs. Synthesis alone makes chains of LUTs, with one or two levels more.
                terms = [Mux(masks[i][o], Cat(self.beat[i], self.move[i]), 0) for i in others]
                pairs = [
                    Signal(len(terms[0]), name=f"pair_{o}_{n}", attrs={"keep": 1}) for n in range(0, len(terms), 2)
                ]
                m.d.comb += [pair.eq(reduce(or_, terms[2 * n : 2 * n + 2])) for n, pair in enumerate(pairs)]
                m.d.comb += Cat(self.out[o], self.push[o]).eq(reduce(or_, pairs))
                continue
            with m.If(listens[o]), m.Switch(self.owner[o]):
                for i in others[:-1]:
                    with m.Case(i):
                        m.d.comb += self.out[o].eq(self.beat[i])
                with m.Default():
                    m.d.comb += self.out[o].eq(self.beat[others[-1]])
        if platform == "formal":
            self.probes = SimpleNamespace(masks=masks)
        return m
