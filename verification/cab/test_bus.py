"""Bench of hdl/cab/bus.py: accesses of CPU and VME in order, each done once or refused, wherever they go and whoever is
in the way."""

import random

import cocotb
import pytest

from nectar.hdl.cab.addresses import ADDRESS_BITS, LENGTH_BITS, REGIONS
from nectar.hdl.cab.bus import CpuBus
from nectar.hdl.cab.kernel_registers import KERNEL_PAGE
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.bus_environment import AREAS, SIZE, BusEnvironment, names_area, place, random_request

LATENCY = 3  # cycles from the one in which an access is taken to the one of its response
AREA_CYCLES = (
    3  # that an access takes more, beside one for each page, if it names an area in a domain other than the kernel's
)


def world(dut):
    """The bench's world for this configuration."""
    return BusEnvironment(dut, inside() == "with window")


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def every_access_is_done_once_or_refused_and_answered_in_order(dut):
    """docs/cab.md, CPU bus and protection; C4, C5: whatever CPU and VME ask, in whatever domain, however long memory
    and window make them wait; a refused access reaches nothing and is recorded."""
    around = world(dut)
    await around.start()
    for wants in ({"bus": 0.2, "vme": 0.1}, {"bus": 0.8, "vme": 0.3}, {"bus": 1, "vme": 1}, {"bus": 1, "vme": 0}):
        for ready in (1, 0.6, 0.3):
            around.current = random.choice([0, 1, 5, 30])
            for _ in range(600):
                await around.cycle(wants, random.random() < ready, random.random() < 0.3)
            await around.drain()
    seen = around.outcomes
    for port in ("bus", "vme"):
        for name in ("data", "registers", "program", "prom", "trap", "error"):
            assert seen.get((port, name), 0) > 5, (port, name)
    assert seen.get(("bus", "protection"), 0) > 5 and (("bus", "vme") in seen) == around.window


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def no_access_takes_longer_for_being_checked(dut):
    """C4: 3 cycles in a user's domain as in the kernel's, refused or not, one behind the other in every cycle; all but
    those that name an area or go to the window, or are behind one to the protection's own."""
    around = world(dut)
    await around.start()
    for around.current in (0, 3):
        for _ in range(600):
            await around.cycle({"bus": 1, "vme": 0})
            if around.offered["bus"]:
                where = place(around.offered["bus"]["address"])
                if (
                    where == "vme"
                    or where == "registers"
                    and around.offered["bus"]["address"] - REGIONS["registers"].base >> 2 in AREAS
                ):
                    around.offered["bus"]["address"] = REGIONS["data"].base + random.randrange(SIZE)
        await around.drain()
        lone = len(around.waits["bus"])
        assert lone > 400
    usual = sorted(around.waits["bus"])[len(around.waits["bus"]) // 2]
    assert usual == LATENCY


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def cpu_and_vme_take_turns(dut):
    """docs/cab.md, CPU bus: when both want something in every cycle each gets every second access; the lock of VME
    keeps the CPU out."""
    around = world(dut)
    await around.start()
    around.salt, data = 0, REGIONS["data"].base
    for lock in (0, 1):
        before = dict(around.done)
        for _ in range(300):
            for port in around.taken:
                around.offered[port] = around.offered[port] or {
                    "address": data + random.randrange(SIZE),
                    "write": 0,
                    "execute": 0,
                    "select": 14 | (port == "bus"),
                    "write_data": random.getrandbits(32),
                    "kernel": 1,
                    "lock": lock,
                }
            await around.cycle({"bus": 0, "vme": 0})
        bus, vme = (around.done[port] - before[port] for port in ("bus", "vme"))
        assert abs(bus - vme) <= 4 if not lock else bus < 5 and vme > 280
    around.offered = dict.fromkeys(around.offered)
    around.locked = False
    around.clock.drive(vme__lock=0)
    await around.drain()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def data_pass_unchanged_whichever_bytes_are_selected(dut):
    """docs/cab.md, CPU bus: writes of CPU and of VME, one at a time, with each of the 16 selections."""
    around = world(dut)
    await around.start()
    for port in around.taken:
        for select in random.sample(range(16), 16) * 4:
            address = REGIONS["data"].base + random.randrange(SIZE)
            request = random_request(port) | {"address": address, "select": select, "write": 1, "kernel": 1, "lock": 0}
            assert await around.timed((port, request)) == [LATENCY]
            await around.drain()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def an_area_is_as_allowed_as_each_of_its_pages(dut):
    """docs/cab.md, protection: areas anywhere, of any length, of which one page is forbidden, or one beside it: the
    first forbidden byte is recorded. The look-up takes a cycle for each page, and three more."""
    around = world(dut)
    await around.start()
    around.current = 3
    for _ in range(120):
        length = random.choice(
            [0, 1, 1 << random.randrange(LENGTH_BITS), random.getrandbits(random.randint(3, LENGTH_BITS))]
        )
        address = random.randrange(1024, (1 << ADDRESS_BITS) - length + 1)
        behind = (address + length) % 1024
        # It ends anywhere, with a page, or some bytes behind it: one, or a power of two.
        address -= random.choice(
            [
                0,
                behind,
                *(max(behind - bytes, 0) for bytes in (1, 1 << random.randrange(10), 1 << random.randrange(10))),
            ]
        )
        first, last = address >> 10, address + max(length, 1) - 1 >> 10
        around.area = {"address": address, "length": length, "write": random.getrandbits(1)}
        pages = {random.choice([first, last, random.randint(first, last), first - 1, last + 1])}
        around.forbidden = pages - {REGIONS["registers"].base >> 10}
        port = random.choice(["bus", "vme"])
        [time] = await around.timed((port, names_area(port)))
        allowed = length == 0 or around.forbidden.isdisjoint(range(first, last + 1))
        assert time == LATENCY + AREA_CYCLES + (last - first + 1 if length else 0) if allowed else time > LATENCY
        await around.drain()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def each_access_takes_its_time_and_the_next_begins_behind_it(dut):
    """docs/cab.md, CPU bus and protection: one access a cycle, 3 cycles each; more for those that name an area, and
    behind those that change the protection, whose response is out when the next begins; for none whose address is
    merely like theirs."""
    around = world(dut)
    await around.start()
    around.forbidden = set()
    registers = REGIONS["registers"].base

    def special():
        return random.choice(
            [
                registers + 4 * random.choice(AREAS),
                registers + KERNEL_PAGE + random.randrange(1024),
                REGIONS["protection"].base + random.randrange(REGIONS["protection"].size),
                REGIONS["data"].base + random.randrange(SIZE),
            ]
        )

    def more(port, request):
        """Cycles that it takes more, and those that the next one has to wait for it."""
        where, offset = place(request["address"]), request["address"] - registers
        area = around.area_of(request["write_data"])
        pages = (area["address"] + area["length"] - 1 >> 10) - (area["address"] >> 10) + 1 if area["length"] else 0
        kernel = port == "bus" and (request["kernel"] or around.current == 0)
        walks = where == "registers" and offset // 4 in AREAS and request["write"] and not kernel
        settles = where == "protection" or where == "registers" and offset & 0xC00 == KERNEL_PAGE and request["write"]
        return AREA_CYCLES + pages if walks else 0, LATENCY - 1 if settles else 0

    def some(address):
        """An access to ``address`` by somebody."""
        port = random.choice(["bus", "vme"])
        return port, random_request(port) | {
            "address": address,
            "write_data": random.getrandbits(31),
            "kernel": random.getrandbits(1),
            "lock": 0,
        }

    like_an_area = [registers + 4 * area ^ 1 << bit for area in AREAS for bit in range(2, ADDRESS_BITS)]
    random.shuffle(like_an_area)
    for number in range(300):
        around.current = random.choice([0, 3])
        if number < len(like_an_area):
            pair = [("vme", names_area("vme") | {"address": like_an_area[number]}), some(special())]
        else:
            pair = [some(special() ^ random.choice([0, 1 << random.randrange(2, ADDRESS_BITS)])) for _ in range(2)]
        if any(place(request["address"]) == "vme" for _, request in pair):
            continue
        [(one, behind), (other, _)] = (more(*access) for access in pair)
        assert await around.timed(*pair) == [LATENCY + one, 1 + one + behind + LATENCY + other]
        await around.drain()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def an_access_in_the_cycle_behind_a_reset_is_as_any(dut):
    """docs/cab.md, reset: whatever was under way; an area is looked up as ever."""
    around = world(dut)
    await around.start()
    around.current = 3
    for number in range(40):
        around.forbidden, around.area = None, None
        if number < 10:  # an area of which no page is allowed is looked up
            around.forbidden = set(range(REGIONS["data"].base >> 10, REGIONS["data"].base + 0x4000 >> 10))
            around.offered["vme"] = names_area("vme")
        for _ in range(number if number < 10 else random.randrange(12)):
            await around.cycle({"bus": number >= 10, "vme": number >= 10}, random.random() < 0.5, random.random() < 0.3)
        await around.reset()
        first = random.randrange(1 << 13)
        around.area = {"address": first << 10, "length": random.randrange(1, 4000), "write": random.getrandbits(1)}
        around.forbidden = {first + random.randrange(4), random.choice([0, REGIONS["registers"].base]) >> 10}
        port = random.choice(["bus", "vme"])
        await around.timed((port, names_area(port)))
        await around.drain()


bench = Bench(
    __name__,
    {"bus": lambda: CpuBus(SIZE, SIZE), "with window": lambda: CpuBus(SIZE, SIZE, window=True)},
    ports_only=True,
)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("bus",)))
def test_bus(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
