"""Bench of hdl/cab/store.py: bytes at any address, as few writes as that takes, none twice and none astray."""

import random

import cocotb
import pytest

from nectar.hdl.cab.store import Store
from nectar.verification.bench import Bench
from nectar.verification.cab.lockstep import HandClock

SIZE = 4 << 10


class Bytes:
    """Drives the store and plays its memory."""

    def __init__(self, dut):
        self.clock = HandClock(dut)
        self.memory = {}
        self.writes = []     # cycles in which a word was written

    async def cycle(self, **inputs):
        """One cycle with those inputs; the others are 0."""
        clock = self.clock
        clock.drive(**{"begin": 0, "valid": 0, "flush": 0, "address": random.randrange(SIZE),
                       "data": random.getrandbits(8)} | inputs)
        await clock.settle()
        if clock.handle("memory__valid").value:
            self.writes.append(clock.cycles)
            select, data = int(clock.handle("memory__select").value), int(clock.handle("memory__data").value)
            assert select, "a write of nothing"
            for lane in range(4):
                if select >> 3 - lane & 1:
                    address = 4 * int(clock.handle("memory__address").value) + lane
                    assert address not in self.memory, "a byte is written twice"
                    self.memory[address] = data >> 8 * (3 - lane) & 0xFF
        await clock.edge()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def bytes_go_to_consecutive_addresses_from_any_to_any(dut):
    """C2, docs/cab.md, fiber in 3: at any byte address, any number; in memory two cycles after the flush begins."""
    store = Bytes(dut)
    await store.clock.start("begin", "valid", "flush", "address", "data")
    for _ in range(400):
        length = random.choice([0, 1, 2, 3, 4, 5, random.randrange(60)])
        start = random.choice([random.randrange(SIZE - 60), SIZE - length])
        data = random.randbytes(length)
        density = random.choice([1, 1, 0.5])
        store.memory.clear()
        await store.cycle(begin=1, address=start % SIZE)
        for byte in data:
            while random.random() >= density:
                await store.cycle()
            await store.cycle(valid=1, data=byte)
        await store.cycle(flush=1)
        await store.cycle()
        assert store.memory == {start + at: byte for at, byte in enumerate(data)}, f"{length} bytes from {start:#x}"
        store.memory.clear()
        for _ in range(random.randrange(3)):
            await store.cycle()
        assert not store.memory


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_stream_needs_the_memory_every_fourth_cycle(dut):
    """docs/cab.md, data memory: neither channel asks more often than every second cycle in a steady stream."""
    store = Bytes(dut)
    await store.clock.start("begin", "valid", "flush", "address", "data")
    for start in range(4):
        store.memory.clear(), store.writes.clear()
        await store.cycle(begin=1, address=start)
        for number in range(400 - start):
            await store.cycle(valid=1, data=number & 0xFF)
        await store.cycle(flush=1)
        await store.cycle()
        assert len(store.writes) == 100 and {b - a for a, b in zip(store.writes, store.writes[1:])} == {4}


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def what_was_not_flushed_is_forgotten_by_the_next_begin(dut):
    """RX_CONTROL.reset: the rest of a forgotten packet does not get into the memory of the next."""
    store = Bytes(dut)
    await store.clock.start("begin", "valid", "flush", "address", "data")
    for left_over in range(4):
        store.memory.clear()
        await store.cycle(begin=1, address=100)
        for _ in range(left_over):
            await store.cycle(valid=1)
        await store.cycle(begin=1, address=201)
        await store.cycle(valid=1, data=0xAB)
        await store.cycle(flush=1)
        await store.cycle()
        assert store.memory == {201: 0xAB}


bench = Bench(__name__, {"store": lambda: Store(SIZE)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_store(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
