"""Claims about long random sequences of commands and frames, one at a time, against the model without time. Run by
``test_hub.py``."""

import random

import cocotb

from nectar.hdl.hub.commands import BY_OPCODE, COMMANDS, FORCE, HELLO, HELLO_ASK, Op
from nectar.hdl.hub.monitor_map import Select
from nectar.hdl.link.symbol import ANY_HUB, COMMAND_LENGTH, CONTROL_BIT, Control, command, packet, reply

from ..streams import CODES
from ..testbench import CLOSE_ALL, HUB, claim
from ..traffic import neighbour_hub

#: Port that is never disabled, looped or kept from giving supervisor commands, so that there is always one.
MANAGER = 0
_RESERVED = [code for code in range(CONTROL_BIT, 2 * CONTROL_BIT) if code not in CODES]
_UNKNOWN = [op for op in range(256) if op not in BY_OPCODE]
_AGAINST = {Op.DISABLE_REPLY, Op.LOOP_BACK_REPLY, Op.ALLOW_SUPERVISOR_REPLY}
#: Given often, since the others need what they leave behind.
_OFTEN = [
    Op.OPEN,
    Op.OPEN_REPLY,
    Op.TEST_OPEN_REPLY,
    Op.LOCK_REPLY,
    Op.ENABLE_REPLY,
    Op.CLOSE_ALL,
    Op.OPEN_RETRY_REPLY,
    Op.FLUSH_REPLY,
]


def parameter(row, ports, model):
    """A parameter, mostly of a port; never one that leaves the HUB without a manager, nor one that the model does
    not know."""
    while True:
        param = random.choice(
            [random.randrange(ports)] * 5 + [random.randrange(ports) | FORCE] * 2 + [random.randrange(256)]
        )
        port = param & ~FORCE
        if row.op in _AGAINST and port == MANAGER:
            continue
        if row.op == Op.LOOP_BACK_REPLY and param & FORCE and any(model.looped):
            continue  # two of them connected with each other would send data in a ring
        if row.op == Op.WATCHDOG_TIME_REPLY and 4 <= param < 18:
            continue
        if row.op == Op.MONITOR_CLEAR_REPLY and param >= 128:
            continue
        if row.op == Op.MONITOR_READ_REPLY and (model.selected != Select.FLAGS or param >= ports):
            param = 0x7F if model.selected < ports else random.randrange(ports)
        if row.op == Op.MONITOR_SELECT_REPLY and param in (Select.EVENTS, Select.IDENTITY):
            param = Select.FLAGS
        return param


def order(port, ports, model):
    """A command that does not make two wait at once, whose order the model would not know."""
    while True:
        row = BY_OPCODE[random.choice(_OFTEN)] if random.random() < 0.3 else random.choice(COMMANDS)
        if row.op == Op.RESET_HUB and random.random() < 0.8 or row.waits and model.blocked:
            continue
        param = parameter(row, ports, model)
        if row.op == Op.STATUS_QUEUE and param in model.blocked:
            continue
        return command(row.op, HUB, param)


def frame(port, ports, model):
    """What arrives next at ``port``."""
    frames = [lambda: order(port, ports, model)] * 20 + [
        lambda: packet(random.randbytes(random.randrange(5))),
        lambda: CLOSE_ALL,
        lambda: command(random.choice([row.op for row in COMMANDS]), neighbour_hub(port), random.randrange(256)),
        lambda: command(
            random.choice([Op.ECHO_REPLY, Op.IDENTITY_REPLY, Op.SIZE_REPLY, Op.OPEN, 0x50]),
            ANY_HUB,
            random.randrange(256),
        ),
        lambda: command(random.choice(_UNKNOWN), HUB, random.randrange(256)),
        lambda: reply(
            random.choice([0x15, 0x15, 0x33, 0x71]),
            neighbour_hub(port),
            random.randrange(256),
            done=random.random() < 0.8,
        ),
        lambda: [
            int(Control.REPLY),
            random.choice([HELLO, HELLO_ASK]),
            neighbour_hub(port),
            random.choice([0, 0x80 | port]),
        ],
        lambda: [*command(Op.OPEN, HUB, 1)[: random.randrange(1, 4)], int(Control.END)],
        lambda: [*reply(1, 2, 3)[: random.randrange(1, 4)], int(Control.END)],
        lambda: [random.choice(_RESERVED)],
        lambda: [int(Control.READY)],
        lambda: [*random.randbytes(2)],
    ]
    return random.choice(frames)()


async def sequence(tb, steps):
    """``steps`` frames at random ports, each with all that follows from it; returns the opcodes obeyed."""
    met = set()
    model = await tb.agrees()
    for _ in range(steps):
        port = MANAGER if random.random() < 0.2 else random.randrange(tb.ports)
        if port in model.blocked and random.random() < 0.7:
            port = MANAGER
        if port in model.blocked:
            stream = command(Op.FLUSH_REPLY, HUB, random.randrange(256))
        else:
            stream = frame(port, tb.ports, model)
        if stream[0] == Control.COMMAND and len(stream) == 4 and stream[2] == HUB:
            met.add(stream[1])
        tb.send(port, stream)
        model = await tb.agrees()
    return met


async def _ask(tb, orders):
    """Gives all ``orders`` (op, param), as many at once as fit into an input queue."""
    most = tb.room // COMMAND_LENGTH
    for first in range(0, len(orders), most):
        for op, param in orders[first : first + most]:
            tb.order(MANAGER, op, param)
        await tb.agrees()


async def compare_tables(tb, model):
    """Reads all that the HUB tells about itself and compares it with ``model``."""
    told = (
        Op.STATUS_OUTPUT,
        Op.STATUS_ERRORS,
        Op.STATUS_INPUT,
        Op.STATUS_LOCK,
        Op.STATUS_READY,
        Op.STATUS_KIND,
        Op.STATUS_NEIGHBOUR,
    )
    await _ask(tb, [(op, port) for port in range(tb.ports) for op in told])
    await _ask(tb, [(Op.MONITOR_SELECT_REPLY, Select.FLAGS)])
    await _ask(tb, [(Op.MONITOR_READ_REPLY, port) for port in range(tb.ports)])
    counting = range(tb.ports) if tb.has("monitor") else ()
    for port in random.sample(counting, min(3, len(counting))):
        due = dict(enumerate(model.counters[port]))
        for counter, shown in (await tb.counters(port, MANAGER)).items():
            assert 1 <= shown <= due[counter], f"{counter!r} of port {port}: {shown} of {due[counter]}"
            due[counter] = 0 if shown == due[counter] or counter > 1 else due[counter]
        assert not any(due.values()), f"port {port}: not shown: {due}"
    await tb.agrees()


@claim(timeout_ms=100)
async def a_random_sequence_of_everything_does_what_the_model_does(tb):
    """H7 to H13, H15, H19: commands good and wrong, packets, replies, hellos, fragments, at ports in any state; then
    every table is read."""
    met = set()
    for _ in range(2):
        met |= await sequence(tb, 150)
        await compare_tables(tb, await tb.agrees())
    cocotb.log.info("%d of the 52 commands were given", len(met & set(BY_OPCODE)))
    assert len(met & set(BY_OPCODE)) > 30
    tb.order(MANAGER, Op.RESET_HUB, 0)
    await tb.agrees()
    await tb.finish(judged=False)
