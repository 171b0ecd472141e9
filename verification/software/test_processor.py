"""The processor against docs/door.md: which edge each operation begins and ends at, the bus, interrupts, errors."""

import pytest

from nectar.software.backends.processor import FOREVER, Processor
from nectar.software.door import BusError, Door
from nectar.verification import seeds


class Board:
    """A memory behind a bus: takes a request when ``ready`` says so, answers ``delay`` edges later."""

    def __init__(self, delay=4, ready=lambda: True, bad=()):
        self.delay, self.ready, self.bad = delay, ready, set(bad)
        self.memory = bytearray(4096)
        self.taken = []          # (edge after which it was driven and taken, request)
        self.answers = []        # (edge, data, error)
        self.irq = set()         # edges at which the line is sampled as 1
        self.log = []

    def run(self, processor, edges):
        """Runs ``edges`` edges; ``drive`` collects what is driven behind each edge."""
        driven = None if not processor.edges else processor.request
        for _ in range(edges):
            at = processor.edges
            done, data, error = False, 0, False
            if self.answers and self.answers[0][0] == at:
                _, data, error = self.answers.pop(0)
                done = True
            ready = self.ready()
            if driven is not None and ready:
                self.taken.append((at, driven))
                bad = driven.address in self.bad
                word = int.from_bytes(self.memory[driven.address:driven.address + 4], "big")
                if driven.write and not bad:
                    for lane in range(4):
                        if driven.select & 8 >> lane:
                            self.memory[driven.address + lane] = driven.data >> 8 * (3 - lane) & 0xFF
                self.answers.append((at + self.delay - 1, 0 if driven.write else word, bad))
            driven = processor.edge(done, data, error, ready, at in self.irq)


def processor_of(main, handler=None):
    door = Door(16_000_000)
    log = []
    if handler is not None:
        door.attach(lambda: handler(door, log))
    return Processor(door, main(door, log)), log


def run(main, handler=None, edges=200, **board):
    processor, log = processor_of(main, handler)
    board = Board(**board)
    board.run(processor, edges)
    return processor, board, log


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
                    mirror[start:start + length] = data
                    door.write_block(start, data)
                else:
                    log.append((await door.read_block(start, length), bytes(mirror[start:start + length])))
                continue
            size = rng.choice([1, 2, 4])
            start = rng.randrange(4000) // size * size
            if choice == 2:
                value = rng.randrange(256 ** size)
                mirror[start:start + size] = value.to_bytes(size, "big")
                door.write(start, value, size)
            else:
                log.append((await door.read(start, size), int.from_bytes(mirror[start:start + size], "big")))

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
