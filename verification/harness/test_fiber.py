"""Sources, sinks and monitors of fibers, on both sides of a queue of symbols whose delay is known."""

import random

import cocotb
import pytest

from nectar.hdl.link.queue import SymbolQueue
from nectar.hdl.link.symbol import Control, command, packet, reply
from nectar.verification.bench import Bench
from nectar.verification.harness import FiberMonitor, FiberSink, FiberSource, StepClock, decoded

INPUTS = "push__valid", "push__payload", "output__ready", "clear"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def packets_commands_and_replies_pass_and_are_understood(dut):
    clock = StepClock(dut)
    source = clock.attach(FiberSource(clock, "push"))
    arriving, sink = clock.attach(FiberMonitor(clock, "push")), clock.attach(FiberSink(clock, "output", pause=0.2))
    await clock.start(*INPUTS)
    data = random.randbytes(20)
    source.send_packet(data)
    source.wait(5)
    source.send_command(0x21, 7, 3)
    source.send_ready()
    source.send_reply(0x21, 7, 3, done=False)
    source.send(packet(b"late"), gap=0.5)
    await source.finish()
    for monitor in arriving, sink:
        await clock.until(lambda monitor=monitor: len(monitor.decoded().packets) == 2)
        found = monitor.decoded()
        assert found.packets == [data, b"late"] and found.commands == [(0x21, 7, 3)] and found.readies == 1
        assert found.replies == [(0x20, 7, 3)] and not found.cut


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def each_symbol_has_its_cycle(dut):
    """The queue shows a symbol three cycles behind the one in which it came."""
    clock = StepClock(dut)
    source, sink = clock.attach(FiberSource(clock, "push")), clock.attach(FiberSink(clock, "output"))
    arriving = clock.attach(FiberMonitor(clock, "push"))
    await clock.start(*INPUTS)
    source.send([0x12, 0x34])
    source.wait(4)
    source.send([0x56])
    assert await sink.take(0) == []
    await clock.until(lambda: len(sink.items) == 3)
    assert arriving.times == [0, 1, 6] and sink.times == [3, 4, 9] and sink.offers == 3


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_idle_is_no_symbol(dut):
    clock = StepClock(dut)
    source = clock.attach(FiberSource(clock, "push"))
    clock.attach(FiberSink(clock, "output"))
    await clock.start(*INPUTS)
    source.send([Control.IDLE])
    with pytest.raises(AssertionError, match="cycle 3: output says idle"):
        await clock.until(lambda: False)


def test_what_is_cut_short_is_counted():
    """docs/wire.md: a ready signal and a reply may come inside of a packet; another control code cuts a command."""
    start, end, ready = int(Control.START), int(Control.END), int(Control.READY)
    found = decoded([start, 1, *reply(9, 8, 7), 2, ready, 3, end, *command(1, 2, 3)[:2], ready, *packet(b"ab"), 5])
    assert found == ([b"\1\2\3", b"ab"], [], [(9, 8, 7)], 2, 1)


bench = Bench(__name__, {"queue": lambda: SymbolQueue(64, 9)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_fiber(configuration, claim):
    bench.check(configuration, claim)
