"""Bench of hdl/cab/scatter.py: areas wait for their packet, come in order, and are forgotten with it."""

import random

import cocotb
import pytest

from nectar.hdl.cab.addresses import REGIONS, RX_LIST_DEPTH
from nectar.hdl.cab.scatter import SCATTER_REGISTERS, Scatter, scatter_area
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.contents import put
from nectar.verification.cab.ports import RegisterPorts
from nectar.verification.cab.structures import unpack

#: Data memory, for each configuration.
SIZES = {"4 kbyte": 4 << 10, "1 Mbyte": 1 << 20}
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
            area = unpack(scatter_area(SIZES[inside()]), self.pin("areas__payload"))
            self.taken.append((area["address"], area["length"]))


def some_area():
    """An area, by its offset in data memory, and whether it lies there; often one that just does, or does but for
    one bit."""
    size = SIZES[inside()]
    length = random.choice(
        [0, 1, random.randrange(300), 1 << random.randrange(20), random.randrange(1 << 20), random.randrange(size)]
    )
    address = random.choice(
        [
            random.randrange(size),
            size - length,
            size - length + 1,
            size - length - 1,
            -1,
            (size - length) ^ 1 << random.randrange(24),
        ]
    )
    address &= 0xFFFFFF
    return address, length, length == 0 or address <= size - length


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def areas_come_in_order_when_the_packet_is_stored_and_are_forgotten_with_it(dut):
    """docs/cab.md, fiber in 3: up to 15 areas and that of RX_START; refused: one more, one outside data memory, one
    while a packet is being stored, RX_START without packet."""
    taker, size = Taker(dut), SIZES[inside()]
    await taker.start()
    assert await taker.read("RX_ADDRESS") == 0
    full = outside = 0
    for _ in range(200):
        areas = []
        for _ in range(random.choice([0, 1, 3, 60])):
            address, length, fits = some_area()
            assert await taker.write("RX_ADDRESS", DATA + address & 0xFFFFFF)
            assert await taker.read("RX_ADDRESS") == DATA + address & 0xFFFFFF
            room = len(areas) < RX_LIST_DEPTH
            assert taker.pin("free") == RX_LIST_DEPTH - len(areas)
            assert await taker.write("RX_AREA", put("RX_AREA", length=length)) == (fits and room)
            full += not room
            outside += not fits
            if fits and room:
                areas.append((address % size, length))
        taker.takes = random.choice([0.3, 1])
        await taker.run(5)
        assert not taker.taken, "no area before RX_START"
        if random.random() < 0.8:
            await taker.write("RX_ADDRESS", DATA + size - 5)
            assert not await taker.write("RX_START", 5), "no packet waits"
            taker.clock.drive(waits=1)
            assert not await taker.write("RX_START", 6), "the last area must be inside too"
            fits = False
            while not fits:
                address, length, fits = some_area()
                await taker.write("RX_ADDRESS", DATA + address & 0xFFFFFF)
                assert await taker.write("RX_START", length) == fits
            taker.clock.drive(waits=0)
            assert not await taker.write("RX_AREA", 1) and taker.pin("free") == 0
            some = random.choice([0, 3, 200])
            await taker.run(some)
            expected = [*areas, (address % size, length)]
            assert taker.taken == expected[: len(taker.taken)] and (some < 200 or taker.taken == expected)
        taker.clock.drive(clear=1)
        await taker.cycle()
        taker.clock.drive(clear=0)
        taker.taken.clear()
        while taker.pin("moves"):
            await taker.cycle()
        await taker.run(2)
        assert not taker.taken and taker.pin("free") == RX_LIST_DEPTH
    assert full and outside


bench = Bench(__name__, {name: lambda size=size: Scatter(size) for name, size in SIZES.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("4 kbyte",)))
def test_scatter(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
