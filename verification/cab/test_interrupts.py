"""Bench of hdl/cab/interrupts.py: states, events, enables, in every combination that chance gives."""

import random
from itertools import combinations

import cocotb
import pytest

from nectar.hdl.cab.addresses import LEVEL_REGISTERS, REG, Irq
from nectar.hdl.cab.interrupts import EVENTS, STATES, Interrupts
from nectar.verification.bench import Bench
from nectar.verification.harness import Lockstep

SOURCES = [irq.name.lower() for irq in Irq]
WRITTEN = "irq_pending", "irq_enable", "irq_threshold", *(name.lower() for name in LEVEL_REGISTERS)
INPUTS = (*SOURCES, *(f"{name}__{pin}" for name in WRITTEN for pin in ("write", "data", "read")))


def test_every_interrupt_is_a_state_or_an_event():
    """nectar.hdl.cab.addresses, Irq: PACKET, RECEIVED and REPLY follow a state, the others are cleared by software."""
    assert set(STATES) == {Irq.PACKET, Irq.RECEIVED, Irq.REPLY, Irq.INPUT} and set(EVENTS) == set(Irq) - set(STATES)


class Reference:
    """Sets of interrupts."""

    def __init__(self):
        self.events = set()
        self.enabled = self.threshold = 0
        self.levels = dict.fromkeys(Irq, 1)
        self.raised, self.ranks = [], dict(self.levels)  # a cycle ago
        self.vector = 0

    def step(self, inputs):
        """See ``lockstep``."""
        pending = sum(1 << irq for irq in Irq if irq in self.events or irq in STATES and inputs[irq.name.lower()])
        raised = [irq for irq in Irq if (pending & self.enabled) >> irq & 1 and self.levels[irq] > self.threshold]
        outputs = {
            "irq_pending__value": pending,
            "irq_enable__value": self.enabled,
            "irq": bool(raised),
            "irq_threshold__value": self.threshold,
            "irq_vector__value": self.vector,
        }
        for name in LEVEL_REGISTERS:
            outputs[f"{name.lower()}__value"] = sum(
                field.put(self.levels[Irq[field.name.upper()]]) for field in REG[name].fields
            )
        first = min(self.raised, key=lambda irq: (-self.ranks[irq], irq), default=None)
        self.vector = 0 if first is None else 1 << 31 | self.levels[first] << 8 | first
        self.raised, self.ranks = raised, dict(self.levels)
        if inputs["irq_threshold__write"]:
            self.threshold = inputs["irq_threshold__data"] & 15
        for name in LEVEL_REGISTERS:
            if inputs[f"{name.lower()}__write"]:
                self.levels |= {
                    Irq[field.name.upper()]: field.get(inputs[f"{name.lower()}__data"]) for field in REG[name].fields
                }
        if inputs["irq_pending__write"]:
            self.events -= {irq for irq in Irq if inputs["irq_pending__data"] >> irq & 1}
        self.events |= {irq for irq in EVENTS if inputs[irq.name.lower()]}
        if inputs["irq_enable__write"]:
            self.enabled = inputs["irq_enable__data"] & (1 << len(Irq)) - 1
        return outputs


def close_levels():
    """A word of eight levels, which are equal or differ in one bit."""
    level = random.getrandbits(4)
    return sum((level ^ random.choice([0, 1 << random.randrange(4)])) << 4 * n for n in range(8))


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def states_follow_and_events_stay_until_cleared(dut):
    """Irq: an event in the cycle in which software clears it is not lost; bits without an interrupt are ignored."""
    clock = Lockstep(dut)
    await clock.start(*INPUTS)

    def stimuli():
        for density in (0.02, 0.3, 0.9):
            for _ in range(2000):
                yield {
                    **{name: random.random() < density for name in SOURCES},
                    "irq_pending__write": random.random() < 0.3,
                    "irq_pending__data": random.getrandbits(32),
                    "irq_enable__write": random.random() < 0.1,
                    "irq_enable__data": random.getrandbits(32),
                    "irq_threshold__write": random.random() < 0.05,
                    "irq_threshold__data": random.getrandbits(32) & random.choice([~0xC, ~0]),
                    **{
                        f"{name.lower()}__{pin}": random.random() < 0.05
                        if pin == "write"
                        else random.choice([random.getrandbits(32), close_levels()])
                        for name in LEVEL_REGISTERS
                        for pin in ("write", "data")
                    },
                }

    await clock.follow(Reference().step, stimuli())


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def of_each_two_the_higher_level_comes_first_and_then_the_lower_number(dut):
    """docs/cab.md, interrupts: IRQ_VECTOR, for every pair, with levels that are equal or differ in one bit, either
    way round."""
    clock = Lockstep(dut)
    await clock.start(*INPUTS)
    quiet = dict.fromkeys(INPUTS, 0)

    def stimuli():
        for low, high in combinations(sorted(Irq), 2):
            for difference in (0, 1, 2, 4, 8):
                level = random.getrandbits(4)
                levels = {low: level, high: level ^ difference}
                words = {
                    f"{name.lower()}__{pin}": 1
                    if pin == "write"
                    else sum(field.put(levels.get(Irq[field.name.upper()], 15)) for field in REG[name].fields)
                    for name in LEVEL_REGISTERS
                    for pin in ("write", "data")
                }
                raised = {irq.name.lower(): 1 for irq in (low, high)}
                yield quiet | words | raised | {"irq_enable__write": 1, "irq_enable__data": 1 << low | 1 << high}
                states = {irq.name.lower(): 1 for irq in (low, high) if irq in STATES}
                yield from [quiet | states] * 3
                yield quiet | states | {"irq_pending__write": 1, "irq_pending__data": (1 << 32) - 1}

    await clock.follow(Reference().step, stimuli())


bench = Bench(__name__, {"interrupts": Interrupts}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_interrupts(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
