"""Reference model of a HUB: replays what arrived at all ports and judges all that the ports sent.

The model executes docs/hub.md at the heads of the input queues, one symbol or command after the other. What the
specification leaves open is only who comes first: which input gets an output, and whether an *open* that does not wait finds it free.
These are read from the observation (an input was granted an output if what it passes next is what that output
sends next); everything else is predicted symbol by symbol and must agree exactly: content, order, copies of a multicast,
replies and their place, ready signals, errors. Times are judged by what must hold in any implementation: nothing before its cause,
nothing faster than ``transfer``, replies and ready signals within a bound, a test open only behind a ready, status
replies as the table stood, the idle pin.

So that the observation tells inputs apart, what different inputs pass must differ within ``LOOK`` symbols behind an open, and
no more than four replies may be outstanding for a port; traffic.py makes such traffic. The model does not handle queues that overflow.
"""

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from math import inf

from nectar.hdl.hub.commands import BY_OPCODE, REPLY, RETRY, STATUS_CONNECTED, TEST, Error, Group, Op
from nectar.hdl.hub.profile import PROTOTYPE
from nectar.hdl.link.symbol import Control, reply

from .streams import Fault, Order, Pass, Violation, actions, arrivals, departures, name

__all__ = ["LOOK", "Verdict", "Violation", "judge"]

#: Symbols behind an open by which the observation tells inputs apart.
LOOK = 8
#: Symbols by which one copy of a multicast may be ahead of another: those in its crossbar and output registers, and two to spare.
LEAD = 4
#: Cycles by which an event inside may lie before or behind what the pins show of it.
SLACK = 4


@dataclass
class Verdict:
    """What the model found in a legal recording.

    ``errors[port]``: cycles of the symbols whose errors are counted at the port; ``packets``: starts that came out; ``grants``:
    connections made; ``refused``: opens refused as busy; ``replies``: replies that came out; ``lost``: replies with nowhere to go.
    """

    errors: list
    packets: int = 0
    grants: int = 0
    refused: int = 0
    replies: int = 0
    lost: int = 0


@dataclass
class _Tenure:
    """A connection: it stood from a time between ``begin`` and ``first`` to one between ``sure`` and ``end``.

    A close may be done while the last symbols before it are held up on their way out; a close all is not.
    """

    owner: int
    begin: float
    first: float = inf
    sure: float = -inf
    end: float = inf
    offered: deque = field(default_factory=lambda: deque(maxlen=LEAD))

    def possible(self, begin, end):
        """Whether the connection may have stood at some time from ``begin`` to ``end``."""
        return self.begin < end and self.end + SLACK >= begin

    def certain(self, begin, end):
        """Whether it must have stood all the time from ``begin`` to ``end``."""
        return self.first <= begin and end <= self.sure - SLACK


@dataclass
class _Input:
    """Input side of a port in the replay."""

    actions: list
    place: int = 0
    held: set = field(default_factory=set)
    dropping: bool = False
    starts: list = field(default_factory=list)
    orders: list = field(default_factory=list)
    recent: deque = field(default_factory=lambda: deque(maxlen=LEAD))


@dataclass
class _Output:
    """Output side of a port in the replay."""

    data: list
    text: str
    place: int = 0
    tenures: list = field(default_factory=list)
    owner: int | None = None


class _Replay:
    def __init__(self, recording, hub, transfer):
        self.recording = recording
        self.hub = hub
        self.transfer = transfer
        self.ports = range(recording.ports)
        self.arrived = [arrivals(rx) for rx in recording.rx]
        self.sent = [departures(tx, port) for port, tx in enumerate(recording.tx)]
        self.inputs = [_Input(actions(arrived.queue, hub)) for arrived in self.arrived]
        self.outputs = [_Output(sent.data, "".join(chr(item.symbol) for item in sent.data)) for sent in self.sent]
        self.verdict = Verdict([list(arrived.errors) for arrived in self.arrived])
        self.refusals = []

    def run(self):
        """Replays until nothing moves; then everything must have been explained."""
        moved = True
        while moved:
            moved = False
            for port in self.ports:
                while self._head(port):
                    moved = True
        self._all_explained()
        for tenures in (output.tenures for output in self.outputs):
            for tenure, following in zip(tenures, tenures[1:]):
                tenure.end = min(tenure.end, following.first)
        for port in self.ports:
            self._readies(port)
        self._refusals()
        self._transit_replies()
        for errors in self.verdict.errors:
            errors.sort()
        for port in self.ports:
            self._own_replies(port)
        self._idle()
        return self.verdict

    # Heads of the input queues

    def _head(self, port):
        source = self.inputs[port]
        if source.place == len(source.actions):
            return False
        action = source.actions[source.place]
        if isinstance(action, Pass):
            done = self._pass(port, source, action)
        elif isinstance(action, Order):
            done = self._order(port, source, action)
        else:
            done = self._error(port, action.at)
        source.place += done
        return done

    def _error(self, port, at):
        self.verdict.errors[port].append(at)
        return True

    def _pass(self, port, source, action):
        outputs = [self.outputs[o] for o in source.held]
        if any(output.place == len(output.data) for output in outputs):
            return False
        if not outputs and not source.dropping and not action.closing:
            self._error(port, action.at)
        source.dropping = not outputs and not action.closing
        copies = {}
        for o in source.held:
            output = self.outputs[o]
            item = output.data[output.place]
            where = f"output {o}, cycle {item.offered}: {name(item.symbol)}"
            if item.symbol != action.symbol:
                raise Violation(f"{where} instead of {name(action.symbol)}, which arrived at input {port} in cycle {action.at}")
            if item.offered < action.at + self.transfer:
                raise Violation(f"{where} arrived at input {port} only in cycle {action.at}")
            output.place += 1
            tenure = output.tenures[-1]
            tenure.first = min(tenure.first, item.offered)
            tenure.offered.append(item.offered)
            if len(tenure.offered) == LEAD:
                tenure.sure = tenure.offered[0]
            copies[o] = item
            if action.closes:
                tenure.sure = tenure.end = item.offered
                output.owner = None
        if len(source.recent) == LEAD:
            first = min((item.offered for item in copies.values()), default=inf)
            for o, item in source.recent[0].items():
                if o in copies and item.taken > first:
                    raise Violation(f"input {port}: a copy was sent in cycle {first} while output {o} still held one {LEAD} symbols older")
        source.recent.append(copies)
        if action.symbol == Control.START:
            source.starts.append((action.at, [item.offered for item in copies.values()]))
            self.verdict.packets += len(copies)
        if action.closes:
            source.held.clear()
        return True

    def _order(self, port, source, order):
        source.dropping = False
        row = BY_OPCODE.get(order.op)
        if row is None:
            if order.op & REPLY:
                source.orders.append((order, Error.UNKNOWN, None))
            return self._error(port, order.at)
        bad = order.param not in self.ports or (row.group in (Group.OPEN, Group.CLOSE) and order.param == port)
        if bad:
            if order.op & REPLY:
                source.orders.append((order, Error.BAD_PORT, None))
            return self._error(port, order.at)
        if row.group == Group.STATUS:
            source.orders.append((order, None, frozenset(source.held)))
        elif row.group == Group.CLOSE:
            self._close(port, source, order)
        elif not self._open(port, source, order):
            return False
        elif order.op & REPLY:
            source.orders.append((order, None, order.param))
        return True

    def _close(self, port, source, order):
        if order.param not in source.held:
            self._error(port, order.at)
            return
        source.held.remove(order.param)
        self.outputs[order.param].owner = None

    def _ahead(self, source, o):
        """The next symbols, at most LOOK, that ``source`` passes while it is connected to output ``o``."""
        ahead = []
        for action in source.actions[source.place + 1:]:
            if isinstance(action, Pass):
                ahead.append(chr(action.symbol))
                if action.closes or len(ahead) == LOOK:
                    break
            elif isinstance(action, Order) and action.op == Op.CLOSE and action.param == o:
                break
        return "".join(ahead)

    def _open(self, port, source, order):
        """Whether the head moves on: the open was granted or refused."""
        o = order.param
        output = self.outputs[o]
        ahead = self._ahead(source, o)
        if output.owner == port:
            self._behind_ready(order, output, ahead)
            return True
        if output.owner is None and output.text.startswith(ahead, output.place):
            self._behind_ready(order, output, ahead)
            output.owner = port
            before = output.tenures[-1].sure if output.tenures else -inf
            output.tenures.append(_Tenure(port, max(order.at, before - SLACK)))
            source.held.add(o)
            self.verdict.grants += 1
            return True
        if order.op & RETRY or output.text.find(ahead, output.place) >= 0:
            return False
        self.refusals.append((port, order, len(source.starts)))
        self.verdict.refused += 1
        return True

    def _behind_ready(self, order, output, ahead):
        """A test open must not succeed before the ready signal for the last start has arrived."""
        if not order.op & TEST or not ahead:
            return
        starts = [item.offered for item in output.data[:output.place] if item.symbol == Control.START] if output.place else []
        first = output.data[output.place].offered if output.place < len(output.data) else inf
        readies = self.arrived[order.param].readies
        if starts and not any(starts[-1] - SLACK <= at < first for at in readies):
            raise Violation(f"output {order.param}: a test open succeeded before cycle {first}, but no ready has arrived "
                            f"since the start of cycle {starts[-1]}")

    # At the end of the replay

    def _all_explained(self):
        for port, output in enumerate(self.outputs):
            if output.place < len(output.data):
                item = output.data[output.place]
                raise Violation(f"output {port}, cycle {item.offered}: {name(item.symbol)} comes from nowhere "
                                f"(connected input: {output.owner})")
        for port, source in enumerate(self.inputs):
            if source.place < len(source.actions):
                raise Violation(f"input {port}: {source.actions[source.place]} has had no effect (connected to {sorted(source.held)})")

    def _readies(self, port):
        """One ready for each start that left the queue's head, soon after it."""
        starts, readies = self.inputs[port].starts, self.sent[port].readies
        if len(starts) != len(readies):
            raise Violation(f"port {port} sent {len(readies)} ready signals for {len(starts)} starts")
        slots = self.recording.slots[port]
        for (at, passed), ready in zip(starts, readies):
            if ready.offered < at + 2:
                raise Violation(f"port {port}: ready in cycle {ready.offered} for the start that arrived in cycle {at}")
            if passed and slots[ready.offered] - slots[min(passed)] > 2 * SLACK and ready.offered > min(passed):
                raise Violation(f"port {port}: ready only in cycle {ready.offered} for the start sent in cycle {min(passed)}")

    def _refusals(self):
        for port, order, starts in self.refusals:
            readies = self.sent[port].readies
            end = readies[starts].offered if starts < len(readies) else inf
            if not any(t.owner != port and t.possible(order.at, end) for t in self.outputs[order.param].tenures):
                raise Violation(f"input {port}: the open of cycle {order.at} was refused though output {order.param} was free")

    def _own_replies(self, port):
        """Replies to the commands that arrived at ``port``: in order, right, after their command."""
        got = [(frame, item) for frame, item in self.sent[port].replies if frame[1] == self.hub]
        orders = self.inputs[port].orders
        for (order, error, detail), (frame, item) in zip(orders, got):
            where = f"port {port}, cycle {item.offered}: reply {frame} to {order}"
            if error is None and order.op == Op.STATUS_OUTPUT:
                value = self._output_status(port, order, detail, item.offered, frame[2], where)
            elif error is None and order.op == Op.STATUS_ERRORS:
                value = self._error_status(order, item.offered, frame[2], where)
            else:
                value = detail if error is None else error
            expected = tuple(reply(order.op, self.hub, value, done=error is None)[1:])
            if frame != expected:
                raise Violation(f"{where}, expected {expected}")
            if item.offered <= order.at:
                raise Violation(f"{where} came before it")
        if len(got) != len(orders):
            raise Violation(f"port {port} sent {len(got)} replies of this HUB for {len(orders)} commands that want one")
        self.verdict.replies += len(self.sent[port].replies)

    def _output_status(self, port, order, held, end, value, where):
        """The value that the status of an output must have, given ``value`` where more than one is possible."""
        o = order.param
        if o in held:
            return STATUS_CONNECTED | port
        if value & STATUS_CONNECTED:
            owner = value & ~STATUS_CONNECTED
            if not any(t.owner == owner != port and t.possible(order.at, end) for t in self.outputs[o].tenures):
                raise Violation(f"{where}: input {owner} was not connected")
        elif any(t.certain(order.at, end) for t in self.outputs[o].tenures):
            raise Violation(f"{where}: an input was connected all the time")
        else:
            return 0
        return value

    def _error_status(self, order, end, value, where):
        """``value`` if it may be the number of errors: all before the last idle cycle, and no more than have occurred."""
        errors = self.verdict.errors[order.param]
        settled = self.recording.idle.rfind(1, 0, order.at + 1)
        least, most = bisect_right(errors, settled - 1), bisect_right(errors, end)
        if not min(least, 255) <= value <= min(most, 255):
            raise Violation(f"{where}: {least} to {most} errors were counted")
        return value

    def _transit_replies(self):
        """Replies of other HUBs: to the input connected to the output of the port where they arrived, or nowhere."""
        waiting = [deque(arrived.replies) for arrived in self.arrived]
        flights = sorted(((item.offered, port, frame) for port in self.ports
                          for frame, item in self.sent[port].replies if frame[1] != self.hub))
        turns = len(self.ports) + SLACK
        bound = turns + 8 * 4 + 2 * SLACK
        latest = {}
        for offered, port, frame in flights:
            slots = self.recording.slots[port]
            found = [(came, at) for came, queue in enumerate(waiting) for f, at in queue
                     if f == frame and at < offered and at >= latest.get((came, port), at)
                     and any(t.owner == port and t.possible(at, at + turns) for t in self.outputs[came].tenures)]
            timely = [(came, at) for came, at in found if slots[offered] - slots[at] <= bound]
            if not timely:
                reason = f"arrived in cycle {found[0][1]} already" if found else "has no business there"
                raise Violation(f"port {port}, cycle {offered}: reply {frame} {reason}")
            came, at = timely[0]
            latest[came, port] = at
            waiting[came].remove((frame, at))
        for came, queue in enumerate(waiting):
            for frame, at in queue:
                if any(t.certain(at, at + turns) for t in self.outputs[came].tenures):
                    raise Violation(f"port {came}: reply {frame} of cycle {at} was lost")
                self._error(came, at)
                self.verdict.lost += 1

    def _idle(self):
        """While the HUB says idle it sends nothing, until something has arrived."""
        came = sorted(at for rx in self.recording.rx for at, _ in rx)
        for port, tx in enumerate(self.recording.tx):
            for item in tx:
                last = self.recording.idle.rfind(1, 0, item.offered + 1)
                place = bisect_right(came, last - 1)
                if last >= 0 and (place == len(came) or came[place] >= item.offered):
                    raise Violation(f"port {port} sent {name(item.symbol)} in cycle {item.offered} though the HUB said idle in cycle {last}")


def judge(recording, hub, transfer=PROTOTYPE.transfer):
    """Judges ``recording``, which must end with the HUB empty, of the HUB with ID ``hub``; returns a Verdict.

    ``transfer`` is the least number of cycles from pin to pin. Raises Violation with the first thing found that is not legal.
    """
    return _Replay(recording, hub, transfer).run()
