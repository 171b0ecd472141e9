"""Protected tasks by the hundred, with faults by seed, while others exchange messages (docs/kernel.md); the same on
fast boards and on the RTL."""

import pytest

from nectar.hdl.cab.addresses import REG, REGIONS
from nectar.software.errors import Fault, MailboxClosed, ReceiverEnded, ThreadEnded
from nectar.verification import seeds

from .helpers import BOARDS, nothing_leaks, simulated

DATA = REGIONS["data"].base
ADDRESSES = [
    DATA,
    DATA + 0x40000,
    REG["DOMAIN"].address,
    REG["TX_AREA"].address,
    REGIONS["protection"].base,
    REGIONS["prom"].base,
    0x900000,
]
#: What becomes of a task.
FATES = ["tidy", "untidy", "read", "store", "given back", "areas", "waits", "waits to write"]


async def user(cab, fate, steps, pause, address, box):
    """Uses memory and mailboxes, sends and receives; then meets its fate."""
    blocks = []
    own = cab.mailbox(box)
    own.open()
    for step in range(steps):
        block = await cab.memory.allocate(100 << step)
        cab.memory.write(block, bytes([step + 1] * 100))
        blocks.append(block)
        letter = await own.reserve(40)
        letter.write(bytes([step] * 40))
        own.commit(letter)
        await cab.sleep(pause)
        if step % 2:
            await cab.datagram.send((2, 7), [(block, 100)])
            letter = await own.take()
            assert await letter.read() == bytes([step // 2] * 40)
            letter.free()
    for step, block in enumerate(blocks):
        assert await cab.memory.read(block, 100) == bytes([step + 1] * 100)
    if fate == "tidy":
        for block in blocks:
            cab.memory.free(block)
        while own.try_take() is not None:
            pass
    elif fate == "read":
        await cab.door.read(address)
    elif fate == "store":
        cab.door.write(address, 1)
    elif fate == "given back":
        cab.memory.free(blocks[0])
        await cab.door.read(blocks[0])
    elif fate == "areas":
        await cab.datagram.send((2, 7), [(DATA, 10)])
    elif fate == "waits":
        await own.take(lambda letter: letter.length == 1)
    elif fate == "waits to write":
        while True:
            own.commit(await own.reserve(9))


async def talk(cab, other, count):
    """Exchanges messages of all sizes with a task on another CAB; each must come once, unharmed, in order."""
    for number in range(count):
        await cab.datagram.send((other, 3), bytes([number]) * (1 + 37 * number % 3000))
        letter = await cab.mailbox(3).take(timeout_us=100_000)
        assert await letter.read() == bytes([number]) * (1 + 37 * number % 3000)
        letter.free()
        await cab.sleep(200)
    return count


async def swallow(cab):
    while True:
        (await cab.mailbox(7).take()).free()


def coming_and_going(seed, boards, count):
    print("seed", seed)
    rng = seeds.rng(seed)
    met = []

    async def main(cab):
        under_way = []
        for index in range(count):
            fate = rng.choice(FATES)
            address = rng.choice(ADDRESSES)
            cab.mailbox(100 + index).capacity = 8
            args = fate, rng.randrange(1, 5), rng.randrange(5, 300), address, 100 + index
            thread = cab.spawn(user, *args, protected=True)
            under_way.append((thread, fate, address, rng.random() < 0.2))
            await cab.sleep(rng.randrange(10, 400))
            while len(under_way) > rng.randrange(2, 45):
                await end(cab, *under_way.pop(rng.randrange(len(under_way))))
        while under_way:
            await end(cab, *under_way.pop())
        return len(cab.faults)

    async def end(cab, thread, fate, address, early):
        if early or fate.startswith("waits"):
            await cab.sleep(rng.randrange(0 if early else 3000, 4000))
            thread.end()
        try:
            await thread.join(timeout_us=200_000)
            assert not fate.startswith("waits")
            met.append(fate)
        except Fault as fault:
            assert fate in ("read", "store", "given back", "areas")
            assert fault.address == address or fate in ("given back", "areas")
            assert fault.kind == ("write" if fate == "store" else "read")
            met.append(fate)
        except ThreadEnded:
            met.append("ended")

    with simulated("hub:3", boards=boards) as system, nothing_leaks(system):
        system.cab("CAB2").spawn(swallow)
        talkers = [system.spawn("CAB1", talk, 3, count), system.spawn("CAB3", talk, 1, count)]
        thread = system.spawn("CAB1", main)
        system.go()
        assert [each.result for each in talkers] == [count, count]
        assert thread.result == sum(fate in ("read", "store", "given back", "areas") for fate in met)
        boxes = [system.cab("CAB1").mailbox(100 + index) for index in range(count)]
        for box in boxes:
            assert box.owner is None and not len(box) and not box.readers and not box.writers
            with pytest.raises(ReceiverEnded):
                box.try_take()
    assert len(met) == count
    return met


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("seed", range(1))
def test_a_hundred_tasks_come_and_go(seed, boards):
    met = coming_and_going(seed, boards, 100)
    assert len(set(met)) >= 5


@pytest.mark.nightly
@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_hundreds_of_tasks_come_and_go(seed, boards):
    coming_and_going(seed, boards, 250)


@pytest.mark.parametrize("boards", BOARDS)
def test_a_message_to_a_task_that_has_ended_has_an_error_of_its_own_and_is_counted(boards):
    async def receiver(cab):
        cab.mailbox(5).open()

    async def remote(cab):
        await cab.sleep(5000)
        await cab.datagram.send((1, 5), b"too late")
        await cab.datagram.send((1, 6), bytes(3000))

    async def main(cab):
        await cab.spawn(receiver, protected=True).join()
        with pytest.raises(ReceiverEnded, match="the task that it belonged to has ended"):
            await cab.datagram.send((cab.id, 5), b"too late")
        cab.mailbox(6).close()
        with pytest.raises(MailboxClosed, match="open it again"):
            await cab.datagram.send((cab.id, 6), b"closed")
        await cab.sleep(10_000)
        assert cab.mailbox(5).refused == 1 and cab.mailbox(6).refused == 1
        assert cab.datagram.counters.refused == 2 and cab.datagram.counters.orphans == 2

    with simulated(boards=boards) as system, nothing_leaks(system):
        system.spawn("CAB1", main)
        system.spawn("CAB2", remote)
        system.go()
