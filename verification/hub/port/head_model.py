"""A model of the head of an input queue, written from docs/hub.md, and what its bench puts into the queue."""

import random
from collections import deque

from nectar.hdl.hub.commands import HELLO, HELLO_ASK, Error, Group, Op
from nectar.hdl.hub.messages import FAULTS
from nectar.hdl.hub.port.entry import CLOSES as CLOSING
from nectar.hdl.hub.port.entry import OWN
from nectar.hdl.link.symbol import ANY_HUB, Control, command, packet

__all__ = [
    "CLOSES",
    "CLOSE_MINE",
    "CLOSE_ONE",
    "CONFIGURATIONS",
    "Entry",
    "HUB",
    "INPUTS",
    "Model",
    "PULSES",
    "close_all",
    "own",
    "piece",
]

CONFIGURATIONS = {"port 0 of 2": (2, 0), "port 3 of 5": (5, 3), "port 9 of 16": (16, 9)}
HUB = 0x42
CLOSES = 1 << 9
INPUTS = [
    "hub_id",
    "entry",
    "own",
    "control_code",
    "valid",
    "offer",
    "offered",
    "clean",
    "halt",
    "expired",
    "crossbar__connected",
    "crossbar__blocked",
    "crossbar__clear",
    "control__resume",
    "control__response_valid",
    "control__done",
    "control__value",
    "control__fault",
    "control__quiet",
    "control__mine",
    "answer__ready",
]
CLOSE_ONE = (Op.CLOSE, Op.CLOSE_REPLY)
CLOSE_MINE = (Op.CLOSE_MINE, Op.CLOSE_MINE_REPLY, Op.CLOSE_ALL_REPLY)
PULSES = (
    "pop",
    "accept",
    "crossbar__move",
    "start_left",
    "control__request_valid",
    "control__close_one",
    "control__close_mine",
    "dropped",
    "moved",
    *FAULTS.values(),
)


class Entry:
    """A queue entry, and what it is: ``part`` is the place in a close all (1 to 4) or 0; ``lead`` marks a command's
    code; ``order`` is the command for this HUB (opcode, parameter) that it begins."""

    def __init__(self, payload, part=0, lead=False, order=None):
        self.payload, self.part, self.lead, self.order = payload, part, lead, order

    @property
    def symbol(self):
        """The symbol that is passed on. The opcode of a close all is marked in the queue."""
        return self.payload & 0xFF if self.part == 2 else self.payload


class Model:
    """The head, and the rest of the HUB around it: table, controller, outputs, reply path.

    ``step`` decides what the surroundings do in this cycle, so it returns the inputs as well as the expected outputs.
    """

    def __init__(self, ports, port):
        self.ports, self.port = ports, port
        self.numbers = 1 << (ports - 1).bit_length()  # of ports that a parameter's low bits can tell apart
        self.queue = deque()
        self.targets = set()
        self.state = "pass"
        self.order = None  # the command under way: (opcode, parameter)
        self.asked = False  # its response is to come
        self.response = None  # what the controller has decided: (error or 0, value)
        self.giving_up = False
        self.resumed = False  # symbols have begun to pass in this cycle, while the response is to come
        self.error = None  # why nothing is closed
        self.in_run = False
        self.answer = None
        self.part = 0  # symbols of a close all that have left
        self.ends = False  # in the cycle before, connections had still to end behind a close all
        self.way = False  # in the cycle before a command would have been taken, and nothing waited
        self.seen = {}

    def note(self, what):
        """Counts what happened, so that a test can tell that it did."""
        self.seen[what] = self.seen.get(what, 0) + 1

    def _decide(self):
        op, _ = self.order
        error = random.choice([0, 0, 0, *Error])
        value = error or random.randrange(256)
        if not error and op < 8:
            others = [n for n in range(self.ports) if n != self.port]
            self.targets.add(
                self.order[1] if self.order[1] in others and random.random() < 0.8 else random.choice(others)
            )
        self.response = error, value

    def step(self, valid, space, prompt, offer=0.0, halt=0.0, expired=0.0, close=frozenset()):
        """One cycle. ``prompt``: probability of a decision, a response, an answer that is taken; ``close``: outputs
        that close behind a close all."""
        halts, expires = random.random() < halt, random.random() < expired
        entry = self.queue[0] if self.queue and valid and not halts else None
        clean = not self.queue and random.random() < 0.9
        # Nothing comes out of the queue in the cycle after ``clean`` in which a command is offered.
        offers = random.random() < offer and not (self.way and self.queue)
        offered = random.randrange(256), random.randrange(256)
        answer_ready = self.answer is not None and random.random() < prompt
        resumes = responds = False
        if self.state == "wait" and self.response is None and random.random() < prompt:
            self._decide()
            resumes = self.order[0] >> 4 in (Group.OPEN, Group.LOCK) and random.random() < 0.7
            responds = not resumes
        if self.asked and self.response is not None and not responds and not resumes:
            responds = random.random() < prompt
        mine = self.order is not None and self.order[1] % self.numbers in self.targets
        inputs = {
            "hub_id": HUB,
            "valid": entry is not None,
            "entry": entry.payload if entry else random.getrandbits(9),
            "own": entry.payload >> 7 == OWN >> 7 if entry else random.getrandbits(1),
            "control_code": entry.symbol >> 8 if entry and not entry.order else random.getrandbits(1),
            "offer": offers,
            "offered": offered[0] << 8 | offered[1],
            "clean": clean,
            "halt": halts,
            "expired": expires,
            "control__mine": mine,
            "crossbar__connected": bool(self.targets),
            "crossbar__blocked": not self.targets <= space,
            "crossbar__clear": self.targets <= space,
            "answer__ready": answer_ready,
            "control__resume": resumes,
            "control__response_valid": responds,
            "control__fault": random.getrandbits(len(FAULTS)),
            "control__quiet": random.getrandbits(1),
            "control__done": random.getrandbits(1),
            "control__value": random.getrandbits(8),
        }
        shown = dict.fromkeys(PULSES, False) | {
            "holds": self.state != "pass" or self.resumed,
            "moved": self.resumed,
            "busy": self.state != "pass" or self.asked or self.answer is not None,
            "answer__valid": self.answer is not None,
            "answer__payload": self.answer,
            "control__give_up": self.giving_up,
        }
        if self.state in ("execute", "end", "wait") or self.asked:
            number = self.order[1] % self.numbers
            shown["named"] = 1 << number if number < self.ports else 0
        state, targets, waits = self.state, set(self.targets), self.asked or self.answer is not None
        giving_up = False
        passing = state == "pass"
        willing = state in ("pass", "closing") and not halts and not waits
        ended, self.ends = not self.ends, self.ends and bool(self.targets)
        resting = "closing" if self.ends else "pass"
        shown["way"] = self.way and not halts

        if answer_ready:
            self.answer = None
        if responds:
            error, value = self.response
            inputs |= {
                "control__done": not error,
                "control__value": value,
                "control__quiet": self.order[0] in (HELLO, HELLO_ASK),
                "control__fault": sum(1 << n for n, fault in enumerate(FAULTS) if fault == error),
            }
            if error in FAULTS:
                shown[FAULTS[error]] = True
            self._answer(not error, value)
            self.asked, self.response = False, None
            shown["moved"] = True

        if state == "parameter":
            if halts:
                state = resting
                self.note("thrown away in two")
            elif entry:
                shown["pop"] = True
                state = "execute"
        elif state == "execute" and not ended:
            self.note("command behind a close all")
            if halts:
                state = resting
                self.note("thrown away behind a close all")
        elif state == "execute":
            state, targets = self._execute(shown, targets)
            giving_up = halts or expires
            if giving_up and state == "wait":
                self.note("given up at once")
        elif state == "end":
            state, targets = "pass", targets - self._end(shown)
        elif state == "wait":
            if responds or resumes:
                state = "pass"
            else:
                giving_up = self.giving_up or halts or expires
                if halts or expires:
                    self.note("given up")
        elif state == "closing":
            self.note("closing")
            state = resting
        if not ended:
            targets -= close

        if shown["way"] and offers:
            shown |= {"accept": True, "moved": True}
            self.order = offered
            self.in_run = False
            state = "execute"
            self.note("accepted")
        elif willing and entry and entry.order:
            shown |= {"pop": True, "moved": True}
            self.order = entry.order
            self.in_run = False
            state = "parameter"
        elif passing and entry and not entry.order and self.targets <= space:
            state = self._pass(entry, shown, state)
            self.note("passed on before the response" if self.asked else "passed")
        if shown["pop"]:
            self.queue.popleft()
        if halts:
            self._throw_away()
        self.way = willing and clean and not shown["accept"]
        self.state, self.targets, self.giving_up = state, targets, giving_up and state == "wait"
        self.resumed = resumes
        return inputs, shown

    def _throw_away(self):
        """The queue is emptied; what follows begins with something whole."""
        self.queue.clear()
        self.note("halted in " + self.state)

    def _pass(self, entry, shown, state):
        shown |= {"pop": True, "moved": True, "start_left": entry.payload == Control.START}
        shown |= {
            "crossbar__move": True,
            "crossbar__beat": entry.symbol | (entry.part == 4) * CLOSES,
        }
        if self.targets:
            self.in_run = False
            self.ends = entry.part == 4
            return "closing" if self.ends else "pass"
        if entry.part:
            self.in_run = self.in_run and entry.part == 1
            self.note("close all dropped")
        elif not entry.lead:
            shown["dropped"] = not self.in_run
            self.note("run" if shown["dropped"] else "in run")
            self.in_run = True
        return "pass"

    def _answer(self, done, value):
        op = self.order[0]
        if op & 1 and op not in (HELLO, HELLO_ASK):
            self.answer = (op & 0xFE | done) << 16 | HUB << 8 | value
            self.note("answered")

    def _end(self, shown):
        """A command that closes, in its second cycle; returns the outputs."""
        op, param = self.order
        self._answer(self.error is None, param if self.error is None else self.error)
        if self.error is not None:
            shown[FAULTS[self.error]] = True
            return set()
        shown["control__close_one" if op in CLOSE_ONE else "control__close_mine"] = True
        self.note("closed one" if op in CLOSE_ONE else "closed its own")
        return {param} if op in CLOSE_ONE else self.targets

    def _execute(self, shown, targets):
        op, param = self.order
        if op in CLOSE_ONE:
            self.error = (
                Error.BAD_PORT
                if param >= self.ports or param == self.port
                else Error.NOT_MINE
                if param not in targets
                else None
            )
            return "end", targets
        if op in CLOSE_MINE:
            self.error = None
            return "end", targets
        shown |= {"control__request_valid": True, "control__request": op << 8 | param}
        self.asked = True
        return "wait", targets


def own(op, param):
    """A command for this HUB, as two entries."""
    return [Entry(OWN | op & 0x7F, order=(op, param)), Entry((op & 0x80) << 1 | param)]


def close_all(param=0):
    """A close all, its opcode marked."""
    return [
        Entry(symbol | (n == 2) * CLOSING, part=n) for n, symbol in enumerate(command(Op.CLOSE_ALL, ANY_HUB, param), 1)
    ]


def piece(ports):
    """A random part of a stream."""
    # Also what differs in one bit from a port that there is.
    param = random.choice([*range(ports), random.randrange(256), random.randrange(ports) ^ 1 << random.randrange(8)])
    draw = random.random()
    if draw < 0.3:
        return [
            Entry(symbol) for symbol in packet(random.randbytes(random.randrange(5)))[random.choice((0, 0, 1, -1)) :]
        ]
    if draw < 0.45:
        return close_all(param)
    if draw < 0.55:
        return [
            Entry(symbol, lead=n == 0)
            for n, symbol in enumerate(command(random.choice([Op.OPEN, Op.CLOSE]), 0x99, Op.CLOSE_ALL))
        ]
    if draw < 0.7:
        return own(random.randrange(8), param)
    if draw < 0.85:
        opens = own(random.randrange(8), param) if random.random() < 0.5 else []
        return opens + own(random.choice([*CLOSE_ONE, *CLOSE_MINE]), param)
    return own(random.choice([HELLO_ASK, *(op for op in range(256) if op != Op.CLOSE_ALL)]), param)
