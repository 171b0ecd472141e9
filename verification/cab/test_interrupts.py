"""Bench of hdl/cab/interrupts.py: states, events, enables, in every combination that chance gives."""

import random

import cocotb
import pytest

from nectar.hdl.cab.addresses import LEVEL_REGISTERS, REG, Irq
from nectar.hdl.cab.interrupts import EVENTS, STATES, Interrupts
from nectar.verification.bench import Bench
from nectar.verification.cab.lockstep import HandClock, lockstep

SOURCES = [irq.name.lower() for irq in Irq]
WRITTEN = "irq_pending", "irq_enable", "irq_threshold", *(name.lower() for name in LEVEL_REGISTERS)
INPUTS = (*SOURCES, *(f"{name}__{pin}" for name in WRITTEN for pin in ("write", "data", "read")), "irq_vector__read")


def test_every_interrupt_is_a_state_or_an_event():
    """nectar.hdl.cab.addresses, Irq: PACKET, RECEIVED and REPLY follow a state, the others are cleared by software."""
    assert set(STATES) == {Irq.PACKET, Irq.RECEIVED, Irq.REPLY, Irq.INPUT} and set(EVENTS) == set(Irq) - set(STATES)


class Reference:
    """Sets of interrupts."""

    def __init__(self):
        self.events = set()
        self.enabled = self.threshold = 0
        self.levels = dict.fromkeys(Irq, 1)
        self.above = set(Irq)       # what levels and threshold gave a cycle ago
        self.ranks = dict(self.levels)      # the levels a cycle ago

    def step(self, inputs):
        """See ``lockstep``."""
        pending = sum(1 << irq for irq in Irq if irq in self.events or irq in STATES and inputs[irq.name.lower()])
        raised = [irq for irq in Irq if (pending & self.enabled) >> irq & 1 and irq in self.above]
        outputs = {"irq_pending__value": pending, "irq_enable__value": self.enabled, "irq": bool(raised),
                   "irq_threshold__value": self.threshold}
        for name in LEVEL_REGISTERS:
            outputs[f"{name.lower()}__value"] = sum(field.put(self.levels[Irq[field.name.upper()]]) for field in REG[name].fields)
        if inputs["irq_vector__read"]:
            first = min(raised, key=lambda irq: (-self.ranks[irq], irq), default=None)
            outputs["irq_vector__value"] = 0 if first is None else 1 << 31 | self.levels[first] << 8 | first
        self.above = {irq for irq in Irq if self.levels[irq] > self.threshold}
        self.ranks = dict(self.levels)
        if inputs["irq_threshold__write"]:
            self.threshold = inputs["irq_threshold__data"] & 15
        for name in LEVEL_REGISTERS:
            if inputs[f"{name.lower()}__write"]:
                self.levels |= {Irq[field.name.upper()]: field.get(inputs[f"{name.lower()}__data"]) for field in REG[name].fields}
        if inputs["irq_pending__write"]:
            self.events -= {irq for irq in Irq if inputs["irq_pending__data"] >> irq & 1}
        self.events |= {irq for irq in EVENTS if inputs[irq.name.lower()]}
        if inputs["irq_enable__write"]:
            self.enabled = inputs["irq_enable__data"] & (1 << len(Irq)) - 1
        return outputs


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def states_follow_and_events_stay_until_cleared(dut):
    """Irq: an event in the cycle in which software clears it is not lost; bits without an interrupt are ignored."""
    clock = HandClock(dut)
    await clock.start(*INPUTS)

    def stimuli():
        for density in (0.02, 0.3, 0.9):
            for _ in range(2000):
                yield {
                    **{name: random.random() < density for name in SOURCES},
                    "irq_pending__write": random.random() < 0.3, "irq_pending__data": random.getrandbits(32),
                    "irq_enable__write": random.random() < 0.1, "irq_enable__data": random.getrandbits(32),
                    "irq_threshold__write": random.random() < 0.05, "irq_threshold__data": random.getrandbits(32) & ~0xC,
                    "irq_vector__read": random.random() < 0.8,
                    **{f"{name.lower()}__{pin}": random.random() < 0.05 if pin == "write" else random.getrandbits(32)
                       for name in LEVEL_REGISTERS for pin in ("write", "data")},
                }

    await lockstep(clock, Reference().step, stimuli())


bench = Bench(__name__, {"interrupts": Interrupts}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_interrupts(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
