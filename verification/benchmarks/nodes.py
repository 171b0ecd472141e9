"""Processes of nodes: what ``nectar bench nodes`` measures.

Simulated time on RTL boards."""

from ...sim.profile import PROTOTYPE
from ...sim.topology import load
from ...software.backends.engine.machine import EngineMachine
from ...software.packet import MAX_DATA
from ...software.system import System
from ..reproduce import nodes
from . import workloads
from .outcome import Outcome

__all__ = ["measure"]

#: Of the smallest message and of a call at most, in microseconds; of the throughput by DMA at least, in Mbit/s.
_MESSAGE_US, _CALL_US, _RATE = 60, 250, 60
#: Packets of a message, and how many messages.
_PACKETS, _MESSAGES = 64, 4


def measure(scale):
    """Outcomes: the smallest message and a call by shared memory; the throughput from node's memory to node's memory by
    DMA, with what a packet takes on VME and on the fiber."""
    message, call = nodes.message(), nodes.call()
    return [
        Outcome(message.value, "us", _MESSAGE_US, message.how, at_most=True, part="message"),
        Outcome(call.value, "us", _CALL_US, call.how, at_most=True, part="call"),
        _dma(max(2, round(_MESSAGES * scale))),
    ]


def _run(first, second):
    """Runs process ``first`` on the node of CAB1 and ``second`` on that of CAB2; their results."""
    topology = load("hub:2")
    system = System.of(EngineMachine(topology, PROTOTYPE, nodes=topology.cabs), topology, PROTOTYPE)
    try:
        threads = [system.node("CAB1").spawn(first), system.node("CAB2").spawn(second)]
        _through(system)
        return [thread.result for thread in threads]
    finally:
        system.close()


def _through(system):
    """Runs it; the engine never suspends."""
    try:
        system.run().send(None)
    except StopIteration:
        return
    raise RuntimeError("the engine has suspended")


def _dma(messages):
    length = _PACKETS * MAX_DATA

    async def send(node):
        buffer = node.memory.allocate(length)
        await node.attached()
        await node.sleep(3000)
        started = [await node.datagram.start(("CAB2", 1), buffer) for _ in range(messages)]
        for each in started:
            await each.done()

    async def receive(node):
        box, ends = node.mailbox(1), []
        expected = [await box.expect(node.memory.allocate(length)) for _ in range(messages)]
        for each in expected:
            await each.done()
            ends.append(await node.now_us())
        await box.close()
        return ends

    _, ends = _run(send, receive)
    packet_us = (ends[-1] - ends[0]) / (messages - 1) / _PACKETS
    vme_us = _alone(lambda channel, node, data, done: channel.fetch(node, data, MAX_DATA, done))
    back_us = _alone(lambda channel, node, data, done: channel.send(data, node, MAX_DATA, done))
    fiber_us = _fiber()
    rate, slowest = MAX_DATA * 8 / packet_us, max(vme_us, back_us, fiber_us)
    text = "\n".join(
        [
            f"from memory to memory of the nodes by DMA: {rate:.1f} Mbit/s; a packet of {MAX_DATA} bytes every "
            f"{packet_us:.1f} us",
            f"the sum: VME takes {vme_us:.1f} us for a packet from the node, {back_us:.1f} us for one to it "
            f"({1000 * vme_us * 4 / MAX_DATA:.0f} ns a longword), the fiber {fiber_us:.1f} us; these overlap, and the "
            f"slowest alone would give {MAX_DATA * 8 / slowest:.1f} Mbit/s",
            f"the other {packet_us - slowest:.1f} us: nodes that look whether messages are there, on the same bus",
        ]
    )
    measured = {"rate": rate, "packet_us": packet_us, "vme_us": vme_us, "back_us": back_us, "fiber_us": fiber_us}
    return Outcome(rate, "Mbit/s", _RATE, text, measured=measured, part="dma")


def _alone(move):
    """Microseconds of a packet in one direction over VME, in the mean of several, while nobody else uses the bus."""
    count = 16
    topology = load("hub:1")
    system = System.of(EngineMachine(topology, PROTOTYPE, nodes=topology.cabs), topology, PROTOTYPE)
    buffers = []

    async def lend(node):
        buffers.append(node.memory.allocate(count * MAX_DATA))

    async def task(cab):
        await cab.sleep(5000)
        channel, place, ends = cab.memory.channel, await cab.memory.allocate(MAX_DATA), []
        for _ in range(2):
            begun, errors = await cab.now_us(), []
            for number in range(count):
                move(channel, buffers[0].address + number * MAX_DATA, place, errors.append)
            await channel.enter()
            while len(errors) < count:
                await cab.sleep(10)
            ends.append(await cab.now_us() - begun)
            if any(errors):
                raise RuntimeError(f"a move has failed: {errors}")
        return min(ends)

    try:
        system.node("CAB1").spawn(lend)
        thread = system.spawn("CAB1", task)
        _through(system)
        return thread.result / count
    finally:
        system.close()


def _fiber():
    """Microseconds between two packets from CAB to CAB."""
    run = workloads.pair(60)
    return MAX_DATA * run.simulated_ps / run.carried / 1e6
