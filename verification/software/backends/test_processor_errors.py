"""The processor against docs/door.md: errors of the bus, of the software, and of whoever drives it."""

import pytest

from nectar.software.door import BusError

from .bus import Board, processor_of, run


def test_a_bus_error_of_a_store_comes_at_the_next_await_which_is_not_done():
    async def main(door, log):
        door.write(0x40, 1)
        door.write(0x44, 2)
        try:
            await door.wait()
        except BusError as error:
            log.append((error.address, error.write))
        log.append(await door.read(0x44))

    _, board, log = run(main, bad=[0x40])
    assert log == [(0x40, True), 2]
    assert len(board.taken) == 3


def test_a_bus_error_of_a_load_is_raised_by_it():
    async def main(door, log):
        for size, load in ((1, door.read(0x42, 1)), (20, door.read_block(0x39, 20))):
            try:
                await load
            except BusError as error:
                log.append((size, error.address, error.write))

    _, _, log = run(main, bad=[0x40])
    assert log == [(1, 0x42, False), (20, 0x40, False)]


def test_errors_of_the_two_levels_are_kept_apart():
    async def main(door, log):
        door.write(0x40, 1)
        door.spend(10)
        try:
            await door.now()
        except BusError as error:
            log.append(("main", error.address))

    async def handler(door, log):
        log.append(("handler", await door.now()))

    processor, log = processor_of(main, handler)
    board = Board(bad=[0x40])
    board.irq = {6}
    board.run(processor, 30)
    assert log == [("handler", 6), ("main", 0x40)]


@pytest.mark.parametrize("level", ["main", "handler"])
def test_a_bus_error_with_no_await_left_reaches_the_caller(level):
    async def store(door, log):
        door.write(0x40, 1)

    async def sleep(door, log):
        await door.wait()

    processor, _ = processor_of(store if level == "main" else sleep, store)
    board = Board(bad=[0x40])
    board.irq = {2} if level == "handler" else set()
    with pytest.raises(BusError, match="0x000040"):
        board.run(processor, 30)


def test_a_handler_that_waits_is_refused():
    async def main(door, log):
        await door.wait()

    async def handler(door, log):
        await door.wait()

    processor, _ = processor_of(main, handler)
    board = Board()
    board.irq = {2}
    with pytest.raises(RuntimeError, match="cannot wait"):
        board.run(processor, 30)
    processor.close()


def test_an_answer_that_nobody_asked_for_is_an_error():
    async def main(door, log):
        await door.read(0)

    processor, _ = processor_of(main)
    processor.edge()
    with pytest.raises(RuntimeError, match="not taken"):
        processor.edge(done=True)
    processor.close()

    async def ends(door, log):
        await door.now()

    processor, _ = processor_of(ends)
    processor.edge()
    with pytest.raises(RuntimeError, match="nobody made"):
        processor.edge(done=True)


def test_exceptions_of_the_software_pass_through():
    async def main(door, log):
        door.spend(3)
        await door.now()
        raise KeyError("mine")

    processor, _ = processor_of(main)
    with pytest.raises(KeyError, match="mine"):
        Board().run(processor, 10)
    processor.close()
