"""Proof of hdl/hub/control/watchdog.py: what stands still expires, in time and not before.

Statement: H20; docs/hub.md, "Watchdog". The time does not change while it runs.
"""

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.control.watchdog import Watchdog
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into
from .status_table import any_port

__all__ = ["PROOFS", "WatchdogProof"]


class WatchdogProof(wiring.Component):
    """A watchdog set to 2**``log`` cycles; ports hold something and move at any time. One arbitrary port is looked
    at."""

    def __init__(self, ports, log):
        self.watchdog = Watchdog(ports)
        self.ports, self.log = ports, log
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        dut, ports, time = self.watchdog, self.ports, 1 << self.log
        m.submodules.watchdog = look_into(dut, platform)
        probes = dut.probes
        port = any_port(m, ports, "any_port")
        held, moved, expired = (Signal(name=name) for name in ("held", "moved", "expired"))
        m.d.comb += [
            dut.log.eq(self.log),
            dut.held.eq(AnySeq(ports)),
            dut.moved.eq(AnySeq(ports)),
            held.eq(probes.held.bit_select(port, 1)),
            moved.eq(probes.moved.bit_select(port, 1)),
            expired.eq(dut.expired.bit_select(port, 1)),
        ]
        # A reset ends what is held; the rest of it, here and there, follows a cycle later.
        before, moved_before = Signal(ports), Signal(ports, reset_less=True)
        before_that = Signal()  # something was held two cycles ago
        m.d.sync += [before.eq(dut.held), moved_before.eq(dut.moved), before_that.eq(before.any())]
        # Cycles in a row in which something has been held there and nothing has moved, up to the one before this.
        still = Signal(range(4 * time + 4), reset_less=True)
        with m.If(~held | moved):
            m.d.sync += still.eq(0)
        with m.Elif(still != 4 * time + 3):
            m.d.sync += still.eq(still + 1)
        since = Signal(range(4 * time + 4), reset_less=True)  # the same, since it last expired
        with m.If(~held | moved | probes.tick & probes.still.bit_select(port, 1)):
            m.d.sync += since.eq(0)
        with m.Else():
            m.d.sync += since.eq(since + 1)
        m.d.comb += [
            Assert(~expired | (still > time), "nothing expires that has not stood still for its time"),
            Assert(since <= 2 * time, "what stands still for twice its time expires"),
            Assert(dut.active == (before.any() | before_that)),
            Assert(dut.in_time == ~dut.expired, "both registers tell the same"),
            Assert((probes.held == before) & (probes.moved == moved_before)),
        ]

        # What ties this to the registers: the cycles since the last tick, counted from 1. It means nothing in the cycle
        # behind a reset, in which nothing is held.
        cycles = Signal.like(probes.count)
        marked, fresh, phase, any_held = Signal(), Signal(), Signal(range(time + 1)), Signal()
        m.d.comb += [
            marked.eq(probes.still.bit_select(port, 1)),
            cycles.eq(probes.count - 2),
            fresh.eq((cycles == 0) & ~probes.tick),
            phase.eq(Mux(fresh, 0, Mux(cycles[: self.log] == 0, time, cycles[: self.log]))),
            any_held.eq(probes.held.any()),
            Assert(probes.on),
            Assert(probes.last == cycles[self.log]),
            Assert(probes.bit == (cycles + 1)[self.log]),
            Assert(~any_held | (probes.tick == ~fresh & (cycles[: self.log] == 0))),
            Assert(still <= 4 * time + 3),
            Assert(~any_held | ~marked | (still >= phase)),
            Assert(~any_held | (since <= phase + Mux(marked, time, 0))),
        ]
        return m


def _still(s, held, tick):
    """What has stood still, of what is ``held``, if it is looked at with each ``tick``."""
    return Mux(s.restart, 0, held & (s.still | tick.replicate(len(s.still))))


PROOFS = [
    Proof(
        "watchdog",
        "what stands still expires in time, and not before",
        "H20",
        holds={
            "2 cycles": Attempt(lambda: WatchdogProof(3, 1)),
            "8 cycles": Attempt(lambda: WatchdogProof(3, 3)),
            "1024 cycles": Attempt(lambda: WatchdogProof(3, 10)),
        },
        search=Attempt(lambda: WatchdogProof(2, 1), mode="bmc", depth=12),
        faults={
            "what has just come expires": Fault(
                Watchdog, "expired", lambda was, s: Mux(s.tick, s.local("held") & ~s.local("moved"), 0)
            ),
            "what moves in time expires": Fault(Watchdog, "still", lambda was, s: _still(s, s.local("held"), s.tick)),
            "a tick is missed": Fault(
                Watchdog,
                "still",
                lambda was, s: _still(s, s.local("held") & ~s.local("moved"), s.tick & ~s.bit),
            ),
        },
    )
]
