"""Bench of hdl/cab/cab.py: the whole board against the reference model."""

import random

import cocotb
import pytest

from nectar.hdl.cab.addresses import ID_VALUE, REG, REGIONS, REGISTERS, RX_LIST_DEPTH, TX_LIST_DEPTH, Irq
from nectar.hdl.cab.cab import Cab
from nectar.hdl.link.symbol import Control, command, packet, reply
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.contents import put, with_crc
from nectar.verification.cab.driver import Access, BoardDriver
from nectar.verification.cab.kinds import BOARDS, VERILOG, bus_error, registers_of, size_of
from nectar.verification.cab.reference import Board, fields
from nectar.verification.cab.scenario import Scenario

DATA = REGIONS["data"].base


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_single_access_takes_three_cycles(dut):
    """docs/cab.md, CPU bus: memory and registers, reads, writes and errors; the board answers from its first cycle
    on."""
    board = BoardDriver(dut)
    await board.start()
    accesses = [
        Access(REG["ID"].address),
        Access(DATA, 0x01020304),
        Access(DATA),
        Access(REG["IRQ_ENABLE"].address, 5),
        Access(REGIONS["prom"].end),
        Access(REG["TX_STATUS"].address),
    ]
    for access in accesses:
        await board.access(access)
        assert access.done - access.taken == 3
        await board.run(random.randrange(3))
    assert accesses[0].data == ID_VALUE and accesses[2].data == 0x01020304 and accesses[4].error


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def one_cycle_of_reset_is_enough_and_the_board_works_from_the_second_cycle_behind_it(dut):
    """docs/cab.md, interrupts and reset: whatever the board was doing; in the cycle between, `idle` is 0, so that no
    clock stops there."""
    board = BoardDriver(dut)
    await board.start()
    for busy in (0, 1, 5, 20):
        if busy:
            await board.register("TX_ADDRESS", DATA)
            await board.register("TX_AREA", put("TX_AREA", length=100, start=1, end=1))
            board.rx.extend(packet(bytes(50)))
            await board.run(busy)
        board.clock.drive(bus__valid=0, fiber__rx__valid=0)
        await board.clock.reset()
        await board.clock.settle()
        assert dut.idle.value == 0
        await board.clock.edge()
        board = BoardDriver(dut, board.clock)
        board.rx.extend(reply(1, 2, 3))
        access = await board.access(Access(REG["TX_STATUS"].address))
        assert access.done - access.taken == 3 and access.data == put("TX_STATUS", free=TX_LIST_DEPTH, ready=1)
        await board.run(10)
        assert await board.register("REPLY") == put("REPLY", valid=1, opcode=1, hub=2, value=3)
        assert await board.register("RX_STATUS") == put("RX_STATUS", areas=RX_LIST_DEPTH) and not board.tx


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def requests_may_follow_each_other_in_every_cycle(dut):
    """docs/cab.md, CPU bus: a block moves one word a cycle, is answered in order, and reads what was written just
    before."""
    board = BoardDriver(dut)
    await board.start()
    words = [random.getrandbits(32) for _ in range(200)]
    accesses = []
    for number, word in enumerate(words):
        accesses += [Access(DATA + 4 * number, word), Access(DATA + 4 * number)]
    await board.block(accesses)
    assert [access.data for access in accesses[1::2]] == words
    assert [access.done for access in accesses] == [accesses[0].taken + 3 + number for number in range(len(accesses))]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_request_that_is_not_taken_yet_may_be_changed_or_withdrawn(dut):
    """docs/cab.md, CPU bus: while `bus__ready` is 0; what was never taken has no effect and no response."""
    board = BoardDriver(dut)
    await board.start()
    words, due, withdrawn = {}, [], 0
    for _ in range(400):
        if not board.requests:
            address, value = DATA + 4 * random.randrange(8), random.getrandbits(32)
            # Behind an access to the protection table the next but one waits.
            board.requests.append(
                random.choice([Access(REGIONS["protection"].base, 0), Access(address, value), Access(address)])
            )
        wanted = board.requests[0]
        await board.cycle()
        if wanted.taken is not None:
            due.append((wanted, words.get(wanted.address) if not wanted.write else 0))
            if wanted.write:
                words[wanted.address] = wanted.value
        elif random.random() < 0.7:
            board.requests.popleft()
            withdrawn += 1
            await board.run(random.randrange(2))
    board.requests.clear()
    await board.run(20)
    assert not board.outstanding and withdrawn > 20
    for access, data in due:
        assert access.done is not None and not access.error and data in (None, access.data)
    for address, value in words.items():
        assert address < DATA or await board.read(address) == value


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def bytes_are_big_endian_and_selected_one_by_one(dut):
    """docs/cab.md, CPU bus: select bit 3 is the byte at the word's own address, bits 31 to 24; the low address bits
    are ignored."""
    board = BoardDriver(dut)
    await board.start()
    await board.write(DATA, 0xA1B2C3D4)
    await board.write(DATA, 0x11, select=0b0001)
    await board.write(DATA + 3, 0x22000000, select=0b1000)
    await board.write(DATA + 1, 0xFFFFFFFF, select=0)
    assert await board.read(DATA + 2) == 0x22B2C311
    content = {DATA + at: 0 for at in range(0, 64, 4)}
    for address in content:
        await board.write(address, 0)
    for _ in range(300):
        address, value, select = random.choice(list(content)), random.getrandbits(32), random.getrandbits(4)
        await board.write(address + random.randrange(4), value, select)
        mask = sum(0xFF << 8 * bit for bit in range(4) if select >> bit & 1)
        content[address] = content[address] & ~mask | value & mask
        address = random.choice(list(content))
        assert await board.read(address, random.getrandbits(4)) == content[address]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def the_interrupt_line_shows_an_access_when_it_is_answered(dut):
    """docs/cab.md, CPU bus: with the response to a write its effect is visible, ``irq`` included; so a handler that
    clears its cause and returns is not called again."""
    board = BoardDriver(dut)
    await board.start()

    async def line(name, value=None):
        """The interrupt line in the cycle in which an access to a register is answered."""
        access = await board.access(Access(REG[name].address, value))
        assert not access.error
        return access.irq

    assert not await line("IRQ_ENABLE", (1 << len(Irq)) - 1)
    board.rx.extend([*packet(with_crc(bytes(20))), *reply(1, 2, 3), Control.READY + 0x10])
    await board.quiet()
    assert await line("IRQ_ENABLE", 0) is False
    for irq in (Irq.PACKET, Irq.REPLY, Irq.ERROR):
        assert await line("IRQ_ENABLE", 1 << irq) is True
        name, value = {Irq.PACKET: ("RX_START", 0), Irq.REPLY: ("REPLY", None), Irq.ERROR: ("IRQ_PENDING", 1 << irq)}[
            irq
        ]
        assert await line(name, value) is False, irq
    await board.quiet()
    assert await line("IRQ_ENABLE", 1 << Irq.RECEIVED) is True
    assert await line("RX_RELEASE", 0) is False
    assert await line("IRQ_PENDING", 0xFFFFFFFF) is False
    assert await line("IRQ_ENABLE", (1 << len(Irq)) - 1) is False


@cocotb.test(timeout_time=200, timeout_unit="ms")
async def whatever_happens_the_board_does_what_the_model_does(dut):
    """docs/cab.md as a whole: random operations of all kinds, the board asleep in between; compared whenever it is
    idle."""
    board, model = BoardDriver(dut), Board(**BOARDS[inside()])
    await board.start()
    scenario = Scenario(board, model)
    await scenario.begin()
    weights = {
        "receive_anything": 10,
        "overflow": 0.3,
        "ready_signal": 2,
        "answer": 8,
        "discard": 0.5,
        "release": 6,
        "reset_receiver": 0.3,
        "take_replies": 2,
        "send": 10,
        "reset_sender": 0.7,
        "send_ready": 2,
        "interrupts": 3,
        "memory": 3,
        "protection": 3,
        "scatter": 2,
        "mode": 1.5,
        "take_symbols": 2,
        "thresholds": 1,
        "reset_board": 0.2,
        "host": 3 if board.has_host else 0,
        "anywhere": 5,
    }
    for density in (1, 0.8, 0.3):
        board.takes = lambda density=density: random.random() < density
        await scenario.run(150, weights)
        await scenario.reset_receiver()
        await scenario.compare()
        await scenario.compare_memory()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def every_place_without_memory_or_register_is_a_bus_error(dut):
    """addresses: holes, regions that the board lacks, the data region behind a smaller memory; reads and writes."""
    board = BoardDriver(dut)
    await board.start()
    size = size_of(dut)
    present = {
        "data": size,
        "program": BOARDS[inside()]["program_bytes"],
        "prom": REGIONS["prom"].size,
        "registers": max(r.offset for r in REGISTERS) + 4,
    }
    edges = {0, 1 << 24}
    for region in REGIONS.values():
        edges |= {region.base, region.end, region.base + present.get(region.name, 0)}
    places = {at for edge in edges for at in (edge - 4, edge, edge + 4) if 0 <= at < 1 << 24}
    places |= {random.getrandbits(24) & ~3 for _ in range(300)}
    if "vme" in BOARDS[inside()]:
        places = {at for at in places if at < REGIONS["vme"].base}
    assert len(places) > 100
    for address in sorted(places):
        name = next((n for n in ("data", "program", "prom") if 0 <= address - REGIONS[n].base < present[n]), None)
        if REGIONS["protection"].base <= address < REGIONS["protection"].end:
            continue
        register = next((r for r in registers_of(dut) if r.address == address), None)
        readable = name or register and "r" in register.access
        assert await bus_error(board, address) == (not readable), hex(address)
        if name == "prom" or not (name or register):
            assert await bus_error(board, address, random.getrandbits(32)), hex(address)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def registers_take_whole_words_in_the_directions_of_the_map(dut):
    """addresses: a byte or halfword access to a register is a bus error, so is a load of one that cannot be read, a
    store to one that cannot be written; none has an effect."""
    board = BoardDriver(dut)
    await board.start()
    await board.register("IRQ_ENABLE", 0)
    board.rx.extend(reply(1, 2, 3))
    await board.quiet()
    for register in registers_of(dut):
        for select in range(15):
            assert await bus_error(board, register.address, None, select), register.name
            assert await bus_error(board, register.address, 0xFFFFFFFF, select), register.name
        if "r" not in register.access:
            assert await bus_error(board, register.address), register.name
        if "w" not in register.access:
            assert await bus_error(board, register.address, 0xFFFFFFFF), register.name
    await board.quiet()
    assert not board.tx and board.wake_in == 0xFFFFFFFF
    for name in ("IRQ_ENABLE", "TX_ADDRESS", "RX_ADDRESS", "TIMER_COMPARE", "TIMER_ARMED"):
        assert await board.register(name) == 0, name
    assert await board.register("TX_STATUS") == put("TX_STATUS", free=32, ready=1)
    assert await board.register("REPLY") == put("REPLY", valid=1, opcode=1, hub=2, value=3), (
        "a refused load took the reply"
    )


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def areas_must_lie_in_data_memory(dut):
    """docs/cab.md, fiber out and fiber in: TX_AREA and RX_START are refused to the byte; nothing is sent or started
    then."""
    board = BoardDriver(dut)
    await board.start()
    size = size_of(dut)
    cases = [
        (0, size, True),
        (0, size + 1, False),
        (1, size, False),
        (1, size - 1, True),
        (size - 1, 1, True),
        (size - 1, 2, False),
        (size, 1, False),
        (-1, 1, False),
        (-4, 8, False),
        (-DATA, 1, False),
        (size, 0, True),
        (-DATA, 0, True),
        (2 * size, 1, False),
    ]
    cases = [case for case in cases if case[1] < 1 << 20]
    for offset, length, good in cases:
        await board.register("TX_ADDRESS", DATA + offset)
        assert await bus_error(board, REG["TX_AREA"].address, put("TX_AREA", length=length)) != good, (offset, length)
        await board.quiet(2 * size + 100)
        assert len(board.tx) == (length if good else 0)
        board.tx.clear()
    assert await bus_error(board, REG["RX_START"].address, 0), "no packet waits"
    for offset, length, good in cases:
        board.rx.extend(packet(with_crc(b"")))
        await board.quiet()
        await board.register("RX_ADDRESS", DATA + offset)
        assert await bus_error(board, REG["RX_START"].address, put("RX_START", limit=length)) != good, (offset, length)
        if not good:
            assert await board.register("IRQ_PENDING") & 1 << Irq.PACKET, "still waits"
            await board.register("RX_CONTROL", put("RX_CONTROL", discard=1))
        assert await bus_error(board, REG["RX_START"].address, 0), "answered already"
        await board.register("RX_RELEASE", 0)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_full_list_refuses_entries_and_loses_none(dut):
    """docs/cab.md, fiber out: up to 32 entries; one more is a bus error, of whatever kind; all others leave in
    order."""
    board = BoardDriver(dut)
    await board.start()
    await board.register("TX_SYMBOL", Control.START)
    await board.register("TX_COMMAND", put("TX_COMMAND", opcode=1, wait_ready=1))
    await board.quiet()
    taken = []
    while free := fields("TX_STATUS", await board.register("TX_STATUS"))["free"]:
        assert not await bus_error(board, REG["TX_COMMAND"].address, put("TX_COMMAND", opcode=2, param=len(taken)))
        taken.append(len(taken))
    assert free == 0 and 32 <= len(taken) <= 52  # some are worked on already
    await board.register("TX_ADDRESS", DATA)
    for name in ("TX_COMMAND", "TX_SYMBOL", "TX_AREA"):
        assert await bus_error(board, REG[name].address, 0), name
    await board.register("TX_READY", 0)
    board.rx.append(Control.READY)
    await board.quiet()
    assert board.tx == [Control.START, Control.READY, *command(1, 0, 0), *(s for n in taken for s in command(2, 0, n))]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_board_that_waits_for_software_or_for_the_ready_bit_may_stop(dut):
    """docs/cab.md, stand-by: idle while a header waits, a result waits, a command waits for the ready bit, the timer
    runs; not while a symbol waits for the fiber."""
    board = BoardDriver(dut)
    await board.start()
    await board.run(2)
    assert board.idle
    board.rx.extend([*packet(with_crc(bytes(100))), *packet(b"next")])
    await board.quiet()
    assert await board.register("IRQ_PENDING") == 1 << Irq.PACKET | 1 << Irq.START
    await board.register("IRQ_PENDING", 1 << Irq.START)
    await board.register("TX_SYMBOL", Control.START)
    await board.register("TX_COMMAND", put("TX_COMMAND", wait_ready=1, notify=1))
    await board.register("TX_ADDRESS", DATA)
    for _ in range(3):
        await board.register("TX_AREA", put("TX_AREA", length=100))
    await board.quiet(60)
    assert fields("TX_STATUS", await board.register("TX_STATUS"))["waiting"]
    await board.register("RX_ADDRESS", DATA)
    await board.register("RX_START", 100)
    await board.quiet(200)
    assert await board.register("IRQ_PENDING") == 1 << Irq.RECEIVED
    await board.register("TIMER_COMPARE", 1 << 20)
    await board.quiet(10)
    board.takes = lambda: False
    board.rx.append(Control.READY)
    await board.run(100)
    assert not board.idle, "symbols wait for the fiber"
    board.takes = lambda: True
    await board.quiet(500)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def time_goes_on_while_the_board_sleeps(dut):
    """docs/cab.md, timer and stand-by: TIMER_NOW counts edges left out; the interrupt comes at the same count, asleep
    or not."""
    board = BoardDriver(dut)
    await board.start()
    await board.register("IRQ_ENABLE", 1 << Irq.TIMER)
    access = await board.access(Access(REG["TIMER_NOW"].address))
    # The load is done two cycles after it was taken, board.now is of the cycle after that.
    zero = board.now - access.data
    for _ in range(100):
        board.sleep(random.choice([0, 1, 5, 1 << 20, 1 << 31]))
        access = await board.access(Access(REG["TIMER_NOW"].address))
        assert (board.now - zero - access.data) % (1 << 32) == 0
        await board.quiet()
    for _ in range(200):
        ahead = random.choice([20, 21, 100, 5000, 1 << 31])
        compare = (await board.register("TIMER_NOW")) + ahead & 0xFFFFFFFF
        await board.register("TIMER_COMPARE", compare)
        await board.quiet(10)
        while not board.irq:
            # As far as allowed, or a part of it.
            board.sleep(random.choice([board.wake_in, random.randint(0, board.wake_in), min(board.wake_in, 3)]))
            await board.cycle()
        # The line is up in the cycle that follows the one in which TIMER_NOW is TIMER_COMPARE; see above for the one.
        assert (board.now - zero + 1 - compare) % (1 << 32) == 0
        await board.register("IRQ_PENDING", 1 << Irq.TIMER)
        assert not board.irq
        await board.run(8)
        assert board.wake_in == 0xFFFFFFFF


bench = Bench(__name__, VERILOG, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("4 kbyte", "64 kbyte")))
def test_cab(configuration, claim):
    """Each claim on each size."""
    bench.check(configuration, claim)


@pytest.mark.parametrize("data_bytes", [0, 2048, 3 << 10, 5000, 2 << 20, -4096])
def test_a_board_with_another_memory_is_refused(data_bytes):
    """docs/cab.md, data memory: 4 kbyte to 1 Mbyte, a power of two."""
    with pytest.raises(ValueError, match=f"data_bytes must be a power of two from 4096 to 1048576, not {data_bytes}"):
        Cab(data_bytes=data_bytes)


@pytest.mark.parametrize("data_bytes", ["64k", 65536.0, None])
def test_a_size_is_an_integer(data_bytes):
    """Half a byte cannot be stored."""
    with pytest.raises(TypeError, match=f"data_bytes must be an integer, not {data_bytes!r}"):
        Cab(data_bytes=data_bytes)


@pytest.mark.parametrize(
    "wrong",
    [{"program_bytes": 1000}, {"domains": 3}, {"pages": 100}, {"prom": bytes(1 << 18)}, {"period_ps": 5}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_every_parameter_is_checked(wrong):
    """docs/cab.md: the sizes that a board may have."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Cab(**wrong)
