"""Proof of hdl/link/elastic.py: it neither overflows nor tears a run, though the distant clock gains or loses half a
symbol in each run.

Statement: docs/serial.md, "Elastic buffer". Senders make runs of 2046 symbols at most, in which 200 ppm come to 0.41
symbols. Here a symbol's time has 8 cycles; the distant clock's has 7, 8 or 9, and comes to at most 4 more or less
within a run, all in one direction but for a cycle, since words are seen by whole cycles.

All hangs on one number: the *lead*, by how many cycles what has come is before what has left: 8 for each symbol inside,
and the cycles since the last word came, less those since the last slot. It stays as it is while words come and leave;
it falls by a symbol's time with each idle, grows by one with each slot that is not used, and follows the drift."""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.link.elastic import DEPTH, ElasticBuffer
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "ElasticProof"]

#: Cycles of a symbol, and what the distant clock gains or loses in a run at most.
TIME, DRIFT = 8, 4
#: What the lead is at most where the distant clock has not gained anything.
MOST = 2 * TIME + 2 + DRIFT


class ElasticProof(wiring.Component):
    """A buffer with slots of this clock, and words of another."""

    def __init__(self):
        self.buffer = ElasticBuffer()
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        buffer = self.buffer
        m.submodules.buffer = look_into(buffer, platform)
        probes = buffer.probes
        level, leaves, places = probes.level, probes.leaves, DEPTH

        # This clock.
        since_slot = Signal(range(TIME))
        m.d.comb += [buffer.slot.eq(since_slot == TIME - 1), Assert(since_slot < TIME)]
        m.d.sync += since_slot.eq(Mux(buffer.slot, 0, since_slot + 1))

        # The distant one. It may stop, and begin again at any time once all has left.
        fast, stops = AnyConst(1), AnySeq(1)
        runs, since_word = Signal(), Signal(range(TIME + 1))
        gain, gained = Signal(range(-DRIFT - 1, DRIFT + 2)), Signal(range(-DRIFT - 3, DRIFT + 4))
        comes, is_idle = Signal(), Signal()
        m.d.comb += [
            comes.eq(AnySeq(1)),
            is_idle.eq(AnySeq(1)),
            Assume(~runs | ~comes | (since_word >= TIME - 2)),
            Assume(~runs | comes | (since_word < TIME)),
            Assume(runs | ~comes | (level == 0)),
            buffer.push.payload.eq(AnySeq(9)),
            buffer.push.valid.eq(comes & ~is_idle),
            buffer.idle.eq(~runs & ~comes | comes & is_idle),
            gained.eq(Mux(probes.over, 0, gain + (TIME - 1) - since_word)),
            Assume(
                ~buffer.push.valid | Mux(fast, (gained >= -1) & (gained <= DRIFT), (gained >= -DRIFT) & (gained <= 1))
            ),
            Assert(Mux(fast, (gain >= -1) & (gain <= DRIFT), (gain >= -DRIFT) & (gain <= 1))),
            Assert(since_word <= TIME),
            Assert(runs | probes.over),
            Assert(runs | (since_word == 0)),
        ]
        m.d.sync += [
            runs.eq((runs | comes) & (~stops | comes)),
            since_word.eq(Mux(comes | ~runs | stops, 0, since_word + 1)),
        ]
        with m.If(buffer.push.valid):
            m.d.sync += gain.eq(gained)
        m.d.comb += Assume(~stops | probes.over)

        # How many of the symbols inside are of the run that has come last, and whether its first one has left.
        last_run, started = Signal(range(places + 1)), Signal()
        of_last = Signal()
        m.d.comb += of_last.eq(leaves & (last_run == level))
        with m.If(buffer.push.valid & probes.over):
            m.d.sync += [last_run.eq(1), started.eq(0)]
        with m.Else():
            m.d.sync += [last_run.eq(last_run + buffer.push.valid - of_last), started.eq(started | of_last)]
        m.d.comb += [
            Assert(last_run <= level),
            Assert(~started | (last_run == level)),
            Assert(probes.over | started | (last_run != 0)),
        ]
        m.d.comb += [
            Assert((level == 0) | (last_run != 0), "the newest is of the run that has come last"),
            Assert(
                (level == 0) | (probes.newest_first == ((last_run == 1) & ~started)),
                "the first one of a run, and no other, is marked",
            ),
        ]

        # The lead.
        lead = Signal(range(-TIME, TIME * (places + 2)))
        m.d.comb += [
            lead.eq(level * TIME + since_word - since_slot),
            Assert(lead <= Mux(probes.over, MOST - 1, MOST + gain), "what is inside stays bounded"),
            Assert(
                ~started | probes.over | (lead >= TIME + 1 - Mux(fast, DRIFT, 1) + gain),
                "a run that has begun to leave keeps its head start",
            ),
            Assert(~buffer.overflow, "nothing is lost"),
            Assert(~buffer.slot | ~started | probes.over | (level != 0), "no run is torn"),
            Assert(~buffer.slot | (level < 2) | leaves, "no slot is wasted"),
        ]

        # Order and content: a symbol is followed from where it enters to where it leaves.
        follows, word, ahead = Signal(), Signal(9), Signal(range(places))
        leaving = Signal()
        m.d.comb += probes.address.eq(probes.popped + ahead)
        m.d.sync += leaving.eq(0)
        with m.If(~follows):
            m.d.sync += [
                follows.eq(buffer.push.valid & AnySeq(1)),
                word.eq(buffer.push.payload),
                ahead.eq(level - leaves),
            ]
        with m.Elif(leaves):
            m.d.sync += ahead.eq(ahead - 1)
            with m.If(ahead == 0):
                m.d.sync += [follows.eq(0), leaving.eq(1)]
        before = Signal(9)
        m.d.sync += before.eq(word)
        m.d.comb += [
            Assert(~follows | (ahead < level) & (probes.data == word), "it is still there, unchanged"),
            Assert(
                ~leaving | buffer.output.valid & (buffer.output.payload == before), "and leaves behind those before it"
            ),
        ]
        return m


def _leaves(s, enough):
    """Whether a symbol leaves, if the first of a run waits until ``enough``."""
    return s.slot & (s.level != 0) & (~s.newest_first | s.over | enough)


PROOFS = [
    Proof(
        "elastic",
        "it neither overflows nor tears a run",
        'docs/serial.md, "Elastic buffer"',
        holds={"elastic buffer": Attempt(ElasticProof)},
        search=Attempt(ElasticProof, mode="bmc", depth=60),
        faults={
            "a run leaves without a head start": Fault(
                ElasticBuffer, "leaves", lambda was, s: _leaves(s, s.level >= 1)
            ),
            "too large a head start": Fault(ElasticBuffer, "leaves", lambda was, s: _leaves(s, s.level >= 7)),
            "the wrong place is read": Fault(
                ElasticBuffer, "read__addr", lambda was, s: (s.popped + s.level)[: len(was)]
            ),
            "idles do not end a run": Fault(ElasticBuffer, "over", lambda was, s: Mux(s.idle, 0, was)),
        },
    )
]
