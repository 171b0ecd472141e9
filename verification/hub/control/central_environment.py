"""What is around the HUB's centre (hdl/hub/control/central.py) in its bench: ports that ask, wait and give up, and what
is compared with the model."""

import itertools
import random

from nectar.hdl.hub.commands import BY_OPCODE, FORCE, HELLO, HELLO_ASK, STATUS_IN_USE, Error, Executor, Group, Op
from nectar.hdl.hub.messages import FAULTS
from nectar.verification.bench import inside
from nectar.verification.harness import Lockstep
from nectar.verification.hub.control.central_model import PULSES, UNKNOWN, Model, decision, effects

__all__ = ["CONFIGURATIONS", "COMMANDS", "HELD", "LONG", "TESTS", "Environment", "begun"]

CONFIGURATIONS = {"3 ports": 3, "5 ports": 5}
COMMANDS = [
    int(op)
    for op, row in BY_OPCODE.items()
    if (row.executor is Executor.CONTROLLER or row.group is Group.ECHO or op == Op.FLUSH_REPLY) and op != Op.RESET_HUB
]
#: Commands that take outputs and locks, and those that need them.
HELD = [Op.OPEN, Op.LOCK, Op.UNLOCK, Op.UNLOCK_REPLY, Op.RAISE_READY, Op.LOWER_READY, Op.REPAIR_READY]
#: Commands that look at ready bits.
TESTS = [Op.TEST_OPEN, Op.TEST_OPEN_REPLY, Op.AWAIT_READY_REPLY]
#: Cycles from a request to its decision, at most, while no other command is under way.
DECISION = 5
#: Cycles in which every command is decided, carried out and answered.
LONG = 30
#: What is watched beside the responses.
WATCHED = (*PULSES, "decision_valid", "decision", "busy", "neighbour", "offset", "clear")
#: What all ports have in their bundles and is one bit: a mask has the name of the pin.
MASKS = ("request_valid", "give_up", "resume", "response_valid", "done", "quiet", "mine", "close_one", "close_mine")


class Environment:
    """The ports around the centre: they hold their ready bits, ask, and give up."""

    def __init__(self, dut, watches):
        self.ports = CONFIGURATIONS[inside()]
        ports = range(self.ports)
        self.model = Model(self.ports)
        self.ready = (1 << self.ports) - 1
        self.requests = [0] * self.ports
        self.lockstep = Lockstep(
            dut,
            [
                "request_valid",
                "give_up",
                "expired",
                "close_one",
                "close_mine",
                "passed",
                "closed",
                "ready",
                "ready_bit",
                "neighbour_id",
                "neighbour_kind",
                "byte",
                *(f"port__{n}__request" for n in ports),
                *(f"named__{n}" for n in ports),
                *(f"{name}__{n}" for name in ("errors", "level") for n in ports),
            ],
            {name: [f"port__{n}__{name}" for n in ports] for name in MASKS},
        )
        self.watched = (*WATCHED, "quiet", *(f"port__{n}__fault" for n in ports))
        self.facts = {}
        self.seen = set()
        self.trace = []  # what the pins of ``watched`` showed in each cycle, if anybody watches
        self.watches = watches

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
        inputs |= {"ready": self.ready & ~sum(1 << o for o in self.model.starting), "ready_bit": self.ready}
        inputs |= {f"port__{n}__request": request for n, request in enumerate(self.requests)}
        size = 1 << max(1, (self.ports - 1).bit_length())
        inputs |= {
            f"named__{n}": 1 << request % size if request % size < self.ports else 0
            for n, request in enumerate(self.requests)
        }
        inputs |= {f"errors__{n}": value for n, value in enumerate(self.facts.get(Op.STATUS_ERRORS, ()))}
        inputs |= {f"level__{n}": value for n, value in enumerate(self.facts.get(Op.STATUS_QUEUE, ()))}
        for op, name in ((Op.STATUS_NEIGHBOUR, "neighbour_id"), (Op.STATUS_KIND, "neighbour_kind")):
            if op in self.facts:
                inputs[name] = self.facts[op][0]
        inputs["byte"] = self.facts.get(Op.MONITOR_READ_REPLY, 0)
        values = [f"port__{n}__value" for n in range(self.ports)]
        pins = ["response_valid", "done", "ready_set", "ready_clear", *values, *(self.watched if self.watches else ())]
        valid, done, raised, lowered, *rest = await self.lockstep.step(inputs, None, pins)
        if self.watches:
            self.trace.append(dict(zip(self.watched, rest[self.ports :])))
        self.ready = (self.ready | raised) & ~lowered
        return {n: (bool(done >> n & 1), value) for n, value in enumerate(rest[: self.ports]) if valid >> n & 1}

    async def give(self, commands, gap=0):
        """Gives {port: (op, param)}, each ``gap`` cycles behind the one before; returns the responses. What waits is
        given up after a while."""
        for port, (op, param) in commands.items():
            self.requests[port] = op << 8 | param
        given, responses = {}, {}
        for n, port in enumerate(commands):
            given[n * gap] = given.get(n * gap, 0) | 1 << port
        for now in range(max(given) + 1):
            responses |= await self.cycle(request_valid=given.get(now, 0))
        rest = LONG // 2  # in which nothing more may be answered
        for now in range(2 * LONG):
            late = sum(1 << port for port in commands if port not in responses) if now > LONG else 0
            for port, response in (await self.cycle(give_up=late)).items():
                assert port in commands and port not in responses, f"port {port} was answered and had not asked"
                responses[port] = response
            rest -= responses.keys() == commands.keys()
            if not rest:
                break
        assert responses.keys() == commands.keys(), f"no answer: {commands}, {responses}"
        return responses

    async def check(self, commands, gap=0):
        """Gives commands, each ``gap`` cycles behind the one before; the responses and the state must be those of some
        order of execution. What is given behind the decision of the one before is executed behind it."""
        self.draw_facts()
        responses = await self.give(commands, gap)
        possible = []
        for order in itertools.permutations(commands) if gap < DECISION else [commands]:
            model = self.model.copy()
            results = {port: model.execute(port, *commands[port], self.facts) for port in order}
            # What waits is decided again when the others have been: it may succeed then.
            for port in order:
                if results[port][0] == Error.GIVEN_UP:
                    results[port] = model.execute(port, *commands[port], self.facts)
            possible.append(
                (model, {port: (not error, error or int(value)) for port, (error, value) in results.items()})
            )
        shown = {name: self.lockstep.pin(name) for name in self.model.state()}
        fits = [(model, expected) for model, expected in possible if responses == expected and shown == model.state()]
        for output in range(self.ports):
            if (
                len({model.locked.get(output) for model, _ in fits}) > 1
            ):  # the order has made a difference that does not show
                _, holder = (await self.give({0: (Op.STATUS_LOCK, output)}))[0]
                fits = [
                    fit
                    for fit in fits
                    if holder == (STATUS_IN_USE | fit[0].locked[output] if output in fit[0].locked else 0)
                ]
        if fits:
            self.model, expected = fits[0]
            self.seen |= {(commands[port][0], 0 if done else value) for port, (done, value) in expected.items()}
            return
        differs = {
            name: (hex(got), hex(value))
            for name, value in possible[0][0].state().items()
            if (got := shown[name]) != value
        }
        raise AssertionError(
            f"{commands} gave {responses}, expected one of {[expected for _, expected in possible]}; state (got, "
            f"expected): {differs}"
        )

    def draw_facts(self):
        """New answers to questions about ports; sums of more than 255 are answered as 255."""
        self.facts = {op: [random.randrange(256)] * self.ports for op in (Op.STATUS_NEIGHBOUR, Op.STATUS_KIND)}
        self.facts |= {
            op: [
                random.choice((random.randrange(256), random.randrange(256), random.randrange(250, 512)))
                for _ in range(self.ports)
            ]
            for op in (Op.STATUS_ERRORS, Op.STATUS_QUEUE)
        }
        self.facts[Op.MONITOR_READ_REPLY] = random.randrange(256)

    async def alone(self, port, op, param):
        """Gives one command while nothing else is under way, and looks at all pins; returns the response. The state
        must be that of the model."""
        self.draw_facts()
        before, self.trace, self.requests[port] = self.model.copy(), [], op << 8 | param
        responses = await self.cycle(request_valid=1 << port)
        answered, last = 0, None
        while not responses or last["busy"]:
            responses |= await self.cycle(give_up=(not responses and len(self.trace) > LONG // 2) << port)
            last = self.trace[-1]
            answered = answered or (last if responses else 0)
            assert responses or last["busy"], f"{op:#x} {param:#x}: not busy before the response"
            assert len(self.trace) < 3 * LONG, f"{op:#x} {param:#x}: busy for ever"
        for _ in range(3):
            assert not await self.cycle() and not self.trace[-1]["busy"]
        error, value = self.model.execute(port, op, param, self.facts)
        assert responses == {port: (not error, error or int(value))}, f"{op:#x} {param:#x}"
        assert answered[f"port__{port}__fault"] == (1 << list(FAULTS).index(error) if error in FAULTS else 0)
        assert answered["quiet"] >> port & 1 == (op in (HELLO, HELLO_ASK))
        self.check_pins(before, port, op, param, error)
        return responses[port]

    def check_pins(self, before, port, op, param, error):
        """What was watched, and the state that was come to."""
        told, happened = f"port {port}: {op:#x} {param:#x}", effects(before, self.model, port, op, param, error)
        for name in PULSES:
            seen = [bit for cycle in self.trace for bit in range(self.ports) if cycle[name] >> bit & 1]
            due = [bit for bit in range(self.ports) if happened.get(name, 0) >> bit & 1]
            assert sorted(seen) == due or op in UNKNOWN and name == "resume", (
                f"{told}: {name} of {seen}, expected {happened}"
            )
        recorded = [
            (cycle["decision"] >> 14, cycle["decision"] >> 7 & 0x7F, cycle["decision"] & 0x7F)
            for cycle in self.trace
            if cycle["decision_valid"]
        ]
        due = decision(before, port, op, param, error)
        assert recorded == ([due] if due else []), told
        assert all(
            cycle["offset" if cycle["pop"] else "clear"] == param
            for cycle in self.trace
            if cycle["pop"] or cycle["clear_valid"]
        )
        if not error and op in (Op.STATUS_NEIGHBOUR, Op.STATUS_KIND):
            assert param in [cycle["neighbour"] for cycle in self.trace]
        self.check_state(told)

    def check_state(self, told=""):
        """The state is that of the model, also as the replies and the ports are told of it."""
        for name, value in self.model.state().items():
            assert (got := self.lockstep.pin(name)) == value, f"{told}: {name} is {got:#x}, expected {value:#x}"
        opened, mine = self.model.opened, self.lockstep.pin("mine")
        assert {o: self.lockstep.pin(f"owner__{o}") for o in opened} == opened, told
        for i, output in ((i, request & 0xFF) for i, request in enumerate(self.requests)):
            assert output >= self.ports or mine >> i & 1 == (opened.get(output) == i), told

    def draw(self, ops=COMMANDS):
        """A random command."""
        op = random.choice(ops)
        param = random.choice(
            [*range(self.ports), *range(self.ports), *(FORCE | n for n in range(self.ports)), random.randrange(256)]
        )
        return op, param


async def begun(dut, watches=False):
    """An Environment out of reset; whether it ``watches`` more than the responses."""
    environment = Environment(dut, watches)
    await environment.lockstep.start()
    return environment
