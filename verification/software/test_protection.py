"""What a protected task may touch (docs/kernel.md), with the same assertions on fast boards and on the RTL.
Facts C4, C5."""

import pytest

from nectar.hdl.cab.addresses import REG, REGIONS, Irq
from nectar.software.errors import Fault, NotYours, ProgramError

from .helpers import BOARDS, nothing_leaks, run_task, simulated
from .tasks import DATA, faults, message, touch

PAGE = 1024
#: What no task may touch, and the region that its fault names.
FORBIDDEN = {
    REG["ID"].address: "registers",
    REG["TX_COMMAND"].address: "registers",
    REG["TIMER1_COMPARE"].address: "registers",
    REG["DOMAIN"].address: "registers",
    REG["RESET"].address: "registers",
    REGIONS["protection"].base + 16384 + 5: "protection",
    REGIONS["program"].base: "program",
    REGIONS["prom"].base + 4: "prom",
    DATA: "data",
    DATA + (1 << 20) - 4: "data",
    REGIONS["vme"].base: "vme",
    0x700000: "hole",
}


@pytest.fixture(params=BOARDS)
def boards(request):
    return request.param


def test_a_task_may_use_its_own_blocks_and_nothing_else_of_the_machine(boards):
    async def user(cab):
        block = await cab.memory.allocate(3000)
        assert block % PAGE == 0 and cab.memory.used == 4096
        cab.memory.write(block, bytes(range(250)) * 12)
        cab.door.write(block + 4092, 0x01020304)
        assert await cab.memory.read(block + 1, 5) == bytes(range(1, 6)) and await cab.door.read(block + 4092, 1) == 1
        await cab.sleep(20)
        await cab.pause()
        cab.compute(10)
        assert await cab.now_us() > 30
        cab.memory.free(block)
        return cab.name, cab.id

    assert run_task(user, protected=True, boards=boards) == ("CAB1", 1)


def test_a_fault_of_each_kind_in_each_region_ends_the_task_and_nothing_else(boards):
    async def main(cab):
        other = cab.spawn(steady, 4000)
        for address, region in FORBIDDEN.items():
            for write in (False, True):
                size = 1 if address & 3 else 4
                fault = await faults(cab, touch, address, write, size)
                assert (fault.address, fault.kind, fault.region) == (address, "write" if write else "read", region)
                assert f"0x{address:06X}" in str(fault)
        assert not other.ended
        await other.join()
        return len(cab.faults)

    async def steady(cab, count):
        for number in range(count // 100):
            await cab.sleep(100)

    before = {}

    async def registers(cab):
        for name in ("ID", "IRQ_ENABLE", "TIMER1_COMPARE", "TX_STATUS", "TRAP_INFO"):
            before.setdefault(name, []).append(await cab.door.read(REG[name].address))
        before.setdefault("pending", []).append(await cab.door.read(REG["IRQ_PENDING"].address) >> Irq.TRAP & 1)

    with simulated(boards=boards) as system, nothing_leaks(system):
        for task in (registers, main, registers):
            thread = system.spawn("CAB1", task)
            system.go()
            if task is main:
                assert thread.result == 2 * len(FORBIDDEN)
    assert all(first == last for first, last in before.values()), (
        "a refused access has had an effect, or the trap record was left"
    )


def test_what_the_table_held_before_counts_for_nothing(boards):
    """Its content after power-on is not defined."""

    async def main(cab):
        table = REGIONS["protection"].base
        for page in (DATA >> 10, REG["ID"].address >> 10):
            for domain in range(1, 4):
                cab.door.write(table + domain * 16384 + page, 7, 1)
        for address in (DATA, REG["ID"].address, DATA + 4):
            assert (await faults(cab, touch, address, False)).address == address

    run_task(main, boards=boards)


def test_blocks_are_refused_as_a_whole_where_they_leave_the_tasks_pages(boards):
    async def user(cab, write):
        block = await cab.memory.allocate(PAGE)
        if write:
            cab.memory.write(block + 1000, bytes(60))
            await cab.sleep(1)
        else:
            await cab.memory.read(block + 1000, 60)

    async def main(cab):
        for write in (False, True):
            fault = await faults(cab, user, write)
            assert fault.address % PAGE == 0 and fault.kind == ("write" if write else "read")

    run_task(main, boards=boards)


def test_another_tasks_memory_and_a_page_that_was_given_back_are_refused(boards):
    async def owner(cab, where):
        block = await cab.memory.allocate(100)
        where.append(block)
        cab.memory.write(block, b"mine")
        await cab.sleep(3000)
        assert await cab.memory.read(block, 4) == b"mine"
        cab.memory.free(block)
        await cab.memory.read(block, 4)

    async def main(cab):
        where = []
        thread = cab.spawn(owner, where, protected=True)
        await cab.sleep(1500)
        for write in (False, True):
            assert (await faults(cab, touch, where[0], write)).address == where[0]
        with pytest.raises(Fault) as caught:
            await thread.join()
        assert caught.value.address == where[0] and caught.value.kind == "read"
        # Nor may the next task in that domain touch it.
        assert (await faults(cab, touch, where[0], True)).address == where[0]

    run_task(main, boards=boards)


def test_a_message_may_be_touched_from_take_to_release_and_from_reserve_to_commit(boards):
    async def taker(cab, kind):
        box = cab.mailbox(5)
        letter = await box.take()
        assert (
            await letter.read() == b"hello"
            and await letter.read(1, 2) == b"el"
            and letter.source == 1
            and len(letter) == 5
        )
        letter.write(b"J")
        assert await letter.read() == b"Jello"
        address = letter.address
        assert address % PAGE == 0
        if kind == "put":
            await cab.mailbox(6).put(letter)
        else:
            letter.free()
        with pytest.raises(NotYours):
            letter.free()
        with pytest.raises(NotYours):
            await letter.read()
        await cab.door.read(address)

    async def maker(cab):
        box = cab.mailbox(6)
        letter = await box.reserve(2000)
        letter.write(b"0123456789")
        address = letter.address
        box.commit(letter, 10)
        cab.door.write(address, 1)
        await cab.sleep(1)

    async def main(cab):
        for kind in ("put", "release"):
            cab.mailbox(5).open()
            await cab.mailbox(5).put(message(cab, b"hello"))
            assert (await faults(cab, taker, kind)).kind == "read"
            if kind == "put":
                letter = await cab.mailbox(6).take()
                assert await letter.read() == b"Jello"
                letter.free()
        assert (await faults(cab, maker)).kind == "write"
        letter = await cab.mailbox(6).take()
        assert await letter.read() == b"0123456789" and letter.source == cab.id
        letter.free()

    run_task(main, boards=boards)


def test_messages_by_the_network_get_pages_of_their_own_and_are_not_copied(boards):
    async def receiver(cab):
        box = cab.mailbox(1)
        box.open()
        got = []
        for _ in range(3):
            letter = await box.take()
            place = letter.address
            got.append(await letter.read())
            assert place == letter.address and (place is None or place % PAGE == 0)
            letter.free()
        return got

    async def sender(cab):
        await cab.sleep(2000)
        block = await cab.memory.allocate(100)
        cab.memory.write(block, b"areas")
        await cab.datagram.send((2, 1), b"bytes")
        await cab.datagram.send((2, 1), [(block, 5)])
        letter = await cab.mailbox(3).reserve(3000)
        letter.write(bytes(3000))
        await cab.datagram.send((2, 1), letter)
        letter.free()

    with simulated(boards=boards) as system, nothing_leaks(system):
        receiver = system.spawn("CAB2", receiver, protected=True)
        system.spawn("CAB1", sender, protected=True)
        system.go()
        assert receiver.result == [b"bytes", b"areas", bytes(3000)]


def test_areas_that_are_not_the_tasks_are_a_fault_though_dma_is_the_kernels(boards):
    async def sender(cab, address, length):
        await cab.memory.allocate(100)
        await cab.datagram.send((2, 1), [(address, length)])

    async def main(cab):
        assert (await faults(cab, sender, DATA, 4)).address == DATA
        block = await cab.memory.allocate(PAGE)
        assert (await faults(cab, sender, block + 5, 4)).address == block + 5
        cab.memory.free(block)
        assert cab.datalink.counters.packets_sent == 0

    run_task(main, boards=boards)


def test_a_store_that_fails_is_blamed_on_its_task_whatever_follows_it(boards):
    """The store is posted; calls, pauses, the end of the task come behind it, and other tasks run at once."""

    async def guilty(cab, behind):
        cab.door.write(DATA, 1)
        await behind(cab)

    async def returns(cab):
        return None

    async def raises(cab):
        raise KeyError("another error")

    async def calls(cab):
        cab.lock().release()
        cab.mailbox(7)
        await cab.memory.allocate(10)

    async def innocent(cab):
        block = await cab.memory.allocate(10)
        for number in range(60):
            cab.memory.write(block, bytes([number] * 10))
            await cab.pause()
            assert await cab.memory.read(block, 10) == bytes([number] * 10)
        return "unharmed"

    async def main(cab):
        others = [cab.spawn(innocent, protected=True) for _ in range(2)] + [cab.spawn(steady)]
        for behind in (
            returns,
            raises,
            calls,
            lambda cab: cab.pause(),
            lambda cab: cab.sleep(10),
            lambda cab: cab.door.now(),
            lambda cab: cab.mailbox(4).take(),
        ):
            fault = await faults(cab, guilty, behind)
            assert (fault.address, fault.kind) == (DATA, "write")
        for thread in others:
            assert await thread.join() == "unharmed"

    async def steady(cab):
        for _ in range(60):
            await cab.pause()
        return "unharmed"

    run_task(main, boards=boards)


def test_interrupt_handlers_are_the_kernels_while_a_task_runs(boards):
    """Packets arrive, timers fire and memory is given while a protected task computes and touches its own pages."""

    async def busy(cab, until):
        block = await cab.memory.allocate(100)
        for number in range(300):
            cab.memory.write(block, bytes([number & 255] * 100))
            cab.compute(5)
            assert await cab.memory.read(block, 100) == bytes([number & 255] * 100)

    async def send(cab):
        for number in range(20):
            await cab.datagram.send((1, 1), bytes([number]) * 500)

    with simulated(boards=boards) as system, nothing_leaks(system):
        system.spawn("CAB1", busy, 0, protected=True)
        system.spawn("CAB2", send)
        system.go()
        box = system.cab("CAB1").mailbox(1)
        assert len(box) == 20 and not system.cab("CAB1").faults
        while len(box):
            box.try_take().free()


def test_finally_clauses_run_but_cannot_go_on(boards):
    log = []

    async def user(cab):
        try:
            await cab.door.read(DATA)
        finally:
            log.append("begun")
            await cab.sleep(10)
            log.append("never")

    async def deaf(cab):
        while True:
            try:
                await cab.door.read(DATA)
            except Exception:
                log.append("again")

    async def main(cab):
        await faults(cab, user)
        await faults(cab, deaf)

    run_task(main, boards=boards)
    assert log[0] == "begun" and "never" not in log and 1 < len(log) < 20


def test_a_fault_is_no_failure_of_the_run_but_another_exception_is(boards):
    async def broken(cab):
        await cab.memory.allocate(5000)
        raise KeyError("mine")

    with simulated(boards=boards) as system, nothing_leaks(system):
        thread = system.spawn("CAB1", touch, DATA, False, protected=True)
        system.go()
        assert isinstance(thread.error, Fault) and system.cab("CAB1").faults == [thread.error]
        with pytest.raises(Fault):
            thread.result
        system.spawn("CAB1", broken, protected=True)
        with pytest.raises(ProgramError, match="broken 2 on CAB1 failed .*KeyError: 'mine'"):
            system.go()
