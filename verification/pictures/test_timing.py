"""Timing diagrams: what they measure is what the specification says, and what is drawn is what was recorded."""

import functools
import re

import pytest

from nectar.hdl.hub.commands import Op
from nectar.hdl.hub.profile import MODERN, PROTOTYPE
from nectar.hdl.link.symbol import Control, command
from nectar.verification.pictures import hub_timing
from nectar.verification.pictures.scope import HUB_ID, arrives, leaves, owner, ready_bit, record, registered
from nectar.verification.pictures.timing import Bits, Measure, Symbols, draw, frames


def measured(picture):
    """{what: cycles} of the arrows in a picture."""
    return {what: int(count) for what, count in re.findall(r">([^<]*): (\d+) cycles?<", picture.svg())}


@pytest.mark.parametrize(
    "profile, transfer, set_up",
    [(PROTOTYPE, 5, 10), (MODERN, 3, 6)],
    ids=["prototype", "modern"],
)
def test_latencies_are_those_of_the_profile(profile, transfer, set_up):
    """H2, H3; docs/hub.md, "Timing"."""
    assert (profile.transfer, profile.setup_and_transfer) == (transfer, set_up)
    assert measured(hub_timing.transfer(profile)) == {"transfer": transfer}
    assert measured(hub_timing.set_up(profile)) == {"set-up and transfer": set_up}


@pytest.mark.parametrize(
    "make, found",
    [
        # docs/hub.md: a connection that closes in cycle e is gone from the table in e + 2. Behind a close all another
        # may be granted by a decision in e + 3, and stands in the next cycle. The reply leaves seven cycles later.
        (hub_timing.retry, {"free until granted": 2, "granted until replied": 7}),
        (functools.partial(hub_timing.retry, MODERN), {"free until granted": 2, "granted until replied": 7}),
        (hub_timing.close_all, {"last symbol until closed": 2}),
        (hub_timing.reply, {"the reply's way through the HUB": 13}),
        (hub_timing.flow_control, {"start until the bit is 0": 1, "ready signal until the next start": 8}),
    ],
)
def test_other_distances(make, found):
    """H9, H12, H13, H15."""
    assert measured(make()) == found


def test_a_fresh_hub_is_recorded_each_time():
    """A connection of one recording is not there in the next."""
    opened = dict(enumerate(command(Op.OPEN_RETRY, HUB_ID, 1)))
    probes = {"in": arrives(0), "register": registered(0), "out": leaves(1), "owner": owner(1), "ready": ready_bit(1)}
    first = record({0: opened}, probes, 20)
    assert first["in"][:5] == [*opened.values(), None] and first["register"][:5] == [None, *opened.values()]
    assert first["owner"][-1] == 0 and first["out"] == [None] * 20 and first["ready"] == [1] * 20
    assert record({}, probes, 20)["owner"] == [None] * 20


def test_frames_are_found_among_other_symbols():
    opened, reply = command(Op.OPEN, 1, 2), [Control.REPLY, Op.OPEN_REPLY, 1, 2]
    assert frames([None, *opened[:2], Control.READY, None, *opened[2:], 7]) == [(1, 6, opened)]
    assert frames([*opened[:3], Control.START, 5]) == []
    assert frames([*opened[:2], *reply]) == [(2, 5, reply)]


def test_cycles_in_which_nothing_changes_are_left_out():
    seen = [7] + [None] * 20 + [8, None]
    picture = draw("x", "title", "text", [Symbols("pin", "", seen)], [Measure(0, 21, "apart")], 0, 0, 22)
    numbers = [int(text) for text in re.findall(r">(\d+)<", picture.svg()) if len(text) < 3]
    assert numbers[:5] == [0, 1, 20, 21, 22] and measured(picture) == {"apart": 21}
    assert picture.svg().count(">…<") == 1


def test_a_bit_changes_at_the_beginning_of_its_cycle():
    picture = draw("x", "title", "text", [Bits("bit", "", [0, 1, 1, 0])], [], 0, 0, 3)
    path = re.search(r'd="M([^"]*)" fill="none" stroke="var\(--ink\)"', picture.svg())[1]
    x, y = zip(*(map(float, point.split()) for point in path.split("L")))
    assert [b - a for a, b in zip(x, x[1:])] == [36, 0, 72, 0, 36]
    assert y[0] == y[1] == y[4] == y[5] > y[2] == y[3]
