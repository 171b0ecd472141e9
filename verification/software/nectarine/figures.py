"""Figures of Nectarine, as docs/nectarine.md gives them; by the clocks of the CABs."""

from nectar.verification.software.helpers import pattern
from nectar.verification.software.nectarine.applications import application

__all__ = ["message_us", "send_us", "throughput_mbits"]

#: Messages before those that are measured: boot numbers are known then, and slots are there.
_WARM = 2


def message_us(size=0, copied=False, topology="hub:2", to="CAB2", boards="rtl", at="CAB1"):
    """Microseconds of a message of ``size`` bytes from task to task between idle CABs, or nodes: half of the time from
    ``send`` to the end of the ``receive`` of an answer of the same size. ``copied``: bytes of Python, not buffers."""
    return _ping(size, copied, topology, to, boards, at)[0]


def send_us(size=0, boards="rtl"):
    """Microseconds from the call of ``send`` to its return."""
    return _ping(size, False, "hub:2", "CAB2", boards)[1]


def _ping(size, copied, topology, to, boards, at="CAB1"):
    async def made_of(task):
        return bytes(size) if copied or not size else await task.buffer(size)

    async def ping(task):
        data = await made_of(task)
        into = None if copied or not size else data
        for _ in range(_WARM + 1):
            await task.on.sleep(400)
            begin = await task.on.now_us()
            await task.send("pong", data)
            sent = await task.on.now_us()
            await task.receive(into)
            end = await task.on.now_us()
        return (end - begin) / 2, sent - begin

    async def pong(task):
        data = await made_of(task)
        into = None if copied or not size else data
        for _ in range(_WARM + 1):
            await task.receive(into)
            await task.send("ping", data)

    nodes = [place.removesuffix(".node") for place in (at, to) if place.endswith(".node")]
    with application(topology, boards=boards, nodes=nodes) as made:
        made.spawn("ping", ping, on=at)
        made.spawn("pong", pong, on=to)
        made.go()
        return made.tasks["ping"].result


def throughput_mbits(size, count=1, topology="hub:2", to="CAB2", boards="rtl"):
    """Mbit/s of ``count`` messages of ``size`` bytes, one after the other, from buffer to buffer: from the first
    ``send`` to the return of the last; and (bytes that the CPUs have copied)."""

    async def sender(task):
        buffer = await task.buffer(size)
        buffer.write(pattern(size))
        await task.send("receiver", buffer)
        await task.cab.sleep(1000)
        begin = await task.cab.now_us()
        for _ in range(count):
            await task.send("receiver", buffer)
        end = await task.cab.now_us()
        return 8 * count * size / (end - begin), task.copies.cpu_out

    async def receiver(task):
        buffer = await task.buffer(size)
        for _ in range(count + 1):
            await task.receive(buffer)
        assert await buffer.read() == pattern(size)
        return task.copies.cpu_in

    with application(topology, boards=boards) as made:
        made.spawn("sender", sender, on="CAB1")
        made.spawn("receiver", receiver, on=to)
        made.go()
        mbits, out = made.tasks["sender"].result
        return mbits, out + made.tasks["receiver"].result
