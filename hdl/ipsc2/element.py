"""Routing element: what is done with one incoming channel.

Source: Nugent, "The iPSC/2 Direct-Connect Communications Technology" (1988), "Message Paths" and "Routing Operation".
The cycles, and what becomes of a message that ends before it is passed on, are ours: ``docs/ipsc2.md``, "Circuits".
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Module, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from .formats import (
    CHANNELS,
    CLOSING_PAIRS,
    EXTERNAL,
    NIBBLE_PAIRS,
    NIBBLE_START,
    RDY_PLACE,
    SHORT_PROBE_PAIRS,
    channels,
)
from .frames import Frames
from .signatures import Lane, Lines

__all__ = ["Element", "check_dimensions"]

#: Where in what an element sends by itself, behind the probe, the nibble and the closing word begin.
_NIBBLE, _WORD = SHORT_PROBE_PAIRS, SHORT_PROBE_PAIRS + NIBBLE_PAIRS
_PAIRS = SHORT_PROBE_PAIRS + CLOSING_PAIRS


def check_dimensions(dimensions):
    """Raises TypeError or ValueError unless ``dimensions`` is an int from 1 to 7."""
    if not isinstance(dimensions, int) or isinstance(dimensions, bool):
        raise TypeError(f"dimensions must be an int, not {dimensions!r}")
    if not 1 <= dimensions <= EXTERNAL:
        raise ValueError(f"dimensions must be 1 to {EXTERNAL}, not {dimensions}")


class _State(enum.Enum, shape=2):
    """No message; the probe is coming; it is known, and sent on when that is granted; the path stands."""

    IDLE = 0
    PROBE = 1
    ASK = 2
    PASS = 3


class Element(wiring.Component):
    """Takes the probe, asks for the next channel or the sink, sends the probe on, and passes the message.

    A message that ends before it is passed on takes the request back; or, if that has been granted, the element sends
    the rest of the probe, a nibble, and a word with EOM.

    Parameters
    ----------
    lowest : int
        The lowest bit of the probe that counts, 0 to 8: k + 1 for channel k of a dimension, 0 for channel 7 of a
        router, 8 (none) at the other end of channel 7.
    dimensions : int
        Dimensions of the cube, 1 to 7: which channels the router has.

    Members
    -------
    rx : In(Lines())
        The channel.
    asks : Out(9)
        One-hot: the channel that is asked for; bit 8 is the sink.
    granted : In(1)
        What was asked for takes the pairs of ``lane`` in this cycle, until ``lane.last``.
    lane : Out(Lane())
        The short probe, then the message, or the closing.
    rdy, rdy_valid : Out(1)
        An RDY bit has arrived.
    ending : Out(1)
        EOM of the message has arrived: no RDY may go back for it.
    held : Out(1)
        There is a message, or what is sent for it has not ended.
    violation : Out(1)
        In this cycle: a pair that begins no frame where one should begin; a word without EOM for which there is no
        path; a probe for a channel that the router has not is waiting.

    Timing
    ------
    ``rx`` goes through one register. ``asks`` is there in the second cycle behind the probe's last pair on ``rx``.
    In the first cycle of ``granted`` the first pair of the probe is taken, and one more in each of the next five. All
    else is passed in the cycle behind that of ``rx``. ``asks`` falls in the cycle in which an EOM is in the register.
    It is 0 while an end is being sent, of which one pair is taken in each cycle.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not an int of its range.
    """

    def __init__(self, lowest, dimensions):
        check_dimensions(dimensions)
        if not isinstance(lowest, int) or isinstance(lowest, bool):
            raise TypeError(f"lowest must be an int, not {lowest!r}")
        if not 0 <= lowest <= CHANNELS:
            raise ValueError(f"lowest must be 0 to {CHANNELS}, not {lowest}")
        self.lowest = lowest
        self.dimensions = dimensions
        super().__init__(
            {
                "rx": In(Lines()),
                "asks": Out(CHANNELS + 1),
                "granted": In(1),
                "lane": Out(Lane()),
                "rdy": Out(1),
                "rdy_valid": Out(1),
                "ending": Out(1),
                "held": Out(1),
                "violation": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.frames = frames = Frames(SHORT_PROBE_PAIRS)
        state = Signal(_State)
        padding = Signal()  # the upper 8 bits of a probe of 16 may be coming
        joined = Signal()  # the message is passed on
        address = Signal(CHANNELS, reset_less=True)  # of the short probe, once there is one
        closing = Signal()  # the message has ended before it was passed on
        step = Signal(range(_PAIRS))  # the pair that is sent next, of probe and closing
        given_up = Signal()

        m.d.sync += [frames.data.eq(self.rx.data), frames.strobe.eq(self.rx.strobe)]
        m.d.comb += [
            frames.probe.eq(state == _State.IDLE),
            frames.padding.eq(padding),
            self.rdy.eq(frames.data[0]),
            self.rdy_valid.eq(frames.status),
            given_up.eq(frames.eom & (state != _State.IDLE) & ~joined),
            self.held.eq((state != _State.IDLE) | frames.eom | closing),
            self.ending.eq(frames.eom | closing),
        ]

        # The next channel.
        above = Signal(CHANNELS)
        lost = Signal()
        absent = [n for n in range(CHANNELS) if n not in channels(self.dimensions)]
        m.d.comb += above[self.lowest :].eq(address[self.lowest :])
        with m.If((state == _State.ASK) & (step == 0) & ~frames.eom):
            m.d.comb += [
                self.asks.eq(Cat((above & (~above + 1))[:CHANNELS], above == 0)),
                lost.eq(Cat(self.asks[n] for n in absent).any()),
            ]
        m.d.comb += self.violation.eq(frames.wrong | lost | frames.plain & ~joined)

        # What is sent. A grant holds, so what has begun goes on.
        sends = Signal()
        m.d.comb += sends.eq((state == _State.ASK) & self.granted | (step != 0))
        with m.If(state == _State.PASS):
            m.d.comb += [
                self.lane.data.eq(frames.data),
                self.lane.strobe.eq(frames.strobe & (joined | frames.nibble_begins)),
                self.lane.status.eq(frames.status & joined),
                self.lane.last.eq(frames.last),  # one that is not passed on is not here any more
            ]
        with m.Else():
            m.d.comb += self.lane.strobe.eq(sends)
            with m.Switch(step):
                with m.Case(RDY_PLACE):
                    m.d.comb += self.lane.status.eq(1)
                with m.Case(*range(RDY_PLACE + 1, SHORT_PROBE_PAIRS)):
                    m.d.comb += self.lane.data.eq(address[:2])
                with m.Case(_NIBBLE):
                    m.d.comb += self.lane.data.eq(NIBBLE_START)
                with m.Case(_NIBBLE + RDY_PLACE, _WORD + RDY_PLACE):
                    m.d.comb += [self.lane.data.eq(0b10), self.lane.status.eq(1)]  # the don't-care; EOM
                with m.Case(_PAIRS - 1):
                    m.d.comb += self.lane.last.eq(1)

        # The address comes behind two other pairs, and leaves behind two. The next one comes when all of it has left.
        turns = Signal()
        m.d.comb += turns.eq((step > RDY_PLACE) & (step < SHORT_PROBE_PAIRS))
        with m.If((state == _State.PROBE) & frames.strobe | turns):
            m.d.sync += address.eq(Cat(address[2:], frames.data))
        with m.If(state == _State.PROBE):
            m.d.sync += padding.eq(1)
        with m.Elif(frames.nibble_begins):
            m.d.sync += padding.eq(0)
        with m.If(sends):
            m.d.sync += step.eq(step + 1)
        with m.If(step == _PAIRS - 1):
            m.d.sync += [step.eq(0), closing.eq(0)]
        with m.Switch(state):
            with m.Case(_State.IDLE):
                with m.If(frames.data_begins):
                    m.d.sync += state.eq(_State.PROBE)
            with m.Case(_State.PROBE):
                with m.If(frames.ends):
                    m.d.sync += state.eq(_State.ASK)
            with m.Case(_State.ASK):
                with m.If(given_up):
                    m.d.sync += [state.eq(_State.IDLE), closing.eq(sends)]
                with m.Elif(step == SHORT_PROBE_PAIRS - 1):
                    m.d.sync += [step.eq(0), state.eq(_State.PASS)]
            with m.Case(_State.PASS):
                with m.If(frames.nibble_begins):
                    m.d.sync += joined.eq(1)
                with m.If(given_up):
                    m.d.sync += [state.eq(_State.IDLE), closing.eq(1), step.eq(_NIBBLE)]
                with m.If(self.lane.last):
                    m.d.sync += [joined.eq(0), state.eq(_State.IDLE)]

        if platform == "formal":
            self.probes = SimpleNamespace(
                state=state, padding=padding, joined=joined, closing=closing, step=step, address=address, frames=frames
            )
        m.d.comb += [
            Assert(~joined | (state == _State.PASS), "only what has a path is passed on"),
            Assert((step == 0) | (state == _State.ASK) | closing, "the probe is sent before the message"),
            Assert((step < SHORT_PROBE_PAIRS) | closing, "it has so many pairs"),
            Assert(~closing | (step != 0) & (step < _PAIRS), "an end is sent without pauses"),
            Assert(~closing | (state != _State.PASS), "nothing is passed on meanwhile"),
            Assert(~closing | ~given_up, "the next message does not end before"),
            Assert((self.asks & (self.asks - 1))[: len(self.asks)] == 0, "one thing is asked for"),
        ]
        return m
