"""Global operations of NX/2: their results on any number of nodes, and how many messages they take."""

import functools
import operator
import struct
from math import log2

import pytest

from nectar.software.nx import (
    crecv,
    csend,
    gcol,
    gcolx,
    gdhigh,
    gdlow,
    gdprod,
    gdsum,
    gihigh,
    gilow,
    giprod,
    gisum,
    gland,
    glor,
    gopf,
    gsendx,
    gsync,
    infonode,
    iprobe,
    mynode,
    numnodes,
)
from nectar.verification import seeds
from nectar.verification.software.helpers import BOARDS
from nectar.verification.software.nx.programs import hypercube

NODES = [1, 2, 3, 4, 5, 6, 7, 8, 11, 15]
#: Numbers that each node gives; 40 doubles are more than a short message.
COUNTS = [0, 1, 40]


def everywhere(program, *args, nodes, **options):
    """What each node returns of a program, in order, and the messages that all have sent each other."""
    with hypercube(nodes, **options) as nx:
        nx.load(program, *args)
        nx.go()
        sent = sum(agent.channels.counters.sent for agent in nx.application.agents)
        return [nx.results[node, 0] for node in range(nodes)], sent


def messages(nodes):
    """Of an operation, as its docstring says."""
    power = 1 << nodes.bit_length() - 1
    return power * log2(power) + 2 * (nodes - power)


OPERATIONS = {
    gdsum: operator.add,
    gdprod: operator.mul,
    gdhigh: max,
    gdlow: min,
    gisum: operator.add,
    giprod: operator.mul,
    gihigh: max,
    gilow: min,
    gland: lambda one, other: int(bool(one and other)),
    glor: lambda one, other: int(bool(one or other)),
}


@pytest.mark.parametrize(
    "call, nodes",
    [
        # All operations go the same ways: one of them on every number of nodes, the others on two.
        *((gdsum, nodes) for nodes in NODES),
        *((call, nodes) for call in OPERATIONS for nodes in (1, 6) if call is not gdsum),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_numbers_of_all_nodes_are_combined(call, nodes):
    real = call.__name__.startswith("gd")
    draw = seeds.rng(f"{call.__name__} {nodes}")
    given = [[draw.randrange(-3, 4) for _ in range(40)] for _ in range(nodes)]

    def program(process, count):
        x = [float(number) if real else number for number in given[mynode()]]
        call(x, count, [0] * count)
        assert x[count:] == given[mynode()][count:]
        return x[:count]

    for count in COUNTS:
        results, sent = everywhere(program, count, nodes=nodes)
        wanted = [functools.reduce(OPERATIONS[call], column) for column in zip(*given, strict=True)]
        if call.__name__ in ("gland", "glor"):
            wanted = [int(bool(number)) for number in wanted] if nodes > 1 else wanted
        assert results == [wanted[:count]] * nodes
        assert sent == messages(nodes)


def test_integers_have_32_bits_and_lose_what_is_beyond():
    def program(process):
        x = [2**31 - 1, -(2**31), 3]
        gisum(x, 3, [0] * 3)
        y = [1 << 20]
        giprod(y, 1, [0])
        return x + y

    assert everywhere(program, nodes=2)[0] == [[-2, 0, 6, 0]] * 2


@pytest.mark.parametrize("nodes", NODES)
def test_all_nodes_have_the_same_sum_bit_by_bit(nodes):
    """Though sums of floating-point numbers depend on their order."""
    draw = seeds.rng("sum")
    given = [draw.uniform(-1, 1) * 10 ** draw.randrange(-8, 8) for _ in range(nodes)]

    def program(process):
        x = [given[mynode()]]
        gdsum(x, 1, [0.0])
        return x[0]

    results, _ = everywhere(program, nodes=nodes)
    assert len(set(results)) == 1 and results[0] == pytest.approx(sum(given))


@pytest.mark.parametrize("nodes", [2, 3, 4, 7])
def test_all_nodes_choose_the_same_of_equal_numbers(nodes):
    """0.0 and -0.0 are equal; the result is the same on all nodes."""

    def program(process):
        x, y = ([-0.0 if mynode() % 2 else 0.0] for _ in range(2))
        gdhigh(x, 1, [0.0])
        gdlow(y, 1, [0.0])
        return str(x + y)

    assert len(set(everywhere(program, nodes=nodes)[0])) == 1


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("nodes", [1, 2, 3, 7, 8])
def test_gsync_lets_nobody_go_before_all_have_come(nodes, boards):
    def program(process):
        times = []
        for turn in range(3):
            process.cab.sleep(1000 * ((mynode() + turn) % numnodes()))
            came = process.cab.now_us()
            gsync()
            times.append((came, process.cab.now_us()))
        return times

    results, sent = everywhere(program, nodes=nodes, boards=boards)
    for turn in zip(*results, strict=True):
        assert max(came for came, _ in turn) <= min(went for _, went in turn)
    assert sent == 3 * messages(nodes)


@pytest.mark.parametrize("nodes", NODES)
def test_gcol_puts_the_bytes_of_all_nodes_in_their_order(nodes):
    def program(process):
        mine = bytes([mynode()]) * (3 * mynode() % 50)
        y = bytearray(1000)
        count = gcol(mine, len(mine), y, 1000)
        lengths = [3 * node % 50 for node in range(numnodes())]
        exact = bytearray(sum(lengths))
        buffer = process.task.buffer(max(1, len(mine)))
        buffer.write(mine)
        gcolx(buffer, lengths, exact)
        assert exact == y[:count]
        return bytes(exact)

    results, sent = everywhere(program, nodes=nodes)
    assert results == [b"".join(bytes([node]) * (3 * node % 50) for node in range(nodes))] * nodes
    assert sent == 2 * messages(nodes)


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("plain", [True, False], ids=["plain", "async"])
def test_gopf_combines_with_a_function_of_the_program(nodes, plain):
    def longest(x, work):
        ours, theirs = (struct.unpack("<If", each) for each in (x, work))
        x[:] = struct.pack("<If", *max(ours, theirs))

    async def awaiting(x, work):
        longest(x, work)

    def program(process):
        x, work = bytearray(struct.pack("<If", 7 * mynode() % 5, mynode())), bytearray(8)
        gopf(x, 8, work, longest if plain else awaiting)
        return struct.unpack("<If", x)

    results, sent = everywhere(program, nodes=nodes)
    assert results == [max((7 * node % 5, float(node)) for node in range(nodes))] * nodes
    assert sent == messages(nodes)


@pytest.mark.parametrize("size", [10, 3000])
def test_gsendx_sends_to_the_nodes_in_a_list(size):
    def program(process):
        if mynode() == 2:
            gsendx(9, bytes(size), size, [0, 3, 4], 2)
        gsync()
        if mynode() in (0, 3):
            crecv(9, bytearray(size), size)
            assert infonode() == 2
        return iprobe(-1)

    results, sent = everywhere(program, nodes=5)
    assert not any(results) and sent == 2 + messages(5)


def test_receives_of_any_type_do_not_take_messages_of_global_operations():
    def program(process):
        if mynode() == 0:
            process.cab.sleep(2000)
            assert not iprobe(-1) and not iprobe(0xFFFFFFFF)
            csend(1, b"x", 1, 0, 0)
            crecv(-1, bytearray(1), 1)
        gsync()

    everywhere(program, nodes=3)


def test_processes_of_each_id_have_operations_of_their_own():
    def program(process):
        x = [process.pid]
        for _ in range(3):
            gisum(x, 1, [0])
        return x[0]

    with hypercube(3) as nx:
        for pid in (0, 1, 5):
            nx.load(program, pid=pid)
        nx.go()
        assert nx.results == {(node, pid): 27 * pid for node in range(3) for pid in (0, 1, 5)}
