"""What the tests of the software share: systems on simulated boards, and the running of them."""

from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from nectar.hdl.host.events import EventKind
from nectar.hdl.host.numbers import RESET_EDGES
from nectar.hdl.hub.commands import STATUS_IN_USE, Op
from nectar.sim.profile import PROTOTYPE
from nectar.sim.recorder import Recorder
from nectar.sim.topology import load
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.datalink.datalink import Switching
from nectar.software.datalink.options import Options
from nectar.software.system import System
from nectar.verification import seeds

__all__ = [
    "BOARDS",
    "FAST_RECOVERY",
    "HubState",
    "PORTS",
    "clean",
    "cycles",
    "drive",
    "events",
    "held",
    "hub_states",
    "nothing_leaks",
    "pattern",
    "receive_all",
    "run_task",
    "send_all",
    "simulated",
    "small",
]

#: Boards of scenarios that run on the RTL too.
BOARDS = ["fast", "rtl"]

#: Recovery fast enough for tests.
FAST_RECOVERY = Options(
    watch_us=500,
    ready_us=15_000,
    hold_us=1_500,
    stall_us=4_000,
    reply_us=2_000,
    status_us=100,
    attempts=2,
    suspect_us=4_000,
)

#: Ports of the HUBs of a system that needs no more: on RTL boards they take a quarter of the time of the usual 16.
PORTS = 4

#: Simulated time that no test needs: one second, in picoseconds.
LIMIT = 10**12

#: In which, at most, the datalink comes to rest, in picoseconds.
SETTLE = 300 * 10**9


def drive(coroutine):
    """Runs a coroutine that never suspends; returns its result."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("the run has suspended")


def small(topology):
    """``topology`` with HUBs of PORTS ports, unless a fiber is at a port behind these."""
    if all(end.port is None or end.port < PORTS for fiber in topology.fibers for end in (fiber.a, fiber.b)):
        topology.hubs = {name: replace(hub, ports=PORTS) for name, hub in topology.hubs.items()}
    return topology


@contextmanager
def simulated(topology="hub:2", faults=(), memory_bytes=1 << 20, boards="fast", nodes=(), recorded=0, **options):
    """A System on simulated ``boards`` (``fast`` or ``rtl``), closed at the end. ``system.go()`` runs it within LIMIT.

    ``nodes``: names of the CABs that have one. ``memory_bytes`` is what the software knows of; the boards have 1 Mbyte.
    ``faults`` are texts (docs/faults.md); ``system.placed`` has what counts them. A topology that is named, and not
    explored, has small HUBs where these suffice. ``recorded``: groups of events that are recorded, or a Recorder."""
    shape = load(topology)
    if isinstance(topology, str) and "routes" not in options:
        shape = small(shape)
    recorder = Recorder(groups=recorded) if recorded and isinstance(recorded, int) else recorded or None
    machine = EngineMachine(shape, PROTOTYPE, nodes=nodes, boards=boards, recorder=recorder)
    system = System.of(machine, shape, memory_bytes=memory_bytes, **options)
    system.placed = [system.faults.add(fault) for fault in faults]
    system.go = lambda limit=LIMIT: drive(system.run(limit))
    try:
        yield system
    finally:
        system.close()
        if recorder is not None:
            recorder.close()


def events(system, kinds=None, boards=None):
    """The events of a recorded system so far, as a list."""
    with system.recorder.recording() as recording:
        return list(recording.events(kinds, boards))


def cycles(system, *cabs):
    """{kind: CPU cycle} of the last event of each kind of the software of ``cabs`` (names), at the usual clock."""
    return {
        event.kind: event.time_ps // PROTOTYPE.cab_period_ps - RESET_EDGES
        for event in events(system, [kind for kind in EventKind if kind >= EventKind.SEND], cabs)
    }


class HubState(NamedTuple):
    """What a HUB says of itself: ``connections``, each (input, output), and ``errors`` counted at each port."""

    connections: list
    errors: list


async def _state_of(cab, hub, ports):
    """A task: the HubState of the HUB (its ID) on which the CAB hangs."""
    outputs = [await cab.datalink.command(Op.STATUS_OUTPUT, hub, port) for port in range(ports)]
    errors = [await cab.datalink.command(Op.STATUS_ERRORS, hub, port) for port in range(ports)]
    return HubState([(value & ~STATUS_IN_USE, port) for port, value in enumerate(outputs) if value], errors)


def hub_states(system):
    """{name of a HUB: its HubState}: a CAB at each HUB asks it. Each HUB of ``system`` must have one."""
    topology = system.topology
    asking = {}
    for fiber in topology.fibers:
        for cab, hub in ((fiber.a, fiber.b), (fiber.b, fiber.a)):
            if cab.port is None and hub.board not in asking:
                of = topology.hubs[hub.board]
                asking[hub.board] = system.spawn(cab.board, _state_of, of.id, of.ports)
    assert asking.keys() == topology.hubs.keys(), "no CAB can ask"
    system.go()
    return {name: thread.result for name, thread in asking.items()}


def run_task(task, *args, leaks=False, protected=False, **options):
    """Runs ``task(cab, *args)`` on CAB1 of a small system; returns its result. Nothing may be left, unless it
    ``leaks``."""
    with simulated(**options) as system, nothing_leaks(system, not leaks):
        thread = system.spawn("CAB1", task, *args, protected=protected)
        system.go()
        return thread.result


def held(system):
    """By CAB what is given out and must be given back: heap, timers, protection domains, places in mailboxes,
    guarding locks, threads that wait for memory."""
    return {
        cab.name: {
            "heap": cab.memory.used,
            "awaited": cab.memory.awaited,
            "timers": cab.timers.running,
            "domains": cab.domains.used,
            "locks": [str(lock) for lock in cab.kernel.guards if lock.holder is not None],
            "mailboxes": {
                number: (len(box), box.reserved, box.writers)
                for number, box in cab.mailboxes.items()
                if len(box) or box.reserved or box.writers
            },
        }
        for cab in system.cabs
    }


@contextmanager
def nothing_leaks(system, strict=True, settle_ps=SETTLE):
    """Asserts that all CABs of ``system`` hold at the end what they held at the beginning, once nothing happens any
    more or ``settle_ps`` have passed.

    Not ``strict``: looks at nothing.
    """
    before = held(system)
    yield
    if strict:

        def settled():
            """Asked at each turn: the whole is looked at only when as much memory is given out as before."""
            heaps = all(cab.memory.used == before[cab.name]["heap"] for cab in system.cabs)
            return heaps and held(system) == before

        drive(system.machine.run(settled, system.machine.time_ps + settle_ps))
        assert held(system) == before


def pattern(length, seed=0):
    """``length`` bytes of noise, always the same for the same arguments."""
    return seeds.rng(seed * 1_000_003 + length).randbytes(length)


async def send_all(cab, destination, messages, switching=Switching.PACKET):
    """A task: sends datagrams one after the other."""
    for data in messages:
        await cab.datagram.send(destination, data, switching)


async def receive_all(cab, mailbox, count, pause_us=0):
    """A task: takes ``count`` messages out of a mailbox; returns (source, bytes) of each."""
    got = []
    for _ in range(count):
        message = await cab.mailbox(mailbox).receive()
        got.append((message.source, await message.read()))
        message.free()
        if pause_us:
            await cab.sleep(pause_us)
    return got


def clean(system, *ignored):
    """All counters of errors are 0, no message is lost, no memory but the headers' is in use."""
    sent = received = 0
    for cab in system.cabs:
        sent += cab.datagram.counters.messages_sent
        received += cab.datagram.counters.messages_received
        link, counters = cab.datalink.counters, cab.datagram.counters
        for name in (
            "crc_errors",
            "framing_errors",
            "too_long",
            "short",
            "unknown_protocol",
            "refused",
            "hold_expired",
            "stalled",
            "ready_recovered",
            "reply_timeouts",
            "stray_replies",
            "fiber_errors",
        ):
            assert name in ignored or getattr(link, name) == 0, (cab.name, name)
        for name in ("incomplete", "damaged", "orphans", "misdelivered", "malformed"):
            assert getattr(counters, name) == 0, (cab.name, name)
    assert sent == received
    assert not any(any(state.errors) for state in hub_states(system).values())
