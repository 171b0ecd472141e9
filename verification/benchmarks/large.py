"""Large systems of fast boards: what ``nectar bench large`` measures.

Host time and memory of whole runs, Python and start included, each in a process of its own. They depend on the machine:
the targets are for one with two cores that has nothing else to do."""

import resource
import subprocess
import sys
import time
from pathlib import Path

from ...hdl.hub.commands import Op
from ...sim.topology import load
from ...software.datalink.options import Options
from ...software.packet import MAX_DATA
from .. import seeds
from . import workloads
from .outcome import Outcome

__all__ = ["measure", "scattered"]

#: The mesh of 240 CABs: messages that each sends, seconds and Mbyte that the run may take.
_MESH, _MESSAGES, _MESH_S, _MESH_MBYTE = "mesh:6x10x4", 256, 180, 2000
#: For which a CAB waits for a ready signal: as good as for ever.
_READY_US = 60_000_000
#: The 1-D FFT on 16 CABs: points, and seconds.
_POINTS, _FFT_S = 1 << 15, 30
_FFT = Path(__file__).resolve().parents[2] / "examples" / "fft" / "fft1d.py"


async def _send(cab, destinations, hub):
    await cab.datalink.command(Op.WATCHDOG_TIME_REPLY, hub, 0)
    await workloads.send_each(cab, destinations)


def scattered(topology, messages):
    """A Run (``workloads``) with fast boards, in which each CAB sends ``messages`` of one whole packet to CABs drawn at
    random, and all arrive.

    The mesh is full then. A few CABs find their way free less than once in 100 ms: a HUB takes turns among the inputs
    whose output is free just then, whichever output it is. The watchdog of a HUB drops packets that stand still for its
    time, 73 ms; a CAB that has waited 100 ms for a ready signal takes it for lost, and sends into a queue without room.
    So the watchdogs are off in this run, and a ready signal is waited for."""
    found = load(topology)
    rng = seeds.rng("scattered", topology)
    names = list(found.cabs)
    arriving = dict.fromkeys(names, 0)
    tasks = []
    for name in names:
        destinations = rng.choices([other for other in names if other != name], k=messages)
        for destination in destinations:
            arriving[destination] += 1
        (_, end), *_ = found.neighbours(name)
        numbers = [found.cabs[destination].id for destination in destinations]
        tasks.append((name, _send, (numbers, found.hubs[end.board].id)))
    tasks += [(name, workloads.receive, (count,)) for name, count in arriving.items()]
    return workloads.run(topology, tasks, fast=True, options=Options(ready_us=_READY_US))


def measure(scale):
    """Outcomes: seconds and Mbyte of 240 CABs on a mesh; seconds of an FFT. Below a ``scale`` of 1 fewer messages and
    points, and no targets."""
    whole = scale >= 1
    messages = max(1, round(_MESSAGES * scale))
    code = (
        "from nectar.verification.benchmarks import large, workloads as w; "
        f"r = large.scattered({_MESH!r}, {messages}); "
        "print(r.core_seconds, r.carried, r.simulated_ps, w.peak_memory())"
    )
    seconds, used, words = _timed([sys.executable, "-c", code])
    core, carried, simulated_ps, memory = (float(word) for word in words.split())
    cabs = len(load(_MESH).cabs)
    text = (
        f"{cabs} CABs on {_MESH}, {messages} messages of {MAX_DATA} bytes each to random others: {used:.1f} s of "
        f"processor time; {core:.1f} s in the engine's core, the rest in Python; {carried / 1e6:.1f} Mbyte arrived in "
        f"{simulated_ps / 1e9:.1f} ms"
    )
    measured = {"cabs": cabs, "messages": messages, "core": core, "carried": carried, "processor_time": used}
    points = _POINTS if whole else 1 << 10
    command = "from nectar.cli import main; raise SystemExit(main())"
    options = ["run", "--boards", "fast", _FFT, "--points", str(points), "--cabs", "16"]
    fft, fft_used, _ = _timed([sys.executable, "-c", command, *options])
    return [
        Outcome(seconds, "s", _MESH_S if whole else None, text, at_most=True, measured=measured, part="mesh"),
        Outcome(
            memory / 1e6,
            "Mbyte",
            _MESH_MBYTE,
            "peak of that process",
            at_most=True,
            measured={"memory": memory},
            part="memory",
        ),
        Outcome(
            fft,
            "s",
            _FFT_S if whole else None,
            f"an FFT of {points} points on 16 CABs, with the sequential one that it is compared with; "
            f"{fft_used:.1f} s of processor time",
            at_most=True,
            measured={"points": points, "processor_time": fft_used},
            part="fft",
        ),
    ]


def _timed(command):
    """Seconds that a command takes, those of processor time, and what it prints. RuntimeError with what it says if it
    fails."""
    begun, used = time.monotonic(), _processor_time()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the run has failed: {done.stderr}")
    return time.monotonic() - begun, _processor_time() - used, done.stdout


def _processor_time():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
