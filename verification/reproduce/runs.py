"""Small systems of simulated boards on which figures of the software are measured."""

from ...sim.profile import PROTOTYPE
from ...sim.recorder import Recorder
from ...sim.topology import load
from ...software.backends.engine.machine import EngineMachine
from ...software.latency import NEEDED, arriving, stages
from ...software.system import System

__all__ = ["PARTS", "chain", "latency", "simulate", "spread", "throughput"]

#: What the stages of a message's way (``software.latency``) are counted as; in the last two the packet comes in, too.
PARTS = ("HUB", "fiber", "DMA", "software", "DMA and fiber at once", "software and fiber at once")


def simulate(topology, tasks, trace=False):
    """Runs ``tasks``, (CAB's name, task, arguments), on the engine; returns (results of the tasks, what
    ``trace(recording)`` gave).

    ``trace``: False, or a function of the Recording that is called at the end.
    """
    topology = load(topology)
    recorder = Recorder(groups=NEEDED) if trace else None
    system = System.of(EngineMachine(topology, PROTOTYPE, recorder=recorder), topology, PROTOTYPE)
    try:
        threads = [system.spawn(name, task, *arguments) for name, task, arguments in tasks]
        run = system.run()
        try:
            run.send(None)
        except StopIteration:
            pass
        else:
            raise RuntimeError("the engine has suspended")
        return [thread.result for thread in threads], trace(recorder.recording()) if trace else None
    finally:
        system.close()
        if trace:
            recorder.close()


def chain(hubs):
    """(topology, name of the CAB at its other end) with ``hubs`` HUBs between CAB1 and that one."""
    return ("hub:2", "CAB2") if hubs == 1 else (f"chain:{hubs}", f"CAB{hubs}")


async def _send(cab, destination, data, switching):
    await cab.datagram.send((destination, 1), data, switching)


async def _receive(cab, count=1):
    mailbox = cab.mailbox(1)
    for _ in range(count):
        (await mailbox.receive()).free()


def _part(stage, hubs):
    if stage in hubs or stage.startswith("HUBs"):
        return "HUB"
    return stage.partition("," if "," in stage else " ")[0].replace("rest", "DMA")


def latency(size, hubs=1, switching="packet"):
    """Where the time of one message of ``size`` bytes goes, from the sending task's call to the receiving task's having
    it: {part: microseconds}.

    It must fit into one packet. "fiber" is the way of its first symbol; from then on the receiving board's DMA and
    software work while the rest comes in.
    """
    topology, last = chain(hubs)

    def look(recording):
        found = dict.fromkeys(PARTS, 0.0)
        begin, end = arriving(recording, "CAB1", last)
        for stage in stages(recording, "CAB1", last):
            part = _part(stage.name, recording.hubs)
            both = max(0, min(end, stage.end_ps) - max(begin, stage.begin_ps))
            if both:
                found[f"{part} and fiber at once"] += both / 1e6
            found[part] += (stage.duration_ps - both) / 1e6
        return found

    number = load(topology).cabs[last].id
    return simulate(topology, [("CAB1", _send, (number, bytes(size), switching)), (last, _receive, ())], look)[1]


async def _send_many(cab, destinations, address, size, count, switching):
    """Sends ``count`` messages from memory; returns when it began, in microseconds."""
    begin = await cab.now_us()
    for _ in range(count):
        for destination in destinations:
            await cab.datagram.send((destination, 1), [(address, size)], switching)
    return begin


async def _prepare(cab, destinations, size, count, switching):
    address = await cab.memory.allocate(size)
    cab.memory.write(address, bytes(size))
    begin = await _send_many(cab, destinations, address, size, count, switching)
    cab.memory.free(address)
    return begin


async def _receive_until(cab, count):
    await _receive(cab, count)
    return await cab.now_us()


def throughput(size, count, switching="packet", hubs=1):
    """Megabits per second that ``count`` messages of ``size`` bytes carry from a task's first call to the other
    task's having them all."""
    topology, last = chain(hubs)
    number = load(topology).cabs[last].id
    (begin, end), _ = simulate(
        topology, [("CAB1", _prepare, ([number], size, count, switching)), (last, _receive_until, (count,))]
    )
    return 8 * size * count / (end - begin)


def spread(size, receivers, multicast):
    """Microseconds from the first call until each of ``receivers`` CABs on one HUB has a message, by one multicast
    or one message each."""
    numbers = list(range(2, receivers + 2))
    destinations = [numbers] if multicast and receivers > 1 else numbers
    (begin, *ends), _ = simulate(
        f"hub:{receivers + 1}",
        [
            ("CAB1", _prepare, (destinations, size, 1, "packet")),
            *((f"CAB{number}", _receive_until, (1,)) for number in numbers),
        ],
    )
    return max(ends) - begin
