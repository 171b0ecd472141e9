"""The reference model's judgement of replies: those of the HUB itself, those that pass through it, and hellos."""

from bisect import bisect_right
from collections import deque
from typing import NamedTuple

from nectar.hdl.hub.commands import HELLO, HELLO_ASK, HELLO_HUB, KIND_UNKNOWN, STATUS_IN_USE, Op
from nectar.hdl.hub.monitor_map import CounterId
from nectar.hdl.link.symbol import reply

from .history import SLACK, Window
from .streams import Order, Violation
from .tables import Answer

__all__ = ["REPLY_CYCLES", "Asked", "check_answers"]

#: Cycles that a reply takes on the bus between the ports.
REPLY_CYCLES = 4


class Asked(NamedTuple):
    """A command that wants a reply, when it was obeyed, and the Answer that is due; for status, the outputs that its
    input held."""

    order: Order
    window: Window
    expected: object


def check_answers(replay):
    """Judges all replies of ``replay`` (reference.py), when all else has been explained."""
    _transit(replay)
    for errors in replay.verdict.errors:
        errors.sort()
    for port in replay.ports:
        _hellos(replay, port)
        _own(replay, port)


def _own(replay, port):
    """Replies to the commands that arrived at ``port``: in order, right, after their command."""
    got, asked = replay.answers[port], replay.inputs[port].asked
    for (order, window, expected), (frame, item) in zip(asked, got):
        where = f"port {port}, cycle {item.offered}: reply {frame} to {order}"
        if item.offered <= order.at:
            raise Violation(f"{where} came before it")
        if isinstance(expected, frozenset):
            expected = Answer(True, _status(replay, port, order, window, expected, frame[2], where))
        due = tuple(reply(order.op, replay.hub, expected.value, done=expected.done)[1:])
        if frame != due:
            raise Violation(f"{where}, expected {due}")
    if len(got) != len(asked):
        raise Violation(f"port {port} sent {len(got)} replies of this HUB for {len(asked)} commands that want one")
    replay.verdict.replies += len(replay.sent[port].replies)


def _status(replay, port, order, window, held, value, where):
    """The value that a status must have; ``value`` where more than one is possible, and it is one of these."""
    o = order.param
    output = replay.outputs[o]
    begin, end = window.begin, window.end
    if order.op == Op.STATUS_OUTPUT:
        if o in held and not output.closing:
            return STATUS_IN_USE | port
        return _holder(output.tenures, port if o not in held else None, begin, end, value, where)
    if order.op == Op.STATUS_LOCK:
        return _holder(output.locks, None, begin, end, value, where)
    if order.op == Op.STATUS_ERRORS:
        return _errors(replay, order, end, value, where)
    if order.op == Op.STATUS_INPUT:
        return _connections(replay, port, o, begin, end, held, value, where)
    if order.op == Op.STATUS_READY:
        if value not in (0, 1) or not output.ready.may_be(value, begin, end):
            raise Violation(f"{where}: the ready bit was not so")
    elif order.op == Op.STATUS_QUEUE:
        most = bisect_right(replay.arrived[o].queue, end, key=lambda entry: entry[1])
        if value > min(most, 255):
            raise Violation(f"{where}: only {most} symbols had arrived")
    else:
        _neighbour(replay, order, window, value, where)
    return value


def _holder(history, absent, begin, end, value, where):
    """``value`` if it may tell the holder: one of ``history`` (connections or locks), but not ``absent``."""
    if value & STATUS_IN_USE:
        holder = value & ~STATUS_IN_USE
        if not any(held.owner == holder != absent and held.possible(begin, end) for held in history):
            raise Violation(f"{where}: input {holder} did not hold it")
    elif value or any(held.certain(begin, end) for held in history):
        raise Violation(f"{where}: an input held it all the time")
    return value


def _errors(replay, order, end, value, where):
    """``value`` if it may be the number of errors: all before the last idle cycle, and no more than have occurred."""
    errors = replay.verdict.errors[order.param]
    settled = replay.recording.idle.rfind(1, 0, order.at + 1)
    least, most = (bisect_right(errors, at, key=lambda error: error[0]) for at in (settled - 1, end))
    if not min(least, 255) <= value <= min(most, 255):
        raise Violation(f"{where}: {least} to {most} errors were counted")
    return value


def _connections(replay, port, o, begin, end, held, value, where):
    if o == port:
        return len(held)
    tenures = [
        (number, tenure)
        for number, output in enumerate(replay.outputs)
        for tenure in output.tenures
        if tenure.owner == o
    ]
    least = len({number for number, tenure in tenures if tenure.certain(begin, end)})
    most = len({number for number, tenure in tenures if tenure.possible(begin, end)})
    if not least <= value <= most:
        raise Violation(f"{where}: it had {least} to {most} connections")
    return value


def _neighbour(replay, order, window, value, where):
    """A neighbour is what it has told last, or unknown if it may have been forgotten since."""
    place, unknown = (1, 0) if order.op == Op.STATUS_NEIGHBOUR else (2, KIND_UNKNOWN)
    told = [
        (at, frame[place])
        for frame, at in replay.arrived[order.param].replies
        if frame[0] in (HELLO, HELLO_ASK) and at <= window.end
    ]
    if value == unknown:
        last = max((at for at, _ in told if at + SLACK < window.begin), default=None)
        if last is not None and not any(
            asked is not window and asked.end + SLACK >= last and asked.begin <= window.end
            for asked in replay.outputs[order.param].asks
        ):
            raise Violation(f"{where}: the neighbour had said hello in cycle {last}")
    elif value not in [known for _, known in told]:
        raise Violation(f"{where}: the neighbour has not said that")


def _hellos(replay, port):
    """One hello for each question that has arrived, one question for each status neighbour."""
    sent = [
        frame for frame, _ in replay.sent[port].replies if frame[0] in (HELLO, HELLO_ASK) and frame[1] == replay.hub
    ]
    asked = sum(frame[0] == HELLO_ASK for frame, _ in replay.arrived[port].replies)
    due = [(HELLO, replay.hub, HELLO_HUB | port)] * asked + [(HELLO_ASK, replay.hub, HELLO_HUB | port)] * len(
        replay.outputs[port].asks
    )
    if sorted(sent) != sorted(due):
        raise Violation(f"port {port} sent hellos {sent}, expected {due}")


def _transit(replay):
    """Replies of other HUBs: to the input connected to the output of the port where they arrived, or nowhere."""
    waiting = [
        deque((frame, at) for frame, at in arrived.replies if frame[0] not in (HELLO, HELLO_ASK))
        for arrived in replay.arrived
    ]
    flights = sorted(
        (
            (item.offered, port, frame)
            for port in replay.ports
            for frame, item in replay.sent[port].replies
            if frame[1] != replay.hub
        )
    )
    turns = REPLY_CYCLES * len(replay.ports) + SLACK
    bound = turns + 8 * 4 + 2 * SLACK
    latest = {}
    for offered, port, frame in flights:
        found = [
            (came, at)
            for came, queue in enumerate(waiting)
            for f, at in queue
            if f == frame
            and at < offered
            and at >= latest.get((came, port), at)
            and any(
                t.owner == port
                and t.possible(at, min(at + turns, offered))
                and (f[0] != Op.CLOSE_ALL_REPLY or t.asked < at)
                for t in replay.outputs[came].tenures
            )
        ]
        timely = [(came, at) for came, at in found if replay.recording.slots(port, at, offered) <= bound]
        if not timely:
            reason = f"arrived in cycle {found[0][1]} already" if found else "has no business there"
            raise Violation(f"port {port}, cycle {offered}: reply {frame} {reason}")
        came, at = timely[0]
        latest[came, port] = at
        waiting[came].remove((frame, at))
    for came, queue in enumerate(waiting):
        for frame, at in queue:
            if any(t.certain(at, at + turns) for t in replay.outputs[came].tenures):
                raise Violation(f"port {came}: reply {frame} of cycle {at} was lost")
            replay.error(came, at, CounterId.NO_ROUTE)
            replay.verdict.lost += 1
