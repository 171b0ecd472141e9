"""Bench of hdl/cab/scatter.py: areas wait for their packet, come in order, and are forgotten with it."""

import random

import cocotb
import pytest

from nectar.hdl.cab.addresses import REGIONS, RX_LIST_DEPTH
from nectar.hdl.cab.scatter import SCATTER_REGISTERS, Scatter, scatter_area
from nectar.verification.bench import Bench
from nectar.verification.cab.ports import RegisterPorts
from nectar.verification.cab.scenario import put
from nectar.verification.cab.structures import unpack

SIZE = 4 << 10
DATA = REGIONS["data"].base


class Taker(RegisterPorts):
    """Takes areas, with pauses."""

    def __init__(self, dut):
        super().__init__(dut, [name.upper() for name in SCATTER_REGISTERS], ("waits", "areas__ready", "clear"))
        self.taken = []
        self.takes = 0.0

    def before(self):
        self.clock.drive(areas__ready=random.random() < self.takes)

    def after(self):
        if self.pin("areas__valid") and self.clock.inputs["areas__ready"]:
            area = unpack(scatter_area(SIZE), self.pin("areas__payload"))
            self.taken.append((area["address"], area["length"]))


def some_area():
    """An area, by its offset in data memory, and whether it lies there; often one that just does, or does but for one bit."""
    length = random.choice([0, 1, random.randrange(300), 1 << random.randrange(20), random.randrange(1 << 20), random.randrange(SIZE)])
    address = random.choice([random.randrange(SIZE), SIZE - length, SIZE - length + 1, SIZE - length - 1, -1, (SIZE - length) ^ 1 << random.randrange(24)])
    address &= 0xFFFFFF
    return address, length, length == 0 or address <= SIZE - length


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def areas_come_in_order_when_the_packet_is_stored_and_are_forgotten_with_it(dut):
    """docs/cab.md, fiber in 3: up to 15 areas and that of RX_START; refused: one more, one outside data memory, one while a
    packet is being stored, RX_START without packet."""
    taker = Taker(dut)
    await taker.start()
    full = outside = 0
    for _ in range(200):
        areas = []
        for _ in range(random.choice([0, 1, 3, 60])):
            address, length, inside = some_area()
            assert await taker.write("RX_ADDRESS", DATA + address & 0xFFFFFF)
            assert await taker.read("RX_ADDRESS") == DATA + address & 0xFFFFFF
            room = len(areas) < RX_LIST_DEPTH
            assert taker.pin("free") == RX_LIST_DEPTH - len(areas)
            assert await taker.write("RX_AREA", put("RX_AREA", length=length)) == (inside and room)
            full += not room
            outside += not inside
            if inside and room:
                areas.append((address % SIZE, length))
        taker.takes = random.choice([0.3, 1])
        await taker.run(5)
        assert not taker.taken, "no area before RX_START"
        if random.random() < 0.8:
            await taker.write("RX_ADDRESS", DATA)
            assert not await taker.write("RX_START", 5), "no packet waits"
            taker.clock.drive(waits=1)
            assert not await taker.write("RX_START", SIZE + 1), "the last area must be inside too"
            inside = False
            while not inside:
                address, length, inside = some_area()
                await taker.write("RX_ADDRESS", DATA + address & 0xFFFFFF)
                assert await taker.write("RX_START", length) == inside
            taker.clock.drive(waits=0)
            assert not await taker.write("RX_AREA", 1) and taker.pin("free") == 0
            some = random.choice([0, 3, 200])
            await taker.run(some)
            expected = [*areas, (address % SIZE, length)]
            assert taker.taken == expected[:len(taker.taken)] and (some < 200 or taker.taken == expected)
        taker.clock.drive(clear=1)
        await taker.cycle()
        taker.clock.drive(clear=0)
        taker.taken.clear()
        while taker.pin("moves"):
            await taker.cycle()
        await taker.run(2)
        assert not taker.taken and taker.pin("free") == RX_LIST_DEPTH
    assert full and outside


bench = Bench(__name__, {"scatter": lambda: Scatter(SIZE)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_scatter(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
