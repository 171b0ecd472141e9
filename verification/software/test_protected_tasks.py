"""Protected tasks among themselves (docs/kernel.md): what is reclaimed, mailboxes, domains, costs; on the model and
on simulated RTL."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from nectar.hdl.cab.addresses import REG
from nectar.hdl.cab.regions import DOMAINS
from nectar.software.costs import PROTOTYPE
from nectar.software.door import Door
from nectar.software.errors import (
    Fault,
    MailboxClosed,
    MessageTooLong,
    NotYours,
    ProgramError,
    ReceiverEnded,
    ThreadEnded,
)

from .helpers import BOARDS, nothing_leaks, run_task, simulated
from .tasks import DATA, message

PAGE = 1024


@pytest.fixture(params=BOARDS)
def boards(request):
    return request.param


@pytest.mark.parametrize("how", ["return", "fault", "end", "exception"])
def test_everything_is_reclaimed_whatever_the_end(how, boards):
    async def user(cab):
        await cab.memory.allocate(5000)
        box = cab.mailbox(5)
        box.open()
        await box.take()
        await cab.mailbox(6).reserve(300)
        await cab.datagram.send((2, 9), bytes(4000))
        block = await cab.memory.allocate(2000)
        await cab.datagram.send((2, 9), [(block, 2000)])
        if how == "fault":
            await cab.door.read(DATA)
        elif how == "end":
            await cab.mailbox(10).take()
        elif how == "exception":
            raise KeyError(how)

    async def writer(cab):
        box = cab.mailbox(5)
        for number in range(3):
            await box.put(message(cab, b"abc", number))
        with pytest.raises(ReceiverEnded, match="mailbox 5 of CAB1 is closed: the task that it belonged to has ended"):
            while True:
                letter = message(cab)
                await box.put(letter)

    async def main(cab):
        cab.mailbox(5).capacity = 3
        thread = cab.spawn(user, protected=True)
        other = cab.spawn(writer)
        if how == "end":
            await cab.sleep(5000)
            thread.end()
        error = {"return": None, "fault": Fault, "end": ThreadEnded, "exception": KeyError}[how]
        with pytest.raises(error) if error else nullcontext():
            await thread.join()
        await other.join()
        assert cab.domains.used == 0

    async def receive(cab):
        for length in (4000, 2000):
            letter = await cab.mailbox(9).take()
            assert len(letter) == length
            letter.free()

    with simulated(boards=boards) as system, nothing_leaks(system):
        system.spawn("CAB2", receive)
        system.spawn("CAB1", main)
        system.go()


def test_what_is_the_kernels_cannot_be_asked_for(boards):
    async def other(cab):
        return "other"

    async def main(cab):
        with pytest.raises(NotYours, match="is not a block of"):
            cab.memory.free(DATA + 5 * PAGE)
        with pytest.raises(AttributeError, match="a protected task has no kernel"):
            cab.kernel
        with pytest.raises(AttributeError):
            cab.datagram.memory
        thread, lock = cab.spawn(other), cab.lock()
        for thing, names in ((thread, ("coroutine", "joiners", "on_cancel", "finish")), (lock, ("retake",))):
            for name in names:
                with pytest.raises(AttributeError, match=f"{name} is not for protected tasks"):
                    getattr(thing, name)
        assert await thread.join() == "other" and thread.ended
        async with lock:
            return "done"

    assert run_task(main, protected=True, boards=boards) == "done"


def test_a_mailbox_belongs_to_the_task_that_reads_first(boards):
    async def first(cab):
        cab.mailbox(5).open()
        await cab.sleep(1500)

    async def second(cab):
        box = cab.mailbox(5)
        for call in (box.try_take, box.close, box.open):
            with pytest.raises(NotYours, match="mailbox 5 of CAB1 is read by first"):
                call()
        with pytest.raises(NotYours):
            await box.take()
        letter = box.try_reserve(0)
        box.commit(letter)
        with pytest.raises(NotYours, match="read by a task of the kernel's"):
            await cab.mailbox(6).take()

    async def third(cab):
        box = cab.mailbox(5)
        assert box.closed
        box.open()
        assert not box.closed and len(box) == 0
        box.close()
        with pytest.raises(MailboxClosed):
            await box.take()

    async def main(cab):
        reader = cab.spawn(kernels)
        tasks = [cab.spawn(first, protected=True)]
        await cab.sleep(700)
        tasks.append(cab.spawn(second, protected=True))
        for thread in tasks:
            await thread.join()
        await cab.spawn(third, protected=True).join()
        with pytest.raises(ReceiverEnded):
            cab.mailbox(5).try_put(message(cab))
        reader.end()

    async def kernels(cab):
        await cab.mailbox(6).take()

    run_task(main, boards=boards)


def test_thirty_tasks_have_domains_at_once_and_the_next_waits_for_one(boards):
    async def user(cab, log, microseconds):
        block = await cab.memory.allocate(10)
        cab.memory.write(block, b"0123456789")
        log.append("begun")
        await cab.sleep(microseconds)
        assert await cab.memory.read(block, 10) == b"0123456789"

    async def main(cab):
        log = []
        threads = [cab.spawn(user, log, 40_000, protected=True) for _ in range(DOMAINS - 2)]
        more = [cab.spawn(user, log, 10, protected=True) for _ in range(4)]
        await cab.sleep(30_000)
        assert len(log) == DOMAINS - 2 == 30 == cab.domains.used
        more[0].end()
        for thread in threads + more[1:]:
            await thread.join()
        assert len(log) == 33 and more[0].ended and cab.domains.used == 0

    run_task(main, boards=boards)


def test_what_protection_costs_is_in_the_table_and_others_pay_nothing(boards):
    async def plain(cab):
        block = await cab.memory.allocate(PAGE)
        times = []
        for _ in range(3):
            begin = await cab.door.now()
            cab.memory.write(block, bytes(100))
            await cab.memory.read(block, 100)
            middle = await cab.door.now()
            await cab.sleep(0)
            times.append((middle - begin, await cab.door.now() - middle))
        cab.memory.free(block)
        return times[-1]

    async def main(cab):
        before = await plain(cab)
        protected = await cab.spawn(plain, protected=True).join()
        assert await plain(cab) == before
        return before, protected

    (touch, call), (own_touch, own_call) = run_task(main, boards=boards)
    assert touch == own_touch and own_call - call == PROTOTYPE.system_call


def test_switching_between_protected_tasks_writes_the_domain_once(boards):
    async def user(cab, stamps):
        for _ in range(6):
            stamps.append(await cab.door.now())
            await cab.pause()

    async def main(cab):
        stamps = []
        for thread in [cab.spawn(user, stamps, protected=True) for _ in range(2)]:
            await thread.join()
        return stamps

    stamps = run_task(main, boards=boards)[4:10]
    between = {b - a for a, b in zip(stamps, stamps[1:])}
    fixed = PROTOTYPE.system_call + PROTOTYPE.dispatch + PROTOTYPE.thread_switch + PROTOTYPE.domain_set
    assert all(fixed < each <= fixed + 5 for each in between), "besides that, one write to DOMAIN"


def test_locks_and_conditions_between_protected_tasks(boards):
    async def user(cab, lock, condition, log):
        async with lock:
            await condition.wait(timeout_us=50_000)
            log.append(cab.name)

    async def main(cab):
        lock = cab.lock("shared")
        condition, log = cab.condition(lock), []
        threads = [cab.spawn(user, lock, condition, log, protected=True) for _ in range(3)]
        await cab.sleep(5000)
        condition.signal()
        threads[1].end()
        await cab.sleep(500)
        condition.broadcast()
        await threads[0].join()
        await threads[2].join()
        with pytest.raises(ThreadEnded):
            await threads[1].join()
        assert lock.holder is None and len(log) == 2

    run_task(main, boards=boards)


def test_a_task_that_never_calls_the_kernel_can_be_ended_by_an_interrupt_handler(boards):
    async def endless(cab):
        block = await cab.memory.allocate(4)
        while True:
            cab.compute(10)
            await cab.door.read(block)

    async def main(cab):
        thread = cab.spawn(endless, protected=True)
        await cab.timers.after(16_000, lambda _, now: thread.end())
        with pytest.raises(ThreadEnded):
            await thread.join()
        assert await cab.now_us() < 1500

    run_task(main, boards=boards)


def test_a_protected_task_starts_others_and_joins_them(boards):
    async def child(cab, number):
        await cab.sleep(number * 10)
        return number * number

    async def parent(cab):
        children = [cab.spawn(child, number) for number in range(4)]
        return [await each.join(timeout_us=50_000) for each in children]

    assert run_task(parent, protected=True, boards=boards) == [0, 1, 4, 9]


def test_messages_that_could_never_go_in_are_refused_with_errors_of_their_own(boards):
    async def main(cab):
        box = cab.mailbox(5)
        with pytest.raises(ProgramError, match="data memory"):
            await box.reserve(1 << 21)
        with pytest.raises(MessageTooLong):
            await cab.datagram.send((2, 1), bytes(70_000))

    run_task(main, protected=True, boards=boards)


def test_a_wait_that_is_not_a_call_gives_the_cpu_away_in_the_kernels_mode(boards):
    """The kernel's own lock, reached around UserCab: others do not run in the task's domain."""

    async def user(cab, rogue):
        await (touch_and(raw.lock.acquire) if rogue else raw.lock.acquire())
        block = await cab.memory.allocate(10)
        cab.memory.write(block, b"0123456789")
        assert await cab.memory.read(block, 10) == b"0123456789"
        raw.lock.release()

    async def touch_and(call):
        raw.door.write(DATA, 1)
        await call()

    async def main(cab):
        raw.lock, raw.door = cab.lock(), cab.door
        await raw.lock.acquire()
        good, bad = (cab.spawn(user, rogue, protected=True) for rogue in (False, True))
        await cab.sleep(5000)
        with pytest.raises(Fault):
            await bad.join()
        raw.lock.release()
        await good.join()
        assert raw.lock.holder is None

    raw = SimpleNamespace()
    run_task(main, boards=boards)


@pytest.mark.parametrize(
    "field, value, message",
    [
        ("pages", 11, "a protection table of 2048 pages; protected tasks need all 16384"),
        ("domains", 1, "no protection domain for a task"),
    ],
)
def test_a_board_without_what_it_takes_is_told_of(field, value, message, monkeypatch):
    read, config = Door.read, REG["CONFIG"]
    part = getattr(config, field)

    async def read_of_a_smaller_board(door, address, size=4):
        word = await read(door, address, size)
        return word & ~part.mask | part.put(value) if address == config.address else word

    monkeypatch.setattr(Door, "read", read_of_a_smaller_board)

    async def user(cab):
        raise AssertionError("it runs without protection")

    async def main(cab):
        with pytest.raises(ProgramError, match=message):
            await cab.spawn(user, protected=True).join()

    run_task(main)


@pytest.mark.parametrize("at_us", [2900.3, 3003.1, 3011.7, 3020])
def test_a_cab_that_is_stopped_in_a_task_begins_anew_in_the_kernels_domain(at_us, boards):
    async def user(cab):
        block = await cab.memory.allocate(100)
        while True:
            cab.memory.write(block, b"hello")
            await cab.memory.read(block, 5)
            cab.compute(20)
            await cab.pause()

    async def once(cab):
        block = await cab.memory.allocate(100)
        cab.memory.write(block, b"hello")
        return await cab.memory.read(block, 5)

    async def anew(cab):
        await cab.sleep(100)
        return await cab.spawn(once, protected=True).join()

    async def idle(cab):
        await cab.sleep(20_000)

    with simulated(boards=boards) as system:
        begun = []
        system.on_restart = lambda cab: begun.append(system.spawn(cab.name, anew))
        system.cab("CAB1").spawn(user, protected=True)
        system.faults.stop("CAB1", at_us=at_us, for_us=1000)
        system.spawn("CAB2", idle)
        system.go()
        assert begun[0].result == b"hello"
