"""Bench of hdl/hub/head.py: symbols pass, commands are done in order, nothing slips through behind a close all."""

import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.hub.commands import Error, Executor, Op, COMMANDS
from nectar.hdl.hub.head import Head
from nectar.hdl.link.symbol import ANY_HUB, Control, command, packet
from nectar.verification.bench import Bench, inside
from nectar.verification.hub.lockstep import Lockstep

CONFIGURATIONS = {"port 0 of 2": (2, 0), "port 3 of 5": (5, 3), "port 9 of 16": (16, 9)}
HUB = 0x42
OWN = 1 << 16
CLOSES = 1 << 9
FOR_CONTROLLER = [int(row.op) for row in COMMANDS if row.executor is Executor.CONTROLLER]
KNOWN = [*FOR_CONTROLLER, int(Op.CLOSE)]


class Entry:
    """A queue entry, and what it is: ``part`` is the place in a close all (1 to 4) or 0; ``lead`` marks a command's code."""

    def __init__(self, payload, part=0, lead=False):
        self.payload, self.part, self.lead = payload, part, lead
        self.own = bool(payload & OWN)
        self.op, self.param = payload >> 8 & 0xFF, payload & 0xFF


class Model:
    """The head, and the rest of the HUB around it: table, controller, outputs, reply path.

    ``step`` decides what the surroundings do in this cycle, so it returns the inputs as well as the expected outputs.
    """

    def __init__(self, ports):
        self.ports = ports
        self.queue = deque()
        self.targets = set()
        self.state = "pass"
        self.request = None
        self.in_run = False
        self.answer = None
        self.closing = set()
        self.seen = {}

    def note(self, what):
        """Counts what happened, so that a test can tell that it did."""
        self.seen[what] = self.seen.get(what, 0) + 1

    def step(self, valid, space, answer_ready, respond, close):
        """One cycle. ``respond``: the controller decides now; ``close``: outputs that close behind a close all."""
        entry = self.queue[0] if self.queue and valid else None
        inputs = {"hub_id": HUB, "valid": entry is not None, "entry": entry.payload if entry else random.getrandbits(17),
                  "targets": sum(1 << o for o in self.targets), "space": sum(1 << o for o in space), "answer__ready": answer_ready}
        shown = {"pop": False, "move": False, "start_left": False, "request_valid": False, "close": 0, "error": False,
                 "busy": self.state != "pass" or self.answer is not None, "answer__valid": self.answer is not None,
                 "answer__payload": self.answer}
        answer = None if answer_ready else self.answer
        state, targets = self.state, set(self.targets)

        if self.state == "pass" and entry and not entry.own and self.targets <= space:
            shown |= {"pop": True, "start_left": entry.payload == Control.START}
            if self.targets:
                shown |= {"move": True, "passage": entry.payload | (entry.part == 4) * CLOSES}
                self.in_run = False
                if entry.part == 4:
                    state = "closing"
                    self.closing = set(self.targets)
            elif entry.part:
                self.in_run = self.in_run and entry.part == 1
                self.note("close all dropped")
            elif not entry.lead:
                shown["error"] = not self.in_run
                self.note("run" if shown["error"] else "in run")
                self.in_run = True
        elif self.state == "pass" and entry and entry.own and self.answer is None:
            shown["pop"] = True
            self.request = entry
            self.in_run = False
            state = "execute"
        elif self.state == "execute":
            state = "pass"
            op, param = self.request.op, self.request.param
            if op in FOR_CONTROLLER:
                shown |= {"request_valid": True, "request": op << 8 | param}
                state = "wait"
            elif op == Op.CLOSE:
                own = param in self.targets
                shown |= {"close": own << param, "error": not own}
                targets.discard(param)
                self.note("closed" if own else "close refused")
            else:
                shown["error"] = True
                if op & 1:
                    answer = (op & 0xFE) << 16 | HUB << 8 | Error.UNKNOWN
                self.note("unknown")
        elif self.state == "wait" and respond:
            op, param = self.request.op, self.request.param
            error = random.choice([0, 0, 0, Error.BAD_PORT, Error.BUSY, Error.NOT_READY])
            value = error or random.randrange(256)
            inputs |= {"response_valid": 1, "done": not error, "value": value}
            shown["error"] = error == Error.BAD_PORT
            if not error and op < 8:
                targets.add(param % self.ports)
            if op & 1:
                answer = (op & 0xFE | (not error)) << 16 | HUB << 8 | value
                self.note("answered")
            state = "pass"
        elif self.state == "closing":
            self.note("closing")
            if not self.targets:
                state = "pass"
            targets -= close
        if shown["pop"]:
            self.queue.popleft()
        self.state, self.targets, self.answer = state, targets, answer
        return inputs, shown


def own(op, param):
    """A command for this HUB, as one entry."""
    return [Entry(OWN | op << 8 | param)]


def piece(ports):
    """A random part of a stream."""
    param = random.choice([*range(ports), random.randrange(256)])
    draw = random.random()
    if draw < 0.3:
        return [Entry(symbol) for symbol in packet(random.randbytes(random.randrange(5)))]
    if draw < 0.45:
        return [Entry(symbol, part=n) for n, symbol in enumerate(command(Op.CLOSE_ALL, ANY_HUB, param), 1)]
    if draw < 0.55:
        return [Entry(symbol, lead=n == 0) for n, symbol in enumerate(command(random.choice(KNOWN), 0x99, Op.CLOSE_ALL))]
    if draw < 0.75:
        return own(random.choice(FOR_CONTROLLER), param)
    if draw < 0.9:
        return own(Op.CLOSE, param)
    return own(random.choice([op for op in range(256) if op not in KNOWN]), param)


async def start(dut):
    ports, _ = CONFIGURATIONS[inside()]
    lockstep = Lockstep(dut, ["hub_id", "entry", "valid", "targets", "space", "response_valid", "done", "value", "answer__ready"])
    await lockstep.reset()
    return lockstep, Model(ports)


def some(ports, share):
    """All ports with probability ``share``, else a random set of them."""
    return {n for n in range(ports) if random.random() < 0.5} if random.random() >= share else set(range(ports))


async def run(lockstep, model, share, limit=20_000):
    """Works off the queue of ``model``; everything around the head is prompt with probability ``share`` in each cycle."""
    while model.queue or model.state != "pass" or model.answer is not None:
        limit -= 1
        assert limit, f"the head hangs in {model.state}"
        inputs, shown = model.step(random.random() < share, some(model.ports, share), random.random() < share,
                                   random.random() < share, some(model.ports, share))
        await lockstep.step(inputs, shown)


@cocotb.test(timeout_time=200, timeout_unit="ms")
async def does_everything_in_order(dut):
    """H9, H11, H13, docs/hub.md "Input side of a port": every symbol, command, answer and error in the cycle in which it is due."""
    lockstep, model = await start(dut)
    everything = {"close all dropped", "run", "in run", "closed", "close refused", "unknown", "answered", "closing"}
    for _ in range(30):
        for share in (1.0, 0.9, 0.5, 0.2):
            for _ in range(250):
                model.queue.extend(piece(model.ports))
            await run(lockstep, model, share)
        if model.seen.keys() >= everything:
            return
    raise AssertionError(f"not everything was met: {model.seen}")


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def passes_a_symbol_in_every_cycle(dut):
    """H3: with the outputs free a stream moves without a pause."""
    lockstep, model = await start(dut)
    model.targets = {1}
    model.queue.extend(Entry(symbol) for symbol in packet(random.randbytes(100)))
    length = len(model.queue)
    await run(lockstep, model, 1.0, length + 1)
    assert lockstep.cycle == length


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def counts_one_error_a_run_of_dropped_symbols(dut):
    """docs/hub.md: a run ends with a symbol passed on, a command for this HUB or a close all; dropping that is no error."""
    lockstep, model = await start(dut)
    close_all = [Entry(symbol, part=n) for n, symbol in enumerate(command(Op.CLOSE_ALL, ANY_HUB, 0), 1)]
    data, nop = [Entry(0x11), Entry(0x22)], own(Op.STATUS_ERRORS, 0)
    foreign = [Entry(symbol, lead=n == 0) for n, symbol in enumerate(command(Op.OPEN, 0x99, 1))]
    for stream, errors in ((close_all, 0), (data, 1), (data + close_all + data, 2), (nop + data + nop + data, 2),
                           (nop + foreign + data + foreign, 1), (close_all + close_all + foreign + close_all, 1)):
        model.queue.extend(close_all + stream)
        before = model.seen.get("run", 0)
        await run(lockstep, model, 1.0)
        assert model.seen.get("run", 0) - before == errors


bench = Bench(__name__, {name: lambda parameters=parameters: Head(*parameters) for name, parameters in CONFIGURATIONS.items()},
              ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_head(configuration, claim):
    bench.check(configuration, claim)
