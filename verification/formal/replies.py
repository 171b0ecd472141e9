"""Proofs of hdl/hub/port/reply_buffer.py and hdl/hub/reply_bus.py: the way of a reply through the HUB, up to its output
port.

Statements: H12; docs/hub.md, "Replies" and "Neighbours".
"""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Array, Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.commands import HELLO, HELLO_ASK, HELLO_HUB, Op
from ...hdl.hub.port.reply_buffer import ARRIVED_ROOM, ReplyBuffer
from ...hdl.hub.reply_bus import ReplyBus
from ...hdl.link.symbol import COMMAND_LENGTH
from ..specs.reply_buffer import ReplyBufferSpec
from ..specs.spec import agree, beside
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "ReplyBufferProof", "ReplyBusProof"]

_LAST = COMMAND_LENGTH - 1


class ReplyBufferProof(wiring.Component):
    """A buffer; bytes of replies come in their order, any of them may be the last that comes of a reply, and the
    oldest reply leaves, at any time."""

    def __init__(self):
        self.buffer = ReplyBuffer()
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        buffer = self.buffer
        m.submodules.buffer = look_into(buffer, platform)
        probes = buffer.probes

        place, strobe = Signal(2, init=1), Signal()  # place of the next byte
        begins, completes = Signal(), Signal()
        spec, shown = beside(
            m,
            ReplyBufferSpec(),
            {"place": buffer.place, "strobe": buffer.strobe, "source__pop": buffer.source.pop},
        )
        level, no_room = spec.level, spec.no_room
        m.d.comb += [
            begins.eq(AnySeq(1)),
            strobe.eq(AnySeq(1)),
            buffer.byte.eq(AnySeq(8)),
            buffer.place.eq(Mux(begins, 1, place)),
            buffer.strobe.eq(strobe),
            buffer.source.pop.eq(AnySeq(1) & (level != 0)),
            completes.eq(strobe & (buffer.place == _LAST)),
        ]
        with m.If(strobe):
            m.d.sync += place.eq(Mux(completes, 1, buffer.place + 1))
        m.d.comb += [
            Assert(place != 0),
            Assert(probes.no_room == no_room),
            Assert((place == 1) | no_room | (level < ARRIVED_ROOM)),
            Assert(level <= ARRIVED_ROOM),
            agree(buffer.lost, shown.lost, "a reply is lost only if it found no room, and that is told"),
            agree(buffer.source.valid, shown.source__valid, "a reply that has come waits until it leaves"),
            Assert((probes.pushed - probes.popped)[:3] == level),
        ]

        # One byte of one reply.
        which, follows, complete = Signal(2), Signal(), Signal()
        word, ahead = Signal(8), Signal(range(ARRIVED_ROOM + 1))
        m.d.comb += [
            which.eq(AnyConst(2)),
            Assume(which != 0),
            probes.address.eq(Cat(which, (probes.popped + ahead)[:2])),
            buffer.source.place.eq(which),
        ]
        here = strobe & (buffer.place == which) & ~Mux(which == 1, level == ARRIVED_ROOM, no_room)
        with m.If(~follows):
            m.d.sync += [
                follows.eq(here & AnySeq(1)),
                word.eq(buffer.byte),
                ahead.eq(level - buffer.source.pop),
                complete.eq(which == _LAST),
            ]
        with m.Else():
            with m.If(~complete & strobe & (buffer.place == 1)):
                m.d.sync += follows.eq(0)  # it was cut short
            with m.If(completes):
                m.d.sync += complete.eq(1)
            with m.If(buffer.source.pop):
                m.d.sync += ahead.eq(ahead - 1)
                with m.If(ahead == 0):
                    m.d.sync += follows.eq(0)
        with m.If(follows):
            m.d.comb += [
                Assert((probes.data == word) & (ahead <= ARRIVED_ROOM - 1)),
                Assert(Mux(complete, ahead < level, (ahead == level) & (place > which) & ~no_room)),
                Assert(~complete | (ahead != 0) | (buffer.source.byte == word), "it leaves unchanged, in its turn"),
            ]
        return m


class ReplyBusProof(wiring.Component):
    """A bus; replies, routes, room and hellos that are asked for as they like. A reply stays until it is taken."""

    def __init__(self, ports):
        self.bus = ReplyBus(ports)
        self.ports = ports
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        bus, ports = self.bus, self.ports
        m.submodules.bus = look_into(bus, platform)
        probes = bus.probes
        m.d.comb += [
            bus.connected.eq(AnySeq(ports)),
            bus.full.eq(AnySeq(ports)),
            bus.hub_id.eq(AnyConst(8)),
            bus.ask.eq(AnySeq(ports)),
        ]
        for source, owner in zip(bus.source, bus.owner):
            must = Signal()  # has not been taken yet
            m.d.sync += must.eq(source.valid & ~source.pop)
            m.d.comb += [
                source.byte.eq(AnySeq(8)),
                source.valid.eq(AnySeq(1) | must),
                owner.eq(AnySeq(owner.shape())),
                Assume(owner < ports),
            ]
        port, this = Signal(range(ports), name="any_port"), Signal(ports)
        m.d.comb += [port.eq(AnyConst(port.shape())), Assume(port < ports), this.eq(1 << port)]
        byte, valid, pop = (
            Array([getattr(source, name) for source in bus.source])[port] for name in ("byte", "valid", "pop")
        )

        # Turns: one every four cycles.
        phase, asked = Signal(2), Signal()
        turn, asking = Signal(), Signal()  # it is this port's, which is to be asked
        picking, picked = Signal(), Signal()
        answers_itself = turn & asking & ((phase == 1) | (phase == 2))  # the bus still keeps that it is to be asked
        anybody = Signal()
        m.d.comb += [
            picking.eq(phase == 0),
            anybody.eq(probes.asks.any() | Cat(source.valid for source in bus.source).any()),
            picked.eq(picking & (probes.turns.pick & this).any()),
            Assert(phase == probes.place),
            Assert((probes.asks & this).any() == (asked | answers_itself)),
            Assert(~answers_itself | ((probes.asked_anew & this).any() == asked)),
            Assert(
                ~picking | ((probes.turns.asks & this).any() == (valid | asked)),
                "everybody who has a reply takes part in the turns",
            ),
        ]
        m.d.sync += [
            phase.eq(Mux(picking, anybody, phase + 1)),
            asked.eq(asked & ~picked | (bus.ask & this).any()),
        ]

        # The bound: cycles that a reply of this port has waited to be taken.
        others = Signal(range(ports + 1))  # turns in a row that others got before it
        with m.If(picking):
            with m.If((valid | asked) & ~picked):
                m.d.sync += others.eq(others + 1)
            with m.Else():
                m.d.sync += others.eq(0)
        last = Mux(
            probes.turns.probes.last == 0, ports - 1, sum(Mux(probes.turns.probes.last[n], n, 0) for n in range(ports))
        )
        distance = Mux(port > last, port - last, port + ports - last)
        m.d.comb += [
            Assert(others + distance <= ports),
            Assert(others < ports, "at most all others go first, a turn each, four cycles a turn"),
            Assert(~others.any() | valid | asked),
        ]

        # A turn of this port, and its bytes on their way: read in phases 1 to 3, routed a cycle later, pushed two
        # cycles later.
        with m.If(picking):
            m.d.sync += [turn.eq(picked), asking.eq(asked)]
        m.d.comb += [
            Assert(picking | ((probes.origin & this).any() == turn)),
            Assert(picking | ((probes.origin & (probes.origin - 1))[:ports] == 0)),
            Assert(pop == (turn & (phase == _LAST) & ~asking), "a reply is taken in its turn, with its last byte"),
            Assert(picking | ~turn | asking | valid),
        ]
        read, read_place = Signal(8), Signal(2)  # 0: nothing of this port
        m.d.sync += [read.eq(byte), read_place.eq(Mux(turn, phase, 0))]
        read_asking = Signal()
        m.d.sync += read_asking.eq(asking)
        hello = ~read_asking & (read[1:] == HELLO >> 1)
        greets = read_asking | (read == HELLO_ASK)
        connected = (bus.connected & this).any()
        goes_on, nowhere, target, says = Signal(), Signal(), Signal(range(ports)), Signal()
        out, out_place = Signal(8), Signal(2)
        heard = Signal()
        m.d.sync += [out_place.eq(read_place), out.eq(read)]
        with m.If(read_place == 1):
            m.d.sync += [
                says.eq(greets),
                heard.eq(hello),
                goes_on.eq(greets | ~hello & connected),
                nowhere.eq(~greets & ~hello & ~connected),
                target.eq(Mux(greets, port, Array(bus.owner)[port])),
            ]
            with m.If(greets):
                m.d.sync += out.eq(Mux(read_asking, HELLO_ASK, HELLO))
        with m.Elif(says):
            m.d.sync += out.eq(Mux(read_place == 2, bus.hub_id, HELLO_HUB | port))
        fits, room = Signal(), Signal()
        m.d.comb += room.eq(Mux(out_place == 1, ~bus.full.bit_select(target, 1), fits))
        with m.If(out_place == 1):
            m.d.sync += fits.eq(room)
        m.d.comb += [
            Assert(
                (bus.close & this).any()
                == ((read_place == 1) & ~read_asking & (read == Op.CLOSE_ALL_REPLY) & connected),
                "the answer to a close all reply closes the connection that it comes back along, and nothing else does",
            ),
            Assert((bus.no_route & this).any() == ((out_place == 1) & nowhere), "a reply that has no way is told of"),
            Assert((bus.lost & this).any() == ((out_place == 1) & goes_on & ~room), "and one that finds no room"),
            Assert(~bus.push.any() | (bus.place != 0)),
            Assert((bus.push & (bus.push - 1))[:ports] == 0, "a reply goes to one port"),
        ]
        with m.If(out_place != 0):
            m.d.comb += [
                Assert(bus.place == out_place),
                Assert(
                    bus.push == Mux(goes_on & ((out_place == 1) | room), 1 << target, 0),
                    "two cycles after it is read a byte is where it belongs, and no reply goes where there is no room",
                ),
                Assert(bus.byte == out, "unchanged, or what this HUB says of itself"),
                Assert(bus.busy),
            ]
        with m.If(read_place > 1):
            m.d.comb += [
                Assert(bus.hello.id == (heard & (read_place == 2)), "what a neighbour says is remembered"),
                Assert(bus.hello.kind == (heard & (read_place == 3))),
                Assert((bus.hello.index == port) & (bus.hello.byte == read)),
            ]
        return m


PROOFS = [
    Proof(
        "reply_buffer",
        "it keeps replies in order, and tells of what it loses",
        'docs/hub.md, "Replies"',
        holds={"reply buffer": Attempt(ReplyBufferProof)},
        search=Attempt(ReplyBufferProof, mode="bmc", depth=18),
        faults={
            "a reply is written over another": Fault(ReplyBuffer, "port__en", lambda was, s: s.strobe),
            "a lost reply is not told of": Fault(ReplyBuffer, "lost", lambda was, s: 0),
            "a reply that is cut short is kept": Fault(
                ReplyBuffer, "comes", lambda was, s: s.strobe & (s.place != 1) & ~s.no_room
            ),
        },
    ),
    Proof(
        "reply_bus",
        "it takes every reply to its output in bounded time",
        "H12",
        holds={
            "3 ports": Attempt(lambda: ReplyBusProof(3), depth=6),
            "16 ports": Attempt(lambda: ReplyBusProof(16), depth=6, nightly=True),
        },
        search=Attempt(lambda: ReplyBusProof(3), mode="bmc", depth=9),
        faults={
            "a reply goes where there is no room": Fault(
                ReplyBus, "goes", lambda was, s: s.routed & (s.out_place != 0)
            ),
            "a lost reply is not told of": Fault(ReplyBus, "lost", lambda was, s: 0),
            "a hello is passed on": Fault(
                ReplyBus,
                "routed",
                lambda was, s: Mux(s.opcode, s.greets | (s.connected & s.read_origin).any(), was),
            ),
            "a reply stays on the bus's list": Fault(
                ReplyBus,
                "source__{n}__pop",
                lambda was, s, n: s.origin[n] & (s.local("place") == COMMAND_LENGTH - 1) & s.asking,
            ),
            "any reply closes its connection": Fault(
                ReplyBus,
                "close",
                lambda was, s: Mux(s.opcode & ~s.read_asking, s.connected & s.read_origin, 0),
            ),
        },
    ),
]
