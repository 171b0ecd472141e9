"""Figures of the layers on the transports: Nectarine between nodes, NX/2 between CABs."""

from functools import cache

from ...sim.profile import PROTOTYPE
from ...sim.topology import load
from ...software.backends.engine.machine import EngineMachine
from ...software.nectarine import Application
from ...software.nx import NX
from ...software.system import System
from .facts import Found

__all__ = ["between_nodes", "calls", "copies", "empty", "rate"]

#: Messages there and back, and bytes of a long one.
TURNS, LARGE = 8, 1 << 16
#: Messages from node to node, and how many are on their way at a time.
COUNT, TOGETHER = 6, 2


def _run(made, nodes=()):
    """Runs what ``made(system)`` has made: its ``run`` is awaited. Returns it."""
    topology = load("hub:2")
    system = System.of(EngineMachine(topology, PROTOTYPE, nodes=nodes), topology, PROTOTYPE)
    try:
        whole = made(system)
        run = whole.run()
        try:
            run.send(None)
        except StopIteration:
            return whole
        raise RuntimeError("the engine has suspended")
    finally:
        system.close()


def _both(program):
    """Runs ``program(process)`` on two nodes of an NX; what the first returns."""

    def made(system):
        nx = NX(system)
        nx.load(program)
        return nx

    return _run(made).results[0, 0]


async def _every_call(process):
    """Makes each call of the paper; names of those that did what it says."""
    done, room, handled = {}, bytearray(8), []
    done["mynode"], done["mypid"] = process.mynode() in (0, 1), process.mypid() == 0
    done["numnodes"] = process.numnodes() == 2
    if process.mynode() == 0:
        await process.csend(1, b"one", 3, 1, 0)
        sending = await process.isend(2, b"two", 3, 1, 0)
        await process.msgwait(sending)
        for type in 3, 4:
            await process.csend(type, b"more", 4, 1, 0)
        await process.crecv(5, room, 8)
        return done
    await process.cprobe(1)
    done["infotype"], done["infocount"] = process.infotype() == 1, process.infocount() == 3
    done["infonode"], done["infopid"] = process.infonode() == 0, process.infopid() == 0
    await process.crecv(1, room, 8)
    done["cprobe"] = done["csend"] = done["crecv"] = room[:3] == b"one"
    receiving = await process.irecv(2, room, 8)
    while not await process.msgdone(receiving):
        await process.flick()
    done["isend"] = done["irecv"] = done["msgdone"] = room[:3] == b"two"
    again = await process.irecv(-1, room, 8)  # any type: 3
    await process.msgwait(again)
    done["msgwait"] = process.infotype() == 3
    while not await process.iprobe(1 << 31 | 1 << 4):  # by its mask
        await process.flick()
    done["iprobe"] = process.infotype() == 4
    await process.hrecv(4, room, 8, lambda *told: handled.append(told))
    await process.csend(5, b"end", 3, 0, 0)
    done["hrecv"] = handled == [(4, 4, 0, 0)]
    return done


async def _there_and_back(process):
    times = []
    for _ in range(TURNS):
        begin = await process.cab.now_us()
        if process.mynode() == 0:
            await process.csend(1, b"", 0, 1, 0)
        await process.crecv(1, None, 0)
        if process.mynode() == 1:
            await process.csend(1, b"", 0, 0, 0)
        times.append((await process.cab.now_us() - begin) / 2)
    return min(times[1:])


async def _long(process):
    data, rates = await process.task.buffer(LARGE), []
    copies = process.task.copies
    for _ in range(2):
        await process.gsync()
        if process.mynode() == 0:
            await process.cab.sleep(500)
            begin, before = await process.cab.now_us(), copies.cpu_out
            await process.csend(1, data, LARGE, 1, 0)
            rates.append(8 * LARGE / (await process.cab.now_us() - begin))
            copied = copies.cpu_out - before
        else:
            before = copies.cpu_in
            await process.crecv(1, data, LARGE)
            copied = copies.cpu_in - before
    rest = [float(copied)]
    await process.gdsum(rest, 1, [0.0])
    return max(rates, default=None), int(rest[0])


@cache
def _longest():
    return _both(_long)


def calls():
    """D6: each call of the paper, made by a program."""

    def made(system):
        nx = NX(system)
        nx.load(_every_call)
        return nx

    results = _run(made).results
    done = results[1, 0]
    assert results[0, 0].items() <= done.items(), results
    return Found(sum(done.values()), f"calls that did what the paper says, in one program: {', '.join(sorted(done))}")


@cache
def empty():
    """D5, S8: an empty message of NX/2."""
    return Found(
        round(_both(_there_and_back), 1),
        f"csend and crecv of 0 bytes, the shortest of {TURNS - 1} turns there and back",
    )


def rate():
    """S8: a long message of NX/2 between Buffers."""
    return Found(round(_longest()[0], 1), "from csend to its return, the receive called before, over one HUB")


def copies():
    """S7, S8: what CPUs copy of it."""
    return Found(_longest()[1], "as Nectarine counts them at both ends")


async def _sender(task):
    buffers = [await task.buffer(LARGE) for _ in range(TOGETHER)]
    under = []
    await task.send("receiver")
    for number in range(COUNT):
        if len(under) == TOGETHER:
            await under.pop(0).wait()
        under.append(await task.isend("receiver", buffers[number % TOGETHER]))
    for handle in under:
        await handle.wait()


async def _receiver(task):
    await task.receive()
    begin = await task.on.now_us()
    under = [await task.ireceive(bytearray(LARGE)) for _ in range(TOGETHER)]
    for number in range(COUNT):
        await under.pop(0).wait()
        if number + TOGETHER < COUNT:
            under.append(await task.ireceive(bytearray(LARGE)))
    return 8 * COUNT * LARGE / (await task.on.now_us() - begin)


def between_nodes():
    """S7, S13: from the memory of one node to that of another."""

    def made(system):
        application = Application(system)
        application.spawn("sender", _sender, on="CAB1.node")
        application.spawn("receiver", _receiver, on="CAB2.node")
        return application

    found = _run(made, ["CAB1", "CAB2"]).tasks["receiver"].result
    return Found(
        round(found, 1), f"{COUNT} messages of 64 kbyte, {TOGETHER} on their way at a time, until the last is loaded"
    )
