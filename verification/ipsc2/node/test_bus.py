"""Bench of hdl/ipsc2/node/bus.py: turns, cycles, memory, registers, holes."""

import random

import cocotb
import pytest

from nectar.hdl.ipsc2.node.bus import Bus
from nectar.hdl.ipsc2.node.registers import BASE, CPU_CYCLES, DMA_CYCLES
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep

SIZES = {"4 kbyte": 1 << 12, "16 kbyte": 1 << 14}
CPU_PINS = "valid", "address", "write", "select", "write_data"
INPUTS = (
    *(f"cpu__{pin}" for pin in CPU_PINS),
    *("in_wants", "in_address", "in_data", "out_wants", "out_address"),
    *("register_value", "register_error"),
)
#: 32 bits at 16 MHz.
CLOCK_HZ, WORD_BYTES = 16_000_000, 4


@pytest.mark.parametrize(
    "size, error",
    [(1 << 11, ValueError), (1 << 24, ValueError), (5000, ValueError), (True, TypeError), ("", TypeError)],
)
def test_other_memories_are_refused(size, error):
    with pytest.raises(error, match="memory"):
        Bus(size)


def test_a_burst_has_the_rate_of_the_paper():
    """D4: 10.7 Mbyte/s."""
    assert round(CLOCK_HZ * WORD_BYTES / DMA_CYCLES / 1e6, 1) == 10.7


class Reference:
    """docs/ipsc2-node.md, "Bus". A user is 0 (CPU), 1 (in), 2 (out)."""

    def __init__(self, size):
        self.size, self.memory = size, {}
        # Words that are accessed, each often enough to be read behind a write.
        last = size // 4 - 1
        self.places = [0, last, *(last ^ 1 << bit for bit in range(last.bit_length())), *random.sample(range(last), 8)]
        self.user, self.left, self.last = None, 0, 2
        self.access = self.answer = None
        self.served = [0, 0, 0]

    def word(self, address):
        """The content of a word of memory; None if it was never written as a whole."""
        return self.memory.get(address >> 2)

    def step(self, inputs):
        """See ``lockstep``."""
        wants = [inputs["cpu__valid"], inputs["in_wants"], inputs["out_wants"]]
        expected = {"cpu__ready": 0, "cpu__done": 0, "in_done": 0, "out_done": 0, "register_act": 0, "quiet": 0}
        expected |= {"cpu__error": 0, "cpu__read_data": 0}
        if self.user is None:
            user = next((u for n in range(3) if wants[u := (self.last + 1 + n) % 3]), None)
            if user is None:
                return expected | {"quiet": 1}
            expected["cpu__ready"] = user == 0
            self.user = self.last = user
            self.left = (DMA_CYCLES if user else CPU_CYCLES) - 1
            self.served[user] += 1
            self.access = {
                0: [inputs[f"cpu__{pin}"] for pin in CPU_PINS[1:]],
                1: [inputs["in_address"] << 2, 1, 15, inputs["in_data"]],
                2: [inputs["out_address"] << 2, 0, 15, 0],
            }[user]
            return expected
        self.left -= 1
        address, write, select, data = self.access
        if self.user == 0:
            expected |= {"register_write": write, "register_data": data, "register": address >> 2 & 0x3FF}
        if self.left == 1:
            self.answer = self._act(inputs, expected, address, write, select, data)
        elif self.left == 0:
            value, error = self.answer
            if self.user == 0:
                expected |= {"cpu__done": 1, "cpu__error": error, "cpu__read_data": 0 if error or write else value}
            else:
                expected["in_done" if self.user == 1 else "out_done"] = 1
                if self.user == 2:
                    expected["out_data"] = value
            self.user = None
        return expected

    def _act(self, inputs, expected, address, write, select, data):
        """The access takes effect: (what is read, whether it is an error)."""
        if address < self.size:
            value = self.word(address)
            if write:
                mask = sum(0xFF << 8 * lane for lane in range(4) if select >> lane & 1)
                if value is not None or mask == 0xFFFFFFFF:
                    self.memory[address >> 2] = (value or 0) & ~mask | data & mask
            return value, 0
        if address >= BASE and select == 15:
            expected["register_act"] = 1
            return inputs["register_value"], inputs["register_error"]
        return 0, 1


def stimulus(model, densities, held):
    """Inputs of a cycle; what wants stays until it is served."""
    top = model.size

    def address():
        return 4 * random.choice(model.places) + random.randrange(4)

    if random.random() < 0.05:  # a request may be withdrawn
        held["cpu"] = None
    if not held.get("cpu") and random.random() < densities[0]:
        where = random.choice(
            [address()] * 6
            + [top + random.randrange(64), top, BASE, BASE + random.randrange(4096), BASE - 1, (1 << 24) - 1]
            + [address() | 1 << random.randrange(top.bit_length() - 1, 24), random.getrandbits(24)]
            + [(BASE + random.randrange(4096)) ^ 1 << random.randrange(12, 24)]
        )
        select = random.choice([15, 15, 15, random.getrandbits(4)])
        held["cpu"] = (where, random.getrandbits(1), select, random.getrandbits(32))
    for name, density in (("in", densities[1]), ("out", densities[2])):
        if not held.get(name) and random.random() < density:
            held[name] = (address() >> 2, random.getrandbits(32))
    cpu = held.get("cpu")
    where, write, select, data = cpu or (random.getrandbits(24), 0, 0, 0)
    inputs = {
        "cpu__valid": cpu is not None,
        "cpu__address": where,
        "cpu__write": write,
        "cpu__select": select,
        "cpu__write_data": data,
        "register_value": random.getrandbits(32),
        "register_error": random.random() < 0.2,
    }
    for name in ("in", "out"):
        there = held.get(name)
        inputs[f"{name}_wants"] = there is not None
        inputs[f"{name}_address"] = there[0] if there else random.randrange(model.size // 4)
    inputs["in_data"] = held["in"][1] if held.get("in") else 0
    return inputs


async def follow(dut, densities, cycles):
    """Random accesses; the model."""
    clock = Lockstep(dut, INPUTS)
    await clock.start()
    model = Reference(SIZES[inside()])
    held = {}
    for _ in range(cycles):
        inputs = stimulus(model, densities, held)
        expected = model.step(inputs)
        await clock.step(inputs, expected)
        if expected["cpu__ready"]:
            held["cpu"] = None
        for name in ("in", "out"):
            if expected[f"{name}_done"]:
                held[name] = None
    return model


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def everybody_has_turns_and_each_access_its_cycles(dut):
    """D4; docs/ipsc2-node.md, "Bus"."""
    for densities in [(0.2, 0.1, 0.1), (0.9, 0.9, 0.9), (0.9, 0.05, 0.05), (0, 0.5, 0.5)]:
        await follow(dut, densities, 2000)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def with_all_busy_each_channel_keeps_up_with_the_network(dut):
    """D4: one of each in 16 cycles: 4 Mbyte/s for each channel, more than the 2.8 of the network."""
    model = await follow(dut, (1, 1, 1), 1600)
    assert max(model.served) - min(model.served) <= 12
    assert min(model.served[1:]) >= 97
    assert CLOCK_HZ * WORD_BYTES / (CPU_CYCLES + 2 * DMA_CYCLES) >= 2.8e6


bench = Bench(__name__, {name: lambda size=size: Bus(size) for name, size in SIZES.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("16 kbyte",)))
def test_bus(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
