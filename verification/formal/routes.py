"""Proofs of hdl/ipsc2: one owner of a channel, and the route of a message.

Statement: docs/ipsc2.md, "Routes", "Circuits". D1, D2, D3.
"""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.ipsc2.element import Element
from ...hdl.ipsc2.formats import CHANNELS, EXTERNAL, NIBBLE_PAIRS, SHORT_PROBE_PAIRS, WORD_PAIRS
from ...hdl.ipsc2.selected import Selected
from .arbiter import last_number
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into

#: Values of ``kind`` of Frames.
_NIBBLE, _PROBE, _FINAL = 0, 1, 3

__all__ = ["PROOFS", "OwnerProof", "RouteProof", "closing_ends"]


class OwnerProof(wiring.Component):
    """``count`` ask and send as they like."""

    def __init__(self, count):
        self.selected, self.count = Selected(count), count
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.selected = selected = look_into(self.selected, platform)
        selected, count = self.selected, self.count
        m.d.comb += [selected.asks.eq(AnySeq(count)), selected.open.eq(AnySeq(1))]
        for lane in selected.lanes:
            m.d.comb += [
                lane.data.eq(AnySeq(2)),
                *(getattr(lane, name).eq(AnySeq(1)) for name in ("strobe", "status", "last")),
            ]
        before, asked, decided, ended, known = (
            Signal(count, name="before"),
            Signal(count, name="asked"),
            Signal(name="decided"),
            Signal(name="ended"),
            Signal(name="known"),
        )
        decides = selected.open & (selected.owner == 0) & selected.asks.any()
        m.d.sync += [
            before.eq(selected.owner),
            asked.eq(selected.asks),
            decided.eq(decides),
            ended.eq((Cat(lane.strobe & lane.last for lane in selected.lanes) & selected.owner).any()),
            known.eq(1),
        ]
        m.d.comb += [
            Assert((selected.owner & (selected.owner - 1))[:count] == 0, "no channel has two owners"),
            Assert(known | (selected.owner == 0), "there is none after a reset"),
            Assert(~known | (before == 0) | ended | (selected.owner == before), "a channel is held for the message"),
            Assert(~known | ~ended | (selected.owner == 0), "and free behind its end"),
            Assert(~known | (before != 0) | decided | (selected.owner == 0), "nobody has it without a decision"),
            Assert(
                ~known | ~decided | (selected.owner != 0) & ((selected.owner & ~asked) == 0), "who has it has asked"
            ),
        ]
        port, waited = Signal(range(count)), Signal(range(count + 1))
        m.d.comb += [port.eq(AnyConst(port.shape())), Assume(port < count)]
        mine = selected.owner.bit_select(port, 1)
        for n, lane in enumerate(selected.lanes):
            with m.If((port == n) & mine):
                m.d.comb += Assert(
                    Cat(getattr(lane, name) for name in ("data", "strobe", "status", "last"))
                    == Cat(getattr(selected.lane, name) for name in ("data", "strobe", "status", "last")),
                    "the owner's pairs are taken",
                )
        with m.If(~selected.asks.bit_select(port, 1)):
            m.d.sync += waited.eq(0)
        with m.Elif(decides):
            m.d.sync += waited.eq(Mux(selected.arbiter.pick.bit_select(port, 1), 0, waited + 1))
        last, distance = Signal(range(count)), Signal(range(2 * count + 1))
        m.d.comb += [
            last.eq(last_number(selected.arbiter.probes.last, count)),
            distance.eq(Mux(port > last, port - last, port + count - last)),
            Assert(waited + distance <= count, "everybody between the last and this one has at most one turn"),
            Assert(waited < count, "at most count - 1 messages of others go first"),
        ]
        return m


def closing_ends(element):
    """Invariants: how far an end that an element sends by itself has got at least, by what has come behind the EOM bit
    (docs/ipsc2.md, "An end before the circuit stands")."""
    probes = element.probes
    frames, state, step = probes.frames, probes.state.as_value(), probes.step
    place, kind = frames.place, frames.probes.kind.as_value()
    word, rest = WORD_PAIRS - 1, WORD_PAIRS - 1 + SHORT_PROBE_PAIRS
    begun = Mux((kind == _FINAL) & (place != 0), place - 1, word)
    asks = Mux(probes.padding, rest, rest + NIBBLE_PAIRS - place)
    return [
        Assert((state != 1) | (kind == _PROBE) & (place != 0) & (place < SHORT_PROBE_PAIRS)),
        Assert((state == 1) | (kind != _PROBE) | (place == 0)),
        Assert(~probes.padding | (state == 1) | (state >= 2) & (place == 0) & ~probes.joined),
        Assert(~probes.closing | (state != 0) | (step >= begun)),
        Assert(~probes.closing | (state != 1) | (step >= word + place)),
        Assert(~probes.closing | (state != 2) | (step >= asks)),
        Assert(~probes.closing | (state != 2) | (place == 0) | (kind == _NIBBLE)),
    ]


class RouteProof(wiring.Component):
    """An element, any pairs, any grants."""

    def __init__(self, lowest, dimensions):
        self.element = Element(lowest, dimensions)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        element = self.element
        m.submodules.element = look_into(element, platform)
        m.d.comb += [
            element.rx.data.eq(AnySeq(2)),
            element.rx.strobe.eq(AnySeq(1)),
            element.granted.eq(AnySeq(1)),
        ]
        # The address, as it came: the four pairs behind the second of a probe.
        frames, state = element.probes.frames, element.probes.state.as_value()
        pairs = [Signal(2, name=f"pair_{n}") for n in range(4)]
        address = Cat(*pairs)
        for n, pair in enumerate(pairs):
            with m.If((state == 1) & frames.strobe & (frames.place == n + 2)):
                m.d.sync += pair.eq(frames.data)
        asks = Signal(CHANNELS + 1)
        taken = 0  # the lowest bit that counts has been
        for n in range(element.lowest, CHANNELS):
            m.d.comb += asks[n].eq(address[n] & ~taken)
            taken = taken | address[n]
        m.d.comb += asks[CHANNELS].eq(~taken)
        inside, step, closing = element.probes.address, element.probes.step, element.probes.closing
        sends = (state == 2) | closing
        m.d.comb += [
            Assert((state != 1) | (frames.place != 3) | (inside[6:] == pairs[0])),
            Assert((state != 1) | (frames.place != 4) | (inside[4:] == Cat(pairs[0], pairs[1]))),
            Assert((state != 1) | (frames.place != 5) | (inside[2:] == Cat(*pairs[:3]))),
            Assert((state != 1) | (frames.place != 0)),
            Assert((state != 1) | (frames.probes.kind.as_value() == 1)),
            Assert((state == 1) | (frames.place == 0) | (frames.probes.kind.as_value() != 1)),
            *closing_ends(element),
            Assert((state != 2) | (step > 2) & ~closing | (inside == address)),
            *(Assert(~sends | (step != 2 + n) | (inside[: 8 - 2 * n] == address[2 * n :])) for n in range(4)),
            Assert((element.asks == 0) | (element.asks == asks), "the lowest bit that counts, or the sink"),
            Assert(
                (state != 2) | (step != 0) | frames.eom | (element.asks == asks),
                "it is asked for until granted, or EOM",
            ),
            Assert(~frames.eom | (element.asks == 0), "nothing is asked for from EOM on"),
            Assert(~closing | (element.asks == 0), "nor while an end is sent"),
            Assert(element.asks[: element.lowest] == 0, "never a channel that is not above"),
            *(
                Assert(
                    ~sends | (step != 2 + n) | (element.lane.data == pairs[n]) & element.lane.strobe,
                    "the short probe goes on unchanged, also if the message has ended",
                )
                for n in range(4)
            ),
        ]
        return m


PROOFS = [
    Proof(
        "owner",
        "D1, D3: no channel has two owners; each keeps it for its message, and they take turns",
        'docs/ipsc2.md, "Circuits"',
        holds={
            "1": Attempt(lambda: OwnerProof(1)),
            "4": Attempt(lambda: OwnerProof(4)),
            "9": Attempt(lambda: OwnerProof(9), nightly=True),
        },
        search=Attempt(lambda: OwnerProof(3), mode="bmc", depth=6),
        faults={
            "a grant is added to an owner": Fault(
                Selected, "owner", lambda was, s: was | (s.asks & -s.asks)[: len(was)]
            ),
            "the end is missed": Fault(Selected, "owner", lambda was, s: Mux(s.owner == 0, was, s.owner)),
            "a pause ends it": Fault(Selected, "owner", lambda was, s: Mux(s.lane__last, 0, was)),
            "it is given to all who ask": Fault(
                Selected, "owner", lambda was, s: Mux((s.owner == 0) & s.open, s.asks, was)
            ),
        },
    ),
    Proof(
        "route",
        "D1, D2: what is asked for is the channel of the lowest bit above, or the sink: who waits waits for a "
        "higher one",
        'docs/ipsc2.md, "Routes"',
        holds={
            f"lowest {lowest}": Attempt(lambda lowest=lowest: RouteProof(lowest, 3), nightly=lowest not in (0, 2))
            for lowest in (*range(4), EXTERNAL, CHANNELS)
        },
        search=Attempt(lambda: RouteProof(2, 3), mode="bmc", depth=12),
        faults={
            "lower bits count": Fault(Element, "above", lambda was, s: s.address),
            "the highest bit is taken": Fault(
                Element, "asks", lambda was, s: Mux(was[EXTERNAL] | ~s.above[EXTERNAL], was, 1 << EXTERNAL)
            ),
            "the sink is asked for beside": Fault(Element, "asks", lambda was, s: was | 1 << CHANNELS),
            "the address is turned": Fault(Element, "address", lambda was, s: Cat(was[1:], was[0])),
        },
        searches={"the address is turned": Attempt(lambda: RouteProof(2, 3), mode="bmc", depth=14)},
    ),
]
