"""Sources, sinks and monitors of streams: order and content with and without pauses, and a torn offer that is seen."""

import random

import cocotb
import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from nectar.verification.bench import Bench
from nectar.verification.harness import RunningClock, StepClock, StreamMonitor, StreamSink, StreamSource


class Queue(wiring.Component):
    """Four items between two streams; ``fickle``: another item is offered when one has not been taken at once."""

    def __init__(self, fickle):
        self.fickle = fickle
        super().__init__({"input": In(stream.Signature(8)), "output": Out(stream.Signature(8))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.fifo = fifo = SyncFIFOBuffered(width=8, depth=4)
        m.d.comb += [
            fifo.w_data.eq(self.input.payload),
            fifo.w_en.eq(self.input.valid),
            self.input.ready.eq(fifo.w_rdy),
            self.output.payload.eq(fifo.r_data),
            self.output.valid.eq(fifo.r_rdy),
            fifo.r_en.eq(self.output.ready),
        ]
        if self.fickle:
            m.d.comb += fifo.r_en.eq(1)
        return m


def ends(clock, pause=0.0, back=0.0):
    """A source, a sink, and a monitor of what the source gives."""
    return (
        clock.attach(StreamSource(clock, "input", pause=pause, fill=lambda: random.getrandbits(8))),
        clock.attach(StreamSink(clock, "output", pause=back)),
        clock.attach(StreamMonitor(clock, "input")),
    )


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def what_is_sent_arrives_whatever_the_pauses(dut):
    for pause, back in ((0, 0), (0.5, 0), (0, 0.7), (0.6, 0.6), (lambda: False, lambda: random.random() < 0.3)):
        clock = StepClock(dut)
        source, sink, monitor = ends(clock, pause, back)
        await clock.start("input__valid", "output__ready")
        items = list(random.randbytes(100))
        source.send(items)
        found = await sink.take(100)
        assert found == items == monitor.items and source.idle
        if pause == back == 0:
            assert monitor.times == list(range(100)) and monitor.offers == 100


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def gaps_are_where_they_were_put(dut):
    """None in the queue is a cycle without an item; an item stays until it is taken."""
    clock = StepClock(dut)
    source, sink, monitor = ends(clock)
    await clock.start("input__valid", "output__ready")
    source.send([1, None, None, 2, None, 3])
    await source.finish()
    assert monitor.times == [0, 3, 5]
    assert await sink.take(3) == [1, 2, 3] and not sink.items
    with pytest.raises(AssertionError, match="not within 50 cycles"):
        await sink.take(1, 50)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_ends_follow_a_clock_that_runs_by_itself(dut):
    step = StepClock(dut)
    await step.start("input__valid", "output__ready")
    clock = RunningClock(dut)
    source, sink, _ = ends(clock, 0.3, 0.3)
    clock.start()
    clock.follow()
    items = list(random.randbytes(60))
    source.send(items)
    assert await sink.take(60, 1000) == items
    clock.stop()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_offer_that_does_not_stay_is_seen(dut):
    clock = StepClock(dut)
    source, sink, _ = ends(clock, 0, lambda: clock.cycles < 20)
    await clock.start("input__valid", "output__ready")
    source.send([7, 8, 9])
    with pytest.raises(AssertionError, match="output offered 0x7, then 8"):
        await sink.take(3)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def what_does_not_count_may_change(dut):
    """8 and 9 are alike but for their last bit; an item that goes away is another thing."""
    clock = StepClock(dut)
    source, monitor = StreamSource(clock, "input"), StreamMonitor(clock, "output", counts=lambda item: item >> 1)
    clock.attach(source)
    clock.attach(monitor)
    await clock.start("input__valid", "output__ready")
    source.send([8, 9])
    with pytest.raises(AssertionError, match="output offered 0x9, then None"):
        await clock.until(lambda: False, 20)
    assert monitor.offers == 2


bench = Bench(__name__, {"queue": lambda: Queue(False), "fickle queue": lambda: Queue(True)}, ports_only=True)


#: Claims about offers that do not stay; all others are about the queue that keeps the rule.
#: Claims about offers that do not stay; all others are about the queue that keeps the rule of streams.
FICKLE = {"an_offer_that_does_not_stay_is_seen", "what_does_not_count_may_change"}


@pytest.mark.parametrize(
    "configuration, claim", [case for case in bench.cases() if (case[0] == "fickle queue") == (case[1] in FICKLE)]
)
def test_stream(configuration, claim):
    bench.check(configuration, claim)
