"""Receiver of a port: sorts the symbols that arrive into ready signals, replies and what enters the queue.

Commands are recognised here and not at the queue's head: their symbols are written to the queue as they arrive, but
stay invisible to the head until the command is complete. So a fragment never reaches the head: it is taken back
when it is cut short. A command for this HUB ends up as one entry with opcode and parameter, which takes the
room of the four symbols.

Source: "The Design of Nectar" (1989), section 4.1 ("the I/O port extracts commands from the incoming byte stream");
``docs/wire.md`` and ``docs/hub.md``, "Input side of a port".
"""

from types import SimpleNamespace

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..link.symbol import COMMAND_LENGTH, SYMBOL_BITS, Control
from .commands import Op
from .messages import QueueEntry, Reply

__all__ = ["Receiver"]


class Receiver(wiring.Component):
    """Sorts what arrives at a port.

    Members
    -------
    hub_id : In(8)
        ID of this HUB.
    symbol, valid : In(9), In(1)
        The port's input register.
    write, entry : Out(1), Out(QueueEntry)
        Writes an entry behind all that was written.
    first : Out(1)
        With ``write``: writes it to the first slot that is not committed, and takes a slot at the end nevertheless.
    commit : Out(1)
        With ``write``: this entry and all before it become visible to the head.
    cut : Out(1)
        What was written and not committed is taken back, before the entry of this cycle is written.
    full : In(1)
        The queue has no room for an entry.
    reply, reply_valid : Out(Reply), Out(1)
        A reply has arrived.
    ready : Out(1)
        A ready signal has arrived.
    reserved, overrun, command_cut, reply_cut : Out(1)
        Errors: a reserved code; a symbol that found the queue full, or belongs to a command of which one did; a command or a
        reply cut short.

    Timing
    ------
    All outputs belong to the symbol in the input register in the same cycle. A symbol a cycle.
    """

    def __init__(self):
        super().__init__({
            "hub_id": In(8), "symbol": In(SYMBOL_BITS), "valid": In(1),
            "write": Out(1), "entry": Out(QueueEntry), "first": Out(1), "commit": Out(1), "cut": Out(1), "full": In(1),
            "reply": Out(Reply), "reply_valid": Out(1), "ready": Out(1),
            "reserved": Out(1), "overrun": Out(1), "command_cut": Out(1), "reply_cut": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        # What the symbol is, decoded in one go.
        byte, ready, start_reply, start_command, frame, reserved = (1 << n for n in range(6))
        kind = Signal(6)
        with m.If(self.valid):
            with m.Switch(self.symbol):
                with m.Case("0" + "-" * (SYMBOL_BITS - 1)):
                    m.d.comb += kind.eq(byte)
                with m.Case(Control.IDLE):
                    pass
                with m.Case(Control.READY):
                    m.d.comb += kind.eq(ready)
                with m.Case(Control.REPLY):
                    m.d.comb += kind.eq(start_reply)
                with m.Case(Control.COMMAND):
                    m.d.comb += kind.eq(start_command)
                with m.Case(Control.START, Control.END):
                    m.d.comb += kind.eq(frame)
                with m.Default():
                    m.d.comb += kind.eq(reserved)
        byte, ready, start_reply, start_command, frame, reserved = kind
        m.d.comb += [self.ready.eq(ready), self.reserved.eq(reserved)]

        # A reply: symbols of it that have arrived, 0 outside of one. It may stand within a command.
        reply_place = Signal(range(COMMAND_LENGTH))
        reply_op, reply_hub = Signal(8, reset_less=True), Signal(8, reset_less=True)
        reply_byte = Signal()
        m.d.comb += [
            reply_byte.eq(byte & (reply_place != 0)),
            self.reply_cut.eq((reply_place != 0) & (frame | start_command | start_reply | reserved)),
            self.reply.op.eq(reply_op),
            self.reply.hub.eq(reply_hub),
            self.reply.value.eq(self.symbol),
            self.reply_valid.eq(reply_byte & (reply_place == COMMAND_LENGTH - 1)),
        ]
        with m.If(start_reply):
            m.d.sync += reply_place.eq(1)
        with m.Elif(self.reply_cut):
            m.d.sync += reply_place.eq(0)
        with m.Elif(reply_byte):
            m.d.sync += reply_place.eq(reply_place + 1)
            with m.If(reply_place == 1):
                m.d.sync += reply_op.eq(self.symbol)
            with m.If(reply_place == 2):
                m.d.sync += reply_hub.eq(self.symbol)

        # A command, likewise.
        place = Signal(range(COMMAND_LENGTH))
        op, hub = Signal(8, reset_less=True), Signal(8, reset_less=True)
        spoiled = Signal()  # a symbol of it found the queue full
        command_byte, last, own = Signal(), Signal(), Signal()
        m.d.comb += [
            command_byte.eq(byte & ~reply_byte & (place != 0)),
            last.eq(command_byte & (place == COMMAND_LENGTH - 1)),
            own.eq(last & (hub == self.hub_id) & (op != Op.CLOSE_ALL)),
            self.command_cut.eq((place != 0) & (frame | start_command)),
        ]
        with m.If(start_command):
            m.d.sync += [place.eq(1), spoiled.eq(self.full)]
        with m.Elif(self.command_cut):
            m.d.sync += place.eq(0)
        with m.Elif(command_byte):
            m.d.sync += place.eq(place + 1)
            with m.If(self.full):
                m.d.sync += spoiled.eq(1)
            with m.If(place == 1):
                m.d.sync += op.eq(self.symbol)
            with m.If(place == 2):
                m.d.sync += hub.eq(self.symbol)

        # The queue.
        wanted = Signal()
        m.d.comb += [
            wanted.eq(frame | start_command | (byte & ~reply_byte)),
            self.write.eq(wanted & ~self.full & ~(command_byte & spoiled)),
            self.overrun.eq(wanted & ~self.write),
            self.first.eq(own),
            self.commit.eq(~start_command & (~command_byte | last)),
            self.cut.eq(self.command_cut | (command_byte & self.full)),
            self.entry.command.eq(own),
        ]
        with m.If(own):
            m.d.comb += [self.entry.content.request.op.eq(op), self.entry.content.request.param.eq(self.symbol)]
        with m.Else():
            m.d.comb += self.entry.content.symbol.eq(self.symbol)

        if platform == "formal":
            self.spy = SimpleNamespace(place=place, spoiled=spoiled, op=op, hub=hub)
        return m
