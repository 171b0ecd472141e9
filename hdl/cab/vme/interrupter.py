"""VME interrupter: interrupts to the node, one for each level, and their acknowledgment.

Source: ANSI/IEEE 1014, chapter 4 (D08(O) interrupter, released on acknowledgment; the IACKIN*/IACKOUT* daisy chain);
"The Design of Nectar" (1989), section 5.2 (node and CAB communicate by VME interrupts).
"""

from amaranth.hdl import C, Cat, Module, Mux, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..registers import RegisterPort
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
    irq_pull : Out(7), iackout_n : Out(1), dtack : Out(1), data_out : Out(16), drive : Out(1)
        To the lines; ``data_out`` goes to D15 to D00 while ``drive`` is 1.
    vme_interrupt : In(RegisterPort)
        Its register. A level that is not 1 to 7, or that still waits, is refused.
    taken : Out(1)
        The node has acknowledged an interrupt, in this cycle.

    Timing
    ------
    DTACK* falls 3 to 4 cycles after IACKIN*, the data are valid a cycle before; IACKOUT* 2 to 3 cycles after it, and it
    rises with AS*. ``taken`` follows DTACK* by a cycle.
    """

    as_n: In(1, init=1)
    ds_n: In(2, init=3)
    iack_n: In(1, init=1)
    iackin_n: In(1, init=1)
    level: In(3)
    irq_pull: Out(LEVELS)
    iackout_n: Out(1, init=1)
    dtack: Out(1)
    data_out: Out(16)
    drive: Out(1)
    vme_interrupt: In(RegisterPort(VME_REG["VME_INTERRUPT"]))
    taken: Out(1)

    def elaborate(self, platform):
        """Levels that wait; an acknowledgment is ours or goes on."""
        m = Module()
        asked = self.vme_interrupt.data
        pending = Signal(LEVELS)
        level = Signal(3, reset_less=True)  # of the acknowledgment that is answered
        # Of the level on the lines.
        waits = Signal()
        vector = Signal(8)
        m.d.comb += [
            self.irq_pull.eq(pending & ~Mux(self.dtack, 1 << level >> 1, 0)),
            self.vme_interrupt.value.pending.eq(pending),
            self.vme_interrupt.refuse.eq(1),
        ]
        for number, line in enumerate(pending, 1):
            mine = Signal(8, name=f"vector{number}", reset_less=True)
            with m.If(asked.level == number):
                m.d.comb += self.vme_interrupt.refuse.eq(line)
                with m.If(self.vme_interrupt.write):
                    m.d.sync += [line.eq(1), mine.eq(asked.vector)]
            with m.If(self.taken & (level == number)):
                m.d.sync += line.eq(0)
            with m.If(self.level == number):
                m.d.comb += [waits.eq(line), vector.eq(mine)]

        m.submodules.strobes = strobes = Synchroniser(3)
        m.submodules.passed = passed = StrobeWatch()
        m.submodules.alive = alive = StrobeWatch()  # DS0* has not been high since the acknowledgment was taken for ours
        as_low, ds_low, iackin = (Signal(name=name) for name in ("as_low", "ds_low", "iackin"))
        m.d.comb += [
            strobes.lines_n.eq(Cat(self.as_n, self.ds_n[0], self.iackin_n)),
            Cat(as_low, ds_low, iackin).eq(strobes.value),
            passed.as_n.eq(self.as_n),
            self.iackout_n.eq(~passed.now),
            alive.as_n.eq(self.ds_n[0] | ResetSignal()),
            self.drive.eq(alive.now),
        ]
        shown = Signal(8, reset_less=True)
        unseen = Signal(SEEN_AFTER, reset_less=True)
        m.d.comb += self.data_out.eq(Cat(shown, C(0xFF, 8)))
        with m.FSM(name="interrupter"):
            with m.State("IDLE"):
                m.d.sync += [level.eq(self.level), shown.eq(vector), unseen.eq(unseen[1:])]
                with m.If(as_low & ds_low & iackin & ~self.iack_n & ~unseen[0] & ~passed.seen):
                    # What was seen may be over: nothing is done for the next acknowledgment before its own IACKIN*.
                    with m.If(waits):
                        m.d.comb += alive.set.eq(~self.iackin_n)
                        m.next = "ANSWER"
                    with m.Else():
                        m.d.comb += passed.set.eq(~self.iackin_n)
                        m.d.sync += unseen.eq(~0)
            with m.State("ANSWER"):
                # This one flip-flop decides whether DS0* is still low; the interrupt goes by what it says.
                m.d.sync += self.dtack.eq(alive.now)
                m.next = "TAKE"
            with m.State("TAKE"):
                with m.If(self.dtack):
                    m.d.comb += self.taken.eq(1)
                    m.next = "HOLD"
                with m.Else():
                    m.next = "IDLE"
            with m.State("HOLD"):
                with m.If(~ds_low):
                    m.d.sync += self.dtack.eq(0)
                    m.next = "IDLE"
        return m
