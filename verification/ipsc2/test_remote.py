"""Bench of hdl/ipsc2/remote.py: its channel led back to itself, so that it sends to its own sink."""

import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.ipsc2.formats import MOST_WIRE, flight
from nectar.hdl.ipsc2.remote import Remote
from nectar.verification.bench import Bench
from nectar.verification.harness import StepClock
from nectar.verification.ipsc2.agents import Deserializer, Message, Serializer

INPUTS = ("source__request", "source__probe", "source__data", "sink__ready", "channel__rx__data", "channel__rx__strobe")


async def loop(dut, wire, messages, starve=0.0, drain=1.0):
    """Sends ``messages`` around a wire that delays so many cycles; returns what has come, with times."""
    clock = StepClock(dut)
    await clock.start(*INPUTS)
    serializer, deserializer = Serializer(starve), Deserializer(headroom=4 + wire, depth=8 + wire, drain=drain)
    serializer.queue.extend(messages)
    on_the_way = deque([(0, 0)] * wire)
    while serializer.queue or deserializer.message or deserializer.pairs or clock.cycles < 40:
        assert clock.cycles < 6_000
        request, probe, data = serializer.inputs()
        clock.drive(source__request=request, source__probe=probe, source__data=data, sink__ready=deserializer.ready())
        await clock.settle()
        on_the_way.append((clock.pin("channel__tx__data"), clock.pin("channel__tx__strobe")))
        data, strobe = on_the_way.popleft()
        clock.drive(channel__rx__data=data, channel__rx__strobe=strobe)
        await clock.settle()
        pins = [clock.pin(f"source__{name}") for name in ("grant", "allow", "refused")]
        serializer.sample(clock.cycles, *pins)
        pins = [clock.pin(f"sink__{name}") for name in ("open", "data", "strobe")]
        deserializer.sample(clock.cycles, *pins)
        assert not clock.pin("violation")
        await clock.edge()
    assert deserializer.most_after <= flight(1, wire), "RDY stops the source"
    return deserializer.received


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def what_a_device_sends_comes_back(dut):
    """docs/ipsc2.md, "Routes": any probe, 0 included, goes to channel 7, and what comes from there to the sink; through
    wires of all lengths, and with a sink that throttles."""
    for wire in range(MOST_WIRE + 1):
        for starve, drain in ((0, 1), (0.3, 0.03)):
            messages = [
                Message(
                    sum(random.getrandbits(1) << n for n in (0, 1, 2, 7)),
                    [random.getrandbits(16) for _ in range(random.choice([1, 2, 20]))],
                )
                for _ in range(12)
            ]
            received = await loop(dut, wire, messages, starve, drain)
            assert [(each.probe, each.words) for each in received] == [(each.probe, each.words) for each in messages]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def probes_for_channels_that_there_are_not_are_refused(dut):
    """docs/ipsc2.md, "Node source"."""
    absent = [n for n in range(3, 16) if n != 7]
    wrong = [1 << n | 1 << other for n in absent for other in absent]
    messages = [Message(bits | random.choice([0, 1, 2, 4, 7, 128, 135]), [0]) for bits in wrong]
    assert not await loop(dut, 0, messages)
    assert all("refused" in message.times for message in messages)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def what_the_formats_do_not_allow_is_told(dut):
    """docs/ipsc2.md, "What can go wrong": a pair that begins no frame."""
    clock = StepClock(dut)
    await clock.start(*INPUTS)
    for data in (1, 2, 1):
        clock.drive(channel__rx__data=data, channel__rx__strobe=1)
        await clock.settle()
        await clock.edge()
        await clock.settle()
        assert clock.pin("violation")
        await clock.edge()


bench = Bench(__name__, {"3 dimensions": lambda: Remote(3)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_remote(configuration, claim):
    bench.check(configuration, claim)


def test_a_cube_of_no_dimensions_is_refused():
    with pytest.raises(ValueError, match="dimensions must be 1 to 7, not 0"):
        Remote(0)
