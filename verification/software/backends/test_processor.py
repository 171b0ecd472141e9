"""The processor against docs/door.md: which edge each operation begins and ends at, the bus, interrupts, sleep."""

import pytest

from nectar.software.backends.processor import FOREVER
from nectar.verification import seeds

from .bus import Board, processor_of, run


def test_spend_fetched_at_an_edge_ends_that_many_edges_later():
    async def main(door, log):
        log.append(await door.now())
        door.spend(0)
        log.append(await door.now())
        door.spend(7)
        door.spend(1)
        log.append(await door.now())

    processor, _, log = run(main)
    assert log == [0, 0, 8]
    assert processor.ended


def test_an_access_ends_when_its_response_is_sampled():
    """A request driven after edge 0 is taken at edge 1, and answered at edge 4: the next begins there."""

    async def main(door, log):
        door.write(0x10, 0x01020304)
        log.append(await door.now())
        log.append(await door.read(0x10))
        log.append(await door.now())

    _, board, log = run(main)
    assert log == [4, 0x01020304, 8]
    assert [at for at, _ in board.taken] == [1, 5]


def test_a_block_drives_its_next_word_as_soon_as_the_one_before_is_taken():
    async def main(door, log):
        log.append(await door.read_block(0x20, 32))
        log.append(await door.now())

    _, board, log = run(main)
    assert [at for at, _ in board.taken] == list(range(1, 9))
    assert log == [bytes(32), 11]


def test_a_request_holds_until_it_is_taken():
    waits = iter([False, False, False, True])

    async def main(door, log):
        log.append(await door.read(0x20))
        log.append(await door.now())

    _, board, log = run(main, ready=lambda: next(waits, True))
    assert [at for at, _ in board.taken] == [3]
    assert log == [0, 6]


@pytest.mark.parametrize("seed", range(5))
def test_blocks_and_sizes_of_any_alignment_reach_the_right_bytes(seed):
    """Reference: a bytearray. The board takes requests at random edges."""
    print("seed", seed)
    rng = seeds.rng(seed)
    mirror = bytearray(4096)

    async def main(door, log):
        for _ in range(60):
            choice = rng.randrange(4)
            if choice < 2:
                start, length = rng.randrange(4000), rng.randrange(40)
                if choice:
                    data = rng.randbytes(length)
                    mirror[start : start + length] = data
                    door.write_block(start, data)
                else:
                    log.append((await door.read_block(start, length), bytes(mirror[start : start + length])))
                continue
            size = rng.choice([1, 2, 4])
            start = rng.randrange(4000) // size * size
            if choice == 2:
                value = rng.randrange(256**size)
                mirror[start : start + size] = value.to_bytes(size, "big")
                door.write(start, value, size)
            else:
                log.append((await door.read(start, size), int.from_bytes(mirror[start : start + size], "big")))

    processor, board, log = run(main, edges=4000, ready=lambda: rng.random() < 0.7)
    assert processor.ended and len(log) > 10
    assert all(got == expected for got, expected in log)
    assert board.memory == mirror


def test_an_interrupt_stops_a_spend_which_then_continues_with_what_remains():
    async def main(door, log):
        door.spend(10)
        log.append(await door.now())

    async def handler(door, log):
        door.spend(5)
        log.append(("handler", await door.now()))

    processor, log = processor_of(main, handler)
    board = Board()
    board.irq = {4}
    board.run(processor, 30)
    assert log == [("handler", 9), 15]


def test_an_access_under_way_is_never_interrupted():
    async def main(door, log):
        log.append(await door.read(0x10))
        log.append("resumed")
        door.spend(1)
        await door.now()

    async def handler(door, log):
        log.append(("handler", await door.now()))

    processor, log = processor_of(main, handler)
    board = Board()
    board.irq = {2, 3, 4}
    board.run(processor, 30)
    assert log == [0, "resumed", ("handler", 4)]


def test_the_line_is_looked_at_again_only_in_the_edge_after_a_handler():
    async def main(door, log):
        for _ in range(3):
            door.spend(0)
        log.append(("main", await door.now()))
        door.spend(3)
        await door.now()

    async def handler(door, log):
        log.append(("handler", await door.now()))

    processor, log = processor_of(main, handler)
    board = Board()
    board.irq = {0, 1}
    board.run(processor, 10)
    assert log == [("handler", 0), ("main", 0), ("handler", 1)]


def test_masked_interrupts_wait_until_they_are_let_in():
    async def main(door, log):
        door.mask()
        door.spend(5)
        door.unmask()
        door.spend(5)
        log.append(("main", await door.now()))

    async def handler(door, log):
        log.append(("handler", await door.now()))

    processor, log = processor_of(main, handler)
    board = Board()
    board.irq = set(range(1, 6))
    board.run(processor, 30)
    assert log == [("handler", 5), ("main", 10)]


def test_wait_ends_when_the_next_handler_has_returned():
    async def main(door, log):
        await door.wait()
        log.append(("main", await door.now()))

    async def handler(door, log):
        door.spend(3)
        log.append("handler")

    processor, log = processor_of(main, handler)
    board = Board()
    board.irq = {7}
    board.run(processor, 5)
    assert processor.asleep and not processor.ended and processor.sleeps(False) == FOREVER
    board.run(processor, 15)
    assert log == ["handler", ("main", 10)]


def test_wait_ends_at_once_if_a_handler_has_run_since_the_software_was_resumed():
    async def main(door, log):
        await door.now()
        door.spend(5)
        await door.wait()
        log.append(("main", await door.now()))
        await door.wait()
        log.append("never")

    async def handler(door, log):
        log.append("handler")

    processor, log = processor_of(main, handler)
    board = Board()
    board.irq = {2}
    board.run(processor, 30)
    assert log == ["handler", ("main", 5)]


def test_a_handler_that_returns_true_ends_no_wait():
    async def main(door, log):
        await door.wait()
        log.append(("main", await door.now()))
        door.spend(10)
        await door.wait()
        log.append(("main", await door.now()))

    async def handler(door, log):
        log.append(("handler", await door.now()))
        return len(log) in (1, 4)

    processor, log = processor_of(main, handler)
    board = Board()
    board.irq = {3, 7, 12, 40}
    board.run(processor, 50)
    assert log == [("handler", 3), ("handler", 7), ("main", 7), ("handler", 12), ("handler", 40), ("main", 40)]


def test_close_runs_what_the_software_wants_done_at_its_end():
    async def main(door, log):
        try:
            await door.wait()
        finally:
            log.append("closed")

    processor, log = processor_of(main)
    Board().run(processor, 3)
    processor.close()
    processor.close()
    assert log == ["closed"] and processor.ended


@pytest.mark.parametrize("seed", range(8))
def test_edges_may_be_left_out_as_sleeps_says(seed):
    """The same software on the same board, once with every edge and once with sleep: the same log."""
    print("seed", seed)

    async def main(door, log):
        rng = seeds.rng(seed)
        for _ in range(40):
            door.spend(rng.randrange(30))
            choice = rng.randrange(6)
            if choice == 0:
                await door.wait()
            elif choice == 1:
                door.write(rng.randrange(1000) * 4, 5)
            elif choice == 2:
                await door.read_block(rng.randrange(1000), 9)
            elif choice == 3:
                door.mask()
                door.spend(9)
                door.unmask()
            log.append(await door.now())

    async def handler(door, log):
        door.spend(6)
        log.append(("handler", await door.now()))

    def history(lazy):
        rng = seeds.rng(seed + 100)
        processor, log = processor_of(main, handler)
        board = Board()
        edges = 0
        for _ in range(30):
            edges += rng.randrange(5, 60)
            board.irq |= set(range(edges, edges + 4))
        while processor.edges < 2000:
            board.run(processor, 1)
            if lazy:
                irq = processor.edges in board.irq
                left = min(processor.sleeps(irq), 2000 - processor.edges)
                while left > 0 and (processor.edges in board.irq) == irq:
                    processor.skip(1)
                    left -= 1
        processor.close()
        return log

    eager = history(False)
    assert len(eager) > 40 and eager == history(True)


def test_wake_ends_a_wait_now_or_when_it_comes():
    async def main(door, log):
        for _ in range(2):
            await door.wait()
            log.append(await door.now())
            door.spend(4)

    processor, log = processor_of(main)
    board = Board()
    board.run(processor, 5)
    processor.wake()
    assert not processor.asleep and processor.sleeps(False) == 0
    board.run(processor, 2)
    assert log == [5]
    processor.wake()
    board.run(processor, 10)
    assert log == [5, 9] and processor.ended


def test_supervisor_mode_holds_from_where_it_was_set_and_handlers_are_the_kernels_always():
    async def main(door, log):
        door.write(0x10, 1)
        door.supervise(True)
        door.write(0x14, 1)
        door.write_block(0x20, bytes(8))
        door.supervise(False)
        door.spend(30)
        log.append(await door.read(0x18))

    async def handler(door, log):
        door.write(0x1C, 1)

    processor, _ = processor_of(main, handler)
    board = Board()
    board.irq = {25}
    board.run(processor, 200)
    modes = [(request.address, request.kernel) for _, request in board.taken]
    assert modes == [(0x10, False), (0x14, True), (0x20, True), (0x24, True), (0x1C, True), (0x18, False)]
