"""Bench of hdl/cab/registers.py: every register of the map at its place, and nothing anywhere else."""

import functools
import random

import cocotb
import pytest
from amaranth.hdl import Shape

from nectar.hdl.cab.addresses import REGIONS, REGISTERS
from nectar.hdl.cab.regions import Right
from nectar.hdl.cab.registers import Area, RegisterDecoder, banks, layout
from nectar.hdl.cab.vme.registers import VME_REGISTERS
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.structures import pack
from nectar.verification.harness import Lockstep

WORDS = REGIONS["registers"].size // 4


@functools.cache
def here():
    """The registers of this configuration."""
    return [register for register in REGISTERS if inside() == "with VME" or register not in VME_REGISTERS]


class Reference:
    """What the decoder must say, from the map, of the access of the cycle before."""

    def __init__(self):
        self.before = {"valid": 0, "offset": 0, "write": 0, "select": 0, "write_data": 0}

    def step(self, inputs):
        """See ``lockstep``."""
        outputs = step(inputs | self.before, self.before["valid"] and inputs["may"])
        self.before = {name: inputs[name] for name in self.before}
        return outputs


def step(inputs, valid):
    """The same of an access and of what the registers' owners say in the next cycle."""
    named = next((r for r in here() if r.offset == 4 * inputs["offset"]), None) if inputs["select"] == 15 else None
    found = named if valid else None
    outputs = {"read_data": 0, "error": valid}
    if named and named.area and inputs["write"]:
        length, right = named.area
        name = named.name.lower()
        outputs["area"] = pack(
            Area,
            address=inputs[f"{name}__area_address"],
            write=right == Right.WRITE,
            length=getattr(named, length).get(inputs["write_data"]),
            refused=inputs[f"{name}__refuse"],
        )
    else:
        outputs["area"] = 0
    if named and "r" in named.access and not inputs["write"]:
        outputs["read_data"] = inputs[f"{named.bank[0] if named.bank else named.name.lower()}__value"]
    for name in banks(here()):
        outputs[f"{name}__write"] = bool(found and found.bank and found.bank[0] == name and inputs["write"])
    for register in here():
        name = register.name.lower()
        if register.bank:
            if found is register:
                outputs |= {"error": 0, f"{register.bank[0]}__index": register.bank[1]}
                if inputs["write"]:
                    outputs[f"{register.bank[0]}__data"] = inputs["write_data"]
            continue
        if "r" in register.access:
            reads = found is register and not inputs["write"]
            outputs[f"{name}__read"] = reads
            if reads:
                outputs["error"] = 0
        if "w" in register.access:
            writes = found is register and inputs["write"] and not inputs[f"{name}__refuse"]
            outputs[f"{name}__write"] = writes
            if writes:
                outputs |= {"error": 0, f"{name}__data": inputs["write_data"]}
    return outputs


def owners():
    """Inputs that the registers' owners give, at random."""
    values = {f"{name}__value": random.getrandbits(32) for name in banks(here())}
    for register in here():
        if register.bank:
            continue
        if "r" in register.access:
            values[f"{register.name.lower()}__value"] = random.getrandbits(32)
        if "w" in register.access:
            values[f"{register.name.lower()}__refuse"] = random.random() < 0.3
        if register.area:
            values[f"{register.name.lower()}__area_address"] = random.getrandbits(24)
    return values


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def each_access_reaches_the_register_of_the_map_or_is_an_error(dut):
    """addresses.REGISTERS: offset, direction, whole words; what the owner refuses is an error and no write; what may
    not be done is nothing."""
    clock = Lockstep(dut)
    await clock.start("valid", "may", "offset", "write", "select", "write_data")

    def stimuli():
        for _ in range(3000):
            known = random.choice(REGISTERS).offset // 4
            yield owners() | {
                "offset": random.choice([random.randrange(WORDS), random.randrange(32), known]),
                "valid": random.random() < 0.9,
                "may": random.random() < 0.9,
                "write": random.random() < 0.5,
                "write_data": random.getrandbits(32),
                "select": random.choice([15, 15, 15, random.getrandbits(4)]),
            }

    await clock.follow(Reference().step, stimuli())


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def each_word_of_the_region_is_a_register_or_an_error(dut):
    """addresses.REGISTERS: every word of the region, read and written; a word that the map does not name is no
    register's second place."""
    clock = Lockstep(dut)
    await clock.start("valid", "may", "offset", "write", "select", "write_data")
    clock.drive(**owners())
    await clock.follow(
        Reference().step,
        (
            {"valid": 1, "may": 1, "offset": offset, "write": write, "select": 15, "write_data": random.getrandbits(32)}
            for offset in random.sample(range(WORDS), WORDS)
            for write in (0, 1)
        ),
    )


@pytest.mark.parametrize("register", REGISTERS, ids=lambda r: r.name)
def test_the_layout_is_that_of_the_map(register):
    """addresses.Register: every field at its bits, a word in all."""
    shape = layout(register)
    assert Shape.cast(shape).width == 32
    for field in register.fields:
        assert (shape[field.name].offset, shape[field.name].width) == (field.low, field.width)


def test_words_of_a_bank_are_plain_and_numbered_from_zero():
    """addresses.Register, bank: the decoder gives their owner whole words by number, and never asks whether it
    refuses one."""
    found = banks()
    assert found
    for members in found.values():
        assert [register.bank[1] for register in members] == list(range(len(members)))
        assert all(register.access == "rw" and not register.fields and not register.area for register in members)


bench = Bench(__name__, {"decoder": RegisterDecoder, "with VME": lambda: RegisterDecoder(vme=True)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("decoder",)))
def test_registers(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
