"""Sends packets from a port of a HUB to all others, in turns.

Source: ours; the commands are those of ``docs/hub.md``, packet switching ("The Design of Nectar" (1989), section
4.2.3)."""

from amaranth.hdl import Array, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..hdl.hub.commands import Op
from ..hdl.link.symbol import ANY_HUB, SYMBOL_BITS, Control
from .pattern import LENGTH, Pattern

__all__ = ["Generator"]


class Generator(wiring.Component):
    """A source of packets at one port of a HUB.

    Each packet is three things: *test open* of its target with retry, the packet of ``LENGTH`` bytes, *close all*. The
    next one begins when the HUB has told, by ``ready``, that the packet's start has left its input queue. Targets take
    turns; the number of a packet is that of the turn.

    Parameters
    ----------
    port, ports : int
        Which port of how many it is at.
    hub_id : int
        ID of the HUB.
    patience : int
        The HUB may be silent for 2**patience cycles.

    Members
    -------
    symbol.payload, symbol.valid : Out(9), Out(1)
        To the port's ``rx``.
    answer : In(1)
        A ``ready`` is owed to the HUB for a packet that has arrived here; sent in this very cycle, before all else.
    released : In(1)
        The HUB has sent ``ready``.
    stuck : Out(1)
        The HUB has not sent ``ready`` for 2**patience cycles.
    turns : Out(8)
        Packets to each of the others so far, modulo 256.

    Timing
    ------
    One symbol a cycle, but for the cycles of ``answer``.

    Raises
    ------
    ValueError
        If there is no such port.
    """

    def __init__(self, port, ports, hub_id=1, patience=20):
        if not 0 <= port < ports:
            raise ValueError(f"a HUB of {ports} ports has no port {port}")
        self.port = port
        self.ports = ports
        self.hub_id = hub_id
        self.patience = patience
        super().__init__(
            {
                "symbol": Out(wiring.Signature({"payload": Out(SYMBOL_BITS), "valid": Out(1)})),
                "answer": In(1),
                "released": In(1),
                "stuck": Out(1),
                "turns": Out(8),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.pattern = pattern = Pattern()
        target = Signal(range(self.ports), init=(self.port + 1) % self.ports)
        place = Signal(range(LENGTH))
        going, waited = Signal(), Signal(self.patience)
        m.d.comb += [
            pattern.source.eq(self.port),
            pattern.number.eq(self.turns),
            going.eq(~self.answer),
            self.symbol.valid.eq(1),
            self.symbol.payload.eq(Control.READY),
        ]

        def say(*symbols):
            """Sends symbols one by one; true in the cycle of the last."""
            with m.If(going):
                m.d.comb += self.symbol.payload.eq(
                    Array(Const(symbol, SYMBOL_BITS) if isinstance(symbol, int) else symbol for symbol in symbols)[
                        place
                    ]
                )
                m.d.sync += place.eq(Mux(place == len(symbols) - 1, 0, place + 1))
            return going & (place == len(symbols) - 1)

        released = Signal()  # since this packet's start was sent
        with m.If(self.released):
            m.d.sync += released.eq(1)
        with m.FSM(name="sending"):
            with m.State("OPEN"):
                with m.If(say(Control.COMMAND, Op.TEST_OPEN_RETRY, self.hub_id, target)):
                    m.next = "START"
            with m.State("START"):
                m.d.comb += pattern.start.eq(1)
                with m.If(say(Control.START, self.port, self.turns)):
                    m.d.sync += [place.eq(2), released.eq(0)]
                    m.next = "DATA"
            with m.State("DATA"):
                with m.If(going):
                    m.d.comb += [self.symbol.payload.eq(pattern.byte), pattern.step.eq(1)]
                    m.d.sync += place.eq(place + 1)
                    with m.If(place == LENGTH - 1):
                        m.d.sync += place.eq(0)
                        m.next = "END"
            with m.State("END"):
                with m.If(say(Control.END, Control.COMMAND, Op.CLOSE_ALL, ANY_HUB, 0)):
                    m.d.sync += waited.eq(0)
                    m.next = "WAIT"
            with m.State("WAIT"):
                m.d.comb += self.symbol.valid.eq(self.answer)
                with m.If(released):
                    m.d.sync += target.eq(Mux(target == self.ports - 1, 0, target + 1))
                    m.next = "TURN"
                with m.Elif(waited.all()):
                    m.d.comb += self.stuck.eq(1)
                with m.Else():
                    m.d.sync += waited.eq(waited + 1)
            with m.State("TURN"):
                m.d.comb += self.symbol.valid.eq(self.answer)
                with m.If(target == self.port):
                    m.d.sync += [self.turns.eq(self.turns + 1), target.eq((self.port + 1) % self.ports)]
                m.next = "OPEN"
        return m
