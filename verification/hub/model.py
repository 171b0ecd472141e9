"""A HUB that does one thing after the other: docs/hub.md without time.

``Model.arrive`` takes a symbol that arrives at a port and does all that follows from it at once. It tells exactly what
a HUB must do while what happens in it happens in one order only: each port's output, every table, every counter.
``explain`` looks for an order of things that happened at once.
"""

from collections import deque

from nectar.hdl.hub.commands import COMMANDS, HELLO, HELLO_ASK, HELLO_HUB, Error, Op
from nectar.hdl.hub.monitor_map import CounterId
from nectar.hdl.link.symbol import COMMAND_LENGTH, CONTROL_BIT, Control, reply

from .streams import CODES, Violation, owns
from .tables import Answer, Tables, answered

__all__ = ["Model", "explain"]


class _Port:
    """What a port holds."""

    def __init__(self):
        self.queue = deque()
        self.fragment = None  # bytes of a reply of which the rest is to come
        self.arriving = []  # symbols of a command of which the rest is to come
        self.missing = 0  # bytes that are to come of a command of which a part was thrown away
        self.waiting = None  # (opcode, parameter) of the command that waits at the head
        self.dropping = False


class Model(Tables):
    """A HUB of ``ports`` ports with ID ``hub``. Queues do not overflow here, and every fiber takes what comes at once.

    ``data[port]``: symbols that came out over the crossbar; ``answers[port]``: replies that bear the ID of this HUB,
    ``hellos[port]`` its hellos, ``passed[port]`` replies from elsewhere, three bytes each; ``readies[port]``: number of
    ready signals."""

    def __init__(self, ports, hub, supervisors=None, commands=COMMANDS):
        #: The port that is served first when several wait.
        self.turn = 0
        super().__init__(ports, hub, supervisors, commands)
        self.data = [[] for _ in range(ports)]
        self.answers = [[] for _ in range(ports)]
        self.hellos = [[] for _ in range(ports)]
        self.passed = [[] for _ in range(ports)]
        self.readies = [0] * ports

    def reset(self):
        super().reset()
        self._ports = [_Port() for _ in range(self.size)]

    @property
    def blocked(self):
        """{port: (opcode, parameter)} of the commands that wait."""
        return {number: port.waiting for number, port in enumerate(self._ports) if port.waiting}

    def observed(self):
        """What the pins have shown: all that two models must share for nobody to tell them apart."""
        return (
            self.data,
            self.answers,
            [sorted(frames) for frames in self.hellos],
            [sorted(frames) for frames in self.passed],
            self.readies,
        )

    # Input side

    def arrive(self, port, *symbols):
        """Symbols arrive at the pins of ``port``, and all that follows happens."""
        for symbol in symbols:
            if not self.looped[port]:
                self._receive(port, symbol)
                self._settle()

    def _receive(self, number, symbol):
        port = self._ports[number]
        if symbol == Control.IDLE:
            return
        if not self.enabled[number]:
            self.count(number, CounterId.DISABLED, int(symbol in (Control.START, Control.COMMAND, Control.REPLY)))
            return
        if symbol == Control.READY:
            self.ready[number] = True
            return
        if port.fragment is not None and symbol & CONTROL_BIT:
            self.count(number, CounterId.REPLY_CUT)
            port.fragment = None
        if symbol == Control.REPLY:
            port.fragment = []
        elif port.fragment is not None:
            port.fragment.append(symbol)
            if len(port.fragment) == COMMAND_LENGTH - 1:
                frame, port.fragment = port.fragment, None
                self._reply(number, frame)
        elif symbol & CONTROL_BIT and symbol not in CODES:
            self.count(number, CounterId.RESERVED)
        else:
            self._enqueue(number, port, symbol)

    def _enqueue(self, number, port, symbol):
        if port.arriving and symbol & CONTROL_BIT:
            self.count(number, CounterId.COMMAND_CUT)
            port.arriving = []
        port.missing = 0 if symbol & CONTROL_BIT else port.missing
        if port.missing:
            port.missing -= 1
            return
        if symbol != Control.COMMAND and not port.arriving:
            port.queue.append(symbol)
            return
        port.arriving.append(symbol)
        if len(port.arriving) < COMMAND_LENGTH:
            return
        frame, port.arriving = tuple(port.arriving), []
        if frame[1] == Op.FLUSH_REPLY and frame[2] == self.hub:
            self.count(number, CounterId.FLUSHED)
            self.throw_queue(number)
        port.queue.append(frame)

    def queue_level(self, number):
        port = self._ports[number]
        return sum(len(entry) if isinstance(entry, tuple) else 1 for entry in port.queue) + len(port.arriving)

    def throw_queue(self, number):
        port = self._ports[number]
        port.queue.clear()
        self._take_back(port)
        if port.waiting:
            self._give_up(number)
        self.send_ready(number)

    @staticmethod
    def _take_back(port):
        """Forgets a command of which a part has arrived; the rest of it will be dropped."""
        if port.arriving:
            port.arriving, port.missing = [], COMMAND_LENGTH - len(port.arriving)

    def _give_up(self, number):
        port = self._ports[number]
        waiting, port.waiting = port.waiting, None
        self._answer(number, waiting[0], self.obey(number, *waiting, give_up=True))

    def expire(self, port, waiting=None):
        """The watchdog ends what stands still at ``port``."""
        super().expire(port, self._ports[port].waiting)
        self._take_back(self._ports[port])
        if self._ports[port].waiting:
            waiting, self._ports[port].waiting = self._ports[port].waiting, None
            self._answer(port, waiting[0], Answer(False, Error.GIVEN_UP))
        self._settle()

    # Heads

    def _settle(self):
        moved = True
        while moved:
            moved = False
            for number in [*range(self.turn, self.size), *range(self.turn)]:
                while self._head(number):
                    moved = True

    def _head(self, number):
        """Whether the head of an input queue could do something."""
        port = self._ports[number]
        if port.waiting:
            waiting, port.waiting = (
                port.waiting,
                None,
            )  # while it is obeyed it does not wait: what empties its own queue does not end it
            answer = self.obey(number, *waiting)
            if answer is None:
                port.waiting = waiting
                return False
            self._answer(number, waiting[0], answer)
            return True
        if not port.queue:
            return False
        entry = port.queue.popleft()
        if not isinstance(entry, tuple):
            self._pass(number, entry)
            return True
        _, op, hub, param = entry
        if not owns(self.hub, op, hub):
            for symbol in entry:
                self._pass(number, symbol, op == Op.CLOSE_ALL)
            if op == Op.CLOSE_ALL:
                for o in self.targets(number):
                    self.owner[o] = None
        else:
            port.dropping = False
            port.waiting = (op, param)
        return True

    def _pass(self, number, symbol, closing=False):
        port = self._ports[number]
        targets = self.targets(number)
        if not targets and not port.dropping and not closing:
            self.count(number, CounterId.NO_CONNECTION)
        port.dropping = not targets and not closing
        for o in targets:
            if symbol == Control.START:
                self.ready[o] = False
            self._emit(o, self.data, symbol, [symbol])
        if symbol == Control.START:
            self.count(number, CounterId.PACKETS)
            self.send_ready(number)

    # Output side

    def _emit(self, number, where, item, symbols):
        """Sends ``symbols``: to the fiber, where they are noted as ``item``, or back into the port."""
        if not self.looped[number]:
            where[number].append(item)
            return
        for symbol in symbols:
            self._receive(number, symbol)

    def send_ready(self, number):
        if self.looped[number]:
            self._receive(number, int(Control.READY))
        else:
            self.readies[number] += 1

    def _answer(self, number, op, answer):
        if answered(op):
            frame = reply(op, self.hub, answer.value, done=answer.done)
            self._emit(number, self.answers, frame[1:], frame)

    def hello_ask(self, number):
        self._hello(number, HELLO_ASK)

    def _hello(self, number, opcode):
        frame = [int(Control.REPLY), opcode, self.hub, HELLO_HUB | number]
        self._emit(number, self.hellos, frame[1:], frame)

    def _reply(self, number, frame):
        """A reply has arrived."""
        if frame[0] in (HELLO, HELLO_ASK):
            self.neighbour[number] = (frame[1], frame[2])
            if frame[0] == HELLO_ASK:
                self._hello(number, HELLO)
            return
        owner = self.owner[number]
        if frame[0] == Op.CLOSE_ALL_REPLY:
            self.owner[number] = None
        if owner is None:
            self.count(number, CounterId.NO_ROUTE)
        else:
            where = self.answers if frame[1] == self.hub else self.passed  # an answer out of a looped port comes back
            self._emit(owner, where, frame, [int(Control.REPLY), *frame])


def explain(model, arrivals, fits):
    """Models of all orders in which the streams of ``arrivals`` ({port: [frame, …]}) may have arrived that ``fits``
    accepts.

    Frames of one port keep their order; between the ports any order of whole frames is tried, and whoever waits may be
    the first to be served. ``fits(model, final)`` says of a model whether what it has sent so far agrees with what was
    observed: as a beginning, or if ``final`` in full. Raises Violation if there is no such order.
    """
    found = []
    seen = set()

    def search(state, places):
        key = repr(
            (
                places,
                vars(state)["owner"],
                state.lock,
                state.ready,
                state.blocked,
                state.observed(),
                state.sums,
                state.counters,
            )
        )
        if key in seen:
            return
        seen.add(key)
        left = [port for port, place in places.items() if place < len(arrivals[port])]
        if not left and fits(state, True):
            found.append(state)
        turns = list(state.blocked)
        for port in left:
            for turn in turns if len(turns) > 1 else [0]:
                after = state.copy()
                after.turn = turn
                after.arrive(port, *arrivals[port][places[port]])
                if fits(after, False):
                    search(after, {**places, port: places[port] + 1})

    search(model, dict.fromkeys(arrivals, 0))
    if not found:
        raise Violation(f"no order of {arrivals} explains what was seen")
    return found
