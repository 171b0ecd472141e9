"""Bench of hdl/hub/control/response_unit.py: what every command is answered, and what the commands for flow control
do."""

import copy
import random

import cocotb
import pytest

from nectar.hdl.hub.commands import BY_OPCODE, TEST, Error, Executor, Group, Op
from nectar.hdl.hub.control.response_unit import ResponseUnit
from nectar.hdl.hub.messages import FAULTS
from nectar.hdl.hub.monitor_map import Event
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep
from nectar.verification.hub.tables import Tables

SIZES = {"3 ports": 3, "16 ports": 16}
COMMANDS = [
    int(op)
    for op, row in BY_OPCODE.items()
    if row.executor is Executor.CONTROLLER or row.group is Group.ECHO or op == Op.FLUSH_REPLY
]
UNKNOWN = [op for op in range(256) if op not in BY_OPCODE]
LOCKS = (*range(0x20, 0x24), int(Op.TEST_LOCK_REPLY))
UNLOCKING = [int(op) for op in (Op.UNLOCK, Op.UNLOCK_REPLY, Op.STATUS_LOCK)]


def bits_of(ports):
    return max(1, (ports - 1).bit_length())


def pack(ports, order):
    """The layout Order as a number."""
    bits = bits_of(ports)
    number = order["param"] | order["op"] << 8 | order["port"] << 16
    for n, flag in enumerate(("done", "had", "expired", "supervisor", "locks")):
        number |= order[flag] << 16 + bits + n
    return number


class RandomTables(Tables):
    """Tables at random, as they are in one cycle."""

    def __init__(self, ports):
        super().__init__(ports, 0)
        self.owner, self.lock = ([self._some() for _ in range(ports)] for _ in range(2))
        self.ready = [random.getrandbits(1) for _ in range(ports)]
        self.enabled = [random.random() < 0.75 for _ in range(ports)]
        self.allowed = [False] * ports  # what the supervisor does is not answered here
        self.errors, self.level = ([random.randrange(most) for _ in range(ports)] for most in (512, 1153))
        self.sums = [min(errors, 255) for errors in self.errors]

    def _some(self):
        return random.randrange(self.size) if random.random() < 0.6 else None

    def pins(self):
        """Inputs; what an unconnected output tells of its owner means nothing."""

        def mask(bits):
            return sum(bool(bit) << n for n, bit in enumerate(bits))

        def who(table):
            return [random.randrange(self.size) if i is None else i for i in table]

        pins = {
            "connected": mask(i is not None for i in self.owner),
            "locked": mask(i is not None for i in self.lock),
            "ready_bit": mask(self.ready),
            "enabled": mask(self.enabled),
        }
        values = {"owner": who(self.owner), "locker": who(self.lock), "errors": self.errors, "level": self.level}
        return pins | {f"{name}__{n}": value for name, row in values.items() for n, value in enumerate(row)}

    def queue_level(self, port):
        """Symbols in an input queue."""
        return self.level[port]

    def behind(self, before, order):
        """The tables as ``order`` finds them right behind ``before``, tables and orders of the two cycles before, None
        where there was no order: a lock that one of these gives back is not there any more."""
        found = copy.copy(self)
        found.lock, found.shown_lock = list(self.lock), self.lock
        for tables, last in filter(None, before):
            if tables.unlocks(last) and last["param"] == order["param"] % (1 << bits_of(self.size)):
                found.lock[last["param"]] = None
        return found

    def unlocks(self, order):
        """Whether ``order`` gives a lock back."""
        return order["op"] in (Op.UNLOCK, Op.UNLOCK_REPLY) and not self.answer(order, (0, 0))[0]

    def answer(self, order, neighbour):
        """(error, value) of an order. Whether it takes an output or a lock, or waits for a ready bit, was decided in
        the cycle before: ``done``. If not, the error is one of those that these tables show, or else a fixed one."""
        op, param, port = order["op"], order["param"], order["port"]
        row, decided = self.rows.get(op), op in range(8) or op in LOCKS or op == Op.AWAIT_READY_REPLY
        if decided and order["done"]:
            return 0, param
        error = self._error(port, row, op, param)
        if decided and error is None:
            busy = Error.LOCKED if op in LOCKS else Error.NOT_READY if op & TEST else Error.BUSY
            error = Error.GIVEN_UP if row.waits else busy
        if error is not None:
            return error, None
        self.neighbour = [neighbour] * self.size
        asks = {Group.STATUS: self._status, Group.ECHO: self._echo}.get(row.group)
        return 0, asks(port, op, param) if asks else param


def recorded(tables, order):
    """(kind or None) of what the monitor is told."""
    op, done, had = order["op"], order["done"], order["had"]
    if op in (Op.UNLOCK, Op.UNLOCK_REPLY):
        return Event.UNLOCKED if not tables.answer(order, (0, 0))[0] else None
    if op in range(8):
        return None if had else Event.OPENED if done else Event.REFUSED
    if op in LOCKS:
        # A lock that is given back is still there for the controller, which grants it to nobody else.
        had = had or order["locks"] and tables.shown_lock[order["param"]] is not None
        return None if had or done and op & TEST else Event.LOCKED if done else Event.REFUSED
    return None


def some_order(ports):
    # Locks more often: one that is given back stands in the way of the next two commands that name its output alone.
    [ops] = random.choices((COMMANDS, UNKNOWN, UNLOCKING), (0.7, 0.1, 0.2))
    op = random.choice(ops)
    port = random.randrange(ports)
    param = random.choice([*range(ports), port, random.randrange(256)])
    reachable = param < ports and (param != port or op == Op.AWAIT_READY_REPLY)
    done = reachable and (op in range(8) or op in LOCKS or op == Op.AWAIT_READY_REPLY) and random.random() < 0.5
    return {
        "op": op,
        "param": param,
        "port": port,
        "done": done,
        "had": done and op in range(8) and random.random() < 0.3,
        "locks": done and op in LOCKS and not op & TEST,
        "expired": random.random() < 0.5,
        "supervisor": bool(op & 0x80) and random.random() < 0.5,
    }


def response(port, done, value):
    """What a port is told of its command; ``value`` is the error if not done."""
    return {
        "busy": 1,
        "response_valid": 1 << port,
        "done": done,
        "value": value,
        "fault": 0 if done else sum((value == error) << n for n, error in enumerate(FAULTS)),
    }


def expectations(ports, tables, order, neighbour):
    """Outputs behind an ``order`` that finds ``tables``: those of so many cycles later."""
    error, value = tables.answer(order, neighbour)
    op, place, giver = order["op"], 1 << order["param"] % (1 << bits_of(ports)), 1 << order["port"]
    unlocks = tables.unlocks(order)
    shown = {
        1: {
            "busy": 1,
            "change": place if order["locks"] else 0,
            "who": giver if order["locks"] else 0,
            "given": order["locks"],
        },
        2: {
            "busy": 1,
            "unlock": unlocks,
            "forget": place if op == Op.STATUS_NEIGHBOUR and not error else 0,
            "release": giver if op == Op.UNLOCK_MINE else 0,
        },
    }
    if order["supervisor"]:
        shown[2] |= {
            "command_valid": 1,
            "command": op << 8 | order["param"] | (place & (1 << ports) - 1) << 16 | giver << 16 + ports,
            "forget": 0,
            "release": 0,
        }
        return shown
    shown[3] = {"busy": 1, "give_back": place if unlocks else 0}
    shown[4] = {"busy": 1}
    shown[5] = later = response(order["port"], error == 0, error or value) | {"quiet": op in (0x60, 0x61)}
    if not error:
        later |= {
            name: place
            for name, acts in (
                ("ready_set", Op.RAISE_READY),
                ("ready_clear", Op.LOWER_READY),
                ("send_ready", Op.REPAIR_READY),
            )
            if op == acts
        }
    elif error == Error.GIVEN_UP and order["expired"] and (op == Op.AWAIT_READY_REPLY or op in range(8) and op & TEST):
        later["ready_set"] = place if tables.owner[order["param"]] in (None, order["port"]) else 0
    kind = recorded(tables, order)
    if kind is not None:
        shown[3] |= {"decision_valid": 1, "decision": order["param"] & 0x7F | order["port"] << 7 | kind << 14}
    return shown


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def answers_every_command(dut):
    """H10, docs/hub.md: value or error of every command in every state of the tables, one a cycle; effects of flow
    control. A reset of one cycle ends what is under way."""
    ports = SIZES[inside()]
    lockstep = Lockstep(
        dut,
        [
            "order",
            "decided",
            "place",
            "connected",
            "locked",
            "ready_bit",
            "enabled",
            "neighbour_id",
            "neighbour_kind",
            "finished",
            "finished_done",
            "finished_value",
            *(f"{name}__{n}" for name in ("owner", "locker", "errors", "level") for n in range(ports)),
        ],
    )
    await lockstep.start()
    idle = {
        name: 0
        for name in (
            "busy",
            "response_valid",
            "command_valid",
            "forget",
            "release",
            "decision_valid",
            "unlock",
            "give_back",
            "change",
            "who",
            "ready_set",
            "ready_clear",
            "send_ready",
        )
    }
    seen, order, before, due, stays = set(), None, (None, None), {}, {}
    neighbour = 0, 0
    for cycle in range(30_000):
        tables, found = RandomTables(ports), None
        inputs = tables.pins() | {"neighbour_id": neighbour[0], "neighbour_kind": neighbour[1]}
        neighbour = random.randrange(256), random.randrange(256)  # of the next cycle
        if order:  # of the cycle before
            found = tables.behind(before, order)
            for later, shown in expectations(ports, found, order, neighbour).items():
                due.setdefault(cycle - 1 + later, {}).update(shown)
            seen.add((order["op"], found.answer(order, neighbour)[0]))
        before = (found, order) if order else None, before[0]
        shown = idle | due.pop(cycle, {})
        # A supervisor command stays until the next order shows.
        stays = {"command": shown["command"]} if "command" in shown else {} if before[1] else stays
        shown |= stays
        if "response_valid" not in due.get(cycle + 1, {}) and random.random() < 0.3:
            port, done, value = (
                random.randrange(ports),
                random.random() < 0.5,
                random.choice([*Error, random.randrange(256)]),
            )
            inputs |= {"finished": 1 << port, "finished_done": done, "finished_value": value}
            due.setdefault(cycle + 1, {}).update(response(port, done, value))
        order = some_order(ports) if random.random() < 0.8 else None
        shape = order or some_order(ports)  # where nothing is decided the order means nothing
        name = shape["param"] % (1 << bits_of(ports))
        inputs |= {
            "order": pack(ports, shape | {"locks": bool(order) and order["locks"]}),
            "decided": 1 << order["port"] if order else 0,
            "place": 1 << name if name < ports else 0,
        }
        if cycle % 1000 == 999:
            await lockstep.reset(inputs)
            order, before, due, stays = None, (None, None), {}, {}
            continue
        await lockstep.step(inputs, shown)
    for op in COMMANDS:
        for error in BY_OPCODE[op].errors:
            expected = Error.NOT_ALLOWED if op & 0x80 else error
            assert (op, expected) in seen, f"{BY_OPCODE[op].name} was never refused with {expected.name}"
        assert op & 0x80 or (op, 0) in seen, f"{BY_OPCODE[op].name} was never done"


bench = Bench(
    __name__, {name: lambda ports=ports: ResponseUnit(ports) for name, ports in SIZES.items()}, ports_only=True
)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("16 ports",)))
def test_response_unit(configuration, claim):
    bench.check(configuration, claim)
