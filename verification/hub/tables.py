"""What a HUB knows between two events, and what each command does to it: docs/hub.md as plain Python.

No time passes here: a command is obeyed in one step, or waits. ``model.py`` makes a whole HUB of it that does one thing
after the other, ``cycle_model.py`` one that has a timing; ``reference.py`` judges a recording with it, and the benches
of the centre and of the response unit take their answers from it. The only other description of what commands do is the
fast HUB's (``sim/fast``).
"""

import copy
from typing import NamedTuple

from nectar.hdl.hub.commands import (
    COMMANDS,
    FORCE,
    HELLO_ASK,
    KIND_UNKNOWN,
    REPLY,
    STATUS_IN_USE,
    TEST,
    WATCHDOG_DEFAULT,
    WATCHDOG_MAX,
    Error,
    Executor,
    Group,
    Op,
)
from nectar.hdl.hub.monitor_map import COUNTER_BITS, ERRORS, Clear, CounterId, Flag, Select

__all__ = ["Answer", "Tables", "COUNTED", "answered"]

#: Refusals that are errors, and where they are counted; the others are no errors.
COUNTED = {
    Error.UNKNOWN: CounterId.UNKNOWN,
    Error.BAD_PORT: CounterId.BAD_PORT,
    Error.NOT_MINE: CounterId.NOT_MINE,
    Error.NOT_ALLOWED: CounterId.NOT_ALLOWED,
    Error.DISABLED: CounterId.DISABLED,
}
#: Commands whose parameter is a port, but not the own one.
_OTHER = {Op.CLOSE, Op.CLOSE_REPLY, Op.LOCK, Op.LOCK_REPLY, Op.LOCK_RETRY, Op.LOCK_RETRY_REPLY, Op.TEST_LOCK_REPLY}
#: Commands whose parameter is a port in its low seven bits.
_FORCED = {
    Op.LOOP_BACK_REPLY,
    Op.FORCE_CONNECTION_REPLY,
    Op.FORCE_LOCK_REPLY,
    Op.FORCE_READY_REPLY,
    Op.ALLOW_SUPERVISOR_REPLY,
}
#: Commands whose parameter is no port.
_NO_PORT = {
    Op.CLOSE_MINE,
    Op.CLOSE_MINE_REPLY,
    Op.CLOSE_ALL,
    Op.CLOSE_ALL_REPLY,
    Op.UNLOCK_MINE,
    Op.FLUSH_REPLY,
    Op.ECHO_REPLY,
    Op.IDENTITY_REPLY,
    Op.SIZE_REPLY,
    Op.RESET_HUB,
    Op.WATCHDOG_TIME_REPLY,
    Op.MONITOR_SELECT_REPLY,
    Op.MONITOR_READ_REPLY,
    Op.MONITOR_CLEAR_REPLY,
}


def answered(op):
    """Whether a command with opcode ``op`` is answered; the refusal of HELLO_ASK would be a hello, and is not sent."""
    return bool(op & REPLY) and op != HELLO_ASK


class Answer(NamedTuple):
    """How a command ended: done with a value, or refused with an error code."""

    done: bool
    value: int


class Tables:
    """Connections, locks, ready bits, the ports' state, neighbours and counters of a HUB.

    Parameters
    ----------
    ports : int
    hub : int
        Its ID.
    supervisors : iterable of int, optional
        Ports that may give supervisor commands after a reset; all if left out.
    commands : iterable of Command
        The commands that it knows.
    """

    def __init__(self, ports, hub, supervisors=None, commands=COMMANDS):
        self.size = ports
        self.hub = hub
        self.rows = {int(row.op): row for row in commands}
        self.supervisors = frozenset(range(ports) if supervisors is None else supervisors)
        self.reset()

    def reset(self):
        """As after the reset pin."""
        ports = range(self.size)
        #: The input connected to each output, and the one that has locked it, or None.
        self.owner = [None] * self.size
        self.lock = [None] * self.size
        self.ready = [True] * self.size
        self.enabled = [True] * self.size
        self.looped = [False] * self.size
        self.allowed = [port in self.supervisors for port in ports]
        #: (ID, kind) that the board at a port's other end has told, or None.
        self.neighbour = [None] * self.size
        self.watchdog = WATCHDOG_DEFAULT
        self.selected = 0
        self.counters = [[0] * len(CounterId) for _ in ports]
        self.sums = [0] * self.size

    def copy(self):
        """Others in the same state."""
        return copy.deepcopy(self, {id(self.rows): self.rows})

    def may_start(self, o):
        """Whether there is room for a packet behind an output."""
        return self.ready[o]

    def targets(self, port):
        """The outputs connected to an input."""
        return [o for o, owner in enumerate(self.owner) if owner == port]

    def count(self, port, counter, times=1):
        """Counts an event at a port."""
        self.counters[port][counter] = min(self.counters[port][counter] + times, (1 << COUNTER_BITS) - 1)
        if counter in ERRORS:
            self.sums[port] = min(self.sums[port] + times, 255)

    # What a command does to the ports beside the tables: a HUB that has ports does it.

    def throw_queue(self, port):
        """Throws away what is in the input queue and ends a command that waits there."""

    def send_ready(self, port):
        """Sends a ready signal out of a port."""

    def hello_ask(self, port):
        """Sends a question to the neighbour."""

    def queue_level(self, port):
        """Symbols in an input queue."""
        return 0

    def expire(self, port, waiting=None):
        """The watchdog ends what stands still at ``port``, where the command ``waiting`` (opcode, parameter) waits."""
        self.count(port, CounterId.TIMED_OUT)
        outputs = self.targets(port)
        if waiting and (waiting[0] == Op.AWAIT_READY_REPLY or waiting[0] & TEST) and self.owner[waiting[1]] is None:
            outputs.append(waiting[1])
        for o in outputs:
            self.ready[o] = True
        self._leave(port)

    def obey(self, port, op, param, give_up=False):
        """Obeys a command that arrived at ``port``: an Answer, or None if it waits. With ``give_up`` it does not
        wait."""
        row = self.rows.get(op)
        error = self._error(port, row, op, param)
        if error is not None:
            if error in COUNTED:
                self.count(port, COUNTED[error])
            return Answer(False, error)
        if row.waits and self._must_wait(port, row, param):
            return Answer(False, Error.GIVEN_UP) if give_up else None
        return Answer(True, self._do(port, row, param))

    # Errors

    def _error(self, port, row, op, param):
        """Why the command is refused, or None."""
        if row is None:
            return Error.UNKNOWN
        if row.supervisor and not self.allowed[port]:
            return Error.NOT_ALLOWED
        if self.bad_port(port, row, param):
            return Error.BAD_PORT
        if (
            row.executor is Executor.CONTROLLER
            and Error.DISABLED in row.errors
            and not self._clears(row, param)
            and not self.enabled[param & ~FORCE if op in _FORCED else param]
        ):
            return Error.DISABLED
        if Error.NOT_MINE in row.errors and not self._mine(port, row, param):
            return Error.NOT_MINE
        if row.waits:
            return None
        if not row.supervisor and row.group is Group.OPEN:
            return self._blocked(port, row, param)
        if Error.LOCKED in row.errors and self.lock[param] not in (None, port):
            return Error.LOCKED
        return None

    @staticmethod
    def _clears(row, param):
        return row.op in _FORCED and not param & FORCE

    def bad_port(self, port, row, param):
        """Whether the command ``row`` with this parameter is refused as BAD_PORT at ``port``."""
        op = row.op
        if op in _NO_PORT:
            return {
                Op.WATCHDOG_TIME_REPLY: param != 0 and not 4 <= param <= WATCHDOG_MAX,
                Op.MONITOR_SELECT_REPLY: param >= self.size and param not in list(Select),
                Op.MONITOR_CLEAR_REPLY: param >= self.size and param not in list(Clear),
            }.get(op, False)
        o = param & ~FORCE if op in _FORCED else param
        if o >= self.size:
            return True
        other = (
            op in _OTHER
            or not row.supervisor
            and row.group is Group.OPEN
            or op == Op.FORCE_CONNECTION_REPLY
            and param & FORCE
        )
        return bool(other and o == port)

    def _mine(self, port, row, param):
        if row.op in (Op.UNLOCK, Op.UNLOCK_REPLY):
            return self.lock[param] == port
        return self.owner[param] == port or row.op == Op.REPAIR_READY and param == port

    def _blocked(self, port, row, o):
        """Why an open of output ``o`` cannot be granted now, or None."""
        if self.owner[o] != port:
            if self.owner[o] is not None:
                return Error.BUSY
            if self.lock[o] not in (None, port):
                return Error.LOCKED
        return Error.NOT_READY if row.op & TEST and not self.may_start(o) else None

    def _must_wait(self, port, row, param):
        if row.op == Op.AWAIT_READY_REPLY:
            return not self.may_start(param)
        if row.group is Group.OPEN:
            return self._blocked(port, row, param) is not None
        return self.lock[param] not in (None, port)

    # Effects

    def _connect(self, port, o):
        if self.owner[o] != port:
            self.owner[o] = port
            self.count(port, CounterId.OPENED)

    def _leave(self, port):
        """Closes the connections of an input and gives its locks back."""
        self.owner = [None if owner == port else owner for owner in self.owner]
        self.lock = [None if lock == port else lock for lock in self.lock]

    def _do(self, port, row, param):
        """Does what can be done, and returns the value of the reply."""
        if row.supervisor:
            return self._supervise(port, row.op, param)
        return {
            Group.OPEN: self._open,
            Group.CLOSE: self._close,
            Group.LOCK: self._lock,
            Group.STATUS: self._status,
            Group.FLOW: self._flow,
            Group.ECHO: self._echo,
        }[row.group](port, row.op, param)

    def _open(self, port, op, param):
        self._connect(port, param)
        return param

    def _close(self, port, op, param):
        for o in [param] if op in (Op.CLOSE, Op.CLOSE_REPLY) else self.targets(port):
            self.owner[o] = None
        return param

    def _lock(self, port, op, param):
        if op == Op.UNLOCK_MINE:
            self.lock = [None if lock == port else lock for lock in self.lock]
        elif op in (Op.UNLOCK, Op.UNLOCK_REPLY):
            self.lock[param] = None
        elif op != Op.TEST_LOCK_REPLY:
            self.lock[param] = port
        return param

    def _status(self, port, op, param):
        if op in (Op.STATUS_NEIGHBOUR, Op.STATUS_KIND):
            known = self.neighbour[param] or (0, KIND_UNKNOWN)
            if op == Op.STATUS_KIND:
                return known[1]
            self.neighbour[param] = None
            self.hello_ask(param)
            return known[0]
        if op in (Op.STATUS_OUTPUT, Op.STATUS_LOCK):
            found = (self.owner if op == Op.STATUS_OUTPUT else self.lock)[param]
            return 0 if found is None else STATUS_IN_USE | found
        return {
            Op.STATUS_ERRORS: lambda: self.sums[param],
            Op.STATUS_INPUT: lambda: len(self.targets(param)),
            Op.STATUS_QUEUE: lambda: min(self.queue_level(param), 255),
            Op.STATUS_READY: lambda: int(self.ready[param]),
        }[op]()

    def _flow(self, port, op, param):
        if op == Op.REPAIR_READY:
            self.send_ready(param)
        elif op in (Op.RAISE_READY, Op.LOWER_READY):
            self.ready[param] = op == Op.RAISE_READY
        return param

    def _echo(self, port, op, param):
        return {Op.ECHO_REPLY: param, Op.IDENTITY_REPLY: port, Op.SIZE_REPLY: self.size}[op]

    def _supervise(self, port, op, param):
        o, begin = (param & ~FORCE, bool(param & FORCE)) if op in _FORCED else (param, False)
        if op in (Op.DISABLE_REPLY, Op.RESET_PORT_REPLY):
            self._leave(o)
            self.owner[o] = None
        if op in (Op.ENABLE_REPLY, Op.RESET_PORT_REPLY):
            self.ready[o] = True  # before a command is given up that may wait for it
        if op in (Op.DISABLE_REPLY, Op.RESET_QUEUE_REPLY, Op.RESET_PORT_REPLY):
            self.count(o, CounterId.FLUSHED)
            self.throw_queue(o)
        if op in (Op.DISABLE_REPLY, Op.ENABLE_REPLY):
            self.enabled[o] = op == Op.ENABLE_REPLY
        if op == Op.RESET_PORT_REPLY:
            self.lock[o] = None
        if op in (Op.ENABLE_REPLY, Op.RESET_PORT_REPLY):
            self.hello_ask(o)
        if op == Op.LOOP_BACK_REPLY:
            self.looped[o] = begin
        elif op == Op.ALLOW_SUPERVISOR_REPLY:
            self.allowed[o] = begin
        elif op == Op.FORCE_READY_REPLY:
            self.ready[o] = begin
        elif op == Op.FORCE_LOCK_REPLY:
            self.lock[o] = port if begin else None
        elif op == Op.FORCE_CONNECTION_REPLY:
            if begin:
                self._connect(port, o)
            else:
                self.owner[o] = None
        elif op == Op.RESET_HUB:
            self.reset()
        elif op == Op.WATCHDOG_TIME_REPLY:
            self.watchdog = param
        return o if op in _FORCED else self._monitor(op, param)

    def _monitor(self, op, param):
        if op == Op.MONITOR_SELECT_REPLY:
            self.selected = param
        elif op == Op.MONITOR_CLEAR_REPLY and param < self.size:
            self.counters[param] = [0] * len(CounterId)
        elif op == Op.MONITOR_READ_REPLY:
            return self._shown(param)
        return param

    def _shown(self, offset):
        """A byte of what the monitor shows: counters and flags; the rest is the recorder's."""
        if self.selected < self.size and offset < 2 * len(CounterId):
            return self.counters[self.selected][offset >> 1] >> (0 if offset & 1 else 8) & 0xFF
        if self.selected == Select.FLAGS and offset < self.size:
            return self.flags(offset)
        return 0

    def flags(self, port):
        """A port's state as the monitor shows it."""
        bits = {
            Flag.ENABLED: self.enabled[port],
            Flag.LOOPED: self.looped[port],
            Flag.SUPERVISOR: self.allowed[port],
            Flag.READY: self.ready[port],
            Flag.CONNECTED: self.owner[port] is not None,
            Flag.LOCKED: self.lock[port] is not None,
        }
        return sum(flag for flag, state in bits.items() if state)
