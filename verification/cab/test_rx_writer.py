"""Bench of hdl/cab/rx_writer.py: bytes at any address of any areas, none twice and none astray, at a symbol a cycle."""

import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.cab.rx_writer import RxWriter
from nectar.hdl.cab.scatter import scatter_area
from nectar.verification.bench import Bench
from nectar.verification.cab.structures import pack
from nectar.verification.harness import StepClock

SIZE = 4 << 10
INPUTS = "areas__valid", "areas__payload", "valid", "data", "flush", "forget", "memory__ready"


class Bytes:
    """Gives areas and bytes to the writer and plays its memory."""

    def __init__(self, dut):
        self.clock = StepClock(dut)
        self.memory = {}
        self.writes = []  # cycles in which a word was written
        self.areas = deque()  # (address, length)
        self.bytes = deque()
        self.taken = []  # cycles in which a byte was taken
        self.grants = lambda cycle: True
        self.pauses = 0.0
        self.flush = False
        self.waits = self.moved = False  # in the cycle before: a word waited for the memory, and ``moves``

    async def start(self):
        await self.clock.start(*INPUTS)

    def pin(self, name):
        return self.clock.pin(name)

    async def cycle(self, forget=False):
        """One cycle."""
        clock = self.clock
        address, length = self.areas[0] if self.areas else (random.randrange(SIZE), random.getrandbits(20))
        gives = bool(self.bytes) and random.random() >= self.pauses
        clock.drive(
            areas__valid=bool(self.areas),
            areas__payload=pack(scatter_area(SIZE), address=address, length=length),
            valid=gives,
            data=self.bytes[0] if gives else random.getrandbits(8),
            flush=self.flush,
            forget=forget,
            memory__ready=self.grants(clock.cycles),
        )
        await clock.settle()
        if self.pin("memory__valid") and clock.inputs["memory__ready"]:
            self.writes.append(clock.cycles)
            select, data = self.pin("memory__select"), self.pin("memory__data")
            assert select, "a write of nothing"
            for lane in range(4):
                if select >> 3 - lane & 1:
                    address = 4 * self.pin("memory__address") + lane
                    assert address not in self.memory, "a byte is written twice"
                    self.memory[address] = data >> 8 * (3 - lane) & 0xFF
        # What it tells of itself: what moves may not sleep, and what does not must not keep the board awake.
        if self.pin("memory__valid") and not self.waits:
            assert self.moved, "a word was completed while nothing moved"
        self.waits, self.moved = self.pin("memory__valid") and not clock.inputs["memory__ready"], self.pin("moves")
        takes_area = self.areas and self.pin("areas__ready")
        if self.pin("memory__valid") or takes_area or self.flush and not self.pin("empty"):
            assert self.pin("moves")
        elif not gives:
            assert not self.pin("moves")
        assert not (self.areas and self.pin("exhausted")), "there is another area"
        if gives and self.pin("ready"):
            assert not self.pin("exhausted")
            self.taken.append(clock.cycles)
            self.bytes.popleft()
        if self.areas and self.pin("areas__ready"):
            self.areas.popleft()
        empty = self.pin("empty")
        await clock.edge()
        return empty

    async def finish(self):
        """Until all bytes are taken and in memory."""
        for _ in range(2000):
            if not self.bytes or self.pin("exhausted") and not self.areas:
                break
            await self.cycle()
        self.bytes.clear()
        self.flush = True
        for _ in range(500):
            if await self.cycle():
                self.flush = False
                return
        raise AssertionError("never empty")


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def bytes_fill_the_areas_in_order_from_any_address_to_any(dut):
    """C2, docs/cab.md, fiber in 3: areas of any length from 0 at any byte, with waits for the memory and for bytes;
    what does not fit is not taken."""
    writer = Bytes(dut)
    await writer.start()
    for number in range(300):
        chance = random.choice([1, 0.5, 0.2])
        writer.grants = lambda cycle, chance=chance: random.random() < chance
        writer.pauses = random.choice([0, 0, 0.5])
        # Areas that do not touch each other, anywhere in memory.
        places = sorted(random.sample(range(0, SIZE - 80, 80), random.randrange(1, 5)), key=lambda _: random.random())
        areas = [
            (place + random.randrange(10), random.choice([0, 1, 2, 3, 4, 5, random.randrange(60)])) for place in places
        ]
        room = sum(length for _, length in areas)
        data = random.randbytes(random.choice([room, room + 3, random.randrange(room + 1)]))
        writer.memory.clear()
        writer.areas.extend(areas)
        writer.bytes.extend(data)
        await writer.finish()
        addresses = [address + at for address, length in areas for at in range(length)]
        assert writer.memory == dict(zip(addresses, data, strict=False))
        writer.areas.clear()
        await writer.cycle(forget=True)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def one_slot_in_four_is_enough_for_a_byte_in_every_cycle(dut):
    """C1, C3: in whatever cycle of the four the slot comes, from whatever address."""
    writer = Bytes(dut)
    await writer.start()
    for start in range(4):
        for slot in range(4):
            writer.grants = lambda cycle, slot=slot: cycle % 4 == slot
            writer.memory.clear(), writer.writes.clear(), writer.taken.clear()
            writer.areas.append((start, 400 - start))
            await writer.cycle()
            writer.bytes.extend(random.randbytes(400 - start))
            await writer.finish()
            assert len(writer.writes) == 100 and len(writer.memory) == 400 - start
            assert writer.taken == list(range(writer.taken[0], writer.taken[0] + 400 - start))
            await writer.cycle(forget=True)


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def an_area_may_be_the_whole_memory(dut):
    """docs/cab.md, fiber in 3: any length; no byte too many or too few."""
    writer = Bytes(dut)
    await writer.start()
    writer.pauses, writer.grants = 0.1, lambda cycle: random.random() < 0.9
    for start, length in (
        (0, SIZE),
        (1, SIZE - 1),
        *((random.randrange(9), random.randrange(least, 2 * least - 9)) for least in (256, 512, 1024, 2048)),
    ):
        data = random.randbytes(length + 3)
        writer.memory.clear()
        writer.areas.append((start, length))
        writer.bytes.extend(data)
        while writer.bytes and not (writer.pin("exhausted") and not writer.areas and len(writer.bytes) == 3):
            assert len(writer.bytes) >= 3, "more than there is room for"
            await writer.cycle()
        await writer.finish()
        assert writer.memory == dict(zip(range(start, start + length), data, strict=False))
        await writer.cycle(forget=True)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def what_was_not_written_is_forgotten(dut):
    """RX_CONTROL.reset: the rest of a forgotten packet, and of its area, does not get into the next."""
    writer = Bytes(dut)
    await writer.start()
    for left_over in range(4):
        writer.memory.clear()
        writer.areas.append((100, 50))
        writer.bytes.extend(random.randbytes(left_over))
        await writer.cycle()
        while writer.bytes:
            await writer.cycle()
        await writer.cycle(forget=True)
        assert writer.pin("exhausted") and writer.pin("empty")
        writer.areas.append((201, 1))
        writer.bytes.append(0xAB)
        await writer.finish()
        assert writer.memory == {201: 0xAB}
        await writer.cycle(forget=True)


bench = Bench(__name__, {"writer": lambda: RxWriter(SIZE)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("an_area_may_be_the_whole_memory",)))
def test_rx_writer(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
