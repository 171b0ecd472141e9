"""Bench of hdl/hub/port/head.py: symbols pass, commands are done in order, nothing slips through behind a close all."""

import itertools
import random

import cocotb
import pytest

from nectar.hdl.hub.commands import Op
from nectar.hdl.hub.port.head import Head
from nectar.hdl.link.symbol import command, packet
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep
from nectar.verification.hub.port.head_model import (
    CLOSE_MINE,
    CLOSE_ONE,
    CONFIGURATIONS,
    INPUTS,
    Entry,
    Model,
    close_all,
    own,
    piece,
)


async def start(dut):
    lockstep = Lockstep(dut, INPUTS)
    await lockstep.start()
    return lockstep, Model(*CONFIGURATIONS[inside()])


def some(ports, share):
    """All ports with probability ``share``, else a random set of them."""
    return {n for n in range(ports) if random.random() < 0.5} if random.random() >= share else set(range(ports))


async def run(lockstep, model, share, limit=20_000, **rates):
    """Works off the queue of ``model``; everything around the head is prompt with probability ``share`` in each
    cycle."""
    while model.queue or model.state != "pass" or model.asked or model.answer is not None:
        limit -= 1
        assert limit, f"the head hangs in {model.state}"
        inputs, shown = model.step(
            random.random() < share, some(model.ports, share), share, close=some(model.ports, share), **rates
        )
        await lockstep.step(inputs, shown)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def does_everything_in_order(dut):
    """H9, H11, H13, docs/hub.md "Input side of a port": every symbol, command, answer and error in the cycle in
    which it is due."""
    lockstep, model = await start(dut)
    for share in (1.0, 0.9, 0.5, 0.2):
        for _ in range(250):
            model.queue.extend(piece(model.ports))
        await run(lockstep, model, share)
    assert model.seen.keys() >= {
        "close all dropped",
        "run",
        "in run",
        "answered",
        "closing",
        "closed one",
        "closed its own",
        "passed on before the response",
    }, model.seen


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def obeys_no_command_before_a_close_all_has_closed(dut):
    """H13: a command behind a close all, from the queue or past it, has no effect before the connections have ended."""
    lockstep, model = await start(dut)
    others = [n for n in range(model.ports) if n != model.port]
    for share in (1.0, 0.5):
        for _ in range(200):
            model.targets = set(random.sample(others, random.randint(1, min(2, len(others)))))
            model.queue.extend(close_all())
            if random.random() < 0.8:
                model.queue.extend(own(random.choice([*CLOSE_ONE, *CLOSE_MINE, Op.OPEN]), random.randrange(8)))
            for _ in range(random.randrange(4, 16)):
                await lockstep.step(*model.step(random.random() < share, set(others), share, offer=0.3))
            await run(lockstep, model, share)
    assert model.seen.keys() >= {"command behind a close all", "accepted"}, model.seen


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def gives_up_what_waits_when_the_queue_is_emptied(dut):
    """H20, H21, docs/hub.md, "Flush" and "Watchdog": in whatever state the head is, and a command of which a part
    was taken is thrown away."""
    lockstep, model = await start(dut)
    for share in (1.0, 0.9, 0.5, 0.2):
        for _ in range(150):
            while len(model.queue) < 20:
                model.queue.extend(piece(model.ports))
            for _ in range(20):
                inputs, shown = model.step(
                    random.random() < share,
                    some(model.ports, share),
                    share,
                    close=some(model.ports, share),
                    halt=0.1,
                    expired=0.1,
                )
                await lockstep.step(inputs, shown)
        await run(lockstep, model, share)
    everything = set(range(model.ports))
    # Between a close all and the end of its connections, which is seldom long.
    for wait, end, behind in itertools.product(range(5), range(5), (piece(model.ports), own(Op.OPEN, 0))):
        model.targets = {random.choice(sorted(everything - {model.port}))}
        model.queue.extend(close_all())
        while model.state != "closing":
            await lockstep.step(*model.step(True, everything, 1.0))
        model.queue.extend(behind)
        for cycle in range(wait + 1):
            close = everything if cycle == end else frozenset()
            await lockstep.step(*model.step(True, everything, 1.0, halt=float(cycle == wait), close=close))
        model.queue.extend(piece(model.ports))  # what comes next leaves at once
        await run(lockstep, model, 1.0)
    assert model.seen.keys() >= {
        "thrown away in two",
        "given up",
        "given up at once",
        "thrown away behind a close all",
        *(f"halted in {state}" for state in ("pass", "parameter", "execute", "end", "wait", "closing")),
    }, model.seen


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def accepts_what_need_not_wait_in_the_queue(dut):
    """docs/hub.md, Timing: a command that is offered while the queue is empty is taken in one cycle, unless one
    before is not answered."""
    lockstep, model = await start(dut)
    for share in (1.0, 0.5):
        for _ in range(300):
            if random.random() < 0.2:
                model.queue.extend(piece(model.ports))
            for _ in range(random.randrange(10)):
                inputs, shown = model.step(
                    random.random() < share, some(model.ports, share), share, offer=0.5, close=some(model.ports, share)
                )
                await lockstep.step(inputs, shown)
        await run(lockstep, model, share)
    assert model.seen["accepted"] > 50, model.seen


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def passes_a_symbol_in_every_cycle(dut):
    """H3: with the outputs free a stream moves without a pause."""
    lockstep, model = await start(dut)
    model.targets = {1}
    model.queue.extend(Entry(symbol) for symbol in packet(random.randbytes(100)))
    length = len(model.queue)
    await run(lockstep, model, 1.0, length + 1)
    assert lockstep.cycles == length


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_reset_of_one_cycle_ends_whatever_is_under_way(dut):
    """docs/hub.md, "Reset hub": afterwards the head is as after the first reset."""
    lockstep, model = await start(dut)
    for _ in range(300):
        for _ in range(4):
            model.queue.extend(
                own(random.choice([*CLOSE_ONE, *CLOSE_MINE, Op.OPEN]), random.randrange(8))
                if random.random() < 0.7
                else piece(model.ports)
            )
        for _ in range(random.randrange(1, 10)):
            await lockstep.step(*model.step(True, some(model.ports, 0.9), 0.7, halt=0.05, expired=0.05))
        await lockstep.reset()
        model = Model(*CONFIGURATIONS[inside()])
        await lockstep.step(*model.step(False, set(), 0))
    for _ in range(10):
        model.queue.extend(piece(model.ports))
    await run(lockstep, model, 0.9)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def counts_one_error_a_run_of_dropped_symbols(dut):
    """docs/hub.md: a run ends with a symbol passed on, a command for this HUB or a close all; dropping that is no
    error."""
    lockstep, model = await start(dut)
    closing, data, nop = close_all(), [Entry(0x11), Entry(0x22)], own(Op.STATUS_ERRORS, 0)
    foreign = [Entry(symbol, lead=n == 0) for n, symbol in enumerate(command(Op.OPEN, 0x99, 1))]
    for stream, errors in (
        (closing, 0),
        (data, 1),
        (data + closing + data, 2),
        (nop + data + nop + data, 2),
        (nop + foreign + data + foreign, 1),
        (closing + closing + foreign + closing, 1),
    ):
        model.queue.extend(closing + stream)
        before = model.seen.get("run", 0)
        await run(lockstep, model, 1.0)
        assert model.seen.get("run", 0) - before == errors


bench = Bench(
    __name__,
    {name: lambda parameters=parameters: Head(*parameters) for name, parameters in CONFIGURATIONS.items()},
    ports_only=True,
)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("port 9 of 16", "port 0 of 2")))
def test_head(configuration, claim):
    bench.check(configuration, claim)
