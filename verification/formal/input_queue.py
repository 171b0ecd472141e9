"""Proof of hdl/hub/queue.py: the input queue keeps order and content, sees no more than it may, and never overflows.

Statements: H14; docs/hub.md, "Input side of a port", and the docstring of InputQueue. An arbitrary entry is followed from the
cycle in which it is written, be it committed at once, later or never.
"""

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.link.symbol import COMMAND_LENGTH, SYMBOL_BITS
from .prove import look_into

__all__ = ["InputQueueProof"]


class InputQueueProof(wiring.Component):
    """A queue of class ``InputQueue``; entries are written where there is room for them, committed, taken and cleared at any time."""

    def __init__(self, InputQueue, capacity):
        self.queue = InputQueue(capacity)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        queue, capacity = self.queue, self.queue.capacity
        m.submodules.queue = look_into(queue, platform)
        spy = queue.spy

        level, gone, commits = Signal(range(capacity + 1)), Signal(range(capacity + 1)), Signal()
        m.d.comb += [
            queue.entry.eq(AnySeq(SYMBOL_BITS)),
            queue.place.eq(AnySeq(queue.place.shape())),
            queue.write.eq(AnySeq(1) & (level + queue.place < capacity)),
            queue.commit.eq(AnySeq(1)),
            queue.clear.eq(AnySeq(1)),
            queue.pop.eq(AnySeq(1) & queue.valid),
            commits.eq(queue.write & queue.commit),
            gone.eq(Mux(queue.clear, level, queue.pop)),
        ]
        offers = Signal()
        m.d.sync += [
            level.eq(level - gone + Mux(commits, queue.place + 1, 0)),
            offers.eq(level > gone),
        ]
        size = len(spy.taken)
        m.d.comb += [
            Assert((spy.committed - spy.taken)[:size] == level),
            Assert(level <= capacity, "it never overflows"),
            Assert(queue.full == (level == capacity), "it is full when its room is used, and only then"),
            Assert(queue.tight == (level + COMMAND_LENGTH > capacity), "tight when a command has no room, and only then"),
            Assert(queue.empty == (level == 0)),
            Assert(queue.level[:8] == level[:8]),
            Assert(queue.level[8] == (level > 255)),
            Assert(queue.valid == offers, "what is committed is offered from the second cycle on, and nothing else"),
        ]

        # The entry that is followed: how many are before it.
        follows, word, ahead = Signal(), Signal(SYMBOL_BITS), Signal(range(capacity + 1))
        m.d.comb += spy.address.eq(spy.taken + ahead)
        with m.If(~follows):
            m.d.sync += [
                follows.eq(queue.write & AnySeq(1)),
                word.eq(queue.entry),
                ahead.eq(level + queue.place - gone),
            ]
        with m.Elif((ahead < gone) | queue.write & (ahead == level + queue.place)):
            m.d.sync += follows.eq(0)  # taken, thrown away, or written over since it was not committed
        with m.Else():
            m.d.sync += ahead.eq(ahead - gone)
        with m.If(follows):
            m.d.comb += [
                Assert(spy.data == word, "unchanged"),
                Assert(ahead < capacity),
                Assert(~((ahead == 0) & queue.valid) | (queue.oldest == word), "it is the oldest when its turn comes"),
            ]
        return m
