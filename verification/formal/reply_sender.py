"""Proof of hdl/hub/port/reply_sender.py: replies leave unchanged, in order, in turns with the port's own answers, in
bounded time.

Statements: H12; docs/hub.md, "Replies".
"""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Array, Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.messages import Reply
from ...hdl.hub.port.reply_sender import REPLY_ROOM, ReplySender
from ...hdl.link.symbol import COMMAND_LENGTH, Control
from ..specs.reply_sender import ReplySenderSpec
from ..specs.spec import agree, beside
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "ReplySenderProof", "MOST_SYMBOLS"]

_LAST = COMMAND_LENGTH - 1
#: Symbols of replies within which a reply is sent once the port has it: those of all that wait, and of an answer before
#: each.
MOST_SYMBOLS = 2 * REPLY_ROOM * COMMAND_LENGTH
#: The same of the port's own answer.
_MOST_OF_ANSWER = 2 * COMMAND_LENGTH


class ReplySenderProof(wiring.Component):
    """A sender. Opcodes of replies come at any time, the other bytes if there was room; answers at any time, and stay
    until they are taken."""

    def __init__(self):
        self.sender = ReplySender()
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        sender = self.sender
        m.submodules.sender = look_into(sender, platform)
        probes = sender.probes

        spec, shown = beside(
            m,
            ReplySenderSpec(),
            {"push": sender.push, "take": sender.take, "answer__valid": sender.answer.valid},
        )
        level, come, at, own = spec.level, spec.come, spec.at, spec.own
        taken, completes, leaves = Signal(), Signal(), Signal()
        must, kept = Signal(), Signal(Reply)
        m.d.comb += [
            sender.byte.eq(AnySeq(8)),
            sender.place.eq(Mux(sender.push, come, AnySeq(2))),
            sender.push.eq((come != 1) | AnySeq(1)),
            taken.eq(shown.keeps),
            completes.eq(sender.push & (come == _LAST)),
            sender.answer.valid.eq(AnySeq(1) | must),
            sender.answer.payload.eq(AnySeq(24)),
            Assume(~must | (sender.answer.payload.as_value() == kept.as_value())),
            sender.take.eq(sender.waiting & AnySeq(1)),
            sender.muted.eq(AnySeq(1)),
            Assert(~sender.muted | (sender.symbol == 0)),
        ]
        m.d.sync += [must.eq(sender.answer.valid & ~sender.answer.ready), kept.eq(sender.answer.payload)]
        m.d.comb += leaves.eq(sender.take & (at == _LAST) & ~own)
        answer = sender.answer.payload
        m.d.comb += [
            Assert(come != 0),
            Assert((come == 1) | (level < REPLY_ROOM)),
            Assert((at == 0) | Mux(own, must, level != 0)),
            Assert((probes.come - probes.sent)[:3] == level),
            Assert((probes.at == at) & (probes.own == own)),
            Assert(level <= REPLY_ROOM),
            agree(sender.full, shown.full, "it takes a reply when there is room"),
            agree(sender.waiting, shown.waiting, "it has something to send whenever something waits"),
            agree(sender.answer.ready, shown.answer__ready, "an answer is taken with its last symbol"),
            Assert((at != 0) | sender.muted | (sender.symbol == Control.REPLY)),
            Assert(
                (at == 0)
                | ~own
                | sender.muted
                | (sender.symbol == Array([0, answer.op, answer.hub, answer.value])[at]),
                "an answer is sent as it is",
            ),
            Assert((at == 0) | ~sender.symbol[-1], "the bytes of a reply are bytes"),
        ]

        # One byte of one reply, and the symbols that are sent until that reply is out.
        which, follows, complete = Signal(2), Signal(), Signal()
        word, ahead, waited, left = (
            Signal(8),
            Signal(range(REPLY_ROOM + 1)),
            Signal(range(MOST_SYMBOLS + 1)),
            Signal(range(2 * MOST_SYMBOLS)),
        )
        m.d.comb += [
            which.eq(AnyConst(2)),
            Assume(which != 0),
            probes.address.eq(Cat(which, (probes.sent + ahead)[:2])),
            left.eq(8 * ahead + Mux(at == 0, Mux(own, 4, 8), Mux(own, 8 - at, 4 - at))),
        ]
        with m.If(~follows):
            m.d.sync += [
                follows.eq(taken & (come == which) & AnySeq(1)),
                word.eq(sender.byte),
                ahead.eq(level - leaves),
                complete.eq(which == _LAST),
                waited.eq(0),
            ]
        with m.Else():
            with m.If(completes):
                m.d.sync += complete.eq(1)
            with m.If(complete):
                m.d.sync += waited.eq(waited + sender.take)
            with m.If(leaves):
                m.d.sync += [ahead.eq(ahead - 1), follows.eq(ahead != 0)]
        with m.If(follows):
            m.d.comb += [
                Assert((probes.data == word) & (ahead < REPLY_ROOM)),
                Assert(Mux(complete, ahead < level, (ahead == level) & (come > which) & (waited == 0))),
                Assert(
                    ~complete | (ahead != 0) | own | (at != which) | sender.muted | (sender.symbol == word),
                    "it is sent unchanged, in its turn",
                ),
                Assert(~complete | (waited + left <= MOST_SYMBOLS), "within so many symbols"),
            ]

        # The same of an answer.
        answer_waited = Signal(range(_MOST_OF_ANSWER + 1))
        with m.If(sender.answer.ready | ~sender.answer.valid):
            m.d.sync += answer_waited.eq(0)
        with m.Else():
            m.d.sync += answer_waited.eq(answer_waited + sender.take)
        answer_left = Mux(at == 0, Mux(own, 8, 4), Mux(own, 4 - at, 8 - at))
        with m.If(sender.answer.valid):
            m.d.comb += Assert(answer_waited + answer_left <= _MOST_OF_ANSWER, "an answer waits for one reply at most")
        return m


PROOFS = [
    Proof(
        "reply_sender",
        "it sends replies and answers in turns, unchanged and in bounded time",
        "H12",
        holds={"reply sender": Attempt(ReplySenderProof)},
        search=Attempt(ReplySenderProof, mode="bmc", depth=16),
        faults={
            "answers always go first": Fault(ReplySender, "turn", lambda was, s: s.answer__valid),
            "the bytes of an answer change places": Fault(
                ReplySender,
                "symbol",
                lambda was, s: Mux(s.others, Mux(s.at[1], s.answer__payload.op, s.answer__payload.value), was),
            ),
            "a reply that finds no room is written over another": Fault(ReplySender, "port__en", lambda was, s: s.push),
            "the last place for a reply is not used": Fault(
                ReplySender,
                "full",
                lambda was, s: ~s.goes & (s.full | s.comes & ((s.come - s.sent)[: len(s.come)] == REPLY_ROOM - 2)),
            ),
        },
    )
]
