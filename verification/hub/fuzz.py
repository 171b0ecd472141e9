"""Nearly legal and illegal symbols for all ports of a HUB at once, and what must hold whatever arrives.

Data bytes tell in their high bits which port sent them. Commands are of all kinds, right and wrong, whole and cut
short, for this HUB and for others. Supervisor commands are obeyed from one port only, the *manager*, which takes care
not to shut itself out, as the software of a network would; at all others they are part of the noise.

``Invariants`` looks at what comes out: frames are whole, an output changes from one input's data to another's only
behind a command that may have connected it, replies are those of commands that were given or replies that arrived, and
there are no more ready signals than causes."""

import random as chance
from array import array

from nectar.hdl.hub.commands import BY_OPCODE, COMMANDS, FORCE, HELLO, HELLO_ASK, REPLY, Error, Op
from nectar.hdl.link.symbol import ANY_HUB, CONTROL_BIT, Control, command, reply

from .harness import VALID
from .streams import CODES, Departing, Order, Violation, actions, arrivals
from .tables import answered

__all__ = ["HUB", "REPLY_TIME", "Noise", "Invariants", "batch"]

#: ID of the HUB under test; no byte of data that the manager's fragments could be continued with.
HUB = 0xF7
#: Cycles in which a reply that has begun is complete on a fiber that takes a symbol in each: four, and room for ready
#: signals between.
REPLY_TIME = 64
_RESERVED = [code for code in range(CONTROL_BIT, 2 * CONTROL_BIT) if code not in CODES]
_ALL = [int(row.op) for row in COMMANDS]
_USER = [int(row.op) for row in COMMANDS if not row.supervisor]
#: What a manager does not do: it would shut out itself, let others in, or send data round in a ring.
_NEVER = {Op.RESET_HUB, Op.ALLOW_SUPERVISOR_REPLY, Op.LOOP_BACK_REPLY}
_MANAGED = [op for op in _ALL if op not in _NEVER]
_OPENS = [int(op) for op in (Op.OPEN, Op.OPEN_REPLY, Op.OPEN_RETRY, Op.TEST_OPEN_RETRY, Op.CLOSE_ALL)]


class Noise:
    """Endless symbols for one port.

    Parameters
    ----------
    port, ports : int
    manager : bool
        Whether it may give supervisor commands.
    rng : random.Random
    """

    def __init__(self, port, ports, manager, rng=chance):
        self.port = port
        self.ports = ports
        self.manager = manager
        self.rng = rng
        self.mark = port * (256 // ports)
        self._left = []

    def data(self, most):
        """Bytes that tell their port."""
        room = 256 // self.ports
        return [self.mark + number % room for number in range(self.rng.randrange(most))]

    def order(self):
        """A command for this HUB, or one that any HUB takes."""
        rng = self.rng
        op = rng.choice(_MANAGED if self.manager else _ALL + _USER) if rng.random() < 0.6 else rng.choice(_OPENS)
        param = rng.choice(
            [
                rng.randrange(self.ports),
                rng.randrange(self.ports),
                rng.randrange(self.ports) | FORCE,
                rng.randrange(256),
            ]
        )
        if self.manager and (op == Op.DISABLE_REPLY and param == self.port or op == Op.WATCHDOG_TIME_REPLY):
            param = self.port ^ 1 if op == Op.DISABLE_REPLY else rng.choice([8, 9, 10, 12])
        return command(op, HUB if rng.random() < 0.9 else ANY_HUB, param)

    def frame(self):
        """What comes next."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.35:
            return self.order()
        if kind < 0.60:
            return [int(Control.START), *self.data(24), int(Control.END)]
        if kind < 0.72:
            return command(Op.CLOSE_ALL, ANY_HUB, self.mark)
        if kind < 0.77:
            return command(rng.choice(_ALL), rng.choice([0x11, 0x22]), self.mark)
        if kind < 0.83:
            return reply(
                rng.choice([0x15, HELLO, HELLO_ASK, rng.randrange(256)]),
                0x11,
                rng.randrange(256),
                done=rng.random() < 0.8,
            )
        if kind < 0.86:
            return [int(Control.READY)]
        if kind < 0.90:
            return [rng.choice(_RESERVED)]
        if kind < 0.94:
            return [
                *rng.choice([self.order(), reply(1, 0x11, 2)])[: rng.randrange(1, 4)],
                int(rng.choice([Control.END, Control.START])),
            ]
        if kind < 0.97 or self.manager:
            return self.data(12)
        room = 256 // self.ports
        garbage = [rng.randrange(512) for _ in range(rng.randrange(8))]
        return [symbol if symbol & CONTROL_BIT else self.mark + symbol % room for symbol in garbage]

    def symbols(self, count, share):
        """``count`` cycles with symbols in a ``share`` of them: numbers as Harness takes them, 0 for none."""
        rng = self.rng
        found = self._left
        wanted = int(count * share)
        while len(found) < wanted:
            found += self.frame()
        now, self._left = found[:wanted], found[wanted:]
        line = [VALID | symbol for symbol in now] + [0] * (count - wanted)
        if wanted < count:
            places = sorted(rng.sample(range(count), wanted))
            line = [0] * count
            for place, symbol in zip(places, now):
                line[place] = VALID | symbol
        return line


class Invariants:
    """Invariants of all that a HUB of ``ports`` ports sends, from all that arrives; fed batch by batch."""

    def __init__(self, ports):
        self.ports = ports
        self.arrived = [[] for _ in range(ports)]
        self.departing = [Departing(port) for port in range(ports)]
        self.now = 0

    def feed(self, rx, sent):
        """``rx``: what Harness was given; ``sent``: what it returned."""
        ports = self.ports
        for port in range(ports):
            line = rx[port::ports]
            self.arrived[port] += [(self.now + at, symbol & 0x1FF) for at, symbol in enumerate(line) if symbol]
            self.departing[port].feed(_Taken(symbol, self.now + at) for at, symbol in sent[port])
        self.now += len(rx) // ports

    @property
    def symbols(self):
        """Symbols that have arrived."""
        return sum(map(len, self.arrived))

    def check(self):
        """Raises Violation if something came out that may not, or a reply is not complete. The fibers must have taken a
        symbol in each of the last REPLY_TIME cycles; a queue full of commands that wait for the watchdog is still being
        worked off then, so a reply may be under way."""
        taken = [arrivals(line) for line in self.arrived]
        orders = [[action for action in actions(came.queue, HUB) if isinstance(action, Order)] for came in taken]
        connects = [[0] * self.ports for _ in range(self.ports)]
        causes = [sum(symbol == Control.START for symbol, _ in came.queue) for came in taken]
        for port, given in enumerate(orders):
            for order in given:
                forced = order.op == Op.FORCE_CONNECTION_REPLY and order.param & FORCE
                target = order.param & ~FORCE if forced else order.param
                row = BY_OPCODE.get(order.op)
                if target < self.ports and (forced or row and not row.supervisor and row.group == 0):
                    connects[port][target] += 1
                if order.op == Op.FLUSH_REPLY:
                    causes[port] += 1
                elif target < self.ports and order.op in (
                    Op.REPAIR_READY,
                    Op.RESET_QUEUE_REPLY,
                    Op.RESET_PORT_REPLY,
                    Op.DISABLE_REPLY,
                ):
                    causes[target] += 1
        for port, departing in enumerate(self.departing):
            if departing.begun is not None and self.now - departing.begun > REPLY_TIME:
                raise Violation(
                    f"port {port}: the reply that began in cycle {departing.begun} is not complete in cycle {self.now}"
                )
            found = departing.found
            if len(found.readies) > causes[port]:
                raise Violation(f"port {port} sent {len(found.readies)} ready signals for {causes[port]} causes")
            self._data(port, found.data, connects)
            self._replies(port, found.replies, orders[port], taken)

    def _data(self, output, data, connects):
        """Data of one input follow those of another only behind a command that may have connected it."""
        room = 256 // self.ports
        last, changes = None, [0] * self.ports
        skip = 0
        for item in data:
            if item.symbol & CONTROL_BIT:
                skip = 3 if item.symbol == Control.COMMAND else 0  # bytes of a command tell nothing
            elif skip:
                skip -= 1
            else:
                source = item.symbol // room
                if source != last and source < self.ports:
                    last = source
                    changes[source] += 1
        for source, count in enumerate(changes):
            if count > connects[source][output]:
                raise Violation(
                    f"output {output}: data of input {source} began {count} times, but it was connected at most "
                    f"{connects[source][output]} times"
                )

    def _replies(self, port, replies, orders, taken):
        own = [frame for frame, _ in replies if frame[1] == HUB]
        answers = [frame for frame in own if frame[0] not in (HELLO, HELLO_ASK)]
        asked = [order.op for order in orders if answered(order.op)]
        if len(answers) > len(asked):
            raise Violation(f"port {port} answered {len(answers)} of {len(asked)} commands")
        place = 0
        for opcode, _, value in answers:
            try:
                place = asked.index(opcode | REPLY, place) + 1
            except ValueError:
                raise Violation(f"port {port}: an answer with opcode {opcode:#x} that nobody asked for") from None
            if not opcode & REPLY and value not in list(Error):
                raise Violation(f"port {port}: refused with {value}")
        passed = {frame for frame, _ in replies if frame[1] != HUB}
        known = {frame for came in taken for frame, _ in came.replies}
        if not passed <= known:
            raise Violation(f"port {port} sent replies that have never arrived: {sorted(passed - known)[:3]}")


class _Taken:
    """A symbol that was taken."""

    __slots__ = ("symbol", "offered")

    def __init__(self, symbol, offered):
        self.symbol = symbol
        self.offered = offered


def batch(noises, cycles, share, ready):
    """Arrays for Harness.run: noise at all ports, fibers that take a symbol in a share ``ready[port]`` of the
    cycles."""
    ports = len(noises)
    rx, taken = array("H", bytes(2 * cycles * ports)), array("B", bytes(cycles * ports))
    for port, noise in enumerate(noises):
        rx[port::ports] = array("H", noise.symbols(cycles, share))
        level = int(256 * ready[port])
        taken[port::ports] = array("B", bytes(1 if byte < level else 0 for byte in noise.rng.randbytes(cycles)))
    return rx, taken
