"""What stands around an input port in its bench."""

import random
from collections import deque

from nectar.hdl.hub.commands import HELLO, HELLO_ASK, Group, Op
from nectar.hdl.hub.messages import FAULTS
from nectar.hdl.hub.monitor_map import ERRORS, CounterId
from nectar.hdl.link.symbol import Control, command, packet, reply
from nectar.verification.harness import Lockstep
from nectar.verification.hub.port.test_input_register import kind

__all__ = ["CAPACITY", "HUB", "MAX_ERRORS", "PORT", "PORTS", "RESERVED", "Surroundings", "soup"]

HUB = 0x42
PORTS, PORT, CAPACITY = 4, 2, 64
MAX_ERRORS = 255
RESERVED = 0x1F0


def soup(length):
    """Frames of all kinds with what may stand between their symbols; all own commands are the controller's."""
    orders = [op for op in range(256) if op >> 4 != Group.CLOSE and op not in (Op.FLUSH_REPLY, HELLO, HELLO_ASK)]
    symbols = []
    while len(symbols) < length:
        frame = random.choice(
            [
                packet(random.randbytes(random.randrange(6))),
                command(Op.CLOSE_ALL, 0xFF, 0),
                command(random.choice(orders), HUB, random.randrange(256)),
                command(Op.CLOSE, 0x99, 1),
                reply(*random.randbytes(3)),
                [RESERVED],
                [random.randrange(256)],
            ]
        )
        if random.random() < 0.2:
            frame = frame[: random.randrange(len(frame) + 1)]
        for symbol in frame:
            if random.random() < 0.1:
                symbols += random.choice([[Control.READY], [Control.IDLE], reply(*random.randbytes(3)), [RESERVED]])
            symbols.append(symbol)
    return symbols + [Control.START]  # cuts what is open


class Surroundings:
    """Everything around an input port: connected outputs, a controller that answers, a reply bus that takes a
    reply when told."""

    def __init__(self, dut):
        self.lockstep = Lockstep(
            dut,
            [
                "coming",
                "rx_symbol",
                "rx_kind",
                "enabled",
                "hub_id",
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
                "reset_queue",
                "expired",
                "no_route",
                "reply_lost",
                "reply_source__place",
                "reply_source__pop",
            ],
        )
        self.hub = HUB
        self.connected = True
        self.moved = []  # (symbol, cycle)
        self.requests = []  # (op, param, cycle)
        self.given = []  # values of the responses
        self.answers = []
        self.replies = []
        self.counted = dict.fromkeys(CounterId, 0)
        self.readies = self.closes = self.heard = 0
        self.sums = deque([0, 0])  # of errors, as they are to be shown two cycles later
        self.closing = None  # cycle in which no output is connected
        self.due = None
        self.error = 0  # of the next response
        self.register = (0, 0)
        self.place = 0
        self.busy = 0  # in the last cycle
        self.shown = 0  # errors, in the last cycle

    async def cycle(self, symbol=None, space=True, take=True, respond=True, **more):
        """One cycle in which ``symbol`` is at the pins, and all outputs that are connected have space, or not all.

        The controller needs three; behind a close all no output is connected for one cycle. The sum of errors is
        checked in every cycle, and that it changes only behind a cycle in which the port is busy."""
        now = self.lockstep.cycles
        enabled = more.get("enabled", 1)
        responds = respond and self.due is not None and now >= self.due
        self.place = self.place + 1 & 3 if self.place or (take and self.lockstep.pin("reply_source__valid")) else 0
        connected = self.connected and now != self.closing
        blocked = connected and not space
        if responds:
            self.given.append(self.error or random.randrange(256))
        inputs = {
            "coming": 0x1AA if symbol is None else symbol,
            "rx_symbol": self.register[0],
            "rx_kind": self.register[1],
            "hub_id": self.hub,
            "enabled": enabled,
            "crossbar__connected": connected,
            "crossbar__blocked": blocked,
            "crossbar__clear": not blocked,
            "control__mine": 1,
            "answer__ready": take,
            "control__response_valid": responds,
            "control__done": not self.error,
            "control__value": self.given[-1] if responds else random.randrange(256),
            "control__fault": sum(1 << n for n, fault in enumerate(FAULTS) if fault == self.error),
            "reply_source__place": self.place,
            "reply_source__pop": self.place == 3,
            **more,
        }
        names = (
            "crossbar__move",
            "crossbar__beat",
            "control__request_valid",
            "control__request",
            "named",
            "answer__valid",
            "answer__payload",
            "reply_source__byte",
            "events",
            "send_ready",
            "control__close_one",
            "control__close_mine",
            "ready_arrived",
            "errors",
            "busy",
        )
        was_busy = self.busy
        (
            move,
            beat,
            request_valid,
            request,
            named,
            answer_valid,
            answer,
            byte,
            events,
            ready,
            close_one,
            close_mine,
            heard,
            errors,
            self.busy,
        ) = await self.lockstep.step(inputs, outputs=names)
        if responds:
            self.due = None
        if move:
            assert not blocked, "a symbol moved without space"
            self.moved.append((beat & 0x1FF, now))
            if beat >> 9:
                self.closing = now + random.randint(1, 4)
        if request_valid:
            assert self.due is None, "a request before the response to the one before"
            self.requests.append((request >> 8, request & 0xFF, now))
            number = request & (1 << (PORTS - 1).bit_length()) - 1
            assert named == (1 << number if number < PORTS else 0), "another output is named than in the request"
            self.due = now + 3
        if answer_valid and take:
            self.answers.append(answer)
        if self.place == 1:
            self.replies.append(b"")
        if self.place:
            self.replies[-1] += bytes([byte])
        for counter in CounterId:
            self.counted[counter] += events >> counter & 1
        self.readies += ready
        self.heard += heard
        self.sums.append(self.counted_errors)
        total = self.sums.popleft()
        assert errors == total if total <= MAX_ERRORS else errors > MAX_ERRORS, (
            f"cycle {now}: {errors} errors shown, {total} counted"
        )
        assert errors == self.shown or was_busy, f"cycle {now}: the sum of errors changed behind an idle cycle"
        self.shown = errors
        self.closes += close_one or close_mine
        self.register = (0x1AA, 0) if symbol is None else (symbol, kind(symbol, enabled))

    async def send(self, symbols, **more):
        """Symbols in consecutive cycles."""
        for symbol in symbols:
            await self.cycle(symbol, **more)

    async def settle(self, limit=3000, **more):
        """Cycles until the port is not busy."""
        for _ in range(3):
            await self.cycle(**more)
        for _ in range(limit):
            await self.cycle(**more)
            if not self.lockstep.pin("busy"):
                return
        raise AssertionError("the port stays busy")

    @property
    def level(self):
        """Entries of the queue, as they are shown."""
        return self.lockstep.pin("level")

    @property
    def errors(self):
        """Errors counted."""
        return min(self.lockstep.pin("errors"), MAX_ERRORS)

    @property
    def counted_errors(self):
        """The same, by the events of their names."""
        return sum(self.counted[counter] for counter in ERRORS)
