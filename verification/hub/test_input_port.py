"""Bench of hdl/hub/input_port.py: the way of a symbol through a port, and the error counter.

What a head has to do with what arrives is told by streams.py, which takes the symbols apart as docs/wire.md says.
"""

import random

import cocotb
import pytest

from nectar.hdl.hub.commands import Op
from nectar.hdl.hub.input_port import InputPort
from nectar.hdl.hub.reply_buffer import ARRIVED_ROOM
from nectar.hdl.link.symbol import Control, command, packet, reply
from nectar.verification.bench import Bench
from nectar.verification.hub.lockstep import Lockstep
from nectar.verification.hub.streams import Order, Pass, actions, arrivals

HUB = 0x42
PORTS, PORT, CAPACITY = 4, 2, 64
OWN = 1 << 24
MAX_ERRORS = 255
RESERVED = 0x1F0
LATENCY = 2


class Surroundings:
    """Everything around an input port: one connected output, a controller that answers, a reply bus."""

    def __init__(self, dut):
        self.lockstep = Lockstep(dut, ["rx_symbol", "rx_valid", "hub_id", "targets", "space", "response_valid", "done", "value",
                                       "replies__ready", "reply_lost"])
        self.moved = []     # (symbol, cycle)
        self.requests = []  # (op, param)
        self.replies = []
        self.closes = None  # cycle in which no output is connected
        self.due = None

    async def cycle(self, symbol=None, space=True, take=True, **more):
        """One cycle. The controller needs three; behind a close all no output is connected for one cycle, then they are again."""
        now = self.lockstep.cycle
        inputs = {"rx_symbol": symbol or 0, "rx_valid": symbol is not None, "hub_id": HUB,
                  "targets": 0 if now == self.closes else 0b1001, "space": 0b1111 if space else 0b0111,
                  "replies__ready": take, "response_valid": self.due == now, "done": 1, "value": 0x77, **more}
        names = ("move", "passage", "request_valid", "request", "replies__valid", "replies__payload")
        move, passage, request_valid, request, reply_valid, reply_payload = await self.lockstep.step(inputs, outputs=names)
        if move:
            assert space, "a symbol moved without space"
            self.moved.append((passage & 0x1FF, now))
            if passage >> 9:
                self.closes = now + random.randint(1, 4)
        if request_valid:
            self.requests.append((request >> 8, request & 0xFF))
            self.due = now + 3
        if reply_valid and take:
            self.replies.append(reply_payload)

    async def settle(self, limit=3000):
        """Cycles until the port is not busy."""
        for _ in range(limit):
            await self.cycle()
            if not self.lockstep.read("busy"):
                return
        raise AssertionError("the port stays busy")

    @property
    def errors(self):
        """Errors counted."""
        return self.lockstep.read("errors")


async def start(dut):
    surroundings = Surroundings(dut)
    await surroundings.lockstep.reset()
    return surroundings


def soup(length):
    """Frames of all kinds with what may stand between their symbols; all own commands are the controller's."""
    symbols = []
    while len(symbols) < length:
        frame = random.choice([packet(random.randbytes(random.randrange(6))), command(Op.CLOSE_ALL, 0xFF, 0),
                               command(random.choice([Op.OPEN_RETRY_REPLY, Op.STATUS_ERRORS, Op.OPEN]), HUB, random.randrange(PORTS)),
                               command(Op.CLOSE, 0x99, 1), reply(0x31, 2, 3), [RESERVED], [0x55]])
        if random.random() < 0.2:
            frame = frame[:random.randrange(len(frame) + 1)]
        for symbol in frame:
            if random.random() < 0.1:
                symbols += random.choice([[Control.READY], [Control.IDLE], reply(0x31, 2, 3), [RESERVED]])
            symbols.append(symbol)
    return symbols + [Control.START]  # cuts what is open


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def does_with_every_symbol_what_the_wire_demands(dut):
    """H8, H11, H12, H16: what passes, what is asked of the controller, what is replied, in order; nothing else."""
    for share, pause in ((1.0, 0.6), (0.7, 0.7)):
        surroundings = await start(dut)
        symbols = soup(1500)
        heard = []
        for symbol in symbols:
            while random.random() < pause:
                await surroundings.cycle(space=random.random() < share)
            heard.append((surroundings.lockstep.cycle, symbol))
            await surroundings.cycle(symbol, space=random.random() < share)
        await surroundings.settle()
        found = arrivals(heard)
        todo = actions(found.queue, HUB)
        passes = [action for action in todo if isinstance(action, Pass)]
        assert [symbol for symbol, _ in surroundings.moved] == [action.symbol for action in passes]
        assert surroundings.requests == [(action.op, action.param) for action in todo if isinstance(action, Order)]
        arrived = [r for r in surroundings.replies if not r & OWN]
        assert arrived == [int.from_bytes(bytes(content), "big") for content, _ in found.replies]
        answers = [(r >> 16 & 0xFF, r >> 8 & 0xFF, r & 0xFF) for r in surroundings.replies if r & OWN]
        assert answers == [(action.op, HUB, 0x77) for action in todo if isinstance(action, Order) and action.op & 1]
        faults = sum(not isinstance(action, (Pass, Order)) for action in todo)
        assert surroundings.errors == min(MAX_ERRORS, faults + len(found.errors)) > 100


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_symbol_can_move_two_cycles_after_the_input_register(dut):
    """H3: the port's share of the five cycles: queue write and queue read."""
    surroundings = await start(dut)
    for symbol in packet(random.randbytes(50)):
        if random.random() < 0.3:
            await surroundings.cycle()
        now = surroundings.lockstep.cycle
        await surroundings.cycle(symbol)
        surroundings.moved.append(("came", symbol, now))
    await surroundings.settle()
    came = [(item[1], item[2] + LATENCY) for item in surroundings.moved if len(item) == 3]
    assert [item for item in surroundings.moved if len(item) == 2] == came


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def counts_every_error_once(dut):
    """docs/hub.md, Errors: each kind, also three with one symbol; the counter stops at 255."""
    surroundings = await start(dut)

    async def errors_of(*symbols, **more):
        before = surroundings.errors
        for symbol in symbols:
            await surroundings.cycle(symbol, **more)
        await surroundings.settle()
        return surroundings.errors - before

    assert await errors_of(Control.IDLE, Control.READY, *packet(b"abc"), *command(Op.OPEN, HUB, 1)) == 0
    assert await errors_of(RESERVED) == 1
    assert await errors_of(Control.COMMAND, Op.OPEN, *packet(b"")) == 1
    assert await errors_of(Control.REPLY, 1, *packet(b"")) == 1
    assert await errors_of(Control.COMMAND, Op.OPEN, Control.REPLY, 1, *packet(b"")) == 2
    assert await errors_of(Control.REPLY, 1, RESERVED) == 2
    assert await errors_of(*command(Op.CLOSE, HUB, 1)) == 1
    assert await errors_of(*command(Op.CLOSE, HUB, 0)) == 0
    assert await errors_of(*command(0x7E, HUB, 0)) == 1
    assert await errors_of(None, reply_lost=True) == 1
    assert await errors_of(*[symbol for n in range(ARRIVED_ROOM + 3) for symbol in reply(1, 2, n)], take=False) == 3
    assert await errors_of(*[0x55] * (CAPACITY + LATENCY + 5), space=False) == LATENCY + 5
    for expected in [*range(surroundings.errors + 2, MAX_ERRORS + 1, 2), MAX_ERRORS, MAX_ERRORS]:
        await errors_of(Control.REPLY, RESERVED)
        assert surroundings.errors == expected


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def is_busy_while_a_symbol_is_inside(dut):
    """docs/hub.md, Pins: idle only if nothing but an arriving symbol can change the state."""
    surroundings = await start(dut)
    assert not surroundings.lockstep.read("busy")
    await surroundings.cycle(0x55, space=False)
    for _ in range(20):
        await surroundings.cycle(space=False)
        assert surroundings.lockstep.read("busy")
    await surroundings.settle(3)
    for symbol in command(Op.OPEN, HUB, 1)[:3]:
        await surroundings.cycle(symbol)
    await surroundings.settle(3)
    assert surroundings.requests == []


bench = Bench(__name__, {"port": lambda: InputPort(PORTS, PORT, CAPACITY)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_input_port(configuration, claim):
    bench.check(configuration, claim)
