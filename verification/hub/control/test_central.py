"""Bench of hdl/hub/control/central.py: every command of the controller, alone and together with one from another port,
against a model that executes one after the other."""

import itertools
import random

import cocotb
import pytest

from nectar.hdl.hub.commands import FORCE, Error, Op
from nectar.hdl.hub.control.central import Central
from nectar.verification.bench import Bench
from nectar.verification.hub.control.central_environment import COMMANDS, CONFIGURATIONS, HELD, LONG, TESTS, begun
from nectar.verification.hub.control.central_model import PULSES, UNKNOWN, Model


@cocotb.test(timeout_time=60, timeout_unit="ms")
async def every_pin_shows_what_a_command_does_and_nothing_else(dut):
    """docs/hub.md, docs/monitor.md: pulses to ports and monitor, what is recorded, faults, and busy until the last
    of it."""
    environment = await begun(dut, watches=True)
    for n in range(400):
        if n % 20 == 0:
            await environment.restart(dut)
        environment.model.starting = {o for o in range(environment.ports) if random.random() < 0.3}
        for _ in range(2):
            await environment.cycle()
        op, param = environment.draw(random.choice((COMMANDS, HELD, UNKNOWN, TESTS)))
        await environment.alone(
            random.randrange(environment.ports), op, param % environment.ports if op in TESTS else param
        )


@cocotb.test(timeout_time=60, timeout_unit="ms")
async def what_is_known_of_a_port_is_answered_for_that_port(dut):
    """docs/hub.md, docs/commands.md: errors, entries of the queue, up to 255, the neighbour, and the byte that the
    monitor shows."""
    environment = await begun(dut, watches=True)
    for n in range(30):
        for output in range(environment.ports):
            for op in (Op.STATUS_ERRORS, Op.STATUS_QUEUE):
                await environment.alone(n % environment.ports, op, output)
        await environment.alone(
            n % environment.ports, random.choice((Op.STATUS_NEIGHBOUR, Op.STATUS_KIND)), n % environment.ports
        )
        await environment.alone(n % environment.ports, Op.MONITOR_READ_REPLY, random.randrange(256))


@cocotb.test(timeout_time=60, timeout_unit="ms")
async def a_command_about_one_port_leaves_the_others_alone(dut):
    """docs/hub.md, supervisor commands: every output is in use and locked before, by the input next to it."""
    environment = await begun(dut, watches=True)
    ports = environment.ports
    for output in range(ports):
        for op, force in (
            (Op.DISABLE_REPLY, 0),
            (Op.RESET_PORT_REPLY, 0),
            *itertools.product((Op.FORCE_CONNECTION_REPLY, Op.FORCE_LOCK_REPLY), (0, FORCE)),
        ):
            forced = op in (Op.FORCE_CONNECTION_REPLY, Op.FORCE_LOCK_REPLY)
            for giver in [(output + n) % ports for n in range(3)] if forced else [random.randrange(ports)]:
                await environment.restart(dut)
                for n in range(ports):
                    for taking in (Op.OPEN, Op.LOCK):
                        await environment.alone(n, taking, (n + 1) % ports)
                for _ in range(1 + forced):  # what is so already is recorded as a command
                    await environment.alone(giver, op, force | output)
                for question in (Op.STATUS_LOCK, Op.STATUS_OUTPUT):
                    await environment.alone(0, question, output)


@cocotb.test(timeout_time=60, timeout_unit="ms")
async def a_reset_of_the_hub_is_for_those_who_may_give_it(dut):
    """docs/hub.md: it is told and recorded once, whatever the parameter; from others it is refused."""
    environment = await begun(dut, watches=True)
    for port in range(environment.ports):
        other, param = (port + 1) % environment.ports, random.randrange(environment.ports)
        await environment.alone(other, Op.ALLOW_SUPERVISOR_REPLY, port)
        assert await environment.alone(port, Op.RESET_HUB, param) == (False, Error.NOT_ALLOWED)
        await environment.alone(other, Op.ALLOW_SUPERVISOR_REPLY, FORCE | port)
        before, environment.trace, environment.requests[port] = (
            environment.model.copy(),
            [],
            Op.RESET_HUB << 8 | param,
        )
        await environment.cycle(request_valid=1 << port)
        for _ in range(LONG):
            await environment.cycle()
        environment.check_pins(before, port, Op.RESET_HUB, param, 0)


@cocotb.test(timeout_time=60, timeout_unit="ms")
async def what_ports_close_and_what_expires_ends_for_these_alone(dut):
    """H9, H20: a close of one connection, of an input's and of an output's; only what expires sets ready bits, but
    none that a close all has ended."""
    environment = await begun(dut, watches=True)
    ports = environment.ports
    for n in range(120):
        await environment.restart(dut)
        for _ in range(2 * ports):
            await environment.alone(
                random.randrange(ports), random.choice((Op.OPEN, Op.OPEN, Op.LOCK)), random.randrange(ports)
            )
        environment.ready = random.getrandbits(ports)
        environment.requests = [random.randrange(ports) for _ in range(ports)]
        environment.trace = []
        model = environment.model
        model.ready = [bool(environment.ready >> o & 1) for o in range(ports)]
        opened, locked = model.opened, model.locked
        what, mask, closed = (
            ("close_one", "close_mine", "closed", "passed", "expired")[n % 5],
            random.getrandbits(ports),
            random.getrandbits(ports),
        )
        expired = what == "expired" and mask
        by_output = random.choice(("closed", "passed"))
        await environment.cycle(**({"expired": mask, by_output: closed} if expired else {what: mask}))
        for _ in range(6):
            await environment.cycle()
        ends = {
            "close_one": lambda o, i: mask >> i & 1 and environment.requests[i] == o,
            "closed": lambda o, i: mask >> o & 1,
            "passed": lambda o, i: mask >> o & 1,
            "close_mine": lambda o, i: mask >> i & 1,
            "expired": lambda o, i: mask >> i & 1 or expired and closed >> o & 1,
        }[what]
        ended = sum(1 << o for o, i in opened.items() if ends(o, i))
        unlocked = sum(1 << o for o, i in locked.items() if expired and mask >> i & 1)
        recovered = ended & ~closed if expired else 0
        model.owner = [None if ended >> o & 1 else i for o, i in enumerate(model.owner)]
        model.lock = [None if unlocked >> o & 1 else i for o, i in enumerate(model.lock)]
        model.ready = [ready or recovered >> o & 1 for o, ready in enumerate(model.ready)]
        seen = {
            name: [cycle[name] for cycle in environment.trace if cycle[name]] for name in (*PULSES, "decision_valid")
        }
        due = {"ended": ended, "unlocked": unlocked, "ready_set": recovered}
        assert seen == {name: [due[name]] if due.get(name) else [] for name in seen}, (what, mask, closed)
        assert environment.trace[1]["ready_set"] == recovered
        environment.check_state(what)


@cocotb.test(timeout_time=60, timeout_unit="ms")
async def executes_every_command_as_the_table_says(dut):
    """H7, H9, H10, H19: answer, errors and state after each of the controller's commands, in every state that the
    others lead to."""
    environment = await begun(dut)
    for n in range(1500):
        if n % 40 == 0:
            await environment.restart(dut)  # or nobody might be left who can give supervisor commands
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
    environment = await begun(dut)
    for n in range(4):
        for op in random.sample(COMMANDS, len(COMMANDS)):
            _, param = environment.draw()
            two = random.sample(range(environment.ports), 2)
            await environment.check({port: (op, param) for port in two})
            if not all(environment.model.allowed):
                await environment.restart(dut)


@cocotb.test(timeout_time=60, timeout_unit="ms")
async def what_comes_behind_a_supervisor_command_finds_it_carried_out(dut):
    """docs/hub.md, "Supervisor commands": meanwhile no other command is decided, but for those under way; the cycles
    of a command: a forced connection stands ten cycles behind the command's being handed over."""
    environment = await begun(dut)
    looks = {
        Op.FORCE_CONNECTION_REPLY: (Op.STATUS_OUTPUT, Op.OPEN, Op.FORCE_CONNECTION_REPLY),
        Op.FORCE_LOCK_REPLY: (Op.STATUS_LOCK, Op.LOCK, Op.UNLOCK_REPLY),
        Op.FORCE_READY_REPLY: (Op.STATUS_READY, Op.TEST_OPEN_REPLY),
        Op.DISABLE_REPLY: (Op.OPEN, Op.ENABLE_REPLY),
    }
    for gap in range(1, 17):
        for op, others in looks.items():
            other = random.choice(others)
            await environment.restart(dut)
            first, second, output = random.sample(range(environment.ports), 3)
            setting = FORCE if op in (Op.FORCE_CONNECTION_REPLY, Op.FORCE_LOCK_REPLY) else 0
            await environment.check({first: (op, setting | output), second: (other, output)}, gap)


@cocotb.test(timeout_time=60, timeout_unit="ms")
async def every_ready_bit_is_answered_for_its_own_output(dut):
    """docs/commands.md, *status ready*: whatever the ready bits of the other outputs are."""
    environment = await begun(dut, watches=True)
    ports = range(environment.ports)
    for bits in range(1 << environment.ports):
        environment.ready = bits
        environment.model.ready = [bool(bits >> o & 1) for o in ports]
        for output in ports:
            assert await environment.alone(bits % environment.ports, Op.STATUS_READY, output) == (
                True,
                bits >> output & 1,
            )


@cocotb.test(timeout_time=60, timeout_unit="ms")
async def only_what_waits_at_a_port_that_gives_up_or_expires_ends(dut):
    """docs/hub.md, "Watchdog": of all ports that wait, those end that give up, and the ready bits are set that those
    wait for that expire."""
    environment = await begun(dut)
    ports = environment.ports
    everywhere = (1 << ports) - 1
    for mask in range(1 << ports):
        await environment.restart(dut)
        environment.ready = 0
        environment.requests = [Op.AWAIT_READY_REPLY << 8 | (n + 1) % ports for n in range(ports)]
        responses = await environment.cycle(request_valid=everywhere)
        for _ in range(LONG):
            responses |= await environment.cycle()
        assert not responses, "they wait"
        expired = random.choice((0, mask, mask & random.getrandbits(ports)))
        responses |= await environment.cycle(expired=expired, give_up=mask)
        for _ in range(LONG):
            responses |= await environment.cycle(give_up=mask & ~sum(1 << n for n in responses))
        given_up = {n: (False, Error.GIVEN_UP) for n in range(ports)}
        assert responses == {n: response for n, response in given_up.items() if mask >> n & 1}
        recovered = sum(1 << (n + 1) % ports for n in range(ports) if expired >> n & 1)
        assert environment.ready == recovered
        for _ in range(LONG):
            responses |= await environment.cycle(give_up=everywhere & ~sum(1 << n for n in responses))
        assert responses == given_up and environment.ready == recovered


@cocotb.test(timeout_time=60, timeout_unit="ms")
async def a_start_on_its_way_does_not_count_in_the_first_cycle_of_the_ready_bit(dut):
    """docs/hub.md, "Ready bit": what waits for the ready bit is granted then; later a *start* on its way counts."""
    environment = await begun(dut)
    for op in (Op.AWAIT_READY_REPLY, Op.TEST_OPEN_RETRY_REPLY):
        for output in range(environment.ports):
            port = (output + 1) % environment.ports
            for before in (0, 1 << output):  # the ready bit
                await environment.restart(dut)
                environment.ready, environment.model.starting = before, {output}
                environment.requests[port] = op << 8 | output
                await environment.cycle()  # what left a cycle ago only has no effect yet
                responses = await environment.cycle(request_valid=1 << port)
                for _ in range(LONG):
                    responses |= await environment.cycle()
                assert not responses, "it waits"
                environment.ready = 1 << output
                for _ in range(LONG):
                    responses |= await environment.cycle()
                assert responses == ({} if before else {port: (True, output)})


@cocotb.test(timeout_time=60, timeout_unit="ms")
async def what_expires_gives_back_connections_locks_and_ready_bits(dut):
    """H20: in one cycle the input's connections and locks end, and its outputs are ready again; what waits is
    refused."""
    environment = await begun(dut)
    for port in range(environment.ports):
        last, other = random.sample([n for n in range(environment.ports) if n != port], 2)
        await environment.check({port: (Op.OPEN, last)})
        await environment.check({port: (Op.LOCK, other)})
        await environment.check({port: (Op.LOWER_READY, last)})
        assert not environment.ready >> last & 1
        await environment.cycle(expired=1 << port)
        for _ in range(4):
            await environment.cycle()
        environment.model = Model(environment.ports)
        assert {name: environment.lockstep.pin(name) for name in environment.model.state()} == environment.model.state()
        assert environment.ready >> last & 1
        environment.ready &= ~(1 << last)
        environment.requests[port] = Op.TEST_OPEN_RETRY_REPLY << 8 | last
        await environment.cycle(request_valid=1 << port)
        for _ in range(5):
            assert not await environment.cycle()
        responses = await environment.cycle(expired=1 << port, give_up=1 << port)
        for _ in range(LONG):
            responses |= await environment.cycle(give_up=1 << port)
        assert responses == {port: (False, Error.GIVEN_UP)}
        assert environment.ready >> last & 1, "the ready bit that was waited for was not set"


bench = Bench(
    __name__,
    {name: lambda ports=ports: Central(ports) for name, ports in CONFIGURATIONS.items()},
    ports_only=True,
)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("5 ports",)))
def test_central(configuration, claim):
    bench.check(configuration, claim)
