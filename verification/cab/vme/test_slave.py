"""Bench of hdl/cab/vme/slave.py: what other masters read and write through it."""

import random

import cocotb
import pytest

from nectar.hdl.cab.vme.numbers import Modifier
from nectar.hdl.cab.vme.slave import VmeSlave
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.vme.boards import BusMaster, BusSlave
from nectar.verification.cab.vme.rig import A24_BASE, A32_BASE, DATA_BYTES, Rig, configurations
from nectar.verification.cab.vme.waiting import between, pause

MAP = 0x100000       # data memory in the board's map


async def rig_with_bus(dut, **options):
    rig = await Rig(dut, inside(), **options).start()
    await rig.node.get_bus()
    return rig


def some_place(size):
    base = random.choice((A24_BASE, A32_BASE))
    modifier = random.choice([m for m in Modifier if m.name.startswith("A24" if base == A24_BASE else "A32")
                              and not m.name.endswith("BLOCK")])
    return random.randrange(DATA_BYTES // size) * size, base, modifier


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def single_transfers_reach_the_bytes_that_they_name(dut):
    """C7: D08(EO), D16 and D32, A24 and A32, against a memory in Python; the bus rules are kept."""
    rig = await rig_with_bus(dut)
    model = bytearray(rig.inside.memory)
    for _ in range(150):
        master = BusMaster(rig.bus, slack=random.choice((1, 60, 400)))
        size = random.choice((1, 2, 4))
        offset, base, modifier = some_place(size)
        address = base + MAP + offset
        if random.random() < 0.5:
            value = random.getrandbits(8 * size)
            answer = await master.write(address, value, size, modifier)
            model[offset:offset + size] = value.to_bytes(size, "big")
        else:
            answer = await master.read(address, size, modifier)
            assert answer.value == int.from_bytes(model[offset:offset + size], "big")
            assert rig.inside.accesses[-1][2] == modifier.name.endswith("PROGRAM")
        assert answer.good
    assert rig.inside.memory == model
    rig.checker.done()


bench = Bench(__name__, configurations(), ports_only=True, share="vme")


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_slave(configuration, claim):
    """Each claim at each clock."""
    bench.check(configuration, claim)
