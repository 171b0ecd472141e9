"""Fiber in, first step: sorts the symbols that arrive.

Source: "The Design of Nectar" (1989), sections 4.1 and 5.2 (the CAB has the HUB's fiber circuit); docs/wire.md.
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..link.symbol import COMMAND_LENGTH, SYMBOL_BITS, Control

__all__ = ["Demux", "ReplyWord"]


class ReplyWord(data.Struct):
    """The three bytes of a reply."""

    value: 8
    hub: 8
    opcode: 8


class Demux(wiring.Component):
    """Takes ready signals, replies and commands out of what arrives; the rest goes to the input queue.

    Members
    -------
    rx : In
        ``payload`` has arrived in a cycle in which ``valid`` is 1.
    queue : Out
        ``payload`` goes to the input queue in a cycle in which ``valid`` is 1.
    reply : Out
        A reply is complete in a cycle in which ``valid`` is 1.
    ready : Out(1)
        A ready signal.
    reserved : Out(1)
        A reserved code, dropped.
    cut : Out(range(3))
        Replies and commands cut short by this symbol.

    Timing
    ------
    All outputs belong to the symbol at ``rx`` in the same cycle.
    """

    rx: In(wiring.Signature({"payload": Out(SYMBOL_BITS), "valid": Out(1)}))
    queue: Out(wiring.Signature({"payload": Out(SYMBOL_BITS), "valid": Out(1)}))
    reply: Out(wiring.Signature({"payload": Out(ReplyWord), "valid": Out(1)}))
    ready: Out(1)
    reserved: Out(1)
    cut: Out(range(3))

    def elaborate(self, platform):
        """A reply may stand inside a command, so each has its own count of bytes to come."""
        m = Module()
        symbol = self.rx.payload
        reply_left = Signal(range(COMMAND_LENGTH))
        command_left = Signal(range(COMMAND_LENGTH))
        earlier = Signal(16)
        m.d.comb += [
            self.queue.payload.eq(symbol),
            self.reply.payload.value.eq(symbol),
            self.reply.payload.hub.eq(earlier[:8]),
            self.reply.payload.opcode.eq(earlier[8:]),
        ]
        cuts_reply = Signal()
        cuts_command = Signal()
        m.d.comb += self.cut.eq(cuts_reply + cuts_command)

        with m.If(self.rx.valid):
            with m.If(~symbol[-1]):
                with m.If(reply_left != 0):
                    m.d.comb += self.reply.valid.eq(reply_left == 1)
                    m.d.sync += [reply_left.eq(reply_left - 1), earlier.eq(earlier << 8 | symbol[:8])]
                with m.Elif(command_left != 0):
                    m.d.sync += command_left.eq(command_left - 1)
                with m.Else():
                    m.d.comb += self.queue.valid.eq(1)
            with m.Elif(symbol == Control.READY):
                m.d.comb += self.ready.eq(1)
            with m.Elif(symbol != Control.IDLE):
                m.d.comb += cuts_reply.eq(reply_left != 0)
                m.d.sync += reply_left.eq(0)
                with m.Switch(symbol):
                    with m.Case(Control.REPLY):
                        m.d.sync += reply_left.eq(COMMAND_LENGTH - 1)
                    with m.Case(Control.COMMAND):
                        m.d.comb += cuts_command.eq(command_left != 0)
                        m.d.sync += command_left.eq(COMMAND_LENGTH - 1)
                    with m.Case(Control.START, Control.END):
                        m.d.comb += [cuts_command.eq(command_left != 0), self.queue.valid.eq(1)]
                        m.d.sync += command_left.eq(0)
                    with m.Default():
                        m.d.comb += self.reserved.eq(1)
        return m
