"""Proofs of hdl/ipsc2: the end of a circuit, how often RDY goes back, how it throttles.

Statement: docs/ipsc2.md, "Circuits", "Ready", "Node sink". D3.
"""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring

from ...hdl.ipsc2.element import Element
from ...hdl.ipsc2.formats import (
    CHANNELS,
    CLOSING_PAIRS,
    DATA_START,
    NIBBLE_PAIRS,
    NIBBLE_START,
    SHORT_PROBE_PAIRS,
    WORD_PAIRS,
    flight,
)
from ...hdl.ipsc2.frames import Frames
from ...hdl.ipsc2.origin import Origin
from ...hdl.ipsc2.outgoing import Outgoing
from ...hdl.ipsc2.remote import Remote
from ...hdl.ipsc2.selected import Selected
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into
from .routes import closing_ends

__all__ = ["PROOFS", "CircuitProof", "Follower", "StatusProof", "ThrottleProof"]

#: Where nibble and word of a closing begin, and how many pairs there are with the probe.
_NIBBLE, _WORD = SHORT_PROBE_PAIRS, SHORT_PROBE_PAIRS + NIBBLE_PAIRS
_WHOLE = SHORT_PROBE_PAIRS + CLOSING_PAIRS


class Follower:
    """What a direction is in, by counting down: ``left`` pairs of the frame, a ``word``, with ``eom``."""

    def __init__(self, m, data, strobe, probe, probe_pairs, padding, name=""):
        self.left = Signal(4, name=f"{name}left")
        self.word, self.eom, self.second = (Signal(name=name + what) for what in ("word", "eom", "second"))
        padding = Value.cast(padding)
        self.begins = strobe & (self.left == 0)
        self.nibble = self.begins & (data == NIBBLE_START)
        self.start = self.begins & (data == DATA_START) & ~padding
        self.ends = strobe & (self.left == 1)
        self.last = self.ends & self.word & self.eom
        with m.If(self.begins):
            m.d.sync += [self.word.eq(0), self.eom.eq(0), self.second.eq(self.nibble | self.start)]
            with m.If(self.nibble):
                m.d.sync += self.left.eq(1)
            with m.Elif(self.start):
                m.d.sync += [self.left.eq(Mux(probe, probe_pairs, WORD_PAIRS) - 1), self.word.eq(~probe)]
        with m.Elif(strobe):
            m.d.sync += [self.left.eq(self.left - 1), self.second.eq(0)]
            with m.If(self.second & self.word):
                m.d.sync += self.eom.eq(data[1])

    def agrees(self, frames):
        """Invariants: the RTL has the same, counting up."""
        nibble, probe, word, final = (frames.probes.kind.as_value() == n for n in range(4))
        pairs = Mux(nibble, 2, Mux(probe, frames.probe_pairs, WORD_PAIRS))
        under_way = self.left != 0
        return [
            Assert((frames.place == 0) == ~under_way),
            Assert(~under_way | (self.left + frames.place == pairs)),
            Assert(~under_way | (self.second == (frames.place == 1))),
            Assert(~under_way | (self.word == (word | final))),
            Assert(~under_way | self.second | (self.eom & self.word == final)),
            Assert(~under_way | ~self.second | (~self.eom & ~final)),
        ]


class CircuitProof(wiring.Component):
    """An element with the arbiter of the one channel that it can ask for, or the sink; any pairs, with pauses.

    ``legal``: the pairs are those of messages as this proof shows that an element sends them on: from a channel a
    probe, then at least a nibble, then any frames to a word with EOM, with pauses and with pairs that begin no frame
    in between. So what is shown of one element holds for those behind it, too.
    """

    def __init__(self, legal=False):
        self.legal = legal
        self.element, self.selected = Element(CHANNELS, 3), Selected(1)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        element, selected = self.element, self.selected
        m.submodules.element, m.submodules.selected = (look_into(each, platform) for each in (element, selected))
        wiring.connect(m, element.lane, selected.lanes[0])
        data, strobe = Signal(2), Signal()
        m.d.comb += [
            element.rx.data.eq(AnySeq(2)),
            element.rx.strobe.eq(AnySeq(1)),
            selected.open.eq(AnySeq(1)),
            selected.asks.eq(element.asks[CHANNELS]),
            element.granted.eq(selected.owner),
        ]
        m.d.sync += [data.eq(element.rx.data), strobe.eq(element.rx.strobe)]

        # By the page: a message from the first pair of its probe to the end of a word with EOM; if this comes before
        # the message is passed on, it is over there, and what has been granted gets an end of its own.
        message, probe, padding, joined, over, closing = (
            Signal(name=n) for n in ("message", "probe", "padding", "joined", "over", "closing")
        )
        sent = Signal(range(_WHOLE + 1))  # pairs that the element has sent by itself
        row = Follower(m, data, strobe, ~message, SHORT_PROBE_PAIRS, padding)
        passes = (sent == SHORT_PROBE_PAIRS) & ~closing
        eom = (row.left != 0) & row.word & (row.eom | row.second & strobe & data[1])
        given_up = eom & message & ~joined & ~over
        with m.If(row.start & ~message):
            m.d.sync += [message.eq(1), probe.eq(1)]
        with m.If(probe & row.ends):
            m.d.sync += [probe.eq(0), padding.eq(1)]
        with m.If(row.nibble):
            m.d.sync += [padding.eq(0), joined.eq(joined | passes)]
        with m.If(selected.owner & ~passes):
            m.d.sync += sent.eq(sent + 1)
        with m.If(given_up):
            m.d.sync += [over.eq(1), closing.eq(selected.owner)]
        with m.If(row.last & (joined | over)):
            m.d.sync += [message.eq(0), joined.eq(0), over.eq(0)]
        end = joined & row.last | closing & (sent == _WHOLE - 1)
        with m.If(end):
            m.d.sync += [sent.eq(0), closing.eq(0)]

        # What the way ahead gets: from its grant on a probe, then at least a nibble, then frames.
        lane, probed, nibbled = selected.lane, Signal(), Signal()
        way = Follower(m, lane.data, lane.strobe, ~probed, SHORT_PROBE_PAIRS, 0, "way_")
        with m.If(way.ends):
            m.d.sync += probed.eq(1)
        with m.If(way.nibble):
            m.d.sync += nibbled.eq(1)
        with m.If(way.last):
            m.d.sync += [probed.eq(0), nibbled.eq(0)]

        owned, ended, known, wanted, behind = Signal(), Signal(), Signal(), Signal(), Signal(5)
        m.d.sync += [
            owned.eq(selected.owner),
            ended.eq(way.last),
            known.eq(1),
            wanted.eq(message & ~probe & ~eom),
            behind.eq(Mux(given_up, 1, Mux(behind == 31, 31, behind + 1))),
        ]
        probes = element.probes
        ahead = Mux((sent == 0) | (sent >= SHORT_PROBE_PAIRS), 0, SHORT_PROBE_PAIRS - sent)  # of the short probe
        m.d.comb += [
            Assert(
                element.held == (message | closing), "a message is held from its probe to its end, and to that ahead"
            ),
            Assert(~known | ~owned | ended | selected.owner, "the path is held until the last pair of a word with EOM"),
            Assert(~known | ~ended | owned & ~selected.owner, "and released by it"),
            Assert(~selected.owner | owned | wanted, "nothing is granted behind EOM"),
            Assert(~selected.owner | message & ~probe & ~over | closing, "there is no path without a message"),
            Assert(~closing | (behind < _WHOLE), "or for so long behind EOM"),
            Assert(~way.begins | probed | way.start, "a path begins with a probe"),
            Assert(~way.start | ~probed | nibbled, "and a nibble is behind it"),
            Assert(
                ~passes | (selected.lane.strobe == (strobe & (joined | row.nibble))), "each pair is passed on, once"
            ),
            Assert(~passes | ~selected.lane.strobe | (selected.lane.data == data), "unchanged"),
            Assert(~eom | ~message | element.ending, "no RDY goes back behind EOM"),
            Assert(~closing | element.ending, "nor while an end is sent"),
            # Invariants.
            *row.agrees(probes.frames),
            *closing_ends(element),
            Assert(probes.frames.data == data),
            Assert(probes.frames.strobe == strobe),
            Assert(probe | (probes.padding == padding)),
            Assert(probes.joined == joined),
            Assert(probes.closing == closing),
            Assert((probes.state.as_value() == 1) == probe),
            Assert((probes.state.as_value() == 2) == (message & ~probe & ~over & ~passes)),
            Assert((probes.state.as_value() == 3) == passes),
            Assert(passes | (probes.step == sent)),
            Assert(~probe | (row.left != 0) & ~row.word),
            Assert(~passes | selected.owner),
            Assert((sent == 0) | selected.owner),
            Assert(~closing | (sent != 0)),
            Assert(~message | probe | (row.left == 0) | row.word | (probes.frames.probes.kind.as_value() == 0)),
            Assert(message | (probes.frames.probes.kind.as_value() == 0) | (row.left == 0)),
            Assert((sent <= SHORT_PROBE_PAIRS) | closing),
            Assert(sent < _WHOLE),
            Assert(~padding | message & ~probe & ~joined),
            Assert(~over | message & ~probe & ~joined & row.word & row.eom & (row.left != 0)),
            Assert(~closing | (sent >= behind)),
            Assert(~joined | passes),
            Assert(~message | probe | joined | over | ~row.word | row.second | ~row.eom | (row.left == 0)),
            Assert(probed == ((sent >= SHORT_PROBE_PAIRS) | passes)),
            Assert(nibbled == (joined | (sent > SHORT_PROBE_PAIRS))),
            Assert(~joined | (Cat(way.left, way.word, way.second) == Cat(row.left, row.word, row.second))),
            Assert(~joined | (way.eom == row.eom)),
            Assert(joined | ~passes | (way.left == 0)),
            Assert(passes | (way.left == Mux(sent > _WORD, _WHOLE - sent, Mux(sent == _NIBBLE + 1, 1, ahead)))),
            Assert(
                passes | (way.left == 0) | (way.second == (sent == 1) | (sent == _NIBBLE + 1) | (sent == _WORD + 1))
            ),
            Assert(passes | (way.left == 0) | (way.word == (sent > _WORD))),
            Assert(passes | (way.left == 0) | (way.eom == (sent > _WORD + 1))),
        ]
        if self.legal:
            self._receive(m, data, strobe, message, probe, padding, row)
        return m

    @staticmethod
    def _receive(m, data, strobe, message, probe, padding, row):
        """Assumes that messages come, with probes of 6 or 10 pairs, and shows that each is over with its EOM."""
        under_way, probed, nibbled, long = (Signal(name=n) for n in ("under_way", "probed", "nibbled", "long"))
        m.d.comb += long.eq(AnyConst(1))
        source = Follower(m, data, strobe, ~probed, Mux(long, WORD_PAIRS, SHORT_PROBE_PAIRS), 0, "source_")
        with m.If(source.start):
            m.d.sync += under_way.eq(1)
        with m.If(under_way & source.ends):
            m.d.sync += probed.eq(1)
        with m.If(probed & source.nibble):
            m.d.sync += nibbled.eq(1)
        with m.If(source.last):
            m.d.sync += [under_way.eq(0), probed.eq(0), nibbled.eq(0)]
        upper = under_way & ~probed & (source.left <= WORD_PAIRS - SHORT_PROBE_PAIRS) & long
        same = Cat(source.word, source.eom, source.second) == Cat(row.word, row.eom, row.second)
        m.d.comb += [
            Assume(~(source.start & probed) | nibbled),
            Assume(~(upper & strobe) | (data == 0)),
            Assert(message == under_way, "an element has a message from its probe to its EOM, wherever it waits"),
            # Invariants.
            Assert(upper | ~(under_way & ~probed) | (row.left == source.left - Mux(long, 4, 0)) & probe),
            Assert(~upper | padding & ~probe & (row.left == 0)),
            Assert(~(under_way & ~probed) | (source.left != 0) & ~source.word & ~source.eom),
            Assert((under_way & ~probed) | (row.left == source.left)),
            Assert(same),
            Assert(~probed | under_way & ~probe),
            Assert(~nibbled | probed),
            Assert(~probed | nibbled | padding),
            Assert(~nibbled | ~padding),
            Assert(under_way | (source.left == 0) | ~source.word),
        ]


class StatusProof(wiring.Component):
    """A node source that asks for a channel, or is silent; it gives whole frames, as the page has it."""

    def __init__(self):
        self.origin, self.outgoing = Origin(1), Outgoing(1)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        origin, outgoing = self.origin, self.outgoing
        m.submodules.origin, m.submodules.outgoing = (look_into(each, platform) for each in (origin, outgoing))
        wiring.connect(m, origin.lane, outgoing.lanes[0])
        frames, owned = origin.probes.frames, outgoing.probes.owned
        status, data = Signal(), Signal(2)
        m.d.comb += [
            origin.source.request.eq(AnySeq(1)),
            origin.source.probe.eq(1),
            data.eq(AnySeq(2)),
            origin.source.data.eq(data),
            Assume((frames.place != 0) | (data == NIBBLE_START) | (data == DATA_START)),
            Assume(origin.probes.sent | (frames.place != 0) | (data == DATA_START)),
            origin.granted.eq(outgoing.owner),
            origin.allow.eq(outgoing.ready),
            outgoing.asks.eq(origin.asks[0]),
            outgoing.rdy.eq(AnySeq(1)),
            outgoing.rdy_valid.eq(AnySeq(1)),
            status.eq(AnySeq(1)),
            outgoing.status.eq(status),
        ]
        since, taken, known = Signal(range(16)), Signal(), Signal()
        old = {
            name: Signal(2 if name == "data" else 1, name=f"old_{name}")
            for name in ("status", "owned", "rdy", "rdy_valid", "ready", "data")
        }
        takes = Mux(owned, frames.place == 1, outgoing.probes.second)
        m.d.sync += [
            known.eq(1),
            taken.eq(takes),
            since.eq(Mux(takes, 0, since + 1)),
            old["status"].eq(status),
            old["owned"].eq(owned),
            old["rdy"].eq(outgoing.rdy),
            old["rdy_valid"].eq(outgoing.rdy_valid),
            old["ready"].eq(outgoing.ready),
            old["data"].eq(data),
        ]
        m.d.comb += [
            Assert(since < WORD_PAIRS, "RDY goes back at least every 10 cycles"),
            Assert(~taken | (outgoing.tx.data[0] == old["status"]), "and is that of the cycle in which it was taken"),
            Assert(~taken | ~old["owned"] | (outgoing.tx.data[1] == old["data"][1]), "EOM beside it is left as it is"),
            Assert(taken | ~old["owned"] | (outgoing.tx.data == old["data"]), "and so are all other pairs"),
            Assert(~known | outgoing.tx.strobe, "something is sent always"),
            Assert(owned | ~origin.source.allow, "nothing is allowed without a path"),
            Assert(~known | old["owned"] | ~outgoing.ready, "what comes before there is a path is forgotten"),
            Assert(
                ~known | ~old["owned"] | (outgoing.ready == Mux(old["rdy_valid"], old["rdy"], old["ready"])),
                "and what comes then is obeyed in the next cycle",
            ),
            # Invariants.
            Assert(~owned | (frames.place < 2) | (since == frames.place - 2)),
            Assert(~owned | (frames.place != 0) | (since <= 8)),
            Assert(owned | outgoing.probes.second | (since <= 8)),
            Assert(owned | (frames.place == 0)),
            Assert(owned | ~origin.probes.sent),
        ]
        return m


class ThrottleProof(wiring.Component):
    """A channel led back to itself: the source sends words whenever it may, the sink is ready and then no more."""

    def __init__(self):
        self.remote = Remote(1)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.remote = remote = self.remote
        source, sink = remote.source, remote.sink
        m.d.comb += [
            remote.channel.rx.data.eq(remote.channel.tx.data),
            remote.channel.rx.strobe.eq(remote.channel.tx.strobe),
        ]
        # The serializer: a probe, then words and nibbles; it looks at what is allowed a cycle before a frame, or in it.
        left, probe, allowed = Signal(4), Signal(init=1), Signal()
        word = Signal()
        m.d.sync += allowed.eq(source.allow)
        m.d.comb += [
            source.request.eq(1),
            source.probe.eq(0),
            word.eq(probe | AnySeq(1) & Mux(AnySeq(1), allowed, source.allow)),
            source.data.eq(Mux((left == 0) & ~word, NIBBLE_START, DATA_START)),
        ]
        with m.If(source.grant):
            m.d.sync += [probe.eq(0), left.eq(Mux(left == 0, Mux(word, WORD_PAIRS - 1, 1), left - 1))]
        # The deserializer.
        come, over, after = Signal(), Signal(), Signal(4)
        row = Follower(m, sink.data, sink.strobe, ~come, SHORT_PROBE_PAIRS, 0)
        stops = AnySeq(1)
        with m.If(row.ends):
            m.d.sync += come.eq(1)
        m.d.comb += sink.ready.eq(come & ~over & ~stops)
        with m.If(come & stops):
            m.d.sync += over.eq(1)
        with m.If((over | stops) & row.ends & row.word):
            m.d.sync += after.eq(after + 1)
        m.d.comb += Assert(after <= flight(1), "no more words come than the FIFO has room for")
        return m


PROOFS = [
    Proof(
        "circuit",
        "D3: a circuit is held for its message, and released exactly by the end of its word with EOM",
        'docs/ipsc2.md, "Circuits"',
        holds={"element and sink": Attempt(CircuitProof)},
        search=Attempt(CircuitProof, mode="bmc", depth=34),
        faults={
            "EOM in a nibble counts": Fault(Frames, "eom", lambda was, s: was | s.status & s.data[1], at_once=True),
            "a request is taken back too late": Fault(
                Element, "asks", lambda was, s: Mux(s.given_up & (s.step == 0), 1 << CHANNELS, was), at_once=True
            ),
            "no end is made behind a grant": Fault(Element, "closing", lambda was, s: 0),
            "no nibble is in front of it": Fault(Element, "step", lambda was, s: Mux(was == _NIBBLE, _WORD, was)),
            "it ends with the second pair": Fault(Element, "lane__last", lambda was, s: was | s.ending),
            "the end is not seen": Fault(Element, "lane__last", lambda was, s: 0),
            "the upper half of a probe is passed on": Fault(Element, "padding", lambda was, s: 0),
        },
    ),
    Proof(
        "given-up",
        "D3: messages that end anywhere leave no element behind with one, however many hops they have",
        'docs/ipsc2.md, "An end before the circuit stands"',
        holds={"element and sink": Attempt(lambda: CircuitProof(legal=True))},
        search=Attempt(lambda: CircuitProof(legal=True), mode="bmc", depth=34),
        faults={
            "an end is not seen by who waits": Fault(Element, "given_up", lambda was, s: 0, at_once=True),
            "it is seen in the next word": Fault(Element, "given_up", lambda was, s: was & s.padding, at_once=True),
        },
    ),
    Proof(
        "status",
        "D3: RDY goes back in every frame, at least every 10 cycles, and is obeyed in the next one",
        'docs/ipsc2.md, "Ready"',
        holds={"origin and channel": Attempt(StatusProof)},
        search=Attempt(StatusProof, mode="bmc", depth=24),
        faults={
            "nibbles only carry it": Fault(Outgoing, "pair", lambda was, s: Mux(s.owned, Cat(0, was[1]), was)),
            "what was before the path counts": Fault(
                Outgoing, "ready", lambda was, s: Mux(s.rdy_valid, s.rdy, s.ready)
            ),
            "it is put into each pair": Fault(Outgoing, "pair", lambda was, s: Cat(s.status, was[1])),
        },
    ),
    Proof(
        "throttle",
        "D3: RDY stops the source before the FIFO overflows (a search, over one channel)",
        'docs/ipsc2.md, "Node sink"',
        holds={"one channel": Attempt(ThrottleProof, mode="bmc", depth=70, nightly=True)},
        search=Attempt(ThrottleProof, mode="bmc", depth=70),
        faults={
            "RDY is kept for good": Fault(Outgoing, "ready", lambda was, s: was | s.ready),
        },
        everyday=0,
    ),
]
