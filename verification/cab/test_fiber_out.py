"""Bench of hdl/cab/fiber_out.py: the list, the ready bit, what is told and when, resets."""

import random

import cocotb
import pytest

from nectar.hdl.cab.addresses import LENGTH_BITS, REG, TX_LIST_DEPTH
from nectar.hdl.cab.fiber_out import FiberOut
from nectar.hdl.link.symbol import Control, command, packet
from nectar.verification.bench import Bench
from nectar.verification.cab.contents import put, with_crc
from nectar.verification.cab.reference import Board, BusFault
from nectar.verification.cab.sender import DATA, REGISTERS, SIZE, Sender

LONGEST = (1 << LENGTH_BITS) - 1
START, END, READY, IDLE = int(Control.START), int(Control.END), int(Control.READY), int(Control.IDLE)


def accepts(model, name, value):
    """Writes a register of the model; whether it takes the value."""
    try:
        model.write(REG[name].address, value)
    except BusFault:
        return False
    return True


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def the_list_is_sent_in_order_whatever_memory_and_fiber_do(dut):
    """docs/cab.md, fiber out: against the reference model, with waits for the memory and for the fiber."""
    sender, model = Sender(dut), Board(SIZE)
    await sender.start()
    model.data[:] = sender.memory
    for sender.grant, sender.take in ((1, 1), (0.5, 1), (1, 0.4), (0.3, 0.7)):
        for _ in range(40):
            for _ in range(random.randrange(1, 8)):
                name, value = random.choice(
                    [
                        ("TX_COMMAND", random.getrandbits(31)),
                        ("TX_SYMBOL", random.choice([random.getrandbits(32), IDLE])),
                        ("TX_AREA", random.getrandbits(5) << 27 | random.choice([0, 1, 5, random.randrange(300)])),
                    ]
                )
                address = DATA + random.randrange(SIZE)
                assert await sender.write("TX_ADDRESS", address) and accepts(model, "TX_ADDRESS", address)
                assert await sender.write(name, value) == accepts(model, name, value)
            await sender.quiet()
            assert sender.out == model.sent
            assert await sender.read("TX_STATUS") == model.read(REG["TX_STATUS"].address)
            for name in ("TX_PROGRESS", "TX_COUNT"):
                assert await sender.read(name) == model.read(REG[name].address), name
            sender.out.clear(), model.sent.clear()
    assert sender.sent == model.sent_count > 50


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def the_idle_symbol_sends_nothing(dut):
    """docs/cab.md, fiber out: TX_SYMBOL with the idle symbol sends nothing, first, last or between others."""
    sender = Sender(dut)
    for list_ in ([IDLE], [START, IDLE, END], [IDLE, READY, IDLE, IDLE], [0x55, IDLE, IDLE, IDLE, 0xAA]):
        await sender.start()
        sender.out.clear()
        for symbol in list_:
            await sender.write("TX_SYMBOL", symbol)
        await sender.run(20)
        assert sender.out == [symbol for symbol in list_ if symbol != IDLE]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_start_of_packet_clears_the_ready_bit_and_wins_over_a_ready_signal(dut):
    """H15, docs/cab.md, fiber out: 1 at reset, 0 when a start is handed to the fiber, 1 when a ready arrives; 0 if
    both in one cycle. A start that the fiber has not yet taken changes nothing."""
    sender = Sender(dut)
    for delay in range(6):
        await sender.start()
        sender.take = 0
        assert (await sender.fields("TX_STATUS"))["ready"]
        await sender.write("TX_SYMBOL", START)
        await sender.run(10)
        assert (await sender.fields("TX_STATUS"))["ready"], "it is not handed to the fiber yet"
        sender.take = 1
        handed = sender.clock.cycles
        for _ in range(delay):
            await sender.cycle()
        sender.arrives = True
        await sender.cycle()
        await sender.run(4)
        # The symbol at the pins leaves in the first of these cycles; the board knows of it in the next.
        assert sender.times[-1] == handed
        assert (await sender.fields("TX_STATUS"))["ready"] == (delay > 1), (
            f"ready signal {delay} cycles after the start"
        )


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_command_that_waits_does_not_overtake_the_start_before_it(dut):
    """docs/cab.md, fiber out: a start that still waits for the fiber counts, however early wait_ready is looked at."""
    sender = Sender(dut)
    await sender.start()
    sender.take = 0
    await sender.write("TX_SYMBOL", START)
    await sender.write("TX_COMMAND", put("TX_COMMAND", opcode=1, wait_ready=1))
    await sender.run(10)
    sender.arrives = True  # a ready signal too many, before the start has left
    await sender.run(10)
    sender.take = 0.3
    await sender.run(50)
    assert sender.out == [START] and (await sender.fields("TX_STATUS"))["waiting"]
    sender.arrives = True
    await sender.quiet()
    await sender.run(2)
    await sender.quiet()
    assert sender.out == [START, *command(1, 0, 0)]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def software_can_set_the_ready_bit_itself(dut):
    """H21: a lost ready signal is repaired by TX_CONTROL.set_ready; the rest of the list is untouched."""
    sender = Sender(dut)
    await sender.start()
    await sender.write("TX_SYMBOL", START)
    await sender.write("TX_COMMAND", put("TX_COMMAND", opcode=1, wait_ready=1))
    await sender.run(30)
    assert sender.out == [START]
    await sender.write("TX_CONTROL", put("TX_CONTROL", set_ready=1))
    await sender.run(30)
    assert sender.out == [START, *command(1, 0, 0)] and (await sender.fields("TX_STATUS"))["ready"]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def an_entry_has_left_when_the_fiber_has_taken_its_last_symbol(dut):
    """docs/cab.md, fiber out: *notify*, for areas, commands, and entries of no symbols behind others."""
    sender = Sender(dut)
    await sender.start()
    sender.take = 0.2
    for _ in range(30):
        length = random.choice([0, 0, 1, 2, 30])
        kind = random.choice(["area", "command"])
        told, before = sender.sent, len(sender.out)
        await sender.write("TX_SYMBOL", READY)
        if kind == "area":
            await sender.area(random.randrange(100), length, notify=1)
        else:
            await sender.write("TX_COMMAND", put("TX_COMMAND", notify=1))
        symbols = 1 + (length if kind == "area" else 4)
        while sender.sent == told:
            await sender.cycle()
        assert len(sender.out) == before + symbols and sender.clock.cycles - sender.times[-1] <= 4
        await sender.run(10)
        assert sender.sent == told + 1 == (await sender.fields("TX_STATUS"))["sent"]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def the_channel_is_busy_until_all_has_left(dut):
    """TX_STATUS.busy: from the cycle behind the entry on, while it waits for the ready bit, for memory or for the
    fiber, until the fiber has taken its last symbol."""
    sender, busy = Sender(dut), REG["TX_STATUS"].busy
    await sender.start()
    for number in range(60):
        sender.grant, sender.take = random.choice([1, 0.2]), random.choice([1, 0.2])
        sender.out.clear()
        waits = number % 3 == 0
        if waits:
            await sender.write("TX_SYMBOL", START)  # clears the ready bit
            await sender.quiet()
            await sender.write("TX_COMMAND", put("TX_COMMAND", wait_ready=1))
        else:
            await sender.area(random.randrange(100), 4)
        for cycle in range(1000):
            if len(sender.out) == 4 + waits:
                break
            assert cycle == 0 or busy.get(sender.pin("tx_status__value"))
            sender.arrives = cycle == 20
            await sender.cycle()
        await sender.quiet()
        assert not busy.get(sender.pin("tx_status__value"))


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def a_reset_at_any_time_leaves_a_clean_fiber_and_an_empty_list(dut):
    """docs/cab.md, TX_CONTROL.reset: a packet under way ends, a command is completed; then everything works as
    before."""
    sender = Sender(dut)
    await sender.start()
    ended = completed = 0
    for _ in range(300):
        sender.grant, sender.take = random.choice([1, 0.5]), random.choice([1, 0.5])
        sender.out.clear()
        notices = sender.sent
        for _ in range(3):
            await sender.write("TX_COMMAND", put("TX_COMMAND", opcode=1, notify=1))
            await sender.area(random.randrange(100), random.randrange(60), start=1, notify=1)
            await sender.area(random.randrange(100), random.randrange(60), end=1, crc=1)
        await sender.run(random.randrange(150))
        await sender.write("TX_CONTROL", put("TX_CONTROL", reset=1))
        known = sender.sent
        await sender.run(40)
        await sender.quiet()
        # Entries whose last symbol is in the output register still leave and are told of, no others.
        assert notices <= known <= sender.sent <= known + 2
        status = await sender.fields("TX_STATUS")
        assert (status["free"], status["busy"], status["waiting"]) == (32, 0, 0)
        # The symbols are whole commands and whole packets.
        stream, within = list(sender.out), False
        while stream:
            symbol = stream.pop(0)
            if symbol == Control.COMMAND:
                assert not within and stream[:3] == [1, 0, 0]
                del stream[:3]
                completed += not stream
            else:
                assert symbol == START if not within else symbol == END or symbol < 0x100
                within = symbol != END
                ended += not stream
        assert not within
        sender.out.clear()
        await sender.area(8, 20, start=1, end=1, crc=1)
        await sender.run(100)
        assert sender.out == packet(with_crc(sender.memory[8:28]))
    assert ended > 20 and completed > 0


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def the_first_symbol_comes_soon(dut):
    """The component's docstring: 4 cycles from the write of a command to its first symbol at the pins, 6 for an
    area."""
    sender = Sender(dut)
    await sender.start()
    await sender.write("TX_COMMAND", 0)
    await sender.run(20)
    assert sender.times[0] - (sender.clock.cycles - 21) == 4
    await sender.write("TX_ADDRESS", DATA)
    await sender.write("TX_AREA", put("TX_AREA", length=9, start=1))
    await sender.run(20)
    assert sender.times[4] - (sender.clock.cycles - 21) == 6


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def the_list_holds_32_entries_and_refuses_more(dut):
    """docs/cab.md, fiber out: up to 32 entries; an entry leaves the list when it is begun; one written to a full
    list is a bus error."""
    sender = Sender(dut)
    await sender.start()
    sender.grant = 0
    await sender.area(0, 4)  # begun, and then waits for the memory
    await sender.run(2)
    expected = [*sender.memory[:4]]
    assert TX_LIST_DEPTH == 32
    for number in range(TX_LIST_DEPTH):
        assert (await sender.fields("TX_STATUS"))["free"] == TX_LIST_DEPTH - number
        if number % 3 == 0:
            await sender.area(number, 3)
            expected += sender.memory[number : number + 3]
        else:
            name, symbols = ("TX_SYMBOL", [number]) if number % 3 == 1 else ("TX_COMMAND", command(0, 0, number))
            assert await sender.write(name, number)
            expected += symbols
    for number in range(3):
        status = await sender.fields("TX_STATUS")
        assert status["free"] == 0 and status["busy"]
        assert [await sender.write(name, 1) for name in ("TX_SYMBOL", "TX_COMMAND", "TX_AREA")] == [False] * 3
    sender.grant = 1
    await sender.run(2)
    await sender.quiet()
    status = await sender.fields("TX_STATUS")
    assert sender.out == expected and status["free"] == TX_LIST_DEPTH and not status["busy"]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def an_area_lies_in_data_memory(dut):
    """docs/cab.md, fiber out: one that does not is refused; one of no bytes lies anywhere. TX_ADDRESS keeps what is
    written."""
    sender = Sender(dut)
    await sender.start()
    for _ in range(300):
        length = random.choice(
            [
                0,
                1,
                2,
                random.randrange(SIZE),
                LONGEST,
                1 << random.randrange(LENGTH_BITS),
                random.randrange(1 << LENGTH_BITS),
            ]
        )
        address = random.choice(
            [DATA, DATA - 1, DATA + SIZE, DATA + SIZE - length, DATA + SIZE - length + 1, DATA + random.randrange(SIZE)]
        )
        address = (address ^ random.choice([0, 0, 1 << random.randrange(24)])) & 0xFFFFFF
        assert await sender.write("TX_ADDRESS", address | random.getrandbits(8) << 24)
        assert await sender.read("TX_ADDRESS") == sender.pin("tx_area__area_address") == address
        inside_ = DATA <= address and address + length <= DATA + SIZE
        assert await sender.refuses("TX_AREA", put("TX_AREA", length=length)) == (length > 0 and not inside_)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def the_threshold_is_told_of_when_it_is_reached(dut):
    """docs/cab.md, fiber out: TX_THRESHOLD becomes pending when TX_PROGRESS reaches the register, which keeps what
    is written; 0 is never reached."""
    sender = Sender(dut)
    await sender.start()
    for number in range(30):
        length = random.randrange(60, 400)
        threshold = (
            random.choice([0, 1, 2, random.randrange(3, length), random.randrange(3, length), length, length + 1])
            if number < 15
            else (random.randrange(length) ^ 1 << 7 + number % (LENGTH_BITS - 7))
        )
        assert await sender.write("TX_THRESHOLD", threshold | random.getrandbits(12) << 20)
        assert await sender.read("TX_THRESHOLD") == threshold
        sender.take = random.choice([1, 0.5])
        await sender.area(random.randrange(100), length - 4, start=1, end=1, crc=1)
        await sender.run(2)
        await sender.quiet()
        assert await sender.read("TX_PROGRESS") == length
        assert sender.told == [threshold] * (0 < threshold <= length) and await sender.read("TX_THRESHOLD") == threshold
        sender.told.clear()


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def ready_signals_are_sent_while_areas_are(dut):
    """docs/cab.md, fiber out: each write to TX_READY sends one between any two symbols, with nothing else to do as
    well; none is refused."""
    sender = Sender(dut)
    await sender.start()
    for list_ in ((), (200,)):
        sender.out.clear()
        for length in list_:
            await sender.area(0, length, start=1, end=1)
        asked = 0
        for _ in range(100):
            sender.take = random.choice([1, 0.5])
            if random.random() < 0.4:
                assert await sender.write("TX_READY", random.getrandbits(32))
                asked += 1
                assert not sender.pin("idle")
            else:
                await sender.cycle()
        await sender.run(2)
        await sender.quiet()
        assert sender.out.count(READY) == asked > 20
        assert [symbol for symbol in sender.out if symbol != READY] == [
            symbol for length in list_ for symbol in packet(sender.memory[:length])
        ]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def notices_are_counted_modulo_256(dut):
    """TX_STATUS.sent: notify entries done since reset, modulo 256."""
    sender = Sender(dut)
    await sender.start()
    for number in range(1, 270):
        await sender.write(
            "TX_COMMAND" if number % 50 == 0 else "TX_AREA",
            put("TX_COMMAND", notify=1) if number % 50 == 0 else put("TX_AREA", notify=1),
        )
        await sender.run(2)
        await sender.quiet()
        assert sender.sent == number and (await sender.fields("TX_STATUS"))["sent"] == number % 256


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def every_symbol_is_counted(dut):
    """TX_COUNT: symbols that the fiber has taken."""
    sender, count = Sender(dut), 0
    await sender.start()
    for bits in range(4, 17):
        length = random.randrange(1 << bits, 2 << bits)
        sender.clock.drive(tx_ready__write=1, tx__ready=1)
        await sender.clock.run(length)
        sender.clock.drive(tx_ready__write=0)
        await sender.quiet()
        count += length
        assert await sender.read("TX_COUNT") == count


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def long_areas_are_sent_to_their_last_byte(dut):
    """docs/cab.md, fiber out: areas of any length, of which one bit may be all that is not 0, are read from their first
    word on; TX_PROGRESS and the threshold tell of the last byte."""
    sender, count = Sender(dut), 0
    await sender.start()
    for length in (*(1 << bits for bits in range(11, 18)), random.randrange(1 << 15)):
        offset = random.randrange(SIZE - length + 1)
        await sender.write("TX_THRESHOLD", length)
        await sender.area(offset, length, start=1)
        while not sender.pin("memory__valid"):
            await sender.cycle()
        assert sender.pin("memory__address") == offset // 4
        await sender.clock.run(max(length - 100, 1))
        await sender.quiet()
        count += 1 + length
        assert sender.told == [length] * (length > 0) and await sender.read("TX_PROGRESS") == length
        assert await sender.read("TX_COUNT") == count
        sender.told.clear()


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_reset_of_the_board_makes_its_registers_as_new(dut):
    """docs/cab.md, RESET.board: all registers of the board, whatever it does."""
    sender, new = Sender(dut), Board(SIZE)
    await sender.start()
    for _ in range(20):
        await sender.write("TX_THRESHOLD", random.getrandbits(LENGTH_BITS))
        await sender.area(random.randrange(SIZE - 100), random.randrange(100), start=1, notify=1)
        await sender.run(random.randrange(60))
        await sender.reset()
        for name in REGISTERS:
            if "r" in REG[name].access:
                assert await sender.read(name) == new.read(REG[name].address), name
        assert sender.pin("idle")


bench = Bench(__name__, {"fiber out": lambda: FiberOut(SIZE)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("long_areas_are_sent_to_their_last_byte",)))
def test_fiber_out(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
