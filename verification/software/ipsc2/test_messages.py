"""NX/2's messages on nodes and routers in RTL: protocols, buffers, queues, times (docs/nx2.md; facts D1, D4, D5)."""

import pytest

from nectar.software.errors import ProgramError
from nectar.software.ipsc2.layout import BUFFERS, HEAD_WORDS, HEADER_BYTES, SHORT, Header, Kind
from nectar.verification.seeds import rng
from nectar.verification.software.ipsc2.cube import Cube, anything


def _place(node, data=b"", room=0):
    address = node.heap.allocate(max(room, len(data), 4))
    node.kernel.door.write_block(address, data)
    return address


async def send(node, to, type, data, pid=0):
    messages = node.messages
    await messages.wait(await messages.send(to, pid, 0, type, _place(node, data), len(data)))


async def take(node, room=128, pid=0, match=anything):
    """(type, node of the sender, bytes) of a message."""
    messages = node.messages
    address = _place(node, room=room)
    receive = await messages.receive(pid, match, address, room)
    await messages.wait(receive)
    data = await node.kernel.door.read_block(address, receive.arrival.length) if receive.arrival.length else b""
    return receive.arrival.type, receive.arrival.node, data


async def echo(node, peer, is_first, length, times):
    """Sends a message there and back three times; ``times``: microseconds of each way."""
    messages, door = node.messages, node.kernel.door
    address = _place(node, room=length)
    for _ in range(3):
        begin = await door.now()
        if is_first:
            await messages.wait(await messages.send(peer, 0, 0, 1, address, length))
        await messages.wait(await messages.receive(0, anything, address, length))
        if not is_first:
            await messages.wait(await messages.send(peer, 0, 0, 1, address, length))
        times.append(door.nanoseconds(await door.now() - begin) / 2000)


def latency(cube, peer, length):
    times = []
    cube.spawn(0, echo, peer, True, length, times)
    cube.spawn(peer, echo, 0, False, length, [])
    cube.run()
    return times[-1]


def test_a_header_is_five_words_with_its_probe_in_front():
    header = Header(Kind.PROXY, 3, 3 ^ 5, 2, 7, 19, 0x7FFFFFFF, 1 << 20, 9)
    assert Header.unpack(header.pack()) == header
    assert len(header.pack()) == HEADER_BYTES == 20 and HEAD_WORDS * 4 == HEADER_BYTES + SHORT
    assert int.from_bytes(header.pack()[2:4], "big") == 3 ^ 5


def test_a_message_of_no_bytes_takes_350_us_and_little_more_for_a_further_hop():
    """D5: within 5 %. "A few microseconds" build the path through a further node."""
    with Cube(2) as cube:
        neighbour = latency(cube, 1, 0)
    with Cube(2) as cube:
        further = latency(cube, 3, 0)
    assert 350 * 0.95 <= neighbour <= 350 * 1.05
    assert 0.5 < further - neighbour < 3


def test_very_large_messages_have_more_than_2_7_mbyte_a_second():
    """D5; D1: not more than the 2.8 Mbyte/s of a channel. From the call of the send to the end of the receive."""
    length = 49_152

    async def sender(node):
        address = _place(node, room=length)
        node.kernel.door.spend(10_000)  # the receive is there first
        begin = await node.kernel.door.now()
        await node.messages.wait(await node.messages.send(1, 0, 0, 1, address, length))
        return begin

    async def receiver(node):
        await node.messages.wait(await node.messages.receive(0, anything, _place(node, room=length), length))
        return await node.kernel.door.now()

    with Cube(2) as cube:
        begin, end = cube.spawn(0, sender), cube.spawn(1, receiver)
        cube.run()
        microseconds = cube.nodes[0].kernel.door.nanoseconds(end.result - begin.result) / 1000
        assert 2.7 < length / microseconds < 2.8


@pytest.mark.parametrize("length", [0, 1, 99, 100, 101, 104, 1001])
@pytest.mark.parametrize("late", [False, True], ids=["receive first", "send first"])
def test_up_to_100_bytes_take_one_trip_and_more_take_three(length, late):
    """D5. Bytes arrive as they were, whether the receive was posted before or after."""
    data = rng("boundary").randbytes(length)

    async def receiver(node):
        if late:
            node.kernel.door.spend(200_000)
        return await take(node, 1024)

    with Cube(2) as cube:
        thread = cube.spawn(2, receiver)
        cube.spawn(1, send, 2, 5, data)
        cube.run()
        assert thread.result == (5, 1, data)
        there, back = cube.nodes[1].messages.sent, cube.nodes[2].messages.sent
        is_long = length > SHORT
        assert (there[Kind.SHORT], there[Kind.PROXY], there[Kind.DATA]) == (not is_long, is_long, is_long)
        assert back[Kind.GRANT] == is_long


def test_a_sender_without_reserved_buffers_waits_until_they_are_returned():
    """Section 3.1: the receiver has BUFFERS for each other node, and returns them by messages of its own."""
    count = 3 * BUFFERS

    async def sender(node):
        for number in range(count):
            await send(node, 3, number, b"")

    async def receiver(node):
        node.kernel.door.spend(500_000)
        await node.kernel.door.now()
        assert cube.nodes[0].messages.sent[Kind.SHORT] == BUFFERS
        return [(await take(node))[0] for _ in range(count)]

    with Cube(2) as cube:
        cube.spawn(0, sender)
        thread = cube.spawn(3, receiver)
        cube.run()
        assert thread.result == list(range(count))
        assert cube.nodes[3].messages.sent[Kind.RETURN] > 0


def test_messages_of_one_process_keep_their_order_whatever_their_lengths():
    """Section 4.1, with types that are passed over, to several processes of a node."""
    draw = rng("order")
    lengths = [draw.choice((0, 7, 100, 101, 300)) for _ in range(8)]

    async def sender(node):
        for number, length in enumerate(lengths):
            await send(node, 3, number, bytes([number]) * length, pid=number % 2)

    async def receiver(node, pid):
        return [await take(node, 512, pid) for _ in range(8)]

    with Cube(2) as cube:
        for source in (0, 1):
            cube.spawn(source, sender)
        threads = [cube.spawn(3, receiver, pid) for pid in (0, 1)]
        cube.run()
        for pid, thread in enumerate(threads):
            for source in (0, 1):
                sent = [(n, source, bytes([n]) * length) for n, length in enumerate(lengths) if n % 2 == pid]
                assert [message for message in thread.result if message[1] == source] == sent


def test_a_selector_passes_over_other_messages_and_a_process_sends_to_itself():
    async def both(node):
        await send(node, 0, 1, b"first")
        await send(node, 0, 2, b"second" * 40)
        seen = await node.messages.probe(0, anything)
        return seen.type, await take(node, 512, match=lambda type: type == 2), await take(node)

    with Cube(2) as cube:
        thread = cube.spawn(0, both)
        cube.run()
        assert thread.result == (1, (2, 0, b"second" * 40), (1, 0, b"first"))


@pytest.mark.parametrize("node", [4, -1, "1"])
def test_a_node_that_there_is_not_is_an_error_of_the_sender(node):
    with Cube(2) as cube:
        cube.spawn(0, send, node, 1, b"")
        with pytest.raises(ProgramError, match="a node is 0 to 3, not"):
            cube.run()


@pytest.mark.parametrize("length", [9, 200])
def test_a_message_longer_than_its_receive_is_an_error_of_the_receiver(length):
    with Cube(2) as cube:
        cube.spawn(0, send, 1, 1, bytes(length))
        cube.spawn(1, take, 8)
        with pytest.raises(ProgramError, match=f"a message of {length} bytes from node 0 .* room for 8"):
            cube.run()
