"""Proof of hdl/hub/port/input_register.py and hdl/hub/port/symbol_decoder.py: what the queue and the head assume of
them, whatever arrives.

Statements: docs/wire.md, "Frames" (no part of a command that is cut short is passed on), and docs/hub.md, "Input side
of a port"."""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.commands import COMMANDS, Op
from ...hdl.hub.port.entry import CLOSES, OWN, OWN_OP_BITS
from ...hdl.hub.port.input_register import InputRegister
from ...hdl.hub.port.symbol_decoder import SymbolDecoder
from ...hdl.link.symbol import ANY_HUB, COMMAND_LENGTH, CONTROL_BIT, SYMBOL_BITS, Control
from .faults import Fault, with_fields
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "SymbolDecoderProof"]

_LAST = COMMAND_LENGTH - 1


class SymbolDecoderProof(wiring.Component):
    """An input register and a decoder; any symbol arrives at any time, the port is enabled and disabled, what has come
    of a command is to be discarded, and the queue is full when it likes."""

    def __init__(self):
        self.decoder, self.register = SymbolDecoder(), InputRegister()
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        decoder, register = self.decoder, self.register
        m.submodules.register = look_into(register, platform)
        m.submodules.decoder = look_into(decoder, platform)
        probes = decoder.probes

        # The surroundings. What arrives is kept here, too, and sorted out by itself.
        enabled, symbol, heard, arrived = Signal(), Signal(SYMBOL_BITS), Signal(), Signal()
        m.d.sync += [
            symbol.eq(Mux(register.looped, register.loop_symbol, register.rx_payload)),
            arrived.eq(Mux(register.looped, register.loop_valid, register.rx_valid)),
            heard.eq(enabled),
        ]
        m.d.comb += [
            *(
                signal.eq(AnySeq(signal.shape()))
                for signal in (
                    register.rx_payload,
                    register.rx_valid,
                    register.looped,
                    register.loop_symbol,
                    register.loop_valid,
                    decoder.discard,
                    decoder.full,
                    decoder.tight,
                    decoder.past,
                    decoder.taken,
                )
            ),
            Assume(~decoder.full | decoder.tight & ~decoder.past),
            enabled.eq(AnySeq(1)),
            register.enabled.eq(enabled),
            decoder.enabled.eq(enabled),
            decoder.hub_id.eq(AnyConst(8)),
            decoder.coming.eq(register.coming),
            decoder.symbol.eq(register.symbol),
            decoder.kind.eq(register.kind),
        ]

        def comes(*codes):
            return arrived & heard & Cat(symbol == code for code in codes).any()

        byte, frame, command, reply, ready, reserved = (
            Signal(name=name) for name in ("byte", "frame", "command", "reply", "ready", "reserved")
        )
        m.d.comb += [
            byte.eq(arrived & heard & ~(symbol & CONTROL_BIT).any()),
            frame.eq(comes(Control.START, Control.END)),
            command.eq(comes(Control.COMMAND)),
            reply.eq(comes(Control.REPLY)),
            ready.eq(comes(Control.READY)),
            reserved.eq(arrived & heard & (symbol & CONTROL_BIT).any() & ~comes(*Control)),
        ]

        # Where in a reply and in a command it stands.
        in_reply, place = Signal(2), Signal(2)
        of_reply, of_command, plain = Signal(), Signal(), Signal()
        m.d.comb += [
            of_reply.eq(byte & (in_reply != 0)),
            of_command.eq(byte & ~of_reply & (place != 0)),
            plain.eq(enabled & (frame | byte & ~of_reply & ~of_command)),
        ]
        with m.If(~enabled | frame | command | reserved):
            m.d.sync += in_reply.eq(0)
        with m.Elif(reply):
            m.d.sync += in_reply.eq(1)
        with m.Elif(of_reply):
            m.d.sync += in_reply.eq(in_reply + 1)
        with m.If(~enabled | frame):
            m.d.sync += place.eq(0)
        with m.Elif(command):
            m.d.sync += place.eq(1)
        with m.Elif(of_command):
            m.d.sync += place.eq(place + 1)

        # The command that is under way: its bytes, and whether it is lost already.
        op, hub, ours, lost = Signal(8), Signal(8), Signal(), Signal()
        spoiled, alive = Signal(), Signal()
        m.d.comb += [
            ours.eq(
                (hub == decoder.hub_id) & (op != Op.CLOSE_ALL)
                | (hub == ANY_HUB) & Cat(op == row.op for row in COMMANDS if row.any_hub).any()
            ),
            alive.eq(~spoiled & ~lost & ~decoder.discard),
        ]
        with m.If(decoder.discard):
            m.d.sync += lost.eq(1)
        with m.If(command):
            m.d.sync += [spoiled.eq(decoder.tight), lost.eq(0)]
        with m.If(of_command & (place == 1)):
            m.d.sync += op.eq(symbol)
        with m.If(of_command & (place == 2)):
            m.d.sync += hub.eq(symbol)

        marked = Mux(op == Op.CLOSE_ALL, CLOSES | op, op)

        # What is in the queue behind all that is committed, and what becomes of it.
        offset = Mux(decoder.first, 0, decoder.offset)
        loose = [Signal(SYMBOL_BITS, name=f"loose_{n}") for n in range(COMMAND_LENGTH)]
        with m.If(decoder.write):
            for n, entry in enumerate(loose):
                with m.If(offset == n):
                    m.d.sync += entry.eq(decoder.entry)
        completes, flush, commits = Signal(), Signal(), Signal()
        m.d.comb += [
            completes.eq(enabled & of_command & (place == _LAST) & alive),
            flush.eq(
                enabled & of_command & (place == _LAST) & ours & (op == Op.FLUSH_REPLY) & ~lost & ~decoder.discard
            ),
            commits.eq(decoder.commit),
            Assert(~commits | decoder.write & (decoder.amount == offset + 1)),
            Assert(
                commits == (completes & ~(ours & decoder.taken) | flush | plain & ~decoder.full & ~decoder.past),
                "whole commands and symbols outside of commands enter the queue, save those that go past it, and "
                "nothing else",
            ),
        ]
        with m.If(commits & plain):
            m.d.comb += Assert((offset == 0) & (decoder.entry == symbol), "a symbol enters as it is")
        with m.If(commits & ~plain & ours):
            m.d.comb += [
                Assert(offset == 1),
                Assert(
                    loose[0] == Cat(op[:OWN_OP_BITS], Const(OWN >> OWN_OP_BITS, 2)),
                    "a command for this HUB enters as two entries",
                ),
                Assert(decoder.entry == Cat(symbol[:8], op[OWN_OP_BITS])),
            ]
        with m.If(commits & ~plain & ~ours):
            m.d.comb += [
                Assert(offset == COMMAND_LENGTH - 1),
                Assert(
                    (loose[0] == Control.COMMAND)
                    & (loose[1] == marked)
                    & (loose[2] == hub)
                    & (decoder.entry == symbol),
                    "a command for others enters as it is, but for the mark of a close all",
                ),
            ]
        under_way = (place != 0) & ~spoiled & ~lost
        m.d.comb += [
            Assert(decoder.plain == plain),
            Assert(decoder.own == (completes & ours & (op != Op.FLUSH_REPLY))),
            Assert(~decoder.own | (decoder.op == op)),
            Assert(decoder.flush == flush, "a flush is seen as it arrives, be there room for it or not"),
            Assert(decoder.partial == under_way),
            Assert(decoder.ready == ready, "every ready signal is told, and nothing else is one"),
            Assert(decoder.reply_strobe == of_reply),
            Assert(~of_reply | (decoder.reply_place == in_reply), "and so are the bytes of replies"),
            Assert(decoder.reserved == reserved),
            Assert(decoder.reply_cut == ((in_reply != 0) & (frame | command | reply | reserved))),
            Assert(decoder.command_cut == ((place != 0) & (frame | command))),
            Assert(
                decoder.refused
                == (
                    arrived
                    & ~heard
                    & Cat(symbol == code for code in (Control.START, Control.COMMAND, Control.REPLY)).any()
                )
            ),
            Assert(~(decoder.overrun & commits) | flush),
            Assert(~(plain & decoder.full) | decoder.overrun, "what finds no room is told of"),
            # What ties the model to the registers.
            Assert(probes.place == place),
            Assert(probes.outside == ((place == 0) & (in_reply == 0))),
            Assert(
                ~byte
                | (probes.own_id == (symbol[:8] == decoder.hub_id))
                & (probes.for_all == (symbol[:8] == ANY_HUB))
                & (probes.closes == (symbol[:8] == Op.CLOSE_ALL))
            ),
            Assert(decoder.reply_place == in_reply),
            Assert((place == 0) | (probes.spoiled == spoiled)),
            Assert(probes.void == lost),
            Assert(probes.completes == ((place == _LAST) & (in_reply == 0) & ~lost)),
            Assert((place < 2) | (probes.op == op) & (probes.flushes == (op == Op.FLUSH_REPLY))),
            Assert(probes.if_own_id == ((place == 2) & (op != Op.CLOSE_ALL))),
            Assert(probes.if_for_all == ((place == 2) & Cat(op == row.op for row in COMMANDS if row.any_hub).any())),
            Assert(
                (place != 3)
                | (probes.ours == ours)
                & (probes.direct == (ours & (op != Op.FLUSH_REPLY) & ~spoiled))
                & (probes.kept == (ours & (op == Op.FLUSH_REPLY) | ~spoiled))
            ),
        ]
        with m.If(place != 0):
            m.d.comb += [
                Assert((place == 3) & ours | (loose[0] == Control.COMMAND)),
                Assert((place < 2) | (loose[1] == marked)),
                Assert((place != 3) | ours | (loose[2] == hub)),
                Assert((place != 3) | ~ours | (loose[0] == Cat(op[:OWN_OP_BITS], Const(OWN >> OWN_OP_BITS, 2)))),
            ]
        return m


_SOURCE = 'docs/wire.md, "Frames"; H15'
PROOFS = [
    Proof(
        "decoder",
        "it writes whole commands, and nothing into a full queue",
        _SOURCE,
        holds={"decoder": Attempt(SymbolDecoderProof)},
        search=Attempt(SymbolDecoderProof, mode="bmc", depth=9),
        faults={
            "a fragment stays": Fault(
                SymbolDecoder,
                "next_place",
                lambda was, s: Mux(
                    s.enabled & s.kind.command & ~s.kind.frame & (s.local("place") != 0),
                    s.local("place") + s.inside,
                    was,
                ),
            ),
            "a command is shown byte by byte": Fault(
                SymbolDecoder,
                "commit",
                lambda was, s: (
                    (s.plain & ~s.full & ~s.past)
                    | s.inside & Mux(s.ours, s.flushes | ~s.spoiled & ~s.taken, ~s.spoiled)
                ),
            ),
            "a command without room enters the queue": Fault(
                SymbolDecoder, "commit", lambda was, s: was | s.last & ~s.ours
            ),
            "a flush needs room": Fault(
                SymbolDecoder, "commit", lambda was, s: was & ~(s.last & s.ours & (s.spoiled | s.taken))
            ),
            "close all is taken out of the stream": Fault(
                SymbolDecoder, "for_us", lambda was, s: s.own_id & s.at_id | s.for_all & s.if_for_all
            ),
            "commands for others are taken out too": Fault(
                SymbolDecoder, "for_us", lambda was, s: s.if_own_id | s.for_all & s.if_for_all
            ),
            "a full queue takes a symbol": Fault(SymbolDecoder, "commit", lambda was, s: was | s.plain & ~s.past),
            "what goes past the queue enters it, too": Fault(
                SymbolDecoder, "commit", lambda was, s: was | s.plain & ~s.full
            ),
            "a command is taken twice": Fault(
                SymbolDecoder, "commit", lambda was, s: was | s.last & s.ours & ~s.spoiled
            ),
            "what was discarded goes on": Fault(
                SymbolDecoder, "completes", lambda was, s: (s.next_place == _LAST) & (s.reply_follows == 0)
            ),
            "what is discarded just now goes on": Fault(SymbolDecoder, "hears", lambda was, s: s.enabled),
        },
    ),
    Proof(
        "input_register",
        "a disabled port hears nothing, and a reserved code is told",
        _SOURCE,
        holds={},
        search=Attempt(SymbolDecoderProof, mode="bmc", depth=5),
        faults={
            "a disabled port hears": Fault(InputRegister, "enabled", lambda was, s: 1),
            "a reserved code is nothing": Fault(InputRegister, "kind", lambda was, s: with_fields(was, reserved=0)),
        },
    ),
]
