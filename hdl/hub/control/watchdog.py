"""Watchdog: notices inputs that hold something while nothing moves.

Source: the Meerkat report's lesson from Nectar, section 5.3.4 (switches should close connections and reset flow control
after a maximum time). The way of measuring the time is ours (``docs/hub.md``, "Watchdog")."""

from types import SimpleNamespace

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ..commands import WATCHDOG_MAX
from ..part import HubPart

__all__ = ["Watchdog"]


class Watchdog(HubPart):
    """Tells which inputs have held something for too long while nothing moved.

    Parameters
    ----------
    ports : int
        Ports of the HUB.
    longest : int
        Largest logarithm of the time.

    Members
    -------
    log : In(5)
        Binary logarithm of the time in cycles, 1 to ``longest``; 0: off.
    restart : In(1)
        ``log`` has been set anew in the cycle before: the time begins to run, and nothing expires.
    held, moved : In(ports)
        ``held``: inputs that hold something. ``moved``: inputs at which something moves in this cycle.
    expired, in_time : Out(ports), Out(ports)
        Inputs that have held something for too long while nothing moved; all others, from registers of their own, which
        can stand at the ports.
    active : Out(1)
        The watchdog is on, and something was held in one of the two cycles before this one.

    Timing
    ------
    A tick comes every 2**log cycles while anything is held. An input expires with the second tick that finds it holding
    something, if nothing has moved since the first tick. So it has stood still for at least 2**log and at most
    2**(log + 1) cycles. ``expired`` lasts one cycle and comes two cycles later. A move in these two cycles is too late.

    Raises
    ------
    TypeError, ValueError
        As HubPart, and if ``longest`` is not an int from 1 to 31.
    """

    def __init__(self, ports, longest=WATCHDOG_MAX):
        if not isinstance(longest, int) or isinstance(longest, bool):
            raise TypeError(f"the longest time of a watchdog must be an int, not {longest!r}")
        if not 1 <= longest <= WATCHDOG_MAX:
            raise ValueError(f"the longest time of a watchdog is 2**1 to 2**{WATCHDOG_MAX} cycles, not 2**{longest}")
        self.longest = longest
        super().__init__(ports)

    def members(self):
        ports = self.ports
        return {
            "log": In(range(self.longest + 1)),
            "restart": In(1),
            "held": In(ports),
            "moved": In(ports),
            "expired": Out(ports),
            "in_time": Out(ports, init=(1 << ports) - 1),
            "active": Out(1),
        }

    def elaborate(self, platform):
        m = Module()
        # The parts of a HUB that drive these signals are far away.
        held = Signal(self.ports)
        moved = Signal(self.ports, reset_less=True)
        m.d.sync += [held.eq(self.held), moved.eq(self.moved)]

        # Bit ``log`` of the cycles counted changes with every tick. It is looked up two cycles early, so the counter is
        # two ahead. Behind a reset nothing is held, so these registers begin anew in the next cycle.
        count = Signal(self.longest + 1, init=2, reset_less=True)
        bit = Signal(reset_less=True)
        last = Signal(reset_less=True)
        runs = Signal()
        tick = Signal()
        on = Signal(init=1)  # the time is not 0
        m.d.sync += on.eq(self.log != 0)
        ran = Signal()  # something was held two cycles ago
        m.d.sync += ran.eq(held.any())
        m.d.comb += [runs.eq(held.any() & on), self.active.eq((ran | held.any()) & on)]
        m.d.sync += tick.eq(runs & (bit != last) & ~self.restart)
        with m.If(self.restart | ~runs):
            m.d.sync += [count.eq(2), bit.eq(0), last.eq(0)]
        with m.Else():
            m.d.sync += [count.eq(count + 1), bit.eq(count.bit_select(self.log, 1)), last.eq(bit)]

        still = Signal(self.ports, reset_less=True)  # held at the last tick, and nothing has moved since
        standing = held & ~moved
        # Ports have registers of their own: with ``expired`` alone a wire across the HUB stands in front of six levels
        # of logic. With 16 ports this costs 16 flip-flops.
        expires = Mux(tick & ~self.restart, standing & still, 0)
        m.d.sync += [
            still.eq(standing & (still | tick.replicate(self.ports))),
            self.expired.eq(expires),
            self.in_time.eq(~expires),
        ]
        with m.If(self.restart):
            m.d.sync += still.eq(0)

        if platform == "formal":
            self.probes = SimpleNamespace(
                held=held, moved=moved, count=count, bit=bit, last=last, still=still, tick=tick, on=on
            )
        return m
