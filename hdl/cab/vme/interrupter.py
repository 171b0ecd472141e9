"""VME interrupter: interrupts to the node, one for each level, and their acknowledgment.

Source: ANSI/IEEE 1014, chapter 4 (D08(O) interrupter, released on acknowledgment; the IACKIN*/IACKOUT* daisy chain);
"The Design of Nectar" (1989), section 5.2 (node and CAB communicate by VME interrupts).
"""

from amaranth.hdl import Array, C, Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..registers import WORD_BITS, RegisterPort
from .numbers import LEVELS
from .registers import VME_REG
from .sync import SEEN_AFTER, StrobeWatch, Synchroniser

__all__ = ["Interrupter"]


class Interrupter(wiring.Component):
    """Raises interrupts, gives their status/ID, passes on acknowledgments that are for others.

    Members
    -------
    as_n, ds_n (2), iack_n, iackin_n : In
    level : In(3)
        A03 to A01.
    irq_pull : Out(7), iackout_n : Out(1), dtack : Out(1), data_out : Out(32), drive : Out(1)
        To the lines; ``data_out`` goes to D15 to D00 while ``drive`` is 1.
    vme_interrupt : In(RegisterPort)
        Its register. A level that is not 1 to 7, or that still waits, is refused.
    taken : Out(1)
        The node has acknowledged an interrupt, in this cycle.

    Timing
    ------
    DTACK* falls 4 to 5 cycles after IACKIN*, the data are valid a cycle before; IACKOUT* 3 to 4 cycles after it, and it
    rises with AS*.
    """

    as_n: In(1, init=1)
    ds_n: In(2, init=3)
    iack_n: In(1, init=1)
    iackin_n: In(1, init=1)
    level: In(3)
    irq_pull: Out(LEVELS)
    iackout_n: Out(1, init=1)
    dtack: Out(1)
    data_out: Out(WORD_BITS)
    drive: Out(1)
    vme_interrupt: In(RegisterPort(VME_REG["VME_INTERRUPT"]))
    taken: Out(1)

    def elaborate(self, platform):
        """Levels that wait; an acknowledgment is ours or goes on."""
        m = Module()
        asked = self.vme_interrupt.data
        pending = Signal(LEVELS + 1)
        vectors = Array(Signal(8, name=f"vector{level}") for level in range(LEVELS + 1))
        m.d.comb += [
            self.irq_pull.eq(pending[1:]),
            self.vme_interrupt.value.pending.eq(pending[1:]),
            self.vme_interrupt.refuse.eq((asked.level == 0) | pending.bit_select(asked.level, 1)),
        ]
        with m.If(self.vme_interrupt.write):
            m.d.sync += [pending.bit_select(asked.level, 1).eq(1), vectors[asked.level].eq(asked.vector)]

        m.submodules.strobes = strobes = Synchroniser(3)
        m.submodules.passed = passed = StrobeWatch()
        as_low, ds_low, iackin = Signal(), Signal(), Signal()
        m.d.comb += [
            strobes.lines_n.eq(Cat(self.as_n, self.ds_n[0], self.iackin_n)),
            Cat(as_low, ds_low, iackin).eq(strobes.value),
            passed.as_n.eq(self.as_n),
            self.iackout_n.eq(~passed.now),
        ]
        level = Signal(3)
        count = Signal(range(SEEN_AFTER + 1))
        with m.FSM(name="interrupter"):
            with m.State("IDLE"):
                m.d.sync += [level.eq(self.level), count.eq(SEEN_AFTER)]
                with m.If(as_low & ds_low & iackin & ~self.iack_n):
                    m.d.sync += self.data_out.eq(Cat(vectors[self.level], C(0xFF, 8)))
                    with m.If(pending.bit_select(self.level, 1)):
                        m.d.sync += self.drive.eq(1)
                        m.next = "ANSWER"
                    with m.Else():
                        m.d.comb += passed.set.eq(1)
                        m.next = "PASSED"
            with m.State("ANSWER"):
                with m.If(ds_low):
                    m.d.comb += self.taken.eq(1)
                    m.d.sync += [self.dtack.eq(1), pending.bit_select(level, 1).eq(0)]
                    m.next = "HOLD"
                with m.Else():
                    m.d.sync += self.drive.eq(0)
                    m.next = "IDLE"
            with m.State("HOLD"):
                with m.If(~ds_low):
                    m.d.sync += [self.dtack.eq(0), self.drive.eq(0)]
                    m.next = "IDLE"
            with m.State("PASSED"):
                with m.If(count != 0):
                    m.d.sync += count.eq(count - 1)
                with m.Elif(~passed.seen):
                    m.next = "IDLE"
        return m
