"""One scenario, several back ends: what happened, in a form that can be compared to the last cycle.

A *scenario* is a coroutine function that takes a Machine and its Topology, runs software on the machine, and returns what is
to be compared, as anything that JSON can hold. A *record* is {"result": that, "symbols": {fiber: [[time in ps, symbol], ...]}};
times of symbols are those at which they start on the wire. Records are what JSON gives back, so that those of
different processes compare.
"""

import json
from pathlib import Path

from ...software.system import System
from .raw import play

__all__ = ["bare", "load", "on_cocotb", "on_engine", "program", "save"]


# -- scenarios -------------------------------------------------------------------------------------------
def bare(scripts, limit_ps):
    """The scenario that plays ``scripts`` (``raw.play``); its result has "events" and "time_ps"."""
    async def scenario(machine, topology):
        events = await play(machine, scripts, limit_ps)
        return {"events": events, "time_ps": machine.time_ps}
    return scenario


def program(main, *arguments):
    """The scenario that runs ``main(system, arguments)`` (docs/software.md).

    Its result has what ``main`` returns under "returned", the CPU cycle of every event of every message under "trace", and
    "time_ps".
    """
    async def scenario(machine, topology):
        system = System.of(machine, topology, trace=True)
        try:
            returned = await main(system, list(arguments))
            return {"returned": returned, "trace": {cab.name: cab.kernel.trace for cab in system.cabs}, "time_ps": machine.time_ps}
        finally:
            system.close()
    return scenario


# -- back ends -------------------------------------------------------------------------------------------
async def on_cocotb(topology, profile, scenario):
    """The record of ``scenario`` under cocotb; inside a cocotb test only."""
    from ...software.backends.cocotb import CocotbMachine

    symbols = {}
    machine = CocotbMachine(topology, profile, lambda time, fiber, symbol: symbols[fiber].append([time, symbol]))
    symbols |= {name: [] for name in machine.fibers}
    try:
        result = await scenario(machine, topology)
    finally:
        machine.close()
    return json.loads(json.dumps({"result": result, "symbols": symbols}))


def on_engine(topology, profile, scenario, **options):
    """The record of ``scenario`` on the engine; ``options`` are those of EngineMachine."""
    from ...software.backends.engine import EngineMachine

    symbols = {}

    class Machine(EngineMachine):
        """Hands over the fibers' log before it is closed."""

        def close(self):
            if not symbols:
                symbols.update({f"{sender}->{receiver}": [] for sender, receiver in self.engine.symbols()})
                for entry in self.engine.log:
                    symbols[f"{entry.sender}->{entry.receiver}"].append([entry.time_ps, entry.symbol])
            super().close()

    machine = Machine(topology, profile, log_control=True, log_data=True, **options)
    coroutine = scenario(machine, topology)
    try:
        coroutine.send(None)
    except StopIteration as end:
        result = end.value
    else:
        coroutine.close()
        raise RuntimeError("the scenario has awaited something that is not the machine")
    finally:
        machine.close()
    return json.loads(json.dumps({"result": result, "symbols": symbols}))


# -- between processes -----------------------------------------------------------------------------------
def save(directory, name, record):
    """Keeps a record for another process."""
    Path(directory, f"record-{name}.json").write_text(json.dumps(record))


def load(directory, name):
    """A record that ``save`` kept."""
    return json.loads(Path(directory, f"record-{name}.json").read_text())
