"""Interrupt controller of the CAB: what waits, what is enabled, one line to the CPU.

Source: docs/cab.md and ``Irq`` in ``nectar.hdl.cab.addresses``; both are ours.
"""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .addresses import REG, Irq
from .registers import RegisterPort

__all__ = ["EVENTS", "STATES", "Interrupts"]

#: Interrupts that end with the state that they report.
STATES = (Irq.PACKET, Irq.RECEIVED, Irq.REPLY)
#: Interrupts that stay until software clears them.
EVENTS = tuple(irq for irq in Irq if irq not in STATES)


class Interrupts(wiring.Component):
    """Gathers the interrupts.

    Members
    -------
    packet, received, reply : In(1)
        States; pending while they last.
    sent, timer, error, trap : In(1)
        Events; pending until a 1 is written to their bit in IRQ_PENDING.
    irq_pending, irq_enable : In(RegisterPort)
        Its registers.
    irq : Out(1)
        An interrupt is pending and enabled.

    Timing
    ------
    A state is pending in the same cycle, an event from the next cycle on. An event in the cycle in which software
    clears it stays pending.
    """

    def __init__(self):
        super().__init__({
            **{irq.name.lower(): In(1) for irq in Irq},
            "irq_pending": In(RegisterPort(REG["IRQ_PENDING"])),
            "irq_enable": In(RegisterPort(REG["IRQ_ENABLE"])),
            "irq": Out(1),
        })

    def elaborate(self, platform):
        """One bit for each source."""
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
        m.d.comb += [
            self.irq_enable.value.eq(enabled),
            self.irq.eq(Cat(pending[irq.name.lower()] & enabled[irq.name.lower()] for irq in Irq).any()),
        ]
        return m
