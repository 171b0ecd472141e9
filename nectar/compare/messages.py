"""Messages of NX/2 on a machine: how long they take by size and distance, and what the time goes into."""

import importlib
from dataclasses import dataclass

from ..sim.machines import machine

__all__ = ["PARTS", "QUICK", "SIZES", "Message", "messages"]

#: Bytes of the messages.
SIZES = (0, 100, 101, 1024, 4096, 16384, 65536)
QUICK = (0, 101, 4096)
#: What the time of a message is made of.
PARTS = ("software", "interface", "network")
#: Rounds of each message; the last one counts.
_ROUNDS = 2
#: Microseconds for which all rest before a message.
_REST = 400


@dataclass(frozen=True)
class Message:
    """A message of so many bytes over so many switches or links: its time in microseconds, and the parts of it."""

    size: int
    distance: int
    us: float
    parts: tuple[float, float, float]


async def _exchange(process, sizes):
    """The program of nodes 0 and 1: node 0 sends each size. Returns the times of the calls at node 0, of the ends at
    node 1, in microseconds."""
    times, other = [], 1 - process.mynode()
    for size in sizes:
        data = await process.task.buffer(size) if size else None
        for _ in range(_ROUNDS):
            if process.mynode():
                receiving = await process.irecv(1, data, size)
                await process.csend(2, b"", 0, other, 0)
                await process.msgwait(receiving)
            else:
                await process.crecv(2, None, 0)
                await process.cab.sleep(_REST)
            now = await process.cab.now_us()
            if not process.mynode():
                await process.csend(1, data, size, other, 0)
        times.append(now)
    return times


def _spans(events, period_ps):
    """{board: [(begin, end)]} in which its CPU does something, in picoseconds."""
    from ..hdl.host.events import EventKind

    since, spans = {}, {}
    for event in events:
        key = event.board, event.kind in (EventKind.INTERRUPT, EventKind.RETURNED)
        begun = since.pop(key, None)
        if begun is not None:
            spans.setdefault(event.board, []).append((begun, event.time_ps))
        if event.kind == EventKind.THREAD:
            since[key] = event.time_ps - (0 if begun is not None else event.cycles * period_ps)
        elif event.kind == EventKind.INTERRUPT:
            since[key] = event.time_ps
    return spans


def _covered(spans, begin, end):
    """How much of the time from ``begin`` to ``end`` is in one of ``spans`` at least."""
    total, at = 0, begin
    for first, last in sorted(spans):
        first, last = max(first, at), min(last, end)
        if last > first:
            total += last - first
            at = last
    return total


def messages(name, sizes=SIZES):
    """A list of Message of the machine called ``name``: each size at each distance."""
    found, shape = [], machine(name).topology(machine(name).compared.spread).check()
    here = next(iter(shape.computers))
    ways = importlib.import_module(f"..cli.shapes.{name}", __package__).routes(shape)[here]
    farther = {}
    for there, way in ways.items():
        farther.setdefault(len(way), there)
    raw = {distance: _measured(name, shape, (here, farther[distance]), sizes) for distance in sorted(farther)}
    first, second, *_ = sorted(raw)
    hop = (raw[second][0][0] - raw[first][0][0]) / (second - first) if not sizes[0] else 0
    for distance, times in raw.items():
        for size, (us, software) in zip(sizes, times, strict=True):
            network = size * machine(name).compared.byte_ps / 1e6 + distance * max(0, hop)
            network = min(network, us - software)
            found.append(Message(size, distance, us, (software, us - software - network, network)))
    return found


def _measured(name, shape, ends, sizes):
    """[(microseconds, of these software's)] of each size, from the first to the second of ``ends``."""
    from ..hdl.host.events import EventGroup
    from ..hdl.host.numbers import RESET_EDGES
    from ..sim.recorder import Recorder
    from ..software.backends.engine.machine import EngineMachine
    from ..software.nx import NX
    from ..software.stacks import system_of

    profile = machine(name).profile
    recorder = Recorder(groups=EventGroup.CPU)
    engine = EngineMachine(shape, profile, recorder=recorder)
    system = system_of(name).of(engine, shape, profile)
    try:
        nx = NX(system, list(ends))
        nx.load(_exchange, sizes)
        try:
            nx.run().send(None)
        except StopIteration:
            pass
        begins, ended = (nx.results[node, 0] for node in (0, 1))
        with recorder.recording() as recording:
            events = recording.events(boards=list(ends))
            spans = [span for several in _spans(events, profile.cpu_period_ps).values() for span in several]
    finally:
        system.close()
        recorder.close()
    offset = RESET_EDGES * profile.cpu_period_ps
    return [
        (end - begin, _covered(spans, begin * 1e6 + offset, end * 1e6 + offset) / 1e6)
        for begin, end in zip(begins, ended, strict=True)
    ]
