"""Bench of hdl/hub/port/output_port.py: precedence, the ready bit, closing, loop back."""

import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.hub.port.output_port import READY_LIMIT, OutputPort
from nectar.hdl.hub.port.reply_sender import REPLY_ROOM
from nectar.hdl.link.symbol import Control
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep, in_each_cycle

CLOSES = 1 << 9
INPUTS = [
    "beat",
    "push",
    "send_ready",
    "repair",
    "ready_arrived",
    "ready_set",
    "ready_clear",
    "reply_byte",
    "reply_place",
    "reply_push",
    "answer__payload",
    "answer__valid",
    "ended",
    "looped",
    "tx__ready",
]
CONFIGURATIONS = {"with register": True, "with skid buffer": False}


class Model:
    """Output side of a port as docs/hub.md describes it. A symbol is [symbol, it closes]."""

    def __init__(self):
        self.has_register = CONFIGURATIONS[inside()]
        self.register = None  # symbol in the output register
        self.fresh = False  # it came in the cycle before
        self.beside = None  # what waits beside it
        self.behind = deque()  # what waits behind the crossbar
        self.may_come = True  # a symbol may come from the crossbar in this cycle
        self.readies = 0
        self.replies = deque()  # of the reply bus: lists of symbols
        self.coming = []
        self.answer = None
        self.sending = None  # symbols of the reply that is being sent, and whether it is the port's own
        self.own_last = False
        self.ready_bit = True
        self.closed = False
        self.sent = []
        self.taken_answers = 0
        self.seen = {}

    @property
    def reply_full(self):
        """Whether four replies wait, the one that is being sent included."""
        return len(self.replies) == REPLY_ROOM

    @property
    def space(self):
        """Whether the crossbar may send a symbol, into the skid buffer one cycle later."""
        return len(self.behind) < 2

    @property
    def replies_wait(self):
        """Whether there is a symbol of a reply to send."""
        return bool(self.sending or self.replies or self.answer)

    def _reply_symbol(self):
        """Takes the next symbol of replies."""
        if self.sending is None:
            own = bool(self.answer) and (not self.own_last or not self.replies)
            self.own_last = own
            self.sending = deque([Control.REPLY, *(self.answer if own else self.replies[0])]), own
        symbols, own = self.sending
        symbol = symbols.popleft()
        if not symbols:
            self.sending = None
            if own:
                self.answer = None
                self.taken_answers += 1
            else:
                self.replies.popleft()
        return symbol

    def step(self, inputs):
        """Outputs of this cycle; then what it changes."""
        valid, looped = self.register is not None, inputs["looped"]
        waiting = [*self.behind, self.beside] if self.beside else list(self.behind)
        enters = self.fresh and self.register == Control.START
        starts = enters or any(symbol == Control.START for symbol, _ in waiting)
        shown = {
            "tx__valid": valid and not looped,
            "loop_valid": valid and looped,
            "tx__payload": self.register,
            "loop_symbol": self.register,
            "space": self.space,
            "reply_full": self.reply_full,
            "ready": self.ready_bit and not starts,
            "ready_bit": self.ready_bit,
            "closed": self.closed,
            "busy": valid or bool(waiting or self.readies or self.replies_wait or self.closed),
        }
        load = not valid or looped or inputs["tx__ready"]
        if load and valid:
            self.sent.append(self.register)
        came = [inputs["beat"] & 0x1FF, bool(inputs["beat"] & CLOSES)] if inputs["push"] else None
        comes = None
        if not self.has_register:
            if came:
                self.behind.append(came)
            if self.behind and self.beside is None and load:
                comes = self.behind.popleft()
        elif self.behind and self.beside is None:
            comes = self.behind.popleft()
        leaving = self.beside or comes
        answers = self.taken_answers
        sends_ready = load and self.readies > 0
        place = self.beside
        if load:
            self.register, self.closed = (leaving[0], leaving[1] and not inputs["ended"]) if leaving else (None, False)
        else:
            self.closed = False
        if load:
            place = (
                [Control.READY, False] if self.readies else [self._reply_symbol(), False] if self.replies_wait else None
            )
        elif self.beside is None:
            place = comes
        self.beside = place
        shown["answer__ready"] = self.taken_answers > answers
        if self.has_register and came:
            self.behind.append(came)
        for symbol in [*self.behind, *([self.beside] if self.beside else [])]:
            symbol[1] = symbol[1] and not inputs["ended"]
        self.fresh = load
        self.may_come = self.space if self.has_register else shown["space"]
        self.readies = min(self.readies + inputs["send_ready"] + inputs["repair"] - sends_ready, READY_LIMIT)
        if enters or inputs["ready_clear"]:
            self.note("start wins" if enters and (inputs["ready_arrived"] or inputs["ready_set"]) else "cleared")
            self.ready_bit = False
        elif inputs["ready_set"] or inputs["ready_arrived"]:
            self.ready_bit = True
        if inputs["reply_push"]:
            self.coming.append(inputs["reply_byte"])
            if len(self.coming) == 3:
                self.replies.append(self.coming)
                self.coming = []
        if self.closed:
            self.note("closed")
        return shown

    def note(self, what):
        """Counts what happened, so that a test can tell that it did."""
        self.seen[what] = self.seen.get(what, 0) + 1


def stimulus(push, take, ready=0.05, reply=0.05, ended=0.02, looped=None, bit=0.02):
    """Random inputs within the rules of the component."""

    def inputs(model):
        if model.answer is None and random.random() < reply:
            model.answer = random.randbytes(3)
        pushes = bool(model.coming) or (not model.reply_full and random.random() < reply)
        return {
            "push": model.may_come and random.random() < push,
            "beat": random.choice([Control.START, Control.END, Control.COMMAND, 0x02, random.getrandbits(8)])
            | (random.random() < 0.1) * CLOSES,
            "send_ready": random.random() < ready,
            "repair": random.random() < ready / 2,
            "ready_arrived": random.random() < 0.1,
            "ready_set": random.random() < bit,
            "ready_clear": random.random() < bit,
            "reply_push": pushes,
            "reply_place": len(model.coming) + 1,
            "reply_byte": random.getrandbits(8),
            "answer__valid": model.answer is not None,
            "answer__payload": int.from_bytes(model.answer or b"", "big"),
            "ended": random.random() < ended,
            "looped": looped is not None and random.random() < looped,
            "tx__ready": random.random() < take,
        }

    return inputs


async def start(dut):
    lockstep = Lockstep(dut, INPUTS)
    await lockstep.start()
    return lockstep, Model()


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def sends_in_the_order_of_precedence(dut):
    """H12, H13, H15: ready, then replies, then data; start clears the ready bit and close all closes as they enter
    the register."""
    lockstep, model = await start(dut)
    for push, take, ready, reply in (
        (1, 1, 0.05, 0.05),
        (0.5, 0.8, 0.1, 0.1),
        (1, 0.3, 0.02, 0.02),
        (0.1, 1, 0.3, 0.3),
        (1, 0, 0.3, 0.1),
    ):
        await lockstep.follow(model.step, in_each_cycle(stimulus(push, take, ready, reply), model, 600))
    await lockstep.follow(model.step, in_each_cycle(stimulus(0, 1, 0, 0), model, 100))
    assert lockstep.pin("busy") == 0 and not (model.behind or model.beside or model.replies_wait or model.readies)
    assert {Control.START, Control.READY, Control.REPLY} < set(model.sent) and {
        "closed",
        "start wins",
        "cleared",
    } <= model.seen.keys()


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def loops_back_what_would_leave(dut):
    """docs/hub.md, "Loop back": the fiber is idle, and what would leave goes to the loop, whether the fiber takes
    anything or not."""
    lockstep, model = await start(dut)
    await lockstep.follow(model.step, in_each_cycle(stimulus(0.8, 0.2, 0.05, 0.05, looped=0.5), model, 600))
    await lockstep.follow(model.step, in_each_cycle(stimulus(1, 0, 0, 0, looped=1), model, 200))


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def streams_without_gaps(dut):
    """H3: with the fiber always free a symbol a cycle, each one or two cycles after it came; also behind a fiber
    that was busy."""
    lockstep, model = await start(dut)
    await lockstep.follow(model.step, in_each_cycle(stimulus(1, 1, 0, 0, bit=0), model, 200))
    assert len(model.sent) == 200 - 1 - model.has_register
    await lockstep.follow(model.step, in_each_cycle(stimulus(1, 0, 0, 0, bit=0), model, 10))
    sent = len(model.sent)
    await lockstep.follow(model.step, in_each_cycle(stimulus(1, 1, 0, 0, bit=0), model, 100))
    assert len(model.sent) == sent + 100


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def an_inserted_symbol_takes_one_cycle(dut):
    """docs/wire.md: ready signals and replies steal one cycle for each of their symbols, and no more."""
    lockstep, model = await start(dut)
    await lockstep.follow(model.step, in_each_cycle(stimulus(1, 1, 0.1, 0.1, bit=0), model, 500))
    await lockstep.follow(model.step, in_each_cycle(stimulus(1, 1, 0, 0, bit=0), model, 150))
    assert len(model.sent) == 650 - 1 - model.has_register
    assert model.sent.count(Control.READY) > 30 and model.sent.count(Control.REPLY) > 20


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_start_that_waits_counts_as_sent_for_test_open(dut):
    """H15: while a start waits for the output register behind a busy fiber, the output is not ready for another
    packet."""
    lockstep, model = await start(dut)
    symbols = deque([0x11, 0x12, Control.START])
    ready_bits = []
    for cycle in range(30):
        inputs = stimulus(0, 0, 0, 0, 0, bit=0)(model)
        if symbols and model.may_come:
            inputs |= {"push": True, "beat": symbols.popleft()}
        inputs |= {"tx__ready": cycle >= 15, "ready_arrived": cycle == 12}
        shown = model.step(inputs)
        await lockstep.step(inputs, shown)
        ready_bits.append(lockstep.pin("ready"))
    assert ready_bits[0] == 1 and not any(ready_bits[6:])


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_start_that_has_left_counts_no_more(dut):
    """H15: when the ready signal for it has come the output is ready again, though what follows the start waits
    behind a busy fiber."""
    lockstep, model = await start(dut)
    for following in range(4):
        for stall in range(3, 8):
            symbols, sent = deque([Control.START, *range(following)]), len(model.sent)
            for cycle in range(14):
                inputs = stimulus(0, 0, 0, 0, 0, bit=0)(model) | {
                    "tx__ready": cycle < stall,
                    "ready_arrived": cycle == 10,
                }
                if symbols and model.may_come:
                    inputs |= {"push": True, "beat": symbols.popleft()}
                await lockstep.step(inputs, model.step(inputs))
            assert lockstep.pin("ready") and Control.START in [*model.sent[sent:], model.register]
            await lockstep.follow(model.step, in_each_cycle(stimulus(0, 1, 0, 0, bit=0), model, 10))


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_connection_that_ended_otherwise_is_not_closed_again(dut):
    """H13, docs/hub.md, "Force connection": the last symbol of a close all that still waits closes nothing when its
    connection has ended."""
    lockstep, model = await start(dut)
    for ended in range(12):
        closed = 0
        for cycle in range(24):
            inputs = stimulus(0, 0, 0, 0, 0, bit=0)(model) | {
                "tx__ready": cycle in (0, 1, 2) or cycle > 12,
                "ended": cycle == ended,
            }
            if cycle in (5, 6) and model.may_come:
                inputs |= {"push": True, "beat": 0x33 | (cycle == 6) * CLOSES}
            await lockstep.step(inputs, model.step(inputs))
            closed += model.closed
        assert closed == (ended < 6)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def ready_signals_wait_up_to_the_limit(dut):
    """docs/hub.md: up to 15 ready signals, of a queue or of *repair ready*, wait for a fiber that takes nothing; two
    more stand in the registers."""
    lockstep, model = await start(dut)
    for inputs in ({"send_ready": 1, "repair": 0}, {"send_ready": 0, "repair": 1}, {"send_ready": 1, "repair": 1}):
        for cycles in (*range(READY_LIMIT + 4), 40):
            model.sent.clear()
            await lockstep.follow(
                model.step,
                in_each_cycle(
                    lambda model: stimulus(0, 0, 0, 0, bit=0)(model) | inputs | {"ready_arrived": 0}, model, cycles
                ),
            )
            await lockstep.follow(model.step, in_each_cycle(stimulus(0, 1, 0, 0, bit=0), model, 25))
            assert len(model.sent) <= READY_LIMIT + 2 and set(model.sent) <= {Control.READY}
        assert len(model.sent) == READY_LIMIT + 2


def test_the_register_is_there_or_not():
    """A bad parameter is refused."""
    with pytest.raises(TypeError, match="must be True or False, not 1"):
        OutputPort(1)


bench = Bench(
    __name__,
    {name: lambda register=register: OutputPort(register) for name, register in CONFIGURATIONS.items()},
    ports_only=True,
)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_output_port(configuration, claim):
    bench.check(configuration, claim)
