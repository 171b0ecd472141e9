"""Bench of hdl/hub/port/output_port.py: precedence, the ready bit, closing, loop back."""

import itertools
import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.hub.port.output_port import READY_LIMIT, OutputPort
from nectar.hdl.link.symbol import Control
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep, in_each_cycle
from nectar.verification.hub.port.reply_model import ReplyModel
from nectar.verification.specs.output_port import OutputPortSpec
from nectar.verification.specs.spec import Follower

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
    """The output port and its reply sender, as specified."""

    def __init__(self):
        self.has_register = CONFIGURATIONS[inside()]
        self.spec = Follower(OutputPortSpec(self.has_register))
        self.replies = ReplyModel()
        self.may_come = True  # a symbol may come from the crossbar in this cycle
        self.sent = []
        self.seen = {}

    @property
    def state(self):
        """What the port remembers."""
        return self.spec.state

    @property
    def idle(self):
        """Whether nothing is left to be sent."""
        return not (self.state.count or self.state.inserted or self.state.readies or self.replies.waiting)

    def step(self, inputs):
        """Outputs of this cycle; then what it changes."""
        before = self.state
        given = inputs | {"reply_waiting": self.replies.waiting}
        told = self.replies.step(
            {
                "push": inputs["reply_push"],
                "byte": inputs["reply_byte"],
                "answer__valid": inputs["answer__valid"],
                "take": self.spec.show(given)["takes_reply"],
                "muted": 0,
            }
        )
        shown = self.spec.step(given | {"reply_symbol": told["symbol"] or 0})
        del shown["takes_reply"]
        shown |= {"reply_full": told["full"], "answer__ready": told["answer__ready"]}
        if before.valid and (inputs["looped"] or inputs["tx__ready"]):
            self.sent.append(before.symbol)
        # Behind the skid buffer a symbol comes a cycle after ``space``.
        self.may_come = self.spec.show(given)["space"] if self.has_register else shown["space"]
        if before.started or inputs["ready_clear"]:
            arrives = inputs["ready_arrived"] or inputs["ready_set"]
            self.note("start wins" if before.started and arrives else "cleared")
        if self.state.closed:
            self.note("closed")
        return shown

    def note(self, what):
        """Counts what happened, so that a test can tell that it did."""
        self.seen[what] = self.seen.get(what, 0) + 1


def stimulus(push, take, ready=0.05, reply=0.05, ended=0.02, looped=None, bit=0.02):
    """Random inputs within the rules of the component."""

    def inputs(model):
        replies = model.replies
        if replies.answer is None and random.random() < reply:
            replies.answer = random.randbytes(3)
        pushes = bool(replies.coming) or (not replies.full and random.random() < reply)
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
            "reply_place": len(replies.coming) + 1,
            "reply_byte": random.getrandbits(8),
            "answer__valid": replies.answer is not None,
            "answer__payload": int.from_bytes(replies.answer or b"", "big"),
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
    assert lockstep.pin("busy") == 0 and model.idle
    assert {Control.START, Control.READY, Control.REPLY} < set(model.sent) and {
        "closed",
        "start wins",
        "cleared",
    } <= model.seen.keys()


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_reset_of_one_cycle_leaves_nothing_to_send(dut):
    """docs/hub.md, "Reset hub": whatever waits then, and comes just then."""
    lockstep, model = await start(dut)
    for _ in range(20):
        await lockstep.follow(model.step, in_each_cycle(stimulus(1, 0.2, 0.3, 0.3), model, 40))
        await lockstep.reset(stimulus(1, 0.2, 0.3, 0.3)(model))
        model = Model()
        await lockstep.follow(model.step, in_each_cycle(stimulus(0, 1, 0, 0), model, 10))
        assert not model.sent


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
            assert lockstep.pin("ready") and Control.START in [*model.sent[sent:], model.state.symbol]
            await lockstep.follow(model.step, in_each_cycle(stimulus(0, 1, 0, 0, bit=0), model, 10))


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_connection_that_ended_otherwise_is_not_closed_again(dut):
    """H13, docs/hub.md, "Force connection": the last symbol of a close all that still waits closes nothing when its
    connection has ended."""
    lockstep, model = await start(dut)
    for again, ended in itertools.product((12, 9), range(12)):
        closed = 0
        for cycle in range(24):
            inputs = stimulus(0, 0, 0, 0, 0, bit=0)(model) | {
                "tx__ready": cycle in (0, 1, 2) or cycle > again,
                "ended": cycle == ended,
            }
            if cycle in (5, 6) and model.may_come:
                inputs |= {"push": True, "beat": 0x33 | (cycle == 6) * CLOSES}
            await lockstep.step(inputs, model.step(inputs))
            closed += model.state.closed
        # The last symbol waits from cycle 6 on. It enters the output register when the fiber takes the one before it.
        assert closed == (ended < 6 or ended > again + 1)


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
