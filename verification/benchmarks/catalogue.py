"""The benchmarks that ``nectar bench`` runs, by name.

Each measures a ratio of two things that ran right after each other, or something that does not depend on the machine's
speed; wall times of a machine that has other work mean little. ``scale`` says how long to measure: 1 is the full
length."""

import functools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from ...hdl.host.events import LEVELS
from ...sim import build
from ...sim.machines.nectar import boards_of
from ...sim.profile import PROTOTYPE
from ...sim.recorder import Recorder
from ...software.packet import MAX_DATA
from . import cab, cubes, hub_rates, large, layers, naive, network, nodes, python, speedups, switches, workloads
from .outcome import Outcome

__all__ = ["Benchmark", "Outcome", "BENCHMARKS"]

#: Runs of each thing that is compared, in turns; their median counts.
_ROUNDS = 3
#: Rows and columns of the meshes whose speed and memory are told.
_MESHES = (1, 2), (2, 2), (2, 4), (4, 4), (4, 8), (8, 8)
#: Bytes of a short message.
_SHORT = 16
#: Levels of recording (docs/recording.md), and which share of the speed each is to leave.
_RECORDED = {"messages": 0.85, "all": 0.5}
_COMMAND = [sys.executable, "-c", "from nectar.cli import main; raise SystemExit(main())"]
_NOTHING = 'TOPOLOGY = "hub:16"\n\n\nasync def main(system, arguments):\n    pass\n'


@dataclass(frozen=True)
class Benchmark:
    """``measure(scale)`` returns an Outcome, or a list of them; ``claim`` says what is measured."""

    name: str
    claim: str
    measure: object


def _count(number, scale):
    return max(2, round(number * scale))


def _rate(run):
    return run.cycles_per_second


def _in_turns(scale, *measures):
    """The median of what each of ``measures`` returns, called in turns."""
    rounds = _ROUNDS if scale >= 1 else 1
    found = [[measure() for measure in measures] for _ in range(rounds)]
    return [statistics.median(values) for values in zip(*found, strict=True)]


def _ratio(target, names, rates):
    measured = dict(zip(names, rates, strict=True))
    text = ", ".join(f"{name} {rate:,.0f}" for name, rate in measured.items())
    return Outcome(rates[0] / rates[1], "", target, f"HUB clock cycles a second: {text}", measured=measured)


def _engine(scale):
    messages = _count(60, scale)
    program = build.ceiling(boards_of())
    simulated_us = workloads.ring(16, messages).simulated_ps / 1e6

    def ceiling():
        done = subprocess.run([program, "16", f"{simulated_us:.0f}"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["cycles_per_second"]

    return _ratio(
        0.7,
        ("engine with Python software", "ceiling, a bare C++ loop"),
        _in_turns(scale, lambda: _rate(workloads.ring(16, messages)), ceiling),
    )


def _naive(scale):
    messages = _count(12, scale)
    workloads.ring(16, 2)
    naive.ring(16, 2)
    return _ratio(
        30,
        ("engine", "cocotb, Python on every clock edge"),
        _in_turns(scale, lambda: _rate(workloads.ring(16, messages)), lambda: _rate(naive.ring(16, messages))),
    )


def _few(scale):
    messages = _count(60, scale)
    workloads.ring(2, 2)
    return _ratio(
        1.5,
        ("2 of 16 CABs talk", "all 16 talk"),
        _in_turns(scale, lambda: _rate(workloads.ring(2, messages)), lambda: _rate(workloads.ring(16, messages))),
    )


def _silent(scale):
    messages, slices = _count(60, scale), _count(4000, scale)
    workloads.silence(2)
    return _ratio(
        20,
        ("fibers silent, 16 CABs compute", "all 16 talk"),
        _in_turns(scale, lambda: _rate(workloads.silence(slices)), lambda: _rate(workloads.ring(16, messages))),
    )


def _core_seconds(load, *options, **more):
    return load(*options, **more).core_seconds


def _fast(scale):
    """An Outcome for messages of a whole packet, and one for the smallest, each for 16 CABs on a HUB and for 32 on a
    mesh."""
    shapes = {
        "hub": ("16 CABs on a HUB", 60, functools.partial(workloads.ring, 16)),
        "mesh": ("32 CABs on a mesh of 4 x 8 HUBs", 6, functools.partial(workloads.mesh, 4, 8)),
    }
    found = []
    for shape, (text, most, load) in shapes.items():
        for size, target in (MAX_DATA, 50), (1, 10):
            messages = _count(most, scale)
            for fast in (False, True):
                load(2, size, fast=fast)
            rtl, fast = _in_turns(
                scale,
                functools.partial(_core_seconds, load, messages, size),
                functools.partial(_core_seconds, load, messages, size, fast=True),
            )
            told = f"{text}, messages of {size} bytes: {rtl:.3f} s of the host without Python, fast boards {fast:.3f} s"
            measured = {"RTL": rtl, "fast": fast}
            found.append(Outcome(rtl / fast, "", target, told, part=f"{shape} {size}", measured=measured))
    return found


def _memory(scale):
    code = (
        "from nectar.verification.benchmarks import workloads as w; "
        f"w.ring(16, {_count(60, scale)}); print(w.peak_memory())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    size = int(done.stdout)
    return Outcome(size / 1e6, "Mbyte", 1000, "peak of the whole process, all 16 CABs talking", at_most=True)


def _scale(scale):
    """One Outcome for each size, each in a process of its own, which has its own peak of memory."""
    found = []
    for rows, columns in _MESHES:
        count = rows * columns
        code = (
            f"from nectar.verification.benchmarks import workloads as w; r = w.mesh({rows}, {columns}, "
            f"{_count(40, scale)}); "
            "print(r.cycles_per_second, w.peak_memory(), r.carried)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        speed, memory, carried = (float(word) for word in done.stdout.split())
        text = (
            f"{count} CABs on a mesh of {rows} x {columns} HUBs, all sending across it: "
            f"{memory / 1e6:.0f} Mbyte, {carried / 1e3:.0f} kbyte arrived"
        )
        found.append(
            Outcome(
                speed,
                "cycles/s",
                None,
                text,
                measured={"cabs": count, "memory": memory, "carried": carried},
                part=str(count),
            )
        )
    return found


def _threads(scale):
    """Two threads against one; and on paper, for more threads, what the measured cost of evaluations would be."""
    messages = _count(20, scale)
    costs = []

    def speed(threads):
        run = workloads.mesh(4, 8, messages, threads=threads)
        if threads == 1:
            costs.append((run.seconds * 1e9, run.seen))
        return _rate(run)

    workloads.mesh(1, 2, 2)
    rates = _in_turns(scale, lambda: speed(2), lambda: speed(1))
    whole, cost = costs[-1]
    paper = {count: whole / (whole - cost[1] + time) for count, time in cost.items()}
    found = _ratio(1.6, ("2 threads", "1 thread"), rates)
    text = ", ".join(f"{count}: {ratio:.1f}" for count, ratio in paper.items() if count > 1)
    return replace(
        found,
        text=f"32 CABs on a mesh of 4 x 8 HUBs, all sending: {found.text}; on paper, from the cost of each evaluation, "
        f"with threads {text}",
        measured=found.measured | {f"on paper with {count} threads": ratio for count, ratio in paper.items()},
    )


def _hub(scale):
    workloads.hub_cost(1, 2)
    busy, one = _in_turns(
        scale,
        lambda: workloads.hub_cost(16, _count(20, scale)),
        lambda: workloads.hub_cost(1, _count(60, scale)),
    )
    return Outcome(
        busy / one,
        "",
        3,
        f"an evaluation of a HUB of 16 ports takes {one:.0f} ns with one port active, {busy:.0f} ns with 16",
        measured={"one": one, "16": busy},
    )


def _first_build(scale):
    def processor_time():
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(usage.ru_utime + usage.ru_stime for usage in used)

    with tempfile.TemporaryDirectory() as cache:
        begun, used = time.monotonic(), processor_time()
        build.library(boards_of(), cache=Path(cache))
        seconds, used = time.monotonic() - begun, processor_time() - used
    return Outcome(
        seconds,
        "s",
        180,
        f"with an empty cache, without waveforms; {used:.0f} s of processor time on {os.cpu_count()} cores",
        at_most=True,
        measured={"processor_time": used},
    )


def _start(scale):
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "nothing.py"
        program.write_text(_NOTHING)

        def once():
            begun = time.monotonic()
            subprocess.run([*_COMMAND, "run", program], check=True, stderr=subprocess.DEVNULL)
            return time.monotonic() - begun

        once()
        (seconds,) = _in_turns(scale, once)
    return Outcome(
        seconds, "s", 3, "'nectar run' of a program that does nothing on 16 CABs, simulator in the cache", at_most=True
    )


def _plain(scale):
    count = _count(3000, scale)

    def seconds(plain):
        begun = time.process_time()
        workloads.calls(count, plain)
        return time.process_time() - begun

    seconds(True)
    plain, coroutine = _in_turns(scale, lambda: seconds(True), lambda: seconds(False))
    text = (
        f"a datagram to itself and its taking: {plain / count * 1e6:.0f} us, {coroutine / count * 1e6:.0f} us awaited"
    )
    return Outcome(
        plain / coroutine,
        "",
        1.5,
        text,
        at_most=True,
        measured={"plain": plain / count, "coroutine": coroutine / count},
    )


def _record(scale):
    """One Outcome for each level: short messages, of which each costs the most events for the time that it takes."""
    messages = _count(120, scale)

    def speed(groups):
        with tempfile.TemporaryDirectory() as folder:
            recorder = Recorder(Path(folder) / "events", groups=groups) if groups else None
            begun = time.process_time()
            workloads.ring(16, messages, _SHORT, recorder)
            seconds = time.process_time() - begun
            if recorder is not None:
                recorder.close()
        return 16 * messages / seconds

    speed(0)
    levels = list(_RECORDED)
    rates = _in_turns(scale, *(functools.functools.partial(speed, LEVELS.get(level, 0)) for level in ("off", *levels)))
    return [
        Outcome(
            rate / rates[0],
            "",
            _RECORDED[level],
            f"messages of {_SHORT} bytes a second of processor time: {rate:,.0f} recorded at level {level}, "
            f"{rates[0]:,.0f} not recorded",
            measured={"recorded": rate, "not recorded": rates[0]},
            part=level,
        )
        for level, rate in zip(levels, rates[1:], strict=True)
    ]


def _link(scale):
    run = workloads.pair(_count(200, scale))
    rate, link = run.carried * 8e6 / run.simulated_ps, 8e6 / PROTOTYPE.symbol_ps
    return Outcome(
        rate / link,
        "",
        0.8,
        f"{rate:.2f} of {link:.0f} Mbit/s in simulated time: messages of one whole packet from CAB to CAB over one HUB",
        measured={"throughput": rate, "link": link},
    )


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark("engine", "speed of 16 busy CABs, as a share of the ceiling's", _engine),
        Benchmark("few", "speed with 2 of 16 CABs busy, against all 16 busy", _few),
        Benchmark("silent", "speed with silent fibers, against all 16 CABs busy", _silent),
        Benchmark("fast", "host time of RTL boards, without Python, against fast boards", _fast),
        Benchmark("python", "host time of Python for a datagram, against that of the engine's core", python.measure),
        Benchmark("large", "host time and memory of large systems of fast boards", large.measure),
        Benchmark("ipsc2", "speed of 16 nodes of the iPSC/2, against 16 CABs; of 128 nodes", cubes.measure),
        Benchmark("memory", "memory of a simulated system of 16 CABs", _memory),
        Benchmark("scale", "speed, in HUB clock cycles, and memory as CABs go from 2 to 64", _scale),
        Benchmark("threads", "speed of 32 busy CABs on a mesh with 2 threads, against that with one", _threads),
        Benchmark("hub", "speed of a HUB of 16 ports with one active, against all 16 active", _hub),
        Benchmark(
            "rates",
            "packets and commands that pass a HUB whose 16 ports ask for random outputs, against the ceilings",
            hub_rates.measure,
        ),
        Benchmark("build", "time to build the simulator for the first time", _first_build),
        Benchmark("start", "time to start with a built simulator", _start),
        Benchmark("naive", "speed of 16 busy CABs, against the naive way of co-simulation", _naive),
        Benchmark("plain", "host time of calls in a plain function, against those that a coroutine awaits", _plain),
        Benchmark("record", "speed with what happens being recorded, as a share of that without", _record),
        Benchmark("link", "throughput from CAB to CAB, as a share of the fiber's rate", _link),
        Benchmark("nx", "messages of NX/2: latency against a datagram's, share of the fiber's rate", layers.measure_nx),
        Benchmark(
            "mpi",
            "messages of MPI: latency against a datagram's, share of the fiber's rate, a broadcast against messages",
            layers.measure_mpi,
        ),
        Benchmark("speedup", "speed-up of a 2-D FFT and of annealing on 2 to 16 CABs", speedups.measure),
        Benchmark("nodes", "processes of nodes: smallest message, call, throughput by DMA with its sum", nodes.measure),
        Benchmark("net", "IP between nodes: round trip; TCP's throughput as a share of VME's rate", network.measure),
        Benchmark(
            "cab",
            "rates of a CAB with all users of its memory busy at once, as shares of the papers' figures",
            cab.measure,
        ),
        Benchmark(
            "fpga",
            "size and speed of HUBs, a CAB, router and node of the iPSC/2, on an ECP5-85F and two other FPGAs",
            switches.measure,
        ),
    )
}
