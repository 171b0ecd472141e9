"""Bench of hdl/hub/controller.py: decisions, turns, answers."""

import random

import cocotb
import pytest

from nectar.hdl.hub.commands import RETRY, STATUS_CONNECTED, TEST, Error, Group, Op
from nectar.hdl.hub.controller import Controller
from nectar.verification.bench import Bench, inside
from nectar.verification.hub.lockstep import Lockstep

CONFIGURATIONS = {"16 ports": (16, 1), "5 ports": (5, 1), "3 ports": (3, 1), "5 ports without backplane": (5, 0),
                  "5 ports with a long backplane": (5, 3)}
OPS = [*range(8), Op.STATUS_OUTPUT, Op.STATUS_ERRORS]


class Model:
    """Controller and status table; ``table`` maps outputs to inputs."""

    def __init__(self, ports, backplane):
        self.ports, self.backplane = ports, backplane
        self.cycle = 0
        self.table = {}
        self.requests = {}    # port → (op, param, first cycle in which it can be decided)
        self.last = ports - 1
        self.decided = None   # (port, op, param, error or None) of the cycle before
        self.responses = {}   # cycle → (port, done, value)
        self.seen = set()
        self.waited = 0
        self.overtaken = 0    # decisions made in a cycle in which another request had to wait

    def free_ports(self):
        """Ports without a request under way."""
        return [n for n in range(self.ports) if n not in self.requests]

    def _decide(self, i, op, param, ready):
        """None: must wait. Else an Error, or 0 if it can be done."""
        if op >> 4 != Group.OPEN:
            return Error.BAD_PORT if param >= self.ports else 0
        if param >= self.ports or param == i:
            return Error.BAD_PORT
        if self.table.get(param, i) != i:
            return None if op & RETRY else Error.BUSY
        if op & TEST and not ready >> param & 1:
            return None if op & RETRY else Error.NOT_READY
        return 0

    def _answer(self, inputs):
        """The response to the decision of the cycle before, with the table as it is now."""
        port, op, param, error = self.decided
        if error:
            return port, False, error
        value = param
        if op == Op.STATUS_OUTPUT:
            value = STATUS_CONNECTED | self.table[param] if param in self.table else 0
        if op == Op.STATUS_ERRORS:
            value = inputs[f"errors__{param}"]
        return port, True, value

    def table_pins(self):
        """The table as the controller sees it; the owner of a free output means nothing."""
        pins = {"connected": sum(1 << o for o in self.table)}
        for n in range(self.ports):
            pins[f"targets__{n}"] = sum(1 << o for o, i in self.table.items() if i == n)
            pins[f"owner__{n}"] = self.table.get(n, random.randrange(self.ports))
        return pins

    def step(self, inputs, closes):
        """Outputs of this cycle; then the table changes, and loses the outputs in ``closes``."""
        shown = {"grant_input": 0, "grant_output": 0, "response_valid": 0, "busy": bool(self.requests or self.responses)}
        if self.decided:
            self.responses[self.cycle + self.backplane] = self._answer(inputs)
            shown["busy"] = True
        if self.cycle in self.responses:
            port, shown["done"], shown["value"] = self.responses.pop(self.cycle)
            shown["response_valid"] = 1 << port
        for n in range(self.ports):
            if inputs["request_valid"] >> n & 1:
                request = inputs[f"request__{n}"]
                self.requests[n] = request >> 8, request & 0xFF, self.cycle + 1 + self.backplane
        self.decided = None
        waited = self.waited
        for n in ((self.last + distance) % self.ports for distance in range(1, self.ports + 1)):
            if n not in self.requests or self.requests[n][2] > self.cycle:
                continue
            op, param, _ = self.requests[n]
            error = self._decide(n, op, param, inputs["ready"])
            self.seen.add((op, error))
            if error is None:
                self.waited += 1
                continue
            if not error and op >> 4 == Group.OPEN:
                shown |= {"grant_input": 1 << n, "grant_index": n, "grant_output": 1 << param}
            self.decided = n, op, param, error
            self.overtaken += self.waited > waited
            self.last = n
            del self.requests[n]
            break
        for o in closes:
            self.table.pop(o, None)
        if shown["grant_output"]:
            self.table[self.decided[2]] = self.decided[0]
        self.cycle += 1
        return shown


class Environment:
    """Ports that ask at random, an output that closes now and then, ready bits that come and go."""

    def __init__(self, dut):
        self.model = Model(*CONFIGURATIONS[inside()])
        ports = range(self.model.ports)
        self.lockstep = Lockstep(dut, ["request_valid", "connected", "ready",
                                       *(f"{name}__{n}" for name in ("request", "targets", "owner", "errors") for n in ports)])
        self.answered = {n: True for n in ports}

    async def run(self, cycles, ask, close, ready, ops=OPS):
        """``ask``, ``close``, ``ready``: probabilities per cycle."""
        model = self.model
        for _ in range(cycles):
            inputs = model.table_pins()
            inputs["ready"] = sum((random.random() < ready) << n for n in range(model.ports))
            inputs["request_valid"] = 0
            for n in range(model.ports):
                inputs[f"errors__{n}"] = random.randrange(256)
                if self.answered[n] and random.random() < ask:
                    self.answered[n] = False
                    inputs["request_valid"] |= 1 << n
                    param = random.choice([*range(model.ports), random.randrange(256)])
                    inputs[f"request__{n}"] = random.choice(ops) << 8 | param
            closes = [o for o in model.table if random.random() < close]
            shown = model.step(inputs, closes)
            await self.lockstep.step(inputs, shown)
            for n in range(model.ports):
                self.answered[n] |= bool(shown["response_valid"] >> n & 1)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def decides_one_request_a_cycle_in_turns(dut):
    """H4, H10, docs/hub.md: every decision, grant, refusal, wait and answer in the cycle in which it is due."""
    environment = Environment(dut)
    await environment.lockstep.reset()
    for ask, close, ready in ((0.5, 0.1, 0.7), (0.05, 0.02, 0.3), (1, 0.3, 0.9), (0.3, 0.05, 0.05), (1, 0.9, 1)):
        await environment.run(500, ask, close, ready)
    model = environment.model
    opens = {(op, error) for op in range(8) for error in (0, Error.BAD_PORT, None if op & RETRY else Error.BUSY)}
    tests = {(op, None if op & RETRY else Error.NOT_READY) for op in range(8) if op & TEST}
    status = {(op, error) for op in (Op.STATUS_OUTPUT, Op.STATUS_ERRORS) for error in (0, Error.BAD_PORT)}
    assert opens | tests | status <= model.seen, opens | tests | status - model.seen
    await environment.run(100 + 20 * model.ports, 0, 1, 1)
    assert not model.requests and environment.lockstep.read("busy") == 0


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def what_must_wait_delays_nobody(dut):
    """docs/hub.md: with every output taken, retried opens wait and status is answered at full rate nevertheless."""
    environment = Environment(dut)
    await environment.lockstep.reset()
    model = environment.model
    for _ in range(100):
        while len(model.table) < model.ports:
            await environment.run(20, 1, 0, 1, [Op.OPEN])
        await environment.run(20 + 8 * model.ports, 1, 0, 1, [Op.OPEN_RETRY, Op.STATUS_OUTPUT, Op.STATUS_OUTPUT])
        if model.waited > 10 and model.overtaken > 10:
            return
        await environment.run(20 + 4 * model.ports, 0, 1, 1)      # what waits is done, and all begins again
    raise AssertionError(f"in 100 rounds {model.waited} waits, {model.overtaken} answers in spite of one")


bench = Bench(__name__, {name: lambda parameters=parameters: Controller(*parameters) for name, parameters in CONFIGURATIONS.items()},
              ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_controller(configuration, claim):
    bench.check(configuration, claim)
