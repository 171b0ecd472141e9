"""The allocator of data memory against a map of its bytes, and memory as threads use it."""

import pytest

from nectar.software.errors import OutOfMemory
from nectar.software.kernel.allocator import SMALLEST, Allocator
from nectar.verification import seeds

from .helpers import run_task

BASE = 0x100000


@pytest.mark.parametrize("seed", range(6))
def test_blocks_never_overlap_and_all_memory_comes_back(seed):
    """Reference: the set of the bytes given out."""
    print("seed", seed)
    rng = seeds.rng(seed)
    size = 1 << 14
    blocks = Allocator(BASE, size)
    given = {}
    refused = 0
    for _ in range(3000):
        if given and rng.random() < 0.48:
            address = rng.choice(list(given))
            del given[address]
            blocks.free(address)
        else:
            length = rng.choice([0, 1, 16, 31, 32, 33, 64, 100, 1000, 1024, 2000, 5000])
            address = blocks.allocate(length)
            if address is None:
                refused += 1
                continue
            assert BASE <= address and address + length <= BASE + size
            assert all(address + length <= other or other + span <= address for other, span in given.items())
            given[address] = length
    assert refused
    given = given or {blocks.allocate(100): 100}
    for address in given:
        blocks.free(address)
    assert blocks.used == 0
    assert blocks.allocate(size) == BASE


@pytest.mark.parametrize("seed", range(3))
def test_a_block_is_refused_only_when_no_aligned_space_is_free(seed):
    """Reference: a map of the 32-byte units; a block of 2**n bytes fits if an aligned run of them is free."""
    print("seed", seed)
    rng = seeds.rng(seed)
    units = 64
    blocks = Allocator(0, units * SMALLEST)
    used = [False] * units
    given = []
    for _ in range(2000):
        if given and rng.random() < 0.5:
            address, count = given.pop(rng.randrange(len(given)))
            blocks.free(address)
            used[address // SMALLEST : address // SMALLEST + count] = [False] * count
            continue
        count = 1 << rng.randrange(6)
        address = blocks.allocate(count * SMALLEST)
        fits = any(not any(used[start : start + count]) for start in range(0, units, count))
        assert (address is not None) == fits
        if address is not None:
            start = address // SMALLEST
            assert start % count == 0 and not any(used[start : start + count])
            used[start : start + count] = [True] * count
            given.append((address, count))
        assert blocks.used == sum(used) * SMALLEST


def test_what_was_not_given_out_cannot_be_freed():
    blocks = Allocator(BASE, 1024)
    address = blocks.allocate(100)
    blocks.free(address)
    for wrong in (address, BASE + 5, 0):
        with pytest.raises(ValueError, match="not a block"):
            blocks.free(wrong)


@pytest.mark.parametrize(
    "base, size, message", [(0, 1000, "power of two"), (0, 16, "power of two"), (32, 64, "multiple")]
)
def test_odd_regions_are_refused(base, size, message):
    with pytest.raises(ValueError, match=message):
        Allocator(base, size)


def test_more_than_there_is_will_never_be_given():
    async def main(cab):
        with pytest.raises(OutOfMemory, match="smaller pieces"):
            await cab.memory.allocate(cab.memory.size + 1)

    run_task(main, memory_bytes=1 << 14)


def test_threads_wait_for_memory_and_are_served_in_order():
    async def taker(cab, size, log):
        address = await cab.memory.allocate(size)
        log.append(size)
        return address

    async def main(cab):
        memory, log = cab.memory, []
        before = memory.used
        blocks = []
        while True:
            address = memory.try_allocate(2048)
            if address is None:
                break
            blocks.append(address)
        takers = [cab.spawn(taker, size, log) for size in (2048, 4096, 1025)]
        await cab.sleep(50)
        assert log == [] and memory.awaited
        memory.free(blocks.pop())
        await cab.sleep(50)
        assert log == [2048]
        for address in blocks:
            memory.free(address)
        for thread in takers:
            memory.free(await thread.join())
        assert log == [2048, 4096, 1025] and not memory.awaited
        assert memory.used == before

    run_task(main, memory_bytes=1 << 15)


def test_bytes_come_back_as_they_were_stored():
    rng = seeds.rng(1)

    async def main(cab):
        address = await cab.memory.allocate(5000)
        for _ in range(30):
            start, length = rng.randrange(4000), rng.randrange(1000)
            data = rng.randbytes(length)
            cab.memory.write(address + start, data)
            assert await cab.memory.read(address + start, length) == data
        with pytest.raises(ValueError, match="do not lie"):
            await cab.memory.read(cab.memory.base - 1, 4)
        with pytest.raises(ValueError, match="do not lie"):
            cab.memory.write(cab.memory.base + cab.memory.size - 2, b"abc")
        cab.memory.free(address)

    run_task(main)
