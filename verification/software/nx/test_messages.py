"""Messages: what P. Pierce, "The NX/2 Operating System" (1988), sections 3 and 4, says of sends, receives, selectors
and probes. docs/nx.md lists its sentences with these tests."""

from array import array

import pytest

from nectar.software import nx as library
from nectar.software.nx import (
    cprobe,
    crecv,
    csend,
    infocount,
    infonode,
    infopid,
    infotype,
    iprobe,
    irecv,
    isend,
    msgdone,
    msgwait,
    mynode,
    mypid,
    numnodes,
)
from nectar.verification.software.helpers import BOARDS, pattern
from nectar.verification.software.nx.programs import USER_MASK, hypercube, run

#: Around the 100 bytes of a short message, a packet, the longest message of the transports.
SIZES = [0, 1, 99, 100, 101, 1003, 1004, 1005, 4000, 65536, 65537]


@pytest.mark.parametrize("boards", BOARDS)
def test_a_message_has_any_length_from_zero_bytes_on(boards):
    """Section 4."""

    def sender(process):
        for size in SIZES:
            csend(size, pattern(size), size, 1, 0)

    def receiver(process):
        room = bytearray(SIZES[-1])
        for size in SIZES:
            crecv(size, room, len(room))
            assert infocount() == size and bytes(room[:size]) == pattern(size)

    run((sender,), (receiver,), boards=boards)


def test_a_destination_is_a_node_and_a_process_id():
    """Section 4: by node number and process id; 4.2: a process can identify itself."""

    def program(process):
        assert (mynode(), mypid(), numnodes()) == (process.node, process.pid, 3)
        for node in range(3):
            for pid in (0, 7, 19):
                csend(1, bytes([node, pid, mynode(), mypid()]), 4, node, pid)
        got = set()
        for _ in range(9):
            room = bytearray(4)
            crecv(1, room, 4)
            assert room[:2] == bytes([mynode(), mypid()]) and room[2:] == bytes([infonode(), infopid()])
            got.add((infonode(), infopid()))
        return got

    with hypercube(3) as nx:
        for pid in (0, 7, 19):
            nx.load(program, pid=pid)
        nx.go()
        everyone = {(node, pid) for node in range(3) for pid in (0, 7, 19)}
        assert nx.results == {address: everyone for address in everyone}


@pytest.mark.parametrize("size", [20, 500])
def test_csend_does_not_wait_until_the_message_is_received(size):
    """Section 4.2: it returns when the send buffer is no longer needed."""

    def sender(process):
        data = bytearray(pattern(size))
        csend(1, data, size, 1, 0)
        data[:] = bytes(size)
        return process.cab.now_us()

    def receiver(process):
        process.cab.sleep(20_000)
        room = bytearray(size)
        crecv(1, room, size)
        assert room == pattern(size)

    assert run((sender,), (receiver,))[0] < 2000


def test_crecv_does_not_return_until_the_message_is_in_the_buffer():
    """Section 4.2."""

    def sender(process):
        process.cab.sleep(5000)
        csend(1, b"late", 4, 1, 0)

    def receiver(process):
        room = bytearray(4)
        crecv(1, room, 4)
        assert room == b"late"
        return process.cab.now_us()

    assert run((sender,), (receiver,))[1] > 5000


@pytest.mark.parametrize("same", [False, True], ids=["nodes", "processes"])
def test_messages_between_two_processes_are_received_in_their_order(same):
    """Section 4.1: message ordering; short and long ones, sent by both kinds of calls."""
    count = 40

    def sender(process):
        ids = []
        for number in range(count):
            data = bytes([number]) * SIZES[1 + number % 7]
            if number % 3:
                ids.append(isend(number % 2, data, len(data), 0 if same else 1, 1))
            else:
                csend(number % 2, data, len(data), 0 if same else 1, 1)
        for mid in ids:
            msgwait(mid)

    def receiver(process, selectors):
        got, room = [], bytearray(2000)
        for selector in selectors:
            crecv(selector, room, len(room))
            got.append(room[0])
        return got

    for selectors, order in (
        ([-1] * count, [*range(count)]),
        ([1] * (count // 2) + [0] * (count // 2), [*range(1, count, 2), *range(0, count, 2)]),
    ):
        with hypercube(2) as nx:
            nx.load(sender, node=0)
            nx.load(receiver, selectors, node=0 if same else 1, pid=1)
            nx.go()
            assert nx.results[0 if same else 1, 1] == order


def selected(typesel, types=(0, 3, 30, 31, 5, 2**31 - 1)):
    """The types of the messages that ``typesel`` takes, of those that wait, in this order."""

    def sender(process):
        for type in types:
            csend(type, b"", 0, 1, 0)
        csend(29, b"", 0, 1, 0)

    def receiver(process):
        cprobe(29)
        taken = []
        while iprobe(typesel):
            crecv(typesel, None, 0)
            taken.append(infotype())
        return taken

    return run((sender,), (receiver,))[1]


def test_a_positive_selector_takes_exactly_that_type():
    """Section 4."""
    assert selected(3) == [3] and selected(31) == [31] and selected(4) == []


def test_type_zero_is_a_type():
    assert selected(0) == [0]


@pytest.mark.parametrize("typesel", [-1, 0xFFFFFFFF])
def test_selector_minus_one_takes_all_types(typesel):
    """Section 4."""
    assert selected(typesel) == [0, 3, 30, 31, 5, 2**31 - 1, 29]


@pytest.mark.parametrize("sign", [USER_MASK, -USER_MASK], ids=["unsigned", "signed"])
def test_a_selector_with_the_sign_bit_is_a_mask_of_types_0_to_30(sign):
    """Section 4."""
    assert selected(sign | 1 << 3 | 1 << 30) == [3, 30]
    assert selected(sign) == []
    assert selected(sign | 0x7FFFFFFE) == [3, 30, 5, 29]


def test_a_message_for_the_next_phase_passes_those_that_wait():
    """Section 3: it must be possible to receive the message for the next phase even if others wait; these are not
    lost."""
    count = 100

    def sender(process):
        for number in range(count):
            csend(1, bytes([number]) * 150, number, 1, 0)
        csend(2, b"now", 3, 1, 0)

    def receiver(process):
        room = bytearray(150)
        crecv(2, room, 3)
        for number in range(count):
            crecv(1, room, 150)
            assert infocount() == number and room[:number] == bytes([number]) * number

    run((sender,), (receiver,))


def test_cprobe_waits_until_a_message_can_be_received():
    """Section 4.2: the info calls tell which buffer the receive needs."""

    def sender(process):
        csend(1, b"other", 5, 1, 0)
        process.cab.sleep(3000)
        csend(2, pattern(300), 300, 1, 0)

    def receiver(process):
        cprobe(2)
        assert process.cab.now_us() > 3000
        found = infotype(), infocount(), infonode(), infopid()
        room = bytearray(infocount())
        crecv(infotype(), room, len(room))
        assert room == pattern(300) and (infotype(), infocount(), infonode(), infopid()) == found
        crecv(1, bytearray(5), 5)
        return found

    assert run((sender,), (receiver,))[1] == (2, 300, 0, 0)


def test_iprobe_returns_at_once_and_tells_whether_a_message_has_arrived():
    """Section 4.3."""

    def sender(process):
        process.cab.sleep(1000)
        csend(2, pattern(300), 300, 1, 0)

    def receiver(process):
        assert iprobe(2) is False and process.cab.now_us() < 500
        looks = 0
        while not iprobe(2):
            looks += 1
        assert iprobe(3) is False and iprobe(-1) is True
        assert (infotype(), infocount(), infonode(), infopid()) == (2, 300, 0, 0)
        crecv(2, bytearray(300), 300)
        assert iprobe(-1) is False
        return looks

    assert run((sender,), (receiver,))[1] > 10


def test_calls_of_all_levels_mix():
    """Section 4: a message of an asynchronous send is received by a blocking or an interrupt-driven call."""

    def sender(process):
        for type in range(3):
            msgwait(isend(type, bytes([type]), 1, 1, 0))
        for type in range(3, 6):
            csend(type, bytes([type]), 1, 1, 0)

    def receiver(process):
        seen, rooms = [], [bytearray(1) for _ in range(6)]
        for type in (0, 3):
            process.hrecv(type, rooms[type], 1, lambda type, *_: seen.append(type))
        ids = [irecv(type, rooms[type], 1) for type in (1, 4)]
        for type in (5, 2):
            crecv(type, rooms[type], 1)
        for mid in ids:
            msgwait(mid)
        assert rooms == [bytearray([type]) for type in range(6)]
        return seen

    assert sorted(run((sender,), (receiver,))[1]) == [0, 3]


@pytest.mark.parametrize("size", [8, 800])
def test_node_minus_one_is_all_other_nodes(size):
    """Intel's library: a send to node -1."""

    def program(process):
        if mynode() == 1:
            csend(4, pattern(size), size, -1, 0)
            assert not iprobe(-1)
            msgwait(isend(5, process.task.buffer(size), size, -1, 0))
            return None
        room = bytearray(size)
        crecv(4, room, size)
        assert room == pattern(size)
        crecv(5, room, size)
        return infonode(), infocount()

    with hypercube(5) as nx:
        nx.load(program)
        nx.go()
        assert set(nx.results.values()) == {None, (1, size)}


def test_the_length_may_be_less_than_the_buffer():
    def sender(process):
        csend(1, b"abcdef", 3, 1, 0)
        buffer = process.task.buffer(400)
        buffer.write(pattern(300) + bytes(100))
        csend(2, buffer, 300, 1, 0)

    def receiver(process):
        room = bytearray(b".......")
        crecv(1, room, 5)
        assert room == b"abc...."
        buffer = process.task.buffer(400)
        crecv(2, buffer, 301)
        assert infocount() == 300 and buffer.read(0, 300) == pattern(300)

    run((sender,), (receiver,))


def test_buffers_are_whatever_has_the_buffer_protocol():
    def sender(process):
        numbers = array("d", range(50))
        csend(1, numbers, 400, 1, 0)
        csend(2, memoryview(numbers)[10:20], 80, 1, 0)

    def receiver(process):
        numbers = array("d", [0] * 50)
        crecv(1, numbers, 400)
        part = array("d", [0] * 30)
        crecv(2, memoryview(part)[5:15], 80)
        return list(numbers), list(part)

    numbers, part = run((sender,), (receiver,))[1]
    assert numbers == [*range(50)] and part == [0] * 5 + [*range(10, 20)] + [0] * 15


@pytest.mark.parametrize("ours, copied", [(False, 1), (True, 0)], ids=["python", "buffer"])
def test_bytes_of_python_are_copied_by_the_cpu_and_those_of_buffers_are_not(ours, copied):
    size = 3000

    def program(process):
        buffer = process.task.buffer(size) if ours else bytearray(size)
        if mynode() == 0:
            process.cab.sleep(1000)
            csend(1, buffer, size, 1, 0)
        else:
            crecv(1, buffer, size)
        return process.task.copies

    out, came = run((program,), (program,))
    assert (out.cpu_out, out.dma_out, came.cpu_in, came.dma_in) == (copied * size, size, copied * size, size)


def test_the_same_calls_are_methods_and_are_awaited_in_async_functions():
    async def sender(process):
        await csend(1, b"one", 3, 1, 0)
        mid = await process.isend(2, pattern(200), 200, 1, 0)
        await msgwait(mid)
        await process.gsync()

    async def receiver(process):
        room = bytearray(200)
        mid = await irecv(2, room, 200)
        await process.crecv(1, room, 3)
        while not await msgdone(mid):
            await process.flick()
        await library.gsync()
        return process.infocount(), infocount()

    assert run((sender,), (receiver,))[1] == (200, 200)
