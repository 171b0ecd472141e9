"""Locks: which input alone may open each output.

Source: "The Design of Nectar" (1989), section 4.2, names locks. Their effect is ours (``docs/hub.md``, "Controller and
status table").
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ..messages import index_bits, one_hot_index
from ..part import HubPart

__all__ = ["Locks"]


class Locks(HubPart):
    """The locks of a HUB.

    Members
    -------
    change, who : In(ports), In(ports)
        ``change``: outputs whose lock changes. ``who``: the input that gets the lock, one-hot; 0 if no input gets it.
    given : In(1)
        With ``change``: an input gets the lock. So ``who`` is not 0, which takes longer to find out.
    give_back : In(ports)
        Outputs whose lock ends, unless it changes.
    release : In(ports)
        Inputs all of whose locks end.
    held, shut : Out(ports).array(ports)
        For each input: the mask of the outputs that it has locked, and the mask of the outputs that others have locked.
    holding : Out(ports)
        Inputs that hold a lock.
    locked, owner : Out(ports), Out(index).array(ports)
        Outputs that are locked, and for each of them the number of the input that holds the lock.
    ended : Out(ports)
        Outputs whose lock was given back by ``release`` in the cycle before.

    Timing
    ------
    A change of cycle t shows in cycle t + 1. The exception: a release of cycle t shows in ``locked`` and ``shut`` in
    cycle t + 2. When an output's lock changes in the cycle in which an input releases its locks, this input does not
    get the lock.
    """

    def members(self):
        ports, bits = self.ports, index_bits(self.ports)
        return {
            "change": In(ports),
            "who": In(ports),
            "given": In(1),
            "give_back": In(ports),
            "release": In(ports),
            "held": Out(ports).array(ports),
            "shut": Out(ports).array(ports),
            "holding": Out(ports),
            "locked": Out(ports),
            "owner": Out(bits).array(ports),
            "ended": Out(ports),
        }

    def elaborate(self, platform):
        m = Module()
        ports = range(self.ports)

        released = Signal(self.ports)  # outputs on which an input holds a lock that it releases
        m.d.comb += [
            released.eq(reduce(or_, (Mux(self.release[i], self.held[i], 0) for i in ports))),
            self.holding.eq(Cat(held.any() for held in self.held)),
        ]
        index = Signal(range(self.ports))
        m.d.comb += index.eq(one_hot_index(self.who))
        for o in ports:
            # Whether nobody holds this lock any more is found in front of a register. Behind it, with 16 ports, this
            # would be 3 levels of logic more in front of all bits of ``shut``. It costs 6 LUTs for each output.
            m.d.sync += self.ended[o].eq(
                Mux(self.change[o], (self.who & self.release).any(), released[o] & ~self.give_back[o])
            )
            with m.If(self.change[o]):
                m.d.sync += [
                    self.locked[o].eq(self.given),
                    self.owner[o].eq(index),
                    *(self.held[i][o].eq(self.who[i]) for i in ports),
                    *(self.shut[i][o].eq(self.given & ~self.who[i]) for i in ports),
                ]
            # Apart from the change, and behind it, so each bit of ``shut`` has an enable and a reset and no LUT:
            # with 16 ports 504 LUTs instead of 732.
            with m.If((self.ended[o] | self.give_back[o]) & ~self.change[o]):
                m.d.sync += [self.locked[o].eq(0), *(self.shut[i][o].eq(0) for i in ports)]
            with m.If(self.give_back[o] & ~self.change[o]):
                m.d.sync += [self.held[i][o].eq(0) for i in ports]
        for i in ports:
            with m.If(self.release[i]):
                m.d.sync += self.held[i].eq(0)

        if platform == "formal":
            m.d.comb += Assert(~self.change.any() | (self.given == self.who.any()), "whether an input gets it is known")
            for o in ports:
                holders = Signal(self.ports, name=f"holders_{o}")
                m.d.comb += [
                    holders.eq(sum(self.held[i][o] << i for i in ports)),
                    Assert((holders & (holders - 1))[: self.ports] == 0, "one input at most holds a lock"),
                    Assert(self.ended[o] == self.locked[o] & ~holders.any()),
                    Assert(
                        ~holders.any() | (self.locked[o] & (holders == (1 << self.owner[o]))),
                        "who holds a lock is known",
                    ),
                ]
        return m
