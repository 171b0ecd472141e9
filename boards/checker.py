"""Looks at all that comes out of a port of a HUB in a self-test.

Source: ours.
"""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..hdl.hub.commands import Op
from ..hdl.link.symbol import ANY_HUB, SYMBOL_BITS, Control
from .pattern import LENGTH, Pattern

__all__ = ["Checker"]


class Checker(wiring.Component):
    """A sink of what the generators of all other ports send.

    Right is: packets of other ports, whole, with the bytes of ``pattern``, each source's in the order of their numbers,
    none missing, with a *close all* behind; and ``ready``, between any two symbols.

    Parameters
    ----------
    port, ports : int
        Which port of how many it is at.
    patience : int
        A source may be silent for 2**patience cycles.

    Members
    -------
    symbol.payload, symbol.valid : In(9), In(1)
        What leaves the port, in the cycle in which it is taken.
    answer : Out(1)
        The start of a packet has come.
    released : Out(1)
        A ``ready`` has come.
    wrong : Out(1)
        What has come is not right, or nothing has come for too long. One cycle each time.
    good : Out(8)
        Whole packets, right in each byte; stops at 255.

    Timing
    ------
    ``answer`` and ``released`` in the cycle behind the symbol's; ``wrong`` and ``good`` one later. Behind something
    wrong, what follows may be called wrong, too.

    Raises
    ------
    ValueError
        If there is no such port.
    """

    def __init__(self, port, ports, patience=20):
        if not 0 <= port < ports:
            raise ValueError(f"a HUB of {ports} ports has no port {port}")
        self.port = port
        self.ports = ports
        self.patience = patience
        super().__init__(
            {
                "symbol": In(wiring.Signature({"payload": Out(SYMBOL_BITS), "valid": Out(1)})),
                "answer": Out(1),
                "released": Out(1),
                "wrong": Out(1),
                "good": Out(8),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.pattern = pattern = Pattern()
        symbol, valid = Signal(SYMBOL_BITS), Signal()
        ready = self.symbol.payload == Control.READY
        m.d.sync += [
            self.released.eq(self.symbol.valid & ready),
            self.answer.eq(self.symbol.valid & (self.symbol.payload == Control.START)),
            symbol.eq(self.symbol.payload),
            valid.eq(self.symbol.valid & ~ready & (self.symbol.payload != Control.IDLE)),
        ]

        # The number that each source's next packet must have.
        numbers = Array(Signal(8, name=f"number_{port}") for port in range(self.ports))
        source, number = Signal(8), Signal(8)
        right = Signal()
        silence = Signal(self.patience)
        m.d.comb += [pattern.source.eq(source), pattern.number.eq(symbol[:8])]
        m.d.sync += [self.wrong.eq((valid & ~right) | silence.all()), silence.eq(silence + 1)]
        with m.If(valid | silence.all()):
            m.d.sync += silence.eq(0)

        place = Signal(range(LENGTH))
        last = (Control.END, Control.COMMAND, Op.CLOSE_ALL, ANY_HUB, 0)
        with m.If(valid):
            with m.FSM(name="expecting"):
                with m.State("START"):
                    m.d.comb += right.eq(symbol == Control.START)
                    with m.If(right):
                        m.next = "SOURCE"
                with m.State("SOURCE"):
                    m.d.comb += right.eq((symbol < self.ports) & (symbol != self.port))
                    m.d.sync += [source.eq(symbol), number.eq(numbers[symbol[:8]])]
                    m.next = "NUMBER"
                with m.State("NUMBER"):
                    m.d.comb += [right.eq(symbol == number), pattern.start.eq(1)]
                    m.d.sync += [numbers[source].eq(symbol[:8] + 1), place.eq(2)]
                    m.next = "DATA"
                with m.State("DATA"):
                    m.d.comb += [right.eq(symbol == pattern.byte), pattern.step.eq(1)]
                    m.d.sync += place.eq(place + 1)
                    with m.If(place == LENGTH - 1):
                        m.d.sync += place.eq(0)
                        m.next = "END"
                with m.State("END"):
                    m.d.comb += right.eq(symbol == Array(last)[place])
                    m.d.sync += place.eq(place + 1)
                    with m.If(place == len(last) - 1):
                        with m.If(~self.good.all()):
                            m.d.sync += self.good.eq(self.good + 1)
                        m.next = "START"
        return m
