"""A HUB in plain Python, cycle by cycle, with the timing of the prototype as far as the pins of an unloaded HUB show it.

It exists to test the reference model and the traffic without hardware. It takes shortcuts that hardware cannot: decisions need
no arbiter, replies no bus.
"""

from collections import deque

from nectar.hdl.hub.commands import BY_OPCODE, REPLY, RETRY, STATUS_CONNECTED, TEST, Error, Group, Op
from nectar.hdl.link.symbol import COMMAND_LENGTH, CONTROL_BIT, Control, reply

from .streams import CODES

__all__ = ["Imitation"]

#: Cycles from the pins to the head of the queue, and from a decision to the next move of the head.
INPUT, DECISION = 3, 5


class _Port:
    def __init__(self):
        self.queue = deque()
        self.reply = None
        self.head = []
        self.passing = 0
        self.closing = False
        self.hold = 0
        self.dropping = False
        self.outputs = set()
        self.crossbar = None
        self.register = None
        self.sending = deque()
        self.readies = 0
        self.replies = deque()
        self.ready = True
        self.errors = 0


class Imitation:
    """A HUB of ``ports`` ports with ID ``hub``; see Bed.simulate for how it is driven."""

    def __init__(self, ports, hub):
        self.hub = hub
        self.ports = [_Port() for _ in range(ports)]
        self.now = 0

    def offered(self):
        """The symbol that each port offers, or None."""
        return [port.register for port in self.ports]

    def idle(self):
        """Whether nothing is under way."""
        return not any(p.queue or p.crossbar or p.register is not None or p.sending or p.readies or p.replies or p.hold
                       for p in self.ports)

    def clock(self, arriving, ready):
        """One clock edge."""
        for port, taken in zip(self.ports, ready):
            self._send(port, taken)
        for port in self.ports:
            self._head(port)
        for port, symbol in zip(self.ports, arriving):
            if symbol is not None:
                self._arrive(port, symbol)
        self.now += 1

    def _owner(self, port):
        index = self.ports.index(port)
        return next((source for source in self.ports if index in source.outputs), None)

    def _send(self, port, taken):
        if port.register is not None and not taken:
            return
        port.register = None
        if port.readies:
            port.readies -= 1
            port.register = int(Control.READY)
        elif port.sending or port.replies:
            port.sending = port.sending or deque(port.replies.popleft())
            port.register = port.sending.popleft()
        elif port.crossbar:
            port.register, closes = port.crossbar
            port.crossbar = None
            if port.register == Control.START:
                port.ready = False
            if closes:
                self._owner(port).outputs.discard(self.ports.index(port))

    def _arrive(self, port, symbol):
        if symbol == Control.IDLE:
            return
        if symbol == Control.READY:
            port.ready = True
            return
        if port.reply is not None and symbol & CONTROL_BIT:
            port.errors += 1
            port.reply = None
        if symbol == Control.REPLY:
            port.reply = []
        elif port.reply is not None:
            port.reply.append(symbol)
            if len(port.reply) == 3:
                owner = self._owner(port)
                if owner:
                    owner.replies.append([int(Control.REPLY), *port.reply])
                port.errors += owner is None
                port.reply = None
        elif symbol & CONTROL_BIT and symbol not in CODES:
            port.errors += 1
        else:
            port.queue.append((symbol, self.now + INPUT))

    def _head(self, port):
        if port.hold:
            port.hold -= 1
            return
        if not port.queue or port.queue[0][1] > self.now or (port.closing and port.outputs and not port.passing):
            return
        port.closing = port.closing and port.passing > 0
        if port.queue[0][0] == Control.COMMAND:
            self._command(port)
        else:
            self._pass(port)

    def _command(self, port):
        known = [symbol for symbol, at in list(port.queue)[:COMMAND_LENGTH] if at <= self.now]
        cut = next((length for length in range(1, len(known)) if known[length] & CONTROL_BIT), None)
        if cut:
            port.errors += 1
        elif len(known) < COMMAND_LENGTH:
            return
        elif known[1] == Op.CLOSE_ALL or known[2] != self.hub:
            port.passing, port.closing = COMMAND_LENGTH, known[1] == Op.CLOSE_ALL
            self._pass(port)
            return
        elif not self._obey(port, known[1], known[3]):
            return
        else:
            port.dropping = False
        for _ in range(cut or COMMAND_LENGTH):
            port.queue.popleft()

    def _pass(self, port):
        symbol = port.queue[0][0]
        outputs = [self.ports[o] for o in port.outputs]
        if any(output.crossbar for output in outputs):
            return
        port.errors += not outputs and not port.dropping and not port.closing
        port.dropping = not outputs and not port.closing
        port.queue.popleft()
        port.passing -= port.passing > 0
        for output in outputs:
            output.crossbar = (symbol, port.closing and port.passing == 0)
        port.readies += symbol == Control.START

    def _obey(self, port, op, param):
        """Whether the command is done with, done or refused."""
        index = self.ports.index(port)
        row = BY_OPCODE.get(op)
        if row is None:
            return self._answer(port, op, error=Error.UNKNOWN)
        if param >= len(self.ports) or (row.group in (Group.OPEN, Group.CLOSE) and param == index):
            return self._answer(port, op, error=Error.BAD_PORT)
        target = self.ports[param]
        owner = self._owner(target)
        if row.op == Op.STATUS_OUTPUT:
            return self._answer(port, op, value=STATUS_CONNECTED | self.ports.index(owner) if owner else 0)
        if row.op == Op.STATUS_ERRORS:
            return self._answer(port, op, value=min(target.errors, 255))
        if row.op == Op.CLOSE:
            port.errors += param not in port.outputs
            port.outputs.discard(param)
            return True
        if owner not in (None, port) or (op & TEST and not target.ready):
            return not op & RETRY
        port.outputs.add(param)
        port.hold = DECISION
        return self._answer(port, op, value=param)

    def _answer(self, port, op, *, value=0, error=None):
        port.errors += error is not None
        if op & REPLY:
            port.replies.append(reply(op, self.hub, value if error is None else error, done=error is None))
        return True
