"""Random legal traffic for all ports of a HUB at once.

Each port has a ``Neighbour``: a source that sends transactions like a datalink's and honours flow control, and behind
the same port a HUB that executes the commands for it, answers starts with ready (sometimes late) and commands with
replies. Legal means here: nothing can deadlock (outputs of a multicast are opened in ascending order), no queue can
overflow (a packet waits for the ready of the last one), no more than two replies are outstanding, and packets tell who
sent them. Wrong commands are part of it."""

import heapq

from nectar.hdl.hub.commands import BY_OPCODE, COMMANDS, HELLO, HELLO_ASK, HELLO_HUB, REPLY, Group, Op
from nectar.hdl.link.symbol import ANY_HUB, CONTROL_BIT, Control, command, packet, reply

from .monitors import Endpoint, always
from .tables import answered

__all__ = ["Neighbour", "neighbour_hub", "UNASKED", "transactions", "audit"]

#: Steps of a source between symbols: wait until the last packet's start has left the queue; a reply will come; wait for
#: it.
ROOM, ASKED, REPLIED = "room", "asked", "replied"
#: Opcode of replies that nobody asked for.
UNASKED = 0x71

_UNKNOWN = [op for op in range(256) if op not in {int(row.op) for row in COMMANDS}]
_USER = [row.op for row in COMMANDS if not row.supervisor]
_RESERVED = [code for code in range(CONTROL_BIT, 2 * CONTROL_BIT) if code not in list(Control)]


def neighbour_hub(port):
    """HUB ID of the HUB that stands at ``port``; never that of the HUB under test, which is below 128."""
    return 0x80 + port


class Neighbour(Endpoint):
    """A source and a HUB behind ``port``.

    Parameters
    ----------
    port : int
    rng : random.Random
        Where chance comes from.
    steps : iterator
        What to send: symbols and ROOM, ASKED, REPLIED.
    gap : float
        Share of cycles in which the source pauses between symbols.
    take : callable
        See Endpoint.
    late : float
        Share of ready signals and replies that come up to 200 cycles late.
    """

    def __init__(self, port, rng, steps, *, gap=0.0, take=always, late=0.1):
        super().__init__(take)
        self.port = port
        self.rng = rng
        self.gap = gap
        self.late = late
        self._steps = iter(steps)
        self._step = next(self._steps, None)
        self._due = []
        self._inserting = []
        self._room = True
        self._asked = 0
        self._reply = None
        self._command = None
        self._count = 0

    def _delay(self):
        return self.rng.randrange(200) if self.rng.random() < self.late else self.rng.randrange(1, 8)

    def _insert(self, cycle, symbols):
        self._count += 1
        heapq.heappush(self._due, (cycle + self._delay(), self._count, symbols))

    def unasked(self, cycle, value):
        """Sends a reply that nobody asked for."""
        self._insert(cycle, reply(UNASKED, neighbour_hub(self.port), value))

    def drive(self, cycle):
        """The symbol that arrives at the HUB in this cycle: ready signals and replies first, between any two of the
        source."""
        if self._due and self._due[0][0] <= cycle:
            ready = self._due[0][2] == [Control.READY]
            if ready or not self._inserting:
                symbols = heapq.heappop(self._due)[2]
                if ready:
                    return symbols[0]
                self._inserting = list(symbols)
        if self._inserting:
            return self._inserting.pop(0)
        if self.gap and self.rng.random() < self.gap:
            return int(Control.IDLE) if self.rng.random() < 0.1 else None
        while not isinstance(self._step, int):
            if self._step is None or (self._step is ROOM and not self._room) or (self._step is REPLIED and self._asked):
                return None
            self._asked += self._step is ASKED
            self._step = next(self._steps, None)
        symbol, self._step = self._step, next(self._steps, None)
        self._room = self._room and symbol != Control.START
        return symbol

    def accept(self, cycle, symbol):
        """Takes a symbol from the HUB and does what the HUB behind the port would do."""
        if symbol == Control.READY:
            self._room = True
        elif symbol == Control.REPLY:
            self._reply = []
        elif self._reply is not None:
            self._reply.append(symbol)
            if len(self._reply) == 3:
                if self._reply[0] == HELLO_ASK:
                    self._insert(cycle, [int(Control.REPLY), HELLO, neighbour_hub(self.port), HELLO_HUB | self.port])
                self._asked -= self._reply[0] not in (UNASKED, HELLO, HELLO_ASK)
                self._reply = None
        elif symbol == Control.START:
            self._insert(cycle, [int(Control.READY)])
        elif symbol == Control.COMMAND:
            self._command = []
        elif self._command is not None:
            self._command.append(symbol)
            if len(self._command) == 3:
                opcode, hub, value = self._command
                if hub == neighbour_hub(self.port) and opcode & REPLY:
                    self._insert(cycle, reply(opcode, hub, value))
                self._command = None

    def then(self, steps):
        """More to send, after what was given before has been sent."""
        self._steps = iter(steps)
        self._step = next(self._steps, None)

    @property
    def done(self):
        """Whether there is nothing left to send or to wait for."""
        return self._step is None and not self._due and not self._inserting and not self._asked


class _Source:
    """Makes the transactions of one port."""

    def __init__(self, port, ports, hub, rng, longest):
        self.port = port
        self.ports = ports
        self.hub = hub
        self.rng = rng
        self.longest = longest
        self.sequence = 0

    def data(self):
        """A packet that tells its source and number; mostly short, sometimes as long as allowed."""
        rng = self.rng
        length = rng.choice([0, 1, 4, rng.randrange(40), rng.randrange(40)])
        if self.longest and rng.random() < 0.01:
            length = rng.randrange(self.longest - 2)
        self.sequence += 1
        head = [self.port, self.sequence >> 8, self.sequence & 0xFF]
        return [ROOM, *packet([*head, *rng.randbytes(length)])]

    def close_all(self):
        """A close all that tells its source and number."""
        return command(Op.CLOSE_ALL, ANY_HUB, self.sequence * self.ports + self.port & 0xFF)

    def outputs(self):
        """Outputs for a connection, mostly one; ascending, so that multicasts cannot wait for each other in a ring."""
        others = [port for port in range(self.ports) if port != self.port]
        count = self.rng.choice([1, 1, 1, 1, 2, 3, len(others)])
        return sorted(self.rng.sample(others, min(count, len(others))))

    def order(self, op, param, hub=None):
        """A command, for the HUB under test if ``hub`` is None."""
        return (
            [ASKED, *command(op, self.hub, param)]
            if answered(op) and hub is None
            else command(op, self.hub if hub is None else hub, param)
        )

    def replied(self, op, param, hub=None):
        """A command that wants a reply, and the reply."""
        return [ASKED, *command(op, self.hub if hub is None else hub, param), REPLIED]

    def circuit(self):
        """Circuit switching: the route first, with a reply from its end, which may be the HUB behind the port (H17)."""
        steps = []
        outputs = self.outputs()
        for o in outputs:
            beyond = len(outputs) == 1 and self.rng.random() < 0.5
            op = Op.OPEN_RETRY_REPLY if not beyond and self.rng.random() < 0.8 else Op.OPEN_RETRY
            steps += self.order(op, o)
            if beyond:
                steps += [ASKED, *command(Op.OPEN_RETRY_REPLY, neighbour_hub(o), self.rng.randrange(256))]
            if op & REPLY or beyond:
                steps += [REPLIED]
        return steps, outputs

    def packets(self):
        """Packet switching: each hop tests for room (H15, H17)."""
        steps = []
        outputs = self.outputs()
        for o in outputs:
            steps += self.order(self.rng.choice([Op.TEST_OPEN_RETRY] * 3 + [Op.TEST_OPEN_RETRY_REPLY]), o)
            if self.rng.random() < 0.3 and len(outputs) == 1:
                steps += command(Op.TEST_OPEN_RETRY, neighbour_hub(o), self.rng.randrange(256))
            steps += [REPLIED]
        return steps, outputs

    def locked(self):
        """A set of outputs, each locked before it is opened, in ascending order, which cannot deadlock."""
        steps = []
        outputs = self.outputs()
        for o in outputs:
            steps += self.order(self.rng.choice([Op.LOCK_RETRY, Op.LOCK_RETRY_REPLY]), o)
            if self.rng.random() < 0.3:
                steps += [
                    REPLIED,
                    *self.replied(self.rng.choice([Op.TEST_LOCK_REPLY, Op.STATUS_LOCK, Op.LOCK_REPLY]), o),
                ]
            steps += [*self.order(self.rng.choice([Op.OPEN_RETRY, Op.OPEN_RETRY_REPLY]), o), REPLIED]
        return steps, outputs

    def transfer(self):
        """A connection, what goes over it, and its end."""
        rng = self.rng
        steps, outputs = rng.choice([self.circuit, self.packets, self.locked])()
        if rng.random() < 0.1 and not self.longest:
            steps += [REPLIED, *self.control(rng.choice(outputs))]
        steps += self.data()
        while rng.random() < 0.2:
            again = rng.choice([op for op in _USER if BY_OPCODE[op].group is Group.OPEN])
            steps += rng.choice([self.order(again, outputs[-1]), [ROOM, *packet(b"")], []])
            steps += [REPLIED, *self.data()]
        if rng.random() < 0.1:
            steps += self.repeated([Op.OPEN_REPLY, Op.OPEN_RETRY_REPLY, Op.TEST_OPEN_REPLY], outputs[-1])
        return steps + self.end(outputs) + self.unlock(outputs)

    def repeated(self, ops, o):
        """Some commands that want a reply, at any distance: what others do meets one of them at any moment."""
        return [
            s
            for _ in range(8)
            for s in [REPLIED, *[int(Control.IDLE)] * self.rng.randrange(3), *self.order(self.rng.choice(ops), o)]
        ]

    def control(self, o):
        """Flow control of a connected output."""
        return [
            s
            for op in self.rng.choice(
                [
                    [Op.LOWER_READY, Op.STATUS_READY, Op.RAISE_READY],
                    [Op.RAISE_READY, Op.AWAIT_READY_REPLY],
                    [Op.REPAIR_READY, Op.STATUS_QUEUE],
                ]
            )
            for s in [*self.order(op, o), REPLIED]
        ]

    def end(self, outputs):
        """The end of a connection, in one of all ways."""
        rng = self.rng
        way = rng.random()
        if way < 0.5:
            return self.close_all()
        if way < 0.7:
            op = rng.choice([Op.CLOSE_MINE, Op.CLOSE_MINE_REPLY, Op.CLOSE_ALL_REPLY])
            return [*self.order(op, rng.randrange(256)), REPLIED]
        if way < 0.85 and len(outputs) == 1:
            return [REPLIED, *self.replied(Op.CLOSE_ALL_REPLY, rng.randrange(256), neighbour_hub(outputs[0]))]
        steps, outputs = [], list(outputs)
        while outputs:
            steps += [*self.order(rng.choice([Op.CLOSE, Op.CLOSE_REPLY]), outputs.pop()), REPLIED]
            if outputs and rng.random() < 0.4:
                steps += self.data()
        return steps

    def unlock(self, outputs):
        """Gives locks back, also where there are none."""
        rng = self.rng
        if rng.random() < 0.5:
            return self.order(Op.UNLOCK_MINE, rng.randrange(256))
        return [s for o in outputs for s in [*self.order(rng.choice([Op.UNLOCK, Op.UNLOCK_REPLY]), o), REPLIED]]

    def attempt(self):
        """An open that does not wait: what follows gets through or is lost."""
        op = self.rng.choice([Op.OPEN, Op.OPEN_REPLY, Op.TEST_OPEN, Op.TEST_OPEN_REPLY])
        return self.order(op, self.outputs()[0]) + self.data() + self.close_all()

    def grab(self):
        """A lock that does not wait, taken or not, and given back."""
        o = self.outputs()[0]
        steps = [*self.order(self.rng.choice([Op.LOCK, Op.LOCK_REPLY]), o), *self.replied(Op.STATUS_LOCK, o)]
        if self.rng.random() < 0.3:
            steps += self.repeated([Op.LOCK_REPLY, Op.UNLOCK_REPLY], o)
        return [*steps, REPLIED, *self.unlock([o])]

    def impatient(self):
        """A command that may wait, ended by a flush if it does."""
        rng = self.rng
        op = rng.choice([Op.OPEN_RETRY_REPLY, Op.TEST_OPEN_RETRY_REPLY, Op.LOCK_RETRY_REPLY, Op.AWAIT_READY_REPLY])
        return [
            *self.replied(Op.ECHO_REPLY, rng.randrange(256)),
            *self.order(op, self.outputs()[0]),
            *[int(Control.IDLE)] * rng.randrange(16, 100),
            *self.replied(Op.FLUSH_REPLY, 0),
            *self.data(),
            *self.close_all(),
            *self.order(Op.UNLOCK_MINE, 0),
        ]

    def question(self):
        """A question, now and then about a port that is not there."""
        rng = self.rng
        if rng.random() < 0.2:
            return self.replied(
                rng.choice([Op.ECHO_REPLY, Op.IDENTITY_REPLY, Op.SIZE_REPLY]),
                rng.randrange(256),
                rng.choice([self.hub, ANY_HUB]),
            )
        op = rng.choice(
            [op for op in _USER if BY_OPCODE[op].group is Group.STATUS]
            + [Op.STATUS_NEIGHBOUR] * 4
            + [Op.TEST_LOCK_REPLY, Op.AWAIT_READY_REPLY]
        )
        if op == Op.STATUS_NEIGHBOUR:
            return self.replied(
                op, self.port
            )  # hellos share the room for replies: more of them at one port might push out a reply
        return self.replied(op, rng.choice([rng.randrange(self.ports)] * 9 + [rng.randrange(self.ports, 256)]))

    def mistake(self):
        """Something wrong, that must be counted, answered where asked for, and leave no trace."""
        rng = self.rng
        bad = rng.randrange(self.ports, 256)
        port = [op for op in _USER if "port" in BY_OPCODE[op].parameter]
        wrong = rng.choice(
            [
                lambda: self.order(rng.choice(_UNKNOWN), rng.randrange(256)),
                lambda: self.order(rng.choice(port), bad),
                lambda: self.order(rng.choice([op for op in port if BY_OPCODE[op].group is Group.OPEN]), self.port),
                lambda: self.order(
                    rng.choice([Op.CLOSE, Op.CLOSE_REPLY, Op.UNLOCK, Op.UNLOCK_REPLY, Op.RAISE_READY, Op.LOWER_READY]),
                    rng.choice([bad, rng.randrange(self.ports)]),
                ),
                lambda: command(Op.OPEN_RETRY, self.hub, 0)[: rng.randrange(1, 4)],
                lambda: [
                    *reply(0, 0x7F, 0)[: rng.randrange(1, 4)],
                    *rng.choice([[int(Control.END)], command(Op.OPEN, self.hub, self.port)]),
                ],
                lambda: [rng.choice(_RESERVED)],
                lambda: list(rng.randbytes(3)),
                lambda: self.data(),
                lambda: command(Op.OPEN_RETRY, neighbour_hub(0), 1),
                self.close_all,
            ]
        )()
        return wrong + [REPLIED] + self.question()


def transactions(port, ports, hub, rng, count, longest=0):
    """Steps of ``count`` random transactions of the source at ``port``; ``longest`` is that of a packet's data, 0
    for short ones only."""
    source = _Source(port, ports, hub, rng, longest)
    for _ in range(count):
        kind = rng.choices(
            [source.transfer, source.attempt, source.question, source.mistake, source.grab, source.impatient],
            [12, 3, 3, 2, 2, 1],
        )[0]
        yield from [REPLIED, *kind()]


def audit(ports, hub):
    """Steps that ask for the error counter and the connection of every port, for when the HUB is empty."""
    for port in range(ports):
        for op in (Op.STATUS_ERRORS, Op.STATUS_OUTPUT):
            yield from [ASKED, *command(op, hub, port), REPLIED]
