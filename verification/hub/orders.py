"""The reference model's execution of commands at the head of an input queue; see reference.py."""

from math import inf

from nectar.hdl.hub.commands import REPLY, RETRY, STATUS_IN_USE, SUPERVISOR, TEST, Error, Group, Op
from nectar.hdl.link.symbol import COMMAND_LENGTH, Control

from .answers import Asked
from .history import SLACK, Lock, Tenure, Window
from .streams import Order, Pass, Violation
from .tables import COUNTED, Answer, answered

__all__ = ["LOOK", "Orders"]

#: Symbols behind an open by which the observation tells inputs apart.
LOOK = 8
#: Cycles from the arrival of a command in an empty queue, and the last symbol of the answer before it, to its place
#: among those that wait, at most.
TAKEN_UP = 16
#: Supervisor commands that change nothing that is judged here.
_HARMLESS = {Op.MONITOR_SELECT_REPLY, Op.MONITOR_READ_REPLY, Op.WATCHDOG_TIME_REPLY}


class Orders:
    """The part of a Replay that obeys commands."""

    def order(self, port, source, order):
        """Whether the head moves on: the command was done or refused."""
        answer = None
        if answered(order.op):
            if len(source.asked) == len(self.answers[port]):
                return False
            frame, item = self.answers[port][len(source.asked)]
            answer = Answer(bool(frame[0] & REPLY), frame[2])
            if not answer.done and answer.value not in list(Error):
                raise Violation(
                    f"port {port}, cycle {item.offered}: reply {frame} to {order} is a refusal for no reason"
                )
        window = Window(max(order.at, source.floor))
        row = self._tables.rows.get(order.op)
        expected = self._wrong(port, row, order)
        if expected is None:
            expected = self._obey(port, source, order, row, window, answer)
        if expected is None:
            return False
        source.dropping = False
        source.floor = window.begin
        source.windows.append(window)
        if answered(order.op):
            source.evidence(item.offered)
            source.asked.append(Asked(order, window, expected))
        return True

    def _wrong(self, port, row, order):
        """The refusal of a command that is wrong whatever the state, or None."""
        error = None
        if row is None:
            error = Error.UNKNOWN
        elif row.op & SUPERVISOR and row.op not in _HARMLESS:
            raise ValueError(f"{row.name}: the reference does not judge recordings with this command")
        elif self._tables.bad_port(port, row, order.param):
            error = Error.BAD_PORT
        return None if error is None else self._refuse(port, order, error)

    def _refuse(self, port, order, error):
        if error in COUNTED:
            self.error(port, order.at, COUNTED[error])
        return Answer(False, error)

    def _obey(self, port, source, order, row, window, answer):
        """The Answer that is due, or what checks it in the end (a callable), or None if the command waits."""
        if row.supervisor:
            return Answer(True, order.param if row.op != Op.MONITOR_READ_REPLY else answer.value)
        if row.waits and answer == (False, Error.GIVEN_UP):
            return (
                answer
                if any(isinstance(a, Order) and a.op == Op.FLUSH_REPLY for a in source.actions[source.place :])
                else None
            )
        return {
            Group.OPEN: self._open,
            Group.CLOSE: self._close,
            Group.LOCK: self._lock,
            Group.STATUS: self._status,
            Group.FLOW: self._flow,
            Group.ECHO: self._echo,
        }[row.group](port, source, order, window, answer)

    def waits_for_its_end(self, port, source, at):
        """Whether the next action of a head that cannot move is a command that wants a reply, and certainly stood at
        the head in cycle ``at``."""
        order = source.actions[source.place]
        if (
            not isinstance(order, Order)
            or order.op not in self._tables.rows
            or not self._tables.rows[order.op].waits
            or not answered(order.op)
        ):
            return False
        before = [item.taken for copies in source.recent for item in copies.values()]
        if source.asked:
            before.append(self.answers[port][len(source.asked) - 1][1].taken + COMMAND_LENGTH)
        return at - max(order.at, *before, -1) >= TAKEN_UP

    def _status(self, port, source, order, window, answer):
        if order.op == Op.STATUS_NEIGHBOUR:
            self.outputs[order.param].asks.append(window)
        return frozenset(source.held)

    def _echo(self, port, source, order, window, answer):
        return Answer(
            True, {Op.ECHO_REPLY: order.param, Op.IDENTITY_REPLY: port, Op.SIZE_REPLY: len(self.ports)}[order.op]
        )

    def _close(self, port, source, order, window, answer):
        one = order.op in (Op.CLOSE, Op.CLOSE_REPLY)
        if one and order.param not in source.held:
            return self._refuse(port, order, Error.NOT_MINE)
        for o in [order.param] if one else list(source.held):
            source.held.remove(o)
            self.outputs[o].owner = None
            self.outputs[o].tenures[-1].closed = window
        return Answer(True, order.param)

    def _flow(self, port, source, order, window, answer):
        output = self.outputs[order.param] if order.op != Op.FLUSH_REPLY else None
        if order.op == Op.FLUSH_REPLY:
            self.outputs[port].repairs += 1
        elif order.op == Op.AWAIT_READY_REPLY:
            self.refusals.append((port, order, window, None))
        elif order.param not in source.held and not (order.op == Op.REPAIR_READY and order.param == port):
            return self._refuse(port, order, Error.NOT_MINE)
        elif order.op == Op.REPAIR_READY:
            output.repairs += 1
        else:
            (output.ready.sets if order.op == Op.RAISE_READY else output.ready.clears).append(window)
        return Answer(True, order.param)

    def _lock(self, port, source, order, window, answer):
        o = order.param
        if order.op == Op.UNLOCK_MINE:
            for lock in source.locks.values():
                lock.given = window
            source.locks.clear()
        elif order.op in (Op.UNLOCK, Op.UNLOCK_REPLY):
            if o not in source.locks:
                return self._refuse(port, order, Error.NOT_MINE)
            source.locks.pop(o).given = window
        elif o not in source.locks:
            done = order.op & RETRY or (self._locked(source, o, port) if answer is None else answer.done)
            self.refusals.append((port, order, window, None if done else Error.LOCKED))
            if not done:
                self.verdict.refused += 1
                return Answer(False, Error.LOCKED)
            if order.op != Op.TEST_LOCK_REPLY:
                source.locks[o] = Lock(port, window)
                self.outputs[o].locks.append(source.locks[o])
                self.verdict.locks += 1
        return Answer(True, o)

    def _locked(self, source, o, port):
        """Whether the status lock that follows a lock without reply says that it was done."""
        following = source.actions[source.place + 1] if source.place + 1 < len(source.actions) else None
        if following is None or following[:2] != (Op.STATUS_LOCK, o) or len(source.asked) == len(self.answers[port]):
            raise Violation(f"input {port}: a lock of output {o} that status lock does not follow")
        return self.answers[port][len(source.asked)][0][2] == STATUS_IN_USE | port

    def _ahead(self, source, o):
        """The next symbols, at most LOOK, that ``source`` passes while it is connected to output ``o``."""
        ahead = []
        for action in source.actions[source.place + 1 :]:
            if isinstance(action, Pass):
                ahead.append(chr(action.symbol))
                if action.closes or action.returns or len(ahead) == LOOK:
                    break
            elif isinstance(action, Order):
                if action.op in (Op.CLOSE, Op.CLOSE_REPLY) and action.param == o:
                    break
                if (
                    action.op in (Op.CLOSE_MINE, Op.CLOSE_MINE_REPLY, Op.CLOSE_ALL_REPLY)
                    or ahead
                    and action.op == Op.FLUSH_REPLY
                ):
                    break
        return "".join(ahead)

    def _open(self, port, source, order, window, answer):
        o = order.param
        output = self.outputs[o]
        if answer is not None and not answer.done:
            if order.op & RETRY:
                raise Violation(f"input {port}: {order}, which waits, was refused as {Error(answer.value)!r}")
            if output.owner == port and answer.value != Error.NOT_READY:
                raise Violation(
                    f"input {port}: {order} was refused as {Error(answer.value)!r} though the input has output {o}"
                )
            return self._refused(port, order, window, Error(answer.value))
        ahead = self._ahead(source, o)
        if output.owner == port:
            if answer is not None or order.op & RETRY:  # what else tells that it was done passes in any case
                self._behind_ready(order, output, ahead)
            return Answer(True, o)
        if output.owner is None and output.text.startswith(ahead, output.place):
            self._behind_ready(order, output, ahead)
            output.owner = port
            before = output.tenures[-1].sure if output.tenures and ahead else -inf
            output.tenures.append(Tenure(port, max(window.begin, before - SLACK)))
            self.refusals.append((port, order, window, None))
            source.held.add(o)
            self.verdict.grants += 1
            return Answer(True, o)
        if answer is not None or order.op & RETRY or output.text.find(ahead, output.place) >= 0:
            return None
        return self._refused(port, order, window, None)

    def _refused(self, port, order, window, error):
        """A refusal as ``error``, None if it is not told why."""
        self.refusals.append(
            (port, order, window, error or Error.BUSY if not order.op & TEST else error or Error.NOT_READY)
        )
        self.verdict.refused += 1
        return Answer(False, error or Error.BUSY)

    def _behind_ready(self, order, output, ahead):
        """A test open must not succeed before the ready signal for the last start has arrived."""
        if not order.op & TEST or not ahead:
            return
        starts = (
            [item.offered for item in output.data[: output.place] if item.symbol == Control.START]
            if output.place
            else []
        )
        first = output.data[output.place].offered if output.place < len(output.data) else inf
        if starts and not any(starts[-1] - SLACK <= cause.end and cause.begin < first for cause in output.ready.sets):
            raise Violation(
                f"output {order.param}: a test open succeeded before cycle {first}, but no ready has arrived "
                f"since the start of cycle {starts[-1]}"
            )

    # In the end

    def check_refusals(self):
        """Opens, locks and waiting for ready: done or refused only as the tables may have stood."""
        for port, order, window, error in self.refusals:
            output = self.outputs[order.param]
            row = self._tables.rows[order.op]
            begin, end = window.begin, window.end
            busy = [tenure for tenure in output.tenures if tenure.owner != port]
            locks = [lock for lock in output.locks if lock.owner != port]
            where = f"input {port}: {row.name} of output {order.param}, which arrived in cycle {order.at}, was "
            if error is None:
                if row.group is not Group.FLOW and any(lock.certain(begin, end) for lock in locks):
                    raise Violation(f"{where}done though the output was locked")
                if row.group is Group.FLOW and not output.ready.may_be(1, begin, end):
                    raise Violation(f"{where}done though the ready bit was 0")
                continue
            silent = not order.op & REPLY
            possible = {
                Error.BUSY: row.group is Group.OPEN and any(tenure.possible(begin, end) for tenure in busy),
                Error.LOCKED: any(lock.possible(begin, end) for lock in locks),
                Error.NOT_READY: order.op & TEST
                and row.group is Group.OPEN
                and (
                    output.ready.may_be(0, begin, end)
                    or any(w.begin <= end and begin <= w.end + SLACK for w in output.coming)
                ),
            }
            # A refusal whose reason has gone when it is looked up, in the cycle after the decision, is told so.
            unexplained = (
                Error.LOCKED if row.group is Group.LOCK else Error.NOT_READY if order.op & TEST else Error.BUSY
            )
            possible[unexplained] = (
                possible[unexplained]
                or any(tenure.passes(begin, end) for tenure in busy)
                or any(lock.passes(begin, end) for lock in locks)
            )
            if not (any(possible.values()) if silent else possible.get(error)):
                raise Violation(
                    f"{where}refused though output {order.param} was free"
                    if silent or error == Error.BUSY
                    else f"{where}refused as {error!r}"
                )
            if (
                not silent
                and row.group is Group.OPEN
                and error != Error.BUSY
                and any(tenure.certain(begin, end) for tenure in busy)
            ):
                raise Violation(f"{where}refused as {error!r} though it was in use")
