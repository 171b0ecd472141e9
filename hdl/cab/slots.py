"""Whose turn it is at the data memory: time slots, and who gets those that are not used.

Source: "The Design of Nectar" (1989), section 5.2: 66 Mbyte/s for CPU, both fibers and VME at once. The schedule is
ours (docs/cab.md).
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, C, Module, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["REUSE", "SLOTS", "Slots", "User"]


class User(enum.Enum, shape=2):
    """The users of the data memory, and the slot of each in a frame of four cycles."""

    FIBER_IN = 0
    FIBER_OUT = 1
    VME = 2
    CPU = 3


#: Slots in a frame.
SLOTS = len(User)
#: Who gets a slot that its user does not want: the first of these that wants it.
REUSE = User.FIBER_IN, User.FIBER_OUT, User.CPU, User.VME


class Slots(wiring.Component):
    """Gives each cycle to one of those who want it.

    Members
    -------
    wants : In(4)
        Bit n: user n wants this cycle.
    given : Out(4)
        Bit n: it has it. One bit at most; one, if anybody wants.
    slept : In(2)
        Clock edges left out before this cycle, modulo 4: the schedule goes on meanwhile.

    Timing
    ------
    In the same cycle. Cycle n after reset, those slept through counted, is slot n modulo 4. So whoever wants a cycle
    and does not withdraw gets one within 4 cycles, whatever the others do, and one in each 4 while it goes on.
    """

    wants: In(SLOTS)
    given: Out(SLOTS)
    slept: In(range(SLOTS))

    def elaborate(self, platform):
        """The slot's user if it wants it; else the first in order."""
        m = Module()
        count = Signal(range(SLOTS))
        slot = Signal(range(SLOTS))
        owner = Signal()
        m.d.comb += [
            slot.eq(count + self.slept),
            owner.eq(self.wants.bit_select(slot, 1)),
        ]
        m.d.sync += count.eq(slot + 1)
        with m.If(owner):
            m.d.comb += self.given.bit_select(slot, 1).eq(1)
        with m.Else():
            earlier = C(0, 1)
            for user in REUSE:
                m.d.comb += self.given[user.value].eq(self.wants[user.value] & ~earlier)
                earlier = earlier | self.wants[user.value]
        if platform == "formal":
            self.probes = SimpleNamespace(count=count)
        m.d.comb += [
            Assert((self.given & ~self.wants) == 0, "nobody gets what he does not want"),
            Assert((self.given & (self.given - 1)) == 0, "one access in a cycle"),
            Assert((self.wants == 0) | (self.given != 0), "no cycle is lost"),
        ]
        return m
