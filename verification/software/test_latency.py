"""Where the time of a message goes: stages without gaps, from what was noted."""

from contextlib import contextmanager

import pytest

from nectar.sim.profile import PROTOTYPE
from nectar.sim.topology import load
from nectar.software import ProgramError
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.errors import CapabilityError
from nectar.software.latency import stages
from nectar.software.system import System

from .helpers import drive, model


@contextmanager
def ran(*tasks):
    """A system that has run ``tasks``: (CAB, task, arguments)."""
    shape = load("figure7")
    system = System.of(EngineMachine(shape, log_control=True), shape, PROTOTYPE, trace=True)
    try:
        for name, task, *arguments in tasks:
            system.spawn(name, task, *arguments)
        drive(system.run())
        yield system
    finally:
        system.close()


async def send(cab, destination, lengths, switching="packet"):
    for length in lengths:
        await cab.sleep(300)
        await cab.datagram.send((destination, 1), bytes(length), switching)


async def receive(cab, count):
    for _ in range(count):
        message = await cab.mailbox(1).receive()
        message.free()


@pytest.mark.parametrize("switching", ["packet", "circuit"])
@pytest.mark.parametrize("length", [0, 1, 40, 100, 300, 1004])
def test_the_stages_follow_each_other_from_send_to_read(length, switching):
    with ran(("CAB3", send, 1, [length], switching), ("CAB1", receive, 1)) as system:
        found = stages(system, "CAB3", "CAB1")
    for before, after in zip(found, found[1:]):
        assert before.end_ps == after.begin_ps
    assert all(stage.duration_ps > 0 for stage in found)
    cycles = {event: cycle for name in ("CAB3", "CAB1") for cycle, event, _, _ in system.cab(name).kernel.trace}
    period = PROTOTYPE.cab_period_ps
    assert found[-1].end_ps - found[0].begin_ps == (cycles["read"] - cycles["send"]) * period
    # On the wire: the header's 16 bytes, the message, 4 bytes of CRC, the end; none of it before the packet's start.
    wire = (16 + length + 4 + 1) * PROTOTYPE.symbol_ps
    arrival = next(stage.end_ps for stage in reversed(found) if stage.name.startswith("fiber"))
    assert found[-1].end_ps - arrival > wire
    rest = sum(stage.duration_ps for stage in found if stage.name == "rest of the packet")
    assert (rest > 0) == (length >= 100) and rest <= wire


def test_later_messages_can_be_asked_for_and_the_order_of_stages_is_that_of_the_way():
    with ran(("CAB5", send, 3, [10, 20, 30]), ("CAB3", receive, 3)) as system:
        ways = [stages(system, "CAB5", "CAB3", number) for number in range(3)]
    begins = []
    for found in ways:
        names = [stage.name for stage in found]
        assert names[:2] == ["software, sending", "DMA, sending"] and names[-1] == "software, receiving"
        assert [name for name in names if name.startswith("HUB")] == ["HUB3", "HUB4", "HUB1", "HUB2"]
        begins.append(found[0].begin_ps)
    assert begins == sorted(begins) and begins[1] - begins[0] > 300 * 10**6


def test_other_traffic_does_not_confuse_it():
    ours, others = [("CAB3", send, 1, [40]), ("CAB1", receive, 1)], [("CAB4", send, 5, [900]), ("CAB5", receive, 1)]
    found = []
    for tasks in (ours, ours + others):
        with ran(*tasks) as system:
            found.append(stages(system, "CAB3", "CAB1"))
    assert found[0] == found[1]


def test_what_was_not_noted_is_told():
    with ran(("CAB3", send, 1, [40]), ("CAB1", receive, 1)) as system:
        with pytest.raises(ProgramError, match="there is no event 'send' of message 1 between CAB3 and CAB 1"):
            stages(system, "CAB3", "CAB1", 1)
        with pytest.raises(ProgramError, match="no CAB 'CAB9'"):
            stages(system, "CAB3", "CAB9")
    with model(backend="engine") as system:
        with pytest.raises(ProgramError, match="nothing was noted .*: write TRACE = True into the program"):
            stages(system, "CAB1", "CAB2")
    with model("figure7", trace=True) as system:
        with pytest.raises(CapabilityError, match="ModelMachine has no log of the symbols on its fibers"):
            stages(system, "CAB3", "CAB1")
