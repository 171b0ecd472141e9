"""A HUB under test with an endpoint at each port: what the claims about a whole HUB have in common.

A claim is written as ``@claim(ports=3) async def what_holds(scene)``. It runs as a cocotb test on every HUB of at least that many
ports, and ends in ``scene.finish()``: everything drained, the HUB idle, no connection left, and the reference model content with all
that happened.
"""

import functools
import random

import cocotb

from nectar.hdl.hub.commands import REPLY, Op
from nectar.hdl.link.symbol import ANY_HUB, command, packet

from .monitors import Endpoint, Pins, always
from .reference import judge
from .streams import departures
from .traffic import neighbour_hub

__all__ = ["HUB", "CLOSE_ALL", "NEEDED", "Scene", "claim"]

#: HUB ID of the HUB under test.
HUB = 7
#: A close all, as a source sends it.
CLOSE_ALL = command(Op.CLOSE_ALL, ANY_HUB, 0)
#: Ports that a claim needs, by its name.
NEEDED = {}


def claim(ports=2, *, timeout_ms=5):
    """Makes a cocotb test of a coroutine that takes a Scene; on smaller HUBs than ``ports`` there is nothing to show."""
    def decorate(function):
        NEEDED[function.__name__] = ports

        @functools.wraps(function)
        async def run(dut):
            scene = Scene(dut)
            if scene.ports >= ports:
                await scene.start()
                await function(scene)
        return cocotb.test(timeout_time=timeout_ms, timeout_unit="ms")(run)
    return decorate


class Scene:
    """Endpoints, the pins between them and the HUB, and short ways to say what a claim needs."""

    def __init__(self, dut):
        self.pins = Pins(dut, HUB)
        self.ports = self.pins.ports
        self.bed = None

    async def start(self, take=always, answer=1):
        """Resets the HUB; ``take`` and ``answer`` as in Endpoint, for all ports."""
        self.bed = await self.pins.reset([Endpoint(take, answer) for _ in range(self.ports)])

    @property
    def ends(self):
        """The endpoints."""
        return self.bed.endpoints

    def some(self, count):
        """``count`` different ports, at random."""
        return random.sample(range(self.ports), count)

    def send(self, port, *streams):
        """Gives ``port`` streams of symbols to send, one symbol a cycle from now on."""
        self.ends[port].send(*streams)

    def order(self, port, op, param):
        """Gives ``port`` a command for the HUB under test to send."""
        self.send(port, command(op, HUB, param))

    async def run(self, cycles):
        """Clock cycles."""
        await self.pins.cycles(cycles)

    async def drain(self, limit=5000):
        """Clock cycles until all is sent and the HUB is idle."""
        await self.pins.drain(limit)

    def sent(self, port):
        """What the HUB has sent out of ``port``, taken apart."""
        return departures(self.bed.recording.tx[port], port, partial=True)

    def data(self, port):
        """Symbols that have come out of ``port`` over the crossbar."""
        return [item.symbol for item in self.sent(port).data]

    def replies(self, port):
        """Replies that have come out of ``port``, three bytes each."""
        return [list(frame) for frame, _ in self.sent(port).replies]

    def readies(self, port):
        """Number of ready signals that have come out of ``port``."""
        return len(self.sent(port).readies)

    async def ask(self, port, op, param, limit=200):
        """Sends a command that wants a reply and waits for it; returns (done, value)."""
        before = len(self.replies(port))
        self.order(port, op, param)
        limit += len(self.ends[port].outbox)
        await self.pins.until(lambda: len(self.replies(port)) > before, limit, f"a reply to {op:#04x} {param} at port {port}")
        reply_op, hub, value = self.replies(port)[before]
        assert hub == HUB and reply_op | REPLY == op | REPLY
        return bool(reply_op & REPLY), value

    async def errors(self, port, reader=None):
        """The error counter of ``port``, read through ``reader``, by default another port."""
        done, value = await self.ask((port + 1) % self.ports if reader is None else reader, Op.STATUS_ERRORS, port)
        assert done
        return value

    async def owner(self, output, reader=None):
        """The input connected to ``output``, or None."""
        done, value = await self.ask(output if reader is None else reader, Op.STATUS_OUTPUT, output)
        assert done and (value & 0x80 or value == 0)
        return value & 0x7F if value else None

    async def connects(self, source, outputs):
        """Shows that a fresh connection from ``source`` to ``outputs`` works: a packet with ready, reply and close all."""
        for o in outputs:
            assert await self.ask(source, Op.OPEN_RETRY_REPLY, o) == (True, o)
        before = {o: len(self.data(o)) for o in outputs}
        stream = packet([source, *random.randbytes(8)]) + CLOSE_ALL
        self.send(source, stream)
        await self.drain()
        for o in outputs:
            assert self.data(o)[before[o]:] == stream
            assert await self.owner(o) is None

    async def finish(self, judged=True):
        """Ends a claim: drained, no connection left, all ready bits 1, fresh connections work; the model judges what happened."""
        await self.drain()
        for port in range(self.ports):
            assert await self.owner(port) is None, f"output {port} is still taken"
            await self.errors(port)
        await self.drain()
        for port in range(self.ports):
            target = (port + 1) % self.ports
            stream = [*command(Op.TEST_OPEN_RETRY, HUB, target), *packet([port, 0xEE]), *CLOSE_ALL]
            self.send(port, stream)
        await self.drain()
        for port in range(self.ports):
            assert self.data((port + 1) % self.ports)[-8:] == packet([port, 0xEE]) + CLOSE_ALL
        return judge(self.bed.recording, HUB) if judged else None

    @staticmethod
    def foreign(port, op, param):
        """A command for the HUB that stands behind ``port``."""
        return command(op, neighbour_hub(port), param)
