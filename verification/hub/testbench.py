"""A HUB under test with an endpoint at each port: what the claims about a whole HUB have in common.

A claim is written as ``@claim(ports=3) async def what_holds(tb)``. It runs as a cocotb test on every HUB of at least
that many ports, and ends in ``tb.finish()``: everything drained, the HUB idle, no connection left, and the reference
model content with all that happened.
"""

import functools
import random

import cocotb

from nectar.hdl.hub.commands import HELLO, HELLO_ASK, REPLY, STATUS_IN_USE, Op, commands_of
from nectar.hdl.hub.monitor_map import CounterId
from nectar.hdl.hub.profile import HUB_PROFILES
from nectar.hdl.link.queue import QUEUE_DEPTH
from nectar.hdl.link.symbol import ANY_HUB, MAX_PACKET, command, packet

from ..bench import inside
from .model import Model
from .monitors import Endpoint, always
from .pins import Pins
from .reference import judge
from .streams import Departing, departures
from .traffic import neighbour_hub

__all__ = [
    "HUB",
    "CLOSE_ALL",
    "NEEDED",
    "NEEDED_PARTS",
    "Testbench",
    "claim",
    "commands_inside",
    "longest_inside",
    "options_of",
    "profile_inside",
]

#: HUB ID of the HUB under test.
HUB = 7
#: A close all, as a source sends it.
CLOSE_ALL = command(Op.CLOSE_ALL, ANY_HUB, 0)
#: Ports that a claim needs, by its name, and the parts of a HUB that may be left out.
NEEDED, NEEDED_PARTS = {}, {}


def profile_inside():
    """The profile of the HUB that is being simulated: the last word of the configuration's name."""
    return HUB_PROFILES[inside().split()[-1]]


def options_of(configuration):
    """What the HUB of a configuration is made with beside ports and profile: the parameters of ``Hub`` that the words
    ``no-monitor``, ``no-locks`` and ``queue-N`` of its name stand for."""
    found = {}
    for word in configuration.split()[2:-1]:
        name, _, value = word.partition("-")
        if name == "no":
            found[value] = False
        else:
            assert name == "queue", f"{configuration}: {word}"
            found[name] = int(value)
    return found


def room_inside():
    """Symbols that an input queue of the HUB that is being simulated holds."""
    return options_of(inside()).get("queue", QUEUE_DEPTH)


def longest_inside():
    """Bytes of the longest packet that fits into an input queue with its framing and commands, at most MAX_PACKET."""
    return min(MAX_PACKET, room_inside() - 128)


def commands_inside():
    """The commands of the HUB that is being simulated."""
    return commands_of(**{part: there for part, there in options_of(inside()).items() if part != "queue"})


def patience():
    """How many times longer than with the usual queue and eight ports claims may take with the HUB that is being
    simulated: a queue takes longer to fill, and what is done with every port is done more often."""
    if not inside():
        return 1
    ports = int(inside().split()[0])
    return max(1, -(-room_inside() // QUEUE_DEPTH)) * max(1, ports // 8)


def claim(ports=2, *, timeout_ms=5, needs=()):
    """Makes a cocotb test of a coroutine that takes a Testbench; on smaller HUBs than ``ports``, and on those without
    one of the parts ``needs``, there is nothing to show. ``timeout_ms`` is for the usual queue and few ports."""

    def decorate(function):
        NEEDED[function.__name__] = ports
        NEEDED_PARTS[function.__name__] = frozenset(needs)

        @functools.wraps(function)
        async def run(dut):
            tb = Testbench(dut)
            if tb.ports >= ports and all(map(tb.has, needs)):
                await tb.start()
                await function(tb)

        return cocotb.test(timeout_time=timeout_ms * patience(), timeout_unit="ms")(run)

    return decorate


class Testbench:
    """Endpoints, the pins between them and the HUB, and short ways to say what a claim needs."""

    def __init__(self, dut):
        self.pins = Pins(dut, HUB)
        self.ports = self.pins.ports
        self._options = options_of(inside())
        #: The commands that the HUB knows, by their opcodes.
        self.rows = {int(row.op): row for row in commands_inside()}
        #: Symbols that an input queue holds, and bytes of the longest packet that is to fit in with all around it.
        self.room, self.longest = room_inside(), longest_inside()
        #: Symbols that wait between an input queue and its head (docs/hub.md, "Input queue").
        self.beyond = 5 if profile_inside().pipelined else 0
        self.agents = None
        self._model = self._heard = self._said = self._departing = self._parsed = None

    async def start(self, take=always, answer=1, cycles=4):
        """Resets the HUB for ``cycles``; ``take`` and ``answer`` as in Endpoint, for all ports. The next cycle is the
        first behind the reset."""
        self.agents = await self.pins.reset([Endpoint(take, answer) for _ in range(self.ports)], cycles)
        self._model = Model(self.ports, HUB, commands=self.rows.values())
        self._heard = [0] * self.ports
        self._departing = [Departing(port) for port in range(self.ports)]
        self._parsed = [0] * self.ports
        self._said = [0] * self.ports

    def has(self, part):
        """Whether the HUB has ``part``: monitor or locks."""
        return self._options.get(part, True)

    @property
    def ends(self):
        """The endpoints."""
        return self.agents.endpoints

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
        """Clock cycles until all is sent and the HUB is idle, or nothing moves any more; ``limit`` is for the usual
        queue and few ports."""
        await self.run(2)
        await self.pins.drain(limit * patience())

    async def rest(self, limit=5000):
        """Clock cycles until the HUB has been drained and says idle."""
        await self.drain(limit)
        await self.pins.until(lambda: self.agents.recording.idle[-1], limit, "the HUB says idle")

    def sent(self, port):
        """What the HUB has sent out of ``port``, taken apart."""
        departing, tx = self._departing[port], self.agents.recording.tx[port]
        departing.feed(tx[self._parsed[port] :])
        self._parsed[port] = len(tx)
        return departing.found

    def data(self, port):
        """Symbols that have come out of ``port`` over the crossbar."""
        return [item.symbol for item in self.sent(port).data]

    def replies(self, port):
        """Replies that have come out of ``port``, three bytes each."""
        return [list(frame) for frame, _ in self.sent(port).replies if frame[0] not in (HELLO, HELLO_ASK)]

    def hellos(self, port):
        """Hellos that have come out of ``port``, three bytes each."""
        return [list(frame) for frame, _ in self.sent(port).replies if frame[0] in (HELLO, HELLO_ASK)]

    def readies(self, port):
        """Number of ready signals that have come out of ``port``."""
        return len(self.sent(port).readies)

    async def ask(self, port, op, param, limit=200):
        """Sends a command that wants a reply and waits for it; returns (done, value)."""
        tx = self.agents.recording.tx[port]
        before = len(self.replies(port))
        self.order(port, op, param)
        looked = 0
        got = []

        def answered():
            nonlocal looked, got
            if len(tx) > looked:
                looked, got = len(tx), self.replies(port)[before:]
            return got

        await self.pins.until(
            answered, limit + len(self.ends[port].outbox), f"a reply to {op:#04x} {param} at port {port}"
        )
        reply_op, hub, value = got[0]
        assert hub == HUB and reply_op | REPLY == op | REPLY, f"{got[0]} answers {op:#04x} {param}"
        return bool(reply_op & REPLY), value

    async def ask_all(self, questions):
        """Sends commands that want replies: ``questions`` ({port: [(op, param)]}), the ports at once and one behind the
        other at each; returns [(done, value)] for each port in their order."""
        before = {port: len(self.replies(port)) for port in questions}
        for port, asked in questions.items():
            for op, param in asked:
                self.order(port, op, param)
        await self.drain()
        answers = {}
        for port, asked in questions.items():
            got = self.replies(port)[before[port] :]
            assert [(frame[0] | REPLY, frame[1]) for frame in got] == [(op | REPLY, HUB) for op, _ in asked], (
                f"port {port}: {got} answers {[(f'{op:#04x}', param) for op, param in asked]}"
            )
            answers[port] = [(bool(op & REPLY), value) for op, _, value in got]
        return answers

    async def done(self, port, op, param):
        """As ``ask``, for what must be done; returns the value."""
        done, value = await self.ask(port, op, param)
        assert done, f"{Op(op).name} {param} at port {port} was refused: {value}"
        return value

    async def errors(self, port, reader=None):
        """The error counter of ``port``, read through ``reader``, by default another port."""
        done, value = await self.ask((port + 1) % self.ports if reader is None else reader, Op.STATUS_ERRORS, port)
        assert done
        return value

    async def owner(self, output, reader=None, op=Op.STATUS_OUTPUT):
        """The input connected to ``output``, or None."""
        value = await self.done(output if reader is None else reader, op, output)
        assert value & STATUS_IN_USE or value == 0
        return value & ~STATUS_IN_USE if value else None

    async def locker(self, output, reader=None):
        """The input that has locked ``output``, or None."""
        return await self.owner(output, reader, Op.STATUS_LOCK)

    async def ready_bit(self, output, reader=None):
        """The ready bit of ``output``."""
        return await self.done(output if reader is None else reader, Op.STATUS_READY, output)

    async def counter(self, port, counter, reader):
        """A counter of ``port``, read by the monitor through ``reader``, when the HUB has had time to enter what has
        happened."""
        return (await self._counters(port, [counter], reader))[counter]

    async def counters(self, port, reader):
        """{CounterId: number} of ``port`` as far as not 0."""
        return {
            counter: number for counter, number in (await self._counters(port, CounterId, reader)).items() if number
        }

    async def _counters(self, port, which, reader):
        """One wait serves all: nothing is counted while they are read, but what the reader's own commands do."""
        await self.run(40 * self.ports)
        await self.done(reader, Op.MONITOR_SELECT_REPLY, port)
        found = {}
        for counter in which:
            high, low = [await self.done(reader, Op.MONITOR_READ_REPLY, 2 * counter + byte) for byte in (0, 1)]
            found[counter] = high << 8 | low
        return found

    async def agrees(self, limit=5000):
        """Drains, lets the model that does one thing after the other do what has arrived since the last time, and
        compares all that came out."""
        await self.drain(limit)
        recording = self.agents.recording
        new = sorted(
            (at, port, symbol) for port in range(self.ports) for at, symbol in recording.rx[port][self._heard[port] :]
        )
        self._heard = [len(rx) for rx in recording.rx]
        model = self._model
        for _, port, symbol in new:
            model.arrive(port, symbol)
        for port in range(self.ports):
            got = departures(recording.tx[port][self._said[port] :], port)
            self._said[port] = len(recording.tx[port])
            hello = [list(frame) for frame, _ in got.replies if frame[0] in (HELLO, HELLO_ASK)]
            own = [list(frame) for frame, _ in got.replies if frame[1] == HUB and frame[0] not in (HELLO, HELLO_ASK)]
            passed = [list(frame) for frame, _ in got.replies if frame[1] != HUB]
            where = f"port {port}, cycle {self.agents.now}, after {[(p, hex(s)) for _, p, s in new]}: "
            assert [item.symbol for item in got.data] == model.data[port], (
                where + f"{got.data}, expected {model.data[port]}"
            )
            assert own == model.answers[port], where + f"answers {own}, expected {model.answers[port]}"
            assert sorted(hello) == sorted(model.hellos[port]), where + f"hellos {hello}, expected {model.hellos[port]}"
            assert sorted(passed) == sorted(model.passed[port]), (
                where + f"replies {passed}, expected {model.passed[port]}"
            )
            assert len(got.readies) == model.readies[port], (
                where + f"{len(got.readies)} ready signals, expected {model.readies[port]}"
            )
            for found in (model.data, model.answers, model.hellos, model.passed):
                found[port].clear()
            model.readies[port] = 0
        return model

    async def connects(self, source, outputs):
        """Shows that a fresh connection from ``source`` to ``outputs`` works: a packet with ready, reply and close
        all."""
        # At once: until a large HUB with a connection is seen to be quiet, a watchdog may have closed it.
        before = {o: len(self.data(o)) for o in outputs}
        answered = len(self.replies(source))
        stream = packet([source, *random.randbytes(8)]) + CLOSE_ALL
        self.send(source, *(command(Op.OPEN_RETRY_REPLY, HUB, o) for o in outputs), stream)
        await self.drain()
        assert self.replies(source)[answered:] == [[Op.OPEN_RETRY_REPLY, HUB, o] for o in outputs]
        assert {o: self.data(o)[before[o] :] for o in outputs} == dict.fromkeys(outputs, stream)
        owners = await self.ask_all({o: [(Op.STATUS_OUTPUT, o)] for o in outputs})
        assert owners == {o: [(True, 0)] for o in outputs}

    async def finish(self, judged=True):
        """Ends a claim: drained, no connection and no lock left, all ready bits 1, fresh connections work; the model
        judges what happened."""
        await self.drain()
        everyone = range(self.ports)
        ops = [Op.STATUS_OUTPUT, *[Op.STATUS_LOCK] * self.has("locks")]
        for port, values in (await self.ask_all({port: [(op, port) for op in ops] for port in everyone})).items():
            assert values == [(True, 0)] * len(ops), f"output {port} is still taken or locked: {values}"
        errors = await self.ask_all({(port + 1) % self.ports: [(Op.STATUS_ERRORS, port)] for port in everyone})
        assert all(done for ((done, _),) in errors.values())
        for port in range(self.ports):
            target = (port + 1) % self.ports
            stream = [*command(Op.TEST_OPEN_RETRY, HUB, target), *packet([port, 0xEE]), *CLOSE_ALL]
            self.send(port, stream)
        await self.drain()
        for port in range(self.ports):
            assert self.data((port + 1) % self.ports)[-8:] == packet([port, 0xEE]) + CLOSE_ALL
        return judge(self.agents.recording, HUB, profile_inside().transfer, self.rows.values()) if judged else None

    @staticmethod
    def foreign(port, op, param):
        """A command for the HUB that stands behind ``port``."""
        return command(op, neighbour_hub(port), param)
