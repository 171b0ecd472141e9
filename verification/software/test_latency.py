"""Where the time of a message goes: stages without gaps, from what was noted."""

from contextlib import contextmanager

import pytest

from nectar.hdl.host.events import LEVELS, EventKind
from nectar.sim.profile import PROTOTYPE
from nectar.sim.recorder import Recorder
from nectar.sim.topology import load
from nectar.software import ProgramError
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.latency import NEEDED, stages
from nectar.software.system import System

from .helpers import drive, simulated


@contextmanager
def ran(*tasks):
    """The recording of a system that has run ``tasks``: (CAB, task, arguments)."""
    shape = load("figure7")
    recorder = Recorder(groups=NEEDED)
    system = System.of(EngineMachine(shape, recorder=recorder), shape, PROTOTYPE)
    try:
        for name, task, *arguments in tasks:
            system.spawn(name, task, *arguments)
        drive(system.run())
        with recorder.recording() as recording:
            yield recording
    finally:
        system.close()
        recorder.close()


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
    with ran(("CAB3", send, 1, [length], switching), ("CAB1", receive, 1)) as recording:
        found = stages(recording, "CAB3", "CAB1")
        (called,) = recording.events([EventKind.SEND], ["CAB3"])
        (read,) = recording.events([EventKind.READ], ["CAB1"])
    for before, after in zip(found, found[1:]):
        assert before.end_ps == after.begin_ps
    assert all(stage.duration_ps > 0 for stage in found)
    assert (found[0].begin_ps, found[-1].end_ps) == (called.time_ps, read.time_ps)
    # On the wire: the header's 16 bytes, the message, 4 bytes of CRC, the end; none of it before the packet's start.
    wire = (16 + length + 4 + 1) * PROTOTYPE.symbol_ps
    arrival = next(stage.end_ps for stage in reversed(found) if stage.name.startswith("fiber"))
    assert found[-1].end_ps - arrival > wire
    rest = sum(stage.duration_ps for stage in found if stage.name == "rest of the packet")
    assert (rest > 0) == (length >= 100) and rest <= wire


def test_later_messages_can_be_asked_for_and_the_order_of_stages_is_that_of_the_way():
    with ran(("CAB5", send, 3, [10, 20, 30]), ("CAB3", receive, 3)) as recording:
        ways = [stages(recording, "CAB5", "CAB3", number) for number in range(3)]
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
        with ran(*tasks) as recording:
            found.append(stages(recording, "CAB3", "CAB1"))
    assert found[0] == found[1]


def test_what_was_not_recorded_is_told():
    with ran(("CAB3", send, 1, [40]), ("CAB1", receive, 1)) as recording:
        with pytest.raises(ProgramError, match="datagram 1 from CAB 3 to CAB 1 was not sent at CAB3 in this recording"):
            stages(recording, "CAB3", "CAB1", 1)
        with pytest.raises(ProgramError, match="no CAB 'CAB9'"):
            stages(recording, "CAB3", "CAB9")
    with ran(("CAB3", send, 1, [40])) as recording:
        with pytest.raises(ProgramError, match="datagram 0 from CAB 3 to CAB 1 was not received at CAB1"):
            stages(recording, "CAB3", "CAB1")
    with simulated(recorded=LEVELS["messages"]) as system, system.recorder.recording() as recording:
        with pytest.raises(ProgramError, match="lacks events .*: write TRACE = True into the program, or record"):
            stages(recording, "CAB1", "CAB2")
