"""Proof of hdl/hub/receiver.py: what the queue and the head assume of it, whatever arrives.

Statements: docs/wire.md, "Frames" (no part of a command that is cut short is passed on), and docs/hub.md, "Input side of a port".
"""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.commands import Op
from ...hdl.link.symbol import COMMAND_LENGTH, CONTROL_BIT, SYMBOL_BITS, Control
from .prove import look_into

__all__ = ["ReceiverProof"]


class ReceiverProof(wiring.Component):
    """A receiver of class ``Receiver``; any symbol arrives at any time, and the queue is full when it likes."""

    def __init__(self, Receiver):
        self.receiver = Receiver()
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        receiver = self.receiver
        m.submodules.receiver = look_into(receiver, platform)
        spy = receiver.spy
        m.d.comb += [
            receiver.hub_id.eq(AnyConst(8)),
            receiver.symbol.eq(AnySeq(SYMBOL_BITS)),
            receiver.valid.eq(AnySeq(1)),
            receiver.full.eq(AnySeq(1)),
        ]

        # What is in the queue and not committed: how many symbols, and the bytes among them.
        loose, stays = Signal(range(COMMAND_LENGTH)), Signal(range(COMMAND_LENGTH))
        op, hub, own = Signal(8), Signal(8), Signal()
        symbol = receiver.entry.content.symbol
        m.d.comb += [
            stays.eq(Mux(receiver.cut, 0, loose)),
            own.eq((hub == receiver.hub_id) & (op != Op.CLOSE_ALL)),
        ]
        m.d.sync += loose.eq(Mux(receiver.write & receiver.commit, 0, stays + receiver.write))
        with m.If(receiver.write & (stays == 1)):
            m.d.sync += op.eq(symbol)
        with m.If(receiver.write & (stays == 2)):
            m.d.sync += hub.eq(symbol)

        m.d.comb += [
            Assert(~receiver.write | ~receiver.full, "nothing is written into a full queue"),
            Assert(~receiver.write | (receiver.first == receiver.entry.command)),
            Assert((loose == 0) | (loose == spy.place) & ~spy.spoiled, "what is not committed is the begin of one command"),
            Assert((loose != 0) | (spy.place == 0) | spy.spoiled, "or a command is spoiled, and none of it is left"),
            Assert((loose < 2) | (spy.op == op)),
            Assert((loose < 3) | (spy.hub == hub)),
        ]
        with m.If(receiver.write):
            with m.If(stays == 0):
                m.d.comb += [
                    Assert(~receiver.entry.command & (symbol == receiver.symbol)),
                    Assert(receiver.commit == (symbol != Control.COMMAND), "only a command is held back"),
                ]
            with m.Else():
                m.d.comb += [
                    Assert(~(receiver.symbol & CONTROL_BIT).any(), "bytes follow a command's control code"),
                    Assert(receiver.commit == (stays == COMMAND_LENGTH - 1), "a command is shown when it is complete"),
                    Assert(receiver.entry.command == (receiver.commit & own), "commands for this HUB are entries of their own"),
                    Assert(~receiver.cut),
                ]
                with m.If(receiver.entry.command):
                    request = receiver.entry.content.request
                    m.d.comb += Assert((request.op == op) & (request.param == receiver.symbol), "with opcode and parameter as they came")
                with m.Else():
                    m.d.comb += Assert(symbol == receiver.symbol)
        ready, framing = Signal(), Signal()
        m.d.comb += [
            ready.eq(receiver.valid & (receiver.symbol == Control.READY)),
            framing.eq(receiver.valid & ((receiver.symbol == Control.START) | (receiver.symbol == Control.END))),
            Assert(receiver.ready == ready, "every ready signal is told, and nothing else is one"),
            Assert(~framing | receiver.full | receiver.write & receiver.commit & (symbol == receiver.symbol),
                   "no start and no end is dropped but for want of room"),
        ]
        return m
