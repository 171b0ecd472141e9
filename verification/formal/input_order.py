"""Proof of hdl/hub/port/bypass.py and hdl/hub/port/input_queue.py together: the way past the queue keeps the order.

Statements: H14; docs/hub.md, "Timing"; the docstring of Bypass. Symbols that belong to no command, and entries that
must go through the queue, arrive at any time; one arbitrary of them is followed to the head."""

from amaranth.asserts import AnySeq
from amaranth.hdl import Array, Assert, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.port.bypass import BYPASS_ROOM, Bypass
from ...hdl.hub.port.entry import is_control_code, is_own
from ...hdl.hub.port.input_queue import InputQueue
from ...hdl.link.symbol import SYMBOL_BITS
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "InputOrderProof"]


class InputOrderProof(wiring.Component):
    """A queue and a bypass, wired as in InputPort."""

    def __init__(self, capacity):
        self.queue, self.bypass = InputQueue(capacity), Bypass()
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        queue, bypass = self.queue, self.bypass
        m.submodules.queue = look_into(queue, platform)
        m.submodules.bypass = look_into(bypass, platform)
        inside, near, between = queue.probes, bypass.probes.places, bypass.probes

        came = Signal(SYMBOL_BITS)  # what is in the input register
        kept, clear, diverts, enters = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            came.eq(AnySeq(SYMBOL_BITS)),
            bypass.symbol.eq(came),
            bypass.plain.eq(AnySeq(1)),
            kept.eq(AnySeq(1) & ~bypass.plain),  # an entry that has to go through the queue
            clear.eq(AnySeq(1)),
            bypass.clear.eq(clear),
            queue.clear.eq(clear),
            bypass.oldest.eq(queue.oldest),
            bypass.oldest_valid.eq(queue.valid),
            bypass.empty.eq(queue.empty),
            queue.pop.eq(bypass.pop_queue),
            queue.entry.eq(came),
            queue.commit.eq(queue.write),
            queue.amount.eq(1),
            diverts.eq(bypass.plain & bypass.open),
            queue.write.eq((bypass.plain & ~diverts | kept) & ~queue.full),
            bypass.pop.eq(bypass.valid & AnySeq(1)),
            enters.eq(diverts | queue.write),
        ]

        # The model counts what is in each of the two, and follows one entry from its arrival. Between the two is a
        # register behind the queue's memory.
        bits = range(queue.capacity + 8)
        far, mid, close, moves = Signal(bits), Signal(), Signal(bits), Signal()
        m.d.comb += moves.eq(mid & (close < BYPASS_ROOM))
        m.d.sync += [
            far.eq(Mux(clear, 0, far - bypass.pop_queue) + queue.write),
            mid.eq(~clear & (bypass.pop_queue | mid & ~moves)),
            close.eq(Mux(clear, 0, close + moves + diverts - bypass.pop)),
        ]
        m.d.comb += [
            Assert(inside.level == far),
            Assert(inside.unread == far - queue.valid),
            Assert(between.fetched_valid == mid),
            Assert(sum(near.some) == close),
            Assert(~diverts | (far == 0) & ~mid, "nothing goes past what waits in the queue"),
            Assert(bypass.pop_queue == (queue.valid & (~mid | moves)), "what waits in the queue comes near at once"),
            Assert(bypass.valid == (close != 0), "what is here is offered"),
            Assert(~bypass.plain | diverts | queue.write | queue.full, "no symbol is lost for which there is room"),
            Assert(bypass.clean == (far == 0) & ~mid & (close == 0)),
        ]
        follows, word, ahead = Signal(), Signal(SYMBOL_BITS), Signal(bits)
        own, code = Signal(), Signal()  # what it is; a symbol that goes past the queue is as it came
        kinds = Cat(is_own(word), is_control_code(word))
        m.d.comb += inside.address.eq(inside.end - far + ahead - close - mid)
        with m.If(~follows):
            m.d.sync += [
                follows.eq(enters & AnySeq(1) & ~(clear & diverts)),
                word.eq(came),
                own.eq(is_own(came) & ~diverts),
                code.eq(Mux(diverts, came[8], is_control_code(came))),
                ahead.eq(Mux(clear, 0, far + mid + close - bypass.pop)),
            ]
        with m.Elif(clear):
            m.d.sync += follows.eq(0)
        with m.Elif(bypass.pop):
            m.d.sync += [ahead.eq(ahead - 1), follows.eq(ahead != 0)]
        with m.If(follows):
            m.d.comb += Assert(ahead < far + mid + close, "it is still there")
            with m.If(ahead < close):
                m.d.comb += Assert(
                    Array(near.entries)[ahead] == Cat(word, own, code), "unchanged in front of the queue, and known"
                )
            with m.Elif(mid & (ahead == close)):
                m.d.comb += [Assert(between.fetched == word), Assert(Cat(own, code) == kinds)]
            with m.Else():
                m.d.comb += [
                    Assert(inside.data == word, "unchanged in the queue"),
                    Assert(Cat(own, code) == kinds),
                    Assert((ahead != close + mid) | ~queue.valid | (queue.oldest == word)),
                ]
            with m.If((ahead == 0) & bypass.valid):
                m.d.comb += [
                    Assert(bypass.entry == word, "it is offered behind all that came before it"),
                    Assert(Cat(bypass.own, bypass.control_code) == Cat(own, code), "and known for what it is"),
                ]
        return m


PROOFS = [
    Proof(
        "input_order",
        "the way past the queue keeps the order",
        "H14",
        holds={
            "9 entries": Attempt(lambda: InputOrderProof(9), depth=3),
            "64 entries": Attempt(lambda: InputOrderProof(64), depth=3, nightly=True),
        },
        search=Attempt(lambda: InputOrderProof(9), mode="bmc", depth=9),
        faults={
            "a symbol goes past the queue": Fault(Bypass, "open", lambda was, s: s.room),
            "it takes more than it has places": Fault(Bypass, "pop_queue", lambda was, s: s.oldest_valid),
            "what the memory has given is written over": Fault(
                Bypass, "fetched_valid", lambda was, s: was & ~(s.fetched_valid & s.oldest_valid)
            ),
            "a command is taken for a symbol": Fault(Bypass, "own", lambda was, s: 0),
            "a close all's opcode is taken for a control code": Fault(
                Bypass, "control_code", lambda was, s: s.entry[8]
            ),
            "a clearing leaves one": Fault(Bypass, "some", lambda was, s: Mux(s.clear, s.some[1:], was)),
        },
    )
]
