"""Crossbar: brings each input's symbol to the outputs that listen to this input.

Source: "The Design of Nectar" (1989), section 4.1.
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .messages import CrossbarBeat, check_ports, index_bits

__all__ = ["Crossbar"]


class Crossbar(wiring.Component):
    """Selectors without registers, and whether the outputs of an input can take a symbol.

    Parameters
    ----------
    ports : int
        Ports of the HUB.
    early : bool
        A symbol may come in the first cycle in which ``targets`` shows its connection, not only in the second.
        Selectors then obey the masks (``targets``), which is quick on an FPGA. Otherwise they obey the numbers
        (``owner``), which is quick in a simulator.

    Members
    -------
    beat, move : In(CrossbarBeat).array(ports), In(ports)
        For each input: its symbol, and that the symbol goes to all outputs connected in this cycle.
    targets, owner : as in StatusTable
        The status table. No input is connected to the output of its own port.
    space : In(ports)
        Outputs that can take a symbol.
    listened, blocked : Out(ports), Out(ports)
        Inputs to which outputs listen; inputs one of whose outputs cannot take a symbol.
    out, push : Out(CrossbarBeat).array(ports), Out(ports)
        For each output: the symbol of its input, and that the symbol comes in this cycle.

    Timing
    ------
    Combinational.

    Raises
    ------
    TypeError, ValueError
        If ``ports`` is not an int from 2 to 128.
    """

    def __init__(self, ports, early=False):
        check_ports(ports)
        self.ports = ports
        self.early = early
        super().__init__(
            {
                "beat": In(CrossbarBeat).array(ports),
                "move": In(ports),
                "targets": In(ports).array(ports),
                "owner": In(index_bits(ports)).array(ports),
                "space": In(ports),
                "listened": Out(ports),
                "blocked": Out(ports),
                "out": Out(CrossbarBeat).array(ports),
                "push": Out(ports),
            }
        )

    def elaborate(self, platform):
        m = Module()
        ports = range(self.ports)
        beats = [beat.as_value() for beat in self.beat]
        outputs = [self.targets[i] & ~(1 << i) for i in ports]
        m.d.comb += [
            self.push.eq(reduce(or_, (Mux(self.move[i], outputs[i], 0) for i in ports))),
            self.listened.eq(Cat(mask.any() for mask in outputs)),
            self.blocked.eq(Cat((mask & ~self.space).any() for mask in outputs)),
        ]
        for o in ports:
            others = [i for i in ports if i != o]
            if self.early:
                # Each LUT takes two inputs. The pairs are kept: where timing is easy, a synthesis would save a few LUTs
                # by longer chains.
                pairs = []
                for n in range(0, len(others), 2):
                    pair = Signal(len(beats[0]), name=f"pair_{o}_{n // 2}", attrs={"keep": 1})
                    m.d.comb += pair.eq(
                        reduce(or_, (beats[i] & self.targets[i][o].replicate(len(pair)) for i in others[n : n + 2]))
                    )
                    pairs.append(pair)
                m.d.comb += self.out[o].eq(reduce(or_, pairs))
                continue
            with m.Switch(self.owner[o]):
                for i in others[:-1]:
                    with m.Case(i):
                        m.d.comb += self.out[o].eq(beats[i])
                with m.Default():
                    m.d.comb += self.out[o].eq(beats[others[-1]])
        return m
