"""Interrupt controller of the CAB: what waits, what is enabled, what comes first; one line to the CPU.

Source: docs/cab.md and ``Irq`` in ``nectar.hdl.cab.addresses``; both are ours. The levels are those of the CPU's
interrupt controller (a SPARC has 15).
"""

from functools import reduce
from itertools import combinations
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .addresses import LEVEL_BITS, LEVEL_REGISTERS, REG, Irq
from .registers import RegisterPort

__all__ = ["EVENTS", "STATES", "Interrupts"]

#: Interrupts that end with the state that they report.
STATES = (Irq.PACKET, Irq.RECEIVED, Irq.REPLY, Irq.INPUT)
#: Interrupts that stay until software clears them.
EVENTS = tuple(irq for irq in Irq if irq not in STATES)

_LEVELS = tuple(name.lower() for name in LEVEL_REGISTERS)


class Interrupts(wiring.Component):
    """Gathers the interrupts.

    Members
    -------
    packet, received, reply, input : In(1)
        States; pending while they last.
    *name* : In(1)
        Events, those of VME too, one member for each other interrupt; pending until a 1 is written to their bit in
        IRQ_PENDING.
    irq_pending, irq_enable, irq_vector, irq_threshold, irq_level0, irq_level1 : In(RegisterPort)
        Its registers.
    irq : Out(1)
        An interrupt is pending and enabled, and its level is above the threshold.

    Timing
    ------
    A state is pending in the same cycle, an event from the next cycle on. An event in the cycle in which software
    clears it stays pending. A level, a threshold or an enable that is written counts from the next cycle on. What
    IRQ_VECTOR holds is two cycles old: when the response to a write is out, an access that begins then finds what it
    has done."""

    def __init__(self):
        super().__init__(
            {
                **{irq.name.lower(): In(1) for irq in Irq},
                **{
                    name: In(RegisterPort(REG[name.upper()]))
                    for name in ("irq_pending", "irq_enable", "irq_vector", "irq_threshold", *_LEVELS)
                },
                "irq": Out(1),
            }
        )

    def elaborate(self, platform):
        """One bit for each source; which of them are above the threshold; the first of those that were pending."""
        m = Module()
        pending = self.irq_pending.value
        enabled = Signal.like(self.irq_enable.data)
        for irq in STATES:
            m.d.comb += pending[irq.name.lower()].eq(getattr(self, irq.name.lower()))
        for irq in EVENTS:
            name = irq.name.lower()
            happened = Signal(name=f"{name}_pending")
            m.d.comb += pending[name].eq(happened)
            with m.If(getattr(self, name)):
                m.d.sync += happened.eq(1)
            with m.Elif(self.irq_pending.write & self.irq_pending.data[name]):
                m.d.sync += happened.eq(0)
        with m.If(self.irq_enable.write):
            for irq in Irq:
                m.d.sync += enabled[irq.name.lower()].eq(self.irq_enable.data[irq.name.lower()])

        # Levels, and which of them are above the threshold, as they will be in the next cycle.
        levels, following = {}, {}
        for register in _LEVELS:
            port = getattr(self, register)
            for name in port.value.shape():
                levels[name[0]] = level = Signal(LEVEL_BITS, name=f"{name[0]}_level", init=1)
                following[name[0]] = Mux(port.write, port.data[name[0]], level)
                m.d.comb += port.value[name[0]].eq(level)
                m.d.sync += level.eq(following[name[0]])
        threshold = Signal(LEVEL_BITS)
        next_threshold = Signal(LEVEL_BITS)
        m.d.comb += next_threshold.eq(Mux(self.irq_threshold.write, self.irq_threshold.data.level, threshold))
        m.d.sync += threshold.eq(next_threshold)
        names = [irq.name.lower() for irq in sorted(Irq)]
        above = Signal(len(names), init=(1 << len(names)) - 1)
        m.d.sync += above.eq(Cat(following[name] > next_threshold for name in names))
        raised = Signal(len(names))
        raised_then = Signal(len(names))
        m.d.comb += [
            raised.eq(Cat(pending[name] & enabled[name] for name in names) & above),
            self.irq.eq(raised.any()),
            self.irq_enable.value.eq(enabled),
            self.irq_threshold.value.level.eq(threshold),
        ]

        # The highest level, and of several of that level the lowest number: each against each, as all was a cycle ago.
        m.d.sync += raised_then.eq(raised)
        first = Signal(len(names))
        outranks = {}  # of two, whether the one with the higher number comes first
        for low, high in combinations(range(len(names)), 2):
            outranks[low, high] = higher = Signal(name=f"{names[high]}_outranks_{names[low]}")
            m.d.sync += higher.eq(levels[names[high]] > levels[names[low]])
        for n in range(len(names)):
            ahead = [
                raised_then[other] & (outranks[n, other] if other > n else ~outranks[other, n])
                for other in range(len(names))
                if other != n
            ]
            m.d.comb += first[n].eq(raised_then[n] & ~Cat(*ahead).any())
        vector = Signal.like(self.irq_vector.value)
        m.d.sync += [
            vector.valid.eq(raised_then.any()),
            vector.level.eq(reduce(or_, (Mux(first[n], levels[name], 0) for n, name in enumerate(names)))),
            vector.number.eq(reduce(or_, (Mux(first[n], int(Irq[name.upper()]), 0) for n, name in enumerate(names)))),
        ]
        m.d.comb += self.irq_vector.value.eq(vector)
        return m
