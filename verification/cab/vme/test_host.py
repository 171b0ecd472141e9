"""Bench of hdl/cab/vme/host.py: Wishbone cycles become accesses."""

import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from nectar.hdl.cab.vme.host import HostPort
from nectar.verification.bench import Bench
from nectar.verification.cab.vme.attach import Inside
from nectar.verification.cab.vme.hosting import Host, HostPlug

MAP = 0x100000
LOCK_CYCLES = 40


async def start(dut, slow=0.3):
    plug = HostPlug(dut)
    await plug.start()
    return Host(plug), Inside(plug, 1024, slow)


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def every_access_reaches_its_bytes(dut):
    """docs/vme.md, host port: bytes, words and holes, in a row and with pauses, against a memory in Python."""
    host, inside = await start(dut, random.choice((0, 0.3, 0.7)))
    model = bytearray(inside.memory)
    for _ in range(300):
        at, select, value = random.randrange(256) * 4, random.randrange(1, 16), random.getrandbits(32)
        hole = random.random() < 0.1
        write = random.random() < 0.5
        good, read = await host.access((0x50000 if hole else MAP) + at, value if write else None, select)
        assert good != hole
        if write and good:
            for lane in range(4):
                if select >> 3 - lane & 1:
                    model[at + lane] = value.to_bytes(4, "big")[lane]
        elif good:
            assert read == int.from_bytes(model[at:at + 4], "big")
        for _ in range(random.choice((0, 0, 3))):
            await RisingEdge(dut.clk)
    assert inside.memory == model


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def a_locked_pair_is_indivisible(dut):
    """docs/vme.md, host port: the CPU comes not between a read and a write under ``lock``. Both count up the same word."""
    host, inside = await start(dut, 0.5)
    inside.memory[:4] = bytes(4)
    counted = [0]

    def cpu():
        if random.random() < 0.2:
            counted[0] += 1
            inside.memory[:4] = (int.from_bytes(inside.memory[:4], "big") + 1).to_bytes(4, "big")

    inside.cpu = cpu
    for _ in range(80):
        host.lock(1)
        good, value = await host.access(MAP)
        assert good and (await host.access(MAP, value + 1))[0]
        host.lock(0)
        counted[0] += 1
        for _ in range(3):
            await RisingEdge(dut.clk)
    inside.cpu = lambda: None
    assert int.from_bytes(inside.memory[:4], "big") == counted[0]


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def a_lock_that_lasts_too_long_is_broken(dut):
    """docs/vme.md, host port: the CPU waits at most so long; the next access under the same lock is an error."""
    host, inside = await start(dut)
    for wait in (5, LOCK_CYCLES + 5):
        host.lock(1)
        assert (await host.access(MAP))[0]
        for _ in range(wait):
            await RisingEdge(dut.clk)
        before = bytes(inside.memory)
        assert (await host.access(MAP, 1))[0] == (wait < LOCK_CYCLES)
        assert wait < LOCK_CYCLES or inside.memory == before
        host.lock(0)
        for _ in range(4):
            await RisingEdge(dut.clk)
    assert (await host.access(MAP, 2))[0]
    assert max(inside.lock_lengths) <= LOCK_CYCLES + 15


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def a_host_that_goes_away_is_not_answered(dut):
    """docs/vme.md, host port: an access that was withdrawn gives no ack, and the next one gets its own answer."""
    host, inside = await start(dut)
    for _ in range(100):
        at = random.randrange(256) * 4
        await host.withdraw(MAP + random.randrange(256) * 4, random.randrange(1, 6))
        good, read = await host.access(MAP + at)
        assert good and read == int.from_bytes(inside.memory[at:at + 4], "big")


bench = Bench(__name__, {"host": lambda: HostPort(LOCK_CYCLES)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_host(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)


def test_a_lock_of_no_cycles_is_refused():
    """The docstring's Raises."""
    with pytest.raises(ValueError, match="lock_cycles must be at least 1, not 0"):
        HostPort(0)
