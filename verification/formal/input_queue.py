"""Proof of hdl/hub/queue.py: the input queue keeps order and content, sees no more than it may, and never overflows.

Statements: docs/hub.md, "Input side of a port", and the docstring of InputQueue. An arbitrary entry is followed from the
cycle in which it is written. How many slots the entries before it take is assumed to be right, as the same proof shows
for each of them: an induction over the entries. With ``alone`` false that is asserted too, for a bounded search.
"""

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.messages import QueueEntry
from ...hdl.link.symbol import COMMAND_LENGTH
from .prove import look_into

__all__ = ["InputQueueProof"]


class InputQueueProof(wiring.Component):
    """A queue of class ``InputQueue`` used as the receiver and the head use it.

    The receiver writes only when there is room, and a command as the fourth entry that is not committed.
    """

    def __init__(self, InputQueue, capacity, alone=True):
        self.queue = InputQueue(capacity)
        self.alone = alone
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        queue, capacity = self.queue, self.queue.capacity
        m.submodules.queue = look_into(queue, platform)
        spy = queue.spy
        bits = range(capacity + 1)

        # The model counts slots: all that are written; those that are not committed.
        level, loose, visible = Signal(bits), Signal(bits), Signal(bits)
        entry = Signal(QueueEntry)
        m.d.comb += [
            visible.eq(level - loose),
            entry.eq(AnySeq(QueueEntry.as_shape().size)),
            queue.entry.eq(entry),
            queue.write.eq(AnySeq(1) & (level != capacity)),
            queue.first.eq(entry.command),
            queue.commit.eq(AnySeq(1)),
            queue.cut.eq(AnySeq(1)),
            queue.pop.eq(AnySeq(1) & queue.valid),
            Assume(~(queue.write & entry.command) | queue.commit & ~queue.cut & (loose == COMMAND_LENGTH - 1)),
        ]
        leaves = Signal(range(COMMAND_LENGTH + 1))
        with m.If(queue.pop):
            m.d.comb += leaves.eq(Mux(queue.oldest.command, COMMAND_LENGTH, 1))
        stays = Signal(bits)
        m.d.comb += stays.eq(Mux(queue.cut, visible, level))
        m.d.sync += [
            level.eq(stays + queue.write - leaves),
            loose.eq(Mux(queue.write & queue.commit, 0, stays - visible + queue.write)),
        ]
        offers = Signal()
        m.d.sync += offers.eq(visible > leaves)
        size = len(spy.taken)
        m.d.comb += [
            Assert((spy.written - spy.taken)[:size] == level),
            Assert((spy.written - spy.committed)[:size] == loose),
            Assert((level <= capacity) & (loose <= level)),
            Assert(queue.full == (level == capacity), "it is full when its slots are used, and only then"),
            Assert(queue.pending == (visible > leaves)),
            Assert(queue.valid == offers, "what is committed is offered from the second cycle on, and nothing else"),
        ]

        # The entry that is followed.
        follows, word, ahead = Signal(), Signal(QueueEntry), Signal(bits)
        committed = Signal()
        m.d.comb += spy.address.eq(spy.taken + ahead)
        with m.If(~follows):
            m.d.sync += [
                follows.eq(queue.write & AnySeq(1)),
                word.eq(entry),
                ahead.eq(Mux(queue.first, visible, stays) - leaves),
                committed.eq(queue.commit),
            ]
        with m.Elif(~committed & (queue.cut | queue.write & queue.first)):
            m.d.sync += follows.eq(0)  # taken back, or now part of a command
        with m.Else():
            m.d.sync += [ahead.eq(ahead - leaves), committed.eq(committed | queue.write & queue.commit)]
            with m.If((ahead == 0) & queue.pop):
                m.d.sync += follows.eq(0)

        before_it = Signal()  # what leaves now is not the entry that is followed
        m.d.comb += before_it.eq(queue.pop & ~(follows & (ahead == 0)))
        right_size = ~before_it | (leaves <= Mux(follows & (ahead < visible), ahead, visible))
        m.d.comb += Assume(right_size) if self.alone else Assert(right_size)
        with m.If(follows):
            m.d.comb += [
                Assert(spy.data.as_value() == word.as_value(), "unchanged"),
                Assert(committed == (ahead < visible)),
                Assert(~word.command | committed & (ahead + COMMAND_LENGTH <= visible), "a command takes its four slots"),
                Assert(ahead < level, "what was written is still there"),
                Assert(~((ahead == 0) & queue.valid) | (queue.oldest.as_value() == word.as_value()), "it is the oldest when its turn comes"),
                Assert(~((ahead == 0) & queue.pop) | (leaves == Mux(word.command, COMMAND_LENGTH, 1)), "it takes its own slots with it"),
            ]
        return m
