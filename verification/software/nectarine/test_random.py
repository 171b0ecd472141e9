"""Random programs against their sequential replay: each receive must get the message that the replay says.

Between two tasks the order is kept for messages that match the same receive, so that a program whose receives name
their source, or a type that one source alone uses, has one outcome."""

from collections import defaultdict

import pytest
from hypothesis import given, strategies

from nectar.software.nectarine import ANY
from nectar.software.nectarine.inbox import selects
from nectar.software.nectarine.options import SHORT, SLOTS
from nectar.verification import seeds
from nectar.verification.properties import properties
from nectar.verification.software.helpers import FAST_RECOVERY, pattern
from nectar.verification.software.nectarine.applications import application

TASKS = 4
SIZES = [0, 1, 60, SHORT, SHORT + 1, 1005, 9000]
#: Types that a task uses, so that a type tells the source: 7 * task + 0 to 6, which a mask can select.
TYPES = 7

step = strategies.tuples(
    strategies.integers(0, TASKS - 1),  # who
    strategies.integers(0, TASKS - 1),  # with whom
    strategies.booleans(),  # sends, or receives
    strategies.integers(0, len(SIZES) - 1),
    strategies.integers(0, TYPES - 1),
    strategies.integers(0, 4),  # how
)


def replay(steps):
    """What each task does, and what its receives get, by the steps one after the other: a dict of number → list of
    ("send", to, size, type, seed, how) or ("receive", source, selector, how, wanted)."""
    doing = defaultdict(list)
    waiting = defaultdict(list)  # (from, to) -> messages that were not received
    for seed, (who, other, sends, size, type, how) in enumerate(steps):
        type += TYPES * who
        if sends:
            waiting[who, other].append((size, type, seed))
            # To itself a task can send only what needs no slot that only it could give back.
            if who == other and (len(waiting[who, who]) > SLOTS):
                waiting[who, who].pop()
            else:
                doing[who].append(("send", other, SIZES[size], type, seed, how))
        elif waiting[other, who]:
            queue = waiting[other, who]
            chosen = queue[how % len(queue)]
            selector, source = [
                (ANY, other),
                (chosen[1], other),
                (chosen[1], None),
                (-(2**31) | 1 << chosen[1], other),
                (chosen[1], other),
            ][how]
            got = next(message for message in queue if selects(selector, message[1]))
            queue.remove(got)
            doing[who].append(("receive", source, selector, how, (other, *got)))
    for (source, to), queue in waiting.items():
        for got in queue:
            doing[to].append(("receive", source, ANY, 0, (source, *got)))
    return doing


async def follow(task, steps):
    """Does what the replay says; returns what its receives got."""
    sent, receives = [], []
    for kind, *rest in steps:
        if kind == "send":
            other, size, type, seed, how = rest
            data = pattern(size, seed)
            if how % 2 and size:
                buffer = await task.buffer(size)
                buffer.write(data)
                data = buffer
            handle = await task.isend(f"t.{other}", data, type)
            if size <= SHORT and how > 2 and other != task.number:
                await handle.wait()
            else:
                sent.append(handle)
        else:
            source, selector, how, _ = rest
            source = ANY if source is None else f"t.{source}"
            if how % 2:
                receives.append(await task.receive(source=source, type=selector))
            else:
                receives.append(await task.ireceive(source=source, type=selector))
    for handle in sent:
        await handle.wait()
    return [
        (handle.source.number, handle.length, handle.type, handle.data)
        for handle in [await each.wait() for each in receives]
    ]


def check(doing, cabs=TASKS, places=None, **options):
    """Runs what a replay says on so many CABs, or on ``places``."""
    places = places or [f"CAB{number % cabs + 1}" for number in range(TASKS)]
    with application(f"hub:{cabs}", **options) as made:
        for number in range(TASKS):
            made.spawn(f"t.{number}", follow, doing[number], on=places[number])
        made.go()
        for number in range(TASKS):
            wanted = [
                (source, SIZES[size], type, pattern(SIZES[size], seed))
                for kind, *_, last in doing[number]
                if kind == "receive"
                for source, size, type, seed in [last]
            ]
            assert made.tasks[f"t.{number}"].result == wanted


@properties(max_examples=100)
@given(strategies.lists(step, max_size=60))
def test_random_programs_end_as_their_replay(steps):
    check(replay(steps))


def drawn(seed, count):
    """Steps of a long program."""
    draw = seeds.rng(f"nectarine {seed}").randrange
    return [(draw(TASKS), draw(TASKS), draw(2) == 0, draw(len(SIZES)), draw(TYPES), draw(5)) for _ in range(count)]


@pytest.mark.parametrize("fault", ["*:errors=1e-4", "*:lost-command=0.01", "CAB2:cut,at=1ms,for=4ms"])
@pytest.mark.parametrize("seed", range(3))
def test_random_programs_end_so_over_bad_fibers(seed, fault):
    check(replay(drawn(seed, 150)), faults=[fault], options=FAST_RECOVERY)


@pytest.mark.parametrize("seed", [25, 33])
def test_a_cab_is_not_taken_for_stopped_where_every_second_fragment_is_damaged(seed):
    """docs/transports.md, "Retries": a server that is asked shows by a short packet that it is there. Without that
    these two programs ended by PeerStopped, after 9 askings of which no answer came through."""
    check(replay(drawn(f"ps {seed}", 150)), faults=["*:errors=3e-4"], options=FAST_RECOVERY, seed=seed + 1)


@pytest.mark.parametrize("fault", [None, "*:errors=1e-4"])
@pytest.mark.parametrize("cabs", [1, 2])
def test_random_programs_end_so_where_tasks_share_cabs(cabs, fault):
    """Programs so short that no two CABs have more messages on their way than slots."""
    for seed in range(20):
        check(replay(drawn(seed, 2 * SLOTS)), cabs, faults=[fault] if fault else [], options=FAST_RECOVERY)


@pytest.mark.parametrize("fault", [None, "*:errors=1e-4"])
@pytest.mark.parametrize(
    "places", [["CAB1.node", "CAB2.node", "CAB1", "CAB2"], ["CAB1.node", "CAB1.node", "CAB2.node", "CAB2.node"]]
)
def test_random_programs_end_so_where_tasks_run_on_nodes(places, fault):
    faults = [fault] if fault else []
    for seed in range(6):
        steps = replay(drawn(f"node {seed}", 2 * SLOTS))
        check(steps, 2, places, nodes=["CAB1", "CAB2"], faults=faults, options=FAST_RECOVERY)


def test_a_random_program_ends_so_on_the_rtl():
    check(replay(drawn("rtl", 120)), boards="rtl")
