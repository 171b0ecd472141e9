"""Bench of hdl/cab/memory.py: one access a cycle, whose turn it is, byte by byte."""

import random

import cocotb
import pytest

from nectar.hdl.cab.bus import CpuBus
from nectar.hdl.cab.fiber_in import FiberIn
from nectar.hdl.cab.fiber_out import FiberOut
from nectar.hdl.cab.gather import Gather
from nectar.hdl.cab.memory import DataMemory
from nectar.hdl.cab.receiver import Receiver
from nectar.hdl.cab.store import Store
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.lockstep import HandClock, lockstep

SIZES = {"4 kbyte": 4 << 10, "64 kbyte": 64 << 10}
INPUTS = ("fiber_in__valid", "fiber_in__address", "fiber_in__select", "fiber_in__data",
          "fiber_out__valid", "fiber_out__address", "cpu__valid", "cpu__address", "cpu__write", "cpu__select", "cpu__data")


class Reference:
    """A dict of words."""

    def __init__(self):
        self.words = {}
        self.read = None      # what was read in the cycle before; None: nothing, or a word never written as a whole

    def _write(self, address, select, data):
        mask = sum(0xFF << 8 * byte for byte in range(4) if select >> byte & 1)
        if address in self.words or select == 15:
            self.words[address] = self.words.get(address, 0) & ~mask | data & mask

    def step(self, inputs):
        """See ``lockstep``."""
        fiber_in, fiber_out, cpu = (inputs[f"{name}__valid"] for name in ("fiber_in", "fiber_out", "cpu"))
        outputs = {"fiber_out__ready": not fiber_in, "cpu__ready": not fiber_in and not fiber_out}
        if self.read is not None:
            outputs["read_data"] = self.read
        self.read = None
        if fiber_in:
            self._write(inputs["fiber_in__address"], inputs["fiber_in__select"], inputs["fiber_in__data"])
        elif fiber_out:
            self.read = self.words.get(inputs["fiber_out__address"])
        elif cpu and inputs["cpu__write"]:
            self._write(inputs["cpu__address"], inputs["cpu__select"], inputs["cpu__data"])
        elif cpu:
            self.read = self.words.get(inputs["cpu__address"])
        return outputs


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def fiber_in_goes_first_then_fiber_out_then_the_cpu(dut):
    """docs/cab.md, data memory: one access in each cycle, of whoever goes first; the others' accesses have no effect
    yet."""
    words = SIZES[inside()] // 4
    clock = HandClock(dut)
    await clock.start(*INPUTS)
    reference = Reference()
    near = [0, 1, words - 1, words // 2, *(random.randrange(words) for _ in range(8))]

    def stimuli():
        for address in near:
            yield {"cpu__valid": 1, "cpu__write": 1, "cpu__select": 15, "cpu__address": address,
                   "cpu__data": random.getrandbits(32)}
        for density in (0.2, 0.5, 0.9):
            for _ in range(2000):
                yield {
                    **{f"{name}__valid": random.random() < density for name in ("fiber_in", "fiber_out", "cpu")},
                    **{f"{name}__address": random.choice(near) for name in ("fiber_in", "fiber_out", "cpu")},
                    **{f"{name}__select": random.getrandbits(4) for name in ("fiber_in", "cpu")},
                    **{f"{name}__data": random.getrandbits(32) for name in ("fiber_in", "cpu")},
                    "cpu__write": random.random() < 0.5,
                }

    await lockstep(clock, reference.step, stimuli())


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def every_word_has_a_place_of_its_own(dut):
    """C3: the whole size can be written and read back."""
    words = SIZES[inside()] // 4
    clock = HandClock(dut)
    await clock.start(*INPUTS)
    reference = Reference()
    await lockstep(clock, reference.step, (
        {**{f"{name}__valid": 0 for name in ("fiber_in", "fiber_out")},
         "cpu__valid": 1, "cpu__write": 1, "cpu__select": 15, "cpu__address": word, "cpu__data": random.getrandbits(32)}
        for word in range(words)))
    await lockstep(clock, reference.step, (
        {"cpu__valid": word % 2, "fiber_out__valid": 1 - word % 2, "cpu__write": 0, "cpu__address": word,
         "fiber_out__address": word}
        for word in [*range(words), 0]))
    assert len(reference.words) == words


bench = Bench(__name__, {name: lambda size=size: DataMemory(size) for name, size in SIZES.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_memory(configuration, claim):
    """Each claim on each size."""
    bench.check(configuration, claim)


@pytest.mark.parametrize("component", [DataMemory, CpuBus, Gather, FiberOut, Store, Receiver, FiberIn])
def test_every_user_of_the_memory_refuses_a_size_that_it_cannot_have(component):
    """docs/cab.md, data memory: 4 kbyte to 1 Mbyte, a power of two."""
    for size in (2 << 10, 12 << 10, 2 << 20):
        with pytest.raises(ValueError, match=f"data_bytes must be a power of two from 4096 to 1048576, not {size}"):
            component(size)
    with pytest.raises(TypeError, match="data_bytes must be an integer, not '4096'"):
        component("4096")
