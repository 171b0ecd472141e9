"""What every Machine that runs boards must do, written once: how a run ends, what software may do, what goes wrong and
how it is told.

A scenario is a coroutine that takes a machine with the CABs ``CAB1`` and ``CAB2`` that has not run yet, and awaits
nothing but its ``run``. ``SCENARIOS`` lists those without other parameters. The machines' own files run them:
``test_engine_machine.py``, ``test_cable_machine.py`` and ``test_cocotb_machine.py``.
"""

import pytest

from nectar.hdl.cab.addresses import REG, REGIONS, Irq
from nectar.software.door import BusError
from nectar.software.machine import QUIET, STOPPED, TIME

__all__ = [
    "BUS_ERRORS",
    "CYCLE",
    "DATA",
    "HOLE",
    "RESET",
    "SCENARIOS",
    "a_bus_error_is_raised_where_it_is_awaited",
    "a_handler_that_waits_for_an_interrupt_is_told_so",
    "a_machine_is_not_quiet_while_a_timer_runs",
    "of_a_number_the_low_bytes_are_stored",
    "software_may_be_given_later",
]

DATA = REGIONS["data"].base
HOLE = REGIONS["vme"].base
CYCLE = 62_500
#: Edges of reset (docs/engine.md).
RESET = 4
#: Scenarios that take nothing but a machine.
SCENARIOS = []


def _scenario(function):
    SCENARIOS.append(function)
    return function


def _never():
    return False


# -- how a run ends -----------------------------------------------------------------------------------


@_scenario
async def a_run_ends_when_its_predicate_says_so_after_a_turn(machine):
    turns = []

    async def main():
        for _ in range(5):
            turns.append(await machine.doors["CAB1"].now())
            machine.doors["CAB1"].spend(10)

    machine.start("CAB1", main())
    assert await machine.run(lambda: len(turns) == 3) == STOPPED
    assert turns == [0, 10, 20]
    assert machine.time_ps == (RESET + 20) * CYCLE
    assert await machine.run(lambda: True) == STOPPED
    assert machine.time_ps == (RESET + 20) * CYCLE
    assert await machine.run(_never) == QUIET
    assert turns == [0, 10, 20, 30, 40]


@_scenario
async def a_run_ends_at_the_time_given_and_goes_on_from_there(machine):
    """Clock edges at that time itself are not done."""
    seen = []

    async def main():
        machine.doors["CAB1"].spend(100)
        seen.append(await machine.doors["CAB1"].now())

    machine.start("CAB1", main())
    edge = (RESET + 100) * CYCLE
    for until in (1, 1_000_000, 1_000_001, edge):
        assert await machine.run(_never, until) == TIME
        assert machine.time_ps == until and not seen
    assert await machine.run(_never, edge + 1) in (TIME, QUIET)
    assert seen == [100]


@_scenario
async def time_does_not_run_backwards(machine):
    async def main():
        machine.doors["CAB1"].spend(1000)

    machine.start("CAB1", main())
    assert await machine.run(_never, 5_000_000) == TIME
    assert await machine.run(_never, 1_000_000) == TIME
    assert machine.time_ps == 5_000_000


@_scenario
async def a_machine_without_software_is_quiet(machine):
    assert await machine.run(_never) == QUIET
    # Behind a reset a HUB clears its counters, 20 cycles a port, and looks at each once more, 3 cycles
    # (docs/monitor.md).
    assert machine.time_ps < (23 * 16 + 16) * CYCLE


async def a_machine_is_not_quiet_while_a_timer_runs(machine, cycles=100_000):
    """``cycles``: how long it runs."""
    woken = []

    async def main():
        door = machine.doors["CAB1"]
        door.write(REG["TIMER_COMPARE"].address, await door.read(REG["TIMER_NOW"].address) + cycles)
        door.attach(handler)
        door.write(REG["IRQ_ENABLE"].address, 1 << Irq.TIMER)
        await door.wait()
        woken.append(await door.now())

    async def handler():
        machine.doors["CAB1"].write(REG["IRQ_PENDING"].address, 1 << Irq.TIMER)

    machine.start("CAB1", main())
    assert await machine.run(_never) == QUIET
    assert len(woken) == 1 and cycles < woken[0] < cycles + 100


async def software_may_be_given_later(machine, ends=QUIET):
    """``ends``: how a run ends to which a later time is given, of a machine that is quiet."""
    seen = []

    async def main(name):
        seen.append((name, await machine.doors[name].now()))

    assert await machine.run(_never) == QUIET
    quiet = machine.time_ps
    machine.start("CAB2", main("CAB2"))
    assert await machine.run(_never) == QUIET
    assert await machine.run(_never, 10_000_000) == ends
    machine.start("CAB1", main("CAB1"))
    assert await machine.run(_never) == QUIET
    assert [name for name, _ in seen] == ["CAB2", "CAB1"]
    assert quiet // CYCLE - RESET <= seen[0][1] <= seen[1][1]


@_scenario
async def a_cab_has_one_software(machine):
    async def main():
        await machine.doors["CAB1"].now()

    machine.start("CAB1", main())
    second = main()
    with pytest.raises(RuntimeError, match="CAB1 has its software already"):
        machine.start("CAB1", second)
    second.close()


# -- software -----------------------------------------------------------------------------------------


async def of_a_number_the_low_bytes_are_stored(machine, value, size):
    """``value``: any int; ``size``: 1, 2 or 4 bytes."""
    got = []

    async def main():
        machine.doors["CAB1"].write(DATA + 8, value, size)
        got.append(await machine.doors["CAB1"].read(DATA + 8, size))

    machine.start("CAB1", main())
    await machine.run(_never)
    assert got == [value & (1 << 8 * size) - 1]


# -- what goes wrong ----------------------------------------------------------------------------------


@_scenario
async def an_exception_of_the_software_passes_through_and_its_cpu_stops(machine):
    class Mine(Exception):
        pass

    async def bad():
        await machine.doors["CAB1"].now()
        machine.doors["CAB1"].write(DATA, 1)
        raise Mine("no")

    async def good():
        machine.doors["CAB2"].spend(100)
        seen.append(await machine.doors["CAB2"].now())

    seen = []
    machine.start("CAB1", bad())
    machine.start("CAB2", good())
    with pytest.raises(Mine, match="no"):
        await machine.run(_never)
    assert await machine.run(_never) == QUIET
    assert seen == [100]


def _waits_with(machine, handler):
    """Starts software on CAB1 that waits; its interrupt comes soon."""

    async def main():
        door = machine.doors["CAB1"]
        door.attach(handler)
        door.write(REG["IRQ_ENABLE"].address, 1 << Irq.TIMER)
        door.write(REG["TIMER_COMPARE"].address, 100)
        await door.wait()

    machine.start("CAB1", main())


@_scenario
async def an_exception_of_a_handler_passes_through(machine):
    async def handler():
        raise ZeroDivisionError

    _waits_with(machine, handler)
    with pytest.raises(ZeroDivisionError):
        await machine.run(_never)
    assert await machine.run(_never) == QUIET


async def a_handler_that_waits_for_an_interrupt_is_told_so(machine, message):
    """``message``: what the error says."""

    async def handler():
        await machine.doors["CAB1"].wait()

    _waits_with(machine, handler)
    with pytest.raises(RuntimeError, match=message):
        await machine.run(_never)
    assert await machine.run(_never) == QUIET


#: Kinds of accesses that end in a bus error → (address, whether it is a store) of the error.
BUS_ERRORS = {
    "read": (HOLE + 2, False),
    "write": (HOLE + 1, True),
    "block": (REG["ID"].address - 3, False),
    "write block": (HOLE + 5, True),
}


async def a_bus_error_is_raised_where_it_is_awaited(machine, kind):
    """``kind``: one of ``BUS_ERRORS``."""
    seen = []

    async def main():
        door = machine.doors["CAB1"]
        try:
            if kind == "read":
                await door.read(HOLE + 2, 2)
            elif kind == "block":
                await door.read_block(REG["ID"].address - 3, 8)
            elif kind == "write":
                door.write(HOLE + 1, 5, 1)
                door.write(HOLE + 8, 5)
            else:
                door.write_block(HOLE + 5, bytes(3))
            await door.now()
        except BusError as error:
            seen.append((error.address, error.write))
        seen.append(await door.read(REG["ID"].address))

    machine.start("CAB1", main())
    assert await machine.run(_never) == QUIET
    assert seen[0] == BUS_ERRORS[kind] and len(seen) == 2


@_scenario
async def a_bus_error_that_nobody_awaits_goes_to_whoever_runs_the_machine(machine):
    """One of another CAB is raised where that awaits it."""
    seen = []

    async def heard():
        door = machine.doors["CAB1"]
        door.write(HOLE + 8, 5)
        try:
            await door.now()
        except BusError as error:
            seen.append((error.address, error.write))
        seen.append(await door.read(REG["ID"].address))

    async def unheard():
        machine.doors["CAB2"].spend(100)
        machine.doors["CAB2"].write(HOLE, 1)

    machine.start("CAB1", heard())
    machine.start("CAB2", unheard())
    with pytest.raises(BusError, match="store to 0x800000"):
        await machine.run(_never)
    assert seen[0] == (HOLE + 8, True) and len(seen) == 2
    assert await machine.run(_never) == QUIET


@_scenario
async def close_ends_the_software(machine):
    """A machine may be closed twice; one that is closed does not run."""
    ended = []

    async def main():
        try:
            await machine.doors["CAB1"].wait()
        finally:
            ended.append(True)

    machine.start("CAB1", main())
    await machine.run(_never)
    machine.close()
    machine.close()
    assert ended == [True]
    with pytest.raises(RuntimeError, match="closed"):
        await machine.run(_never)
