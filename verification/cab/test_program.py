"""Bench of hdl/cab/program.py: PROM and RAM against arrays of words."""

import random

import cocotb
import pytest

from nectar.hdl.cab.program import ProgramMemory
from nectar.verification import seeds
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep

SIZE = 4 << 10
PROMS = {"empty PROM": b"", "short PROM": bytes(range(1, 104)), "long PROM": seeds.rng("PROM").randbytes(5000)}
INPUTS = "valid", "rom", "address", "write", "select", "data", "may"


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def prom_and_ram_give_what_they_hold(dut):
    """C3, docs/cab.md, program memory: an access in every cycle; bytes are selected one by one; a write that may
    not be is not; the PROM beyond its content is zeros."""
    prom = PROMS[inside()]
    clock = Lockstep(dut)
    await clock.start(*INPUTS)
    ram = {}
    expected, written = None, None

    def step(inputs):
        nonlocal expected, written
        if written is not None and inputs["may"]:
            ram.update(written)
        written = None
        outputs = {} if expected is None else {"read_data": expected}
        expected = None
        if inputs["valid"] and inputs["write"]:
            address = inputs["address"] % (SIZE // 4)
            mask = sum(0xFF << 8 * bit for bit in range(4) if inputs["select"] >> bit & 1)
            written = {address: ram.get(address, 0) & ~mask | inputs["data"] & mask}
        elif inputs["valid"] and inputs["rom"]:
            at = 4 * (inputs["address"] % (1 << 15))
            expected = int.from_bytes(prom[at : at + 4].ljust(4, b"\0"), "big")
        elif inputs["valid"]:
            expected = ram[inputs["address"] % (SIZE // 4)]
        return outputs

    def stimuli():
        for address in range(64):
            yield {
                "valid": 1,
                "rom": 0,
                "write": 1,
                "select": 15,
                "may": 1,
                "address": address,
                "data": random.getrandbits(32),
            }
        yield dict.fromkeys(INPUTS, 0) | {"may": 1}  # whether a write may be is said in the cycle after it
        for _ in range(4000):
            kind = random.choice(["rom", "read", "write"])
            rom = (
                random.choice([random.randrange(32), random.randrange(1500), random.getrandbits(15)])
                | random.getrandbits(2) << 15
            )
            yield {
                "valid": random.random() < 0.8,
                "may": random.random() < 0.8,
                "rom": kind == "rom",
                "write": kind == "write",
                "select": random.getrandbits(4),
                "address": rom if kind == "rom" else random.randrange(64) | random.getrandbits(5) << 10,
                "data": random.getrandbits(32),
            }

    await clock.follow(step, stimuli())


bench = Bench(
    __name__, {name: lambda prom=prom: ProgramMemory(SIZE, prom) for name, prom in PROMS.items()}, ports_only=True
)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("long PROM", "empty PROM")))
def test_program(configuration, claim):
    """Each claim on each content."""
    bench.check(configuration, claim)


@pytest.mark.parametrize("program_bytes", [0, 2048, 5000, 1 << 20])
def test_another_size_is_refused(program_bytes):
    """docs/cab.md, program memory: a power of two from 4 to 512 kbyte."""
    with pytest.raises(
        ValueError, match=f"program_bytes must be a power of two from 4096 to 524288, not {program_bytes}"
    ):
        ProgramMemory(program_bytes)


def test_another_content_is_refused():
    """128 kbyte of bytes, no more, nothing else."""
    with pytest.raises(ValueError, match="prom has 131073 bytes; there is room for 131072"):
        ProgramMemory(SIZE, bytes(131073))
    with pytest.raises(TypeError, match="prom must be bytes, not str"):
        ProgramMemory(SIZE, "boot")
    with pytest.raises(TypeError, match="program_bytes must be an integer, not '4k'"):
        ProgramMemory("4k")
