"""The CAB's error counters.

Source: docs/cab.md, which is ours.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .addresses import REG
from .registers import RegisterPort

__all__ = ["EVENT_BITS", "ErrorCounters"]

#: Bits of the number of events that one counter may see in one cycle.
EVENT_BITS = 2


class ErrorCounters(wiring.Component):
    """Counts events; each counter stops at its highest value.

    Members
    -------
    errors : In(RegisterPort)
        The register, one field for each counter.
    *name* : In(2)
        Events of the counter *name* in this cycle, one member for each field.
    moved : Out(1)
        A counter will have another value in the next cycle.

    Timing
    ------
    Events count from the next cycle on.
    """

    def __init__(self):
        super().__init__(
            {
                "errors": In(RegisterPort(REG["ERRORS"])),
                **{field.name: In(EVENT_BITS) for field in REG["ERRORS"].fields},
                "moved": Out(1),
            }
        )

    def elaborate(self, platform):
        """The same for each field."""
        m = Module()
        moves = []
        for field in REG["ERRORS"].fields:
            events = getattr(self, field.name)
            count = Signal(field.width, name=f"{field.name}_count")
            total = Signal(unsigned(field.width + 1), name=f"{field.name}_total")
            top = (1 << field.width) - 1
            m.d.comb += [self.errors.value[field.name].eq(count), total.eq(count + events)]
            with m.If(events != 0):
                m.d.sync += count.eq(Mux(total > top, top, total))
            moves.append((events != 0) & (count != top))
        m.d.comb += self.moved.eq(Cat(*moves).any())
        return m
