"""What the tests of nodes share: runs of processes and tasks, and processes to be run. docs/nodes.md."""

import pytest

from nectar.verification.software.helpers import nothing_leaks, simulated

__all__ = ["BOTH", "failing", "later", "one", "receive", "run", "send", "wait_and"]

BOTH = ["CAB1", "CAB2"]


def run(*processes, tasks=(), boards="fast", nodes=BOTH, topology="hub:2", leaks=False):
    """Runs ``processes``, each (name of the CAB before the node, process, arguments), and ``tasks`` of CABs; their
    results. Nothing may be left behind."""
    with simulated(topology, boards=boards, nodes=nodes) as system, nothing_leaks(system, not leaks, 10**12):
        threads = [system.node(name).spawn(process, *arguments) for name, process, *arguments in processes]
        threads += [system.spawn(name, task, *arguments) for name, task, *arguments in tasks]
        system.go()
        return [thread.result for thread in threads]


async def send(node, destination, messages):
    """A process: sends datagrams one after the other."""
    for data in messages:
        await node.datagram.send(destination, data)


async def receive(node, mailbox, count, pause_us=0):
    """A process: opens a mailbox and takes so many messages out of it; (source, bytes) of each."""
    box = node.mailbox(mailbox)
    await box.open()
    got = []
    for _ in range(count):
        message = await box.receive(200_000)
        got.append((message.source, await message.read()))
        message.free()
        if pause_us:
            await node.sleep(pause_us)
    await box.close()
    return got


async def later(node, microseconds, process, *arguments):
    """A process that does ``process`` later: others have opened what they open."""
    await node.attached()
    await node.sleep(microseconds)
    return await process(node, *arguments)


async def one(cab):
    """A task: the bytes of a message to mailbox 1."""
    message = await cab.mailbox(1).receive()
    data = await message.read()
    message.free()
    return data


def wait_and(task):
    """A task that does ``task(cab)`` after so many microseconds."""

    async def waiting(cab, microseconds):
        await cab.sleep(microseconds)
        return await task(cab)

    return waiting


def failing(attempt):
    """A process that gives the error that ``attempt(node)`` raises."""

    async def process(node):
        with pytest.raises(Exception) as caught:
            await attempt(node)
        return caught.value

    return process
