"""Bench of hdl/hub/central.py: every command of the controller, alone and together with one from another port, against a model that
executes one after the other."""

import copy
import itertools
import random

import cocotb
import pytest

from nectar.hdl.hub.central import Central
from nectar.hdl.hub.commands import BY_OPCODE, FORCE, RETRY, STATUS_IN_USE, TEST, Error, Executor, Group, Op
from nectar.verification.bench import Bench, inside
from nectar.verification.hub.lockstep import Lockstep

CONFIGURATIONS = {"3 ports": (3, 1), "5 ports without backplane": (5, 0)}
LOCKS = (*range(0x20, 0x24), int(Op.TEST_LOCK_REPLY))
COMMANDS = [int(op) for op, row in BY_OPCODE.items()
            if (row.executor is Executor.CONTROLLER or row.group is Group.ECHO or op == Op.FLUSH_REPLY) and op != Op.RESET_HUB]
#: Commands that take outputs and locks, and those that need them.
HELD = [Op.OPEN, Op.LOCK, Op.UNLOCK, Op.UNLOCK_REPLY, Op.RAISE_READY, Op.LOWER_READY, Op.REPAIR_READY]
#: Cycles in which every command is decided, carried out and answered.
LONG = 30


class Model:
    """State of the HUB's centre; ``execute`` does one command at once."""

    def __init__(self, ports):
        self.ports = ports
        self.opened, self.locked = {}, {}
        self.ready = [True] * ports
        self.enabled = [True] * ports
        self.allowed = [True] * ports
        self.looped = [False] * ports
        self.log, self.select = 20, 0

    def state(self):
        """What the pins show of it, by name of pin."""
        mask = lambda bits: sum(bool(bit) << n for n, bit in enumerate(bits))
        ports = range(self.ports)
        return {
            **{f"targets__{n}": sum((i == n) << o for o, i in self.opened.items()) for n in ports},
            "connected": sum(1 << o for o in self.opened), "enabled": mask(self.enabled), "looped": mask(self.looped),
            "holding": mask(n in self.opened.values() or n in self.locked.values() for n in ports),
            "watchdog_log": self.log, "select": self.select,
            **{f"flags__{n}": self.enabled[n] | self.looped[n] << 1 | self.allowed[n] << 2 | self.ready[n] << 3
               | (n in self.opened) << 4 | (n in self.locked) << 5 for n in ports},
        }

    def execute(self, port, op, param, facts):
        """(error, value). ``facts``: what the answers to questions about ports are, by opcode and port."""
        if op & 0x80:
            return self._supervise(port, op, param, facts)
        bad = param >= self.ports
        if op in range(8) or op in LOCKS:
            return self._take(port, op, param), param
        if op == Op.UNLOCK_MINE:
            self.locked = {o: i for o, i in self.locked.items() if i != port}
            return 0, param
        if BY_OPCODE[op].group is Group.ECHO or op == Op.FLUSH_REPLY:
            return 0, {Op.IDENTITY_REPLY: port, Op.SIZE_REPLY: self.ports}.get(op, param)
        if bad:
            return Error.BAD_PORT, None
        if op in (Op.UNLOCK, Op.UNLOCK_REPLY):
            if self.locked.get(param) != port:
                return Error.NOT_MINE, None
            del self.locked[param]
            return 0, param
        if op == Op.AWAIT_READY_REPLY:
            return (0 if self.ready[param] else Error.GIVEN_UP), param
        if op in (Op.RAISE_READY, Op.LOWER_READY, Op.REPAIR_READY):
            if self.opened.get(param) != port and not (op == Op.REPAIR_READY and param == port):
                return Error.NOT_MINE, None
            if op != Op.REPAIR_READY:
                self.ready[param] = op == Op.RAISE_READY
            return 0, param
        holder = lambda table: STATUS_IN_USE | table[param] if param in table else 0
        return 0, {Op.STATUS_OUTPUT: lambda: holder(self.opened), Op.STATUS_LOCK: lambda: holder(self.locked),
                   Op.STATUS_INPUT: lambda: list(self.opened.values()).count(param), Op.STATUS_READY: lambda: self.ready[param],
                   }.get(op, lambda: facts[op][param])()

    def _take(self, port, op, o):
        """Open or lock: the error, or 0."""
        retry, test = op & RETRY, op & TEST
        if o >= self.ports or o == port:
            return Error.BAD_PORT
        if not self.enabled[o]:
            return Error.DISABLED
        shut = self.locked.get(o, port) != port
        if op in LOCKS:
            if shut:
                return Error.GIVEN_UP if retry else Error.LOCKED
            if not test:
                self.locked[o] = port
            return 0
        if self.opened.get(o) != port:
            if o in self.opened:
                return Error.GIVEN_UP if retry else Error.BUSY
            if shut:
                return Error.GIVEN_UP if retry else Error.LOCKED
        if test and not self.ready[o]:
            return Error.GIVEN_UP if retry else Error.NOT_READY
        self.opened[o] = port
        return 0

    def _vacate(self, p):
        self.opened = {o: i for o, i in self.opened.items() if p not in (o, i)}
        self.locked = {o: i for o, i in self.locked.items() if i != p}

    def _supervise(self, port, op, param, facts):
        if not self.allowed[port]:
            return Error.NOT_ALLOWED, None
        p, force = param & 0x7F, bool(param & FORCE)
        forced = (Op.LOOP_BACK_REPLY, Op.FORCE_CONNECTION_REPLY, Op.FORCE_LOCK_REPLY, Op.FORCE_READY_REPLY, Op.ALLOW_SUPERVISOR_REPLY)
        about = (Op.DISABLE_REPLY, Op.ENABLE_REPLY, Op.RESET_QUEUE_REPLY, Op.RESET_PORT_REPLY)
        sets = {Op.WATCHDOG_TIME_REPLY: (0, *range(4, 32)), Op.MONITOR_SELECT_REPLY: (*range(self.ports), 128, 129, 130),
                Op.MONITOR_CLEAR_REPLY: (*range(self.ports), 128, 129)}
        if op in forced and p >= self.ports or op in about and param >= self.ports or op in sets and param not in sets[op]:
            return Error.BAD_PORT, None
        if op == Op.FORCE_CONNECTION_REPLY and force:
            if p == port:
                return Error.BAD_PORT, None
            if not self.enabled[p]:
                return Error.DISABLED, None
        if op == Op.DISABLE_REPLY:
            self.enabled[p] = False
            self._vacate(p)
        elif op == Op.ENABLE_REPLY:
            self.enabled[p] = self.ready[p] = True
        elif op == Op.LOOP_BACK_REPLY:
            self.looped[p] = force
        elif op == Op.RESET_PORT_REPLY:
            self._vacate(p)
            self.locked.pop(p, None)
            self.ready[p] = True
        elif op == Op.FORCE_CONNECTION_REPLY:
            self.opened.pop(p, None)
            if force:
                self.opened[p] = port
        elif op == Op.FORCE_LOCK_REPLY:
            self.locked.pop(p, None)
            if force:
                self.locked[p] = port
        elif op == Op.FORCE_READY_REPLY:
            self.ready[p] = force
        elif op == Op.WATCHDOG_TIME_REPLY:
            self.log = param
        elif op == Op.MONITOR_SELECT_REPLY:
            self.select = param
        elif op == Op.ALLOW_SUPERVISOR_REPLY:
            self.allowed[p] = force
        elif op == Op.MONITOR_READ_REPLY:
            return 0, facts[op]
        return 0, p if op in forced else param


class Environment:
    """The ports around the centre: they hold their ready bits, ask, and give up."""

    def __init__(self, dut):
        self.ports, backplane = CONFIGURATIONS[inside()]
        self.model = Model(self.ports)
        self.ready = (1 << self.ports) - 1
        self.requests = [0] * self.ports
        self.lockstep = Lockstep(dut, ["request_valid", "give_up", "expired", "close_one", "close_mine", "closed", "ready", "ready_bit",
                                       "neighbour_id", "neighbour_kind", "byte",
                                       *(f"{name}__{n}" for name in ("request", "errors", "level") for n in range(self.ports))])
        self.facts = {}
        self.seen = set()

    async def restart(self, dut):
        """Begins anew."""
        dut.rst.value = 1
        await self.cycle()
        dut.rst.value = 0
        self.model = Model(self.ports)
        self.ready = (1 << self.ports) - 1
        await self.cycle()

    async def cycle(self, **inputs):
        """One cycle; returns {port: (done, value)} of a response in it."""
        inputs |= {"ready": self.ready, "ready_bit": self.ready}
        inputs |= {f"request__{n}": request for n, request in enumerate(self.requests)}
        inputs |= {f"errors__{n}": value for n, value in enumerate(self.facts.get(Op.STATUS_ERRORS, ()))}
        inputs |= {f"level__{n}": 1 - value & 0x1FF for n, value in enumerate(self.facts.get(Op.STATUS_QUEUE, ()))}
        for op, name in ((Op.STATUS_NEIGHBOUR, "neighbour_id"), (Op.STATUS_KIND, "neighbour_kind")):
            if op in self.facts:
                inputs[name] = self.facts[op][0]
        inputs["byte"] = self.facts.get(Op.MONITOR_READ_REPLY, 0)
        valid, done, value, raised, lowered = await self.lockstep.step(inputs, None, ["response_valid", "done", "value", "ready_set", "ready_clear"])
        self.ready = (self.ready | raised) & ~lowered
        return {valid.bit_length() - 1: (bool(done), value)} if valid else {}

    async def give(self, commands):
        """Gives {port: (op, param)} in one cycle; returns the responses. What waits is given up after a while."""
        for port, (op, param) in commands.items():
            self.requests[port] = op << 8 | param
        responses = await self.cycle(request_valid=sum(1 << port for port in commands))
        for now in range(2 * LONG):
            late = sum(1 << port for port in commands if port not in responses) if now > LONG else 0
            for port, response in (await self.cycle(give_up=late)).items():
                assert port in commands and port not in responses, f"port {port} was answered and had not asked"
                responses[port] = response
        assert responses.keys() == commands.keys(), f"no answer: {commands}, {responses}"
        return responses

    async def check(self, commands):
        """Gives commands in one cycle; the responses and the state must be those of some order of execution."""
        self.facts = {op: [random.randrange(256)] * self.ports for op in (Op.STATUS_NEIGHBOUR, Op.STATUS_KIND)}
        self.facts |= {op: [random.randrange(256) for _ in range(self.ports)] for op in (Op.STATUS_ERRORS, Op.STATUS_QUEUE)}
        self.facts[Op.MONITOR_READ_REPLY] = random.randrange(256)
        responses = await self.give(commands)
        possible = []
        for order in itertools.permutations(commands):
            model = copy.deepcopy(self.model)
            results = {port: model.execute(port, *commands[port], self.facts) for port in order}
            # What waits is decided again when the others have been: it may succeed then.
            for port in order:
                if results[port][0] == Error.GIVEN_UP:
                    results[port] = model.execute(port, *commands[port], self.facts)
            possible.append((model, {port: (not error, error or int(value)) for port, (error, value) in results.items()}))
        shown = {name: self.lockstep.read(name) for name in self.model.state()}
        for model, expected in possible:
            if responses == expected and shown == model.state():
                self.model = model
                self.seen |= {(commands[port][0], 0 if done else value) for port, (done, value) in expected.items()}
                return
        differs = {name: (hex(got), hex(value)) for name, value in possible[0][0].state().items() if (got := shown[name]) != value}
        raise AssertionError(f"{commands} gave {responses}, expected one of {[expected for _, expected in possible]}; state (got, expected): {differs}")

    def draw(self, ops=COMMANDS):
        """A random command."""
        op = random.choice(ops)
        param = random.choice([*range(self.ports), *range(self.ports), *(FORCE | n for n in range(self.ports)), random.randrange(256)])
        return op, param


@cocotb.test(timeout_time=60, timeout_unit="ms")
async def executes_every_command_as_the_table_says(dut):
    """H7, H9, H10, H19: answer, errors and state after each of the controller's commands, in every state that the others lead to."""
    environment = Environment(dut)
    await environment.lockstep.reset()
    for n in range(1500):
        if n % 40 == 0:
            await environment.restart(dut)   # or nobody might be left who can give supervisor commands
        # What needs a connection or a lock of its own comes more often, and behind commands that give one.
        ops = COMMANDS if random.random() < 0.4 else HELD
        await environment.check({random.randrange(environment.ports): environment.draw(ops)})
    for op in random.sample(COMMANDS, len(COMMANDS)):
        # What it may need is there: a port whose connection and lock are the input's own.
        await environment.restart(dut)
        port, output = random.sample(range(environment.ports), 2)
        for taking in (Op.OPEN, Op.LOCK):
            await environment.check({port: (taking, output)})
        param = random.choice((0, *range(4, 32))) if op == Op.WATCHDOG_TIME_REPLY else output
        await environment.check({port: (op, param)})
    done = {op for op, error in environment.seen if not error}
    # What has not been done yet by chance is done now.
    await environment.restart(dut)
    await environment.check({0: (Op.OPEN, 1)})
    for op in set(COMMANDS) - done:
        for param in (1, 5):
            await environment.check({0: (op, param)})
    done = {op for op, error in environment.seen if not error}
    assert done == set(COMMANDS), [Op(op).name for op in set(COMMANDS) - done]


@cocotb.test(timeout_time=60, timeout_unit="ms")
async def the_same_command_from_two_ports_at_once_is_as_one_after_the_other(dut):
    """docs/hub.md: what comes in one cycle is decided one by one."""
    environment = Environment(dut)
    await environment.lockstep.reset()
    for n in range(4):
        for op in random.sample(COMMANDS, len(COMMANDS)):
            _, param = environment.draw()
            two = random.sample(range(environment.ports), 2)
            await environment.check({port: (op, param) for port in two})
            if not all(environment.model.allowed):
                await environment.restart(dut)


@cocotb.test(timeout_time=60, timeout_unit="ms")
async def what_expires_gives_back_connections_locks_and_ready_bits(dut):
    """H20: in one cycle the input's connections and locks end, and its outputs are ready again; what waits is refused."""
    environment = Environment(dut)
    await environment.lockstep.reset()
    last = environment.ports - 1
    for _ in range(5):
        await environment.check({0: (Op.OPEN, last)})
        await environment.check({0: (Op.LOCK, 1)})
        await environment.check({0: (Op.LOWER_READY, last)})
        assert not environment.ready >> last & 1
        await environment.cycle(expired=1)
        for _ in range(4):
            await environment.cycle()
        environment.model = Model(environment.ports)
        assert {name: environment.lockstep.read(name) for name in environment.model.state()} == environment.model.state()
        assert environment.ready >> last & 1
        environment.ready &= ~(1 << last)
        environment.requests[0] = Op.TEST_OPEN_RETRY_REPLY << 8 | last
        await environment.cycle(request_valid=1)
        for _ in range(5):
            assert not await environment.cycle()
        responses = await environment.cycle(expired=1, give_up=1)
        for _ in range(LONG):
            responses |= await environment.cycle(give_up=1)
        assert responses == {0: (False, Error.GIVEN_UP)}
        assert environment.ready >> last & 1, "the ready bit that was waited for was not set"


bench = Bench(__name__, {name: lambda parameters=parameters: Central(*parameters) for name, parameters in CONFIGURATIONS.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_central(configuration, claim):
    bench.check(configuration, claim)
