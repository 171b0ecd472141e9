"""Commands of the pure-Python model's HUB that ask, mend and lock, and the hellos of neighbours: what
``docs/commands.md`` says of them.

What the model does not have is refused as UNKNOWN: close all reply, loop back, force connection and lock, watchdog
time, the monitor, allow supervisor."""

from ....hdl.hub.commands import (
    FORCE,
    HELLO,
    HELLO_ASK,
    HELLO_HUB,
    KIND_UNKNOWN,
    RETRY,
    STATUS_IN_USE,
    Error,
    Group,
    Op,
)
from ....hdl.link.symbol import ANY_HUB

__all__ = ["HubCommands"]

_MISSING = {
    Op.LOOP_BACK_REPLY,
    Op.FORCE_CONNECTION_REPLY,
    Op.FORCE_LOCK_REPLY,
    Op.WATCHDOG_TIME_REPLY,
    Op.MONITOR_SELECT_REPLY,
    Op.MONITOR_READ_REPLY,
    Op.MONITOR_CLEAR_REPLY,
    Op.ALLOW_SUPERVISOR_REPLY,
    Op.CLOSE_ALL_REPLY,
}
#: HUB cycles from the last symbol of a hello that asks to the first of the answer.
_HELLO = 6


class HubCommands:
    """The part of a ModelHub that is not about connections."""

    def _begin_commands(self):
        """As after a reset."""
        self._locks = [None] * self.ports  # input that has locked each output
        self._neighbours = [None] * self.ports  # last hello at each port: (kind, ID)

    # -- neighbours ----------------------------------------------------------------------------------
    def _hello(self, port, word, now):
        """Takes a hello; True if the reply frame ``word`` is one."""
        opcode = word >> 16
        if opcode not in (HELLO, HELLO_ASK):
            return False
        self._neighbours[port] = word & 0xFF, word >> 8 & 0xFF
        if opcode == HELLO_ASK:
            self._say_hello(port, HELLO, now + _HELLO * self.period_ps)
        return True

    def _say_hello(self, port, opcode, at):
        if port in self.fibers:
            self.fibers[port].signal("reply", at, opcode << 16 | self.id << 8 | HELLO_HUB | port)

    # -- commands ------------------------------------------------------------------------------------
    def _ours(self, command):
        """Whether a command at the head of a queue is for this HUB."""
        opcode = command.opcode
        return opcode != Op.CLOSE_ALL and (
            command.hub == self.id or command.hub == ANY_HUB and opcode >> 4 == Group.ECHO
        )

    def _ask(self, port, opcode, param, now):
        """Carries out a command that is not *open*. False: it must wait; None: it is one that is done elsewhere."""
        if opcode in _MISSING:
            self._error(port)
            self._reply(port, opcode, Error.UNKNOWN, False, now)
        elif opcode == Op.RESET_HUB:
            self.reset()
        elif opcode == Op.ECHO_REPLY or opcode == Op.FLUSH_REPLY:
            self._reply(port, opcode, param, True, now)
        elif opcode == Op.IDENTITY_REPLY:
            self._reply(port, opcode, port, True, now)
        elif opcode == Op.SIZE_REPLY:
            self._reply(port, opcode, self.ports, True, now)
        elif opcode in (Op.CLOSE_MINE, Op.CLOSE_MINE_REPLY):
            self._source = [None if source == port else source for source in self._source]
            self._reply(port, opcode, param, True, now)
            self._retry(now)
        elif opcode == Op.UNLOCK_MINE:
            self._locks = [None if owner == port else owner for owner in self._locks]
            self._retry(now)
        elif opcode == Op.FORCE_READY_REPLY and param & ~FORCE < self.ports:
            self._ready[param & ~FORCE] = bool(param & FORCE)
            self._reply(port, opcode, param & ~FORCE, True, now)
            self._retry(now)
        elif param >= self.ports:
            return None
        elif opcode >> 4 == Group.STATUS:
            self._reply(port, opcode, self._status(opcode, param, now), True, now)
        elif opcode >> 4 == Group.FLOW:
            return self._flow(port, opcode, param, now)
        elif opcode >> 4 == Group.LOCK:
            return self._lock(port, opcode, param, now)
        elif opcode in (Op.RESET_QUEUE_REPLY, Op.RESET_PORT_REPLY):
            self._empty(param, now)
            if opcode == Op.RESET_PORT_REPLY:
                self._source = [
                    None if source == param or output == param else source for output, source in enumerate(self._source)
                ]
                self._ready[param] = True
                self._neighbours[param] = None
                self._say_hello(param, HELLO_ASK, now)
                self._retry(now)
            self._reply(port, opcode, param, True, now)
        else:
            return None
        return True

    def _status(self, opcode, param, now):
        """The value that a status command of group *status* is answered."""
        if opcode == Op.STATUS_NEIGHBOUR:
            known, self._neighbours[param] = self._neighbours[param], None
            self._say_hello(param, HELLO_ASK, now)
            return 0 if known is None else known[1]
        if opcode == Op.STATUS_KIND:
            return KIND_UNKNOWN if self._neighbours[param] is None else self._neighbours[param][0]
        if opcode in (Op.STATUS_OUTPUT, Op.STATUS_LOCK):
            holder = (self._source if opcode == Op.STATUS_OUTPUT else self._locks)[param]
            return 0 if holder is None else STATUS_IN_USE | holder
        if opcode == Op.STATUS_INPUT:
            return self._source.count(param)
        if opcode == Op.STATUS_READY:
            return int(self._ready[param])
        if opcode == Op.STATUS_ERRORS:
            return self.errors[param]
        return min(sum(piece.length for piece, _, _ in self._inputs[param].queue), 255)

    def _flow(self, port, opcode, output, now):
        if opcode == Op.AWAIT_READY_REPLY:
            if not self._ready[output]:
                return False
            self._reply(port, opcode, output, True, now)
        elif self._source[output] != port and not (opcode == Op.REPAIR_READY and output == port):
            self._error(port)
        elif opcode == Op.REPAIR_READY:
            if output in self.fibers:
                self.fibers[output].signal("ready", now)
        else:
            self._ready[output] = opcode == Op.RAISE_READY
            self._retry(now)
        return True

    def _lock(self, port, opcode, output, now):
        owner = self._locks[output]
        unlock = opcode in (Op.UNLOCK, Op.UNLOCK_REPLY)
        if unlock and owner != port or not unlock and output == port:
            error = Error.NOT_MINE if unlock else Error.BAD_PORT
            self._error(port)
            self._reply(port, opcode, error, False, now)
        elif not unlock and owner not in (None, port):
            if opcode & RETRY:
                return False
            self._reply(port, opcode, Error.LOCKED, False, now)
        else:
            if opcode != Op.TEST_LOCK_REPLY:
                self._locks[output] = None if unlock else port
            self._reply(port, opcode, output, True, now)
            self._retry(now)
        return True

    def _empty(self, port, now):
        """Throws away what is in an input queue; a command that waits there is given up."""
        side = self._inputs[port]
        if side.waits:
            side.waits = False
            self._waiting.remove(port)
        side.queue.clear()
        side.moved_at = now
        if port in self.fibers:
            self.fibers[port].signal("ready", now)
