"""What the benchmarks simulate: CABs on one HUB that send, or compute, with the software that programs use."""

import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from ...sim.profile import PROTOTYPE
from ...sim.topology import load
from ...software.backends.engine.machine import EngineMachine
from ...software.datalink.options import Options
from ...software.packet import MAX_DATA
from ...software.system import System

__all__ = [
    "Run",
    "hub_cost",
    "measure",
    "mesh",
    "ring",
    "ring_tasks",
    "run",
    "pair",
    "silence",
    "calls",
    "peak_memory",
    "receive",
    "send_each",
]

_MAILBOX = 1


@dataclass(frozen=True)
class Run:
    """What a workload took: ``seconds`` of the host for ``simulated_ps``, with ``carried`` bytes of messages;
    ``core_seconds`` of them in the engine's core, None elsewhere. ``seen``: what was asked for at its end."""

    seconds: float
    simulated_ps: int
    carried: int
    core_seconds: float | None = None
    seen: object = None
    processor_seconds: float = 0  # of this process, meanwhile

    @property
    def python_seconds(self):
        """Processor time of Python, in a run on the engine with one thread: that of the process, less the core's share.

        The core tells how long it has run by the clock. A machine that does other things takes the processor away from
        core and Python alike, so the core's share of the time is that of the processor time."""
        return self.processor_seconds * (1 - self.core_seconds / self.seconds)

    @property
    def cycles_per_second(self):
        """HUB clock cycles simulated in a second of the host."""
        return self.simulated_ps / PROTOTYPE.hub_period_ps / self.seconds


async def _send(cab, destination, count, size=MAX_DATA):
    data = bytes(range(256)) * 4
    for _ in range(count):
        await cab.datagram.send((destination, _MAILBOX), data[:size])


async def send_each(cab, destinations):
    """A task: a message of one whole packet to each of the CABs."""
    data = bytes(range(256)) * 4
    for destination in destinations:
        await cab.datagram.send((destination, _MAILBOX), data[:MAX_DATA])


async def receive(cab, count):
    """A task: takes so many messages; how many bytes they had."""
    mailbox = cab.mailbox(_MAILBOX)
    carried = 0
    for _ in range(count):
        message = await mailbox.receive()
        carried += message.length
        message.free()
    return carried


async def _compute(cab, slices):
    for _ in range(slices):
        cab.compute(50)
        await cab.pause()


async def measure(machine, topology, tasks, look=None, options=None):
    """Runs ``tasks``, (CAB's name, task, arguments), on ``machine``; closes it; returns a Run, which has seen what
    ``look(machine)`` returns. ``options``: of the datalink."""
    system = System.of(machine, topology, PROTOTYPE, options=options or Options())
    try:
        threads = [system.spawn(name, task, *arguments) for name, task, arguments in tasks]
        begun, used = time.perf_counter(), time.process_time()
        await system.run()
        seconds, used = time.perf_counter() - begun, time.process_time() - used
        carried = sum(thread.result or 0 for thread in threads)
        engine = getattr(machine, "engine", None)
        core_seconds = None if engine is None else engine.core_seconds
        return Run(seconds, machine.time_ps, carried, core_seconds, look and look(machine), used)
    finally:
        system.close()


def run(topology, tasks, recorder=None, fast=False, threads=None, look=None, options=None):
    """``measure`` on the engine, for the topology of that name; ``fast``: with fast boards."""
    topology = load(topology)
    boards = {"boards": "fast"} if fast else {}
    try:
        machine = EngineMachine(topology, recorder=recorder, threads=threads, **boards)
        measure(machine, topology, tasks, look, options).send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("the engine has suspended")


def ring_tasks(talkers, messages, size=MAX_DATA):
    """The tasks of ``ring``."""
    tasks = []
    for number in range(talkers):
        tasks.append((f"CAB{number + 1}", _send, ((number + 1) % talkers + 1, messages, size)))
        tasks.append((f"CAB{number + 1}", receive, (messages,)))
    return tasks


def ring(talkers, messages, size=MAX_DATA, recorder=None, fast=False, threads=None):
    """16 CABs on one HUB, of which ``talkers`` send to the next of them, ``messages`` of ``size`` bytes, by default one
    whole packet, each."""
    return run("hub:16", ring_tasks(talkers, messages, size), recorder, fast, threads)


def mesh(rows, columns, messages, size=MAX_DATA, fast=False, threads=None):
    """A mesh of HUBs with a CAB on each, all of which send to one half of the mesh away, ``messages`` of ``size``
    bytes, by default one whole packet, each. The Run has seen what evaluations have cost (``Engine.costs_ns``)."""
    count = rows * columns
    tasks = []
    for number in range(count):
        tasks.append((f"CAB{number + 1}", _send, ((number + count // 2) % count + 1, messages, size)))
        tasks.append((f"CAB{number + 1}", receive, (messages,)))
    return run(
        f"mesh:{rows}x{columns}", tasks, fast=fast, threads=threads, look=lambda machine: machine.engine.costs_ns()
    )


def hub_cost(talkers, messages):
    """What an evaluation of a HUB of 16 ports costs in the mean, in ns of the host's time, while ``talkers`` of its
    CABs send to the next of them, ``messages`` of one whole packet each. One talker has its port alone active."""
    tasks = ring_tasks(talkers, messages)
    if talkers == 1:
        tasks = [("CAB1", _send, (2, messages)), ("CAB2", receive, (messages,))]
    return run("hub:16", tasks, threads=1, look=lambda machine: machine.engine.cost_ns("HUB1")).seen


def pair(messages, size=MAX_DATA, fast=False, threads=None):
    """Two CABs on one HUB, of which the first sends to the second ``messages`` of ``size`` bytes."""
    tasks = [("CAB1", _send, (2, messages, size)), ("CAB2", receive, (messages,))]
    return run("hub:2", tasks, fast=fast, threads=threads)


def silence(slices):
    """16 CABs on one HUB, whose software computes ``slices`` times 50 us and sends nothing."""
    return run("hub:16", [(f"CAB{number}", _compute, (slices,)) for number in range(1, 17)])


async def _awaits(cab, count):
    box = cab.mailbox(_MAILBOX)
    for _ in range(count):
        await cab.datagram.send((cab.id, _MAILBOX), b"")
        (await box.receive()).free()


def _blocks(cab, count):
    box = cab.mailbox(_MAILBOX)
    for _ in range(count):
        cab.datagram.send((cab.id, _MAILBOX), b"")
        box.receive().free()


def calls(count, plain):
    """A task that sends itself ``count`` datagrams: two calls each, awaited, or in a ``plain`` function."""
    return run("hub:1", [("CAB1", _blocks if plain else _awaits, (count,))])


def peak_memory():
    """Most bytes of memory that this process has had."""
    status = Path("/proc/self/status")
    if status.exists():
        # What getrusage tells there includes what the process that started this one had.
        return next(
            int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM:")
        )
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024
