"""Cycles of a command, a reply and a supervisor command in an unloaded HUB: docs/hub.md, "Cycles of a command" and
"Turns and timing"."""

import pytest

from nectar.hdl.hub.commands import FORCE, Op
from nectar.hdl.hub.profile import MODERN, PROTOTYPE
from nectar.hdl.link.symbol import ANY_HUB, Control, command, packet
from nectar.verification.pictures.scope import HUB_ID, centre, crosses, leaves, owner, ready_bit, record

#: Of the table: when a command is handed to the controller, behind its last byte at the pins.
HANDED = {PROTOTYPE: 5, MODERN: 2}
#: From the handing on to the check, the pick, the decision, the entry, and so on: the same in both profiles.
DECIDED, STANDS, HELD, FREE, RESPONSE, REPLIED = 3, 4, 5, 7, 8, 11
#: Behind the handing on a supervisor command is handed over.
OVER = 5

#: The last byte of the command that is measured is at the pins in this cycle. What it needs is done before.
AT = 60


def stream(*parts):
    """Symbols of (cycle of the last symbol, symbols) as they arrive."""
    return {last - len(symbols) + 1 + n: symbol for last, symbols in parts for n, symbol in enumerate(symbols)}


def play(profile, streams, **probes):
    """{name: values from cycle AT on} of what is looked at."""
    return {name: values[AT:] for name, values in record(streams, probes, AT + 60, profile).items()}


def op(code, param):
    return command(code, HUB_ID, param)


@pytest.fixture(params=[PROTOTYPE, MODERN], ids=lambda profile: profile.name)
def profile(request):
    return request.param


def test_open(profile):
    """Handed on, decided, in the table, symbols pass, response, reply."""
    seen = play(
        profile,
        {0: stream((AT, op(Op.OPEN_RETRY_REPLY, 1)), (AT + 3, packet([7])))},
        request=centre("request_valid", 0),
        resume=centre("resume", 0),
        opened=centre("opened", 0),
        owner=owner(1),
        crosses=crosses(1),
        response=centre("response_valid", 0),
        reply=leaves(0),
    )
    handed = HANDED[profile]
    assert seen["request"].index(1) == handed
    assert seen["resume"].index(1) == seen["opened"].index(1) == handed + DECIDED
    assert seen["owner"].index(0) == seen["crosses"].index(Control.START) == handed + STANDS
    assert seen["response"].index(1) == handed + RESPONSE
    assert seen["reply"].index(Control.REPLY) == handed + REPLIED


def test_close(profile):
    """A command that closes acts in the cycle after it is looked at."""
    seen = play(
        profile,
        {0: stream((10, op(Op.OPEN, 1)), (AT, op(Op.CLOSE_REPLY, 1)))},
        closes=centre("close_one", 0),
        owner=owner(1),
        reply=leaves(0),
    )
    end = HANDED[profile] + 1
    assert seen["closes"].index(1) == end and seen["owner"].index(None) == end + 2
    assert seen["reply"].index(Control.REPLY) == end + 3


@pytest.mark.parametrize(
    "taken, ends, wants", [(Op.OPEN, Op.CLOSE, Op.OPEN_RETRY), (Op.LOCK, Op.UNLOCK, Op.LOCK_RETRY)]
)
def test_what_ends_is_free_to_others(profile, taken, ends, wants):
    """Whoever waits for a connection or a lock that ends in cycle e is granted it in e + 5."""
    seen = play(
        profile,
        {0: stream((30, op(wants, 1))), 2: stream((10, op(taken, 1)), (AT, op(ends, 1)))},
        resume=centre("resume", 0),
    )
    end = HANDED[profile] + (1 if ends == Op.CLOSE else HELD)
    assert seen["resume"].index(1) == end + 5


def test_lock(profile):
    locks = play(profile, {0: stream((AT, op(Op.LOCK, 1)))}, held=centre("holding", 0))
    unlocks = play(profile, {0: stream((10, op(Op.LOCK, 1)), (AT, op(Op.UNLOCK, 1)))}, held=centre("holding", 0))
    assert locks["held"].index(1) == HANDED[profile] + HELD
    assert unlocks["held"].index(0) == HANDED[profile] + FREE


def test_flow_control(profile):
    """Raise and lower reach the output side in the cycle after the response: a cycle later the bit shows it."""
    seen = play(
        profile,
        {0: stream((10, op(Op.OPEN, 1)), (AT, op(Op.LOWER_READY, 1)))},
        response=centre("response_valid", 0),
        clears=centre("ready_clear", 1),
        bit=ready_bit(1),
    )
    response = HANDED[profile] + RESPONSE
    assert seen["response"].index(1) == seen["clears"].index(1) == response
    assert seen["bit"].index(0) == response + 2


def test_flush(profile):
    """The queue is empty at once; the command itself comes through the queue."""
    seen = play(
        profile,
        {0: stream((AT, op(Op.FLUSH_REPLY, 1)))},
        ready=leaves(0),
        request=centre("request_valid", 0),
    )
    assert seen["ready"].index(Control.READY) == 5
    assert seen["request"].index(1) == (5 if profile is PROTOTYPE else 7)


def test_supervisor_command(profile):
    """Handed over in cycle s: state in s + 4, effects at the ports in s + 5, response in s + 11. The next supervisor
    command begins in s + 9."""
    seen = play(
        profile,
        {0: stream((10, op(Op.OPEN, 1)), (AT, op(Op.ENABLE_REPLY, 1))), 2: stream((AT, op(Op.DISABLE_REPLY, 1)))},
        enabled=centre("enabled", 1),
        empties=centre("reset_queue", 1),
        ended=centre("ended", 1),
        response=centre("response_valid", 2),
        second=centre("response_valid", 0),
    )
    over = HANDED[profile] + OVER
    assert seen["enabled"].index(0) == seen["empties"].index(1) == over + 4
    assert seen["ended"].index(1) == over + 5
    assert seen["response"].index(1) == over + 11 and seen["second"].index(1) == over + 9 + 11


def test_forced_connection(profile):
    """It stands in s + 10; the connection before is gone four cycles earlier."""
    seen = play(
        profile,
        {0: stream((AT, op(Op.FORCE_CONNECTION_REPLY, FORCE | 1))), 2: stream((10, op(Op.OPEN, 1)))},
        owner=owner(1),
        response=centre("response_valid", 0),
    )
    over = HANDED[profile] + OVER
    assert seen["owner"][0] == 2 and seen["owner"].index(None) == over + 6 and seen["owner"].index(0) == over + 10
    assert seen["response"].index(1) == over + 11


def test_what_waits_behind_a_supervisor_command(profile):
    """An open that waits while a connection to its output is forced finds the new connection, and goes on waiting; the
    open of another output is decided in s + 13 at the earliest."""
    seen = play(
        profile,
        {
            0: stream((AT, op(Op.FORCE_CONNECTION_REPLY, FORCE | 1))),
            2: stream((20, op(Op.OPEN_RETRY, 1))),
            3: stream((10, op(Op.OPEN, 1)), (AT + 6, op(Op.OPEN, 2))),
        },
        owner=owner(1),
        waits=centre("resume", 2),
        other=centre("resume", 3),
    )
    over = HANDED[profile] + OVER
    assert seen["owner"][over + 10 :] == [0] * (60 - over - 10)
    assert 1 not in seen["waits"] and seen["other"].index(1) == over + 13


def test_packets_of_two_inputs(profile):
    """The close all of one closes in cycle e; the other is granted the output in e + 3, and its packet's start is at
    the pins in e + 6 or e + 5."""
    seen = play(
        profile,
        {
            0: stream((AT + 10, op(Op.OPEN_RETRY, 1) + packet([1, 1]) + command(Op.CLOSE_ALL, ANY_HUB, 0))),
            2: stream((AT + 14, op(Op.OPEN_RETRY, 1) + packet([2, 2]))),
        },
        left=leaves(1),
        resume=centre("resume", 2),
    )
    closes = seen["left"].index(Control.COMMAND) + 3
    assert seen["left"][closes] == 0 and seen["resume"].index(1) == closes + 3
    assert seen["left"].index(Control.START, closes) == closes + {PROTOTYPE: 6, MODERN: 5}[profile]


def test_command_behind_a_close_all(profile):
    """The next command that waits in the queue is handed to the controller in e + 2."""
    close_all = command(Op.CLOSE_ALL, ANY_HUB, 0)
    # What comes before it waits behind the lock of another port, so that it all stands in the queue.
    seen = play(
        profile,
        {
            0: stream((AT, op(Op.OPEN_RETRY, 1) + packet([1]) + close_all + op(Op.OPEN, 2) + packet([2]))),
            2: stream((10, op(Op.LOCK, 1)), (AT, op(Op.UNLOCK, 1))),
        },
        left=leaves(1),
        request=centre("request_valid", 0),
        start=leaves(2),
    )
    closes = seen["left"].index(Control.COMMAND) + 3
    asked = seen["request"].index(1, HANDED[profile])
    assert asked == closes + 2
    assert seen["start"].index(Control.START) == asked + STANDS + {PROTOTYPE: 2, MODERN: 1}[profile]


@pytest.mark.parametrize("answer", [Op.OPEN_RETRY_REPLY, Op.CLOSE_ALL_REPLY])
def test_reply_on_its_way_back(profile, answer):
    seen = play(
        profile,
        {0: stream((10, op(Op.OPEN, 1))), 1: stream((AT, [Control.REPLY, answer, HUB_ID + 1, 8]))},
        back=leaves(0),
        owner=owner(1),
    )
    assert seen["back"].index(Control.REPLY) == 10
    if answer == Op.CLOSE_ALL_REPLY:
        assert seen["owner"].index(None) == 5 + 2
    else:
        assert set(seen["owner"]) == {0}


def test_close_all(profile):
    """The connection ends in the cycle in which the last symbol is at the pins, and is gone two cycles later."""
    seen = play(
        profile,
        {0: stream((10, op(Op.OPEN, 1)), (AT, command(Op.CLOSE_ALL, ANY_HUB, 0)))},
        left=leaves(1),
        owner=owner(1),
    )
    last = seen["left"].index(Control.COMMAND) + 3
    assert seen["owner"].index(None) == last + 2
    assert seen["left"][last] == 0
