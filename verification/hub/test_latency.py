"""Latency and rate of a whole HUB, measured at its pins as docs/wire.md says ("How latency is measured at the
pins")."""

import functools
import random

import cocotb
import pytest

from nectar.hdl.hub.commands import BY_OPCODE, Group, Op
from nectar.hdl.hub.profile import HUB_PROFILES
from nectar.hdl.link.symbol import ANY_HUB, Control, command, packet
from nectar.verification.bench import Bench
from nectar.verification.hub.monitors import Endpoint
from nectar.verification.hub.pins import PACKED, Pins, packed_hub
from nectar.verification.hub.testbench import profile_inside as profile

HUB = 0x21
OPENS = [op for op, row in BY_OPCODE.items() if row.group is Group.OPEN]
CLOSE_ALL = command(Op.CLOSE_ALL, ANY_HUB, 0)


async def fresh(dut):
    """A HUB out of reset with endpoints that answer nothing; returns (pins, agents)."""
    pins = Pins(dut, HUB)
    agents = await pins.reset([Endpoint(answer=None) for _ in range(pins.ports)])
    await pins.cycles(2)
    return pins, agents


def pairs(ports):
    """All (input, output) pairs of different ports, in random order."""
    found = [(i, o) for i in range(ports) for o in range(ports) if i != o]
    random.shuffle(found)
    return found


def derangement(ports):
    """A random permutation of all ports that leaves none in its place."""
    while True:
        found = random.sample(range(ports), ports)
        if all(i != o for i, o in enumerate(found)):
            return found


async def play(pins, agents, streams):
    """Sends ``streams`` ({port: symbols}), all from the same cycle on, and waits until the HUB is idle; returns ({port:
    [cycle of each symbol]}, {port: [(cycle, symbol)] offered})."""
    first = agents.now
    before = [len(sent) for sent in agents.recording.tx]
    for port, symbols in streams.items():
        agents.endpoints[port].send(symbols)
    await pins.drain()
    arrived = {
        port: [first + n for n, symbol in enumerate(symbols) if symbol is not None] for port, symbols in streams.items()
    }
    return arrived, [
        [(item.offered, item.symbol) for item in sent[start:]] for sent, start in zip(agents.recording.tx, before)
    ]


async def connect(pins, agents, connections):
    """Opens ``connections`` ({input: [outputs]})."""
    await play(
        pins,
        agents,
        {i: [s for o in outputs for s in command(Op.OPEN_RETRY, HUB, o)] for i, outputs in connections.items()},
    )


async def disconnect(pins, agents, inputs):
    """Closes all connections of ``inputs``."""
    await play(pins, agents, {i: CLOSE_ALL for i in inputs})


@cocotb.test(timeout_time=60, timeout_unit="ms")
async def set_up_and_transfer_takes_what_the_profile_says(dut):
    """H2: the start of a packet that follows its open at once leaves 10 cycles after it came (modern: 6), for every
    pair and every open."""
    pins, agents = await fresh(dut)
    for op in OPENS:
        for i, o in pairs(pins.ports):
            stream = command(op, HUB, o) + packet([i, o]) + CLOSE_ALL
            agents.endpoints[o].send([Control.READY])
            arrived, offered = await play(pins, agents, {i: stream})
            first, *others = arrived[i][4:]
            # The close all behind the packet waits until it is complete, as every command does.
            whole = len(stream) - 4 - len(CLOSE_ALL)
            assert offered[o][:whole] == [
                (at + profile().setup_and_transfer, symbol)
                for at, symbol in zip([first, *others], stream[4 : 4 + whole])
            ], f"{Op(op).name} {i} to {o}"
            assert [symbol for _, symbol in offered[o][whole:]] == CLOSE_ALL, f"{Op(op).name} {i} to {o}"


@cocotb.test(timeout_time=60, timeout_unit="ms")
async def transfer_takes_what_the_profile_says(dut):
    """H3: on an established connection every symbol leaves 5 cycles after it came (modern: 3), for every pair, alone
    or in a stream."""
    pins, agents = await fresh(dut)
    for i, o in pairs(pins.ports):
        await connect(pins, agents, {i: [o]})
        stream = [
            random.randrange(256),
            None,
            None,
            random.randrange(256),
            *packet(random.randbytes(9)),
            None,
            random.randrange(256),
        ]
        arrived, offered = await play(pins, agents, {i: stream})
        symbols = [symbol for symbol in stream if symbol is not None]
        assert offered[o] == [(at + profile().transfer, symbol) for at, symbol in zip(arrived[i], symbols)], (
            f"{i} to {o}"
        )
        await disconnect(pins, agents, [i])


@cocotb.test(timeout_time=60, timeout_unit="ms")
async def all_ports_stream_at_once_without_gap(dut):
    """H3, H5: with every input connected to another output each carries a symbol a cycle, every one of them as late
    as the profile says."""
    pins, agents = await fresh(dut)
    for _ in range(5):
        route = derangement(pins.ports)
        await connect(pins, agents, {i: [o] for i, o in enumerate(route)})
        streams = {i: list(random.randbytes(300)) for i in range(pins.ports)}
        arrived, offered = await play(pins, agents, streams)
        for i, o in enumerate(route):
            assert offered[o] == [(at + profile().transfer, symbol) for at, symbol in zip(arrived[i], streams[i])], (
                f"{i} to {o}"
            )
        await disconnect(pins, agents, range(pins.ports))


@cocotb.test(timeout_time=60, timeout_unit="ms")
async def all_ports_carry_packets_without_gap(dut):
    """H3, H15: the ready signal for a packet takes one cycle of the stream that goes the other way, and no more."""
    pins, agents = await fresh(dut)
    route = derangement(pins.ports)
    await connect(pins, agents, {i: [o] for i, o in enumerate(route)})
    streams = {i: packet(random.randbytes(200)) for i in range(pins.ports)}
    arrived, offered = await play(pins, agents, streams)
    for i, o in enumerate(route):
        first = arrived[i][0] + profile().transfer
        assert [at for at, _ in offered[o]] == list(range(first, first + len(streams[i]) + 1)), f"{i} to {o}"
        assert [symbol for _, symbol in offered[o] if symbol != Control.READY] == streams[i]
        assert [symbol for _, symbol in offered[o]].index(Control.READY) <= 2


@cocotb.test(timeout_time=60, timeout_unit="ms")
async def one_port_streams_to_all_others_without_gap(dut):
    """H10: a multicast to all other ports runs at a symbol a cycle, and every output gets it in the same cycle."""
    pins, agents = await fresh(dut)
    for i in random.sample(range(pins.ports), min(4, pins.ports)):
        others = [o for o in range(pins.ports) if o != i]
        await connect(pins, agents, {i: others})
        streams = {i: packet(random.randbytes(300))}
        arrived, offered = await play(pins, agents, streams)
        for o in others:
            assert offered[o] == [(at + profile().transfer, symbol) for at, symbol in zip(arrived[i], streams[i])], (
                f"{i} to {o}"
            )
        await disconnect(pins, agents, [i])


@cocotb.test(timeout_time=60, timeout_unit="ms")
async def the_controller_sets_up_a_connection_in_every_cycle(dut):
    """H4: opens that arrive together at several ports are granted in consecutive cycles, one each."""
    pins, agents = await fresh(dut)
    for count in {min(8, pins.ports), pins.ports}:
        for _ in range(4):
            route = derangement(pins.ports)
            inputs = random.sample(range(pins.ports), count)
            streams = {i: command(Op.OPEN_RETRY, HUB, route[i]) + [0x55] * 2 + CLOSE_ALL for i in inputs}
            arrived, offered = await play(pins, agents, streams)
            firsts = sorted(offered[route[i]][0][0] - arrived[i][4] for i in inputs)
            assert firsts == list(range(profile().setup_and_transfer, profile().setup_and_transfer + count))


bench = Bench(
    __name__,
    {
        f"{ports} ports {made.name}": functools.partial(packed_hub, ports, made)
        for made in HUB_PROFILES.values()
        for ports in (16, 5)
    },
    top=PACKED,
    ports_only=True,
)


def _marks(configuration):
    """16 ports are left for the night; every day ``reproduce`` measures all pairs of 16 ports."""
    return [pytest.mark.nightly] if configuration.startswith("16 ports") else []


@pytest.mark.parametrize("configuration, claim", [pytest.param(*case, marks=_marks(case[0])) for case in bench.cases()])
def test_latency(configuration, claim):
    bench.check(configuration, claim)
