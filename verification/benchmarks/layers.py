"""What ``nectar bench nx`` and ``nectar bench mpi`` measure: messages of NX/2 and of MPI between two CABs, beside what
stands below them; and a broadcast of MPI beside as many messages.

Simulated time on the RTL, with the costs of the software: no machine's load disturbs it. The ceilings are the
transport's own messages (datagrams, which nobody acknowledges and no receive selects) and the rate of a fiber."""

import functools
from dataclasses import dataclass

from ...sim.profile import PROTOTYPE
from ...sim.topology import load
from ...software.backends.engine.machine import EngineMachine
from ...software.mpi.python import Program
from ...software.mpi.world import World
from ...software.nx import NX, crecv, csend, gsync, mynode
from ...software.system import System
from ..software.mpi.figures import measured
from .outcome import Outcome

__all__ = ["LONG", "Speed", "datagrams", "measure_mpi", "measure_nx", "rank"]

#: Bytes of a long message.
LONG = 65536
_MAILBOX = 1
_TURNS, _LONG_TURNS = 6, 2
#: Microseconds after which the receiver of a long message waits for it.
_SETTLED = 500
#: At most so many times the latency of a datagram, at least such a share of the fiber's rate.
_LATENCY, _SHARE = 1.5, 0.9
#: Ranks and bytes of a broadcast, and which share of the time of messages it may take.
_RANKS, _BROADCAST, _BROADCAST_SHARE = 16, 1024, 1 / 3
_LINK = 8e6 / PROTOTYPE.symbol_ps
_PROGRAM = f"from mpi4py import MPI\nfrom {__name__} import rank\nrank(MPI)\n"
_found = []  # what rank 0 has measured


@dataclass(frozen=True)
class Speed:
    """``latency``: half of the time of an empty message there and back, in microseconds. ``rate``: Mbit/s of a message
    of LONG bytes from data memory to data memory, from the call of the send until all of it is there."""

    latency: float
    rate: float


def _on_two_cabs(run):
    """The result of ``run(system)``, which gives a coroutine, on the RTL of two CABs at a HUB."""
    topology = load("hub:2")
    system = System.of(EngineMachine(topology), topology, PROTOTYPE)
    try:
        run(system).send(None)
    except StopIteration as end:
        return end.value
    finally:
        system.close()
    raise RuntimeError("the engine has suspended")


def _speed(now, number, send, receive, data, settle):
    """What both sides do, a plain function; the Speed on side 0, None on side 1.

    ``now()``: microseconds. ``send(data)``, ``receive(data)``: calls of the layer, with None for an empty message.
    ``data``: a Buffer of LONG bytes. ``settle()`` returns on side 0 when side 1 waits for the next message."""
    times, rates = [], []
    for _ in range(_TURNS):
        begin = now()
        if number == 0:
            send(None)
        receive(None)
        if number == 1:
            send(None)
        times.append((now() - begin) / 2)
    for _ in range(_LONG_TURNS):
        settle()
        if number == 1:
            receive(data)
            continue
        begin = now()
        send(data)
        rates.append(LONG * 8 / (now() - begin))
    return Speed(min(times), max(rates)) if rates else None


@functools.cache
def datagrams():
    """The Speed of the transport's own messages."""

    async def here(cab):
        box, times = cab.mailbox(_MAILBOX), []
        for _ in range(_TURNS):
            begin = await cab.now_us()
            await cab.datagram.send((2, _MAILBOX), b"")
            (await box.receive()).free()
            times.append((await cab.now_us() - begin) / 2)
        block = await cab.memory.allocate(LONG)
        await cab.sleep(_SETTLED)
        begin = await cab.now_us()
        await cab.datagram.send((2, _MAILBOX), [(block, LONG)])
        cab.memory.free(block)
        return min(times), begin

    async def there(cab):
        box = cab.mailbox(_MAILBOX)
        for _ in range(_TURNS):
            (await box.receive()).free()
            await cab.datagram.send((1, _MAILBOX), b"")
        message = await box.receive()
        end = await cab.now_us()
        message.free()
        return end

    async def run(system):
        threads = [system.spawn("CAB1", here), system.spawn("CAB2", there)]
        await system.run()
        (latency, begin), end = (thread.result for thread in threads)
        return Speed(latency, LONG * 8 / (end - begin))

    return _on_two_cabs(run)


def _node(process):
    """A process of NX/2."""
    data, me = process.task.buffer(LONG), mynode()

    def settle():
        gsync()
        if me == 0:
            process.cab.sleep(_SETTLED)

    return _speed(
        process.cab.now_us,
        me,
        lambda data: csend(1, data, LONG if data else 0, 1 - me, 0),
        lambda data: crecv(1, data, LONG if data else 0),
        data,
        settle,
    )


def rank(MPI):
    """A rank of MPI: what the program runs."""
    comm = MPI.COMM_WORLD
    data, me = MPI.Alloc_mem(LONG, MPI.Info.Create({"nectar_memory": "cab"})), comm.rank

    def settle():
        comm.Barrier()
        if me == 0:
            comm.communicator.process.on.sleep(_SETTLED)

    speed = _speed(
        lambda: MPI.Wtime() * 1e6,
        me,
        lambda data: comm.Send(b"" if data is None else data, 1 - me),
        lambda data: comm.Recv(bytearray() if data is None else data, 1 - me),
        data,
        settle,
    )
    if me == 0:
        _found.append(speed)


def _outcomes(name, speed):
    ceiling = datagrams()
    return [
        Outcome(
            speed.latency / ceiling.latency,
            "",
            _LATENCY,
            f"an empty message takes {speed.latency:.1f} us by {name}, {ceiling.latency:.1f} us as a datagram",
            at_most=True,
            measured={"latency": speed.latency, "datagram": ceiling.latency},
            part="latency",
        ),
        Outcome(
            speed.rate / _LINK,
            "",
            _SHARE,
            f"{LONG:,} bytes between data memories: {speed.rate:.1f} Mbit/s by {name}, {ceiling.rate:.1f} as a "
            f"datagram, {_LINK:.0f} on the fiber",
            measured={"rate": speed.rate, "datagram": ceiling.rate, "link": _LINK},
            part="throughput",
        ),
    ]


def measure_nx(scale):
    """Outcomes of NX/2; they do not depend on ``scale``."""

    async def run(system):
        nx = NX(system)
        nx.load(_node)
        await nx.run()
        return nx.results[0, 0]

    return _outcomes("NX/2", _on_two_cabs(run))


def measure_mpi(scale):
    """The same of MPI."""

    async def run(system):
        await World(system, Program("rank", compile(_PROGRAM, "rank", "exec"), []), 2).run()
        return _found.pop()

    return [*_outcomes("MPI", _on_two_cabs(run)), _broadcast()]


def _broadcast():
    """A broadcast against a message to each of the others."""
    times = measured(_RANKS, ["multicast", "one by one"], [_BROADCAST])
    multicast, messages = (times[f"{way} {_BROADCAST}"] for way in ("multicast", "one by one"))
    return Outcome(
        multicast / messages,
        "",
        _BROADCAST_SHARE,
        f"a Bcast of {_BROADCAST:,} bytes to {_RANKS - 1} CABs takes {multicast:.0f} us, as many messages "
        f"{messages:.0f} us",
        at_most=True,
        measured={"multicast": multicast, "messages": messages},
        part="broadcast",
    )
