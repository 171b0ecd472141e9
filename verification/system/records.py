"""One scenario, several back ends: what happened, in a form that can be compared to the last cycle.

A *scenario* is a coroutine function that takes a Machine, its Topology and its Profile, runs software on the machine,
and returns its record: {"result": anything that JSON can hold, "symbols": {fiber: [[time in ps, symbol], ...]},
"time_ps": end}; times of symbols are those at which they start on the wire. Records are what JSON gives back, so that
those of different processes compare.
"""

import json
from pathlib import Path

from ...software.system import System
from .raw import play

__all__ = ["bare", "load", "on_cocotb", "on_engine", "program", "save"]


# -- scenarios -------------------------------------------------------------------------------------------
def _record(machine, result):
    symbols = {}
    for time_ps, sender, receiver, symbol in machine.symbols:
        symbols.setdefault(f"{sender}->{receiver}", []).append([time_ps, symbol])
    return json.loads(json.dumps({"result": result, "symbols": symbols, "time_ps": machine.time_ps}))


def bare(scripts, limit_ps):
    """The scenario that plays ``scripts`` (``raw.play``); its result are the events."""

    async def scenario(machine, topology, profile):
        return _record(machine, await play(machine, scripts, limit_ps))

    return scenario


def program(main, *arguments):
    """The scenario that runs ``main(system, arguments)`` (docs/software.md).

    Its result has what ``main`` returns under "returned", what it reports under "reported", and the CPU cycle of every
    event of every message under "trace".
    """

    async def scenario(machine, topology, profile):
        system = System.of(machine, topology, profile, trace=True)
        try:
            returned = await main(system, list(arguments))
            return _record(
                machine,
                {
                    "returned": returned,
                    "reported": system.results,
                    "trace": {cab.name: cab.kernel.trace for cab in system.cabs},
                },
            )
        finally:
            system.close()

    return scenario


# -- back ends -------------------------------------------------------------------------------------------
async def on_cocotb(topology, profile, scenario):
    """The record of ``scenario`` under cocotb; inside a cocotb test only."""
    from ...software.backends.cocotb.machine import CocotbMachine

    machine = CocotbMachine(topology, profile, log_data=True)
    try:
        return await scenario(machine, topology, profile)
    finally:
        machine.close()


def on_engine(topology, profile, scenario, **options):
    """The record of ``scenario`` on the engine; ``options`` are those of EngineMachine."""
    from ...software.backends.engine.machine import EngineMachine

    machine = EngineMachine(topology, profile, log_data=True, **options)
    coroutine = scenario(machine, topology, profile)
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    finally:
        coroutine.close()
        machine.close()
    raise RuntimeError("the scenario has awaited something that is not the machine")


# -- between processes -----------------------------------------------------------------------------------
def save(directory, name, record):
    """Keeps a record for another process."""
    Path(directory, f"record-{name}.json").write_text(json.dumps(record))


def load(directory, name):
    """A record that ``save`` kept."""
    return json.loads(Path(directory, f"record-{name}.json").read_text())
