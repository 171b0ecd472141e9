"""Mailboxes: messages in place, bounds, closing, upcalls (docs/kernel.md); against a simple model, by properties."""

import hypothesis
import hypothesis.strategies as st
import pytest

from nectar.software.door import Door
from nectar.software.errors import MailboxClosed, MailboxFull, MessageTooLong, OutOfMemory, ThreadEnded, TimedOut
from nectar.software.kernel.kernel import Kernel
from nectar.software.kernel.mailbox import Mailbox
from nectar.software.kernel.memory import Memory
from nectar.software.kernel.message import Message
from nectar.verification.properties import properties

from .helpers import BOARDS, nothing_leaks, run_task, simulated

SIZE = 1 << 14


def message(cab, number=0, length=0):
    return Message(
        cab.memory, cab.memory.try_allocate(length) if length else None, length, source=cab.id, number=number
    )


# -- against a model, without threads -----------------------------------------------------------------


class Reference:
    """A mailbox as a list: (number, bytes); places that are kept, by number."""

    def __init__(self, capacity, capacity_bytes):
        self.capacity, self.capacity_bytes = capacity, capacity_bytes
        self.messages, self.kept, self.closed, self.refused = [], {}, False, 0

    def fits(self, length):
        total = sum(size for _, size in self.messages) + sum(self.kept.values())
        return (
            not self.closed
            and len(self.messages) + len(self.kept) < self.capacity
            and (self.capacity_bytes is None or total + length <= self.capacity_bytes)
        )


LENGTHS = st.sampled_from([0, 1, 31, 32, 33, 500, 1024, 3000])
IN = st.tuples(st.sampled_from(["reserve", "reserve", "put", "keep"]), LENGTHS)
DONE = st.tuples(
    st.sampled_from(["commit", "commit", "arrive", "release"]), st.integers(0, 5), st.sampled_from([None, 0, 1, 30])
)
OUT = st.tuples(st.sampled_from(["take", "take odd"]))
STEPS = st.one_of(IN, DONE, OUT, st.tuples(st.sampled_from(["open", "open", "open", "open", "close"])))


@properties(max_examples=200)
@hypothesis.given(st.integers(1, 4), st.sampled_from([None, 0, 40, 1500]), st.lists(STEPS, min_size=5, max_size=60))
def test_every_sequence_of_calls_does_what_a_list_would(capacity, capacity_bytes, steps):
    kernel = Kernel(Door(16_000_000))
    memory = Memory(kernel, SIZE)
    box, reference = Mailbox(kernel, 1, capacity, capacity_bytes), Reference(capacity, capacity_bytes)
    pending, count = {}, 0
    for step, *values in steps:
        count += 1
        if step == "reserve":
            letter = box.try_reserve(values[0], number=count)
            room = reference.fits(values[0])
            assert letter is None or room and letter.reserved and letter.length == values[0]
            if letter is not None:
                reference.kept[count] = values[0]
                pending[count] = letter
            elif room:
                assert memory.try_allocate(values[0]) is None, "there was room, and memory"
        elif step == "keep":
            kept = box.keep(values[0])
            assert kept == reference.fits(values[0])
            if kept:
                box.unkeep(values[0])
        elif step == "put":
            address = memory.try_allocate(values[0]) if values[0] else None
            if values[0] and address is None:
                continue
            letter = Message(memory, address, values[0], 0, count)
            if reference.closed:
                with pytest.raises(MailboxClosed):
                    box.try_put(letter)
                done = False
            else:
                done = box.try_put(letter)
                assert done == reference.fits(values[0])
            if done:
                reference.messages.append((count, values[0]))
            else:
                letter.free()
        elif step in ("commit", "arrive", "release") and pending:
            number = sorted(pending)[values[0] % len(pending)]
            letter = pending.pop(number)
            size = reference.kept.pop(number)
            if step == "release":
                box.release(letter)
            elif reference.closed:
                reference.refused += 1
                if step == "commit":
                    with pytest.raises(MailboxClosed):
                        box.commit(letter)
                else:
                    assert not box.arrive(letter)
            elif step == "commit":
                length = size if values[1] is None else min(values[1], size)
                box.commit(letter, length)
                reference.messages.append((number, length))
            else:
                assert box.arrive(letter)
                reference.messages.append((number, size))
        elif step in ("take", "take odd"):
            match = None if step == "take" else lambda each: each.number % 2
            if reference.closed:
                with pytest.raises(MailboxClosed):
                    box.try_take(match)
                continue
            letter = box.try_take(match)
            wanted = next((item for item in reference.messages if step == "take" or item[0] % 2), None)
            assert (None if letter is None else (letter.number, letter.length)) == wanted
            if wanted:
                reference.messages.remove(wanted)
                letter.free()
        elif step == "close":
            box.close()
            reference.closed, reference.messages = True, []
        elif step == "open":
            box.open()
            reference.closed = False
        assert (
            len(box) == len(reference.messages)
            and box.reserved == len(reference.kept)
            and box.closed == reference.closed
        )
        assert box.closed or box.full == (not reference.fits(0))
        assert box.refused == reference.refused
    for letter in pending.values():
        letter.free()
    box.close()
    assert memory.used == 0 and box.reserved == 0


# -- with threads -------------------------------------------------------------------------------------

WRITER = st.lists(st.tuples(st.sampled_from(["put", "reserve"]), LENGTHS, st.sampled_from([0, 5, 60])), max_size=8)
READER = st.tuples(st.sampled_from([None, 0, 1]), st.sampled_from([0, 20, 100]), st.sampled_from([None, 30, 400]))


@properties(max_examples=40)
@hypothesis.given(
    st.integers(1, 3),
    st.sampled_from([None, 3000, 7000]),
    st.lists(WRITER, min_size=1, max_size=3),
    st.lists(READER, max_size=3),
)
def test_what_goes_in_comes_out_once_and_in_order_whoever_is_ended_or_times_out(
    capacity, capacity_bytes, writers, readers
):
    """Some readers are picky, time out, or are ended; at last one takes what is left."""

    async def writer(cab, box, base, plan, log):
        for number, (how, length, pause) in enumerate(plan, base):
            if how == "put":
                await box.put(message(cab, number, length))
            else:
                letter = await box.reserve(length)
                letter.number = number
                box.commit(letter)
            log.append(number)
            await cab.sleep(pause)

    async def reader(cab, box, rest, pause, timeout_us, log):
        while True:
            try:
                letter = await box.take(None if rest is None else lambda each: each.number % 2 == rest, timeout_us)
            except TimedOut:
                continue
            log.append(letter.number)
            letter.free()
            await cab.sleep(pause)

    async def main(cab):
        box = Mailbox(cab.kernel, 9, capacity, capacity_bytes)
        put, logs = [], [[] for _ in readers]
        wanted = sorted(
            number for base, plan in enumerate(writers) for number in range(100 * base, 100 * base + len(plan))
        )
        threads = [cab.spawn(writer, box, 100 * base, plan, put) for base, plan in enumerate(writers)]
        others = [cab.spawn(reader, box, *plan, log) for plan, log in zip(readers, logs)]
        await cab.sleep(500)
        for thread in others:
            thread.end()
        rest = []
        last = cab.spawn(reader, box, None, 0, 50, rest)
        for thread in threads:
            await thread.join(timeout_us=200_000)
        await cab.sleep(5000)
        last.end()
        await cab.sleep(500)
        assert all(isinstance(thread.error, ThreadEnded) for thread in [*others, last])
        assert len(box) == box.reserved == box.readers == box.writers == 0
        assert sorted(put) == wanted == sorted(sum(logs, rest))
        for log in [rest, *logs]:
            for base in range(len(writers)):
                own = [number for number in log if number // 100 == base]
                assert own == sorted(own)

    run_task(main)


# -- one by one ---------------------------------------------------------------------------------------


def test_a_message_is_filled_in_place_and_never_copied():
    async def main(cab):
        box = cab.mailbox(1)
        letter = await box.reserve(100)
        place = letter.address
        letter.write(b"hello", 10)
        assert len(box) == 0 and box.reserved == 1
        box.commit(letter, 15)
        taken = await box.take()
        assert taken is letter and taken.address == place and taken.length == 15 and taken.source == cab.id
        assert await taken.read(10) == b"hello"
        for wrong in (lambda: letter.write(b"x", 15), lambda: letter.write(b"x", -1), lambda: box.commit(letter)):
            with pytest.raises(ValueError):
                wrong()
        box.release(taken)
        with pytest.raises(ValueError, match="freed"):
            letter.write(b"x")
        other = await box.reserve(10)
        with pytest.raises(ValueError, match="cannot be committed with 11"):
            box.commit(other, 11)
        with pytest.raises(ValueError, match="was not reserved in mailbox 2"):
            cab.mailbox(2).commit(other)
        other.free()
        assert box.reserved == 0

    run_task(main)


def test_a_full_mailbox_and_messages_that_never_fit_have_errors_of_their_own():
    async def main(cab):
        box = Mailbox(cab.kernel, 1, 2, 1000)
        first, second = await box.reserve(600), await box.reserve(300)
        for call in (
            box.reserve(10, timeout_us=50),
            box.put(message(cab), timeout_us=50),
            box.reserve(10, timeout_us=0),
        ):
            with pytest.raises(MailboxFull, match="0 messages wait in it, 2 places are kept"):
                await call
        second.free()
        assert box.try_reserve(500) is None and not box.try_put(Message(cab.memory, None, 500))
        letter = await box.reserve(400, timeout_us=50)
        letter.free()
        first.free()
        for call in (box.reserve(1001), box.put(Message(cab.memory, None, 1001)), box.reserve(1001, timeout_us=0)):
            with pytest.raises(MessageTooLong, match="holds 1000 bytes, not 1001"):
                await call
        with pytest.raises(OutOfMemory, match="1048576 bytes of data memory, not 1048577"):
            await cab.mailbox(2).reserve((1 << 20) + 1)

    run_task(main)


def test_a_message_that_comes_back_counts_again():
    async def reader(cab, box):
        await box.take()

    async def main(cab):
        box = Mailbox(cab.kernel, 1, 10, 1000)
        thread = cab.spawn(reader, box)
        await cab.sleep(100)
        box.commit(await box.reserve(600))
        thread.end()
        assert len(box) == 1 and box.try_reserve(500) is None
        (await box.take()).free()
        letter = await box.reserve(1000)
        box.commit(letter, 300)
        box.release(await box.reserve(700))
        (await box.take()).free()

    run_task(main)


def test_a_small_message_does_not_overtake_a_large_one_that_waits():
    async def writer(cab, box, length):
        box.commit(await box.reserve(length))

    async def main(cab):
        box = Mailbox(cab.kernel, 1, 10, 1000)
        box.commit(await box.reserve(600))
        threads = [cab.spawn(writer, box, length) for length in (700, 10)]
        await cab.sleep(200)
        assert box.try_reserve(10) is None and box.writers == 2
        lengths = []
        for _ in range(3):
            letter = await box.take()
            lengths.append(letter.length)
            letter.free()
        for thread in threads:
            await thread.join()
        return lengths

    assert run_task(main) == [600, 700, 10]


def test_a_writer_that_gives_up_lets_a_smaller_one_in():
    async def main(cab):
        box = Mailbox(cab.kernel, 1, 10, 1000)
        kept = await box.reserve(600)
        large, small = cab.spawn(reserve, box, 700), cab.spawn(reserve, box, 10)
        await cab.sleep(200)
        assert not small.ended
        large.end()
        await small.join(timeout_us=1000)
        kept.free()

    async def reserve(cab, box, length):
        (await box.reserve(length)).free()

    run_task(main)


def test_closing_ends_all_waits_and_refuses_what_comes():
    async def run(cab, call):
        with pytest.raises(MailboxClosed, match="mailbox 5 of CAB1 is closed: open it again"):
            await call

    async def main(cab):
        box = cab.mailbox(5)
        readers = [cab.spawn(run, box.take()), cab.spawn(run, box.take(lambda each: False, 5000))]
        await cab.sleep(100)
        box.close()
        for thread in readers:
            await thread.join()
        box.open()
        box.capacity = 2
        await box.put(message(cab, 0, 100))
        kept = await box.reserve(50)
        writers = [cab.spawn(run, call) for call in (box.put(message(cab)), box.reserve(10), box.reserve(10, 5000))]
        await cab.sleep(100)
        box.close()
        for thread in writers:
            await thread.join()
        assert len(box) == 0 and box.reserved == 1 and box.refused == 0
        with pytest.raises(MailboxClosed):
            box.commit(kept)
        assert box.reserved == 0 and box.refused == 1
        for call in (box.take(), box.put(message(cab)), box.reserve(1)):
            with pytest.raises(MailboxClosed):
                await call
        assert box.try_reserve(1) is None and not box.keep(1) and box.refuses(1) and box.refused == 2
        box.open()
        await box.put(message(cab, 7))
        assert (await box.take()).number == 7

    run_task(main)


def test_a_message_that_its_reader_did_not_take_is_freed_if_the_mailbox_is_closed_meanwhile():
    async def reader(cab, box):
        await box.take()

    async def main(cab):
        box = cab.mailbox(5)
        thread = cab.spawn(reader, box)
        await cab.sleep(100)
        await box.put(message(cab, 0, 500))
        box.close()
        thread.end()
        await cab.sleep(100)
        assert box.refused == 1

    run_task(main)


@pytest.mark.parametrize("boards", BOARDS)
def test_an_upcall_gets_messages_in_place_of_a_reader_at_interrupt_level(boards):
    async def sender(cab):
        for number in range(6):
            await cab.datagram.send((1, 4), bytes([number]) * 100)

    async def main(cab):
        box, seen = cab.mailbox(4), []

        def arrival(letter):
            seen.append((letter.number, letter.length))
            if letter.number % 2:
                return False
            letter.free()
            return True

        box.on_arrival = arrival
        await cab.sleep(3000)
        rest = []
        for _ in range(3):
            letter = await box.take()
            rest.append(letter.number)
            letter.free()
        box.on_arrival = None
        assert seen == [(number, 100) for number in range(6)] and rest == [1, 3, 5]
        box.on_arrival = lambda letter: False
        box.try_put(message(cab, 9))
        assert (await box.take()).number == 9

    with simulated(boards=boards) as system, nothing_leaks(system):
        system.spawn("CAB1", main)
        system.spawn("CAB2", sender)
        system.go()


@pytest.mark.parametrize("boards", BOARDS)
def test_datagrams_are_held_in_front_of_a_full_mailbox_then_dropped_and_dropped_at_once_where_they_never_fit(boards):
    async def sender(cab, mailbox, length):
        for _ in range(2):
            await cab.datagram.send((1, mailbox), bytes(length))

    async def main(cab):
        for letter in [await cab.mailbox(4).take() for _ in range(1)]:
            letter.free()

    with simulated(boards=boards) as system, nothing_leaks(system):
        cab = system.cab("CAB1")
        cab.mailbox(4).capacity = 1
        cab.mailbox(5).capacity_bytes = 1000
        system.spawn("CAB2", sender, 4, 100)
        system.spawn("CAB2", wait, 20_000)
        system.go()
        assert cab.datalink.counters.held == cab.datalink.counters.hold_expired == 1 and len(cab.mailbox(4)) == 1
        system.spawn("CAB2", sender, 5, 1001)
        system.spawn("CAB2", wait, 5_000)
        system.go()
        assert cab.datagram.counters.refused == cab.mailbox(5).refused == 2 and cab.datalink.counters.held == 1
        system.spawn("CAB1", main)
        system.go()


async def wait(cab, microseconds):
    await cab.sleep(microseconds)
