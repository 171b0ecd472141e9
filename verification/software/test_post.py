"""``datalink.post``: packets that are sent without waiting, at interrupt level too, between those of threads.

Specification: docs/software.md, "The datalink". Each packet's area is spoilt when ``done`` says that it has left: was
it called for the wrong packet or too early, something else would arrive.
"""

import pytest

from nectar.hdl.host.events import LEVELS
from nectar.software.datalink.fiberin import Answer
from nectar.software.errors import MessageTooLong
from nectar.verification import seeds

from .helpers import BOARDS, pattern, receive_all, send_all, simulated

_PROTOCOL = 200
_PLACES = 48
_BYTES = 32


class Echo:
    """A protocol that answers each packet at interrupt level; ``answers`` packets, with payloads of their own, to
    the packet's sender."""

    def __init__(self, cab, answers=1):
        self.cab = cab
        self.answers = answers
        self.numbers = []  # of the packets that have come
        self.posted = 0
        self.done = []  # numbers of those that are said to have left
        self.base = cab.memory.try_allocate(_PLACES * _BYTES)
        cab.datalink.register(_PROTOCOL, self)

    def packet(self, header):
        self.header = header
        return self.base, 0

    def received(self, length, good):
        assert good and length == 0
        self.numbers.append(int.from_bytes(self.header[8:12], "big"))
        for _ in range(self.answers):
            self.post(self.header[1])
        return False

    def post(self, destination):
        number = self.posted
        self.posted += 1
        place = self.base + number % _PLACES * _BYTES
        self.cab.door.write_block(place, pattern(_BYTES, number))
        header = bytes([_PROTOCOL + 1, self.cab.id, destination, 0]) + bytes(4) + number.to_bytes(4, "big") + bytes(4)
        self.cab.datalink.post(
            self.cab.datalink.route(destination), header, [(place, _BYTES)], self.left, (number, place)
        )

    def left(self, argument):
        number, place = argument
        self.done.append(number)
        self.cab.door.write_block(place, bytes(_BYTES))


class Keeper:
    """A protocol that keeps what comes: a place of its own for each packet."""

    def __init__(self, cab, room):
        self.cab = cab
        self.base = cab.memory.try_allocate(room * _BYTES)
        self.numbers = []
        cab.datalink.register(_PROTOCOL + 1, self)

    def packet(self, header):
        self.numbers.append(int.from_bytes(header[8:12], "big"))
        return self.base + (len(self.numbers) - 1) * _BYTES, _BYTES

    def received(self, length, good):
        assert good and length == _BYTES
        return False

    async def check(self, count):
        """Waits until ``count`` have come: in order, each with its own bytes."""
        while len(self.numbers) < count:
            await self.cab.sleep(500)
        await self.cab.sleep(500)
        assert self.numbers == list(range(count))
        for number in range(count):
            assert await self.cab.memory.read(self.base + number * _BYTES, _BYTES) == pattern(_BYTES, number)
        self.cab.memory.free(self.base)


async def call(cab, destination, count, pauses):
    """A task: ``count`` packets that ask for answers."""
    for number in range(count):
        header = bytes([_PROTOCOL, cab.id, destination, 0]) + bytes(4) + number.to_bytes(4, "big") + bytes(4)
        await cab.datalink.send(cab.datalink.route(destination), header, ())
        pause = pauses.randrange(3)
        if pause:
            await cab.sleep(pauses.randrange(40 * pause))


async def settle(cab):
    await cab.sleep(20_000)


def play(boards, seed, count, answers, busy, recorded=0):
    """CAB1 asks, CAB2 answers at interrupt level while its threads do ``busy(system)``; all answers arrive whole and
    in order."""
    with simulated("hub:3", boards=boards, recorded=recorded) as system:
        asking, answering = system.cab("CAB1"), system.cab("CAB2")
        used = [cab.memory.used for cab in system.cabs]
        echo, keeper = Echo(answering, answers), Keeper(asking, count * answers)
        system.spawn("CAB1", call, 2, count, seeds.rng("post", seed))
        system.spawn("CAB1", lambda cab: keeper.check(count * answers))
        threads = busy(system)
        system.go()
        system.spawn("CAB2", settle)
        system.go()
        assert echo.numbers == list(range(count))
        assert echo.done == list(range(count * answers))
        answering.memory.free(echo.base)
        for cab in system.cabs:
            assert cab.datalink.out.quiet and not cab.datalink.out.posted
        assert [cab.memory.used for cab in system.cabs] == used
        return [thread.result for thread in threads], answering.datalink.counters


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("switching", ["packet", "circuit"])
def test_a_handler_posts_in_the_midst_of_threads_that_send(boards, seed, switching):
    """Threads with short and long messages; the list is full most of the time. Circuits keep the fiber for
    themselves."""
    messages = [pattern(seeds.rng("sizes", seed, n).choice([0, 4, 60, 1004, 3000]), n) for n in range(24)]

    def busy(system):
        for _ in range(2):
            system.spawn("CAB2", send_all, (3, 1), messages, switching)
        return [system.spawn("CAB3", receive_all, 1, 2 * len(messages))]

    (got,), counters = play(boards, seed, 60, 1, busy)
    assert sorted(got) == sorted([(2, data) for data in messages] * 2)
    assert counters.circuits == (2 * len(messages) if switching == "circuit" else 0)


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("seed", range(2))
def test_a_handler_posts_while_a_threads_writes_are_on_their_way_to_the_board(boards, seed):
    """A thread sends one short packet now and then: its code has let go of the list long before the board has all
    that it wrote."""
    areas = 8

    async def send_and_rest(cab):
        pauses = seeds.rng("rests", seed)
        block = await cab.memory.allocate(areas)
        cab.memory.write(block, pattern(areas))
        header = bytes([_PROTOCOL, 2, 3, 0]) + bytes(4)
        for number in range(200):
            await cab.sleep(pauses.randrange(1, 15))
            await cab.datalink.send(
                cab.datalink.route(3),
                header + number.to_bytes(4, "big") + bytes(4),
                [(block + index, 1) for index in range(areas)],
            )
        await cab.datalink.finish()
        cab.memory.free(block)

    class Counter(Echo):
        def packet(self, header):
            super().packet(header)
            return self.base, areas

        def received(self, length, good):
            assert good and length == areas
            self.numbers.append(int.from_bytes(self.header[8:12], "big"))
            return False

    def busy(system):
        counter = Counter(system.cab("CAB3"))

        async def count(cab):
            while len(counter.numbers) < 200:
                await cab.sleep(500)
            cab.memory.free(counter.base)
            return counter.numbers

        system.spawn("CAB2", send_and_rest)
        return [system.spawn("CAB3", count)]

    (got,), _ = play(boards, seed, 150, 1, busy)
    assert got == list(range(200))


@pytest.mark.parametrize("boards", BOARDS)
def test_posts_beyond_the_lists_room_are_kept_in_order(boards):
    """Twelve packets at once do not go into the 32 entries; they leave before what a thread sends later."""

    def busy(system):
        system.spawn("CAB2", send_all, (3, 1), [pattern(1004, n) for n in range(12)])
        return [system.spawn("CAB3", receive_all, 1, 12)]

    (got,), _ = play(boards, 0, 4, 12, busy)
    assert [data for _, data in got] == [pattern(1004, n) for n in range(12)]


def test_posting_is_the_same_when_it_is_recorded():
    def busy(system):
        system.spawn("CAB2", send_all, (3, 1), [pattern(500, n) for n in range(12)])
        return [system.spawn("CAB3", receive_all, 1, 12)]

    assert play("fast", 1, 20, 1, busy, LEVELS["all"]) == play("fast", 1, 20, 1, busy)


@pytest.mark.parametrize("boards", BOARDS)
def test_a_thread_posts_without_waiting(boards):
    """It goes on at once; a thread of the CAB's own carries what it has posted, in order."""

    async def poster(cab, echo):
        for _ in range(20):
            echo.post(1)
            assert not echo.done
        await cab.datalink.send(cab.datalink.route(3), bytes([_PROTOCOL, 2, 3, 0]) + bytes(12), ())
        while len(echo.done) < 20:
            await cab.sleep(100)

    with simulated("hub:3", boards=boards) as system:
        used = [cab.memory.used for cab in system.cabs]
        echo, keeper, last = Echo(system.cab("CAB2")), Keeper(system.cab("CAB1"), 20), Echo(system.cab("CAB3"), 0)
        system.spawn("CAB2", poster, echo)
        system.spawn("CAB1", lambda cab: keeper.check(20))
        system.go()
        assert echo.done == list(range(20)) and last.numbers == [0]
        for protocol in (echo, last):
            protocol.cab.memory.free(protocol.base)
        assert [cab.memory.used for cab in system.cabs] == used


class Taker:
    """A protocol that takes packets of 900 bytes, and keeps none."""

    def __init__(self, cab):
        self.place = cab.memory.try_allocate(900)
        cab.datalink.register(_PROTOCOL + 2, self)

    def packet(self, header):
        return self.place, 900

    def received(self, length, good):
        assert good and length == 900
        return False


@pytest.mark.parametrize("boards", BOARDS)
def test_what_is_posted_when_a_packet_has_left_goes_only_where_there_is_room(boards):
    """Seven long packets leave four of the list's entries free; each posts three more when it has left."""

    async def poster(cab, echo):
        def more(_):
            for _ in range(3):
                echo.post(1)

        block = await cab.memory.allocate(900)
        for _ in range(7):
            header = bytes([_PROTOCOL + 2, cab.id, 3, 0]) + bytes(12)
            cab.datalink.post(cab.datalink.route(3), header, [(block, 900)], more)
        await cab.sleep(20)
        while len(echo.done) < 21:
            await cab.datalink.finish()
            await cab.sleep(1)
        cab.memory.free(block)

    with simulated("hub:3", boards=boards) as system:
        used = [cab.memory.used for cab in system.cabs]
        echo, keeper, taker = Echo(system.cab("CAB2")), Keeper(system.cab("CAB1"), 21), Taker(system.cab("CAB3"))
        system.spawn("CAB2", poster, echo)
        system.spawn("CAB1", lambda cab: keeper.check(21))
        system.go()
        assert echo.done == list(range(21))
        echo.cab.memory.free(echo.base)
        system.cab("CAB3").memory.free(taker.place)
        assert [cab.memory.used for cab in system.cabs] == used


def test_a_post_that_could_never_be_written_is_refused():
    with simulated() as system:
        cab = system.cab("CAB1")
        with pytest.raises(MessageTooLong, match="33 hops and areas do not go into the 32 entries"):
            cab.datalink.post(cab.datalink.route(2), bytes(16), [(cab.memory.base, 1)] * 30)
        assert not cab.datalink.out.posted


@pytest.mark.parametrize("boards", BOARDS)
def test_a_packet_may_be_stored_in_several_areas(boards):
    """The upcall names a list of areas, filled in order: a ring's end and its beginning, say."""

    class Scatter(Keeper):
        def packet(self, header):
            return [(self.base + 3, 5), (self.base + 40, 7), (self.base + 20, 900)]

        def received(self, length, good):
            self.numbers.append((length, good))
            return False

    async def send(cab, area):
        header = bytes([_PROTOCOL + 1, 1, 2, 0]) + bytes(12)
        await cab.datalink.send(cab.datalink.route(2), header, [area])

    async def check(cab, keeper):
        while not keeper.numbers:
            await cab.sleep(100)
        return await cab.memory.read(keeper.base, 64)

    with simulated(boards=boards) as system:
        keeper, cab = Scatter(system.cab("CAB2"), 40), system.cab("CAB1")
        block = cab.memory.try_allocate(32)
        data = pattern(20)

        async def main(cab):
            cab.memory.write(block, data)
            await send(cab, (block, 20))

        system.spawn("CAB1", main)
        reader = system.spawn("CAB2", check, keeper)
        system.go()
        assert keeper.numbers == [(20, True)]
        assert reader.result[3:8] + reader.result[40:47] + reader.result[20:28] == data


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("size", [0, 4, 1004])
def test_a_packet_may_be_dropped_and_yet_be_checked(boards, size):
    """``Answer.CHECK``: nothing is stored, and ``received`` tells whether all of it came without an error."""

    class Checker(Keeper):
        def packet(self, header):
            return Answer.CHECK

        def received(self, length, good):
            self.numbers.append((length, good))
            return False

    async def main(cab):
        block = await cab.memory.allocate(1024)
        header = bytes([_PROTOCOL + 1, 1, 2, 0]) + bytes(12)
        await cab.datalink.send(cab.datalink.route(2), header, [(block, size)])
        await cab.datalink.finish()
        await cab.sleep(200)

    with simulated(boards=boards) as system:
        checker = Checker(system.cab("CAB2"), 1)
        system.spawn("CAB1", main)
        system.go()
        assert checker.numbers == [(0, True)]
        assert checker.cab.datalink.counters.too_long == 0
