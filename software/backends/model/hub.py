"""The HUBs of the pure-Python model.

Nothing here goes symbol by symbol: what travels is told in ``fiber``. Times are those of ``docs/hub.md`` and
``docs/engine.md``, but for the cycles that replies and ready signals steal.
"""

from collections import deque

from ....hdl.hub.commands import BY_OPCODE, RETRY, TEST, Error, Group, Op
from ....hdl.link.symbol import REPLY_BIT
from .commands import HubCommands
from .fiber import Command

__all__ = ["ModelHub", "QUEUE"]

#: Symbols that an input queue holds.
QUEUE = 1024 + 128
#: HUB cycles from a symbol at the input pins to the same at the output pins, and from a command's last byte to its
#: effect on what follows, so that set-up and transfer take 10.
_TRANSFER, _DECISION = 5, 6
_MAX_ERRORS = 255
#: HUB cycles of the watchdog, as after a reset.
_WATCHDOG = 1 << 20


class _Input:
    """The input side of a port."""

    __slots__ = ("queue", "free_at", "waits", "level", "moved_at", "watched")

    def __init__(self):
        self.queue = deque()  # (piece, time of its first symbol, of its last)
        self.free_at = 0  # from when on the next piece may leave
        self.waits = False  # whether the head is an open that waits for its output
        self.level = 0  # symbols behind it in the queue
        self.moved_at = 0  # when something left its head, or it got what it holds
        self.watched = False  # whether the watchdog is going to look


class ModelHub(HubCommands):
    """A HUB.

    Members
    -------
    fibers : dict of int → ModelFiber
        Out of each wired port.
    errors : list of int
        Counted at each port.
    ports : int
    """

    def __init__(self, machine, board, period_ps):
        self.machine = machine
        self.name = board.name
        self.id = board.id
        self.period_ps = period_ps
        self.fibers = {}
        self.ports = board.ports
        self.reset()

    def reset(self):
        """As the reset pin."""
        ports = self.ports
        self.errors = [0] * ports
        self._inputs = [_Input() for _ in range(ports)]
        self._source = [None] * ports  # input connected to each output
        self._ready = [True] * ports
        self._waiting = deque()  # inputs whose open waits, in the order of their coming
        self._disabled = set()
        self._begin_commands()

    # -- what comes in -------------------------------------------------------------------------------
    def arrive(self, arrival):
        port, piece, head, tail = arrival
        if port in self._disabled:
            if piece.start or isinstance(piece, Command):
                self._error(port)
            return
        side = self._inputs[port]
        if not side.watched:
            side.watched, side.moved_at = True, head
            self.machine.at(head + _WATCHDOG * self.period_ps, self._look, (port, side))
        if isinstance(piece, Command) and piece.hub == self.id and piece.opcode == Op.FLUSH_REPLY:
            self._empty(port, self.machine.time_ps)
        if side.waits:
            if side.level + piece.length > QUEUE:
                self._error(port)
                return
            side.level += piece.length
        side.queue.append((piece, head, tail))
        if len(side.queue) == 1:
            self._work(port)

    def signalled(self, signal):
        port, kind, value = signal
        now = self.machine.time_ps
        if port in self._disabled:
            if kind != "ready":
                self._error(port)
        elif kind == "ready":
            self._ready[port] = True
            self._retry(now)
        elif self._hello(port, value, now):
            pass
        elif self._source[port] is None:
            self._error(port)
        else:
            self.fibers[self._source[port]].signal("reply", now + _TRANSFER * self.period_ps, value)

    def _error(self, port):
        self.errors[port] = min(self.errors[port] + 1, _MAX_ERRORS)

    # -- the watchdog, and what happens to ports -----------------------------------------------------
    def _look(self, watched):
        """Whether an input stands still; looked at until it holds nothing."""
        port, side = watched
        if self._inputs[port] is not side:
            return
        now, patience = self.machine.time_ps, _WATCHDOG * self.period_ps
        if side.moved_at + patience <= now:
            side.moved_at = now
            if side.queue or port in self._source:
                self._time_out(port, side, now)
        side.watched = bool(side.queue) or port in self._source
        if side.watched:
            self.machine.at(side.moved_at + patience, self._look, (port, side))

    def _time_out(self, port, side, now):
        self._error(port)
        for output, source in enumerate(self._source):
            if source == port:
                self._source[output] = None
                self._ready[output] = True
        if side.waits:
            command = side.queue.popleft()[0]
            side.waits = False
            self._waiting.remove(port)
            if command.opcode & TEST and self._source[command.param] is None:
                self._ready[command.param] = True
            self._reply(port, command.opcode, Error.GIVEN_UP, False, now)
        self._retry(now)
        self._work(port)

    def enable(self, port, on):
        """Enables or disables a port, as the supervisor's commands do."""
        now = self.machine.time_ps
        if on:
            self._disabled.discard(port)
            self._ready[port] = True
            return
        self._disabled.add(port)
        self._inputs[port] = _Input()
        if port in self._waiting:
            self._waiting.remove(port)
        self._source = [
            None if source == port or output == port else source for output, source in enumerate(self._source)
        ]
        if port in self.fibers:
            self.fibers[port].signal("ready", now)
        self._retry(now)

    # -- the head of a queue -------------------------------------------------------------------------
    def _work(self, port):
        """Does all that can be done at the head of an input queue now; comes back when more can."""
        side, machine = self._inputs[port], self.machine
        while side.queue and not side.waits:
            now = machine.time_ps
            piece, head, tail = side.queue[0]
            own = isinstance(piece, Command) and self._ours(piece)
            if own:
                due = max(tail + _DECISION * self.period_ps, side.free_at)
            else:
                outputs = [output for output, source in enumerate(self._source) if source == port]
                due = max(
                    [
                        head + _TRANSFER * self.period_ps,
                        side.free_at,
                        *(self.fibers[o].free_at for o in outputs if o in self.fibers),
                    ]
                )
            if due > now:
                machine.at(due, self._work, port)
                return
            if own:
                if not self._execute(port, piece, now):
                    side.waits = True
                    side.level = sum(item[0].length for item in side.queue)
                    self._waiting.append(port)
                    return
                side.queue.popleft()
                side.moved_at = now
                side.free_at = now + _TRANSFER * self.period_ps
            else:
                side.queue.popleft()
                side.moved_at = now
                self._pass_on(port, side, piece, outputs, now)

    def _pass_on(self, port, side, piece, outputs, now):
        close = isinstance(piece, Command) and piece.opcode == Op.CLOSE_ALL
        end = now
        for output in outputs:
            if piece.start:
                self._ready[output] = False
            if output in self.fibers:
                end = max(end, self.fibers[output].send(piece, now))
        if not outputs:
            end = now + self.period_ps
            if not close:
                self._error(port)
        if piece.start and port in self.fibers:
            self.fibers[port].signal("ready", now)
        side.free_at = end
        if close and outputs:
            side.free_at = end + self.period_ps
            self.machine.at(end, self._close, (port, outputs))

    def _close(self, closing):
        port, outputs = closing
        for output in outputs:
            if self._source[output] == port:
                self._source[output] = None
        self._retry(self.machine.time_ps)

    # -- commands ------------------------------------------------------------------------------------
    def _retry(self, now):
        """Opens that wait are decided again, in their order."""
        for port in list(self._waiting):
            side = self._inputs[port]
            if self._execute(port, side.queue[0][0], now):
                self._waiting.remove(port)
                side.waits = False
                side.queue.popleft()
                side.moved_at = now
                side.free_at = now + _TRANSFER * self.period_ps
                self._work(port)

    def _execute(self, port, command, now):
        """Carries out a command for this HUB. Returns False if it must wait."""
        opcode, output = command.opcode, command.param
        opens = opcode >> 4 == Group.OPEN
        if opcode not in BY_OPCODE:
            self._error(port)
            self._reply(port, opcode, Error.UNKNOWN, False, now)
        elif not opens and (done := self._ask(port, opcode, output, now)) is not None:
            return done
        elif output >= len(self._source) or (opens and output == port):
            self._error(port)
            self._reply(port, opcode, Error.BAD_PORT, False, now)
        elif opens and output in self._disabled:
            self._error(port)
            self._reply(port, opcode, Error.DISABLED, False, now)
        elif opens:
            taken = (
                self._source[output] not in (None, port)
                or self._source[output] is None
                and self._locks[output] not in (None, port)
            )
            held = opcode & TEST and not self._ready[output]
            if not taken and not held:
                self._source[output] = port
                self._reply(port, opcode, output, True, now)
            elif opcode & RETRY:
                return False
            else:
                self._reply(port, opcode, Error.BUSY if taken else Error.NOT_READY, False, now)
        elif opcode in (Op.CLOSE, Op.CLOSE_REPLY):
            mine = self._source[output] == port
            if mine:
                self._source[output] = None
                self._retry(now)
            else:
                self._error(port)
            self._reply(port, opcode, output if mine else Error.NOT_MINE, mine, now)
        else:
            self._reply(port, opcode, output, True, now)
            self.enable(output, opcode == Op.ENABLE_REPLY)
        return True

    def _reply(self, port, opcode, value, done, now):
        if opcode & REPLY_BIT and port in self.fibers:
            word = (opcode & ~REPLY_BIT | done) << 16 | self.id << 8 | int(value)
            self.fibers[port].signal("reply", now, word)

    @property
    def connections(self):
        """(input, output) of each connection, by output."""
        return [(source, output) for output, source in enumerate(self._source) if source is not None]
