"""Proof of hdl/link/queue.py: nothing that it took is lost, changed or overtaken, and it takes all there is room for.

An arbitrary entry is followed from the cycle in which it is pushed: how many are before it, and where it stands.
"""

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.link.queue import QUEUE_DEPTH, SymbolQueue
from ..specs.queue import QueueSpec
from ..specs.spec import agree, beside
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "SymbolQueueProof"]


class SymbolQueueProof(wiring.Component):
    """A queue that is filled, emptied and cleared at any time."""

    def __init__(self, depth, width=9):
        self.queue = SymbolQueue(depth, width)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        queue, depth, width = self.queue, self.queue.depth, self.queue.width
        m.submodules.queue = look_into(queue, platform)
        probes = queue.probes
        m.d.comb += [
            queue.push.payload.eq(AnySeq(width)),
            queue.push.valid.eq(AnySeq(1)),
            queue.output.ready.eq(AnySeq(1)),
            queue.clear.eq(AnySeq(1)),
        ]

        spec, shown = beside(
            m,
            QueueSpec(depth),
            {"push__valid": queue.push.valid, "output__ready": queue.output.ready, "clear": queue.clear},
        )
        level = spec.level
        stores, pops = Signal(), Signal()
        m.d.comb += [
            stores.eq(shown.stores),
            pops.eq(queue.output.valid & queue.output.ready),
            Assert(level <= depth),
            agree(queue.level, shown.level, "its fill is told"),
            agree(queue.overflow, shown.overflow, "what finds no room, and only that, is lost"),
            agree(queue.output.valid, shown.output__valid, "an entry is offered from the third cycle on"),
            Assert(probes.ahead == (level > queue.output.valid + spec.fresh), "it is read in the second"),
        ]

        # The entry that is followed.
        follows, word, ahead = Signal(), Signal(width), Signal(range(depth + 1))
        in_register = Signal()
        m.d.comb += [
            in_register.eq((ahead == 0) & queue.output.valid),
            probes.address.eq(probes.taken + ahead - queue.output.valid),
        ]
        with m.If(queue.clear):
            m.d.sync += follows.eq(0)
        with m.Elif(~follows):
            m.d.sync += [follows.eq(stores & AnySeq(1)), word.eq(queue.push.payload), ahead.eq(level - pops)]
        with m.Elif(pops):
            m.d.sync += ahead.eq(ahead - 1)
            with m.If(ahead == 0):
                m.d.sync += follows.eq(0)
        with m.If(follows):
            m.d.comb += [
                Assert(ahead < level, "what was taken is still there"),
                Assert(in_register | (probes.data == word), "unchanged"),
                Assert(~in_register | (queue.output.payload == word), "it leaves behind those that were before it"),
            ]
        return m


PROOFS = [
    Proof(
        "symbol_queue",
        "it loses nothing but what finds it full, and keeps the order",
        'docs/hub.md, "Input side of a port"; section 4.2.3',
        holds={
            "5 entries": Attempt(lambda: SymbolQueueProof(5)),
            "full size": Attempt(lambda: SymbolQueueProof(QUEUE_DEPTH)),
        },
        search=Attempt(lambda: SymbolQueueProof(2), mode="bmc", depth=7),
        faults={
            # It has two places.
            "the last place is not used": Fault(SymbolQueue, "overflow", lambda was, s: s.push__valid & (s.level == 1)),
            "a full queue is written over": Fault(SymbolQueue, "store", lambda was, s: s.push__valid),
            "the head goes back when the queue is cleared": Fault(
                SymbolQueue, "taken", lambda was, s: Mux(s.clear, s.read__addr, was)
            ),
            "the register is written over": (
                Fault(SymbolQueue, "output__ready", lambda was, s: 1),
                Fault(SymbolQueue, "pop", lambda was, s: s.output__valid & s.output__ready),
            ),
            "the head is read a cycle late": Fault(SymbolQueue, "read__addr", lambda was, s: s.taken),
            "an entry is offered too early": Fault(
                SymbolQueue,
                "ahead",
                lambda was, s: Mux(
                    s.clear | s.ahead & (~s.output__valid | s.output__ready), was, s.taken != s.written + s.store
                ),
            ),
        },
    )
]
