"""Claims about the monitor of a whole HUB (fact H18): its record is what the pins show. Run by ``test_hub.py``."""

import random

from nectar.hdl.hub.commands import FORCE, Op
from nectar.hdl.hub.monitor_map import EVENT_BYTES, POP, Clear, Event, Select
from nectar.hdl.link.symbol import Control, command, packet
from nectar.software.monitor import decode_events, spans

from ..testbench import CLOSE_ALL, HUB, claim


async def record(tb, manager):
    """Starts the record."""
    await tb.drain()
    await tb.done(manager, Op.MONITOR_CLEAR_REPLY, Clear.RECORD)


async def read(tb, manager):
    """Stops the record and takes all events out, as (kind, input, output) with their cycles; the stop itself may be
    the last, and is left out."""
    await tb.drain()
    await tb.done(manager, Op.MONITOR_CLEAR_REPLY, Clear.STOP)
    await tb.done(manager, Op.MONITOR_SELECT_REPLY, Select.EVENTS)
    entries = []
    while True:
        entry = bytes([await tb.done(manager, Op.MONITOR_READ_REPLY, n) for n in range(EVENT_BYTES)])
        assert await tb.done(manager, Op.MONITOR_READ_REPLY, POP | EVENT_BYTES - 1) == entry[-1]
        if entry[0] >> 4 == Event.NOTHING:
            break
        entries.append(entry)
    events = decode_events(entries, 1)
    if events and events[-1][2:] == (Event.SUPERVISOR, manager, Clear.STOP & 0x7F):
        events.pop()
    return events


def told(events):
    """The events without their times."""
    return [event[2:] for event in events]


@claim(ports=3, needs=("monitor",))
async def the_record_has_the_cycle_of_every_connection(tb):
    """H18: one packet after the other; from OPENED to the start at the pins, and from the close all's last symbol to
    CLOSED, it is always the same time."""
    manager, *others = range(tb.ports)
    await record(tb, manager)
    sent = []
    for _ in range(10):
        source, target = random.sample(others, 2) if len(others) > 1 else others * 2
        tb.send(
            source,
            [
                *command(random.choice((Op.OPEN, Op.OPEN_RETRY, Op.TEST_OPEN_RETRY)), HUB, target),
                *packet(random.randbytes(random.randrange(20))),
                *CLOSE_ALL,
            ],
        )
        await tb.drain()
        await tb.run(random.randrange(30))
        symbols = tb.sent(target).data
        start = max(index for index, item in enumerate(symbols) if item.symbol == Control.START)
        sent.append((source, target, symbols[start].offered, symbols[-1].offered))
    events = await read(tb, manager)
    assert told(events) == [
        event for source, target, *_ in sent for event in ((Event.OPENED, source, target), (Event.CLOSED, None, target))
    ]
    assert len({start - event.cycle for event, (_, _, start, _) in zip(events[::2], sent, strict=True)}) == 1
    assert len({end - event.cycle for event, (_, _, _, end) in zip(events[1::2], sent, strict=True)}) == 1
    await tb.finish(judged=False)


@claim(ports=4, needs=("monitor",))
async def connections_of_all_ports_at_once_are_told_apart(tb):
    """H18: while all ports but one, or as many as the record has room for, compete for outputs, OPENED comes in the
    order in which the packets come out, and CLOSED behind them."""
    manager, *others = tb.some(min(tb.ports, 64))
    await record(tb, manager)
    for source in others:
        for number in range(4):
            target = random.choice([port for port in others if port != source])
            tb.send(
                source,
                [
                    *command(Op.OPEN_RETRY, HUB, target),
                    *packet([source, number, *random.randbytes(random.randrange(12))]),
                    *CLOSE_ALL,
                ],
            )
    events = await read(tb, manager)
    assert {event.kind for event in events} == {Event.OPENED, Event.CLOSED}
    found = spans(events)
    assert len(found) == 4 * len(others) and all(span.end_ns is not None for span in found)
    begins, stops = [], []
    for target in others:
        symbols = tb.sent(target).data
        starts = [index for index, item in enumerate(symbols) if item.symbol == Control.START]
        mine = [span for span in found if span.output == target]
        assert [symbols[index + 1].symbol for index in starts] == [span.input for span in mine]
        ends = [symbols[index - 1] for index in [*starts[1:], len(symbols)]] if starts else []
        assert all(a.end_ns <= b.begin_ns for a, b in zip(mine, mine[1:], strict=False))
        begins += [symbols[index].offered - span.begin_ns for index, span in zip(starts, mine, strict=True)]
        stops += [end.offered - span.end_ns for end, span in zip(ends, mine, strict=True)]
    # But for a constant, cycles of the record are those of the pins; ready signals and replies may hold a symbol up,
    # and stamps be late by a few events.
    for differences in (begins, stops):
        assert max(differences) - min(differences) <= 4 * tb.ports
    await tb.finish(judged=False)


@claim(ports=4, needs=("locks", "monitor"))
async def decisions_are_recorded_with_what_they_decide(tb):
    """docs/monitor.md: opened, refused, locked, unlocked, by force and by supervisor commands; what is held already
    is no event."""
    manager, source, target, other = random.sample(range(tb.ports), 4)
    await record(tb, manager)
    expected = []

    async def give(port, op, param, *events):
        await tb.ask(port, op, param)
        await tb.run(20)
        expected.extend(events)

    opened = (Event.OPENED, source, target)
    await give(source, Op.LOCK_REPLY, target, (Event.LOCKED, source, target))
    await give(source, Op.LOCK_REPLY, target)
    await give(other, Op.LOCK_REPLY, target, (Event.REFUSED, other, target))
    await give(other, Op.OPEN_REPLY, target, (Event.REFUSED, other, target))
    await give(source, Op.OPEN_REPLY, source, (Event.REFUSED, source, source))
    await give(source, Op.OPEN_REPLY, target, opened)
    await give(source, Op.OPEN_RETRY_REPLY, target)
    await give(source, Op.UNLOCK_REPLY, target, (Event.UNLOCKED, None, target))
    await give(source, Op.STATUS_OUTPUT, target)
    await give(other, Op.FORCE_CONNECTION_REPLY, FORCE | target, (Event.OPENED, other, target))
    await give(other, Op.CLOSE_REPLY, target, (Event.CLOSED, None, target))
    await give(other, Op.FORCE_LOCK_REPLY, FORCE | source, (Event.LOCKED, other, source))
    await give(manager, Op.FORCE_READY_REPLY, FORCE | target, (Event.SUPERVISOR, manager, target))
    tb.order(other, Op.UNLOCK_MINE, 0)
    await tb.drain()
    expected.append((Event.UNLOCKED, None, source))
    await give(source, Op.OPEN_REPLY, target, opened)
    await give(source, Op.CLOSE_MINE_REPLY, 0, (Event.CLOSED, None, target))
    events = told(await read(tb, manager))
    forced = events.index((Event.OPENED, other, target)) - 1
    if events[forced] == (Event.CLOSED, None, target):  # OPENED says it, so it need not be written
        events.pop(forced)
    for event, wanted in zip([*events, None], [*expected, None], strict=False):
        assert event == wanted, f"{event} was recorded, expected {wanted}; all: {events}"
    await tb.finish(judged=False)


@claim(ports=3, needs=("locks", "monitor"))
async def a_time_out_is_recorded_before_what_it_ends(tb):
    """H20: TIMED_OUT of the input, then CLOSED of its outputs and UNLOCKED of its locks."""
    manager, source, target = random.sample(range(tb.ports), 3)
    await tb.done(manager, Op.WATCHDOG_TIME_REPLY, 8)
    await record(tb, manager)
    tb.order(source, Op.LOCK, target)
    tb.order(source, Op.OPEN, target)
    await tb.run(1500)
    await tb.done(manager, Op.WATCHDOG_TIME_REPLY, 20)
    events = told(await read(tb, manager))
    assert events[:3] == [
        (Event.LOCKED, source, target),
        (Event.OPENED, source, target),
        (Event.TIMED_OUT, source, None),
    ]
    assert sorted(events[3:]) == [
        (Event.CLOSED, None, target),
        (Event.UNLOCKED, None, target),
        (Event.SUPERVISOR, manager, 20),
    ]
    await tb.finish(judged=False)


@claim(needs=("monitor",))
async def the_hub_is_awake_while_it_records(tb):
    """docs/hub.md, Pins: idle is 0 as long as events are recorded, and comes back."""
    manager = random.randrange(tb.ports)
    await record(tb, manager)
    await tb.run(500)
    idle = tb.agents.recording.idle
    assert not any(idle[-400:])
    assert await read(tb, manager) == []
    await tb.rest()
    await tb.finish(judged=False)
