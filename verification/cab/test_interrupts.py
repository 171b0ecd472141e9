"""Bench of hdl/cab/interrupts.py: states, events, enables, in every combination that chance gives."""

import random

import cocotb
import pytest

from nectar.hdl.cab.addresses import Irq
from nectar.hdl.cab.interrupts import EVENTS, STATES, Interrupts
from nectar.verification.bench import Bench
from nectar.verification.cab.lockstep import HandClock, lockstep

SOURCES = [irq.name.lower() for irq in Irq]
INPUTS = (*SOURCES, "irq_pending__write", "irq_pending__data", "irq_pending__read", "irq_enable__write", "irq_enable__data",
          "irq_enable__read")


def test_every_interrupt_is_a_state_or_an_event():
    """nectar.hdl.cab.addresses, Irq: PACKET, RECEIVED and REPLY follow a state, the others are cleared by software."""
    assert set(STATES) == {Irq.PACKET, Irq.RECEIVED, Irq.REPLY} and set(EVENTS) == set(Irq) - set(STATES)


class Reference:
    """Sets of interrupts."""

    def __init__(self):
        self.events = set()
        self.enabled = 0

    def step(self, inputs):
        """See ``lockstep``."""
        pending = sum(1 << irq for irq in Irq if irq in self.events or irq in STATES and inputs[irq.name.lower()])
        outputs = {"irq_pending__value": pending, "irq_enable__value": self.enabled, "irq": bool(pending & self.enabled)}
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
                }

    await lockstep(clock, Reference().step, stimuli())


bench = Bench(__name__, {"interrupts": Interrupts}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_interrupts(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
