"""Proof of hdl/hub/port/input_queue.py: the input queue keeps order and content, sees no more than it may, and never
overflows.

Statements: H14; docs/hub.md, "Input side of a port", and the docstring of InputQueue. An arbitrary entry is followed
from the cycle in which it is written, be it committed at once, later or never."""

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.port.input_queue import InputQueue
from ...hdl.link.queue import QUEUE_DEPTH
from ...hdl.link.symbol import COMMAND_LENGTH, SYMBOL_BITS
from ..specs.input_queue import InputQueueSpec
from ..specs.spec import agree, beside
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "InputQueueProof"]


class InputQueueProof(wiring.Component):
    """A queue; entries are written where there is room for them, committed, taken and cleared at any time."""

    def __init__(self, capacity):
        self.queue = InputQueue(capacity)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        queue, capacity = self.queue, self.queue.capacity
        m.submodules.queue = look_into(queue, platform)
        probes = queue.probes

        spec, shown = beside(
            m,
            InputQueueSpec(capacity),
            {name: getattr(queue, name) for name in ("commit", "amount", "clear", "pop")},
        )
        level, gone = spec.level, Signal(range(capacity + 1))
        place = Signal(range(COMMAND_LENGTH))  # of what is written, behind what is committed
        number = Signal(range(1, COMMAND_LENGTH + 1))  # of what is committed if this entry is
        m.d.comb += [
            queue.entry.eq(AnySeq(SYMBOL_BITS)),
            queue.offset.eq(AnySeq(queue.offset.shape())),
            queue.first.eq(AnySeq(1)),
            place.eq(Mux(queue.first, 0, queue.offset)),
            number.eq(place + 1),
            queue.write.eq(AnySeq(1)),
            queue.amount.eq(AnySeq(queue.amount.shape())),
            Assume(~queue.commit | (queue.amount == number)),
            Assume(~queue.commit | (number == 1) | ~queue.tight | queue.clear),
            queue.commit.eq(
                AnySeq(1) & queue.write & (number != 3) & Mux(queue.clear, number <= 2, level + number <= capacity)
            ),
            queue.clear.eq(AnySeq(1)),
            queue.pop.eq(AnySeq(1) & queue.valid),
            gone.eq(Mux(queue.clear, level, queue.pop)),
        ]
        m.d.comb += [
            Assert(probes.level == level),
            Assert(probes.unread == level - queue.valid),
            Assert(queue.valid | (level <= COMMAND_LENGTH), "the oldest is read as soon as it can be"),
            Assert(level <= capacity, "it never overflows"),
            agree(queue.full, shown.full, "it is full when its room is used, and only then"),
            agree(queue.tight, shown.tight, "tight when a command has no room, and only then"),
            agree(queue.empty, shown.empty, "it is empty when nothing is committed"),
            agree(queue.level, shown.level, "its fill is told"),
            agree(queue.valid, shown.valid, "what is committed is offered from the second cycle on, and nothing else"),
        ]

        # The entry that is followed: how many are before it.
        follows, word, ahead = Signal(), Signal(SYMBOL_BITS), Signal(range(capacity + COMMAND_LENGTH))
        m.d.comb += probes.address.eq(probes.end - level + ahead)
        with m.If(~follows):
            m.d.sync += [
                follows.eq(queue.write & AnySeq(1)),
                word.eq(queue.entry),
                ahead.eq(level + place - gone),
            ]
        with m.Elif((ahead < gone) | queue.write & (ahead == level + place)):
            m.d.sync += follows.eq(0)  # taken, thrown away, or written over since it was not committed
        with m.Else():
            m.d.sync += ahead.eq(ahead - gone)
        with m.If(follows):
            m.d.comb += [
                Assert(probes.data == word, "unchanged"),
                Assert(ahead < capacity + COMMAND_LENGTH),
                Assert(~((ahead == 0) & queue.valid) | (queue.oldest == word), "it is the oldest when its turn comes"),
            ]
        return m


PROOFS = [
    Proof(
        "input_queue",
        "it keeps order and content, and never overflows",
        'H14; docs/hub.md, "Input side of a port"; section 4.2.3',
        holds={
            "9 entries": Attempt(lambda: InputQueueProof(9)),
            "full size": Attempt(lambda: InputQueueProof(QUEUE_DEPTH), nightly=True),
        },
        search=Attempt(lambda: InputQueueProof(9), mode="bmc", depth=9),
        faults={
            # One entry more has been read: eight are unread when all nine places are used.
            "it takes one more than it has room for": Fault(
                InputQueue, "full", lambda was, s: Mux(s.commits, s.unread + s.step, s.unread - s.reads) == 9
            ),
            "a queue that is full stays full": Fault(InputQueue, "full", lambda was, s: was | s.full),
            "what is first stands behind what is not committed": Fault(
                InputQueue, "address", lambda was, s: Cat(s.at[:2], Mux(s.at[2], s.above, s.high))
            ),
            "the head sees what is not committed": Fault(InputQueue, "commits", lambda was, s: s.write),
            "only the last place is committed": Fault(InputQueue, "behind", lambda was, s: s.low + 1),
            "an entry is offered twice": Fault(InputQueue, "reads", lambda was, s: ~s.valid & (s.unread != 0)),
            "what is committed while it is cleared is lost": Fault(
                InputQueue, "unread", lambda was, s: Mux(s.clear, 0, was)
            ),
            "of two that are committed while it is cleared one is lost": Fault(
                InputQueue, "unread", lambda was, s: Mux(s.clear & s.commits, 1, was)
            ),
        },
    )
]
