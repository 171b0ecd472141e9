"""Bench of hdl/hub/control/supervisor.py: effect, answer and errors of every supervisor command."""

import random

import cocotb
import pytest

from nectar.hdl.hub.commands import BY_OPCODE, FORCE, WATCHDOG_DEFAULT, Error, Op
from nectar.hdl.hub.control.supervisor import Supervisor
from nectar.hdl.hub.monitor_map import Event
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep

CONFIGURATIONS = {"3 ports": (3, None), "16 ports": (16, None), "5 ports, two supervisors": (5, 0b10010)}
COMMANDS = [int(op) for op, row in BY_OPCODE.items() if row.supervisor]
FORCED = (
    Op.LOOP_BACK_REPLY,
    Op.FORCE_CONNECTION_REPLY,
    Op.FORCE_LOCK_REPLY,
    Op.FORCE_READY_REPLY,
    Op.ALLOW_SUPERVISOR_REPLY,
)
ABOUT_PORTS = (Op.DISABLE_REPLY, Op.ENABLE_REPLY, Op.RESET_QUEUE_REPLY, Op.RESET_PORT_REPLY)
PULSES = (
    "reset_queue",
    "close_mine",
    "closed",
    "release",
    "lock",
    "locker",
    "given",
    "ready_set",
    "ready_clear",
    "hello_ask",
    "enter",
    "opened",
    "entered_input",
    "pop",
    "clear_valid",
    "watchdog_restart",
    "reset_hub",
    "finished",
)
STEPS = 10  # from a command to its answer


class Model:
    """State of the ports, and what is to happen when: ``due`` maps cycles to pulses."""

    def __init__(self, ports, supervisors):
        self.ports = ports
        everybody = (1 << ports) - 1
        self.state = {
            "enabled": everybody,
            "looped": 0,
            "allowed": everybody if supervisors is None else supervisors,
            "watchdog_log": WATCHDOG_DEFAULT,
            "select": 0,
        }
        self.due = {}
        self.begins = []  # cycles in which commands were given, or the one before was finished
        self.seen = set()

    def error(self, op, param, giver):
        """Why a command is refused; 0 if it is not."""
        port, force = param & 0x7F, bool(param & FORCE)
        if op not in COMMANDS:
            return Error.UNKNOWN
        if op in FORCED and port >= self.ports or op in ABOUT_PORTS and param >= self.ports:
            return Error.BAD_PORT
        if op == Op.WATCHDOG_TIME_REPLY and param not in (0, *range(4, 32)):
            return Error.BAD_PORT
        if op == Op.MONITOR_SELECT_REPLY and param not in (*range(self.ports), 128, 129, 130):
            return Error.BAD_PORT
        if op == Op.MONITOR_CLEAR_REPLY and param not in (*range(self.ports), 128, 129):
            return Error.BAD_PORT
        if op == Op.FORCE_CONNECTION_REPLY and force:
            return Error.BAD_PORT if port == giver else 0 if self.state["enabled"] >> port & 1 else Error.DISABLED
        return 0

    def command(self, cycle, op, param, giver, mine, locked, shown):
        """What a command given in ``cycle`` does; ``shown``: what the monitor shows."""
        error = self.error(op, param, giver)
        self.seen.add((op, error))
        port, force = param & 0x7F, bool(param & FORCE)
        place, who = 1 << port, 1 << giver
        at = self.due.setdefault(cycle + 4, {})
        done = self.due.setdefault(cycle + STEPS, {})
        done |= {
            "finished": who,
            "finished_done": not error,
            "finished_value": error or (port if op in FORCED else param),
        }
        if error:
            return
        kind = Event.SUPERVISOR
        if op == Op.DISABLE_REPLY:
            self.state["enabled"] &= ~place
            at |= dict.fromkeys(("reset_queue", "close_mine", "closed", "release"), place)
        elif op == Op.ENABLE_REPLY:
            self.state["enabled"] |= place
            at |= {"ready_set": place, "hello_ask": place}
        elif op == Op.LOOP_BACK_REPLY:
            self.state["looped"] = self.state["looped"] & ~place | force << port
        elif op == Op.RESET_QUEUE_REPLY:
            at["reset_queue"] = place
        elif op == Op.RESET_PORT_REPLY:
            at |= dict.fromkeys(
                ("reset_queue", "close_mine", "closed", "release", "lock", "ready_set", "hello_ask"), place
            )
        elif op == Op.RESET_HUB:
            at["reset_hub"] = 1
        elif op == Op.FORCE_CONNECTION_REPLY:
            if not (force and mine):
                at["closed"] = place
            if force:
                kind = None
                if not mine:
                    self.due.setdefault(cycle + 8, {})["enter"] = who
                    self.due.setdefault(cycle + 9, {}).update(
                        {
                            "opened": who,
                            "entered_input": giver,
                            "decision": port | giver << 7 | Event.OPENED << 14,
                        }
                    )
        elif op == Op.FORCE_LOCK_REPLY:
            at |= {"lock": place, "locker": who if force else 0, "given": force}
            kind = Event.LOCKED if force else Event.UNLOCKED if locked >> port & 1 else kind
        elif op == Op.FORCE_READY_REPLY:
            at["ready_set" if force else "ready_clear"] = place
        elif op == Op.WATCHDOG_TIME_REPLY:
            self.state["watchdog_log"] = param
            at["watchdog_restart"] = 1
        elif op == Op.MONITOR_SELECT_REPLY:
            self.state["select"] = param
        elif op == Op.MONITOR_READ_REPLY:
            at |= {"pop": 1, "offset": param}
            done["finished_value"] = shown
        elif op == Op.MONITOR_CLEAR_REPLY:
            at |= {"clear_valid": 1, "clear": param}
        elif op == Op.ALLOW_SUPERVISOR_REPLY:
            self.state["allowed"] = self.state["allowed"] & ~place | force << port
        if kind is not None:
            self.due.setdefault(cycle + 3, {})["decision"] = port | giver << 7 | kind << 14


class Environment:
    """Gives commands, one at a time or two that overlap, and compares every cycle."""

    def __init__(self, dut):
        self.model = Model(*CONFIGURATIONS[inside()])
        self.lockstep = Lockstep(dut, ["command", "command_valid", "mine", "locked", "byte"])

    def draw(self):
        """A random command: (op, param, giver, mine, locked, byte)."""
        ports = self.model.ports
        op = random.choice(COMMANDS) if random.random() < 0.95 else random.choice(COMMANDS) ^ 1 << random.randrange(7)
        param = random.choice(
            [
                *range(ports),
                *(FORCE | n for n in range(ports)),
                random.randrange(256),
                random.choice([0, 4, 31, 128, 129, 130]),
            ]
        )
        return (
            op,
            param,
            random.randrange(ports),
            random.random() < 0.4,
            random.getrandbits(ports),
            random.randrange(256),
        )

    async def meet(self, op, error):
        """Gives ``op`` in such a way that it ends with ``error``, 0 for none."""
        ports = range(self.model.ports)
        if error == Error.DISABLED:
            await self.give((Op.DISABLE_REPLY, random.choice(ports), *self.draw()[2:]))
        param, giver = random.choice(
            [(param, giver) for param in range(256) for giver in ports if self.model.error(op, param, giver) == error]
        )
        await self.give((op, param, giver, *self.draw()[3:]))

    async def step(self, inputs=None):
        """A cycle: every pulse that is due and no other; the state one cycle later than its command's first step."""
        cycle = self.lockstep.cycles
        due = self.model.due.pop(cycle, {})
        decision = due.pop("decision", None)
        busy = [begin for begin in self.model.begins if begin < cycle <= begin + STEPS]
        idle = not any(begin < cycle < begin + STEPS for begin in self.model.begins)
        shown = (
            dict.fromkeys(PULSES, 0) | due | {"decision_valid": decision is not None, "busy": bool(busy), "idle": idle}
        )
        if decision is not None:
            shown["decision"] = decision
        await self.lockstep.step(inputs or {}, shown)

    async def give(self, *commands):
        """Gives one command, or two, the other while the first is carried out; returns when they are answered."""
        model, ports = self.model, self.model.ports
        second = random.choice((1, 1, 2, random.randrange(1, STEPS - 1)))
        words = []
        for op, param, giver, *_ in commands:
            bits = 1 << (param & (1 << max(1, (ports - 1).bit_length())) - 1)
            words.append(param | op << 8 | (bits & (1 << ports) - 1) << 16 | 1 << 16 + ports + giver)
        start = self.lockstep.cycles
        model.begins = [start + n * (STEPS - 1) for n in range(len(commands))]
        await self.step({"command": words[0], "command_valid": 1})
        for n, command in enumerate(commands):
            op, param, giver, mine, locked, byte = command
            begin = start + n * (STEPS - 1)
            model.command(begin, *command)
            while self.lockstep.cycles < begin + STEPS - 1:
                # The byte of the monitor belongs to one cycle only. The second command stays until it is begun.
                now = self.lockstep.cycles - begin
                await self.step(
                    {
                        "command": words[-1],
                        "command_valid": n == 0 and now == second and len(words) > 1,
                        "mine": mine << giver | random.getrandbits(ports) & ~(1 << giver),
                        "locked": locked,
                        "byte": byte if now == 8 else random.randrange(256),
                    }
                )
                if now >= 4:
                    for name, value in model.state.items():
                        got = self.lockstep.pin(name)
                        assert got == value, f"{name} is {got:#x}, expected {value:#x} after {command}"
        for _ in range(3):
            await self.step()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def carries_out_every_supervisor_command(dut):
    """H7, H19, docs/hub.md: effect, state, answer and errors of each of the 14, cycle by cycle; one by one, and in
    pairs."""
    environment = Environment(dut)
    await environment.lockstep.start()
    for _ in range(500):
        await environment.give(*(environment.draw() for _ in range(random.choice([1, 1, 2]))))
    possible = {op: {0, *BY_OPCODE[op].errors} - {Error.NOT_ALLOWED} for op in COMMANDS}
    for op, error in random.sample(
        sorted((op, error) for op in COMMANDS for error in possible[op]), sum(map(len, possible.values()))
    ):
        await environment.meet(op, error)
    ports = range(environment.model.ports)
    for op in {op ^ 1 << bit for op in COMMANDS for bit in range(7)} - {*COMMANDS}:  # of an opcode all bits count
        await environment.give((op, *environment.draw()[1:]))
    for giver, port in random.sample(
        2 * [(giver, port) for giver in ports for port in ports], min(2 * len(ports) ** 2, 25)
    ):
        await environment.give((Op.ENABLE_REPLY, port, *environment.draw()[2:]))
        for op in (*ABOUT_PORTS, *FORCED):
            for force in (0, FORCE) if op in FORCED else (0,):
                await environment.give((op, force | port, giver, op == Op.DISABLE_REPLY, *environment.draw()[4:]))
        await environment.give((Op.ENABLE_REPLY, port, *environment.draw()[2:]))
        for mine in (True, False):
            await environment.give((Op.FORCE_CONNECTION_REPLY, FORCE | port, giver, mine, *environment.draw()[4:]))
    for op in COMMANDS:
        assert {error for seen, error in environment.model.seen if seen == op} == possible[op], BY_OPCODE[op].name


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_reset_ends_what_is_under_way(dut):
    """docs/hub.md: all is as in the beginning, and nothing of the command follows, at whatever step it was."""
    environment = Environment(dut)
    lockstep, ports = environment.lockstep, environment.model.ports
    await lockstep.start()
    for op in COMMANDS:
        for step in range(STEPS):
            place, giver = random.sample(range(ports), 2)
            param = place | random.choice([0, FORCE]) if op in FORCED else place
            await lockstep.step(
                {"command": param | op << 8 | 1 << 16 + place | 1 << 16 + ports + giver, "command_valid": 1}
            )
            for _ in range(step):
                await lockstep.step({"byte": random.randrange(256)})
            await lockstep.reset()
            environment.model = Model(*CONFIGURATIONS[inside()])
            for _ in range(STEPS):
                await environment.step()
            for name, value in environment.model.state.items():
                assert lockstep.pin(name) == value, (op, step, name)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def tells_every_number_from_every_other(dut):
    """docs/hub.md: which times, selections and counters there are, and which opcodes; of all bytes no others."""
    environment = Environment(dut)
    await environment.lockstep.start()
    ops = Op.WATCHDOG_TIME_REPLY, Op.MONITOR_SELECT_REPLY, Op.MONITOR_CLEAR_REPLY
    # In any order, so that each number outlasts other commands.
    for op, param in random.sample([(op, param) for op in ops for param in range(256)], len(ops) * 256):
        await environment.give((op, param, *environment.draw()[2:]))
    for op in {*range(128, 256)} - {*COMMANDS}:
        await environment.give((op, *environment.draw()[1:]))


bench = Bench(
    __name__,
    {name: lambda parameters=parameters: Supervisor(*parameters) for name, parameters in CONFIGURATIONS.items()},
    ports_only=True,
)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("16 ports", "5 ports, two supervisors")))
def test_supervisor(configuration, claim):
    bench.check(configuration, claim)


@pytest.mark.parametrize(
    "supervisors, error, message",
    [
        ("3", TypeError, "must be a mask of ports"),
        (True, TypeError, "must be a mask of ports"),
        (-1, ValueError, "mask of 4 bits"),
        (16, ValueError, "mask of 4 bits"),
    ],
)
def test_a_mask_that_is_none_is_refused(supervisors, error, message):
    """Bad parameters are told."""
    with pytest.raises(error, match=message):
        Supervisor(4, supervisors)
