"""Decoder of a port: sorts the symbols that arrive into ready signals, replies, and symbols for the queue.

Commands are recognised here, not at the queue's head. Their symbols are written to the queue as they arrive, but stay
invisible to the head until the command is complete. So a fragment never reaches the head: when a command is cut short,
the next symbols are written over it.

A command for this HUB becomes two entries, which replace its symbols: ``OWN`` with bits 6:0 of the opcode, and the
parameter with the opcode's bit 7 in bit 8. The opcode of a *close all* is marked.

Source: "The Design of Nectar" (1989), section 4.1 ("the I/O port extracts commands from the incoming byte stream");
``docs/wire.md`` and ``docs/hub.md``, "Input side of a port".
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...link.symbol import ANY_HUB, COMMAND_LENGTH, SYMBOL_BITS
from ..commands import COMMANDS, Op
from .entry import OWN_OP_BITS
from .input_register import SymbolKind

__all__ = ["SymbolDecoder"]

_LAST = COMMAND_LENGTH - 1


class _Signals:
    """What the sections of the decoder share; proofs look into them."""

    def __init__(self):
        # The place in a reply, and in a command: symbols of it that have arrived.
        self.reply_place = Signal(range(COMMAND_LENGTH))
        self.reply_follows = Signal(range(COMMAND_LENGTH))  # the place in a reply in the next cycle
        self.replying = Signal()  # the place in a reply is not 0
        self.place = Signal(range(COMMAND_LENGTH))
        self.at_id = Signal()  # the HUB ID of a command comes next
        self.at_last = Signal()  # the symbol that completes a command comes next
        self.completes = Signal()  # a byte, if it comes next, completes a command that was not forgotten
        self.outside = Signal(init=1)  # neither a command nor a reply is under way
        self.data = Signal()  # the symbol is a byte of no reply
        self.inside = Signal()  # and one of a command

        # The command.
        self.own_id = Signal(reset_less=True)  # if the symbol is an ID: it is this HUB's
        self.for_all = Signal(reset_less=True)  # if the symbol is an ID: it is ANY_HUB, which no HUB has as its own
        self.op = Signal(8, reset_less=True)
        self.flushes = Signal(reset_less=True)  # the command is a flush
        self.closes = Signal(reset_less=True)  # if the symbol is an opcode: it is that of a close all
        # The HUB ID comes next, and the command is for this HUB: if the ID is this HUB's; if it is ANY_HUB.
        self.if_own_id = Signal()
        self.if_for_all = Signal()
        self.for_us = Signal()  # the symbol, if it is a byte, is an ID that makes the command one for this HUB
        # Of a command whose ID has arrived:
        self.ours = Signal(reset_less=True)  # it is for this HUB
        self.direct = Signal(reset_less=True)  # and is no flush, and has found room: it may go past the queue
        self.kept = Signal(reset_less=True)  # it enters the queue, unless it goes past it

        # What becomes of it.
        self.spoiled = Signal()  # the command found no room
        self.void = Signal()  # the command was forgotten
        self.void_next = Signal()
        self.hears = Signal()  # the port is in use, and nothing is forgotten in this cycle
        self.last = Signal()  # the symbol completes the command


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
    write, entry, offset, first, commit, amount : as in InputQueue
        Entries for the queue.
    full, tight : In(1), In(1)
        The queue has no room for an entry; for a whole command. Symbols without room are written, too, but not
        committed.
    past, taken : In(1), In(1)
        ``past``: a symbol of no command is not committed, since it goes past the queue; only when not ``full``.
        ``taken``: the command of ``own`` is not committed, since it goes past the queue.
    plain : Out(1)
        The symbol belongs in the queue and to no command.
    own, op : Out(1), Out(8)
        ``own``: the symbol is the parameter of a command for this HUB that is no flush, and completes it. ``op``: the
        command's opcode.
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
                "offset": Out(range(COMMAND_LENGTH)),
                "first": Out(1),
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
        """Replies; commands: what the symbol is in them, what is kept of them, the place in them; the queue."""
        m = Module()
        s = _Signals()
        m.d.comb += [
            self.ready.eq(self.kind.ready),
            self.reserved.eq(self.kind.reserved),
            self.refused.eq(self.kind.refused),
        ]
        self._follow_reply(m, s)
        self._recognise(m, s)
        self._remember(m, s)
        self._follow_command(m, s)
        self._write_queue(m, s)
        if platform == "formal":
            self.probes = s
        return m

    def _follow_reply(self, m, s):
        """The number of symbols of a reply that have arrived before this cycle, 0 outside of a reply. A reply may stand
        within a command."""
        kind, place = self.kind, s.reply_place
        ends = Signal()  # the symbol cannot belong to a reply under way
        m.d.comb += [
            ends.eq(kind.frame | kind.command | kind.reply | kind.reserved),
            self.reply_place.eq(place),
            self.reply_strobe.eq(kind.byte & s.replying),
            self.reply_cut.eq(s.replying & ends),
        ]
        with m.If(~self.enabled):
            m.d.comb += s.reply_follows.eq(0)
        with m.Elif(ends):
            m.d.comb += s.reply_follows.eq(kind.reply)
        with m.Else():
            m.d.comb += s.reply_follows.eq(place + self.reply_strobe)
        m.d.sync += [place.eq(s.reply_follows), s.replying.eq(s.reply_follows != 0)]

    def _recognise(self, m, s):
        """What the symbol is in a command, in the same cycle: a byte of it, its ID, the symbol that completes it.

        A close all is never for this HUB: it stays in the queue as a command of four symbols."""
        kind = self.kind
        m.d.comb += [
            s.data.eq(kind.byte & ~s.replying),
            s.inside.eq(s.data & (s.place != 0)),
            s.hears.eq(self.enabled & ~self.discard),
            s.void_next.eq(~kind.command & (s.void | self.discard)),
            s.for_us.eq(s.own_id & s.if_own_id | s.for_all & s.if_for_all),
            s.last.eq(kind.byte & s.completes & s.hears),
            self.own.eq(s.last & s.direct),
            self.flush.eq(s.last & s.ours & s.flushes),
            self.op.eq(s.op),
            self.command_cut.eq((s.place != 0) & (kind.frame | kind.command)),
            self.partial.eq((s.place != 0) & ~s.spoiled & ~s.void),
        ]

    def _remember(self, m, s):
        """What is known of a command from the next cycle on: whether it found room or was forgotten, its opcode, and
        whether it is for this HUB. An ID, and the opcode of a close all, is compared in the cycle before it is in the
        input register."""
        byte, coming = self.symbol[:8], self.coming[:8]
        m.d.sync += [
            s.own_id.eq(coming == self.hub_id),
            s.for_all.eq(coming == ANY_HUB),
            s.closes.eq(coming == Op.CLOSE_ALL),
            s.void.eq(s.void_next),
        ]
        with m.If(self.kind.command):
            m.d.sync += s.spoiled.eq(self.tight)
        with m.If(s.data & (s.place == 1)):
            m.d.sync += [
                s.op.eq(byte),
                s.flushes.eq(byte == Op.FLUSH_REPLY),
            ]
        with m.If(s.data & s.at_id):
            m.d.sync += [
                s.ours.eq(s.for_us),
                s.direct.eq(s.for_us & ~s.flushes & ~s.spoiled),
                s.kept.eq(s.for_us & s.flushes | ~s.spoiled),
            ]

    def _follow_command(self, m, s):
        """The number of symbols of a command that have arrived before this cycle, 0 outside of a command; what an ID
        that comes next has to be; and whether neither a command nor a reply is under way."""
        kind, byte = self.kind, self.symbol[:8]
        ended = Signal()  # behind this symbol none is under way, unless the symbol begins one
        next_place = Signal(range(COMMAND_LENGTH))
        id_next = next_place == 2
        with m.If(~self.enabled):
            m.d.comb += next_place.eq(0)
        with m.Elif(kind.frame | kind.command):
            m.d.comb += next_place.eq(kind.command)
        with m.Else():
            m.d.comb += next_place.eq(s.place + s.inside)
        m.d.sync += [
            s.place.eq(next_place),
            s.at_id.eq(id_next),
            # Before the ID comes the opcode. Then there may be idles, replies and ready signals.
            s.if_own_id.eq(id_next & Mux(s.at_id, s.if_own_id, ~s.closes)),
            s.if_for_all.eq(
                id_next & Mux(s.at_id, s.if_for_all, Cat(byte == row.op for row in COMMANDS if row.any_hub).any())
            ),
            s.at_last.eq(next_place == _LAST),
            s.completes.eq((next_place == _LAST) & (s.reply_follows == 0) & ~s.void_next),
            s.outside.eq(~self.enabled | kind.frame | ~kind.command & ~kind.reply & ended),
        ]
        m.d.comb += ended.eq(
            Mux(
                s.replying,
                (s.place == 0) & (kind.reserved | kind.byte & (s.reply_place == _LAST)),
                (s.place == 0) | kind.byte & s.at_last,
            )
        )

    def _write_queue(self, m, s):
        """The entry for the queue, in the same cycle, how far behind the committed entries, and what becomes visible
        to the head. A write needs no room, since it is behind all committed entries.

        A symbol of a command is written to its own place. If the HUB ID makes the command one for this HUB, the entry
        ``OWN`` is written over the control code in the cycle of the ID, and the parameter over the opcode."""
        kind, byte = self.kind, self.symbol[:8]
        claims = Signal()
        second = Signal()
        m.d.comb += [
            self.plain.eq(self.enabled & (kind.frame | kind.byte & s.outside)),
            self.overrun.eq(
                self.plain & self.full
                | self.enabled & kind.command & self.tight
                | s.inside & s.hears & ~s.void & s.spoiled
            ),
            self.write.eq(kind.frame | kind.command | s.data),
            # The other signals mean nothing without ``write``.
            second.eq(s.at_last & s.ours),
            claims.eq(kind.byte & s.for_us),
            self.commit.eq(self.plain & ~self.full & ~self.past | s.last & s.kept & ~(s.direct & self.taken)),
            self.amount.eq(Mux(kind.byte & s.at_last, Mux(s.ours, 2, COMMAND_LENGTH), 1)),
            self.entry.eq(
                Cat(
                    Mux(claims, s.op[:OWN_OP_BITS], byte[:OWN_OP_BITS]),
                    byte[OWN_OP_BITS:] | claims,
                    self.symbol[8] | claims | (kind.byte & (second & s.op[7] | (s.place == 1) & s.closes)),
                )
            ),
            self.first.eq(kind.frame | kind.command | s.for_us),
            self.offset.eq(Mux(second, 1, s.place)),
        ]
