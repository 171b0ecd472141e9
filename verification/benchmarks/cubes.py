"""How fast the engine simulates nodes of the iPSC/2, beside CABs of Nectar: what ``nectar bench ipsc2`` measures.

The same program of NX on the RTL boards of both, with one thread, in turns: each computer sends messages to the next,
all at once."""

import functools
import statistics
import subprocess
import sys
import time

from ...sim.machines import machine
from ...software.backends.engine.machine import EngineMachine
from ...software.nx import NX
from ...software.stacks import system_of
from .outcome import Outcome

__all__ = ["cycles_per_second", "measure"]

#: Clock cycles that are counted: those of a CPU of either machine, in picoseconds.
_CYCLE_PS = 62_500
_BYTES = 800
#: Machine → topology of 16 computers, and messages of each.
_SIXTEEN = {"ipsc2": ("hypercube:4", 8), "nectar": ("hub:16", 12)}
#: Cycles of a node of the iPSC/2 for each cycle of a CAB, at least.
_SHARE = 1 / 4
_LARGE = "hypercube:7"
_ROUNDS = 3


async def _program(process, messages):
    """A process: so many messages to the next node, and as many from the one before. Returns the bytes received."""
    task, nodes = process.task, process.numnodes()
    place, data = await task.buffer(_BYTES), await task.buffer(_BYTES)
    carried = 0
    for number in range(messages):
        mid = await process.irecv(number, place, _BYTES)
        await process.csend(number, data, _BYTES, (process.mynode() + 1) % nodes, 0)
        await process.msgwait(mid)
        carried += process.infocount()
    return carried


def cycles_per_second(name, topology, messages):
    """Clock cycles of a CPU that a second of the host's processor simulates, while each computer of a topology of the
    machine called ``name`` sends so many messages. RuntimeError if a message is missing."""
    topology = machine(name).topology(topology)
    system = system_of(name).of(EngineMachine(topology, threads=1), topology)
    try:
        nx = NX(system)
        for node in range(nx.numnodes):
            nx.load(_program, messages, node=node)
        begun = time.process_time()
        try:
            nx.run().send(None)
        except StopIteration:
            seconds = time.process_time() - begun
        else:
            raise RuntimeError("the engine has suspended")
        if set(nx.results.values()) != {messages * _BYTES}:
            raise RuntimeError(f"{name}: messages are missing")
        return system.machine.time_ps / _CYCLE_PS / seconds
    finally:
        system.close()


def measure(scale):
    """Outcomes: cycles of 16 nodes of the iPSC/2 by those of 16 CABs on a HUB; cycles of 128 nodes, and their
    memory."""
    counts = {name: (shape, max(1, round(messages * scale))) for name, (shape, messages) in _SIXTEEN.items()}
    runs = [functools.partial(cycles_per_second, name, *rest) for name, rest in counts.items()]
    found = [[] for _ in runs]
    for _ in range(_ROUNDS if scale >= 1 else 1):
        for run, rates in zip(runs, found, strict=True):
            rates.append(run())
    rates = dict(zip(counts, map(statistics.median, found), strict=True))
    text = ", ".join(f"{name} {rate:,.0f} on {counts[name][0]}" for name, rate in rates.items())
    outcomes = [
        Outcome(
            rates["ipsc2"] / rates["nectar"],
            "",
            _SHARE,
            f"CPU clock cycles a second of the host's processor, 16 computers all sending {_BYTES} bytes: {text}",
            measured=rates,
            part="16",
        )
    ]
    code = (
        "from nectar.verification.benchmarks import cubes as c, workloads as w; "
        f"print(c.cycles_per_second('ipsc2', {_LARGE!r}, 1), w.peak_memory())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rate, memory = (float(word) for word in done.stdout.split())
    nodes = len(machine("ipsc2").topology(_LARGE).computers)
    text = f"{nodes} nodes of {_LARGE}, each sending {_BYTES} bytes, in {memory / 1e6:.0f} Mbyte"
    return [*outcomes, Outcome(rate, "cycles/s", None, text, measured={"nodes": nodes, "memory": memory}, part="128")]
