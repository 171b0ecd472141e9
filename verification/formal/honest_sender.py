"""Proof that an input queue has room for all that a sender who honours the ready bit sends.

Statements: H14, H15. Each start of packet waits for the ready signal of the one before, which is sent when that has
left the queue. A packet that has begun to leave goes on in every cycle, save those that are stolen from it."""

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.port.input_queue import InputQueue
from ...hdl.link.queue import QUEUE_DEPTH
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "HonestSenderProof"]


class HonestSenderProof(wiring.Component):
    """A queue. Packets have 1 to ``longest`` symbols, framing and commands included; at most ``stolen``
    cycles are stolen from each. The first symbol of a packet may wait at the head for as long as it likes."""

    def __init__(self, capacity, longest, stolen):
        self.queue = InputQueue(capacity)
        self.longest, self.stolen = longest, stolen
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        queue, longest = self.queue, self.longest
        m.submodules.queue = look_into(queue, platform)
        probes = queue.probes

        # The sender: what is left of the packet that it is sending.
        left, length = Signal(range(longest + 1)), Signal(range(longest + 1))
        ready, starts, sends = Signal(init=1), Signal(), Signal()
        m.d.comb += [
            length.eq(AnySeq(length.shape())),
            Assume((length != 0) & (length <= longest)),
            starts.eq((left == 0) & ready & AnySeq(1)),
            sends.eq(starts | (left != 0) & AnySeq(1)),
            queue.entry.eq(AnySeq(9)),
            queue.write.eq(sends),
            queue.amount.eq(1),
            queue.commit.eq(sends),
        ]
        m.d.sync += left.eq(Mux(starts, length, left) - sends)

        # The head: symbols inside of the packet that has begun to leave, and of the one behind it.
        leaving, behind = Signal(range(queue.capacity + 2)), Signal(range(queue.capacity + 2))
        lost, begins = Signal(range(self.stolen + 1)), Signal()
        steals = Signal()
        m.d.comb += [
            steals.eq(AnySeq(1) & (leaving != 0) & (lost != self.stolen)),
            begins.eq(queue.valid & (leaving == 0) & AnySeq(1)),
            queue.pop.eq(Mux(leaving != 0, queue.valid & ~steals, begins)),
        ]
        to_leaving = Signal()  # what is sent belongs to the packet that has begun to leave
        m.d.comb += to_leaving.eq(~starts & (behind == 0))
        with m.If(begins):
            m.d.sync += [leaving.eq(behind - 1 + sends), behind.eq(0), lost.eq(0), ready.eq(1)]
        with m.Else():
            m.d.sync += [
                leaving.eq(leaving - queue.pop + (sends & to_leaving)),
                behind.eq(behind + (sends & ~to_leaving)),
                lost.eq(lost + steals),
            ]
            with m.If(starts):
                m.d.sync += ready.eq(0)

        level = leaving + behind
        m.d.comb += [
            Assert(~(queue.write & queue.full), "nothing finds the queue full"),
            Assert(probes.level == level),
            Assert(queue.valid | (level <= 1)),
            Assert(probes.unread == level - queue.valid),
            Assert((lost <= self.stolen) & (left <= longest)),
            Assert(ready == (behind == 0), "one packet at a time waits behind the one that leaves"),
            Assert(behind + Mux(ready, 0, left) <= longest),
            Assert(leaving + behind <= Mux(leaving == 0, longest, longest - 1 + lost)),
            Assert(leaving + Mux(ready, left, 0) <= longest - 1 + lost),
        ]
        return m


PROOFS = [
    Proof(
        "honest_sender",
        "there is room for all that a sender sends who honours the ready bit",
        "H14, H15",
        holds={
            "9 entries": Attempt(lambda: HonestSenderProof(9, 7, 2)),
            "full size": Attempt(lambda: HonestSenderProof(QUEUE_DEPTH, 1024 + 64, 64)),
        },
        search=Attempt(lambda: HonestSenderProof(9, 9, 1), mode="bmc", depth=32),
        # Nothing is wrong with the queue: what must be found is that the room is too small.
        faults={"a packet is longer by a symbol": (), "a stolen cycle more": ()},
        searches={"a stolen cycle more": Attempt(lambda: HonestSenderProof(9, 8, 2), mode="bmc", depth=32)},
    )
]
