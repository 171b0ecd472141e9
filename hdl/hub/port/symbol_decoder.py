"""Decoder of a port: sorts the symbols that arrive into ready signals, replies, and symbols for the queue.

Commands are recognised here, not at the queue's head. Their symbols are written to the queue as they arrive, but stay
invisible to the head until the command is complete. So a fragment never reaches the head: when a command is cut short,
the next symbols are written over it.

A command for this HUB becomes two entries, which replace its symbols: ``OWN`` with bits 6:0 of the opcode, and the
parameter with the opcode's bit 7 in bit 8. The opcode of a *close all* is marked.

Source: "The Design of Nectar" (1989), section 4.1 ("the I/O port extracts commands from the incoming byte stream");
``docs/wire.md`` and ``docs/hub.md``, "Input side of a port".
"""

from types import SimpleNamespace

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...link.symbol import ANY_HUB, COMMAND_LENGTH, SYMBOL_BITS
from ..commands import COMMANDS, Op
from .entry import OWN_OP_BITS
from .input_register import SymbolKind

__all__ = ["SymbolDecoder"]

_LAST = COMMAND_LENGTH - 1


class SymbolDecoder(wiring.Component):
    """Sorts the symbols that arrive at a port.

    Members
    -------
    hub_id : In(8)
        ID of this HUB.
    enabled : In(1)
        The port is in use. While it is not in use, nothing is under way here.
    coming, symbol, kind : In(9), In(9), In(SymbolKind)
        ``coming``: the symbol that the port's input register holds in the next cycle. ``symbol``, ``kind``: the symbol
        that it holds.
    discard : In(1)
        The part of a command that has arrived is forgotten. The rest of the command, beginning with this cycle's
        symbol, is dropped.
    write, entry, place, commit, amount : as in InputQueue
        Entries for the queue.
    full, tight : In(1), In(1)
        The queue has no room for an entry; for a whole command. Symbols without room are written, too, but not
        committed.
    past, taken : In(1), In(1)
        ``past``: a symbol of no command is not committed, since it goes past the queue; only when not ``full``.
        ``taken``: a command for this HUB that is no flush is not committed, since it goes past the queue.
    plain : Out(1)
        The symbol belongs in the queue and to no command.
    own, op : Out(1), Out(8)
        ``own``: the symbol is the parameter of a command for this HUB, and completes it. ``op``: the command's opcode.
    flush : Out(1)
        The symbol completes a flush for this HUB. A flush needs no room: all entries before it are to be thrown away.
    partial : Out(1)
        Part of a command has arrived.
    reply_place, reply_strobe : Out(2), Out(1)
        The symbol is a byte of a reply: opcode (1), HUB (2) or value (3).
    ready : Out(1)
        A ready signal has arrived.
    refused, reserved, overrun, command_cut, reply_cut : Out(1)
        Errors, in this order: a frame at a disabled port; a reserved code; a symbol that found no room, or whose
        command found no room; a command cut short; a reply cut short.

    Timing
    ------
    All outputs belong to the symbol in the input register in the same cycle. One symbol a cycle.
    """

    def __init__(self):
        super().__init__(
            {
                "hub_id": In(8),
                "enabled": In(1),
                "coming": In(SYMBOL_BITS),
                "symbol": In(SYMBOL_BITS),
                "kind": In(SymbolKind),
                "discard": In(1),
                "write": Out(1),
                "entry": Out(SYMBOL_BITS),
                "place": Out(range(1, COMMAND_LENGTH + 1)),
                "commit": Out(1),
                "amount": Out(range(1, COMMAND_LENGTH + 1)),
                "full": In(1),
                "tight": In(1),
                "past": In(1),
                "taken": In(1),
                "plain": Out(1),
                "own": Out(1),
                "op": Out(8),
                "flush": Out(1),
                "partial": Out(1),
                "reply_place": Out(2),
                "reply_strobe": Out(1),
                "ready": Out(1),
                "refused": Out(1),
                "reserved": Out(1),
                "overrun": Out(1),
                "command_cut": Out(1),
                "reply_cut": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        kind, byte = self.kind, self.symbol[:8]
        m.d.comb += [self.ready.eq(kind.ready), self.reserved.eq(kind.reserved), self.refused.eq(kind.refused)]

        # A reply: the number of its symbols that have arrived, 0 outside of a reply. A reply may stand within a
        # command.
        reply_place = Signal(range(COMMAND_LENGTH))
        next_reply_place = Signal(range(COMMAND_LENGTH))
        ends = Signal()  # the symbol cannot belong to a reply under way
        m.d.comb += [
            ends.eq(kind.frame | kind.command | kind.reply | kind.reserved),
            self.reply_place.eq(reply_place),
            self.reply_strobe.eq(kind.byte & (reply_place != 0)),
            self.reply_cut.eq((reply_place != 0) & ends),
        ]
        with m.If(~self.enabled):
            m.d.comb += next_reply_place.eq(0)
        with m.Elif(ends):
            m.d.comb += next_reply_place.eq(kind.reply)
        with m.Else():
            m.d.comb += next_reply_place.eq(reply_place + self.reply_strobe)
        m.d.sync += reply_place.eq(next_reply_place)

        # A command, likewise.
        place = Signal(range(COMMAND_LENGTH))
        next_place = Signal(range(COMMAND_LENGTH))
        outside = Signal(init=1)  # neither a command nor a reply is under way
        # if the symbol is an ID: it is this HUB's; it is the ID that no HUB has
        named = Signal(reset_less=True)
        for_all = Signal(reset_less=True)
        op = Signal(8, reset_less=True)
        # the command is for this HUB; any HUB may take it
        ours = Signal(reset_less=True)
        for_any = Signal(reset_less=True)
        # the command is a close all; it is a flush
        never = Signal(reset_less=True)
        flushes = Signal(reset_less=True)
        spoiled = Signal()  # the command found no room
        void = Signal()  # the command was forgotten
        data = Signal()
        inside = Signal()
        alive = Signal()
        for_us = Signal()
        last = Signal()
        closes = Signal()
        m.d.comb += [
            data.eq(kind.byte & (reply_place == 0)),
            inside.eq(data & (place != 0)),
            alive.eq(self.enabled & ~void & ~self.discard),
            closes.eq(byte == Op.CLOSE_ALL),
            for_us.eq(named & ~never | for_all & for_any),
            last.eq(data & (place == _LAST) & alive),
            self.own.eq(last & ours & ~spoiled),
            self.flush.eq(last & ours & flushes),
            self.op.eq(op),
            self.command_cut.eq((place != 0) & (kind.frame | kind.command)),
            self.partial.eq((place != 0) & ~spoiled & ~void),
        ]
        m.d.sync += [named.eq(self.coming[:8] == self.hub_id), for_all.eq(self.coming[:8] == ANY_HUB)]
        with m.If(kind.command):
            m.d.sync += [spoiled.eq(self.tight), void.eq(0)]
        with m.Elif(self.discard):
            m.d.sync += void.eq(1)
        with m.If(data & (place == 1)):
            m.d.sync += [
                op.eq(byte),
                never.eq(closes),
                flushes.eq(byte == Op.FLUSH_REPLY),
                for_any.eq(Cat(byte == row.op for row in COMMANDS if row.any_hub).any()),
            ]
        with m.If(data & (place == 2)):
            m.d.sync += ours.eq(for_us)
        with m.If(~self.enabled):
            m.d.comb += next_place.eq(0)
        with m.Elif(kind.frame | kind.command):
            m.d.comb += next_place.eq(kind.command)
        with m.Else():
            m.d.comb += next_place.eq(place + inside)
        m.d.sync += [place.eq(next_place), outside.eq((next_place == 0) & (next_reply_place == 0))]

        # The queue. A write needs no room, since it is behind all committed entries.
        claim = Signal()
        claims = Signal()
        second = Signal()
        m.d.comb += [
            self.plain.eq(self.enabled & (kind.frame | kind.byte & outside)),
            self.overrun.eq(
                self.plain & self.full | self.enabled & kind.command & self.tight | inside & alive & spoiled
            ),
            self.write.eq(kind.frame | kind.command | data),
            # The other signals mean nothing without ``write``. The HUB ID makes a command one for this HUB.
            claim.eq((place == 2) & for_us),
            second.eq((place == _LAST) & ours),
            claims.eq(kind.byte & claim),
            self.commit.eq(
                self.plain & ~self.full & ~self.past | last & Mux(ours, flushes | ~spoiled & ~self.taken, ~spoiled)
            ),
            self.amount.eq(Mux(kind.byte & (place == _LAST), Mux(ours, 2, COMMAND_LENGTH), 1)),
            self.entry.eq(
                Cat(
                    Mux(claims, op[:OWN_OP_BITS], byte[:OWN_OP_BITS]),
                    byte[OWN_OP_BITS:] | claims,
                    self.symbol[8] | claims | (kind.byte & (second & op[7] | (place == 1) & closes)),
                )
            ),
        ]
        with m.If(kind.frame | kind.command | (place == 0) | claim):
            m.d.comb += self.place.eq(1)
        with m.Elif((place == 1) | second):
            m.d.comb += self.place.eq(2)
        with m.Else():
            m.d.comb += self.place.eq(place + 1)

        if platform == "formal":
            self.probes = SimpleNamespace(
                place=place,
                spoiled=spoiled,
                void=void,
                op=op,
                ours=ours,
                for_any=for_any,
                never=never,
                flushes=flushes,
                named=named,
                for_all=for_all,
                outside=outside,
            )
        return m
