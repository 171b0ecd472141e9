"""One scenario, several back ends: what happened, in a form that can be compared to the last cycle.

A record is {"events": [[CPU cycle, CAB, what], ...], "symbols": {fiber: [[time in ps, symbol], ...]}, "time_ps": end}; times of
symbols are those at which they start on the wire. It is what JSON gives back, so that records of different processes compare.
"""

import json
from pathlib import Path

from .raw import play

__all__ = ["load", "on_cocotb", "on_engine", "record", "save"]


async def record(machine, scripts, limit_ps, symbols):
    """Plays ``scripts`` on ``machine`` and closes it; ``symbols`` holds the fibers' logs
    by then. Returns the record."""
    try:
        events = await play(machine, scripts, limit_ps)
        time_ps = machine.time_ps
    finally:
        machine.close()
    return json.loads(json.dumps({"events": events, "symbols": symbols, "time_ps": time_ps}))


async def on_cocotb(topology, profile, scripts, limit_ps):
    """The record of ``scripts`` under cocotb; inside a cocotb test only."""
    from ...software.backends.cocotb import CocotbMachine

    symbols = {}
    machine = CocotbMachine(topology, profile, lambda time, fiber, symbol: symbols[fiber].append([time, symbol]))
    symbols |= {name: [] for name in machine.fibers}
    return await record(machine, scripts, limit_ps, symbols)


def on_engine(topology, profile, scripts, limit_ps):
    """The record of ``scripts`` on the engine."""
    from ...software.backends.engine import EngineMachine

    symbols = {}

    class Machine(EngineMachine):
        """Keeps the fibers' log when it is closed."""

        def close(self):
            if not symbols:
                symbols.update({f"{sender}->{receiver}": [] for sender, receiver in self.engine.symbols()})
                for entry in self.engine.log:
                    symbols[f"{entry.sender}->{entry.receiver}"].append([entry.time_ps, entry.symbol])
            super().close()

    machine = Machine(topology, profile, log_control=True, log_data=True)
    coroutine = record(machine, scripts, limit_ps, symbols)
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("the engine has suspended")


def save(directory, name, value):
    """Keeps a record for another process."""
    Path(directory, f"record-{name}.json").write_text(json.dumps(value))


def load(directory, name):
    """A record that ``save`` kept."""
    return json.loads(Path(directory, f"record-{name}.json").read_text())
