"""One scenario, several back ends: what happened, in a form that can be compared to the last cycle.

A *scenario* is a coroutine function that takes a Machine, its Topology and its Profile, runs software on the machine,
and returns its record: {"result": anything that JSON can hold, "symbols": {fiber: [[time in ps, symbol], ...]},
"events": [[kind, members, ...], ...], "time_ps": end}; times of symbols are those at which they start on the wire.
Records are what JSON gives back, so that those of different processes compare.
"""

import json
from pathlib import Path

from ...hdl.host.events import LEVELS, EventGroup, EventKind
from ...sim.recorder import Recorder
from ...software.system import System
from .raw import play

__all__ = ["bare", "load", "on_cocotb", "on_engine", "program", "save"]


#: All events that every back end can record.
GROUPS = (LEVELS["all"] | EventGroup.SYMBOLS) & ~EventGroup.BOARDS


# -- scenarios -------------------------------------------------------------------------------------------
def _record(machine, result):
    symbols = {}
    events = []
    with machine.recorder.recording() as recording:
        for event in recording.events():
            if event.kind is EventKind.SYMBOL:
                symbols.setdefault("->".join(event.fiber[1:3]), []).append([event.time_ps, event.symbol])
            else:
                events.append([event.kind.name, *(item.hex() if isinstance(item, bytes) else item for item in event)])
    events.sort(key=lambda event: (event[1], str(event[2])))  # boards are independent of each other
    seen = {"result": result, "symbols": symbols, "events": events, "time_ps": machine.time_ps}
    return json.loads(json.dumps(seen))


def bare(scripts, limit_ps):
    """The scenario that plays ``scripts`` (``raw.play``); its result are the events."""

    async def scenario(machine, topology, profile):
        return _record(machine, await play(machine, scripts, limit_ps))

    return scenario


def program(main, *arguments):
    """The scenario that runs ``main(system, arguments)`` (docs/software.md).

    Its result has what ``main`` returns under "returned" and what it reports under "reported".
    """

    async def scenario(machine, topology, profile):
        system = System.of(machine, topology, profile)
        try:
            returned = await main(system, list(arguments))
            return _record(machine, {"returned": returned, "reported": system.results})
        finally:
            system.close()

    return scenario


# -- back ends -------------------------------------------------------------------------------------------
async def on_cocotb(topology, profile, scenario):
    """The record of ``scenario`` under cocotb; inside a cocotb test only."""
    from ...software.backends.cocotb.machine import CocotbMachine

    machine = CocotbMachine(topology, profile, recorder=Recorder(groups=GROUPS))
    try:
        return await scenario(machine, topology, profile)
    finally:
        machine.close()
        machine.recorder.close()


def on_engine(topology, profile, scenario, **options):
    """The record of ``scenario`` on the engine; ``options`` are those of EngineMachine."""
    from ...software.backends.engine.machine import EngineMachine

    machine = EngineMachine(topology, profile, recorder=Recorder(groups=GROUPS), **options)
    coroutine = scenario(machine, topology, profile)
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    finally:
        coroutine.close()
        machine.close()
        machine.recorder.close()
    raise RuntimeError("the scenario has awaited something that is not the machine")


# -- between processes -----------------------------------------------------------------------------------
def save(directory, name, record):
    """Keeps a record for another process."""
    Path(directory, f"record-{name}.json").write_text(json.dumps(record))


def load(directory, name):
    """A record that ``save`` kept."""
    return json.loads(Path(directory, f"record-{name}.json").read_text())
