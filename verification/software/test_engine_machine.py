"""The engine back end as a Machine: what every machine does (``machine_scenarios``), and what only the engine can do:
several machines in a process, its counters and logs, memory, interrupts from the keyboard."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from statistics import median

import pytest

from nectar.hdl.host.events import EventGroup
from nectar.sim.recorder import Recorder
from nectar.sim.topology import Topology, TopologyError, load
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.datalink.routes import named_routes
from nectar.software.machine import QUIET
from nectar.verification import seeds
from nectar.verification.sim.traffic import Station
from nectar.verification.software.helpers import PORTS
from nectar.verification.software.machine_scenarios import (
    DATA,
    SCENARIOS,
    a_bus_error_is_raised_where_it_is_awaited,
    a_handler_that_waits_for_an_interrupt_is_told_so,
    a_machine_is_not_quiet_while_a_timer_runs,
    of_a_number_the_low_bytes_are_stored,
    software_may_be_given_later,
)


@pytest.fixture
def machine():
    machine = EngineMachine(load("hub:2"))
    yield machine
    machine.close()


def finish(coroutine):
    """What a coroutine returns that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("the machine has suspended")


def run(machine, stop=lambda: False, until_ps=None):
    """Runs ``machine``, which never suspends."""
    return finish(machine.run(stop, until_ps))


# -- what every machine does --------------------------------------------------------------------------


def on(scenario):
    """A test that has a machine do a scenario."""

    def test(machine):
        finish(scenario(machine))

    return test


globals().update({f"test_{scenario.__name__}": on(scenario) for scenario in SCENARIOS})


def test_software_may_be_given_later(machine):
    finish(software_may_be_given_later(machine))


def test_a_handler_that_waits_for_an_interrupt_is_told_so(machine):
    finish(
        a_handler_that_waits_for_an_interrupt_is_told_so(
            machine, "CAB1: an interrupt handler cannot wait for an interrupt"
        )
    )


def test_a_machine_is_not_quiet_while_a_timer_runs(machine):
    finish(a_machine_is_not_quiet_while_a_timer_runs(machine))


@pytest.mark.parametrize("value", [-1, -(1 << 31), 1 << 31, (1 << 32) + 5, (1 << 63) + 7, 1 << 70, -(1 << 80) + 3])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_of_a_number_the_low_bytes_are_stored(machine, value, size):
    finish(of_a_number_the_low_bytes_are_stored(machine, value, size))


@pytest.mark.parametrize("kind", ["read", "write", "block", "write block"])
def test_a_bus_error_is_raised_where_it_is_awaited(machine, kind):
    finish(a_bus_error_is_raised_where_it_is_awaited(machine, kind))


# -- what machines do that run without a simulator ------------------------------------------------------


def test_it_runs_in_an_event_loop_too(machine):
    """Under cocotb the loop is the simulator's."""

    async def main():
        await machine.doors["CAB1"].now()

    machine.start("CAB1", main())
    assert asyncio.run(machine.run(lambda: False)) == QUIET


# -- what only the engine can do ------------------------------------------------------------------------


def test_long_blocks_and_many_operations_go_through(machine):
    async def main():
        door = machine.doors["CAB1"]
        door.write_block(DATA, block)
        for i in range(5000):
            door.write(DATA + 200_000 + 4 * i, i * 0x01000193)
        got.append(await door.read_block(DATA, len(block)))
        got.append(await door.read_block(DATA + 200_000, 20_000))

    got = []
    block = seeds.rng().randbytes(150_001)
    machine.start("CAB1", main())
    run(machine)
    assert got == [block, b"".join((i * 0x01000193 & 0xFFFFFFFF).to_bytes(4, "big") for i in range(5000))]


def test_memory_is_zero_at_the_start_of_every_machine():
    """Also where another machine has left something behind."""
    for _ in range(3):
        machine = EngineMachine(load("hub:1"))
        got = []

        async def main():
            door = machine.doors["CAB1"]
            got.append(await door.read_block(DATA, 1 << 20))
            door.write_block(DATA, b"\xa5" * (1 << 20))

        machine.start("CAB1", main())
        run(machine)
        machine.close()
        assert got == [bytes(1 << 20)]


def test_machines_do_not_disturb_each_other():
    machines = [EngineMachine(load("hub:2")) for _ in range(2)]
    stations = []
    for number, machine in enumerate(machines):
        Station(machine, "CAB1", [(1, 1)], [bytes([number]) * 50])
        stations.append(Station(machine, "CAB2", [(1, 0)]))
    for until in range(1_000_000, 30_000_000, 1_000_000):
        for machine in machines:
            run(machine, until_ps=until)
    assert [station.received[0][0] for station in stations] == [b"\0" * 50, b"\1" * 50]
    assert stations[0].received[0][1:] == stations[1].received[0][1:]
    for machine in machines:
        machine.close()


def test_hubs_of_different_sizes_work_together():
    """H1: larger and smaller crossbars; each size is a board of its own in the library."""
    topology = Topology("sizes").hub("HUB1", ports=PORTS).hub("HUB2").cab("CAB1").cab("CAB2")
    topology.fiber("CAB1", "HUB1.P2").fiber("HUB1.P0", "HUB2.P15").fiber("HUB2.P7", "CAB2")
    machine = EngineMachine(topology)
    Station(machine, "CAB1", named_routes(topology)["CAB1"]["CAB2"], [b"from a small one" * 4])
    there = Station(machine, "CAB2", named_routes(topology)["CAB2"]["CAB1"])
    run(machine)
    machine.close()
    assert [data for data, _, _ in there.received] == [b"from a small one" * 4]


def test_what_was_seen_on_the_fibers_can_be_read():
    recorder = Recorder(groups=EventGroup.SYMBOLS)
    machine = EngineMachine(load("hub:2"), recorder=recorder)
    Station(machine, "CAB1", [(1, 1)], [bytes(100)])
    Station(machine, "CAB2", [(1, 0)])
    run(machine)
    symbols = machine.engine.symbols()
    machine.close()
    assert symbols["CAB1", "HUB1.P0"] == 4 + 1 + 104 + 1 + 4
    with recorder:
        seen = Counter(event.fiber[1:3] for event in recorder.recording().events())
    assert {ends: seen[ends] for ends in symbols} == symbols


# -- what goes wrong ----------------------------------------------------------------------------------


def test_a_closed_machine_says_so(machine):
    async def main():
        await machine.doors["CAB1"].wait()

    machine.start("CAB1", main())
    run(machine, until_ps=5_000_000)
    time = machine.time_ps
    machine.close()
    machine.close()
    assert machine.time_ps == time
    for use in (
        lambda: run(machine),
        lambda: machine.engine.cycles("CAB1"),
        lambda: machine.engine.symbols(),
        lambda: machine.engine.wake("CAB1"),
    ):
        with pytest.raises(RuntimeError, match="closed"):
            use()


def test_a_fiber_that_is_faster_than_a_board_is_refused():
    topology = Topology("fast").hub("HUB1").cab("CAB1").fiber("CAB1", "HUB1.P0", symbol_ns=50)
    with pytest.raises(
        TopologyError, match="topology fast: fiber CAB1 - HUB1.P0: a symbol every 50 ns is faster than a board's clock"
    ):
        EngineMachine(topology)


def test_control_c_interrupts_a_long_silence():
    """The engine comes back to Python every 50 ms."""
    code = textwrap.dedent("""
        from nectar.sim.topology import load
        from nectar.software.backends.engine.machine import EngineMachine
        machine = EngineMachine(load("hub:2"), sleep=False)
        async def main():
            machine.doors["CAB1"].spend(10**12)
            await machine.doors["CAB1"].now()
        machine.start("CAB1", main())
        print("running", flush=True)
        machine.run(lambda: False).send(None)
    """)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    assert "KeyboardInterrupt" in errors


# -- resources ----------------------------------------------------------------------------------------


def resident():
    """Bytes of memory that this process has now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_closed_machines_leave_no_memory_behind():
    def once():
        machine = EngineMachine(load("hub:8"))
        for i in range(8):
            Station(machine, f"CAB{i + 1}", [(1, (i + 1) % 8)], [bytes(100)])
        run(machine, until_ps=100_000_000)
        machine.close()
        gc.collect()

    gc.collect()
    gc.freeze()  # what was there before need not be looked at again and again
    try:
        for _ in range(3):
            once()
        sizes = []
        for _ in range(40):
            once()
            sizes.append(resident())
        # Each machine has 8 Mbyte of CAB memory. The allocator gives it back sooner or later, so a single size may be
        # some 16 Mbyte off.
        assert median(sizes[20:]) - median(sizes[:20]) < 8_000_000
    finally:
        gc.unfreeze()
