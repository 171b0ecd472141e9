"""Bench of hdl/hub/port/input_port.py: the way of a symbol through a port, what is counted, and what is thrown away.

What a head has to do with what arrives is told by streams.py, which takes the symbols apart as docs/wire.md says.
"""

import random

import cocotb
import pytest

from nectar.hdl.hub.commands import Error, Op
from nectar.hdl.hub.monitor_map import CounterId
from nectar.hdl.hub.port.input_port import InputPort
from nectar.hdl.hub.port.reply_buffer import ARRIVED_ROOM
from nectar.hdl.link.symbol import ANY_HUB, COMMAND_LENGTH, Control, command, packet, reply
from nectar.verification.bench import Bench, inside
from nectar.verification.hub.port.surroundings import (
    CAPACITY,
    HUB,
    MAX_ERRORS,
    PORT,
    PORTS,
    RESERVED,
    Surroundings,
    soup,
)
from nectar.verification.hub.streams import Order, Pass, actions, arrivals

BYPASS = {"with bypass": True, "without bypass": False}
#: Symbols between the queue and the head.
WAITING = {"with bypass": 5, "without bypass": 0}


async def start(dut):
    surroundings = Surroundings(dut)
    await surroundings.lockstep.start()
    return surroundings


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def does_with_every_symbol_what_the_wire_demands(dut):
    """H8, H11, H12, H16: what passes, what is asked of the controller, what is answered, in order; nothing else."""
    seen = 0
    for share, pause, length in ((1.0, 0.7, 1500), (0.7, 0.75, 1500), (1.0, 0.9, 500)):
        surroundings = await start(dut)
        symbols = soup(length)
        heard = []
        for symbol in symbols:
            while random.random() < pause:
                await surroundings.cycle(space=random.random() < share)
            heard.append((surroundings.lockstep.cycles, symbol))
            await surroundings.cycle(symbol, space=random.random() < share)
        await surroundings.settle()
        found = arrivals(heard)
        todo = actions(found.queue, HUB)
        passes = [action for action in todo if isinstance(action, Pass)]
        assert [symbol for symbol, _ in surroundings.moved] == [action.symbol for action in passes]
        orders = [action for action in todo if isinstance(action, Order)]
        assert [(op, param) for op, param, _ in surroundings.requests] == [(order.op, order.param) for order in orders]
        assert surroundings.replies == [bytes(content) for content, _ in found.replies]
        answers = [(r >> 16 & 0xFF, r >> 8 & 0xFF, r & 0xFF) for r in surroundings.answers]
        assert answers == [
            (order.op, HUB, value) for order, value in zip(orders, surroundings.given, strict=True) if order.op & 1
        ]
        assert surroundings.heard == len(found.readies)
        starts = sum(action.symbol == Control.START for action in passes)
        assert surroundings.readies == surroundings.counted[CounterId.PACKETS] == starts
        faults = len(found.errors) + sum(not isinstance(action, (Pass, Order)) for action in todo)
        assert surroundings.errors == min(MAX_ERRORS, faults)
        assert surroundings.counted_errors == faults
        seen += faults
    assert seen > 200, "there were few errors to count"


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def obeys_what_bears_its_id(dut):
    """H8, docs/wire.md: all eight bits of the ID count, in a command and in the answer to it; a command with another ID
    passes on, also if a reply that contains the HUB's ID stands inside the command."""
    surroundings = await start(dut)
    for _ in range(60):
        surroundings.hub = random.randrange(255)
        other = random.choice([hub for hub in (surroundings.hub ^ 1 << bit for bit in range(8)) if hub != ANY_HUB])
        param = random.randrange(256)
        surroundings.error = random.choice((0, Error.BUSY))
        own, passed = command(Op.OPEN_RETRY_REPLY, surroundings.hub, param), command(Op.OPEN, other, param)
        between = random.choice([[], reply(param, surroundings.hub, surroundings.hub)])
        await surroundings.send([*own, *passed[:2], *between, *passed[2:]])
        await surroundings.settle()
        assert surroundings.requests.pop()[:2] == (Op.OPEN_RETRY_REPLY, param) and not surroundings.requests
        answer = Op.OPEN_RETRY_REPLY & ~1 | (not surroundings.error)
        assert surroundings.answers.pop() == answer << 16 | surroundings.hub << 8 | surroundings.given[-1]
        assert [symbol for symbol, _ in surroundings.moved] == passed
        surroundings.moved.clear()


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_symbol_takes_two_cycles_or_one(dut):
    """H3, docs/hub.md, Timing: the port's share of the cycles: queue write and queue read; or the bypass."""
    surroundings = await start(dut)
    latency = 2 if BYPASS[inside()] else 3
    came = []
    for symbol in packet(random.randbytes(50)):
        if random.random() < 0.3:
            await surroundings.cycle()
        came.append((symbol, surroundings.lockstep.cycles + latency))
        await surroundings.cycle(symbol)
    await surroundings.settle()
    assert surroundings.moved == came


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_command_takes_four_cycles_or_one(dut):
    """H2, docs/hub.md, Timing: from the input register to the request register, and what follows it waits."""
    surroundings = await start(dut)
    latency = 2 if BYPASS[inside()] else 5
    for op in (Op.OPEN_RETRY, Op.STATUS_ERRORS, Op.ECHO_REPLY, 0x7E):
        await surroundings.send(command(op, HUB, 1))
        at = surroundings.lockstep.cycles - 1
        await surroundings.send(packet(b"abc"))
        await surroundings.settle()
        assert surroundings.requests[-1] == (op, 1, at + latency)
        assert surroundings.moved[0] == (Control.START, at + latency + 4)
        assert [cycle for _, cycle in surroundings.moved] == list(range(at + latency + 4, at + latency + 9))
        surroundings.moved.clear()


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def counts_every_error_once(dut):
    """docs/hub.md, Errors: each kind, also several with one symbol; the sum stops at 255."""
    surroundings = await start(dut)

    async def errors_of(*symbols, **more):
        before, counted = surroundings.errors, surroundings.counted_errors
        await surroundings.send(symbols, **more)
        await surroundings.settle()
        assert surroundings.errors - before == min(surroundings.counted_errors - counted, MAX_ERRORS - before)
        return surroundings.errors - before

    assert await errors_of(Control.IDLE, Control.READY, *packet(b"abc"), *command(Op.OPEN, HUB, 1)) == 0
    assert await errors_of(RESERVED) == 1
    assert await errors_of(Control.COMMAND, Op.OPEN, *packet(b"")) == 1
    assert await errors_of(Control.REPLY, 1, *packet(b"")) == 1
    assert await errors_of(Control.COMMAND, Op.OPEN, Control.REPLY, 1, *packet(b"")) == 2
    assert await errors_of(Control.REPLY, 1, RESERVED) == 2
    assert await errors_of(*command(Op.CLOSE, HUB, PORT)) == 1
    assert await errors_of(*command(Op.CLOSE, HUB, PORTS)) == 1
    assert await errors_of(*command(Op.CLOSE, HUB, 0)) == 0
    assert await errors_of(*command(Op.CLOSE, HUB, 0), *[None] * 8, control__mine=0) == 1
    for error in Error:
        surroundings.error = error
        counts = error not in (Error.BUSY, Error.NOT_READY, Error.LOCKED, Error.GIVEN_UP)
        assert await errors_of(*command(Op.OPEN, HUB, 1)) == counts
    surroundings.error = 0
    surroundings.connected = False
    assert await errors_of(0x55, 0x66) == 1
    surroundings.connected = True
    assert await errors_of(None, reply_lost=True) == 1
    assert await errors_of(None, no_route=True) == 1
    assert await errors_of(None, expired=True) == 1
    assert (
        await errors_of(
            Control.START, Control.COMMAND, Control.REPLY, Control.READY, Control.END, 0x55, RESERVED, enabled=0
        )
        == 3
    )
    assert await errors_of(*[symbol for n in range(ARRIVED_ROOM + 3) for symbol in reply(1, 2, n)], take=False) == 3
    room = CAPACITY + WAITING[inside()]
    await surroundings.send([0x55] * (room - 4), space=False)
    assert await errors_of(Control.COMMAND, Op.OPEN, Control.REPLY, 1, Control.START, *[0x55] * 3, space=False) == 2
    # A command without room, and a start that cuts it and a reply and finds no room.
    await surroundings.send([0x55] * room, space=False)
    assert (
        await errors_of(Control.COMMAND, Op.OPEN, Control.REPLY, 1, Control.START, None, None, None, space=False)
        == 2 + 3
    )
    # The same, and around that cycle a run of symbols begins that nobody listens to.
    stream = [Control.COMMAND, Op.OPEN, Control.REPLY, 1, Control.START, None, None, None, None]
    for begin in range(3, len(stream)):
        await surroundings.send([0x55])  # is passed on, which ends the run before
        await surroundings.settle()
        await surroundings.send([0x55] * room, space=False)
        before, counted = surroundings.errors, surroundings.counted_errors
        await surroundings.send(stream[:begin], space=False)
        surroundings.connected = False
        await surroundings.send(stream[begin:])
        await surroundings.settle()
        surroundings.connected = True
        assert surroundings.errors - before == surroundings.counted_errors - counted >= 3
    for expected in [*range(surroundings.errors + 2, MAX_ERRORS + 1, 2), MAX_ERRORS, MAX_ERRORS]:
        await errors_of(Control.REPLY, RESERVED)
        assert surroundings.errors == expected


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_port_that_is_enabled_takes_what_follows_as_it_comes(dut):
    """docs/hub.md, "Ports and parameters": of a frame whose control code was refused in the last cycle in which the
    port was disabled, the rest is symbols."""
    surroundings = await start(dut)
    for code in (Control.START, Control.COMMAND, Control.REPLY):
        errors, moved = surroundings.errors, len(surroundings.moved)
        await surroundings.cycle(code, enabled=0)
        await surroundings.send([1, 2, 3, 4])
        await surroundings.settle()
        assert [symbol for symbol, _ in surroundings.moved[moved:]] == [1, 2, 3, 4], code
        assert surroundings.errors == errors + 1 and not surroundings.replies and not surroundings.requests


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def drops_what_finds_the_queue_full(dut):
    """H14, docs/hub.md: the queue's room, the places in front of it, and nothing of a command for which there is no
    room."""
    surroundings = await start(dut)
    room = CAPACITY + WAITING[inside()]
    for _ in range(3):
        before = surroundings.counted[CounterId.OVERRUN]
        await surroundings.send([n & 0xFF for n in range(room - 3)], space=False)
        await surroundings.send(command(Op.OPEN, 0x99, 1), space=False)
        await surroundings.send([0x66] * 10, space=False)
        assert surroundings.counted[CounterId.OVERRUN] - before in (10, 11) and surroundings.moved == []
        await surroundings.settle()
        assert [symbol for symbol, _ in surroundings.moved] == [*(n & 0xFF for n in range(room - 3)), 0x66, 0x66, 0x66]
        surroundings.moved.clear()


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_flush_overtakes_all_that_waits(dut):
    """H21, docs/hub.md, "Flush": it throws away what is before it, ends what waits, sends one ready, is answered,
    and what follows it passes."""
    for waiting in (
        [],
        packet(b"abc"),
        packet(bytes(30)),
        [*command(Op.OPEN_RETRY, HUB, 1), *packet(b"abc")],
        [*command(Op.CLOSE_ALL, 0xFF, 0)],
        [*command(Op.OPEN_RETRY, HUB, 1), *command(Op.OPEN_RETRY, HUB, 3)],
    ):
        for pause in range(8):
            surroundings = await start(dut)
            await surroundings.send(waiting, space=False, respond=False)
            await surroundings.send([None] * pause, space=False, respond=False)
            await surroundings.send(command(Op.FLUSH_REPLY, HUB, 0x5A), space=False, respond=False)
            await surroundings.send([0x11, *command(Op.OPEN, 0x99, 1), 0x22], space=False, respond=False)
            await surroundings.send([None] * 8, space=False, respond=False)
            gives_up = surroundings.lockstep.pin("control__give_up")
            assert gives_up == (Op.OPEN_RETRY in waiting)
            await surroundings.settle()
            assert [op for op, *_ in surroundings.requests] == [op for op in waiting[1:2] if gives_up] + [
                Op.FLUSH_REPLY
            ]
            assert surroundings.answers == [Op.FLUSH_REPLY << 16 | HUB << 8 | surroundings.given[-1]]
            assert [symbol for symbol, _ in surroundings.moved] == [0x11, *command(Op.OPEN, 0x99, 1), 0x22]
            assert (
                surroundings.readies == surroundings.counted[CounterId.FLUSHED] == 1
                and surroundings.counted_errors == 0
            )


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_flush_needs_no_room(dut):
    """H21, docs/hub.md, "Flush": in a full queue it acts like in any other; its symbols are counted like all that
    found no room."""
    for spare in range(6):
        surroundings = await start(dut)
        await surroundings.send([0x55] * (CAPACITY + WAITING[inside()] - spare), space=False)
        await surroundings.send(command(Op.FLUSH_REPLY, HUB, 0x5A), space=False)
        await surroundings.send([0x11, *command(Op.OPEN, 0x99, 1), 0x22], space=False)
        await surroundings.settle()
        assert [(op, param) for op, param, _ in surroundings.requests] == [(Op.FLUSH_REPLY, 0x5A)]
        assert surroundings.answers == [Op.FLUSH_REPLY << 16 | HUB << 8 | surroundings.given[-1]]
        assert [symbol for symbol, _ in surroundings.moved] == [0x11, *command(Op.OPEN, 0x99, 1), 0x22]
        assert surroundings.readies == surroundings.counted[CounterId.FLUSHED] == 1
        assert surroundings.counted_errors == surroundings.counted[CounterId.OVERRUN] == (0 if spare >= 4 else 4)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_reset_empties_the_queue_at_any_time(dut):
    """H21, docs/hub.md, "Reset queue": whatever arrives, stands or waits; one ready each; afterwards the port works
    as if new."""
    surroundings = await start(dut)
    for _ in range(150):
        share = random.random()
        for symbol in soup(random.randrange(40)):
            await surroundings.cycle(symbol, space=random.random() < share, respond=random.random() < share)
        await surroundings.cycle(Control.END, space=False)
        flushed, readies, packets = (
            surroundings.counted[CounterId.FLUSHED],
            surroundings.readies,
            surroundings.counted[CounterId.PACKETS],
        )
        await surroundings.cycle(space=False, reset_queue=1)
        await surroundings.send([None] * 20, space=False)
        assert surroundings.counted[CounterId.FLUSHED] == flushed + 1
        assert surroundings.readies == readies + 1 + surroundings.counted[CounterId.PACKETS] - packets
        surroundings.moved.clear()
        await surroundings.settle()
        moved = [symbol for symbol, _ in surroundings.moved]
        assert moved in ([], [Control.END]), moved
        await surroundings.settle()
        surroundings.moved.clear()
        await surroundings.send([0x11, *command(Op.OPEN, 0x99, 1), 0x22])
        await surroundings.settle()
        assert [symbol for symbol, _ in surroundings.moved] == [0x11, *command(Op.OPEN, 0x99, 1), 0x22]
        surroundings.moved.clear()


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_reset_in_the_midst_of_a_command_ends_it(dut):
    """H21, docs/hub.md, "Reset queue": what still arrives of a command that was thrown away is dropped and is no
    error; the command behind it counts again."""
    surroundings = await start(dut)
    for op, hub in ((Op.OPEN_RETRY_REPLY, HUB), (Op.OPEN, 0x99), (Op.FLUSH_REPLY, HUB), (Op.ECHO_REPLY, ANY_HUB)):
        symbols = command(op, hub, 1)
        for arrived in range(1, COMMAND_LENGTH):
            flushed = surroundings.counted[CounterId.FLUSHED]
            await surroundings.send([*symbols[:arrived], None])
            await surroundings.cycle(reset_queue=1)
            await surroundings.send(symbols[arrived:])
            await surroundings.settle()
            assert surroundings.moved == surroundings.requests == [], (op, arrived)
            assert surroundings.counted[CounterId.FLUSHED] == flushed + 1 and surroundings.errors == 0
            await surroundings.send(command(Op.OPEN, HUB, 1))
            await surroundings.settle()
            assert [request[:2] for request in surroundings.requests] == [(Op.OPEN, 1)]
            surroundings.requests.clear()


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def tells_how_much_it_holds(dut):
    """docs/hub.md, "Status queue" and Watchdog: the level, and whether there is anything, be it a part of a command."""
    surroundings = await start(dut)
    assert not surroundings.lockstep.pin("held")
    for n in range(1, CAPACITY + 1):
        await surroundings.send([0x55], space=False)
        await surroundings.send([None] * 4, space=False)
        assert surroundings.level == max(0, n - WAITING[inside()] - 1) and surroundings.lockstep.pin("held")
    await surroundings.settle()
    assert not surroundings.lockstep.pin("held") and surroundings.level == 0
    for n in range(1, 4):
        await surroundings.send([*command(Op.OPEN, HUB, 1)[:n], None, None])
        assert surroundings.lockstep.pin("held")
        await surroundings.send([None], expired=1)
        await surroundings.send([None])
        assert not surroundings.lockstep.pin("held")
        await surroundings.send([Control.END])
    await surroundings.settle()
    assert surroundings.counted[CounterId.TIMED_OUT] == surroundings.counted[CounterId.COMMAND_CUT] == 3


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def is_busy_while_a_symbol_is_inside(dut):
    """docs/hub.md, Pins: idle only if nothing but an arriving symbol can change the state."""
    surroundings = await start(dut)
    assert not surroundings.lockstep.pin("busy")
    await surroundings.cycle(0x55, space=False)
    await surroundings.cycle(space=False)
    for _ in range(20):
        await surroundings.cycle(space=False)
        assert surroundings.lockstep.pin("busy")
    await surroundings.settle(3)
    for waiting in (
        reply(1, 2, 3),
        command(Op.STATUS_ERRORS, HUB, 1),
        command(Op.OPEN_RETRY, HUB, 1),
    ):  # for the bus, for its answer's way, for the controller
        takes = {"take": False, "respond": waiting[1] == Op.STATUS_ERRORS}
        await surroundings.send([*waiting, *[None] * 3], **takes)
        for _ in range(20):
            await surroundings.cycle(**takes)
            assert surroundings.lockstep.pin("busy"), waiting
        await surroundings.settle()
    moved = len(surroundings.moved)
    await surroundings.send(command(Op.OPEN, 0x99, 1))
    while len(surroundings.moved) < moved + COMMAND_LENGTH:
        assert surroundings.lockstep.pin("busy"), "idle while a command for another HUB is in the queue"
        await surroundings.cycle()
    await surroundings.send(command(Op.OPEN, HUB, 1)[:3])
    await surroundings.settle(3)
    assert [op for op, *_ in surroundings.requests] == [Op.STATUS_ERRORS, Op.OPEN_RETRY]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def is_busy_with_each_kind_of_symbol(dut):
    """docs/hub.md, Pins and Errors: in the cycle in which a symbol is in the input register, whatever it is. Each cycle
    checks, too, that the sum of errors changes only at a busy port."""
    for enabled in (1, 0):
        surroundings = await start(dut)
        for before, symbol, errors in (
            ([], 0x55, 0),
            ([], Control.START, not enabled),
            ([], Control.END, 0),
            ([], Control.COMMAND, not enabled),
            ([Control.COMMAND], Control.END, enabled),
            ([], Control.REPLY, not enabled),
            ([], Control.REPLY, 1),
            ([Control.REPLY], Control.END, enabled),
            ([], Control.READY, 0),
            ([], RESERVED, enabled),
        ):
            await surroundings.send(before, enabled=enabled)
            if before:
                await surroundings.cycle(enabled=enabled)
            while surroundings.busy:
                await surroundings.cycle(enabled=enabled)
            counted = surroundings.errors
            await surroundings.cycle(symbol, enabled=enabled)
            await surroundings.cycle(enabled=enabled)
            heard = enabled or symbol in (Control.START, Control.COMMAND, Control.REPLY)
            assert surroundings.busy == heard, f"{symbol:#x} is in the input register"
            await surroundings.send([None] * 8, enabled=enabled)
            assert surroundings.errors == counted + errors
    for pins in ({"no_route": 1}, {"reply_lost": 1}, {"expired": 1}):
        await surroundings.cycle(**pins)
        await surroundings.settle()
    surroundings.connected = False
    await surroundings.cycle(0x55)
    await surroundings.settle()
    assert surroundings.errors == counted + errors + 4


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_quiet_response_is_not_answered(dut):
    """docs/hub.md, Errors: the refusal of a *hello ask* is left out, and the port goes on."""
    surroundings = await start(dut)
    for quiet in (1, 0):
        await surroundings.send([*command(Op.STATUS_ERRORS, HUB, 1), *packet(b"a")], control__quiet=quiet)
        await surroundings.settle(control__quiet=quiet)
        assert len(surroundings.answers) == 1 - quiet
        assert [symbol for symbol, _ in surroundings.moved] == packet(b"a")
        surroundings.moved.clear()


def test_a_bypass_is_there_or_not():
    """A bad parameter is refused."""
    with pytest.raises(TypeError, match="must be True or False, not 1"):
        InputPort(PORTS, PORT, CAPACITY, 1)


bench = Bench(
    __name__,
    {name: lambda bypass=bypass: InputPort(PORTS, PORT, CAPACITY, bypass) for name, bypass in BYPASS.items()},
    ports_only=True,
)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("without bypass",)))
def test_input_port(configuration, claim):
    bench.check(configuration, claim)
