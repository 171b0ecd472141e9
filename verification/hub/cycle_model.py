"""A HUB in plain Python, cycle by cycle, with the timing of the prototype as far as the pins of an unloaded HUB show
it.

It exists to test the reference model and the traffic without hardware. It takes shortcuts that hardware cannot:
decisions need no arbiter, replies no bus. Supervisor commands that concern ports are not imitated, and there is no
watchdog."""

from collections import deque

from nectar.hdl.hub.commands import HELLO, HELLO_ASK, HELLO_HUB, Op
from nectar.hdl.hub.monitor_map import CounterId
from nectar.hdl.link.symbol import COMMAND_LENGTH, CONTROL_BIT, Control, reply

from .streams import CODES, owns
from .tables import Tables, answered

__all__ = ["CycleModel"]

#: Cycles from the pins to the head of the queue, and from a decision to the next move of the head.
INPUT, DECISION = 3, 5


class _Port:
    def __init__(self, index):
        self.index = index
        self.queue = deque()
        self.reply = None
        self.passing = 0
        self.closing = False
        self.hold = 0
        self.dropping = False
        self.crossbar = None
        self.register = None
        self.sending = deque()
        self.readies = 0
        self.replies = deque()


class CycleModel(Tables):
    """A HUB of ``ports`` ports with ID ``hub``; see Agents.simulate for how it is driven."""

    def __init__(self, ports, hub):
        super().__init__(ports, hub)
        self.ports = [_Port(index) for index in range(ports)]
        self.now = 0

    def offered(self):
        """The symbol that each port offers, or None."""
        return [port.register for port in self.ports]

    def idle(self):
        """Whether nothing is under way and nothing held."""
        return not any(
            p.queue or p.crossbar or p.register is not None or p.sending or p.readies or p.replies or p.hold
            for p in self.ports
        ) and not any(holder is not None for holder in self.owner + self.lock)

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

    def send_ready(self, port):
        self.ports[port].readies += 1

    def hello_ask(self, port):
        self.ports[port].replies.append([int(Control.REPLY), HELLO_ASK, self.hub, HELLO_HUB | port])

    def queue_level(self, port):
        return len(self.ports[port].queue)

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
                self.ready[port.index] = False
            if closes:
                self.owner[port.index] = None

    def _arrive(self, port, symbol):
        if symbol == Control.IDLE:
            return
        if symbol == Control.READY:
            self.ready[port.index] = True
            return
        if port.reply is not None and symbol & CONTROL_BIT:
            self.count(port.index, CounterId.REPLY_CUT)
            port.reply = None
        if symbol == Control.REPLY:
            port.reply = []
        elif port.reply is not None:
            port.reply.append(symbol)
            if len(port.reply) == 3:
                frame, port.reply = port.reply, None
                self._pass_reply(port, frame)
        elif symbol & CONTROL_BIT and symbol not in CODES:
            self.count(port.index, CounterId.RESERVED)
        else:
            port.queue.append((symbol, self.now + INPUT))
            if [queued for queued, _ in list(port.queue)[-4:-1]] == [
                Control.COMMAND,
                Op.FLUSH_REPLY,
                self.hub,
            ] and not symbol & CONTROL_BIT:
                self._flush(port)

    def _pass_reply(self, port, frame):
        if frame[0] in (HELLO, HELLO_ASK):
            self.neighbour[port.index] = (frame[1], frame[2])
            if frame[0] == HELLO_ASK:
                port.replies.append([int(Control.REPLY), HELLO, self.hub, HELLO_HUB | port.index])
            return
        owner = self.owner[port.index]
        if owner is None:
            self.count(port.index, CounterId.NO_ROUTE)
            return
        self.ports[owner].replies.append([int(Control.REPLY), *frame])
        if frame[0] == Op.CLOSE_ALL_REPLY:
            self.owner[port.index] = None

    def _flush(self, port):
        head = [symbol for symbol, _ in list(port.queue)[:COMMAND_LENGTH]]
        waits = (
            len(port.queue) > COMMAND_LENGTH
            and head[0] == Control.COMMAND
            and port.queue[3][1] <= self.now
            and not port.hold
        )
        if waits and owns(self.hub, head[1], head[2]):
            self._answer(port, head[1], self.obey(port.index, head[1], head[3], give_up=True))
        while len(port.queue) > COMMAND_LENGTH:
            port.queue.popleft()
        port.passing, port.closing = 0, False
        self.send_ready(port.index)

    def _head(self, port):
        if port.hold:
            port.hold -= 1
            return
        if (
            not port.queue
            or port.queue[0][1] > self.now
            or (port.closing and self.targets(port.index) and not port.passing)
        ):
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
            self.count(port.index, CounterId.COMMAND_CUT)
        elif len(known) < COMMAND_LENGTH:
            return
        elif not owns(self.hub, known[1], known[2]):
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
        outputs = [self.ports[o] for o in self.targets(port.index)]
        if any(output.crossbar for output in outputs):
            return
        if not outputs and not port.dropping and not port.closing:
            self.count(port.index, CounterId.NO_CONNECTION)
        port.dropping = not outputs and not port.closing
        port.queue.popleft()
        port.passing -= port.passing > 0
        for output in outputs:
            output.crossbar = (symbol, port.closing and port.passing == 0)
        port.readies += symbol == Control.START

    def _obey(self, port, op, param):
        """Whether the command is done with, done or refused."""
        answer = self.obey(port.index, op, param)
        if answer is None:
            return False
        port.hold = DECISION
        self._answer(port, op, answer)
        return True

    def _answer(self, port, op, answer):
        if answered(op):
            port.replies.append(reply(op, self.hub, answer.value, done=answer.done))
