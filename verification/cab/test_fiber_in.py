"""Bench of hdl/cab/fiber_in.py: from the pins to memory; the queue's limits, replies, errors, idleness."""

import random
from collections import Counter

import cocotb
import pytest

from nectar.hdl.cab.addresses import HEADER_BYTES, REG
from nectar.hdl.cab.fiber_in import REPLIES, FiberIn
from nectar.hdl.link.queue import QUEUE_DEPTH
from nectar.hdl.link.symbol import Control, packet, reply
from nectar.verification.bench import Bench
from nectar.verification.cab.arrivals import DATA, END, ERRORS, READY, REGISTERS, SIZE, START, Arrivals, compare
from nectar.verification.cab.contents import put, random_arrival, with_crc
from nectar.verification.cab.reference import INPUT_QUEUE, Board, BusFault, fields


def test_the_queue_has_the_room_of_the_specification():
    """H14, docs/cab.md, fiber in 1: 1024 symbols and 128 more."""
    assert QUEUE_DEPTH == INPUT_QUEUE == 1152


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def what_arrives_ends_where_the_model_says(dut):
    """docs/cab.md, fiber in: against the reference model, with and without pauses between the symbols."""
    around, model = Arrivals(dut), Board(SIZE)
    await around.start()
    for number in range(20_000):
        if number >= 800 and len(around.memory) > 500:
            break
        around.grant = random.choice([1, 0.5, 0.25])
        if random.random() < 0.5:
            density = random.choice([1, 1, 0.5])
            for symbol in random_arrival():
                while random.random() >= density:
                    around.fiber.append(None)
                around.fiber.append(symbol)
                model.arrive(symbol)
        else:
            name, value = random.choice(
                [
                    ("RX_ADDRESS", DATA + random.randrange(SIZE)),
                    ("RX_START", random.randrange(200)),
                    ("RX_START", random.randrange(200)),
                    ("RX_RELEASE", 0),
                    ("RX_RELEASE", 0),
                    ("RX_CONTROL", put("RX_CONTROL", discard=1)),
                    ("RX_CONTROL", put("RX_CONTROL", reset=random.random() < 0.1)),
                    ("RX_AREA", random.randrange(60)),
                    ("RX_MODE", random.choice([0, 1, 2, 0x100])),
                    ("RX_THRESHOLD", random.randrange(50)),
                    ("RX_QUEUE", None),
                ]
            )
            if name == "RX_QUEUE":
                for _ in range(30):
                    assert await around.read(name) == model.read(REG[name].address)
                await around.quiet()
                continue
            if name == "RX_CONTROL" and value & put("RX_CONTROL", reset=1) and model.packet is not None:
                # How much of it is in memory already is not said.
                for offset, length in model.packet.areas:
                    for at in range(offset, offset + length):
                        around.memory.pop(at, None)
            try:
                model.write(REG[name].address, value)
                taken = True
            except BusFault:
                taken = False
            assert await around.write(name, value) == taken
        await around.quiet()
        await compare(around, model)
        for _ in range(random.choice([0, 0, 1, 2])):
            assert await around.read("REPLY") == model.read(REG["REPLY"].address)
    # The model stores a packet when it is over.
    around.fiber.append(END)
    model.arrive(END)
    await around.quiet()
    await compare(around, model)
    assert all(model.data[at] == byte for at, byte in around.memory.items()) and len(around.memory) > 100


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_full_queue_loses_what_comes_and_the_packet_in_which_it_was_lost_says_so(dut):
    """docs/cab.md, fiber in 1 and 4: 1152 symbols wait; each one lost is counted; only the packet with the hole has
    ``framing``."""
    around = Arrivals(dut)
    await around.start()
    first = with_crc(random.randbytes(40))
    await around.receive(packet(first))
    assert (await around.fields("RX_STATUS"))["level"] == 40 + 4 + 1 - 16 - 4
    # A whole packet fits behind that; then one with a hole, and one more that is whole.
    whole, hole = with_crc(random.randbytes(500)), random.randbytes(1000)
    await around.receive(packet(whole))
    level = (await around.fields("RX_STATUS"))["level"]
    await around.receive([START, *hole])
    lost = level + 1 + len(hole) - INPUT_QUEUE
    assert around.errors["overrun"] == lost > 0 and (await around.fields("RX_STATUS"))["level"] == INPUT_QUEUE
    results = []
    for number in range(4):
        await around.write("RX_ADDRESS", DATA)
        assert await around.write("RX_START", 2000)
        await around.quiet()
        if number == 2:
            await around.receive([END])
        results.append(await around.fields("RX_RESULT"))
        await around.write("RX_RELEASE")
        await around.quiet()
        if number == 2:
            await around.receive(packet(whole))
    assert [result["framing"] for result in results] == [0, 0, 1, 0]
    assert [result["crc_bad"] for result in results] == [0, 0, 1, 0]
    assert results[2]["length"] == len(hole) - lost - 4 - HEADER_BYTES
    assert around.errors == {"overrun": lost, "stray": 0, "framing": 0, "reply_lost": 0}


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def replies_wait_in_order_and_the_ninth_is_lost(dut):
    """docs/cab.md, fiber in 1: up to 8 replies wait in REPLY; they pass by a full queue and a packet that waits for
    software."""
    around = Arrivals(dut)
    await around.start()
    await around.receive([START, *bytes(1500)])
    answers = [random.randbytes(3) for _ in range(REPLIES + 3)]
    for number, answer in enumerate(answers):
        await around.receive(reply(*answer))
        assert around.errors["reply_lost"] == max(number + 1 - REPLIES, 0)
    for opcode, hub, value in answers[:REPLIES]:
        assert await around.fields("REPLY") == {"valid": 1, "opcode": opcode | 1, "hub": hub, "value": value}
    assert await around.read("REPLY") == 0 and not around.pin("reply_waits")
    # Taken and arriving at the same time, at all distances.
    for shift in range(8):
        await around.receive(reply(*answers[0]))
        around.fiber.extend(reply(*answers[1]))
        await around.run(shift)
        assert (await around.fields("REPLY"))["hub"] == answers[0][1]
        await around.quiet()
        assert (await around.fields("REPLY"))["hub"] == answers[1][1] and not around.pin("reply_waits")


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_long_packet_streams_into_memory_without_filling_the_queue(dut):
    """C1, H14: under circuit switching a packet may have any length; the DMA keeps up with a symbol in every cycle."""
    around = Arrivals(dut)
    await around.start()
    data = random.randbytes(3000)
    around.fiber.extend(packet(with_crc(data)))
    while not around.pin("packet"):
        await around.cycle()
    await around.write("RX_ADDRESS", DATA + 3)
    await around.write("RX_START", 3500)
    highest = 0
    while around.fiber:
        await around.cycle()
        highest = max(highest, around.pin("rx_status__value") & 0xFFF)
    await around.quiet()
    assert highest < 40 and around.writes <= 3000 // 4 + 2
    assert (await around.fields("RX_RESULT")) == {
        "length": 3000 - HEADER_BYTES,
        "header": 16,
        "crc_bad": 0,
        "too_long": 0,
        "framing": 0,
        "discarded": 0,
    }
    assert bytes(around.memory[3 + at] for at in range(3000 - HEADER_BYTES)) == data[HEADER_BYTES:]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def received_comes_after_the_last_byte_is_in_memory(dut):
    """docs/cab.md, fiber in 4: for every length and every alignment, with software that answers at once."""
    around = Arrivals(dut)
    await around.start()
    for length in [*range(16, 30), *(random.randrange(16, 60) for _ in range(20))]:
        data, place = random.randbytes(length), random.randrange(100)
        around.memory.clear()
        around.fiber.extend(packet(with_crc(data)))
        while not around.pin("packet"):
            await around.cycle()
        await around.write("RX_ADDRESS", DATA + place)
        await around.write("RX_START", 100)
        while not around.pin("received"):
            await around.cycle()
        assert around.memory == {place + at: byte for at, byte in enumerate(data[HEADER_BYTES:])}
        result = fields("RX_RESULT", around.pin("rx_result__value"))
        assert (result["length"], result["crc_bad"]) == (length - HEADER_BYTES, 0)
        await around.write("RX_RELEASE")


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_reset_forgets_the_packet_but_neither_result_nor_replies(dut):
    """H21, docs/cab.md, RX_CONTROL.reset: at any moment of a packet; the next one is received as if nothing had
    been."""
    around = Arrivals(dut)
    await around.start()
    for moment in [*range(0, 60), *(random.randrange(200) for _ in range(20))]:
        around.fiber.extend(packet(with_crc(random.randbytes(100))))
        await around.run(moment)
        if around.pin("packet") and random.random() < 0.7:
            await around.write("RX_ADDRESS", DATA)
            await around.write("RX_START", 50)
            await around.run(random.randrange(60))
        around.fiber.clear()
        received = around.pin("received")
        await around.write("RX_CONTROL", put("RX_CONTROL", reset=1))
        await around.quiet()
        status = await around.fields("RX_STATUS")
        assert not status["open"] and not status["dma"] and not around.pin("packet")
        assert around.pin("received") >= received
        await around.write("RX_RELEASE")
        around.memory.clear()
        data = random.randbytes(30)
        await around.receive(packet(with_crc(data)))
        await around.write("RX_ADDRESS", DATA + 200)
        assert await around.write("RX_START", 100)
        await around.quiet()
        result = await around.fields("RX_RESULT")
        assert (result["length"], result["header"], result["crc_bad"], result["framing"]) == (14, 16, 0, 0)
        assert around.memory == {200 + at: byte for at, byte in enumerate(data[16:])}
        await around.write("RX_RELEASE")
        await around.receive(reply(1, 2, 3))
        await around.write("RX_CONTROL", put("RX_CONTROL", reset=1))
        assert (await around.fields("REPLY"))["valid"]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_reset_forgets_that_symbols_were_lost(dut):
    """docs/cab.md, fiber in 4 and RX_CONTROL.reset: the loss belongs to the packet that the reset has forgotten."""
    around = Arrivals(dut)
    await around.start()
    for reset in (1, 0):
        await around.receive([START, *bytes(INPUT_QUEUE + 100)])
        assert around.errors["overrun"] > 0
        if reset:
            await around.write("RX_CONTROL", put("RX_CONTROL", reset=1))
        else:
            await around.write("RX_CONTROL", put("RX_CONTROL", discard=1))
            await around.quiet()
        await around.receive(packet(with_crc(bytes(20))))
        if not reset:
            assert (await around.fields("RX_RESULT"))["framing"]
            continue
        await around.write("RX_ADDRESS", DATA)
        assert await around.write("RX_START", 100)
        await around.quiet()
        result = await around.fields("RX_RESULT")
        assert (result["length"], result["framing"]) == (4, 0)
        await around.write("RX_RELEASE")


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def every_symbol_is_counted(dut):
    """RX_COUNT: symbols that have arrived, idle not counted."""
    around, count = Arrivals(dut), 0
    await around.start()
    for bits in range(4, 17):
        length = random.randrange(1 << bits, 2 << bits)
        around.clock.drive(rx__valid=1, rx__payload=READY)
        await around.clock.run(length)
        around.fiber.extend([int(Control.IDLE)] * random.randrange(3))
        await around.quiet()
        count += length
        assert await around.read("RX_COUNT") == count


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def bits_of_no_field_are_ignored_and_all_others_count(dut):
    """docs/cab.md, registers, and fiber in 3: what is written is read again; bits of no field read as 0; an area is
    refused unless it lies in data memory, however long."""
    around, model = Arrivals(dut), Board(SIZE)
    await around.start()

    async def write(name, value):
        try:
            model.write(REG[name].address, value)
            taken = True
        except BusFault:
            taken = False
        assert await around.write(name, value) == taken, f"{name} {value:#x}"
        await around.quiet()
        return taken

    for _ in range(40):
        await write(random.choice(["RX_MODE", "RX_THRESHOLD", "RX_ADDRESS"]), random.getrandbits(32))
        await compare(around, model)
    await write("RX_MODE", put("RX_MODE", skip=3) | 0xFFE0_FEFC)
    for name in "RX_AREA", "RX_START":
        symbols = packet(with_crc(random.randbytes(60)))
        for symbol in symbols:
            model.arrive(symbol)
        await around.receive(symbols)
        await write("RX_ADDRESS", DATA + random.randrange(100))
        for bit in range(12, 20):
            assert not await write(name, random.getrandbits(12) << 20 | 1 << bit | random.randrange(50))
        for bit in range(12, 24):
            await write("RX_ADDRESS", DATA ^ 1 << bit)
            assert not await write(name, random.randrange(1, 50))
        await write("RX_ADDRESS", random.getrandbits(8) << 24 | DATA + random.randrange(100))
        assert await write(name, random.getrandbits(12) << 20 | 20)
        await compare(around, model)
    await write("RX_RELEASE", 0)
    await compare(around, model)
    await write("RX_START", 500)
    await compare(around, model)
    assert all(model.data[at] == byte for at, byte in around.memory.items())


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def areas_may_have_few_bytes_or_none(dut):
    """docs/cab.md, fiber in 3: areas are filled in order, the last one has what RX_START says, and what exceeds that
    is dropped."""
    around, model = Arrivals(dut), Board(SIZE)
    await around.start()
    for last in 0, 1, 0, 1, 2, 60:
        symbols = packet(with_crc(random.randbytes(HEADER_BYTES + 30)))
        for symbol in symbols:
            model.arrive(symbol)
        await around.receive(symbols)
        lengths = random.choices([0, 1, 2, 3, 4, 5], k=random.randrange(6))
        for number, length in enumerate([*lengths, last]):
            for name, value in (
                ("RX_ADDRESS", DATA + random.randrange(64 * number, 64 * number + 3)),
                ("RX_AREA" if number < len(lengths) else "RX_START", length),
            ):
                model.write(REG[name].address, value)
                assert await around.write(name, value)
        await around.quiet()
        await compare(around, model)
        model.write(REG["RX_RELEASE"].address, 0)
        await around.write("RX_RELEASE")
    assert all(model.data[at] == byte for at, byte in around.memory.items())


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_packet_may_be_longer_than_the_memory(dut):
    """docs/cab.md, fiber in 3: areas are filled in order, be it that they lie in the same place."""
    around = Arrivals(dut)
    await around.start()
    more = random.randrange(1, 100)
    data = random.randbytes(HEADER_BYTES + 2 * SIZE + more)
    await around.write("RX_ADDRESS", DATA)
    for _ in range(2):
        assert await around.write("RX_AREA", SIZE)
    around.fiber.extend(packet(with_crc(data)))
    while not around.pin("packet"):
        await around.cycle()
    assert await around.write("RX_START", SIZE)
    await around.quiet()
    result = await around.fields("RX_RESULT")
    assert (result["length"], result["crc_bad"], result["too_long"]) == (2 * SIZE + more, 0, 0)
    assert await around.fields("RX_PROGRESS") == {"bytes": 2 * SIZE + more}
    assert around.memory == dict(enumerate(data[-more:] + data[HEADER_BYTES + SIZE + more : -more]))


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_reset_of_the_board_makes_its_registers_as_new(dut):
    """docs/cab.md, RESET.board: all registers of the board, whatever arrives; what comes behind it is received as
    ever."""
    around = Arrivals(dut)
    await around.start()
    for _ in range(25):
        for name, value in (
            ("RX_MODE", random.getrandbits(32)),
            ("RX_THRESHOLD", random.getrandbits(32)),
            ("RX_ADDRESS", DATA + random.randrange(SIZE)),
            ("RX_AREA", random.randrange(10)),
        ):
            if random.random() < 0.6:
                await around.write(name, value)
        for symbols in random.sample(
            [
                reply(1, 2, 3),
                packet(with_crc(random.randbytes(60))),
                [START, *random.randbytes(30)],
                [END, 7],
                reply(4, 5, 6)[:3],
            ],
            3,
        ):
            around.fiber.extend(symbols)
        await around.run(random.randrange(160))
        if around.pin("packet"):
            await around.write("RX_START", 9)
        await around.run(random.randrange(10))
        around.fiber.clear()
        around.clock.drive(rx__valid=0)
        await around.clock.reset()
        new = Board(SIZE)
        for name in REGISTERS:
            if "r" in REG[name].access and name != "RX_QUEUE":
                assert await around.read(name) == new.read(REG[name].address), name
        assert not any(around.pin(name) for name in ("packet", "received", "reply_waits", "input")) and around.pin(
            "idle"
        )
        # A reply or a packet that had arrived in part is forgotten.
        around.errors, around.told, around.came = dict.fromkeys(ERRORS, 0), Counter(), Counter()
        for symbol in (symbols := [*random.randbytes(3), *packet(with_crc(random.randbytes(20)))]):
            new.arrive(symbol)
        await around.receive(symbols)
        await compare(around, new)


bench = Bench(__name__, {"fiber in": lambda: FiberIn(SIZE)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_fiber_in(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
