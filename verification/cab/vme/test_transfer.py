"""Bench of hdl/cab/vme/transfer.py: which transfers an area becomes, and where the bytes go."""

import random

import cocotb
import pytest
from amaranth.hdl import Const
from cocotb.triggers import RisingEdge

from nectar.hdl.cab.vme.transfer import Job, Transfer
from nectar.verification.bench import Bench
from nectar.verification.cab.vme.attach import Inside
from nectar.verification.cab.vme.hosting import HostPlug

DATA_BYTES = 4096
FAR = 1 << 12


def expected(far, length, modifier, half):
    """The transfers: (address, bytes, modifier, first, last)."""
    transfers, largest = [], 2 if half else 4
    block = modifier & 3 == 3
    inside = False
    while length:
        size = next(size for size in (4, 2, 1) if size <= min(largest, length) and far % size == 0)
        blocks = block and size == largest
        last = not blocks or length - size < largest or (far + size) % 256 == 0
        transfers.append((far, size, modifier if blocks or not block else modifier & ~3 | 1, not inside, last))
        inside = not last
        far, length = far + size, length - size
    return transfers


class BusSide:
    """Takes transfers in random time; the ``fail``-th ends with an error, and then none is taken at once, as a master
    does."""

    def __init__(self, plug):
        self.plug = plug
        self.memory = bytearray(random.randbytes(FAR))
        self.transfers = []
        self.fail = None
        cocotb.start_soon(self._run())

    async def _run(self):
        plug = self.plug
        left, finished = None, None
        plug.put(port__ready=0, port__done=0, port__berr=0, port__timeout=0)
        while True:
            await RisingEdge(plug.dut.clk)
            if plug.get("port__valid") and plug.get("port__ready"):
                assert left is None
                left = random.randint(1, 6)
                finished = self._take()
            done = left == 1
            left = None if done else left and left - 1
            fail = done and finished is None
            timeout = fail and random.randrange(2)
            plug.put(port__ready=left is None and not fail and random.random() < 0.7, port__done=done,
                     port__berr=fail and not timeout, port__timeout=timeout, port__read_data=finished or 0)

    def _take(self):
        get = self.plug.get
        address, size = get("port__address"), 1 << get("port__size")
        at = slice(address % FAR, address % FAR + size)
        self.transfers.append((address, size, get("port__am"), bool(get("port__first")), bool(get("port__last"))))
        if len(self.transfers) - 1 == self.fail:
            return None
        lane = address % 4
        if get("port__write"):
            self.memory[at] = get("port__data").to_bytes(4, "big")[lane:lane + size]
            return 0
        word = bytearray(random.randbytes(4))
        word[lane:lane + size] = self.memory[at]
        return int.from_bytes(word, "big")


async def run(plug, send, near, far, length, modifier, half, stop_after=None):
    """Does a job; (arrived, berr, timeout, stopped)."""
    job = Const({"address": near, "remote": far, "length": length, "modifier": modifier, "half": half, "send": send,
                 "notify": 0}, Job)
    plug.put(job=job.as_value().value, start=1)
    await RisingEdge(plug.dut.clk)
    plug.put(start=0)
    cycles = 0
    while True:
        await RisingEdge(plug.dut.clk)
        cycles += 1
        if plug.get("ended"):
            break
        plug.put(stop=cycles == stop_after)
    result = plug.get("arrived"), plug.get("berr"), plug.get("timeout"), plug.get("stopped")
    plug.put(stop=0)
    await RisingEdge(plug.dut.clk)
    assert not plug.get("busy") and not plug.get("ended")
    return result


@cocotb.test(timeout_time=30, timeout_unit="ms")
async def every_job_becomes_the_right_transfers_and_moves_its_bytes(dut):
    """docs/vme.md, DMA channel: any alignment and length; failures and stops at any time leave what has arrived, exactly."""
    plug = HostPlug(dut)
    plug.put(start=0, stop=0)
    await plug.start()
    inside = Inside(plug, DATA_BYTES, 0.3)
    bus = BusSide(plug)
    ended = {"berr": 0, "timeout": 0, "stopped": 0, "whole": 0}
    for _ in range(220):
        length = random.choice((random.randrange(10), random.randrange(100), random.randrange(600)))
        near, offset = random.randrange(DATA_BYTES - length), random.randrange(FAR - length)
        far = random.getrandbits(20) << 12 | offset
        send, half = random.randrange(2), random.randrange(2)
        modifier = random.choice((0x09, 0x0B, 0x3D, 0x3F))
        wanted = expected(far, length, modifier, half)
        bus.transfers.clear()
        bus.fail = random.randrange(len(wanted)) if wanted and random.random() < 0.2 else None
        stop_after = random.randrange(1, 1000) if random.random() < 0.3 else None
        here, there = bytearray(inside.memory), bytearray(bus.memory)
        inside.slow = random.choice((0, 0.3, 0.8))
        arrived, berr, timeout, stopped = await run(plug, send, near, far, length, modifier, half, stop_after)
        assert bus.transfers == wanted[:len(bus.transfers)]
        if berr or timeout:
            assert len(bus.transfers) - 1 == bus.fail
            assert arrived == sum(size for _, size, *_ in wanted[:bus.fail])
        elif stopped:
            assert arrived == sum(size for _, size, *_ in bus.transfers)
        else:
            assert arrived == length and len(bus.transfers) == len(wanted)
        ended["berr" if berr else "timeout" if timeout else "stopped" if stopped else "whole"] += 1
        if send:
            there[offset:offset + arrived] = here[near:near + arrived]
        else:
            here[near:near + arrived] = there[offset:offset + arrived]
        assert inside.memory == here and bus.memory == there
    assert all(ended.values()), ended


bench = Bench(__name__, {"transfer": lambda: Transfer(DATA_BYTES)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_transfer(configuration, claim):
    """The one claim."""
    bench.check(configuration, claim)


def test_a_memory_of_an_impossible_size_is_refused():
    """docs/cab.md, data memory."""
    with pytest.raises(ValueError, match="data_bytes must be a power of two"):
        Transfer(5000)
