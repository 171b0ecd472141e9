"""Random traffic, with little room, and with random losses on the fibers.

What must hold: without faults every message arrives once and unharmed, in order for each sender and mailbox; with
faults some are missing, but none is harmed or doubled, nobody hangs, and when all is quiet no memory and no connection
is kept.

Two things are left out since no command that a CAB may give mends them. Multicasts of several senders across several
HUBs may wait for each other in a circle, so there only CAB1 sends such, and nobody where things get lost. A ready
signal or a close all that is lost between two HUBs is not made up for, so such losses happen only next to CABs.
"""

import pytest

from nectar.sim.topology import load
from nectar.software.datalink.options import Options
from nectar.software.errors import CircuitError
from nectar.verification import seeds

from .helpers import held, hub_states, simulated

QUICK = Options(watch_us=500, ready_us=15000, hold_us=1500, stall_us=4000, reply_us=2000, status_us=100, attempts=4)
TOPOLOGIES = ["hub:2", "hub:5", "chain:3", "figure7", "mesh:2x2"]


def content(sender, thread, number, length):
    """What identifies a message, and then noise that can be made again."""
    head = bytes([sender, thread, number >> 8, number & 0xFF])
    return head + seeds.rng(f"{sender} {thread} {number}").randbytes(max(0, length - 4))


def traffic(seed, lossy, memory_bytes=1 << 16, boards="fast"):
    """Runs random traffic; returns what was sent and received, lists of (sender, thread, number, receiver, mailbox),
    and counts of messages dropped."""
    print("seed", seed)
    rng = seeds.rng(seed)
    topology = rng.choice(TOPOLOGIES)
    faults = losses(rng, load(topology)) if lossy else []
    sent, received, failed = [], [], []

    async def sender(cab, thread, plan):
        for number, (destinations, mailbox, length, switching, pause) in enumerate(plan):
            data = content(cab.id, thread, number, length)
            to = destinations[0] if len(destinations) == 1 else destinations
            try:
                await cab.datagram.send((to, mailbox), data, switching)
            except CircuitError:
                failed.append(number)
                continue
            sent.extend((cab.id, thread, number, destination, mailbox) for destination in destinations)
            if pause:
                await cab.sleep(pause)

    async def reader(cab, mailbox):
        while True:
            message = await cab.mailbox(mailbox).receive()
            data = await message.read()
            message.free()
            assert data[0] == message.source
            number = data[2] << 8 | data[3]
            assert data == content(data[0], data[1], number, len(data))
            received.append((data[0], data[1], number, cab.id, mailbox))
            if rng.random() < 0.2:
                await cab.sleep(rng.randrange(200))

    async def settle(cab):
        await cab.sleep(100_000)

    with simulated(topology, faults=faults, memory_bytes=memory_bytes, boards=boards, options=QUICK) as system:
        ids = [cab.id for cab in system.cabs]
        before = held(system)
        for cab in system.cabs:
            for mailbox in (1, 2):
                cab.mailbox(mailbox).capacity = rng.choice([1, 3, 100])
                cab.spawn(reader, mailbox)
            others = [number for number in ids if number != cab.id]
            for thread in range(rng.randrange(3)):
                plan = []
                for _ in range(rng.randrange(1, 12)):
                    destinations = [rng.choice(others)]
                    if not lossy and (topology.startswith("hub") or cab.id == 1) and rng.random() < 0.2:
                        destinations = rng.sample(others, rng.randrange(1, len(others) + 1))
                    length = rng.choice([4, 5, 40, 1003, 1004, 1005, 2500, rng.randrange(4, 6000)])
                    plan.append(
                        (
                            destinations,
                            rng.choice([1, 2]),
                            length,
                            rng.choice(["packet", "packet", "packet", "circuit"]),
                            rng.choice([0, 0, 50, 700]),
                        )
                    )
                system.spawn(cab.name, sender, thread, plan)
        system.spawn("CAB1", settle)
        system.go()
        system.spawn("CAB1", settle)
        system.go()
        assert held(system) == before
        assert all(not cab.mailbox(mailbox).full for cab in system.cabs for mailbox in (1, 2))
        assert all(not state.connections for state in hub_states(system).values())
        dropped = sum(
            cab.datalink.counters.hold_expired
            + cab.datagram.counters.no_room
            + cab.datagram.counters.damaged
            + cab.datagram.counters.incomplete
            for cab in system.cabs
        )
    assert len(set(received)) == len(received)
    assert set(received) <= set(sent) or failed
    for who in {item[:2] + item[3:] for item in received}:
        order = [item[2] for item in received if item[:2] + item[3:] == who]
        assert order == sorted(order)
    return sent, received, dropped


@pytest.mark.parametrize(
    "seed, boards",
    [
        *((seed, "fast") for seed in range(12)),
        *(pytest.param(seed, "rtl", marks=[] if seed % 2 else [pytest.mark.nightly]) for seed in range(12)),
    ],
)
def test_nothing_is_lost_or_doubled_without_faults(seed, boards):
    """Save what is counted as dropped: packets that found no room for too long, and circuits that arrived while one
    of them waited."""
    sent, received, dropped = traffic(seed, False, boards=boards)
    assert sorted(sent) == sorted(received) if not dropped else len(sent) - len(received) <= dropped


def losses(rng, topology):
    """One kind of thing gets lost, three times."""
    kind = rng.choice(["command", "start", "data", "end", "ready", "reply"])
    ends = [
        (str(pair.a), str(pair.b))
        for pair in topology.fibers
        if pair.a.port is None or kind not in ("command", "start", "ready")
    ]
    names = [f"{a}->{b}" for pair in ends for a, b in (pair, pair[::-1])]
    return [f"{rng.choice(names)}:lost-{kind},nth={rng.randrange(1, 5000 if kind == 'data' else 9)}" for _ in range(3)]


@pytest.mark.parametrize("seed", range(24))
def test_a_few_losses_harm_no_other_messages_and_leave_nothing_behind(seed):
    traffic(1000 + seed, True)
