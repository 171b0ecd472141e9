"""Bench of hdl/ipsc2/board.py: a node's board, with the bench as the neighbours on its channels."""

import random

import cocotb
import pytest

from nectar.hdl.ipsc2.formats import nibble, short_probe, word
from nectar.hdl.ipsc2.node.registers import REG, Irq
from nectar.verification.bench import Bench
from nectar.verification.ipsc2.environment import CHANNELS, Environment, checksum, halves, message


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_message_leaves_by_its_channel_and_the_cpu_hears_of_it(dut):
    """docs/ipsc2-node.md, "A message", "Board": probe, halves, checksum with EOM; SENT; the pins of the router."""
    environment = Environment(dut)
    await environment.start()
    await environment.until("idle", 1)
    await environment.write("IRQ_ENABLE", 1 << Irq.SENT)
    for channel, count in ((0, 1), (0, 2), (0, 30), (1, 2), (7, 2)):
        there = environment.neighbours[channel]
        words = message(count, 1 << channel)
        there.frames.clear()
        await environment.send(words)
        await environment.until("busy", 1 << channel)
        assert not environment.clock.pin("idle") and not environment.clock.pin("held")
        await environment.until("irq", 1)
        await environment.until("busy", 0)
        for _ in range(4):
            await environment.step()
        (probe, _), *rest = there.frames
        expected = halves(words)
        assert probe == 1 << channel
        assert rest == [*((half, 0) for half in expected), (checksum(1 << channel, expected), 1)]
        assert not there.skipped
        await environment.write("IRQ_PENDING", 1 << Irq.SENT)
        await environment.until("irq", 0)
        await environment.until("idle", 1)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_message_comes_in_by_a_channel_when_there_is_a_place(dut):
    """docs/ipsc2-node.md, "DMA": RDY goes back when the probe is in; ARRIVED when all is in memory; strobes stop."""
    environment = Environment(dut, pause=0.15)
    await environment.start()
    await environment.write("IRQ_ENABLE", 1 << Irq.ARRIVED)
    for channel, count in ((0, 1), (0, 20), (1, 2), (7, 2)):
        there, probe = environment.neighbours[channel], 0 if channel == 7 else 1 << channel
        words = message(count, probe)
        await environment.write("IN_HEAD_ADDRESS", 0x200)
        await environment.write("IN_HEAD", 64)
        there.nibbles.clear()
        there.sends.append(lambda probe=probe: short_probe(probe))
        await environment.until("held", 1 << channel)
        assert not environment.clock.pin("idle") and not environment.clock.pin("busy")
        await ready(environment, channel)
        data = halves(words)
        for half in data:
            there.sends.append(lambda half=half: word(half))
        there.sends.append(lambda probe=probe, data=data: word(checksum(probe, data), end=True))
        await environment.until("irq", 1)
        assert await environment.access(REG["IN_RESULT"].address) == 1 << 31 | count
        assert [await environment.access(0x200 + 4 * place) for place in range(count)] == words
        await environment.write("IN_HEAD", 0)
        await environment.until("irq", 0)
        assert not environment.clock.pin("held") and not environment.clock.pin("violation")
    await environment.until("idle", 1)


async def ready(environment, channel):
    """Until a message has its circuit. Words may be sent behind a nibble: the line may pause."""
    there = environment.neighbours[channel]
    while not (there.nibbles and there.nibbles[-1]):
        await environment.step()
    there.sends.append(lambda: nibble(0))


async def receive(environment, channel, words):
    """A message that has a circuit comes in whole, and there is a place for the next one."""
    there, probe, data = environment.neighbours[channel], words[0] & 0xFFFF, halves(words)
    await ready(environment, channel)
    there.sends += [lambda half=half: word(half) for half in data]
    there.sends.append(lambda: word(checksum(probe, data), end=True))
    await environment.until("irq", 1)
    assert await environment.access(REG["IN_RESULT"].address) == 1 << 31 | len(words)
    assert [await environment.access(0x200 + 4 * place) for place in range(len(words))] == words
    await environment.write("IN_HEAD", 64)
    there.nibbles.clear()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_message_that_ends_while_it_waits_leaves_its_channel_free(dut):
    """docs/ipsc2.md, "An end before the circuit stands": a message on channel 0 waits for the node, which receives one
    from channel 1, and ends before that, with it, or behind it. The node gets nothing, or a message whose checksum is
    wrong; the next message on channel 0 arrives."""
    environment = Environment(dut)
    await environment.start()
    await environment.write("IRQ_ENABLE", 1 << Irq.ARRIVED)
    await environment.write("IN_HEAD_ADDRESS", 0x200)
    await environment.write("IN_HEAD", 64)
    bad = REG["IN_RESULT"].field("bad").mask
    outcomes = {"gone": 0, "bad": 0}
    for nibbles in range(2, 20):
        for pause in 0, 0.1:
            environment.pause = pause
            environment.neighbours[1].sends.append(lambda: short_probe(2))
            await ready(environment, 1)
            environment.neighbours[0].sends.append(lambda: short_probe(1))
            await environment.until("held", 3)
            environment.neighbours[0].sends += [lambda: nibble(0)] * nibbles
            environment.neighbours[0].sends.append(lambda: word(random.getrandbits(16), end=True))
            await receive(environment, 1, message(1, 2))
            await environment.until("held", 0)
            for _ in range(40):
                await environment.step()
            outcome = "gone"
            if environment.clock.pin("irq"):
                outcome = "bad"
                assert await environment.access(REG["IN_RESULT"].address) & (bad | 1 << 31 | 3) == bad | 1 << 31 | 1
                assert await environment.access(0x200) == 1
                await environment.write("IN_HEAD", 64)
            outcomes[outcome] += 1
            await environment.until("idle", 1)
            environment.neighbours[0].nibbles.clear()
            environment.neighbours[0].sends.append(lambda: short_probe(1))
            await receive(environment, 0, message(2))
            await environment.until("held", 0)
    assert min(outcomes.values()) > 5, outcomes


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_message_that_the_cpu_gives_up_ends_for_its_neighbour(dut):
    """docs/ipsc2-node.md, "Serializer": at any time from the grant on: what has left ends with the checksum with all
    bits inverted; the channel is free and the next message leaves."""
    environment = Environment(dut)
    await environment.start()
    await environment.until("idle", 1)
    await environment.write("IRQ_ENABLE", 1 << Irq.SENT | 1 << Irq.ABORTED)
    there, left = environment.neighbour, 0
    for wait in range(40):
        there.frames.clear()
        await environment.send(message(3))
        for _ in range(wait):
            await environment.step()
        await environment.write("CONTROL", REG["CONTROL"].field("abort").mask)
        await environment.until("irq", 1)
        assert await environment.access(REG["IRQ_PENDING"].address) == 1 << Irq.ABORTED
        await environment.write("IRQ_PENDING", 1 << Irq.ABORTED)
        await environment.until("idle", 1)
        if there.frames:
            left += 1
            (probe, _), *data, last = there.frames
            assert probe == 1 and last == (checksum(1, [half for half, _ in data]) ^ 0xFFFF, 1)
        await environment.send(message(1))
        await environment.until("irq", 1)
        await environment.write("IRQ_PENDING", 1 << Irq.SENT)
        await environment.until("idle", 1)
        assert not there.skipped
    assert left


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def what_leads_nowhere_is_refused(dut):
    """docs/ipsc2-node.md, "What can go wrong": probe 0, and one for a channel that there is not; nothing is sent."""
    environment = Environment(dut)
    await environment.start()
    await environment.until("idle", 1)
    await environment.write("IRQ_ENABLE", 1 << Irq.REFUSED)
    for probe in (0, *(1 << n | 1 for n in range(16) if n not in CHANNELS)):
        await environment.send([probe])
        await environment.until("irq", 1, limit=100)
        await environment.write("IRQ_PENDING", 1 << Irq.REFUSED)
        assert not environment.clock.pin("busy") and await environment.access(REG["STATUS"].address) == 0
    assert not any(neighbour.frames for neighbour in environment.neighbours.values())


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def the_cpu_has_the_pins_of_the_bus(dut):
    """docs/ipsc2-node.md, "Bus": each line of address and data, each byte; what is neither memory nor a register, and a
    part of a register, is an error; nothing is read or written then."""
    environment = Environment(dut)
    await environment.start()
    await environment.until("idle", 1)
    memory = {4 * place: random.getrandbits(32) for place in {0, *(1 << bit for bit in range(10)), 1023, 700}}
    for address, value in memory.items():
        await environment.access(address, 1, value)
    for _ in range(150):
        address, value, select = random.choice([*memory]), random.getrandbits(32), random.getrandbits(4)
        how = random.randrange(4)
        if how == 0:
            hole = random.choice([address | 1 << random.randrange(12, 24), (address | 0xFFF000) ^ 1 << 13])
            write = random.getrandbits(1)
            assert await environment.access(hole, write, value, error=1) == 0
        elif how == 1:
            write = random.getrandbits(1)
            assert await environment.access(REG["IN_HEAD_ADDRESS"].address, write, value, random.randrange(15), 1) == 0
        elif how == 2:
            mask = sum(0xFF << 8 * lane for lane in range(4) if select >> lane & 1)
            memory[address] = memory[address] & ~mask | value & mask
            assert await environment.access(address, 1, value, select) == 0
        assert await environment.access(address + random.randrange(4), 0, value, select) == memory[address]
        assert not environment.clock.pin("irq")


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def what_the_formats_do_not_allow_is_told_for_its_channel(dut):
    """docs/ipsc2.md, "Pins of the router": ``violation``."""
    environment = Environment(dut)
    await environment.start()
    await environment.until("idle", 1)
    for _ in range(8):
        await environment.step()
    for channel, neighbour in environment.neighbours.items():
        for pair in (1, 2):
            told = 0
            neighbour.sends.append(lambda pair=pair: [pair])
            for _ in range(12):
                await environment.step()
                await environment.clock.settle()
                told |= environment.clock.pin("violation")
            assert told == 1 << channel


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def the_timer_counts_the_edges_that_were_left_out(dut):
    """docs/ipsc2-node.md, "Board", "Registers": ``slept`` goes into TIMER_NOW, ``wake_in`` is what may be left out."""
    environment = Environment(dut)
    await environment.start()
    await environment.until("idle", 1)
    ones = (1 << 32) - 1
    assert environment.clock.pin("wake_in") == ones
    for _ in range(40):
        before, begun = await environment.access(REG["TIMER_NOW"].address), environment.cycle
        slept = random.choice([random.getrandbits(32), 1 << random.randrange(32)])
        environment.clock.drive(slept=slept)
        await environment.step()
        environment.clock.drive(slept=0)
        after = await environment.access(REG["TIMER_NOW"].address)
        read = environment.cycle - 2  # the edge behind it is the first one that TIMER_NOW counts on from what was read
        assert (after - before) & ones == (read + 2 - begun + slept) & ones
        ahead = random.choice([random.randrange(40, 1 << 32), 1 << random.randrange(6, 32)])
        await environment.write("TIMER_COMPARE", (after + ahead) & ones)
        await environment.clock.settle()
        for _ in range(2):
            assert environment.clock.pin("wake_in") == ahead - (environment.cycle - read) - 1
            await environment.step()
            await environment.clock.settle()
        await environment.write("TIMER_STOP", 0)
        await environment.clock.settle()
        assert environment.clock.pin("wake_in") == ones


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def without_a_tick_the_channels_stand_still_and_the_bus_works(dut):
    """docs/ipsc2-node.md, "Bus": what the lines carry changes in cycles with a tick only."""
    environment = Environment(dut)
    await environment.start()
    await environment.send(message(40))
    await environment.until("busy", 1)
    for _ in range(50):
        await environment.step()
    environment.ticks = False
    await environment.step()
    pins = [f"channel_0__tx__{name}" for name in ("data", "strobe")] + ["busy", "held"]
    await environment.clock.settle()
    before = [environment.clock.pin(name) for name in pins]
    for address in range(0x300, 0x340, 4):
        await environment.access(address, 1, address)
        assert await environment.access(address) == address
        assert [environment.clock.pin(name) for name in pins] == before
    environment.ticks = True
    await environment.until("busy", 0)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def software_resets_node_and_router(dut):
    """docs/ipsc2-node.md, "DMA": CONTROL with reset frees a circuit whose destination is never ready."""
    environment = Environment(dut)
    await environment.start()
    environment.neighbour.sends.append(lambda: short_probe(2))  # to channel 1, at which nobody is ready
    await environment.send(message(4))
    await environment.until("held", 1)
    await environment.until("busy", 3)
    await environment.write("CONTROL", REG["CONTROL"].field("reset").mask)
    await environment.until("busy", 0, limit=2)
    assert not environment.clock.pin("held") and await environment.access(REG["STATUS"].address) == 0
    assert environment.neighbour.skipped <= 1
    await environment.until("idle", 1)


def board():
    """A small one."""
    from nectar.hdl.ipsc2.board import Board

    return Board(2, 4096)


def file():
    """The same as ``nectar verilog node`` writes it (docs/verilog.md)."""
    from nectar.hdl.product import product

    return product("node", dimensions=2, memory_bytes=4096)


bench = Bench(__name__, {"2 dimensions": board}, ports_only=True)
of_the_file = Bench(__name__, {"file": file}, top="node", ports_only=True)


@pytest.mark.parametrize("configuration, claim", of_the_file.cases(nightly=("file",)))
def test_the_verilog_file_is_the_board(configuration, claim):
    """Each claim."""
    of_the_file.check(configuration, claim)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_board(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
