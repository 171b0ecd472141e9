"""The network of the pure-Python model: pieces of traffic, packets made of them, fibers, HUBs.

Nothing here goes symbol by symbol. A *piece* is a run of symbols that follow each other without a gap: a command, or a stretch
of a packet. What happens to a piece happens to its first symbol, and to its last one so much later. Times are
those of ``docs/hub.md`` and ``docs/engine.md``, but for the cycles that replies and ready signals steal.
"""

from collections import deque

from ...hdl.hub.commands import BY_OPCODE, RETRY, TEST, Error, Group, Op
from ...hdl.link.symbol import COMMAND_LENGTH, REPLY_BIT, Control
from .modelcommands import HubCommands
from .modelfaults import FiberFaults, frames

__all__ = ["Command", "Stretch", "Arrival", "ModelFiber", "ModelHub", "QUEUE"]

#: Symbols that an input queue holds.
QUEUE = 1024 + 128
#: HUB cycles from a symbol at the input pins to the same at the output pins, and from a command's last byte to its effect on
#: what follows, so that set-up and transfer take 10.
_TRANSFER, _DECISION = 5, 6
_MAX_ERRORS = 255
#: HUB cycles of the watchdog, as after a reset.
_WATCHDOG = 1 << 20


class Command:
    """A HUB command on its way."""

    __slots__ = ("opcode", "hub", "param")
    length = COMMAND_LENGTH
    start = end = False

    def __init__(self, opcode, hub, param):
        self.opcode = opcode
        self.hub = hub
        self.param = param

    @property
    def kind(self):
        """What faults call it."""
        return "close all" if self.opcode == Op.CLOSE_ALL else "command"

    def symbols(self):
        """Its symbols (a new list)."""
        return [Control.COMMAND, self.opcode, self.hub, self.param]


class Stretch:
    """Some symbols of a packet: its start, some of its bytes, its end."""

    __slots__ = ("data", "start", "end", "length")

    def __init__(self, data, start=False, end=False):
        self.data = data
        self.start = start
        self.end = end
        self.length = len(data) + start + end

    @property
    def kind(self):
        """What faults call it."""
        return "start" if self.start else "end" if self.end else "data"

    def symbols(self):
        """Its symbols (a new list)."""
        return [*[Control.START] * self.start, *self.data, *[Control.END] * self.end]


class Arrival:
    """A packet that arrives: its stretches, each with the times of its first and last symbol."""

    __slots__ = ("stretches", "ended", "cut", "lost", "check", "skip")

    def __init__(self):
        self.stretches = []
        self.ended = None      # time of its last symbol, once there is one
        self.cut = False       # ended by another start
        self.lost = False      # symbols of it found the queue full
        self.check = None      # what its checksum is, and the bytes that does not cover: known when it is opened
        self.skip = 0

    def bytes(self):
        return b"".join(stretch.data for stretch, _, _ in self.stretches)

    def count_by(self, time, symbol_ps):
        """Symbols that have arrived by ``time``."""
        return sum(min(stretch.length, (time - head) // symbol_ps + 1) for stretch, head, _ in self.stretches if head <= time)

    def header_at(self, symbol_ps, wanted):
        """When its header is known: with byte ``wanted``, or at its end. None as long as that is not known."""
        for stretch, head, _ in self.stretches:
            if len(stretch.data) >= wanted:
                return head + (wanted - 1 + stretch.start) * symbol_ps
            wanted -= len(stretch.data)
        return self.ended


class ModelFiber:
    """One direction of a pair.

    Parameters
    ----------
    machine : ModelMachine
    name : str
    target : board
    port : int or None
        The port at the target.
    """

    __slots__ = ("machine", "name", "target", "port", "symbol_ps", "delay_ps", "free_at", "_faults", "_arrived")

    def __init__(self, machine, name, target, port, symbol_ps, delay_ps):
        self.machine = machine
        self.name = name
        self.target = target
        self.port = port
        self.symbol_ps = symbol_ps
        self.delay_ps = delay_ps
        self.free_at = 0
        self._faults = None     # FiberFaults, once it has any
        self._arrived = 0       # then, when the last piece has arrived

    def fault(self, fault, key, begin_ps, end_ps):
        """Adds a fault on demand (``software.machine``)."""
        if self._faults is None:
            self._faults = FiberFaults(self.symbol_ps, self.delay_ps)
        rule = self._faults.add(fault, key, begin_ps, end_ps)
        if rule.what == "cut":
            lost = self.machine.forget(self.target, self.port, begin_ps)
            rule.hits += lost
            rule.symbols += lost
        return rule

    def send(self, piece, at):
        """Sends a piece as soon as the wire is free; returns the time from which on the wire takes the next."""
        start = max(at, self.free_at)
        self.free_at = start + piece.length * self.symbol_ps
        fate = self.machine.fate(self, piece.kind)
        if fate == "corrupt":
            data = bytearray(piece.data)
            data[len(data) // 2] ^= 0x10
            piece = Stretch(bytes(data), piece.start, piece.end)
        if self._faults is not None and fate != "drop":
            self._send_faulty(piece, start)
        elif fate != "drop":
            head = start + self.symbol_ps + self.delay_ps
            self.machine.at(head, self.target.arrive, (self.port, piece, head, head + (piece.length - 1) * self.symbol_ps))
        return self.free_at

    def signal(self, kind, at, value=None):
        """Sends a ready signal or a reply (``value``) between two symbols."""
        if self.machine.fate(self, kind) != "drop":
            length = 1 if kind == "ready" else COMMAND_LENGTH
            arrival = at + length * self.symbol_ps + self.delay_ps
            if self._faults is not None:
                self._signal_faulty(kind, at, value, length, arrival)
            else:
                self.machine.at(arrival, self.target.signalled, (self.port, kind, value))

    def _send_faulty(self, piece, start):
        """What the faults leave of a piece."""
        command = isinstance(piece, Command)
        low = 0 if command else int(piece.start)
        high = 0 if command else low + len(piece.data)
        delay, left = self._faults.strike("command" if command else None, start, piece.length, low, high, piece.start, piece.end,
                                          piece.symbols)
        symbol = self.symbol_ps
        first = max(start + symbol + self.delay_ps + delay, self._arrived)
        pieces = [(piece, 0, piece.length - 1)] if left is None else self._pieces(left)
        for item, head, tail in pieces:
            self._arrived = first + tail * symbol
            self.machine.at(first + head * symbol, self.target.arrive, (self.port, item, first + head * symbol, self._arrived))

    def _pieces(self, symbols):
        """(piece or signal, number of its first symbol, of its last) of what is left, but for signals that damage has made: it makes none."""
        for kind, data, begins, ends, head, tail in frames(symbols):
            yield (Command(*data) if kind == "command" else Stretch(data, begins, ends)), head, tail

    def _signal_faulty(self, kind, at, value, length, arrival):
        """What the faults leave of a signal."""
        def symbols():
            return [Control.READY] if kind == "ready" else [Control.REPLY, *value.to_bytes(3, "big")]

        delay, left = self._faults.strike(kind, at, length, 0, 0, False, False, symbols)
        signals = [(kind, value)] if left is None else [(what, int.from_bytes(data, "big") if what == "reply" else None)
                                                        for what, data, *_ in frames(left) if what == kind]
        for what, content in signals:
            self.machine.at(arrival + delay, self.target.signalled, (self.port, what, content))


class _Input:
    """The input side of a port."""

    __slots__ = ("queue", "free_at", "waits", "level", "moved_at", "watched")

    def __init__(self):
        self.queue = deque()    # (piece, time of its first symbol, of its last)
        self.free_at = 0        # from when on the next piece may leave
        self.waits = False      # whether the head is an open that waits for its output
        self.level = 0          # symbols behind it in the queue
        self.moved_at = 0       # when something left its head, or it got what it holds
        self.watched = False    # whether the watchdog is going to look


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
        self._source = [None] * ports     # input connected to each output
        self._ready = [True] * ports
        self._waiting = deque()           # inputs whose open waits, in the order of their coming
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
        self._source = [None if source == port or output == port else source for output, source in enumerate(self._source)]
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
                due = max([head + _TRANSFER * self.period_ps, side.free_at, *(self.fibers[o].free_at for o in outputs if o in self.fibers)])
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
            taken = self._source[output] not in (None, port) or self._source[output] is None and self._locks[output] not in (None, port)
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
