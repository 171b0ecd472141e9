"""The cocotb back end as a Machine: what every machine does (``machine_scenarios``), and what this one does
besides: its list of symbols, and machines one after the other on the boards of one simulation."""

from contextlib import contextmanager

import cocotb
import pytest

from nectar.hdl.cab.addresses import REG, Irq
from nectar.hdl.host.events import EventGroup, EventKind
from nectar.hdl.hub.commands import Op
from nectar.hdl.link.symbol import command
from nectar.sim.profile import PROTOTYPE
from nectar.sim.recorder import Recorder
from nectar.sim.topology import Topology
from nectar.software.backends.cocotb.machine import CocotbMachine
from nectar.software.machine import QUIET, STOPPED, TIME
from nectar.software.system import System
from nectar.verification.bench import Bench
from nectar.verification.software import machine_scenarios
from nectar.verification.software.machine_scenarios import BUS_ERRORS, CYCLE, DATA, RESET, SCENARIOS
from nectar.verification.system.topologies import ONE_HUB
from nectar.verification.system.verilog import TOP, system

claim = cocotb.test(timeout_time=5, timeout_unit="ms")


@contextmanager
def machine_of(**options):
    machine = CocotbMachine(ONE_HUB, PROTOTYPE, **options)
    try:
        yield machine
    finally:
        machine.close()
        if machine.recorder is not None:
            machine.recorder.close()


def never():
    return False


def writer(door, *words):
    """Software that stores ``words``, (register's name, value), and ends."""

    async def main():
        for name, value in words:
            door.write(REG[name].address, value)
        await door.now()

    return main()


# -- what every machine does ---------------------------------------------------------------------------


def on(scenario):
    """A claim that a machine does a scenario."""

    async def claimed(dut):
        with machine_of() as machine:
            await scenario(machine)

    claimed.__name__ = claimed.__qualname__ = scenario.__name__
    return claim(claimed)


globals().update({scenario.__name__: on(scenario) for scenario in SCENARIOS})


@claim
async def a_bus_error_is_raised_where_it_is_awaited(dut):
    for kind in BUS_ERRORS:
        with machine_of() as machine:
            await machine_scenarios.a_bus_error_is_raised_where_it_is_awaited(machine, kind)


@claim
async def software_may_be_given_later(dut):
    """Time goes on to the time given: it is the simulator's."""
    with machine_of() as machine:
        await machine_scenarios.software_may_be_given_later(machine, TIME)


@claim
async def a_handler_that_waits_for_an_interrupt_is_told_so(dut):
    with machine_of() as machine:
        await machine_scenarios.a_handler_that_waits_for_an_interrupt_is_told_so(
            machine, "an interrupt handler cannot wait for an interrupt: it holds all of them off"
        )


@claim
async def of_a_number_the_low_bytes_are_stored(dut):
    with machine_of() as machine:
        await machine_scenarios.of_a_number_the_low_bytes_are_stored(machine, -(1 << 80) + 3, 2)


# -- how a run ends ------------------------------------------------------------------------------------
@claim
async def a_machine_is_quiet_when_nothing_can_happen_and_not_before(dut):
    """A timer, a symbol on a long fiber and a computing CPU each keep it from being quiet. A timer of 1000 cycles: the
    simulator takes much longer than the engine."""
    with machine_of() as machine:
        await machine_scenarios.a_machine_is_not_quiet_while_a_timer_runs(machine, 1000)

    with machine_of(recorder=Recorder(groups=EventGroup.CONTROLS)) as machine:
        # 500 m of fiber each way: the reply is under way for 5 us, while every board sleeps.
        machine.start("CAB3", writer(machine.doors["CAB3"], ("TX_COMMAND", Op.STATUS_OUTPUT << 16 | 9 << 8 | 2)))
        assert await machine.run(never) == QUIET
        sent, answered = machine.recorder.recording().events()
        assert (sent.kind, sent.fiber.sender) == (EventKind.COMMAND, "CAB3")
        assert (answered.kind, answered.fiber.sender) == (EventKind.REPLY, "HUB9.P1")
        assert answered.begin_ps - sent.begin_ps > 2_500_000
        assert machine.time_ps > answered.begin_ps + 2_500_000


@claim
async def software_that_is_given_later_begins_in_the_next_cycle(dut):
    with machine_of() as machine:
        seen = []

        async def main():
            seen.append(await machine.doors["CAB2"].now())

        assert await machine.run(never) == QUIET
        before = machine.time_ps
        machine.start("CAB2", main())
        assert await machine.run(never) == QUIET
        assert seen == [before // CYCLE - RESET + 1]


@claim
async def a_sleeping_cpu_can_be_woken(dut):
    with machine_of() as machine:
        seen = []

        async def main():
            door = machine.doors["CAB1"]
            door.spend(100)
            for _ in range(3):
                await door.wait()
                seen.append(await door.now())

        machine.start("CAB1", main())
        assert await machine.run(never, 2_000_000) == TIME
        machine.wake("CAB1")  # while it computes: its wait ends when it comes
        machine.wake("CAB2")  # has no software: nobody minds
        assert await machine.run(never) == QUIET
        assert seen == [100]
        before = machine.time_ps
        machine.wake("CAB1")
        assert await machine.run(lambda: len(seen) == 2) == STOPPED
        assert seen[1] == before // CYCLE - RESET + 1


# -- what software does ----------------------------------------------------------------------------------
@claim
async def what_is_stored_can_be_loaded_whatever_its_alignment(dut):
    with machine_of() as machine:
        got, blocks = (
            [],
            [
                (DATA + start, bytes(range(start % 100, start % 100 + length)))
                for start in (0, 101, 202, 303)
                for length in (1, 2, 3, 8, 33)
            ],
        )

        async def main():
            door = machine.doors["CAB1"]
            for address, data in blocks:
                door.write_block(address, data)
                got.append(await door.read_block(address, len(data)))
            door.write(DATA + 4, 0x11223344)
            door.write(DATA + 5, 0xAA, 1)
            door.write(DATA + 6, 0xBBCC, 2)
            got.append([await door.read(DATA + 4), await door.read(DATA + 5, 1), await door.read(DATA + 4, 2)])

        machine.start("CAB1", main())
        assert await machine.run(never) == QUIET
        assert got == [data for _, data in blocks] + [[0x11AABBCC, 0xAA, 0x11AA]]


@claim
async def symbols_on_the_fibers_are_recorded(dut):
    with machine_of(recorder=Recorder(groups=EventGroup.SYMBOLS)) as machine:
        machine.start("CAB1", writer(machine.doors["CAB1"], ("TX_COMMAND", Op.STATUS_OUTPUT << 16 | 9 << 8 | 2)))
        assert await machine.run(never) == QUIET
        seen = list(machine.recorder.recording().events())
    assert [event.symbol for event in seen if event.fiber.sender == "CAB1"] == command(Op.STATUS_OUTPUT, 9, 2)
    assert len(seen) == 8
    starts = [event.time_ps for event in seen if event.fiber.sender == "CAB1"]
    assert all(later - sooner >= PROTOTYPE.symbol_ps for sooner, later in zip(starts, starts[1:]))


# -- what goes wrong -------------------------------------------------------------------------------------


@claim
async def a_machine_does_not_notice_what_an_earlier_one_has_left_undone(dut):
    """The first is closed in the midst of a packet; symbols, interrupts and connections must be gone."""
    logs = []
    for _ in range(2):
        with machine_of(recorder=Recorder(groups=EventGroup.SYMBOLS)) as machine:
            assert await machine.run(never) == QUIET
            assert not list(machine.recorder.recording().events())
            machine.start(
                "CAB1",
                writer(
                    machine.doors["CAB1"],
                    ("TX_COMMAND", Op.OPEN_RETRY << 16 | 9 << 8),
                    ("TX_ADDRESS", DATA),
                    ("TX_AREA", 2000 | 1 << 30),
                ),
            )
            machine.start("CAB2", writer(machine.doors["CAB2"], ("TIMER_COMPARE", 500), ("IRQ_ENABLE", 1 << Irq.TIMER)))
            assert await machine.run(never, 60_000_000) == TIME
            assert dut.CAB2__irq.value == 1
            logs.append(list(machine.recorder.recording().events()))
    assert logs[0] == logs[1] and 500 < len(logs[0])


@claim
async def a_fiber_that_is_faster_than_a_board_is_refused(dut):
    fast = Topology("fast").hub("HUB9", ports=4).cab("CAB1").fiber("CAB1", "HUB9.P3", symbol_ns=50)
    with pytest.raises(ValueError, match="fiber CAB1 - HUB9.P3: a symbol every 50 ns is faster than a board's clock"):
        CocotbMachine(fast, PROTOTYPE)


@claim
async def a_protected_task_is_ended_by_its_fault_and_another_runs_on(dut):
    """The kernel's modes and domains, as on the engine (test_protection)."""

    async def user(cab, address, write):
        block = await cab.memory.allocate(100)
        for number in range(20):
            cab.memory.write(block, bytes([number] * 100))
            await cab.pause()
            assert await cab.memory.read(block, 100) == bytes([number] * 100)
        if write:
            cab.door.write(address, 1)
        elif address:
            await cab.door.read(address)
        return "unharmed"

    with machine_of() as machine:
        tasks = System.of(machine, ONE_HUB)
        cab = tasks.cab("CAB1")
        used = cab.memory.used
        good, reads, writes = (
            tasks.spawn("CAB1", user, *each, protected=True)
            for each in ((0, False), (DATA, False), (REG["DOMAIN"].address, True))
        )
        await tasks.run()
        assert good.result == "unharmed" and cab.memory.used == used and cab.domains.used == 0
        assert [(fault.task, fault.address, fault.kind, fault.region) for fault in cab.faults] == [
            (reads.name, DATA, "read", "data"),
            (writes.name, REG["DOMAIN"].address, "write", "registers"),
        ]


# Compiled as in test_send_file, which shares the model.
bench = Bench(__name__, {"one HUB": lambda: system(ONE_HUB, PROTOTYPE)}, top=TOP, ports_only=True, optimisation="-O0")


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_cocotb_machine(configuration, claim):
    bench.check(configuration, claim)
