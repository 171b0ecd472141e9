"""Reference model of a HUB: replays what arrived at all ports and judges all that the ports sent.

The model executes docs/hub.md at the heads of the input queues, one symbol or command after the other. What the
specification leaves open is only who comes first: which input gets an output or a lock, and whether a command that does
not wait finds it free. These are read from the observation (the reply says so, or an input was granted an output if
what it passes next is what that output sends next); everything else is predicted symbol by symbol and must agree
exactly: content, order, copies of a multicast, replies and their place, ready signals, errors and their names. Times
are judged by what must hold in any implementation (``history.py``): nothing before its cause, nothing faster than
``transfer``, replies and ready signals within a bound, a test open only behind a ready, refusals and status replies as
the tables may have stood, the idle pin.

So that the observation tells inputs apart, what different inputs pass must differ within ``LOOK`` symbols behind an
open; no more than four replies may be outstanding for a port; a *lock* that does not answer is followed by *status
lock*; and a source waits for the reply to *close all reply* before it goes on. traffic.py makes such traffic. The model
handles neither queues that overflow, nor the watchdog, nor supervisor commands that change more than the monitor;
``model.py`` does, for one thing after the other."""

from collections import deque
from dataclasses import dataclass, field
from math import inf

from nectar.hdl.hub.commands import COMMANDS, HELLO, HELLO_ASK, Op
from nectar.hdl.hub.monitor_map import CounterId
from nectar.hdl.hub.profile import PROTOTYPE
from nectar.hdl.link.symbol import Control

from .answers import REPLY_CYCLES, check_answers
from .history import LEAD, SLACK, ReadyBit, Window
from .orders import LOOK, Orders
from .streams import Order, Pass, Violation, actions, arrivals, departures, name
from .tables import Tables

__all__ = ["LOOK", "Verdict", "Violation", "judge"]


@dataclass
class Verdict:
    """What the model found in a legal recording.

    ``errors[port]``: (cycle, CounterId) of the symbols whose errors are counted at the port; ``packets``: starts that
    came out; ``grants``: connections made; ``locks``: locks taken; ``refused``: opens and locks refused; ``replies``:
    replies that came out; ``lost``: replies with nowhere to go."""

    errors: list
    packets: int = 0
    grants: int = 0
    locks: int = 0
    refused: int = 0
    replies: int = 0
    lost: int = 0

    def counters(self, port):
        """{CounterId: number} of the errors of a port."""
        names = [counter for _, counter in self.errors[port]]
        return {counter: names.count(counter) for counter in set(names)}


@dataclass
class _Input:
    """Input side of a port in the replay."""

    actions: list
    place: int = 0
    held: set = field(default_factory=set)
    locks: dict = field(default_factory=dict)
    dropping: bool = False
    starts: list = field(default_factory=list)
    asked: list = field(default_factory=list)
    recent: deque = field(default_factory=lambda: deque(maxlen=LEAD))
    windows: deque = field(default_factory=lambda: deque(maxlen=16))
    floor: float = -inf
    flushed: int = 0

    def evidence(self, at):
        """What was obeyed so far was obeyed before cycle ``at``."""
        for window in self.windows:
            window.end = min(window.end, at)


@dataclass
class _Output:
    """Output side of a port in the replay."""

    data: list
    text: str
    place: int = 0
    tenures: list = field(default_factory=list)
    locks: list = field(default_factory=list)
    owner: int | None = None
    ready: ReadyBit = field(default_factory=ReadyBit)
    #: Starts on their way to the output register: they make it not ready for a test open.
    coming: list = field(default_factory=list)
    #: Ready signals beside those for starts.
    repairs: int = 0
    #: Times at which a reply to close all reply has arrived that has not closed a connection yet.
    closing: deque = field(default_factory=deque)
    #: When the neighbour was asked anew.
    asks: list = field(default_factory=list)


class Replay(Orders):
    """One judgement; ``judge`` makes it."""

    def __init__(self, recording, hub, transfer, commands):
        self.recording = recording
        self.hub = hub
        self.transfer = transfer
        self.ports = range(recording.ports)
        self.arrived = [arrivals(rx) for rx in recording.rx]
        self.sent = [departures(tx, port) for port, tx in enumerate(recording.tx)]
        self.answers = [
            [(frame, item) for frame, item in sent.replies if frame[1] == hub and frame[0] not in (HELLO, HELLO_ASK)]
            for sent in self.sent
        ]
        self.inputs = [_Input(actions(arrived.queue, hub)) for arrived in self.arrived]
        self.outputs = [_Output(sent.data, "".join(chr(item.symbol) for item in sent.data)) for sent in self.sent]
        for output, arrived in zip(self.outputs, self.arrived):
            output.ready.sets += [Window(at, at) for at in arrived.readies]
            output.closing.extend(at for frame, at in arrived.replies if frame[0] == Op.CLOSE_ALL_REPLY)
        orders = [
            (port, action)
            for port, source in enumerate(self.inputs)
            for action in source.actions
            if isinstance(action, Order)
        ]
        #: Ports that may send more ready signals than there are starts.
        self._repaired = {
            order.param if order.op == Op.REPAIR_READY else port
            for port, order in orders
            if order.op in (Op.REPAIR_READY, Op.FLUSH_REPLY)
        }
        self.verdict = Verdict([list(arrived.errors) for arrived in self.arrived])
        self.refusals = []
        self._tables = Tables(recording.ports, hub, commands=commands)

    def run(self):
        """Replays until nothing moves; then everything must have been explained."""
        while self._move() or self._returns() or self._flushes():
            pass
        self._all_explained()
        for output in self.outputs:
            used = [tenure for tenure in output.tenures if tenure.offered]
            for tenure, following in zip(used, used[1:]):
                tenure.end = min(tenure.end, following.first)
            for tenure in output.tenures:
                tenure.end = min(tenure.end, tenure.closed.end)
        for port in self.ports:
            self._readies(port)
        self.check_refusals()
        self._locks()
        check_answers(self)
        self._idle()
        return self.verdict

    def error(self, port, at, counter):
        """Notes an error at ``port``; returns True."""
        self.verdict.errors[port].append((at, counter))
        return True

    # Heads of the input queues

    def _move(self):
        moved = False
        for port in self.ports:
            while self._head(port):
                moved = True
        return moved

    def _head(self, port):
        source = self.inputs[port]
        if source.place == len(source.actions):
            return False
        action = source.actions[source.place]
        if source.held:
            self._returned(port)
        if isinstance(action, Pass):
            done = self._pass(port, source, action)
        elif isinstance(action, Order):
            done = self.order(port, source, action)
        else:
            done = self.error(port, action.at, CounterId.COMMAND_CUT)
        source.place += done
        return done

    def _pass(self, port, source, action):
        outputs = [self.outputs[o] for o in source.held]
        if any(output.place == len(output.data) for output in outputs):
            return False
        if not outputs and not source.dropping and not action.closing:
            self.error(port, action.at, CounterId.NO_CONNECTION)
        source.dropping = not outputs and not action.closing
        copies = {}
        for o in source.held:
            output = self.outputs[o]
            item = output.data[output.place]
            where = f"output {o}, cycle {item.offered}: {name(item.symbol)}"
            if item.symbol != action.symbol:
                raise Violation(
                    f"{where} instead of {name(action.symbol)}, which arrived at input {port} in cycle {action.at}"
                )
            if item.offered < action.at + self.transfer:
                raise Violation(f"{where} arrived at input {port} only in cycle {action.at}")
            output.place += 1
            tenure = output.tenures[-1]
            tenure.first = min(tenure.first, item.offered)
            tenure.offered.append(item.offered)
            if len(tenure.offered) == LEAD:
                tenure.sure = tenure.offered[0]
            copies[o] = item
            if action.returns:
                tenure.asked = item.offered
            if action.closes:
                tenure.sure = tenure.end = item.offered
                output.owner = None
        if copies:
            source.evidence(min(item.offered for item in copies.values()))
        if len(source.recent) == LEAD:
            first = min((item.offered for item in copies.values()), default=inf)
            for o, item in source.recent[0].items():
                source.floor = max(source.floor, item.offered)
                if o in copies and item.taken > first:
                    raise Violation(
                        f"input {port}: a copy was sent in cycle {first} while output {o} still held one {LEAD} "
                        f"symbols older"
                    )
        source.recent.append(copies)
        if action.symbol == Control.START:
            self._start(port, source, action, copies)
        if action.closes:
            source.held.clear()
        return True

    def _start(self, port, source, action, copies):
        readies = self.sent[port].readies
        if port not in self._repaired and len(source.starts) < len(readies):
            source.evidence(readies[len(source.starts)].offered)
        source.starts.append((action.at, [item.offered for item in copies.values()]))
        for o, item in copies.items():
            self.outputs[o].ready.clears.append(Window(item.offered, item.offered))
            self.outputs[o].coming.append(Window(action.at, item.offered))
        self.verdict.packets += len(copies)

    # What does not wait for its turn

    def _returns(self):
        """Whether a reply to close all reply closes a connection whose source has sent nothing since."""
        return any([self._returned(port) for port in self.ports])

    def _returned(self, port):
        """Closes connections of ``port`` for which the reply came before what the head has to do next."""
        source = self.inputs[port]
        now = source.actions[source.place].at if source.place < len(source.actions) else inf
        closed = False
        for o in list(source.held):
            output = self.outputs[o]
            tenure = output.tenures[-1]
            while tenure.asked < inf and output.closing and output.closing[0] < tenure.asked:
                output.closing.popleft()
            if tenure.asked < inf and output.closing and output.closing[0] < now:
                at = output.closing.popleft()
                tenure.sure, tenure.end = at, at + REPLY_CYCLES * len(self.ports) + SLACK
                source.held.remove(o)
                output.owner = None
                closed = True
        return closed

    def _flushes(self):
        """Whether a flush, the first that arrived, throws away what cannot move."""
        found = []
        for port, source in enumerate(self.inputs):
            flush = next(
                (
                    place
                    for place in range(source.place + 1, len(source.actions))
                    if isinstance(source.actions[place], Order) and source.actions[place].op == Op.FLUSH_REPLY
                ),
                None,
            )
            if flush is not None:
                found.append((source.actions[flush].at, port, flush))
        if not found:
            return False
        at, port, flush = min(found)
        source = self.inputs[port]
        if self.waits_for_its_end(port, source, at):
            raise Violation(
                f"input {port}: {source.actions[source.place]} waited when the flush of cycle {at} came, and was not "
                f"answered as given up"
            )
        source.place = flush
        return True

    # At the end of the replay

    def _all_explained(self):
        for port, output in enumerate(self.outputs):
            if output.place < len(output.data):
                item = output.data[output.place]
                raise Violation(
                    f"output {port}, cycle {item.offered}: {name(item.symbol)} comes from nowhere "
                    f"(connected input: {output.owner})"
                )
        for port, source in enumerate(self.inputs):
            if source.place < len(source.actions):
                raise Violation(
                    f"input {port}: {source.actions[source.place]} has had no effect (connected to "
                    f"{sorted(source.held)})"
                )

    def _readies(self, port):
        """One ready for each start that left the queue's head, soon after it, and one for each repair and each
        flush."""
        starts, readies, repairs = self.inputs[port].starts, self.sent[port].readies, self.outputs[port].repairs
        if len(starts) + repairs != len(readies):
            raise Violation(
                f"port {port} sent {len(readies)} ready signals for {len(starts)} starts and {repairs} repairs"
            )
        for (at, passed), ready in zip(starts, readies) if not repairs else ():
            if ready.offered < at + 2:
                raise Violation(f"port {port}: ready in cycle {ready.offered} for the start that arrived in cycle {at}")
            if (
                passed
                and ready.offered > min(passed)
                and self.recording.slots(port, min(passed), ready.offered) > 2 * SLACK
            ):
                raise Violation(
                    f"port {port}: ready only in cycle {ready.offered} for the start sent in cycle {min(passed)}"
                )

    def _locks(self):
        """No output is locked by two inputs at a time."""
        for o, output in enumerate(self.outputs):
            recent = deque(maxlen=2 * len(self.ports))
            for lock in sorted(output.locks, key=lambda lock: lock.taken.end):
                if any(lock.owner != other.owner and lock.clashes(other) for other in recent):
                    raise Violation(f"output {o}: inputs {lock.owner} and another have locked it at the same time")
                recent.append(lock)

    def _idle(self):
        """While the HUB says idle it sends nothing, until something has arrived."""
        came = sorted(at for rx in self.recording.rx for at, _ in rx)
        place, last = 0, -1
        idle = self.recording.idle
        for offered, port, symbol in sorted(
            (item.offered, port, item.symbol) for port, tx in enumerate(self.recording.tx) for item in tx
        ):
            last = max(last, idle.rfind(1, last + 1, offered + 1))
            while place < len(came) and came[place] < last:
                place += 1
            if last >= 0 and (place == len(came) or came[place] >= offered):
                raise Violation(
                    f"port {port} sent {name(symbol)} in cycle {offered} though the HUB said idle in cycle {last}"
                )


def judge(recording, hub, transfer=PROTOTYPE.transfer, commands=COMMANDS):
    """Judges ``recording``, which must end with the HUB empty, of the HUB with ID ``hub`` that knows ``commands``;
    returns a Verdict.

    ``transfer`` is the least number of cycles from pin to pin. Raises Violation with the first thing found that is not
    legal, and ValueError for a recording with commands that it does not judge.
    """
    return Replay(recording, hub, transfer, commands).run()
