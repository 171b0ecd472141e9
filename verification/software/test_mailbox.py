"""Mailboxes: section 6.1, fact S3: FIFO for one reader and writer; several of both; out-of-order reads; bounded."""

import pytest

from nectar.software.kernel.mailbox import Mailbox
from nectar.software.kernel.message import Message
from nectar.verification import seeds

from .helpers import run_task


def message(cab, number):
    return Message(cab.memory, None, 0, source=cab.id, number=number)


async def _reader(cab, box, count, log, pause=0):
    for _ in range(count):
        log.append((await box.receive()).number)
        if pause:
            await cab.sleep(pause)


def test_one_reader_gets_what_one_writer_put_in_order():
    async def main(cab):
        box, log = cab.mailbox(1), []
        thread = cab.spawn(_reader, box, 50, log)
        for number in range(50):
            await box.put(message(cab, number))
            if number % 7 == 0:
                await cab.pause()
        await thread.join()
        assert len(box) == 0
        return log

    assert run_task(main) == list(range(50))


@pytest.mark.parametrize("capacity", [1, 2, 5])
def test_writers_wait_while_it_is_full_and_nothing_is_lost_or_doubled(capacity):
    async def writer(cab, box, numbers):
        for number in numbers:
            await box.put(message(cab, number))

    async def main(cab):
        box, log = Mailbox(cab.kernel, 9, capacity), []
        threads = [cab.spawn(writer, box, range(start, start + 20)) for start in (0, 100, 200)]
        threads += [cab.spawn(_reader, box, 30, log, pause) for pause in (3, 8)]
        for thread in threads:
            await thread.join()
        assert not box.full and len(box) == 0
        return log

    log = run_task(main)
    assert sorted(log) == [*range(20), *range(100, 120), *range(200, 220)]
    for start in (0, 100, 200):
        own = [number for number in log if start <= number < start + 20]
        assert own == sorted(own)


def test_readers_that_wait_are_served_in_their_order():
    async def main(cab):
        box, logs = cab.mailbox(2), []
        threads = []
        for _ in range(4):
            logs.append([])
            threads.append(cab.spawn(_reader, box, 1, logs[-1]))
        await cab.sleep(200)
        for number in range(4):
            assert box.try_put(message(cab, number))
        for thread in threads:
            await thread.join()
        return logs

    assert run_task(main) == [[0], [1], [2], [3]]


def test_out_of_order_reads_leave_the_others_in_order():
    async def main(cab):
        box = cab.mailbox(3)
        for number in range(8):
            await box.put(message(cab, number))
        odd = [(await box.receive(lambda each: each.number % 2)).number for _ in range(4)]
        assert box.try_receive(lambda each: each.number > 100) is None
        rest = [(await box.receive()).number for _ in range(4)]
        assert box.try_receive() is None
        return odd, rest

    assert run_task(main) == ([1, 3, 5, 7], [0, 2, 4, 6])


def test_a_reader_that_wants_another_message_lets_this_one_pass():
    async def picky(cab, box):
        return (await box.receive(lambda each: each.number == 5)).number

    async def main(cab):
        box, log = cab.mailbox(4), []
        first = cab.spawn(picky, box)
        second = cab.spawn(_reader, box, 2, log)
        await cab.sleep(100)
        for number in (4, 5, 6):
            await box.put(message(cab, number))
        await second.join()
        return await first.join(), log

    assert run_task(main) == (5, [4, 6])


def test_a_place_that_is_kept_counts_as_taken():
    async def main(cab):
        box = Mailbox(cab.kernel, 5, capacity=2)
        kept = box.try_reserve(0, number=3)
        assert kept.reserved and box.reserved == 1 and box.try_put(message(cab, 1)) and box.full
        assert box.try_reserve(0) is None and not box.try_put(message(cab, 2))
        assert box.arrive(kept)
        assert len(box) == 2 and box.full and not box.reserved
        assert [(await box.receive()).number for _ in range(2)] == [1, 3]
        box.release(box.try_reserve(0))
        assert not box.full and len(box) == 0

    run_task(main)


def test_a_place_given_back_lets_a_writer_go_on():
    async def writer(cab, box):
        await box.put(message(cab, 1))
        return "put"

    async def main(cab):
        box = Mailbox(cab.kernel, 6, capacity=1)
        kept = box.try_reserve(0)
        thread = cab.spawn(writer, box)
        await cab.sleep(50)
        assert not thread.ended
        kept.free()
        return await thread.join()

    assert run_task(main) == "put"


@pytest.mark.parametrize("seed", range(4))
def test_random_readers_and_writers(seed):
    """Reference: what was put comes out once, and in order for each writer."""
    print("seed", seed)
    rng = seeds.rng(seed)

    async def writer(cab, box, base, count):
        for number in range(count):
            await box.put(message(cab, base + number))
            if rng.random() < 0.3:
                await cab.sleep(rng.randrange(40))

    async def reader(cab, box, count, log):
        for _ in range(count):
            if rng.random() < 0.3:
                await cab.sleep(rng.randrange(40))
            log.append((await box.receive()).number)

    async def main(cab):
        box = Mailbox(cab.kernel, 7, rng.randrange(1, 6))
        counts = [rng.randrange(5, 30) for _ in range(3)]
        logs = [[], []]
        total = sum(counts)
        share = rng.randrange(total)
        threads = [cab.spawn(writer, box, 1000 * index, count) for index, count in enumerate(counts)]
        threads += [cab.spawn(reader, box, count, log) for count, log in zip((share, total - share), logs)]
        for thread in threads:
            await thread.join()
        return counts, logs

    counts, logs = run_task(main)
    assert sorted(logs[0] + logs[1]) == [
        1000 * index + number for index, count in enumerate(counts) for number in range(count)
    ]
    for log in logs:
        for index in range(3):
            own = [number for number in log if number // 1000 == index]
            assert own == sorted(own)


def test_wrong_numbers_and_capacities_are_refused():
    async def main(cab):
        for number in (-1, 65536):
            with pytest.raises(ValueError, match="0 to 65535"):
                cab.mailbox(number)
        with pytest.raises(ValueError, match="at least 1"):
            Mailbox(cab.kernel, 1, 0)
        assert cab.mailbox(65535) is cab.mailbox(65535)

    run_task(main)


def test_a_message_can_be_read_in_parts_until_it_is_freed():
    async def main(cab):
        used = cab.memory.used
        address = await cab.memory.allocate(10)
        cab.memory.write(address, b"0123456789")
        letter = Message(cab.memory, address, 10)
        assert await letter.read() == b"0123456789" and len(letter) == 10
        assert await letter.read(3) == b"3456789"
        assert await letter.read(3, 2) == b"34"
        assert await letter.read(10) == b""
        for offset, length in ((5, 6), (-1, 2), (0, -1)):
            with pytest.raises(ValueError, match="has no"):
                await letter.read(offset, length)
        letter.free()
        assert cab.memory.used == used
        with pytest.raises(ValueError, match="freed"):
            letter.free()
        with pytest.raises(ValueError, match="freed"):
            await letter.read()
        empty = Message(cab.memory, None, 0)
        assert await empty.read() == b""
        empty.free()

    run_task(main)
