"""Registers, interrupts and timer of the node.

Source: ``docs/ipsc2-node.md``; the registers are ours. Close, "The iPSC/2 Node Architecture" (1988), section 2.1, names
interrupt controller and timer.
"""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..formats import WORD_BITS
from .fetch import area_layout
from .registers import REG, REGISTERS, WORDS_BITS, Irq
from .store import place_layout

__all__ = ["Control"]

_WIDTH = 2 * WORD_BITS
_EVENTS = tuple(irq for irq in Irq if irq not in (Irq.ARRIVED, Irq.TIMER))
_LONGEST = (1 << _WIDTH) - 1


class Control(wiring.Component):
    """What software sees of the node.

    Parameters
    ----------
    memory_bytes : int
        Size of the memory: areas of DMA lie in it.

    Members
    -------
    register, write, act, data, value, error : In, In, In, In, Out, Out
        As ``register…`` of Bus.
    status : In(32)
        What STATUS reads as.
    result : In(32)
        What IN_RESULT reads as while ARRIVED is pending.
    arrived : In(1)
        State of the interrupt ARRIVED.
    sent, refused, aborted, checksum : In(1)
        Events.
    areas : Out(stream of area_layout)
        Areas of OUT_AREA. One that is not taken in its cycle is a bus error.
    head, arm, body, set_body, body_left : Out, Out, Out, Out, In
        As in Store.
    abort, drop, reset : Out(1)
        Fields of CONTROL, in the cycle in which they are written.
    irq : Out(1)
        An interrupt is pending and enabled.
    slept : In(32)
        Clock edges that were left out before this one.
    wake_in : Out(32)
        Clock edges that may be left out before the next one: those before the timer; all ones if it is not armed.

    Timing
    ------
    A register is read, or takes effect, in the cycle of ``act``; events and the timer are pending in the cycle behind.
    An event in the cycle in which software clears it stays pending.
    """

    def __init__(self, memory_bytes):
        self.memory_bytes = memory_bytes
        place = place_layout(memory_bytes)
        super().__init__(
            {
                "register": In(10),
                "write": In(1),
                "act": In(1),
                "data": In(_WIDTH),
                "value": Out(_WIDTH),
                "error": Out(1),
                "status": In(_WIDTH),
                "result": In(_WIDTH),
                **{name: In(1) for name in ("arrived", "sent", "refused", "aborted", "checksum")},
                "areas": Out(stream.Signature(area_layout(memory_bytes))),
                "head": Out(place),
                "arm": Out(1),
                "body": Out(place),
                "set_body": Out(1),
                "body_left": In(place["words"].width),
                **{name: Out(1) for name in ("abort", "drop", "reset")},
                "irq": Out(1),
                "slept": In(_WIDTH),
                "wake_in": Out(_WIDTH),
            }
        )

    def elaborate(self, platform):
        m = Module()
        here = {}
        for register in REGISTERS:
            here[register.name] = hit = Signal(name=f"{register.name.lower()}_here")
            m.d.comb += hit.eq(self.register == register.offset // 4)
        written = {}
        refused = {}
        for register in REGISTERS:
            if "w" in register.access:
                name = register.name
                written[name] = Signal(name=f"{name.lower()}_written")
                refused[name] = Signal(name=f"{name.lower()}_refused")
                m.d.comb += written[name].eq(self.act & self.write & here[name] & ~refused[name])
        known = Signal()
        m.d.comb += known.eq(
            Cat(
                here[r.name] & (self.write if access == "w" else ~self.write) for r in REGISTERS for access in r.access
            ).any()
        )
        m.d.comb += self.error.eq(~known | self.write & Cat(here[n] & refused[n] for n in refused).any())

        # Areas: their addresses, and whether they lie in memory.
        addresses = {}
        for name in ("OUT_ADDRESS", "IN_BODY_ADDRESS", "IN_HEAD_ADDRESS"):
            addresses[name] = address = Signal(WORDS_BITS, name=name.lower())
            with m.If(written[name]):
                m.d.sync += address.eq(self.data[2 : 2 + WORDS_BITS])
        words = self.data[:WORDS_BITS]

        def outside(address):
            return address + words > self.memory_bytes // 4

        area = self.areas.payload
        m.d.comb += [
            area.address.eq(addresses["OUT_ADDRESS"]),
            area.words.eq(words),
            area.last.eq(self.data[REG["OUT_AREA"].field("last").low]),
            self.areas.valid.eq(written["OUT_AREA"]),
            refused["OUT_AREA"].eq(outside(addresses["OUT_ADDRESS"]) | (words == 0) | ~self.areas.ready),
            self.head.address.eq(addresses["IN_HEAD_ADDRESS"]),
            self.head.words.eq(words),
            self.arm.eq(written["IN_HEAD"]),
            refused["IN_HEAD"].eq(outside(addresses["IN_HEAD_ADDRESS"])),
            self.body.address.eq(addresses["IN_BODY_ADDRESS"]),
            self.body.words.eq(words),
            self.set_body.eq(written["IN_BODY"]),
            refused["IN_BODY"].eq(outside(addresses["IN_BODY_ADDRESS"])),
        ]
        for name in ("abort", "drop", "reset"):
            bit = REG["CONTROL"].field(name).low
            m.d.comb += getattr(self, name).eq(written["CONTROL"] & self.data[bit])

        # The timer.
        now = Signal(_WIDTH)
        now_next = Signal(_WIDTH)
        compare = Signal(_WIDTH)
        armed = Signal()
        due = Signal()
        m.d.comb += [now_next.eq(now + self.slept), due.eq(armed & (now_next == compare))]
        m.d.sync += now.eq(now_next + 1)
        with m.If(due):
            m.d.sync += armed.eq(0)
        with m.If(written["TIMER_COMPARE"]):
            m.d.sync += [compare.eq(self.data), armed.eq(1)]
        with m.If(written["TIMER_STOP"]):
            m.d.sync += armed.eq(0)
        with m.If(armed):
            m.d.comb += self.wake_in.eq(compare - now_next - 1)
        with m.Else():
            m.d.comb += self.wake_in.eq(_LONGEST)

        # Interrupts.
        pending = Signal(len(Irq))
        enabled = Signal(len(Irq))
        m.d.comb += pending[Irq.ARRIVED].eq(self.arrived)
        for irq in (*_EVENTS, Irq.TIMER):
            event = Signal(name=f"{irq.name.lower()}_pending")
            m.d.comb += pending[irq].eq(event)
            with m.If(due if irq is Irq.TIMER else getattr(self, irq.name.lower())):
                m.d.sync += event.eq(1)
            with m.Elif(written["IRQ_PENDING"] & self.data[irq]):
                m.d.sync += event.eq(0)
        with m.If(written["IRQ_ENABLE"]):
            m.d.sync += enabled.eq(self.data[: len(Irq)])
        m.d.comb += self.irq.eq((pending & enabled).any())

        values = {
            "IRQ_PENDING": pending,
            "IRQ_ENABLE": enabled,
            "STATUS": self.status,
            "TIMER_NOW": now_next,
            "TIMER_COMPARE": compare,
            "IN_BODY": self.body_left,
            **{name: address << 2 for name, address in addresses.items()},
        }
        with m.Switch(self.register):
            for name, value in values.items():
                with m.Case(REG[name].offset // 4):
                    m.d.comb += self.value.eq(value)
            with m.Case(REG["IN_RESULT"].offset // 4):
                with m.If(self.arrived):
                    m.d.comb += self.value.eq(self.result)
        return m
