"""Uses of commands that take two HUBs: exploring a network, taking a route down from its end, recovery hop by hop
(H17, H21, H22)."""

import pytest

from nectar.hdl.hub.commands import HELLO_HUB, KIND_UNKNOWN, STATUS_IN_USE, Op
from nectar.hdl.hub.profile import HUB_PROFILES
from nectar.hdl.link.symbol import ANY_HUB, command, packet
from nectar.hdl.verilog import convert
from nectar.verification.bench import Bench
from nectar.verification.hub.pair import Pair
from nectar.verification.hub.pins import PACKED, packed
from nectar.verification.hub.testbench import CLOSE_ALL, HUB, claim

#: The two HUBs, and the ports by which they are joined.
FIRST, SECOND, WAY, BACK = HUB, HUB + 1, 2, 0


async def answer(tb, port, op, hub, param):
    """The reply to a command for one of the HUBs, sent at the pins of ``port``: (opcode, HUB ID, value)."""
    before = len(tb.replies(port))
    tb.send(port, command(op, hub, param))
    await tb.pins.until(lambda: len(tb.replies(port)) > before, 300, f"a reply to {Op(op).name}")
    return tuple(tb.replies(port)[before])


@claim(ports=4)
async def a_board_explores_the_network_around_it(tb):
    """H22: from "where am I" by way of the neighbours to the next HUB and back, without knowing anything before."""
    opcode, here, port = await answer(tb, 0, Op.IDENTITY_REPLY, ANY_HUB, 0)
    assert (opcode, here, port) == (Op.IDENTITY_REPLY, FIRST, 0)
    assert await answer(tb, 0, Op.SIZE_REPLY, ANY_HUB, 0) == (Op.SIZE_REPLY, FIRST, 3)
    for number in range(3):
        await answer(tb, 0, Op.STATUS_NEIGHBOUR, here, number)
    await tb.drain()
    kinds = [(await answer(tb, 0, Op.STATUS_KIND, here, number))[2] for number in range(3)]
    assert kinds == [KIND_UNKNOWN, KIND_UNKNOWN, HELLO_HUB | BACK]
    there = (await answer(tb, 0, Op.STATUS_NEIGHBOUR, here, WAY))[2]
    assert there == SECOND
    tb.send(0, command(Op.OPEN, here, WAY))
    assert await answer(tb, 0, Op.SIZE_REPLY, there, 0) == (Op.SIZE_REPLY, SECOND, 3)
    assert await answer(tb, 0, Op.IDENTITY_REPLY, there, 0) == (Op.IDENTITY_REPLY, SECOND, BACK)
    assert await answer(tb, 0, Op.STATUS_KIND, there, BACK) == (Op.STATUS_KIND, SECOND, HELLO_HUB | WAY)
    tb.send(0, CLOSE_ALL)
    await tb.drain()
    assert not any(tb.hellos(port) and port == 2 for port in range(4)), "hellos do not leave the fiber between the HUBs"


@claim(ports=4)
async def a_route_is_taken_down_from_its_far_end(tb):
    """Close all reply: given to the last HUB, its reply closes the connection at every HUB on its way back."""
    for number in range(3):
        tb.send(0, command(Op.OPEN_RETRY, FIRST, WAY))
        assert await answer(tb, 0, Op.OPEN_RETRY_REPLY, SECOND, 1) == (Op.OPEN_RETRY_REPLY, SECOND, 1)
        tb.send(0, packet([number]))
        assert await answer(tb, 0, Op.CLOSE_ALL_REPLY, SECOND, 0x44) == (Op.CLOSE_ALL_REPLY, SECOND, 0x44)
        assert await answer(tb, 1, Op.STATUS_OUTPUT, FIRST, WAY) == (Op.STATUS_OUTPUT, FIRST, 0)
        assert await answer(tb, 3, Op.STATUS_OUTPUT, SECOND, 1) == (Op.STATUS_OUTPUT, SECOND, 0)
        assert tb.data(2) == [symbol for n in range(number + 1) for symbol in packet([n])]
    await tb.drain()


@claim(ports=4)
async def a_source_recovers_a_stuck_route_hop_by_hop(tb):
    """H21: the far end takes nothing and both queues hold data; flush and close at one HUB after the other, from the
    source, and all is well."""
    tb.send(0, command(Op.OPEN_RETRY, FIRST, WAY), command(Op.OPEN_RETRY, SECOND, 1))
    await tb.drain()
    tb.ends[2].take = lambda cycle: False
    tb.send(0, packet(bytes(900)))
    await tb.drain()
    assert (await answer(tb, 3, Op.STATUS_QUEUE, SECOND, BACK))[2] == 255
    assert await answer(tb, 0, Op.FLUSH_REPLY, FIRST, 1) == (Op.FLUSH_REPLY, FIRST, 1)
    assert await answer(tb, 0, Op.FLUSH_REPLY, SECOND, 2) == (Op.FLUSH_REPLY, SECOND, 2)
    assert (await answer(tb, 3, Op.STATUS_QUEUE, SECOND, BACK))[2] == 0
    assert await answer(tb, 0, Op.CLOSE_MINE_REPLY, SECOND, 3) == (Op.CLOSE_MINE_REPLY, SECOND, 3)
    assert await answer(tb, 0, Op.CLOSE_MINE_REPLY, FIRST, 4) == (Op.CLOSE_MINE_REPLY, FIRST, 4)
    tb.ends[2].take = lambda cycle: True
    await tb.drain()
    before = len(tb.data(2))
    for hub, port in ((FIRST, WAY), (SECOND, 1)):
        tb.send(0, command(Op.OPEN_RETRY, hub, port))
    tb.send(0, packet([7]), CLOSE_ALL)
    await tb.drain()
    assert tb.data(2)[before:] == packet([7]) + CLOSE_ALL
    assert await answer(tb, 1, Op.STATUS_OUTPUT, FIRST, WAY) == (Op.STATUS_OUTPUT, FIRST, 0)
    assert await answer(tb, 3, Op.STATUS_OUTPUT, SECOND, 1) == (Op.STATUS_OUTPUT, SECOND, 0)


@claim(ports=4)
async def status_finds_how_far_a_route_has_come(tb):
    """The use of status output: a route of two hops waits at the second; another board finds the first open and the
    second taken."""
    tb.send(3, command(Op.OPEN_RETRY, SECOND, 1))
    await tb.drain()
    tb.send(0, command(Op.OPEN_RETRY, FIRST, WAY), command(Op.OPEN_RETRY_REPLY, SECOND, 1))
    await tb.drain()
    assert not tb.replies(0)
    assert await answer(tb, 1, Op.STATUS_OUTPUT, FIRST, WAY) == (Op.STATUS_OUTPUT, FIRST, STATUS_IN_USE | 0)
    assert await answer(tb, 3, Op.STATUS_OUTPUT, SECOND, 1) == (Op.STATUS_OUTPUT, SECOND, STATUS_IN_USE | 2)
    tb.send(3, CLOSE_ALL)
    await tb.drain()
    assert tb.replies(0) == [[Op.OPEN_RETRY_REPLY, SECOND, 1]]
    tb.send(0, packet([1]), CLOSE_ALL)
    await tb.drain()
    assert tb.data(2)[-7:] == packet([1]) + CLOSE_ALL


bench = Bench(
    __name__,
    {
        f"pair {profile.name}": lambda profile=profile: packed(convert(Pair(profile), "dut"))
        for profile in HUB_PROFILES.values()
    },
    top=PACKED,
    ports_only=True,
)


@pytest.mark.nightly
@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_pair(configuration, claim):
    bench.check(configuration, claim)
