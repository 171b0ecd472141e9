"""The last two registers before the fiber out: symbols wait here until the fiber takes them.

Source: "The Design of Nectar" (1989), section 4.2.3 (what the ready bit does when a start of packet leaves).
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..link.port import FiberPort
from ..link.symbol import SYMBOL_BITS, Control

__all__ = ["OutputRegister", "Outgoing"]


class Outgoing(data.Struct):
    """A symbol on its way out; ``notify`` marks the last of an entry that wants to be told of, ``start`` a start of
    packet."""

    symbol: SYMBOL_BITS
    notify: 1
    start: 1


class OutputRegister(wiring.Component):
    """Holds up to two symbols. ``tx.ready``, a pin that comes late, goes to a few gates here and nowhere else.

    Members
    -------
    push : In
        ``payload`` enters in a cycle in which ``valid`` and ``room`` are 1.
    room : Out(1)
        There is room; a register.
    tx : Out
        The pins.
    left : Out(1)
        A symbol marked ``notify`` was taken by the fiber in the cycle before.
    start_left : Out(1)
        A start of packet was taken by the fiber in the cycle before.
    start_inside : Out(1)
        A start of packet is here, or was still here in the cycle before.
    taken : Out(1)
        A symbol was taken by the fiber in the cycle before.
    empty : Out(1)
        Nothing is here, and nothing left in the cycle before.

    Timing
    ------
    A symbol in each cycle while the fiber takes one in each; it is at the pins in the cycle after it entered.
    """

    push: In(wiring.Signature({"payload": Out(Outgoing), "valid": Out(1)}))
    room: Out(1)
    tx: Out(FiberPort().members["tx"].signature)
    left: Out(1)
    start_left: Out(1)
    start_inside: Out(1)
    taken: Out(1)
    empty: Out(1)

    def elaborate(self, platform):
        """Two places in a row."""
        m = Module()
        # Their content is anything while nothing is in them.
        front = Signal(Outgoing, reset_less=True)
        spare = Signal(Outgoing, reset_less=True)
        front_valid = Signal()
        spare_valid = Signal()
        leaves = Signal()
        m.d.comb += [
            self.tx.payload.eq(front.symbol),
            self.tx.valid.eq(front_valid),
            self.room.eq(~spare_valid),
            leaves.eq(front_valid & self.tx.ready),
        ]
        # What is offered while there is no room changes nothing: the spare place is filled then, and keeps what it has.
        with m.If(self.tx.ready | ~front_valid):
            m.d.sync += [
                front_valid.eq(spare_valid | self.push.valid),
                spare_valid.eq(0),
                front.eq(Mux(spare_valid, spare, self.push.payload)),
            ]
        with m.Elif(self.push.valid):
            m.d.sync += spare_valid.eq(1)
        with m.If(~spare_valid):
            m.d.sync += spare.eq(self.push.payload)

        m.d.sync += [
            self.taken.eq(leaves),
            self.left.eq(leaves & front.notify),
            self.start_left.eq(leaves & front.start),
        ]
        m.d.comb += [
            self.start_inside.eq(self.start_left | (front_valid & front.start) | (spare_valid & spare.start)),
            self.empty.eq(~(front_valid | self.left | self.start_left)),
            Assert(front_valid | ~spare_valid, "the front is filled first"),
            Assert(~front_valid | (front.symbol != Control.IDLE), "a board never offers the idle symbol"),
            Assert(
                ~self.push.valid | (self.push.payload.start == (self.push.payload.symbol == Control.START)),
                "a start of packet is marked",
            ),
        ]
        if platform == "formal":
            self.probes = SimpleNamespace(front=front, spare=spare, front_valid=front_valid, spare_valid=spare_valid)
        return m
