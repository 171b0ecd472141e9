"""The network of the pure-Python model: pieces of traffic, packets made of them, fibers, HUBs.

Nothing here goes symbol by symbol. A *piece* is a run of symbols that follow each other without a gap: a command, or a stretch
of a packet. What happens to a piece happens to its first symbol, and to its last one so much later. Times are
those of ``docs/hub.md`` and ``docs/engine.md``, but for the cycles that replies and ready signals steal.
"""

from collections import deque

from ...hdl.hub.commands import BY_OPCODE, RETRY, STATUS_IN_USE, TEST, Error, Group, Op
from ...hdl.link.symbol import COMMAND_LENGTH, REPLY_BIT

__all__ = ["Command", "Stretch", "Arrival", "ModelFiber", "ModelHub", "QUEUE"]

#: Symbols that an input queue holds.
QUEUE = 1024 + 128
#: HUB cycles from a symbol at the input pins to the same at the output pins, and from a command's last byte to its effect on
#: what follows, so that set-up and transfer take 10.
_TRANSFER, _DECISION = 5, 6
_MAX_ERRORS = 255


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

    __slots__ = ("machine", "name", "target", "port", "symbol_ps", "delay_ps", "free_at")

    def __init__(self, machine, name, target, port, symbol_ps, delay_ps):
        self.machine = machine
        self.name = name
        self.target = target
        self.port = port
        self.symbol_ps = symbol_ps
        self.delay_ps = delay_ps
        self.free_at = 0

    def send(self, piece, at):
        """Sends a piece as soon as the wire is free; returns the time from which on the wire takes the next."""
        start = max(at, self.free_at)
        self.free_at = start + piece.length * self.symbol_ps
        fate = self.machine.fate(self, piece.kind)
        if fate == "corrupt":
            data = bytearray(piece.data)
            data[len(data) // 2] ^= 0x10
            piece = Stretch(bytes(data), piece.start, piece.end)
        if fate != "drop":
            head = start + self.symbol_ps + self.delay_ps
            self.machine.at(head, self.target.arrive, (self.port, piece, head, head + (piece.length - 1) * self.symbol_ps))
        return self.free_at

    def signal(self, kind, at, value=None):
        """Sends a ready signal or a reply (``value``) between two symbols."""
        if self.machine.fate(self, kind) != "drop":
            length = 1 if kind == "ready" else COMMAND_LENGTH
            self.machine.at(at + length * self.symbol_ps + self.delay_ps, self.target.signalled, (self.port, kind, value))


class _Input:
    """The input side of a port."""

    __slots__ = ("queue", "free_at", "waits", "level")

    def __init__(self):
        self.queue = deque()    # (piece, time of its first symbol, of its last)
        self.free_at = 0        # from when on the next piece may leave
        self.waits = False      # whether the head is an open that waits for its output
        self.level = 0          # symbols behind it in the queue


class ModelHub:
    """A HUB.

    Members
    -------
    fibers : dict of int → ModelFiber
        Out of each wired port.
    errors : list of int
        Counted at each port.
    """

    def __init__(self, machine, board, period_ps):
        self.machine = machine
        self.name = board.name
        self.id = board.id
        self.period_ps = period_ps
        self.fibers = {}
        self.errors = [0] * board.ports
        self._inputs = [_Input() for _ in range(board.ports)]
        self._source = [None] * board.ports     # input connected to each output
        self._ready = [True] * board.ports
        self._waiting = deque()                 # inputs whose open waits, in the order of their coming

    # -- what comes in -------------------------------------------------------------------------------
    def arrive(self, arrival):
        port, piece, head, tail = arrival
        side = self._inputs[port]
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
        if kind == "ready":
            self._ready[port] = True
            self._retry(now)
        elif self._source[port] is None:
            self._error(port)
        else:
            self.fibers[self._source[port]].signal("reply", now + _TRANSFER * self.period_ps, value)

    def _error(self, port):
        self.errors[port] = min(self.errors[port] + 1, _MAX_ERRORS)

    # -- the head of a queue -------------------------------------------------------------------------
    def _work(self, port):
        """Does all that can be done at the head of an input queue now; comes back when more can."""
        side, machine = self._inputs[port], self.machine
        while side.queue and not side.waits:
            now = machine.time_ps
            piece, head, tail = side.queue[0]
            own = isinstance(piece, Command) and piece.hub == self.id and piece.opcode != Op.CLOSE_ALL
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
                side.free_at = now + _TRANSFER * self.period_ps
            else:
                side.queue.popleft()
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
                side.free_at = now + _TRANSFER * self.period_ps
                self._work(port)

    def _execute(self, port, command, now):
        """Carries out a command for this HUB. Returns False if it must wait."""
        opcode, output = command.opcode, command.param
        opens = opcode >> 4 & 7 == Group.OPEN
        if opcode not in BY_OPCODE:
            self._error(port)
            self._reply(port, opcode, Error.UNKNOWN, False, now)
        elif output >= len(self._source) or (opens and output == port):
            self._error(port)
            self._reply(port, opcode, Error.BAD_PORT, False, now)
        elif opens:
            taken = self._source[output] not in (None, port)
            held = opcode & TEST and not self._ready[output]
            if not taken and not held:
                self._source[output] = port
                self._reply(port, opcode, output, True, now)
            elif opcode & RETRY:
                return False
            else:
                self._reply(port, opcode, Error.BUSY if taken else Error.NOT_READY, False, now)
        elif opcode == Op.CLOSE:
            if self._source[output] == port:
                self._source[output] = None
                self._retry(now)
            else:
                self._error(port)
        elif opcode == Op.STATUS_OUTPUT:
            source = self._source[output]
            self._reply(port, opcode, 0 if source is None else STATUS_IN_USE | source, True, now)
        else:
            self._reply(port, opcode, self.errors[output], True, now)
        return True

    def _reply(self, port, opcode, value, done, now):
        if opcode & REPLY_BIT and port in self.fibers:
            word = (opcode & ~REPLY_BIT | done) << 16 | self.id << 8 | int(value)
            self.fibers[port].signal("reply", now, word)

    @property
    def connections(self):
        """(input, output) of each connection, by output."""
        return [(source, output) for output, source in enumerate(self._source) if source is not None]
