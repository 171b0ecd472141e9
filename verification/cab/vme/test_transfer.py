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
        self.most = 6  # cycles that a transfer takes
        cocotb.start_soon(self._run())

    async def _run(self):
        plug = self.plug
        left, finished = None, None
        plug.put(port__ready=0, port__done=0, port__berr=0, port__timeout=0)
        while True:
            await RisingEdge(plug.dut.clk)
            if plug.get("port__valid") and plug.get("port__ready"):
                assert left is None
                left = random.randint(1, self.most)
                finished = self._take()
            done = left == 1
            left = None if done else left and left - 1
            fail = done and finished is None
            timeout = fail and random.randrange(2)
            plug.put(
                port__ready=left is None and not fail and random.random() < 0.7,
                port__done=done,
                port__berr=fail and not timeout,
                port__timeout=timeout,
                port__read_data=finished or 0,
            )

    def _take(self):
        get = self.plug.get
        address, size = get("port__address"), 1 << get("port__size")
        at = slice(address % FAR, address % FAR + size)
        self.transfers.append((address, size, get("port__am"), bool(get("port__first")), bool(get("port__last"))))
        if len(self.transfers) - 1 == self.fail:
            return None
        lane = address % 4
        if get("port__write"):
            self.memory[at] = get("port__data").to_bytes(4, "big")[lane : lane + size]
            return 0
        word = bytearray(random.randbytes(4))
        word[lane : lane + size] = self.memory[at]
        return int.from_bytes(word, "big")


class Slots:
    """Records the slots of data memory that are used: (word, whether it is written, lanes that are written)."""

    def __init__(self, plug):
        self.plug, self.used = plug, []
        self.task = cocotb.start_soon(self._run())

    async def _run(self):
        get = self.plug.get
        while True:
            await RisingEdge(self.plug.dut.clk)
            if get("memory__valid") and get("memory__ready"):
                write = get("memory__write")
                self.used.append((get("memory__address"), write, get("memory__select") if write else 15))


def slots(send, near, length):
    """Which slots an area takes: each word of it once, in order."""
    used = []
    while length:
        count = min(4 - near % 4, length)
        lanes = sum(8 >> lane for lane in range(near % 4, near % 4 + count))
        used.append((near % DATA_BYTES // 4, 1 - send, 15 if send else lanes))
        near, length = near + count, length - count
    return used


async def start(dut):
    """The component out of reset, with memory, bus and a record of slots."""
    plug = HostPlug(dut)
    plug.put(start=0, stop=0)
    await plug.start()
    assert not plug.get("busy") and not plug.get("arrived")
    return plug, Inside(plug, DATA_BYTES, 0), BusSide(plug), Slots(plug)


async def run(plug, send, near, far, length, modifier, half, stop_after=None):
    """Does a job; (arrived, berr, timeout, stopped)."""
    job = Const(
        {
            "address": near,
            "remote": far,
            "length": length,
            "modifier": modifier,
            "half": half,
            "send": send,
            "notify": 0,
        },
        Job,
    )
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
    """docs/vme.md, DMA channel: any alignment and length; failures and stops at any time leave what has arrived,
    exactly."""
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
        assert bus.transfers == wanted[: len(bus.transfers)]
        if berr or timeout:
            assert len(bus.transfers) - 1 == bus.fail
            assert arrived == sum(size for _, size, *_ in wanted[: bus.fail])
        elif stopped:
            assert arrived == sum(size for _, size, *_ in bus.transfers)
        else:
            assert arrived == length and len(bus.transfers) == len(wanted)
        ended["berr" if berr else "timeout" if timeout else "stopped" if stopped else "whole"] += 1
        if send:
            there[offset : offset + arrived] = here[near : near + arrived]
        else:
            here[near : near + arrived] = there[offset : offset + arrived]
        assert inside.memory == here and bus.memory == there
    assert all(ended.values()), ended


@cocotb.test(timeout_time=30, timeout_unit="ms")
async def every_alignment_of_a_few_bytes_takes_its_words_once(dut):
    """docs/vme.md, DMA channel: no byte of memory beside the area is read or written, and each word once, whatever
    the alignment; in areas as large as the memory, too."""
    plug, inside, bus, record = await start(dut)
    jobs = [
        (send, near, far, length) for send in (0, 1) for near in range(4) for far in range(4) for length in range(7)
    ]
    random.shuffle(jobs)
    whole = [
        (send, 0, random.randrange(4), length)
        for send, length in ((0, DATA_BYTES), (1, DATA_BYTES - 1), (random.randrange(2), 3000))
    ]
    for send, near, far, length in jobs + whole:
        bus.most = 6 if length < 9 else 1
        near, far = (
            near + 4 * random.randrange((DATA_BYTES - near - length) // 4 + 1),
            far + 4 * random.randrange(4, 16),
        )
        bus.memory[:] = random.randbytes(len(bus.memory)) if length < 9 else bus.memory
        here, there = bytearray(inside.memory), bytearray(bus.memory)
        record.used.clear()
        bus.transfers.clear()
        modifier, half = random.choice((0x09, 0x0B)), random.randrange(2) if length < 9 else 0
        assert await run(plug, send, near, far, length, modifier, half) == (length, 0, 0, 0)
        assert record.used == slots(send, near, length)
        assert bus.transfers == expected(far, length, modifier, half)
        for at in range(length):
            if send:
                there[(far + at) % FAR] = here[near + at]
            else:
                here[near + at] = there[(far + at) % FAR]
        assert inside.memory == here and bus.memory == there


@cocotb.test(timeout_time=30, timeout_unit="ms")
async def a_length_has_twenty_bits(dut):
    """docs/vme.md, DMA channel: 0 to 2**20 - 1 bytes. A long job does not end until it is stopped, soon, and has then
    moved its first bytes; one of 17 or 34 kbyte tells all along how many have arrived. An area of the transfer that is
    longer than the memory goes on at its beginning (the channel refuses such)."""
    plug, inside, bus, record = await start(dut)
    bus.most = 1
    for bit in range(9, 20):
        for send, more in ((0, 0), (0, 8), (1, 0), (1, 8), (random.randrange(2), random.randrange(1 << bit))):
            length = (1 << bit) + more
            bus.transfers.clear()
            record.used.clear()
            near = 4 * random.randrange(DATA_BYTES // 4)
            arrived, berr, timeout, stopped = await run(plug, send, near, 0x1000, length, 0x09, 0, 80)
            assert stopped and not berr and not timeout and 20 <= arrived <= 320 and len(bus.transfers) * 4 == arrived
            assert (
                record.used == slots(send, near, 4 * len(record.used))
                and arrived <= 4 * len(record.used) <= arrived + 16
            )
    record.task.cancel()
    for send, length in zip(random.sample((0, 1), 2), (17_000, 34_000), strict=True):
        told = [0]

        async def watch(told=told):
            while True:
                await RisingEdge(plug.dut.clk)
                arrived = plug.get("arrived")
                assert told[-1] <= arrived <= told[-1] + 4, "no more than a word in a cycle"
                told.append(arrived)

        job = cocotb.start_soon(run(plug, send, 0, 0, length, 0x0B, 0))
        await RisingEdge(plug.dut.clk)
        await RisingEdge(plug.dut.clk)
        task = cocotb.start_soon(watch())
        assert await job == (length, 0, 0, 0)
        task.cancel()
        assert told[-1] == length


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def a_reset_ends_a_job_and_the_next_is_like_the_first(dut):
    """docs/vme.md, reset of the board: in every state of a job; nothing is asked of bus or memory, nothing has
    arrived."""
    plug, inside, bus, record = await start(dut)
    for number in range(40):
        send = number & 1
        job = Const(
            {
                "address": 1,
                "remote": 0xFFFFF001,
                "length": 300,
                "modifier": 0x3F,
                "half": number >> 1 & 1,
                "send": send,
                "notify": 0,
            },
            Job,
        )
        plug.put(job=job.as_value().value, start=1)
        await RisingEdge(plug.dut.clk)
        plug.put(start=0)
        for _ in range(number):
            await RisingEdge(plug.dut.clk)
        plug.put(rst=1, stop=number % 3 == 0)
        await RisingEdge(plug.dut.clk)
        plug.put(stop=0)
        for _ in range(8):
            await RisingEdge(plug.dut.clk)  # the master ends what it has taken
            assert not any(
                plug.get(name)
                for name in ("busy", "ended", "arrived", "berr", "timeout", "stopped", "port__valid", "memory__valid")
            )
        plug.put(rst=0)
        record.used.clear()
        bus.transfers.clear()
        here, there = bytearray(inside.memory), bytearray(bus.memory)
        near, far, length = random.randrange(64), random.randrange(64), random.randrange(1, 40)
        assert await run(plug, send, near, far, length, 0x09, 0) == (length, 0, 0, 0)
        assert bus.transfers == expected(far, length, 0x09, 0) and record.used == slots(send, near, length)
        assert (
            (bus.memory[far : far + length] == here[near : near + length])
            if send
            else (inside.memory[near : near + length] == there[far : far + length])
        )


bench = Bench(__name__, {"transfer": lambda: Transfer(DATA_BYTES)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("a_length_has_twenty_bits",)))
def test_transfer(configuration, claim):
    """The one claim."""
    bench.check(configuration, claim)


def test_a_memory_of_an_impossible_size_is_refused():
    """docs/cab.md, data memory."""
    with pytest.raises(ValueError, match="data_bytes must be a power of two"):
        Transfer(5000)
