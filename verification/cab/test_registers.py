"""Bench of hdl/cab/registers.py: every register of the map at its place, and nothing anywhere else."""

import random

import cocotb
import pytest
from amaranth.hdl import Shape

from nectar.hdl.cab.addresses import REGIONS, REGISTERS
from nectar.hdl.cab.regions import Right
from nectar.hdl.cab.registers import Area, RegisterDecoder, layout
from nectar.hdl.cab.vme.registers import VME_REGISTERS
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.lockstep import HandClock, lockstep
from nectar.verification.cab.structures import pack

WORDS = REGIONS["registers"].size // 4


def here():
    """The registers of this configuration."""
    return [register for register in REGISTERS if inside() == "with VME" or register not in VME_REGISTERS]


def step(inputs):
    """What the decoder must say in the same cycle, from the map."""
    found = next((r for r in here() if r.offset == 4 * inputs["offset"]), None)
    if inputs["select"] != 15 or not inputs["valid"]:
        found = None
    outputs = {"read_data": 0, "error": inputs["valid"]}
    named = next((r for r in here() if r.offset == 4 * inputs["offset"] and r.area), None)
    if named and inputs["write"] and inputs["select"] == 15:
        length, right = named.area
        refused = inputs[f"{named.name.lower()}__refuse"]
        outputs["area"] = pack(Area, address=inputs[f"{named.name.lower()}__area_address"], write=right == Right.WRITE,
                               length=0 if refused else getattr(named, length).get(inputs["write_data"]))
    else:
        outputs["area"] = 0
    for register in here():
        name = register.name.lower()
        if "r" in register.access:
            reads = found is register and not inputs["write"]
            outputs[f"{name}__read"] = reads
            if reads:
                outputs |= {"read_data": inputs[f"{name}__value"], "error": 0}
        if "w" in register.access:
            writes = found is register and inputs["write"] and not inputs[f"{name}__refuse"]
            outputs[f"{name}__write"] = writes
            if writes:
                outputs |= {"error": 0, f"{name}__data": inputs["write_data"]}
    return outputs


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def each_access_reaches_the_register_of_the_map_or_is_an_error(dut):
    """addresses.REGISTERS: offset, direction, whole words; what the owner refuses is an error and no write."""
    clock = HandClock(dut)
    await clock.start("valid")

    def stimuli():
        for _ in range(3000):
            known = random.choice(REGISTERS).offset // 4
            values = {"offset": random.choice([random.randrange(WORDS), random.randrange(32), known]),
                      "valid": random.random() < 0.9, "write": random.random() < 0.5, "write_data": random.getrandbits(32),
                      "select": random.choice([15, 15, 15, random.getrandbits(4)])}
            for register in here():
                if "r" in register.access:
                    values[f"{register.name.lower()}__value"] = random.getrandbits(32)
                if "w" in register.access:
                    values[f"{register.name.lower()}__refuse"] = random.random() < 0.3
                if register.area:
                    values[f"{register.name.lower()}__area_address"] = random.getrandbits(24)
            yield values

    await lockstep(clock, step, stimuli())


@pytest.mark.parametrize("register", REGISTERS, ids=lambda r: r.name)
def test_the_layout_is_that_of_the_map(register):
    """addresses.Register: every field at its bits, a word in all."""
    shape = layout(register)
    assert Shape.cast(shape).width == 32
    for field in register.fields:
        assert (shape[field.name].offset, shape[field.name].width) == (field.low, field.width)


bench = Bench(__name__, {"decoder": RegisterDecoder, "with VME": lambda: RegisterDecoder(vme=True)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_registers(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
