"""Proofs of hdl/hub/reply_buffer.py and hdl/hub/reply_bus.py: the way of a reply through the HUB, up to its output port.

Statements: H12; docs/hub.md, "Replies".
"""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Array, Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.messages import Reply, RoutedReply
from ...hdl.hub.reply_buffer import ARRIVED_ROOM
from .arbiter import waiting
from .prove import look_into

__all__ = ["ReplyBufferProof", "ReplyBusProof"]


class ReplyBufferProof(wiring.Component):
    """A buffer of class ``ReplyBuffer``; replies and answers come, and the oldest leaves, at any time."""

    def __init__(self, ReplyBuffer):
        self.buffer = ReplyBuffer()
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        buffer = self.buffer
        m.submodules.buffer = look_into(buffer, platform)
        spy = buffer.spy
        bits = Reply.as_shape().size
        m.d.comb += [
            buffer.arrived.eq(AnySeq(bits)),
            buffer.arrived_valid.eq(AnySeq(1)),
            buffer.answer.payload.eq(AnySeq(bits)),
            buffer.answer.valid.eq(AnySeq(1)),
            buffer.output.ready.eq(AnySeq(1)),
        ]
        level, full, enters, leaves = Signal(range(ARRIVED_ROOM + 1)), Signal(), Signal(), Signal()
        m.d.comb += [
            full.eq(level == ARRIVED_ROOM),
            enters.eq(~full & (buffer.arrived_valid | buffer.answer.valid)),
            leaves.eq((level != 0) & buffer.output.ready),
            Assert(buffer.lost == (buffer.arrived_valid & full), "a reply is lost only if there is no room"),
            Assert(buffer.answer.ready == (~buffer.arrived_valid & ~full), "an answer waits only for room and for replies"),
            Assert(buffer.output.valid == (level != 0)),
            Assert((spy.pushed - spy.popped)[:3] == level),
        ]
        m.d.sync += level.eq(level + enters - leaves)

        follows, word, ahead = Signal(), Signal(RoutedReply), Signal(range(ARRIVED_ROOM))
        m.d.comb += spy.address.eq(spy.popped + ahead)
        with m.If(~follows):
            m.d.sync += [
                follows.eq(enters & AnySeq(1)),
                word.reply.eq(Mux(buffer.arrived_valid, buffer.arrived.as_value(), buffer.answer.payload.as_value())),
                word.own.eq(~buffer.arrived_valid),
                ahead.eq(level - leaves),
            ]
        with m.Elif(leaves):
            m.d.sync += [ahead.eq(ahead - 1), follows.eq(ahead != 0)]
        with m.If(follows):
            m.d.comb += [
                Assert((ahead < level) & (spy.data.as_value() == word.as_value())),
                Assert((ahead != 0) | (buffer.output.payload.as_value() == word.as_value()), "it leaves unchanged, in its turn"),
            ]
        return m


class ReplyBusProof(wiring.Component):
    """A bus of class ``ReplyBus``; replies, routes and room as they like."""

    def __init__(self, ReplyBus, ports):
        self.bus = ReplyBus(ports)
        self.ports = ports
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        bus, ports = self.bus, self.ports
        m.submodules.bus = look_into(bus, platform)
        m.d.comb += [bus.connected.eq(AnySeq(ports)), bus.full.eq(AnySeq(ports))]
        for source, owner in zip(bus.source, bus.owner):
            m.d.comb += [
                source.payload.eq(AnySeq(RoutedReply.as_shape().size)),
                source.valid.eq(AnySeq(1)),
                owner.eq(AnySeq(owner.shape())),
                Assume(owner < ports),
            ]
        port, this = Signal(range(ports), name="any_port"), Signal(ports)
        m.d.comb += [port.eq(AnyConst(port.shape())), Assume(port < ports), this.eq(1 << port)]
        waiting(m, bus.spy.turns, ports, port)

        valid, ready = Signal(), Signal()
        payload = Signal(RoutedReply)
        m.d.comb += [
            valid.eq(Array([source.valid for source in bus.source])[port]),
            ready.eq(Array([source.ready for source in bus.source])[port]),
            payload.eq(Array([source.payload.as_value() for source in bus.source])[port]),
            Assert((bus.spy.turns.asks & this).any() == valid, "everybody who has a reply takes part in the turns"),
            Assert(~ready | valid),
        ]
        was, target, reply = Signal(), Signal(ports), Signal(Reply)
        m.d.sync += [was.eq(ready), reply.eq(payload.reply)]
        with m.If(payload.own):
            m.d.sync += target.eq(this)
        with m.Else():
            m.d.sync += target.eq(Mux((bus.connected & this).any(), 1 << Array(bus.owner)[port], 0))
        pushed = Signal()
        m.d.comb += [
            pushed.eq((target & ~bus.full) != 0),
            Assert((bus.spy.origin & this).any() == was),
            Assert((bus.spy.origin & (bus.spy.origin - 1))[:ports] == 0, "one reply a cycle"),
            Assert((bus.push & bus.full) == 0, "no reply goes where there is no room"),
            Assert((bus.lost & this).any() == (was & ~pushed), "a reply is lost only if it has no way or no room, and that is told"),
        ]
        with m.If(was):
            m.d.comb += [
                Assert(bus.push == Mux(pushed, target, 0), "in the next cycle it is where it belongs"),
                Assert(bus.busy & (bus.reply.as_value() == reply.as_value())),
                Assert(bus.spy.target == target),
            ]
        with m.If(bus.spy.origin == 0):
            m.d.comb += Assert((bus.push == 0) & (bus.lost == 0), "nothing comes from nowhere")
        return m
