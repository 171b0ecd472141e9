"""Routing element: what is done with one incoming channel.

Source: Nugent, "The iPSC/2 Direct-Connect Communications Technology" (1988), "Message Paths" and "Routing Operation".
The cycles are ours: ``docs/ipsc2.md``, "Circuits".
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Module, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from .formats import CHANNELS, EXTERNAL, SHORT_PROBE_PAIRS, channels
from .frames import Frames
from .signatures import Lane, Lines

__all__ = ["Element", "check_dimensions"]


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
        The short probe, then the message.
    rdy, rdy_valid : Out(1)
        An RDY bit has arrived.
    ending : Out(1)
        EOM of the message has arrived: no RDY may go back for it.
    held : Out(1)
        There is a message.
    violation : Out(1)
        In this cycle: a pair that begins no frame where one should begin; a word for which there is no path;
        a probe for a channel that the router has not is waiting.

    Timing
    ------
    ``rx`` goes through one register. ``asks`` is there in the second cycle behind the probe's last pair on ``rx``.
    In the first cycle of ``granted`` the first pair of the probe is taken, and one more in each of the next five. All
    else is passed in the cycle behind that of ``rx``.

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
        step = Signal(range(SHORT_PROBE_PAIRS))  # its pair that is sent next

        m.d.sync += [frames.data.eq(self.rx.data), frames.strobe.eq(self.rx.strobe)]
        m.d.comb += [
            frames.probe.eq(state == _State.IDLE),
            frames.padding.eq(padding),
            self.rdy.eq(frames.data[0]),
            self.rdy_valid.eq(frames.status),
            self.held.eq(state != _State.IDLE),
            self.ending.eq(joined & frames.eom),
        ]

        # The next channel.
        above = Signal(CHANNELS)
        lost = Signal()
        absent = [n for n in range(CHANNELS) if n not in channels(self.dimensions)]
        m.d.comb += above[self.lowest :].eq(address[self.lowest :])
        with m.If((state == _State.ASK) & (step == 0)):
            m.d.comb += [
                self.asks.eq(Cat((above & (~above + 1))[:CHANNELS], above == 0)),
                lost.eq(Cat(self.asks[n] for n in absent).any()),
            ]
        m.d.comb += self.violation.eq(frames.wrong | lost | frames.data_begins & self.held & ~joined)

        # What is sent.
        with m.If(state == _State.PASS):
            m.d.comb += [
                self.lane.data.eq(frames.data),
                self.lane.strobe.eq(frames.strobe & (joined | frames.nibble_begins)),
                self.lane.status.eq(frames.status & joined),
                self.lane.last.eq(frames.last & joined),
            ]
        with m.Else():
            m.d.comb += [self.lane.strobe.eq(self.granted), self.lane.status.eq(step == 1)]
            with m.If(step >= 2):
                m.d.comb += self.lane.data.eq(address[:2])

        # The address comes behind two other pairs, and leaves behind two.
        sends = Signal()
        m.d.comb += sends.eq((state == _State.ASK) & self.granted)
        with m.If((state == _State.PROBE) & frames.strobe | sends & (step >= 2)):
            m.d.sync += address.eq(Cat(address[2:], frames.data))
        with m.If(state == _State.PROBE):
            m.d.sync += padding.eq(1)
        with m.Elif(frames.nibble_begins):
            m.d.sync += padding.eq(0)
        with m.Switch(state):
            with m.Case(_State.IDLE):
                with m.If(frames.data_begins):
                    m.d.sync += state.eq(_State.PROBE)
            with m.Case(_State.PROBE):
                with m.If(frames.ends):
                    m.d.sync += state.eq(_State.ASK)
            with m.Case(_State.ASK):
                with m.If(sends):
                    m.d.sync += step.eq(step + 1)
                    with m.If(step == SHORT_PROBE_PAIRS - 1):
                        m.d.sync += [step.eq(0), state.eq(_State.PASS)]
            with m.Case(_State.PASS):
                with m.If(frames.nibble_begins):
                    m.d.sync += joined.eq(1)
                with m.If(self.lane.last):
                    m.d.sync += [joined.eq(0), state.eq(_State.IDLE)]

        if platform == "formal":
            self.probes = SimpleNamespace(
                state=state, padding=padding, joined=joined, step=step, address=address, frames=frames
            )
        m.d.comb += [
            Assert(~joined | (state == _State.PASS), "only what has a path is passed on"),
            Assert((step == 0) | (state == _State.ASK), "the probe is sent before the message"),
            Assert(step < SHORT_PROBE_PAIRS, "it has so many pairs"),
            Assert((self.asks & (self.asks - 1))[: len(self.asks)] == 0, "one thing is asked for"),
        ]
        return m
