"""Bench of hdl/hub/control/controller.py: decisions, turns, what waits and what is given up."""

import random

import cocotb
import pytest

from nectar.hdl.hub.commands import RETRY, TEST, Op
from nectar.hdl.hub.control.controller import Controller
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep

CONFIGURATIONS = {"16 ports": 16, "5 ports": 5, "3 ports": 3}
OPENS, LOCKS = range(8), (*range(0x20, 0x24), int(Op.TEST_LOCK_REPLY))
WAITING = [op for op in (*OPENS, *LOCKS) if op & RETRY] + [int(Op.AWAIT_READY_REPLY)]
OTHERS = [
    int(Op.UNLOCK),
    int(Op.UNLOCK_MINE),
    int(Op.STATUS_OUTPUT),
    int(Op.RAISE_READY),
    int(Op.ECHO_REPLY),
    0x08,
    0x26,
    0x77,
    *(Op.AWAIT_READY_REPLY ^ 1 << bit for bit in range(6)),
]
#: The last ones differ in one bit from a command that waits, that opens or that locks, and are none.
SUPERVISOR = [
    int(Op.DISABLE_REPLY),
    int(Op.RESET_HUB),
    0xE0,
    *(op ^ 0x80 for op in (Op.AWAIT_READY_REPLY, Op.OPEN_RETRY, Op.LOCK, Op.LOCK_RETRY_REPLY)),
]


def opens(op):
    return op in OPENS


def locks(op):
    return op in LOCKS or op in (0x24, 0x26, 0x27)


class Tables:
    """Status table and locks, as late as the real ones show what changes. ``opened`` and ``locked`` map outputs to
    inputs."""

    def __init__(self, ports):
        self.ports = ports
        self.opened, self.before = {}, {}
        self.locked = {}

    def pins(self, requests):
        """What the controller sees, and ``named__N``, the output that port N names, as a mask; ``requests``: port →
        (op, param)."""
        ports = range(self.ports)
        size = 1 << max(1, (self.ports - 1).bit_length())
        names = {n: requests[n][1] % size if n in requests else 0 for n in ports}
        pins = {
            "connected": sum(1 << o for o in self.before),
            "mine": sum((self.opened.get(names[n]) == n) << n for n in ports),
        }
        for n in ports:
            pins[f"named__{n}"] = 1 << names[n] if names[n] < self.ports else 0
            pins[f"shut__{n}"] = sum(1 << o for o, i in self.locked.items() if i != n)
        return pins


class Model:
    """The controller. A request is checked in one cycle, with the tables of the cycle before, and picked in the next or
    later. The pick is a decision in the cycle behind it, unless it was in vain."""

    def __init__(self, ports):
        self.ports = ports
        self.cycle = 0
        self.requests = {}  # port → (op, param, first cycle in which it is checked)
        self.checked = {}  # port → (it can be done, it is decided at once, it has it already), of the cycle before
        self.last = ports - 1
        self.waited = [0] * ports  # for each port the others that were picked while it could be decided
        self.back = None  # ``last`` and ``waited`` as they were before a pick of the cycle before that was in vain
        self.picked = [None, None]  # the ports that were picked in the cycle before, and in the one before that
        self.decided = None  # (port, op, param, done, had, entered) of this cycle
        self.before = None  # of the cycle before
        self.long_before = None  # and of the one before that
        self.frozen = False
        self.inputs = {}  # of the cycle before
        self.given_up = set()  # ports that the watchdog met while they were waiting
        self.in_vain = 0  # picks of those whose output had just been taken
        self.kept = (
            set()
        )  # False: a lock was decided just before an open of what its port had; True: one cycle before that
        self.seen = set()  # (op, done) that were decided
        self.given_up_ops = set()

    def _check(self, n, give_up):
        """The request of port ``n`` against the tables of the cycle before."""
        inputs = self.inputs
        op, param, _ = self.requests[n]
        named = inputs[f"named__{n}"]
        mine = bool(inputs["mine"] >> n & 1)
        free = not named & inputs[f"shut__{n}"]
        ready, usable = bool(named & inputs["ready"]), bool(named & inputs["enabled"])
        bad = param >= self.ports or (opens(op) or locks(op)) and param == n
        waits = op in WAITING
        if opens(op):
            can = usable and (mine or free and not named & inputs["connected"]) and (ready or not op & TEST)
        elif locks(op):
            can = usable and free
        else:
            can = op == Op.AWAIT_READY_REPLY and ready
        hopeless = (opens(op) or locks(op)) and not usable
        if waits and give_up >> n & 1 and not (can or bad or hopeless):
            self.given_up_ops.add(op)
        return can and not bad, bad or hopeless or not waits or bool(give_up >> n & 1), mine

    def _takes(self, decision, n, had):
        """Whether ``decision`` took what the request of port ``n`` wants. An open of what it ``had`` wants nothing."""
        if decision is None:
            return False
        _, op, param, done, *_ = decision
        mine, wanted, _ = self.requests[n]
        size = 1 << max(1, (self.ports - 1).bit_length())
        if not done or (param - wanted) % size:
            return False
        lasts = locks(op) and not op & TEST
        if had and opens(mine):
            if lasts:
                self.kept.add(decision is self.before)
            return False
        if decision is self.long_before:
            return (opens(mine) or locks(mine)) and lasts
        return opens(mine) and (opens(op) or lasts) or locks(mine) and lasts

    def _tell(self):
        """Outputs of the decision of this cycle, and whether it is a supervisor command that counts."""
        port, op, param, done, had, entered = self.decided
        named = param % (1 << max(1, (self.ports - 1).bit_length()))
        supervisor = bool(op & 0x80 and self.inputs["allowed"] >> port & 1)
        takes_lock = done and locks(op) and not op & TEST
        shown = {
            "decided": 1 << port,
            "place": 1 << named if named < self.ports else 0,
            "enter": entered << port,
            "opened": entered << port,
            "entered_input": port,
            "resume": (opens(op) or locks(op)) << port,
            "order": None,
        }
        shown["order_fields"] = (
            op,
            param,
            port,
            done,
            done and opens(op) and not entered,
            port in self.given_up,
            supervisor,
            takes_lock,
        )
        return shown, supervisor

    def _wait(self, picked):
        """Counts a pick; fails if this lets another port wait too long."""
        for n in range(self.ports):
            takes_part = any(self.checked.get(n, ())[:2]) and n not in self.picked
            self.waited[n] = self.waited[n] + 1 if takes_part and n != picked else 0
        assert max(self.waited) < self.ports, "a port waits for at most all others"

    def _pick(self):
        """The port that is picked in this cycle, or None, and the decision of the next, or None."""
        was, back, self.back = (self.last, [*self.waited]), self.back, None
        for n in ((was[0] + distance) % self.ports for distance in range(1, self.ports + 1)):
            can, now, had = self.checked.get(n, (False, False, False))
            if (can or now) and n not in self.picked and not self.frozen:
                self.last = n
                self._wait(n)
                done = can and not self._takes(self.decided, n, had)
                if not done and not now:
                    self.in_vain += 1
                    self.back = was
                    return n, None
                op, param, _ = self.requests[n]
                self.seen.add((op, bool(done)))
                return n, (n, op, param, done, had, done and opens(op) and not had)
        if back is not None:
            self.last, self.waited = back
        if not self.frozen:
            self.waited = [0] * self.ports  # nobody can be decided
        return None, None

    def step(self, inputs):
        """Outputs of this cycle; and what is decided in it: (port, op, param, done, had, entered) or None."""
        shown = {"enter": 0, "opened": 0, "decided": 0, "resume": 0}
        shown["busy"] = bool(
            self.frozen
            or self.requests
            or self.before
            and self.before[3]
            and (opens(self.before[1]) or locks(self.before[1]) and not self.before[1] & TEST)
            or self.long_before
            and self.long_before[3]
            and locks(self.long_before[1])
            and not self.long_before[1] & TEST
        )
        freeze = self.frozen
        decided = self.decided
        if decided:
            told, supervises = self._tell()
            shown |= told
            freeze |= supervises
        for n in range(self.ports):
            if inputs["request_valid"] >> n & 1:
                request = inputs[f"request__{n}"]
                self.requests[n] = request >> 8, request & 0xFF, self.cycle + 1
        asking = [n for n, request in self.requests.items() if request[2] <= self.cycle]
        self.given_up |= {n for n in asking if inputs["expired"] >> n & 1}
        picked, following = self._pick()
        looked = {n: self._check(n, inputs["give_up"]) for n in asking}
        self.checked = {
            n: (
                can and not any(self._takes(one, n, had) for one in (self.decided, self.before, self.long_before)),
                now,
                had,
            )
            for n, (can, now, had) in looked.items()
        }
        if decided:
            self.given_up.discard(decided[0])
            del self.requests[decided[0]]
        self.picked = [picked, self.picked[0]]
        self.long_before, self.before, self.decided = self.before, decided, following
        self.frozen = freeze and not inputs["finished"]
        self.inputs = inputs
        self.cycle += 1
        return shown, decided


class Environment:
    """Ports that ask at random and hold their requests until they are decided; connections and locks that end; a
    supervisor."""

    def __init__(self, dut):
        self._forget()
        ports = range(self.model.ports)
        self.lockstep = Lockstep(
            dut,
            [
                "request_valid",
                "give_up",
                "expired",
                "mine",
                "connected",
                "ready",
                "enabled",
                "allowed",
                "finished",
                *(f"{name}__{n}" for name in ("request", "named", "shut") for n in ports),
            ],
        )

    def _forget(self):
        self.model = Model(CONFIGURATIONS[inside()])
        self.tables = Tables(self.model.ports)
        self.asked = {}  # port → (op, param) until two cycles after its decision
        self.ends = {}  # port → cycle in which it may ask anew
        self.enabled = (1 << self.model.ports) - 1
        self.allowed = random.getrandbits(self.model.ports)
        self.finish = None
        self.most_waiting = 0

    async def restart(self):
        """A reset of one cycle, in the midst of what goes on."""
        await self.lockstep.reset()
        self._forget()

    def _inputs(self, ask, ready, give_up, ops, params):
        model, ports = self.model, range(self.model.ports)
        for n in [n for n, at in self.ends.items() if at <= model.cycle]:
            del self.ends[n], self.asked[n]
        inputs = {
            "request_valid": 0,
            "enabled": self.enabled,
            "allowed": self.allowed,
            "ready": sum((random.random() < ready) << n for n in ports),
            "give_up": sum((random.random() < give_up) << n for n in ports),
            "expired": sum((random.random() < give_up) << n for n in ports),
            "finished": self.finish == model.cycle,
        }
        if random.random() < 0.02:
            self.enabled ^= 1 << random.choice(ports)
        if random.random() < 0.05:
            self.allowed ^= 1 << random.choice(ports)
        for n in ports:
            if n not in self.asked and random.random() < ask:
                anything = [*ports, *ports, random.randrange(model.ports, model.ports + 4), random.randrange(256)]
                self.asked[n] = random.choice(ops), random.choice(params or anything)
                inputs["request_valid"] |= 1 << n
            op, param = self.asked.get(n, (0, 0))
            inputs[f"request__{n}"] = op << 8 | param
        return inputs | self.tables.pins(self.asked)

    async def run(self, cycles, ask, close, ready, give_up=0.0, ops=(*OPENS,), params=()):
        """``ask``, ``close``, ``ready``, ``give_up``: probabilities per cycle. ``params``: the parameters to choose
        from, if not all."""
        model, tables = self.model, self.tables
        for _ in range(cycles):
            inputs = self._inputs(ask, ready, give_up, ops, params)
            locking = (
                model.before
                and model.before[3]
                and locks(model.before[1])
                and not model.before[1] & TEST
                and model.before
            )
            shown, decided = model.step(inputs)
            fields = shown.pop("order_fields", None)
            read = await self.lockstep.step(
                inputs,
                {name: value for name, value in shown.items() if name != "order"},
                ["order"],
            )
            if fields:
                self._check_order(read[0], fields)
            # The tables: what is entered in this cycle, what was locked by the decision before, what ends.
            tables.before = dict(tables.opened)
            for o in [o for o in tables.opened if random.random() < close]:
                del tables.opened[o]
            for o in [o for o in tables.locked if random.random() < close]:
                del tables.locked[o]
            if locking:
                port, _, param, *_ = locking
                assert tables.locked.get(param, port) == port, f"output {param} was locked by another input"
                tables.locked[param] = port
            if decided:
                port, op, param, done, _, entered = decided
                self.ends[port] = model.cycle + 2
                if entered:
                    assert param not in tables.opened and param not in tables.before, f"output {param} was in use"
                    tables.opened[param] = tables.before[param] = port
                if fields[6]:
                    self.finish = model.cycle + random.randrange(3, 12)
            self.most_waiting = max(self.most_waiting, len(model.requests))

    def _check_order(self, order, fields):
        """The order's bits: parameter, opcode, port, done, had, expired, supervisor, locks."""
        bits = max(1, (self.model.ports - 1).bit_length())
        op, param, port, *flags = fields
        expected = param | op << 8 | port << 16
        for n, flag in enumerate(flags):
            expected |= bool(flag) << 16 + bits + n
        if not opens(op) and not locks(op) and op != Op.AWAIT_READY_REPLY:
            mask = ~(1 << 16 + bits)  # `done` means nothing for other commands
            order, expected = order & mask, expected & mask
        assert order == expected, (
            f"cycle {self.lockstep.cycles - 1}: order {order:#x}, expected {expected:#x}: {fields}"
        )


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def decides_one_request_a_cycle_in_turns(dut):
    """H4, H9, H10, docs/hub.md: every decision, connection, lock, refusal and wait in the cycle in which it is due."""
    environment = Environment(dut)
    await environment.lockstep.start()
    ops = [*OPENS, *LOCKS, *WAITING, *OTHERS]
    # Opcodes that differ in one bit from one that waits, opens or locks are none of these.
    alike = (Op.AWAIT_READY_REPLY, Op.OPEN_RETRY, Op.LOCK_RETRY)
    ops += [op for op in {op ^ 1 << bit for op in alike for bit in range(7)} if op not in ops]
    for ask, close, ready, give_up in (
        (0.5, 0.1, 0.7, 0),
        (0.05, 0.02, 0.3, 0.05),
        (1, 0.3, 0.7, 0.3),
        (0.8, 0.05, 0.2, 0.2),
        (0.7, 0.03, 0.1, 0.3),
        (1, 0.9, 1, 0),
    ):
        await environment.run(1500, ask, close, ready, give_up, ops)
    # Locks that have just been granted stand in the way of all that takes the output, and of nothing else.
    await environment.run(1500, 1, 0.6, 1, 0, [*LOCKS, *LOCKS, Op.OPEN_RETRY, Op.AWAIT_READY_REPLY])
    for output in (0, 1):
        await environment.run(750, 1, 0.6, 1, 0, [Op.LOCK, Op.LOCK_RETRY, Op.AWAIT_READY_REPLY], params=[output])
    # And not in the way of an open of what the input has. Two outputs, as no input may open that of its own port.
    for output, cycles in ((0, 4500), (1, 1500)):
        await environment.run(cycles, 1, 0.1, 0.9, 0, [*OPENS, *OPENS, *LOCKS], params=[output])
    model = environment.model
    assert model.kept, "no lock was decided just before an open of what the input has"
    for op in WAITING:
        # Outputs and locks that are never given back, and nothing is ready: whatever can wait does so until it is given
        # up.
        for _ in range(50):
            if op in model.given_up_ops:
                break
            await environment.run(40, 1, 0, 0, 0.2, [op, Op.OPEN, Op.LOCK])
    assert {(op, done) for op in (*OPENS, *LOCKS, Op.AWAIT_READY_REPLY) for done in (True, False)} <= model.seen
    assert model.given_up_ops == set(WAITING), "not everything that waits was given up"
    assert model.in_vain > 0, "nobody was picked in vain"
    assert {op for op, _ in model.seen} >= set(OTHERS)
    environment.enabled = (1 << environment.model.ports) - 1
    await environment.run(100 + 20 * environment.model.ports, 0, 1, 1)
    assert not environment.model.requests and environment.lockstep.pin("busy") == 0


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def what_must_wait_delays_nobody(dut):
    """docs/hub.md: with every output taken, retried opens wait and all else is decided at full rate nevertheless."""
    environment = Environment(dut)
    await environment.lockstep.start()
    model = environment.model
    await environment.run(200, 1, 0, 1, 0, [Op.OPEN])
    await environment.run(20 + 8 * model.ports, 1, 0, 1, 0, [Op.OPEN_RETRY, Op.STATUS_OUTPUT, Op.STATUS_OUTPUT])
    assert environment.most_waiting > 1


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def nothing_is_decided_while_a_supervisor_command_is_carried_out(dut):
    """docs/hub.md: behind a supervisor command of a port that may give it, one more decision at most comes before it
    is finished."""
    environment = Environment(dut)
    await environment.lockstep.start()
    for ask, close in ((1, 0.1), (0.1, 0.1)):
        await environment.run(700, ask, close, 0.9, 0.01, [*OPENS, *LOCKS, *OTHERS, *SUPERVISOR])
    assert {op for op, _ in environment.model.seen} >= set(SUPERVISOR)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_reset_of_one_cycle_ends_whatever_is_under_way(dut):
    """docs/hub.md, "Reset hub": afterwards the controller decides as after the first reset."""
    environment = Environment(dut)
    await environment.lockstep.start()
    for _ in range(60):
        await environment.run(
            random.randrange(4, 16), 1, 0.3, 0.9, 0.05, random.choice([(*OPENS, *LOCKS), (*OPENS, *SUPERVISOR)])
        )
        await environment.restart()
        await environment.run(3, 0, 0, 1)
    await environment.run(100, 0.7, 0.3, 0.9)


bench = Bench(
    __name__,
    {name: lambda ports=ports: Controller(ports) for name, ports in CONFIGURATIONS.items()},
    ports_only=True,
)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("16 ports", "3 ports")))
def test_controller(configuration, claim):
    bench.check(configuration, claim)
