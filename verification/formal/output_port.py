"""Proof of hdl/hub/output_port.py: what is on the fiber, in every cycle, and what the rest of the HUB hears of it.

Statements: H12, H13, H15; docs/hub.md, "Output side of a port". The model keeps a list where the port has a ring, counts what
waits, and knows the content of one arbitrary reply.
"""

from amaranth.asserts import AnySeq
from amaranth.hdl import Array, Assert, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.messages import Passage, Reply
from ...hdl.hub.output_port import READY_LIMIT
from ...hdl.hub.reply_sender import REPLY_ROOM
from ...hdl.link.symbol import COMMAND_LENGTH, SYMBOL_BITS, Control
from .prove import look_into

__all__ = ["OutputPortProof", "MOST_LOADS"]

#: Loads of the output register, ready signals not counted, within which a reply is sent, once the port has taken it.
MOST_LOADS = REPLY_ROOM * COMMAND_LENGTH


class OutputPortProof(wiring.Component):
    """An output port of class ``OutputPort``; symbols and replies come at any time when there is room, all else at any time."""

    def __init__(self, OutputPort):
        self.port = OutputPort()
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        port = self.port
        m.submodules.port = look_into(port, platform)
        spy, sender = port.spy, port.spy.replies.spy
        m.d.comb += [
            port.passage.eq(AnySeq(Passage.as_shape().size)),
            port.push.eq(AnySeq(1) & port.space),
            port.send_ready.eq(AnySeq(1)),
            port.ready_arrived.eq(AnySeq(1)),
            port.reply.eq(AnySeq(Reply.as_shape().size)),
            port.reply_push.eq(AnySeq(1) & ~port.reply_full),
            port.tx.ready.eq(AnySeq(1)),
        ]

        # What waits: ready signals, symbols of replies, symbols from the crossbar, the oldest first.
        readies = Signal(range(READY_LIMIT + 1))
        reply_symbols = Signal(range(MOST_LOADS + 1))
        count, first, second = Signal(range(3)), Signal(Passage), Signal(Passage)
        loads, sends_ready, sends_reply, sends_passage = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            loads.eq(~port.tx.valid | port.tx.ready),
            sends_ready.eq(loads & (readies != 0)),
            sends_reply.eq(loads & (readies == 0) & (reply_symbols != 0)),
            sends_passage.eq(loads & (readies == 0) & (reply_symbols == 0) & (count != 0)),
        ]
        m.d.sync += [
            readies.eq(readies + (port.send_ready & (readies != READY_LIMIT)) - sends_ready),
            reply_symbols.eq(reply_symbols + Mux(port.reply_push, COMMAND_LENGTH, 0) - sends_reply),
            count.eq(count + port.push - sends_passage),
        ]
        with m.If(sends_passage):
            m.d.sync += first.eq(second)
        with m.If(port.push):
            with m.If(count == sends_passage):
                m.d.sync += first.eq(port.passage)
            with m.Else():
                m.d.sync += second.eq(port.passage)

        # One reply, and how many symbols are to be sent until it is out.
        follows, reply, left = Signal(), Signal(Reply), Signal(range(MOST_LOADS + 1))
        waited = Signal(range(MOST_LOADS + 1))  # loads of the output register since it came, ready signals not counted
        with m.If(~follows):
            m.d.sync += [
                follows.eq(port.reply_push & AnySeq(1)),
                reply.eq(port.reply),
                left.eq(reply_symbols - sends_reply + COMMAND_LENGTH),
                waited.eq(0),
            ]
        with m.Else():
            m.d.sync += [left.eq(left - sends_reply), waited.eq(waited + (loads & ~sends_ready))]
            with m.If(left == sends_reply):
                m.d.sync += follows.eq(0)

        # What the fiber shows after a load.
        valid, symbol, known = Signal(), Signal(SYMBOL_BITS), Signal()
        closed, bit = Signal(), Signal(init=1)
        start = Signal()
        m.d.comb += start.eq(sends_passage & (first.symbol == Control.START))
        m.d.sync += closed.eq(sends_passage & first.closes)
        with m.If(loads):
            m.d.sync += [valid.eq(sends_ready | sends_reply | sends_passage), known.eq(1)]
            with m.If(sends_ready):
                m.d.sync += symbol.eq(Control.READY)
            with m.Elif(sends_reply):
                ours = follows & (left <= COMMAND_LENGTH)
                place = (COMMAND_LENGTH - reply_symbols)[:2]
                m.d.sync += [
                    symbol.eq(Array([Control.REPLY, reply.op, reply.hub, reply.value])[place]),
                    known.eq(ours | (place == 0)),
                ]
            with m.Else():
                m.d.sync += symbol.eq(first.symbol)
        with m.If(start):
            m.d.sync += bit.eq(0)
        with m.Elif(port.ready_arrived):
            m.d.sync += bit.eq(1)

        starts = (((count > 0) & (first.symbol == Control.START)) + ((count > 1) & (second.symbol == Control.START)))
        m.d.comb += [
            Assert(port.tx.valid == valid, "something is on the fiber exactly if something waited"),
            Assert(~valid | ~known | (port.tx.payload == symbol), "ready signals first, then replies, then what came, in order"),
            Assert(~valid | known | ~port.tx.payload[-1], "a reply's bytes are bytes"),
            Assert(port.closed == closed, "it closes exactly when the last symbol of a close all has entered the output register"),
            Assert(~port.closed | valid & known & (port.tx.payload == symbol), "and that symbol is there"),
            Assert(port.ready == (bit & (starts == 0)), "ready from an arriving ready signal on until a start comes"),
            Assert(port.space == (count != 2), "it takes a symbol when there is a place"),
            Assert(port.reply_full == (reply_symbols > MOST_LOADS - COMMAND_LENGTH), "it takes a reply when there is room"),
            Assert(port.busy == (valid | closed | (readies != 0) | (reply_symbols != 0) | (count != 0))),
        ]
        with m.If(follows):
            m.d.comb += Assert(waited + left <= MOST_LOADS, "a reply is out within so many loads, whatever the data do")

        # What ties the model to the registers.
        position = Signal.like(sender.sent)
        m.d.comb += [
            Assert(spy.ready_bit == bit),
            Assert((spy.readies - spy.readies_sent)[:4] == readies),
            Assert((spy.pushed - spy.taken)[:2] == count),
            Assert((spy.starts_pushed - spy.starts_taken)[:2] == starts),
            Assert((count == 0) | (Array([p.as_value() for p in spy.places])[spy.taken[0]] == first.as_value())),
            Assert((count != 2) | (Array([p.as_value() for p in spy.places])[~spy.taken[0]] == second.as_value())),
            Assert((Cat(Const(0, 2), sender.pushed) - sender.sent)[:5] == reply_symbols),
            position.eq(sender.sent + left - COMMAND_LENGTH),
            sender.address.eq(position[2:4]),
        ]
        with m.If(follows):
            m.d.comb += [
                Assert((left != 0) & (left <= reply_symbols)),
                Assert(position[:2] == 0),
                Assert(sender.data.as_value() == reply.as_value(), "unchanged"),
            ]
        return m
