"""Bench of hdl/cab/memory.py: one access a cycle, in whose slot it is, byte by byte."""

import random

import cocotb
import pytest

from nectar.hdl.cab.bus import CpuBus
from nectar.hdl.cab.fiber_in import FiberIn
from nectar.hdl.cab.fiber_out import FiberOut
from nectar.hdl.cab.memory import DataMemory
from nectar.hdl.cab.rx_writer import RxWriter
from nectar.hdl.cab.scatter import Scatter
from nectar.hdl.cab.tx_reader import TxReader
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep

SIZES = {"4 kbyte": 4 << 10, "64 kbyte": 64 << 10}
USERS = "fiber_in", "fiber_out", "vme", "cpu"
#: Who gets what its user does not want.
ORDER = "fiber_in", "fiber_out", "cpu", "vme"
INPUTS = (
    "slept",
    "cpu_may",
    *(
        f"{user}__{pin}"
        for user in USERS
        for pin in ("valid", "address", "write", "select", "data")
        if pin in ("valid", "address") or user in ("vme", "cpu") or user == "fiber_in" and pin != "write"
    ),
)


class Reference:
    """A dict of words, and the schedule."""

    def __init__(self):
        self.words = {}
        self.read = None  # what was read in the cycle before; None: nothing, or a word never written as a whole
        self.written = None  # write of the cycle before: user, address, select, data
        self.cycle = 0

    def _write(self, address, select, data):
        mask = sum(0xFF << 8 * byte for byte in range(4) if select >> byte & 1)
        if address in self.words or select == 15:
            self.words[address] = self.words.get(address, 0) & ~mask | data & mask

    def step(self, inputs):
        """See ``lockstep``."""
        self.cycle += inputs["slept"]
        wanting = [user for user in (USERS[self.cycle % 4], *ORDER) if inputs[f"{user}__valid"]]
        self.cycle += 1
        user = wanting[0] if wanting else None
        outputs = {f"{name}__ready": name == user for name in USERS}
        outputs["writes"] = self.written is not None and self.written[2] != 0
        if self.written is not None and (self.written[0] != "cpu" or inputs["cpu_may"]):
            self._write(*self.written[1:])
        self.written = None
        if self.read is not None:
            outputs["read_data"] = self.read
        self.read = None
        if user is not None:
            address = inputs[f"{user}__address"]
            if inputs.get(f"{user}__write", user == "fiber_in"):
                self.written = user, address, inputs[f"{user}__select"], inputs[f"{user}__data"]
            else:
                self.read = self.words.get(address)
        return outputs


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def each_access_is_done_in_its_users_slot_or_in_one_that_nobody_else_wants(dut):
    """C2, C3, docs/cab.md, data memory: one access in each cycle, as the schedule says; the others' accesses have no
    effect yet, and a write of the CPU that may not be has none."""
    words = SIZES[inside()] // 4
    clock = Lockstep(dut)
    await clock.start(*INPUTS)
    reference = Reference()
    near = [0, 1, words - 1, words // 2, *(random.randrange(words) for _ in range(8))]

    def stimuli():
        for address in near:
            yield {
                "cpu__valid": 1,
                "cpu_may": 1,
                "cpu__write": 1,
                "cpu__select": 15,
                "cpu__address": address,
                "cpu__data": random.getrandbits(32),
            }
        for density in (0.2, 0.5, 0.9, 1):
            for _ in range(2000):
                given = {
                    name: random.getrandbits(32) if name.endswith("data") else random.getrandbits(4) for name in INPUTS
                }
                given |= {f"{user}__valid": random.random() < density for user in USERS}
                given |= {f"{user}__address": random.choice(near) for user in USERS}
                given |= {f"{user}__write": random.random() < 0.5 for user in ("vme", "cpu")}
                yield given | {"cpu_may": random.random() < 0.7, "slept": random.choice([0, 0, 0, random.randrange(4)])}

    await clock.follow(reference.step, stimuli())


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def every_word_has_a_place_of_its_own(dut):
    """C3: the whole size can be written and read back."""
    words = SIZES[inside()] // 4
    clock = Lockstep(dut)
    await clock.start(*INPUTS)
    reference = Reference()
    await clock.follow(
        reference.step,
        (
            {
                **{f"{name}__valid": 0 for name in ("fiber_in", "fiber_out", "vme")},
                "cpu__valid": 1,
                "cpu_may": 1,
                "cpu__write": 1,
                "cpu__select": 15,
                "cpu__address": word,
                "cpu__data": random.getrandbits(32),
            }
            for word in range(words)
        ),
    )
    await clock.follow(
        reference.step,
        (
            {
                "cpu__valid": word % 2,
                "fiber_out__valid": 1 - word % 2,
                "cpu__write": 0,
                "cpu__address": word,
                "fiber_out__address": word,
            }
            for word in [*range(words), 0]
        ),
    )
    assert len(reference.words) == words


bench = Bench(__name__, {name: lambda size=size: DataMemory(size) for name, size in SIZES.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("64 kbyte",)))
def test_memory(configuration, claim):
    """Each claim on each size."""
    bench.check(configuration, claim)


@pytest.mark.parametrize("component", [DataMemory, CpuBus, TxReader, FiberOut, RxWriter, Scatter, FiberIn])
def test_every_user_of_the_memory_refuses_a_size_that_it_cannot_have(component):
    """docs/cab.md, data memory: 4 kbyte to 1 Mbyte, a power of two."""
    for size in (2 << 10, 12 << 10, 2 << 20):
        with pytest.raises(ValueError, match=f"data_bytes must be a power of two from 4096 to 1048576, not {size}"):
            component(size)
    with pytest.raises(TypeError, match="data_bytes must be an integer, not '4096'"):
        component("4096")
