"""Bench of hdl/cab/packet_receiver.py: packets from the head of the queue to memory, against the reference model."""

import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.cab.addresses import HEADER_BYTES, LENGTH_BITS, REG, REGIONS, Check
from nectar.hdl.cab.packet_receiver import RECEIVER_REGISTERS, PacketReceiver, Queued
from nectar.hdl.link.symbol import Control, packet
from nectar.verification.bench import Bench
from nectar.verification.cab.contents import put, random_arrival, with_crc, with_sum
from nectar.verification.cab.ports import RegisterPorts
from nectar.verification.cab.reference import Board, BusFault
from nectar.verification.cab.structures import pack

SIZE = 4 << 10
DATA = REGIONS["data"].base
READABLE = [name.upper() for name in RECEIVER_REGISTERS if "r" in REG[name.upper()].access]


class Queue(RegisterPorts):
    """The input queue before it, the store behind it."""

    def __init__(self, dut):
        super().__init__(
            dut,
            [name.upper() for name in RECEIVER_REGISTERS],
            ("queue__valid", "queue__payload", "start", "discard", "reset", "store_ready", "exhausted", "store_empty"),
        )
        self.queue = deque()  # (symbol, lost), or None for a cycle without
        self.memory = {}
        self.address = self.left = 0
        self.ready = 1.0  # the chance that the store takes a byte
        self.flushed = True
        self.counts = {"stray": 0, "cut": 0}
        self.moved = True
        self.taken = []  # cycles
        self.told = []  # bytes stored when the threshold was told of

    def before(self):
        self.clock.drive(
            store_ready=self.left > 0 and random.random() < self.ready,
            exhausted=self.left == 0,
            store_empty=self.flushed,
        )
        if self.queue and self.queue[0] is None:
            self.queue.popleft()
            self.clock.drive(queue__valid=0)
            self.offered = False
        else:
            self.offered = bool(self.queue)
            symbol, lost = self.queue[0] if self.queue else (random.getrandbits(9), random.getrandbits(1))
            self.clock.drive(queue__valid=self.offered, queue__payload=pack(Queued, symbol=int(symbol), lost=lost))

    def after(self):
        if self.offered and self.pin("queue__ready"):
            self.queue.popleft()
            self.taken.append(self.clock.cycles)
        self.moved = (
            bool(self.pin("moves"))
            or not self.offered
            and bool(self.queue)
            or bool(self.left and self.pin("storing") and self.offered)
        )
        for name in self.counts:
            self.counts[name] += self.pin(name)
        if self.pin("over"):
            self.left = 0
        if self.pin("flush"):
            self.flushed = random.random() < self.ready
        if self.pin("store"):
            assert not self.pin("flush"), "the last bytes are given before what is there is written"
        if self.pin("store") and self.clock.inputs["store_ready"]:
            self.memory[self.address] = self.pin("store_byte")
            self.address += 1
            self.left -= 1
            self.flushed = self.ready == 1
        if self.pin("threshold"):
            self.told.append(len(self.memory))

    async def settle(self):
        """Until nothing moves."""
        self.moved = True
        while self.moved:
            await self.cycle()

    async def begin(self, address, limit):
        """Software has answered: the store has an area."""
        await self.pulse("start")
        self.address, self.left = address - DATA, limit

    async def pulse(self, name):
        """``start``, ``discard`` or ``reset`` for a cycle."""
        if name == "reset":
            self.queue.clear()
        self.clock.drive(**{name: 1})
        await self.cycle()
        self.clock.drive(**{name: 0})


async def compare(queue, model):
    """What both show when nothing moves."""
    await queue.settle()
    assert [pair for pair in queue.queue if pair] == list(model.queue)
    for name in READABLE:
        if name != "RX_QUEUE":
            assert await queue.read(name) == model.read(REG[name].address), name
    packet_, status = model.packet, model.read(REG["RX_STATUS"].address)
    assert queue.pin("packet") == (packet_ is not None and packet_.waits)
    assert queue.pin("received") == (model.result is not None)
    assert queue.pin("open") == REG["RX_STATUS"].open.get(status) and queue.pin("storing") == REG["RX_STATUS"].dma.get(
        status
    )
    assert queue.counts == {"stray": model.counts["stray"], "cut": model.counts["framing"]}
    if packet_ is None:
        assert queue.memory == {at: model.data[at] for at in queue.memory}
    if model.result is not None:
        assert len(queue.memory) == REG["RX_RESULT"].length.get(model.result)


def control(model, name, value):
    """Writes a register of the model; whether it takes the value."""
    try:
        model.write(REG[name].address, value)
    except BusFault:
        return False
    return True


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def packets_are_taken_as_the_specification_says(dut):
    """docs/cab.md, fiber in 2 to 4: good packets and bad, marks of lost symbols, answers of all kinds, discards,
    resets, modes."""
    queue, model = Queue(dut), Board(SIZE)
    await queue.start()
    done = dict.fromkeys(("arrive", "start", "discard", "release", "reset", "mode"), 0)
    for _ in range(1500):
        queue.ready = random.choice([1, 0.7, 0.3])
        # The counters of the model stop at 255; those of the bench do not.
        for name in ("stray", "framing"):
            if model.counts[name] > 200:
                queue.counts["stray" if name == "stray" else "cut"] -= model.counts[name]
                model.counts[name] = 0
        kind = random.choices(["arrive", "start", "discard", "release", "reset", "mode"], [10, 10, 1, 8, 0.3, 1])[0]
        if kind == "arrive":
            arrival = random_arrival()
            if len(model.queue) + len(arrival) > 2000:
                continue
            density = random.choice([1, 0.5])
            for symbol in arrival:
                if symbol < 0x100 or symbol in (Control.START, Control.END):
                    lost = random.random() < 0.003
                    model.queue.append((int(symbol), lost))
                    while random.random() >= density:
                        queue.queue.append(None)
                    queue.queue.append((int(symbol), lost))
            model._settle()
        elif kind == "start":
            limit = random.choice([0, 1, 5, random.randrange(100), random.randrange(1500)])
            address = DATA + random.choice([random.randrange(SIZE), SIZE - limit, SIZE - limit + 1])
            assert control(model, "RX_ADDRESS", address)
            if not control(model, "RX_START", put("RX_START", limit=limit)):
                continue
            assert queue.pin("packet")
            await queue.begin(address, limit)
        elif kind == "mode":
            mode = put(
                "RX_MODE",
                check=random.randrange(4),
                skip=random.choice([0, 5, 16, 17, random.randrange(17)]),
                direct=random.random() < 0.2,
            )
            assert await queue.write("RX_MODE", mode) == control(model, "RX_MODE", mode)
            await queue.settle()
            queue.queue = deque(entry for entry in queue.queue if entry)  # no pauses, where software does not wait
            for _ in range(random.choice([0, 30])):
                assert await queue.read("RX_QUEUE") == model.read(REG["RX_QUEUE"].address)
                model._settle()
        elif kind == "release":
            if model.result is not None:
                queue.memory.clear()
            assert await queue.write("RX_RELEASE", random.getrandbits(32)) and control(model, "RX_RELEASE", 0)
        else:
            model.write(REG["RX_CONTROL"].address, put("RX_CONTROL", **{kind: 1}))
            await queue.pulse(kind)
            if kind == "reset" and model.result is None:
                queue.memory.clear()
        done[kind] += 1
        await compare(queue, model)
    assert min(done.values()) > 3 and done["start"] > 50, done


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_packet_is_taken_at_a_symbol_a_cycle(dut):
    """C1: the DMA takes a symbol in every cycle; RECEIVED comes three cycles after the end, with the last byte in the
    store."""
    queue = Queue(dut)
    await queue.start()
    data = random.randbytes(1000)
    queue.queue.extend((int(symbol), 0) for symbol in packet(with_crc(data)))
    await queue.settle()
    assert len(queue.taken) == 1 + HEADER_BYTES + 4 and queue.pin("packet")
    queue.taken.clear()
    await queue.begin(DATA + 5, 2000)
    while not queue.pin("received"):
        await queue.cycle()
    rest = len(data) + 5 - 4 - HEADER_BYTES + 4 - 4
    assert (
        queue.taken == list(range(queue.taken[0], queue.taken[0] + rest)) and queue.clock.cycles - queue.taken[-1] == 3
    )
    assert bytes(queue.memory[5 + at] for at in range(len(data) - HEADER_BYTES)) == data[HEADER_BYTES:]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_checksum_is_right_in_all_its_bits_or_wrong(dut):
    """docs/cab.md, fiber in 1 and 4: RX_RESULT.crc_bad, for both kinds of checksum: some that are right, and each bit
    of one inverted."""
    queue = Queue(dut)
    await queue.start()
    for check, sealed, bits in ((Check.CRC32, with_crc, 32), (Check.INTERNET, with_sum, 16)):
        assert await queue.write("RX_MODE", put("RX_MODE", check=check))
        for bit in (*[None] * 12, *range(bits)):
            data = sealed(random.randbytes(HEADER_BYTES + random.randrange(1, 9)))
            if bit is not None:
                data = (int.from_bytes(data, "big") ^ 1 << bit).to_bytes(len(data), "big")
            queue.queue.extend((int(symbol), 0) for symbol in packet(data))
            await queue.settle()
            await queue.begin(DATA, 100)
            await queue.settle()
            assert REG["RX_RESULT"].crc_bad.get(await queue.read("RX_RESULT")) == (bit is not None), (check, bit)
            await queue.write("RX_RELEASE")


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def the_threshold_is_told_of_when_it_is_reached(dut):
    """docs/cab.md, fiber in 4: RX_THRESHOLD becomes pending when RX_PROGRESS reaches the register, once in a packet;
    0 is never reached."""
    queue = Queue(dut)
    await queue.start()
    length = 100
    for threshold in (
        0,
        1,
        2,
        random.randrange(3, length),
        length,
        length + 1,
        *(length + (1 << bit) for bit in range(7, LENGTH_BITS)),
        *(random.randrange(length) ^ 1 << bit for bit in range(7, LENGTH_BITS)),
    ):
        assert await queue.write("RX_THRESHOLD", threshold) and await queue.read("RX_THRESHOLD") == threshold
        await queue.run(random.randrange(3))
        assert await queue.read("RX_THRESHOLD") == threshold
        queue.ready = random.choice([1, 0.7])
        queue.queue.extend((int(symbol), 0) for symbol in packet(with_crc(random.randbytes(HEADER_BYTES + length))))
        await queue.settle()
        await queue.begin(DATA, length)
        await queue.settle()
        assert queue.pin("received") and queue.told == [threshold] * (0 < threshold <= length)
        queue.memory.clear(), queue.told.clear()
        await queue.write("RX_RELEASE")


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_reset_forgets_a_packet_that_is_not_received_yet(dut):
    """docs/cab.md, RX_CONTROL.reset: in whatever cycle it comes the packet under way is forgotten; one that RECEIVED
    tells of already stays."""
    queue = Queue(dut)
    await queue.start()
    seen = set()
    for delay in range(16):
        data = random.randbytes(HEADER_BYTES + 4)
        queue.queue.extend((int(symbol), 0) for symbol in packet(with_crc(data)))
        await queue.settle()
        assert queue.pin("packet")
        await queue.begin(DATA, 100)
        await queue.run(delay)
        received = queue.pin("received")
        await queue.pulse("reset")
        await queue.run(3)
        assert queue.pin("received") == received and not queue.pin("open") and not queue.pin("packet")
        assert await queue.read("RX_RESULT") == (put("RX_RESULT", length=4, header=HEADER_BYTES) if received else 0)
        await queue.write("RX_RELEASE")
        seen.add(received)
    assert seen == {0, 1}


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_long_packet_is_counted_to_its_last_byte(dut):
    """docs/cab.md, fiber in 3 and 4: RX_PROGRESS counts every byte stored, and keeps the count behind the packet,
    whatever the mode."""
    queue = Queue(dut)
    await queue.start()
    length = (1 << 18) + random.randrange(1 << 13, 1 << 14)
    assert await queue.write("RX_MODE", put("RX_MODE", check=Check.NONE))
    queue.queue.extend((int(symbol), 0) for symbol in [Control.START, *bytes(HEADER_BYTES)])
    await queue.settle()
    await queue.begin(DATA, length)
    # The same byte in each cycle.
    queue.clock.drive(
        queue__valid=1, queue__payload=pack(Queued, symbol=0x5A), store_ready=1, exhausted=0, store_empty=1
    )
    await queue.clock.run(length)
    queue.left = 1
    queue.queue.append((int(Control.END), 0))
    await queue.settle()
    assert await queue.read("RX_RESULT") == put("RX_RESULT", length=length, header=HEADER_BYTES)
    for direct in (0, 1, 0):
        assert await queue.write("RX_MODE", put("RX_MODE", direct=direct))
        await queue.run(2)
        assert await queue.read("RX_PROGRESS") == length


bench = Bench(__name__, {"receiver": PacketReceiver}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("a_long_packet_is_counted_to_its_last_byte",)))
def test_packet_receiver(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
