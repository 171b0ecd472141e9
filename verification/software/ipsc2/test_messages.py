"""NX/2's messages on nodes and routers in RTL: protocols, buffers, queues, times (docs/nx2.md; facts D1, D4, D5)."""

import pytest

from nectar.software.errors import ProgramError, TaskEnded, TimedOut
from nectar.software.ipsc2.layout import BUFFERS, HEAD_WORDS, HEADER_BYTES, SHORT, Header, Kind
from nectar.verification.seeds import rng
from nectar.verification.software.ipsc2.cube import cube, nx_on, tasks_on
from nectar.verification.software.ipsc2.figures import latency_us, mbyte_s


def test_a_header_is_five_words_with_its_probe_in_the_first():
    header = Header(Kind.PROXY, 2, 3, 3 ^ 5, 700, 19, 0x7FFFFFFF, 1 << 20, 9)
    assert Header.unpack(header.pack()) == header
    assert len(header.pack()) == HEADER_BYTES == 20 and HEAD_WORDS * 4 == HEADER_BYTES + SHORT
    assert int.from_bytes(header.pack()[2:4], "big") == 3 ^ 5


def test_a_message_of_no_bytes_takes_350_us_and_little_more_for_a_further_hop():
    """D5: within 5 %. "A few microseconds" build the path through a further node."""
    neighbour, further = latency_us(1), latency_us(3)
    assert 350 * 0.95 <= neighbour <= 350 * 1.05
    assert 0.5 < further - neighbour < 3


def test_very_large_messages_have_more_than_2_7_mbyte_a_second():
    """D5; D1: not more than the 2.8 Mbyte/s of a channel. From the call of the send to the end of the receive."""
    assert 2.7 < mbyte_s(65_536) < 2.8


@pytest.mark.parametrize("length", [0, 1, 99, 100, 101, 104, 1001])
@pytest.mark.parametrize("late", [False, True], ids=["receive first", "send first"])
def test_up_to_100_bytes_take_one_trip_and_more_take_three(length, late):
    """D5. Bytes arrive as they were, whether the receive was posted before or after."""
    data = rng("boundary").randbytes(length)

    async def sender(process):
        await process.csend(5, data, length, 2, 0)

    async def receiver(process):
        process.cab.compute(12_500 if late else 0)
        buffer = bytearray(1024)
        await process.crecv(-1, buffer, 1024)
        return process.infotype(), process.infonode(), bytes(buffer[: process.infocount()])

    with cube(2) as system:
        assert nx_on(system, {(1, 0): (sender,), (2, 0): (receiver,)})[2, 0] == (5, 1, data)
        there, back = (system.cab(name).messages.sent for name in ("NODE1", "NODE2"))
    is_long = length > SHORT
    assert (there[Kind.SHORT], there[Kind.PROXY], there[Kind.DATA]) == (not is_long, is_long, is_long)
    assert back[Kind.GRANT] == is_long


def test_messages_that_nobody_receives_yet_neither_stop_others_nor_are_lost():
    """Section 3: short and long ones wait, while a process of the same node receives what was sent after them."""

    async def sender(process):
        for number in range(4 * BUFFERS):
            await process.csend(number, bytes([number]) * (7 if number % 2 else 300), 300 - number % 2 * 293, 3, 0)
        await process.csend(99, b"", 0, 3, 1)

    async def first(process):
        await process.crecv(99, bytearray(), 0)
        await process.csend(99, b"", 0, 3, 0)

    async def late(process):
        await process.crecv(99, bytearray(), 0)
        got = []
        for _ in range(4 * BUFFERS):
            buffer = bytearray(300)
            await process.crecv(-1, buffer, 300)
            got.append((process.infotype(), bytes(buffer[: process.infocount()])))
        return got

    with cube(2) as system:
        got = nx_on(system, {(0, 0): (sender,), (3, 0): (late,), (3, 1): (first,)})[3, 0]
        assert got == [(n, bytes([n]) * (7 if n % 2 else 300)) for n in range(4 * BUFFERS)]
        assert system.cab("NODE3").messages.sent[Kind.RETURN] > 0
        assert system.cab("NODE3").memory.used == 0


def test_a_full_heap_holds_senders_up_until_there_is_memory():
    """Section 3.1: without a reserved buffer a message waits; 3.2: a proxy waits for free memory."""
    count = 3 * BUFFERS

    async def sender(task):
        handles = [await task.isend("receiver", bytes([number]), number) for number in range(count)]
        handles.append(await task.isend("receiver", bytes(5000), count))
        for handle in handles:
            await handle.wait()

    async def receiver(task):
        memory = task.cab.memory
        blocks = []
        while (block := memory.try_allocate(memory.size // 16)) is not None:
            blocks.append(block)
        await task.cab.sleep(50_000)
        sent = [system.cab("NODE0").messages.sent[kind] for kind in (Kind.SHORT, Kind.DATA)]
        for block in blocks:
            memory.free(block)
        got = [(await task.receive()) for _ in range(count + 1)]
        return sent, [(each.type, each.data) for each in got]

    with cube(2) as system:
        records = tasks_on(system, {"sender": (0, sender), "receiver": (1, receiver)})
        sent, got = records["receiver"].result
        assert sent == [BUFFERS, 0]
        assert got == [*((number, bytes([number])) for number in range(count)), (count, bytes(5000))]
        assert all(node.memory.used == 0 for node in system.cabs)


def test_messages_of_one_process_keep_their_order_whatever_their_lengths():
    """Section 4.1, to several processes of a node."""
    draw = rng("order")
    lengths = [draw.choice((0, 7, 100, 101, 300)) for _ in range(8)]

    async def sender(process):
        for number, length in enumerate(lengths):
            await process.csend(number, bytes([number]) * length, length, 3, number % 2)

    async def receiver(process):
        got = []
        for _ in range(8):
            buffer = bytearray(512)
            await process.crecv(-1, buffer, 512)
            got.append((process.infotype(), process.infonode(), bytes(buffer[: process.infocount()])))
        return got

    with cube(2) as system:
        results = nx_on(system, {(0, 0): (sender,), (1, 0): (sender,), (3, 0): (receiver,), (3, 1): (receiver,)})
    for pid in (0, 1):
        for source in (0, 1):
            sent = [(n, source, bytes([n]) * length) for n, length in enumerate(lengths) if n % 2 == pid]
            assert [message for message in results[3, pid] if message[1] == source] == sent


def test_a_buffer_is_stored_to_its_end_and_no_further():
    """DMA moves whole words (docs/nx2.md): parts of a buffer at odd places, of odd lengths."""
    lengths = (101, 102, 103, 104, 211)

    async def sender(task):
        whole = await task.buffer(1024)
        whole.write(bytes(range(256)) * 4)
        for length in lengths:
            await task.send("receiver", whole[length % 4 : length % 4 + length])

    async def receiver(task):
        whole = await task.buffer(1024)
        found = []
        for length in lengths:
            for at in (0, 1, 8):
                whole.write(b"\xaa" * 1024)
                if at == 0:
                    handle = await task.receive(whole[at : at + length])
                    found.append((length, await whole.read(0, length + 4), bytes(handle.length)))
        return found

    with cube(1) as system:
        for length, got, received in tasks_on(system, {"sender": (0, sender), "receiver": (1, receiver)})[
            "receiver"
        ].result:
            first = length % 4
            assert len(received) == length
            assert got == bytes((first + n) % 256 for n in range(length)) + b"\xaa" * 4


def test_a_long_message_that_is_withdrawn_before_its_turn_is_gone():
    """A node asks for one long message at a time; a send that has timed out meanwhile is taken back."""

    async def large(task):
        await task.send("receiver", bytes(40_000))

    async def impatient(task):
        await task.cab.sleep(8000)
        try:
            await task.send("receiver", bytes(500), 1, timeout_us=4000)
        except TimedOut:
            await task.send("receiver", bytes(600), 2)
            return "withdrawn"

    async def receiver(task):
        got = [(await task.receive()) for _ in range(2)]
        return [(each.type, each.length) for each in got], await task.probe(timeout_us=5000)

    with cube(2) as system:
        records = tasks_on(system, {"large": (1, large), "impatient": (2, impatient), "receiver": (0, receiver)})
        assert records["impatient"].result == "withdrawn"
        assert records["receiver"].result == ([(0, 40_000), (2, 600)], None)
        assert system.cab("NODE2").messages.sent[Kind.GONE] == 1
        assert all(node.memory.used == 0 for node in system.cabs)


@pytest.mark.parametrize("length", [8, 500])
def test_a_task_that_has_ended_receives_nothing(length):
    async def brief(task):
        pass

    async def sender(task):
        await task.cab.sleep(5000)
        try:
            await task.send("brief", bytes(length))
            await task.cab.sleep(5000)
            await task.send("brief", bytes(length))
        except TaskEnded as error:
            return str(error)

    with cube(1) as system:
        records = tasks_on(system, {"brief": (1, brief), "sender": (0, sender)})
        assert records["sender"].result == "task brief has ended: it does not receive the message"
        assert all(node.memory.used == 0 for node in system.cabs)


def test_a_selector_passes_over_other_messages_and_a_process_sends_to_itself():
    async def both(process):
        await process.csend(1, b"first", 5, 0, 0)
        await process.csend(2, b"second" * 40, 240, 0, 0)
        await process.cprobe(-1)
        found, buffer = [process.infotype()], bytearray(512)
        for selector in (2, -1):
            await process.crecv(selector, buffer, 512)
            found += [process.infotype(), bytes(buffer[: process.infocount()])]
        return found

    with cube(1) as system:
        assert nx_on(system, {(0, 0): (both,)})[0, 0] == [1, 2, b"second" * 40, 1, b"first"]


def test_the_handler_asks_for_a_long_message_while_its_process_computes():
    """Section 3.2, interrupt-driven receive: the bytes come during the computation, not behind it."""

    async def sender(process):
        await process.csend(1, bytes(20_000), 20_000, 1, 0)
        return await process.cab.now_us()

    async def receiver(process):
        buffer = bytearray(20_000)
        mid = await process.irecv(1, buffer, 20_000)
        process.cab.compute(100_000)
        begin = await process.cab.now_us()
        await process.msgwait(mid)
        return begin

    with cube(1) as system:
        times = nx_on(system, {(0, 0): (sender,), (1, 0): (receiver,)})
    assert times[0, 0] < times[1, 0] - 80_000


@pytest.mark.parametrize("node", [4, -2, "1"])
def test_a_node_that_there_is_not_is_an_error_of_the_sender(node):
    async def sender(process):
        await process.csend(1, b"", 0, node, 0)

    with cube(2) as system, pytest.raises(ProgramError, match="a node is 0 to 3, or -1 for all, not"):
        nx_on(system, {(0, 0): (sender,)})


@pytest.mark.parametrize("length", [9, 200])
def test_a_message_longer_than_its_receive_is_an_error_of_the_receiver(length):
    async def sender(process):
        await process.csend(1, bytes(length), length, 1, 0)

    async def receiver(process):
        await process.crecv(1, bytearray(8), 8)

    with cube(2) as system, pytest.raises(ProgramError, match=f"from node 0, process 0 has {length} bytes, .* 8"):
        nx_on(system, {(0, 0): (sender,), (1, 0): (receiver,)})
