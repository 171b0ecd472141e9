"""Figures between nodes: processes behind the VME buses of simulated boards, software with its tables of costs."""

from functools import cache

from ...hdl.host.events import EventGroup, EventKind
from ...hdl.host.numbers import RESET_EDGES
from ...sim.profile import PROTOTYPE
from ...sim.recorder import Recorder
from ...sim.topology import load
from ...software.backends.engine.machine import EngineMachine
from ...software.system import System
from .facts import Found

__all__ = ["call", "message", "rate"]

#: Bytes of the smallest message, and how often it is measured.
SMALLEST, TIMES = 1, 8
#: Bytes of the messages of the throughput, and how many.
LARGE, COUNT = 1 << 15, 6


def simulate(first, second, look=lambda recording: None):
    """Runs process ``first(node, cab)`` on the node of CAB1 and ``second(node)`` on that of CAB2; ``cab`` is CAB2's ID.
    Returns (results, what ``look(recording)`` gave, which is called at the end with a Recording of messages).
    """
    topology = load("hub:2")
    recorder = Recorder(groups=EventGroup.MESSAGES)
    machine = EngineMachine(topology, PROTOTYPE, nodes=topology.cabs, recorder=recorder)
    system = System.of(machine, topology, PROTOTYPE)
    try:
        threads = [system.node("CAB2").spawn(second), system.node("CAB1").spawn(first, system.id_of("CAB2"))]
        run = system.run()
        try:
            run.send(None)
        except StopIteration:
            pass
        else:
            raise RuntimeError("the engine has suspended")
        with recorder.recording() as recording:
            return [thread.result for thread in reversed(threads)], look(recording)
    finally:
        system.close()
        recorder.close()


async def _send(node, cab):
    begun = []
    await node.sleep(1000)
    for number in range(TIMES):
        begun.append(await node.now_us())
        await node.datagram.send((cab, 1), bytes([number] * SMALLEST))
        await node.sleep(300)
    return begun


async def _receive(node):
    mailbox = node.mailbox(1)
    ended = []
    for number in range(TIMES):
        message = await mailbox.receive(100_000)
        data = await message.read()
        ended.append(await node.now_us())
        message.free()
        if data != bytes([number] * SMALLEST):
            raise RuntimeError(f"{data} has arrived for message {number}")
    await mailbox.close()
    return ended


def _between(recording):
    """For each message (when the send of CAB1 was called, when CAB2 had it), in us since the reset."""
    begin = RESET_EDGES * PROTOTYPE.cab_period_ps
    calls, arrivals = (
        [(event.time_ps - begin) / 1e6 for event in recording.events([kind], [cab])]
        for cab, kind in (("CAB1", EventKind.SEND), ("CAB2", EventKind.DELIVERED))
    )
    return list(zip(calls, arrivals, strict=True))


def message():
    """S1: the smallest message from process to process on two nodes."""
    (begun, ended), between = simulate(_send, _receive, _between)
    times = [end - begin for begin, end in zip(begun, ended)]
    worst = max(range(TIMES), key=times.__getitem__)
    called, received = between[worst]
    text = (
        f"node until the CAB's send {called - begun[worst]:.2f}, CAB to CAB {received - called:.2f}, "
        f"until the process has it {ended[worst] - received:.2f}"
    )
    return Found(
        round(times[worst], 3), f"{SMALLEST} byte between processes on two nodes, longest of {TIMES}, in us: {text}"
    )


async def _call(node, cab):
    times = []
    await node.sleep(1000)
    for number in range(TIMES):
        begin = await node.now_us()
        answer = await node.request.call((cab, 1), bytes([number] * 4))
        times.append(await node.now_us() - begin)
        if answer != bytes([number + 1] * 4):
            raise RuntimeError(f"{answer} is the answer to call {number}")
    return times


async def _serve(node):
    service = await node.request.serve(1)
    for _ in range(TIMES):
        request = await service.receive(100_000)
        await request.reply(bytes(byte + 1 for byte in await request.read()))
    await service.close()


def call():
    """S13: a remote procedure call from process to process on two nodes."""
    (times, _), _ = simulate(_call, _serve)
    return Found(
        round(max(times), 3),
        f"4 bytes and 4 back between processes on two nodes, longest of {TIMES}; the shortest {min(times):.1f} us",
    )


def _content(number):
    return bytes((number + offset) & 0xFF for offset in range(256)) * (LARGE // 256)


async def _stream(node, cab):
    await node.sleep(1000)
    contents = [_content(number) for number in range(COUNT)]
    begin = await node.now_us()
    sent = [await node.datagram.start((cab, 1), content) for content in contents]
    for each in sent:
        await each.done()
    return begin


async def _take(node):
    mailbox = node.mailbox(1)
    got = []
    for _ in range(COUNT):
        message = await mailbox.receive(100_000)
        got.append(await message.read())
        message.free()
    end = await node.now_us()
    await mailbox.close()
    if got != [_content(number) for number in range(COUNT)]:
        raise RuntimeError("other bytes have arrived than were sent")
    return end


@cache
def _throughput():
    (begin, end), _ = simulate(_stream, _take)
    return 8 * LARGE * COUNT / (end - begin)


def rate():
    """S13: from node to node."""
    return Found(
        round(_throughput(), 2),
        f"{COUNT} datagrams of {LARGE >> 10} kbyte, from the first store of one process to the last load of the "
        f"other, over VME both",
    )
