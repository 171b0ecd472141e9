"""Bench of hdl/ipsc2/node/node.py: two nodes with their routers exchange messages, as software on their CPU buses sees
it."""

import random

import cocotb
import pytest

from nectar.hdl.ipsc2.node.registers import REG, Irq
from nectar.verification.bench import Bench
from nectar.verification.harness import StepClock
from nectar.verification.ipsc2.node.pair import Pair

SIZE = 1 << 13
PINS = "valid", "address", "write", "select", "write_data"
#: Places in memory: what is sent, heads, bodies.
SEND, HEAD, BODY = 0x0, 0xC00, 0x1000
#: Words of a head: a short message of 100 bytes behind its probe.
HEAD_WORDS = 26
CLOCK_HZ = 16_000_000


class Nodes:
    """The CPUs of both nodes."""

    def __init__(self, dut):
        self.clock = StepClock(dut)

    async def start(self):
        """Reset."""
        await self.clock.start(*(f"node_{n}__{pin}" for n in range(2) for pin in PINS), "cut", "spoil")

    async def access(self, node, address, write=0, data=0, error=0):
        """An access of a whole word; what was read."""
        name = f"node_{node}__"
        values = {"valid": 1, "address": address, "write": write, "select": 15, "write_data": data}
        self.clock.drive(**{name + pin: value for pin, value in values.items()})
        for _ in range(40):
            await self.clock.settle()
            taken = self.clock.pin(name + "ready")
            await self.clock.edge()
            if taken:
                break
        else:
            raise AssertionError("the access is not taken")
        self.clock.drive(**{name + "valid": 0})
        for _ in range(8):
            await self.clock.settle()
            done, value, failed = (self.clock.pin(name + pin) for pin in ("done", "read_data", "error"))
            await self.clock.edge()
            if done:
                assert failed == error, f"{address:#x}"
                return value
        raise AssertionError("the access is not done")

    async def read(self, node, name):
        """A register."""
        return await self.access(node, REG[name].address)

    async def write(self, node, name, value, error=0):
        """Writes a register."""
        await self.access(node, REG[name].address, 1, value, error)

    async def put(self, node, address, words):
        """Writes words to memory."""
        for place, word in enumerate(words):
            await self.access(node, address + 4 * place, 1, word)

    async def get(self, node, address, count):
        """Words of memory."""
        return [await self.access(node, address + 4 * place) for place in range(count)]

    async def arm(self, node, head=HEAD_WORDS, body=0):
        """A place for a message."""
        await self.write(node, "IN_BODY_ADDRESS", BODY)
        await self.write(node, "IN_BODY", body)
        await self.write(node, "IN_HEAD_ADDRESS", HEAD)
        await self.write(node, "IN_HEAD", head)

    async def send(self, node, *areas):
        """Areas (address, words) of memory make a message."""
        for n, (address, words) in enumerate(areas):
            await self.write(node, "OUT_ADDRESS", address)
            await self.write(node, "OUT_AREA", words | (n == len(areas) - 1) << 31)

    async def pending(self, node, irq, limit=6000):
        """Until an interrupt is pending; clears it. The cycles that it took."""
        await self.write(node, "IRQ_ENABLE", 1 << irq)
        cycles = 0
        while True:
            await self.clock.settle()
            if self.clock.pin("irq") >> node & 1:
                break
            await self.clock.edge()
            cycles += 1
            assert cycles < limit, f"no {irq.name}"
        await self.write(node, "IRQ_PENDING", 1 << irq)
        return cycles

    async def receive(self, node, head=HEAD_WORDS):
        """A message that arrives: its words that were stored, and IN_RESULT."""
        await self.pending(node, Irq.ARRIVED)
        result = await self.read(node, "IN_RESULT")
        count = result & 0x3FFFFF
        words = await self.get(node, HEAD, min(count, head))
        return words + await self.get(node, BODY, max(0, count - head)), result


def flag(name):
    """A field of IN_RESULT."""
    return REG["IN_RESULT"].field(name).mask


def message(count):
    """For the other node: the probe is 1."""
    return [random.getrandbits(16) << 16 | 1, *(random.getrandbits(32) for _ in range(count - 1))]


@cocotb.test(timeout_time=40, timeout_unit="ms")
async def messages_of_all_sizes_arrive_in_head_and_body(dut):
    """D2, D4, D5; docs/ipsc2-node.md, "DMA": both ways at once, from one or two areas."""
    nodes = Nodes(dut)
    await nodes.start()
    for count in (1, 2, 25, 26, 27, 64, 200):
        both = [message(count), message(count)]
        for node, words in enumerate(both):
            await nodes.put(node, SEND, words)
            await nodes.arm(node, body=512)
        for node in range(2):
            cut = random.randrange(1, count) if count > 1 else 0
            await nodes.send(node, *([(SEND, cut)] if cut else []), (SEND + 4 * cut, count - cut))
        for node in range(2):
            words, result = await nodes.receive(node)
            wrong = [place for place, word in enumerate(both[1 - node]) if words[place : place + 1] != [word]]
            assert not wrong and len(words) == count, f"{count} words: {wrong} are wrong"
            assert result == count | flag("valid") | (count > HEAD_WORDS) * flag("in_body")
            await nodes.pending(node, Irq.SENT)
            assert await nodes.read(node, "IN_BODY") == (0 if count > HEAD_WORDS else 512)
            assert not await nodes.read(node, "IRQ_PENDING") & ~(1 << Irq.ARRIVED)
    await nodes.clock.run(4)
    assert nodes.clock.pin("idle") == 3


@cocotb.test(timeout_time=40, timeout_unit="ms")
async def the_network_runs_at_its_full_rate(dut):
    """D1, D4: 2.8 Mbyte/s, though DMA of both directions shares the bus with the CPU."""
    nodes = Nodes(dut)
    await nodes.start()
    count = 300
    for node in range(2):
        await nodes.put(node, SEND, message(count))
        await nodes.arm(node, body=512)
    for node in range(2):
        await nodes.send(node, (SEND, count))
    begun = nodes.clock.cycles
    while not await nodes.read(0, "IRQ_PENDING") >> Irq.ARRIVED & 1:
        pass
    rate = 4 * count / (nodes.clock.cycles - begun) * CLOCK_HZ
    assert 2.7e6 <= rate <= 2.8e6, rate


@cocotb.test(timeout_time=40, timeout_unit="ms")
async def a_message_waits_for_its_place_and_nothing_is_lost(dut):
    """D3; docs/ipsc2-node.md, "Deserializer": the FIFO never overflows; who is not ready holds the source."""
    nodes = Nodes(dut)
    await nodes.start()
    sent = message(150)
    await nodes.put(0, SEND, sent)
    await nodes.send(0, (SEND, 150))
    await nodes.clock.run(3000)
    status = await nodes.read(0, "STATUS")
    assert REG["STATUS"].field("granted").get(status) and not REG["STATUS"].field("allowed").get(status)
    status = await nodes.read(1, "STATUS")
    assert REG["STATUS"].field("receiving").get(status) and 20 < REG["STATUS"].field("in_words").get(status) <= 32
    await nodes.arm(1, body=512)
    words, result = await nodes.receive(1)
    assert words == sent and not result & flag("bad")


@cocotb.test(timeout_time=40, timeout_unit="ms")
async def what_has_no_place_is_dropped_and_told(dut):
    """docs/ipsc2-node.md, "DMA"; areas outside of memory are refused before anything moves."""
    nodes = Nodes(dut)
    await nodes.start()
    sent = message(40)
    await nodes.put(0, SEND, sent)
    await nodes.arm(1, body=5)
    await nodes.send(0, (SEND, 40))
    words, result = await nodes.receive(1)
    assert words == sent[: HEAD_WORDS + 5]
    assert result == HEAD_WORDS + 5 | flag("valid") | flag("in_body") | flag("too_long")
    await nodes.write(0, "OUT_ADDRESS", SIZE - 4)
    for words in (0, 2):
        await nodes.write(0, "OUT_AREA", words, error=1)
    await nodes.write(0, "IN_HEAD_ADDRESS", SIZE)
    await nodes.write(0, "IN_HEAD", 1, error=1)
    await nodes.access(0, SIZE, error=1)


@cocotb.test(timeout_time=40, timeout_unit="ms")
async def a_message_to_nobody_and_one_that_is_given_up_leave_the_node_working(dut):
    """docs/ipsc2-node.md, "What can go wrong"."""
    nodes = Nodes(dut)
    await nodes.start()
    for probe in (0, 2, 0x100):
        await nodes.put(0, SEND, [probe, 1, 2])
        await nodes.send(0, (SEND, 3))
        await nodes.pending(0, Irq.REFUSED)
    lost = message(150)
    await nodes.put(0, SEND, lost)
    await nodes.send(0, (SEND, 150))
    await nodes.clock.run(3000)
    await nodes.write(0, "CONTROL", REG["CONTROL"].field("abort").mask)
    await nodes.pending(0, Irq.ABORTED)
    await nodes.arm(1, body=512)
    words, result = await nodes.receive(1)
    assert words == lost[: len(words)] and 20 < len(words) < 60 and result & flag("bad")
    await nodes.pending(1, Irq.CHECKSUM)
    sent = message(30)
    await nodes.put(0, SEND, sent)
    await nodes.arm(1, body=512)
    await nodes.send(0, (SEND, 30))
    words, result = await nodes.receive(1)
    assert words == sent and not result & flag("bad")


@cocotb.test(timeout_time=40, timeout_unit="ms")
async def a_strobe_that_stops_is_mended_by_drop_or_reset(dut):
    """docs/ipsc2-node.md, "What can go wrong": both nodes notice, recover, and work."""
    nodes = Nodes(dut)
    await nodes.start()
    sent = message(100)
    await nodes.put(0, SEND, sent)
    await nodes.arm(1, body=512)
    await nodes.send(0, (SEND, 100))
    await nodes.clock.run(900)
    nodes.clock.drive(cut=1)
    await nodes.clock.run(3000)
    # RDY was 1 when the strobe stopped, so the source has sent the rest to nobody.
    await nodes.pending(0, Irq.SENT)
    assert REG["STATUS"].field("receiving").get(await nodes.read(1, "STATUS"))
    await nodes.write(1, "CONTROL", REG["CONTROL"].field("drop").mask)
    words, result = await nodes.receive(1)
    assert words == sent[: len(words)] and words and result & flag("bad") and result & flag("cut")
    for node in range(2):
        await nodes.write(node, "CONTROL", REG["CONTROL"].field("reset").mask)
        await nodes.write(node, "IRQ_PENDING", 0xFF)
        assert await nodes.read(node, "STATUS") == 0
    nodes.clock.drive(cut=0)
    await nodes.clock.run(60)
    await nodes.arm(1, body=512)
    await nodes.send(0, (SEND, 100))
    words, result = await nodes.receive(1)
    assert words == sent and not result & flag("bad")


bench = Bench(__name__, {"two nodes": lambda: Pair(SIZE)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_node(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
