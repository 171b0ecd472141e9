"""VME slave: transfers of other masters become accesses to the CAB's address map.

Source: ANSI/IEEE 1014, chapter 2; "The Design of Nectar" (1989), section 5.2 (everything that the CAB's CPU can reach
is visible to the node). docs/vme.md says what is answered how.
"""

from amaranth.hdl import C, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..access import Access, AccessPort
from ..memory import LANES
from ..regions import REGIONS
from ..registers import WORD_BITS
from .lanes import Lanes
from .numbers import PERIOD_PS, Ns, check_period, cycles
from .pins import ADDRESS_LINES, Select
from .slave_signals import SlaveSignals
from .sync import EdgeWatch, StrobeWatch, Synchroniser

__all__ = ["LOCK_NS", "VmeSlave"]

#: How long a read that may be the first half of a read-modify-write keeps the CPU out.
LOCK_NS = 10_000
#: The two low bits of an address modifier.
_PROGRAM, _BLOCK = 2, 3


class VmeSlave(wiring.Component):
    """Answers transfers to this board.

    Parameters
    ----------
    period_ps : int
        Period of the clock.
    lock_ns : int
        How long the access port may be kept locked.

    Members
    -------
    as_n, ds_n (2), write_n, lword_n, iack_n, address, am, data_in, dtack_n, berr_n : In
        The lines, as in ``VmePins``.
    data_out : Out(32), data_drive : Out(2)
    dtack, berr : Out(1)
        Pull these lines.
    select : Out(Select())
    access : Out(AccessPort())

    Timing
    ------
    The first transfer of a cycle is looked at for 4 cycles after its data strobes have been seen, then the access is
    made, then the answer given. The later ones of a block of 16 or 32 bits in data memory are answered at the third
    clock edge after both strobes fell: a word is written after that answer, or was read before.

    Raises
    ------
    TypeError, ValueError
        If the period is not one that is possible.
    """

    def __init__(self, period_ps=PERIOD_PS, lock_ns=LOCK_NS):
        check_period(period_ps)
        self.period_ps = period_ps
        self.lock_cycles = cycles(lock_ns, period_ps)
        self._early = max(cycles(Ns.ANSWER, period_ps) - 2, 0)
        self._settle = cycles(Ns.DS_SKEW_SLAVE, period_ps) - 1
        self._verify = cycles(Ns.ADDRESS_SETUP, period_ps) + 1
        super().__init__(
            {
                "as_n": In(1, init=1),
                "ds_n": In(2, init=3),
                "write_n": In(1, init=1),
                "lword_n": In(1, init=1),
                "iack_n": In(1, init=1),
                "address": In(ADDRESS_LINES),
                "am": In(6),
                "data_in": In(WORD_BITS),
                "dtack_n": In(1, init=1),
                "berr_n": In(1, init=1),
                "data_out": Out(WORD_BITS),
                "data_drive": Out(2),
                "dtack": Out(1),
                "berr": Out(1),
                "select": Out(Select()),
                "access": Out(AccessPort()),
            }
        )

    def elaborate(self, platform):
        """The strobes in our clock; the cycle; its bytes; the access to the map, behind or ahead of them; the lock;
        the transfers."""
        m = Module()
        s = SlaveSignals(self._verify)
        late_strobe = self._watch_strobes(m, s)
        self._compare_address(m, s)
        self._steer_bytes(m, s)
        self._make_access(m, s)
        self._choose_access(m, s)
        self._hold_lock(m, s)
        settled = self._settled(m, s, late_strobe)
        soon = self._too_soon(m, s)
        self._give_answer(m, s)
        self._enter_cycle(m, s)
        with m.FSM(name="slave"):
            with m.State("WAIT"):
                self._wait(m, s, soon)
            with m.State("SETTLE"):
                self._settle_strobes(m, s, settled)
            with m.State("VERIFY"):
                self._verify_cycle(m, s)
            with m.State("BEGIN"):
                self._begin(m, s)
            with m.State("ACCESS"):
                self._end_access(m, s)
            with m.State("ARMED"):
                # The data lines are valid a cycle before the answer.
                m.d.sync += s.smooth.eq(s.may_flow)
                self._answer(m, s)
            with m.State("HOLD"):
                self._hold(m, s)
        return m

    def _watch_strobes(self, m, s):
        """The strobes in our clock, and which were asserted since they were last looked at.

        Each assertion of AS* or of the data strobes changes its turn. Returns whether that of the data strobes has just
        changed."""
        m.submodules.strobes = strobes = Synchroniser(3)
        m.submodules.answers = answers = Synchroniser(2)
        m.submodules.as_edge = as_edge = EdgeWatch()
        m.submodules.ds_edge = ds_edge = EdgeWatch()
        m.submodules.same = same = StrobeWatch()  # AS* has not been high since the cycle was taken for ours
        m.submodules.alive = alive = StrobeWatch()  # the data strobes have not been high since they were looked at
        m.d.comb += [
            strobes.lines_n.eq(Cat(self.ds_n, self.as_n)),
            Cat(s.ds, s.as_low).eq(strobes.value),
            answers.lines_n.eq(Cat(self.dtack_n, self.berr_n)),
            as_edge.asserted.eq(~self.as_n),
            ds_edge.asserted.eq(~self.ds_n.all()),
            same.as_n.eq(self.as_n),
            alive.as_n.eq(self.ds_n.all()),
        ]
        as_before = Signal(reset_less=True)
        ds_before = Signal(reset_less=True)
        m.d.comb += [
            s.renewed.eq(s.as_pending | (as_edge.turn != as_before)),
            s.fresh.eq(s.ds_pending | (ds_edge.turn != ds_before)),
        ]
        m.d.sync += [
            as_before.eq(as_edge.turn),
            s.as_pending.eq(s.renewed),
            ds_before.eq(ds_edge.turn),
            s.ds_pending.eq(s.fresh),
        ]
        return ds_edge.turn != ds_before

    def _compare_address(self, m, s):
        """Whether the cycle on the lines is the board's."""
        m.d.comb += [
            s.a24.eq(self.am[4]),
            s.matches.eq(
                self.iack_n
                & self.am[3]
                & (self.am[4] == self.am[5])
                & (self.am[:2] != 0)
                & Mux(
                    s.a24,
                    self.select.a24 & (self.address[22] == self.select.a24_half),
                    self.select.a32 & (self.address[23:] == self.select.a32_base),
                )
            ),
        ]

    def _steer_bytes(self, m, s):
        """Bytes on the lines and in the word, and where the next transfer of a block goes."""
        m.submodules.lanes = lanes = Lanes()
        m.d.comb += [
            lanes.wide.eq(s.wide),
            lanes.strobe.eq(s.strobe),
            lanes.high.eq(s.address[1]),
            lanes.lines_in.eq(Mux(s.waiting, s.lines, s.taken)),
        ]
        m.d.sync += s.lines.eq(self.data_in)
        step = Signal(range(LANES + 1))  # of 16 bits or fewer: DS1*, then DS0* of the same two bytes
        m.d.comb += [
            s.may_flow.eq(s.block & s.strobe.all() & (s.address[20:] == REGIONS["data"].base >> 20)),
            step.eq(Mux(s.wide, 4, Mux(s.strobe.all(), 2, Mux(s.strobe[1], 0, 2)))),
            s.onward.eq(s.address[: len(s.onward) - 1] + step),
        ]

    def _make_access(self, m, s):
        """The port of the access, and what it has read on its way to the lines."""
        port, lanes = self.access, m.submodules.lanes
        ahead_word = Signal(WORD_BITS, reset_less=True)
        drives = Signal(2, reset_less=True)
        data_out = Signal(WORD_BITS, reset_less=True)
        m.d.comb += [
            port.valid.eq(s.want),
            *(getattr(port, name).eq(getattr(s.asks, name)) for name in Access.as_shape().members),
            s.quiet.eq(~s.want & ~s.waits),
            s.free.eq(s.quiet | port.done),
            lanes.word_in.eq(Mux(s.ahead, ahead_word, port.read_data)),
            self.data_out.eq(data_out),
            self.data_drive.eq(
                Mux(~self.ds_n.all() & (s.held | (s.armed & m.submodules.same.now)), drives, 0),
            ),
        ]
        with m.If(s.want & port.ready):
            m.d.sync += [s.want.eq(0), s.waits.eq(1)]
        with m.If(port.done):
            m.d.sync += [s.waits.eq(0), s.posted.eq(0), s.asked.eq(0)]
        with m.If(port.done & s.posted & port.error):
            m.d.sync += s.spoiled.eq(1)
        with m.If(port.done & s.asked & ~port.error):
            m.d.sync += s.ahead.eq(1)
        with m.If(~s.ahead):
            m.d.sync += ahead_word.eq(port.read_data)
        with m.If(~s.armed):
            m.d.sync += [data_out.eq(lanes.lines_out), drives.eq(lanes.drive)]

    def _choose_access(self, m, s):
        """What is asked next: a block's next word, if it is read and the one before is answered now, else that of the
        address."""
        lanes, low = m.submodules.lanes, len(s.onward) - 1
        with m.If(s.free & ~s.post):
            m.d.sync += [
                s.asks.address.eq(
                    Cat(C(0, 2), Mux(s.waiting & ~s.write, s.onward[2:-1], s.address[2:low]), s.address[low:])
                ),
                s.asks.write.eq(s.write),
                s.asks.select.eq(lanes.select | (s.smooth & ~s.write).replicate(LANES)),
                s.asks.execute.eq(s.program & ~s.write),
                s.asks.write_data.eq(lanes.word_out),
            ]
        with m.If(s.looks):
            m.d.sync += [s.asked.eq(1), s.want.eq(1)]
        with m.If(s.arms):
            m.d.sync += [s.armed.eq(1), s.ahead.eq(0)]

    def _hold_lock(self, m, s):
        """Read-modify-write: locked from a cycle's first read on, unless it is a block's, until its write is done."""
        port = self.access
        lock_left = Signal(range(self.lock_cycles + 1))
        m.d.comb += port.lock.eq(lock_left != 0)
        with m.If(s.unlocks):
            m.d.sync += lock_left.eq(0)
        with m.Elif(s.locks):
            m.d.sync += lock_left.eq(self.lock_cycles)
        with m.Elif(port.lock & s.quiet):
            m.d.sync += lock_left.eq(lock_left - 1)
        with m.If(s.forgets):
            m.d.sync += s.late.eq(0)
        with m.Elif(s.quiet & (lock_left == 1)):
            m.d.sync += s.late.eq(1)

    def _settled(self, m, s, late_strobe):
        """Whether both strobes of a transfer, if it has two, have been seen."""
        if not self._settle:
            return ~late_strobe
        settle = Signal(range(self._settle + 1), reset_less=True)
        m.d.sync += settle.eq(Mux(s.settles & ~late_strobe, settle - 1, self._settle))
        return ~late_strobe & (settle == 0)

    def _too_soon(self, m, s):
        """Whether an answer would come too soon after the strobes."""
        if not self._early:
            return Const(0)
        early = Signal(range(self._early + 1), reset_less=True)
        soon = early != 0
        with m.If(~s.fresh):
            m.d.sync += early.eq(self._early)
        with m.Elif(soon):
            m.d.sync += early.eq(early - 1)
        return soon

    def _give_answer(self, m, s):
        """The lines of the answer; behind it a block goes on to its next address."""
        there = Signal()
        # Not if the strobes are gone: the next transfer's master would take it for its own.
        m.d.comb += there.eq(Mux(s.waiting, ~self.ds_n.all(), m.submodules.alive.now))
        with m.If(s.answering):
            m.d.sync += [
                self.dtack.eq(there & ~s.bad),
                self.berr.eq(there & s.bad),
                s.held.eq(there & ~s.bad & ~s.write),
                s.moved.eq(1),
            ]
        with m.Elif(s.over):
            m.d.sync += [self.dtack.eq(0), self.berr.eq(0), s.held.eq(0), s.armed.eq(0)]
        with m.If(s.answering & s.block):
            m.d.sync += [s.address[: len(s.onward) - 1].eq(s.onward[:-1]), s.crossed.eq(s.crossed | s.onward[-1])]

    def _enter_cycle(self, m, s):
        """What AS* came with; all that was of the cycle before is forgotten."""
        with m.If(s.forgets):
            m.d.sync += [
                s.ours.eq(s.matches & s.as_low),
                s.address.eq(Cat(0, self.address[:22], self.address[22] & ~s.a24)),
                s.wide.eq(~self.lword_n),
                s.block.eq(self.am[:2] == _BLOCK),
                s.program.eq(self.am[:2] == _PROGRAM),
                s.moved.eq(0),
                s.crossed.eq(0),
                s.armed.eq(0),
                s.ahead.eq(0),
                s.smooth.eq(0),
                s.spoiled.eq(0),
                s.posted.eq(0),
                s.asked.eq(0),
            ]

    def _answer(self, m, s, wrong=0):
        """The transfer is answered in this cycle, with BERR* if ``wrong``."""
        m.d.comb += [s.answering.eq(1), s.bad.eq(wrong)]
        m.next = "HOLD"

    def _wait(self, m, s, soon):
        """For the strobes of a transfer; the later ones of a block are answered here."""
        port, same = self.access, m.submodules.same
        m.d.comb += s.waiting.eq(1)
        m.d.sync += s.patient.eq(0)
        m.d.comb += [
            s.unlocks.eq(~same.seen),
            s.arms.eq((s.ahead | (s.asked & port.done & ~port.error)) & ~s.armed & same.seen),
        ]
        with m.If(
            s.fresh
            & s.smooth
            & same.seen
            & ~s.spoiled
            & ~s.crossed
            & (self.write_n != s.write)
            & (s.ds.all() | ~s.patient)
        ):
            m.d.sync += s.patient.eq(~s.ds.all())
            with m.If(s.ds.all() & ~soon & Mux(s.write, s.quiet | (port.done & ~port.error), s.armed)):
                m.d.sync += s.ds_pending.eq(0)
                self._answer(m, s)
                m.d.sync += s.post.eq(s.write)
                m.d.comb += s.looks.eq(~s.write & ~s.onward[-1])
            with m.Elif(s.ds.all() & ~s.write & s.quiet & ~s.ahead & ~s.armed):
                m.next = "SETTLE"
        with m.Elif(s.fresh):
            m.next = "SETTLE"

    def _settle_strobes(self, m, s, settled):
        """Until both strobes are seen; then the transfer is known, but for the address of a new cycle."""
        m.d.comb += s.settles.eq(1)
        m.d.sync += [
            s.strobe.eq(s.ds),
            s.taken.eq(s.lines),
            s.write.eq(~self.write_n),
            s.verify.eq(self._verify),
        ]
        m.d.comb += [s.forgets.eq(~s.known | s.renewed), s.unlocks.eq(s.forgets)]
        with m.If(settled):
            m.d.comb += m.submodules.alive.set.eq(1)
            m.d.sync += s.ds_pending.eq(0)
            with m.If(s.forgets):
                m.d.sync += [s.known.eq(s.as_low), s.as_pending.eq(0)]
                m.next = "VERIFY"
            with m.Elif(s.ours & s.ds.any()):
                m.next = "BEGIN"
            with m.Else():
                m.next = "WAIT"

    def _verify_cycle(self, m, s):
        """If the transfer that was seen is over, the lines may have been those of the next one."""
        m.d.sync += s.verify.eq(s.verify - 1)
        with m.If(~s.ours):
            m.next = "WAIT"
        with m.Elif(s.fresh):
            m.d.sync += s.known.eq(0)
            m.next = "SETTLE"
        with m.Elif(~s.ds.any() | m.submodules.answers.value.any()):
            m.d.sync += s.known.eq(0)
            m.next = "WAIT"
        with m.Elif(s.verify == 0):
            m.d.comb += m.submodules.same.set.eq(1)
            m.next = "BEGIN"

    def _begin(self, m, s):
        """The access of the transfer, or the answer if that needs none."""
        bad = m.submodules.lanes.bad
        with m.If(~s.ds.any()):
            m.next = "WAIT"
        with m.Elif(s.ahead & ~s.armed):
            m.d.comb += s.arms.eq(1)
        with m.Elif(s.armed & ~bad & ~s.write & s.smooth):
            self._answer(m, s)
        with m.Elif(s.quiet):
            m.d.sync += s.smooth.eq(0)
            with m.If(bad | s.spoiled | s.crossed | (s.write & s.late)):
                self._answer(m, s, wrong=1)
            with m.Else():
                m.d.comb += s.locks.eq(~s.write & ~s.block & ~s.moved)
                m.d.sync += s.want.eq(1)
                m.next = "ACCESS"

    def _end_access(self, m, s):
        """A write, or what was refused, is answered when the access is done."""
        port = self.access
        with m.If(port.done):
            m.d.comb += s.unlocks.eq(s.write)
            with m.If(~s.ds.any()):
                m.next = "WAIT"
            with m.Elif(port.error | s.write):
                m.d.sync += s.smooth.eq(s.may_flow & ~port.error)
                self._answer(m, s, wrong=port.error)
            with m.Else():
                m.d.comb += s.arms.eq(1)
                m.next = "ARMED"

    def _hold(self, m, s):
        """The answer stays until the strobes are gone; the next word of a block is read meanwhile."""
        m.d.comb += s.looks.eq(s.smooth & ~s.write & ~s.crossed & s.quiet & ~s.ahead & ~s.asked)
        # Data count if the strobes were still low when they were looked at.
        with m.If(s.post):
            m.d.sync += [s.post.eq(0), s.want.eq(s.ds.all()), s.posted.eq(s.ds.all())]
        with m.If(~s.ds.any() | ~(self.dtack | self.berr)):
            m.d.comb += s.over.eq(1)
            m.next = "WAIT"
