"""Tasks for four CABs that make every kind of call; ``test_plain`` runs them with plain functions, too.

All bytes and pauses are drawn. Each returns all that it has seen, with the times.
"""

from nectar.software.errors import TimedOut
from nectar.verification import seeds
from nectar.verification.software.helpers import pattern

__all__ = ["TASKS"]

STEPS = 6
PORT, SERVICE, BOX, LATE = 5, 6, 7, 8


async def server(cab, seed):
    """CAB1: a byte stream, a service, a mailbox in which it reserves places."""
    draw, seen = seeds.rng("plain", seed), []
    service = cab.request.serve(SERVICE)
    listener = cab.stream.listen(PORT)
    connection = await listener.accept()
    total = 0
    while data := await connection.receive(draw.randrange(1, 3000)):
        total += len(data)
        seen.append((await cab.now_us(), len(data)))
    await connection.close()
    listener.close()
    for _ in range(2 * STEPS):
        request = await service.receive()
        data = await request.read()
        await cab.sleep(draw.randrange(100))
        await request.reply(data[::-1])
        seen.append((await cab.now_us(), request.source))
    service.close()
    box = cab.mailbox(BOX)
    place = await box.reserve(100)
    place.write(bytes(100))
    box.commit(place)
    message = await box.take()
    seen.append((await message.read(0, 10), await cab.now_us(), total))
    message.free()
    return seen


async def streamer(cab, seed):
    """CAB2: sends the byte stream, calls the service, takes the multicast."""
    draw, seen = seeds.rng("plain", seed), []
    connection = await cab.stream.connect((1, PORT))
    for _ in range(STEPS):
        await connection.send(pattern(draw.randrange(1, 5000), seed))
        seen.append(await cab.now_us())
    await connection.close()
    for step in range(STEPS):
        seen.append(await cab.request.call((1, SERVICE), pattern(draw.randrange(2000), step)))
        await cab.pause()
    message = await cab.mailbox(LATE).receive()
    seen.append((message.source, await message.read()))
    message.free()
    return seen


async def caller(cab, seed):
    """CAB3: calls that overlap, datagrams and multicasts, time-outs."""
    draw, seen = seeds.rng("plain", seed), []
    for _ in range(STEPS // 2):
        calls = [await cab.request.start((1, SERVICE), pattern(draw.randrange(1500), seed)) for _ in range(2)]
        for call in calls:
            seen.append(await call.result())
    await cab.multicast.send(([2, 4], LATE), pattern(1200, seed))
    for switching in ("packet", "circuit", "auto"):
        await cab.datagram.send((4, BOX), pattern(draw.randrange(5000), seed), switching)
        seen.append(await cab.now_us())
    try:
        await cab.within(300, cab.mailbox(BOX).receive())
    except TimedOut:
        seen.append(("late", await cab.now_us()))
    return seen


async def local(cab, seed):
    """CAB4: what stays on one CAB: threads, locks, conditions, memory; then what CAB3 sends."""
    draw, seen = seeds.rng("plain", seed), []
    lock = cab.lock("the log")
    changed = cab.condition(lock, "a change")

    async def worker(cab, number, us):
        for step in range(STEPS):
            async with lock:
                cab.compute(us)
                seen.append((number, step))
                changed.signal()
            await cab.sleep(us)
        return number

    threads = [cab.spawn(worker, number, draw.randrange(5, 50)) for number in range(3)]
    await lock.acquire()
    while len(seen) < 2 * STEPS:
        await changed.wait()
    lock.release()
    numbers = [await thread.join() for thread in threads]
    block = await cab.memory.allocate(3000)
    cab.memory.write(block, pattern(3000, seed))
    seen.append((numbers, await cab.memory.read(block, 3000), await cab.now_us()))
    cab.memory.free(block)
    for number in (LATE, BOX, BOX, BOX):
        message = await cab.mailbox(number).receive()
        seen.append((message.source, await message.read(), await cab.now_us()))
        message.free()
    return seen


TASKS = (server, streamer, caller, local)
