"""VME slave: transfers of other masters become accesses to the CAB's address map.

Source: ANSI/IEEE 1014, chapter 2; "The Design of Nectar" (1989), section 5.2 (everything that the CAB's CPU can reach
is visible to the node). docs/vme.md says what is answered how.
"""

from amaranth.hdl import C, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..access import Access, AccessPort
from ..memory import LANES
from ..regions import REGIONS
from ..registers import WORD_BITS
from .lanes import Lanes
from .numbers import BLOCK_BYTES, PERIOD_PS, Ns, check_period, cycles
from .pins import ADDRESS_LINES
from .sync import EdgeWatch, StrobeWatch, Synchroniser

__all__ = ["LOCK_NS", "Select", "VmeSlave"]

#: How long a read that may be the first half of a read-modify-write keeps the CPU out.
LOCK_NS = 10_000
#: The two low bits of an address modifier.
_PROGRAM, _BLOCK = 2, 3


class Select(wiring.Signature):
    """Where the board is in the address space of the bus; seen from the board. Switches: they stay.

    Members
    -------
    a24 : In(1), a24_half : In(1)
        It answers in A24, where A23 is ``a24_half``: to the first 8 Mbyte of its map.
    a32 : In(1), a32_base : In(8)
        It answers in A32, where A31 to A24 are ``a32_base``: to its whole map.
    """

    def __init__(self):
        super().__init__({"a24": In(1), "a24_half": In(1), "a32": In(1), "a32_base": In(8)})


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
        """The strobes in our clock; the cycle; its transfers; the access to the map, behind or ahead of them."""
        m = Module()
        port = self.access

        # 1. The strobes. Each assertion of AS* or of the data strobes changes its turn.
        m.submodules.strobes = strobes = Synchroniser(3)
        m.submodules.answers = answers = Synchroniser(2)
        m.submodules.as_edge = as_edge = EdgeWatch()
        m.submodules.ds_edge = ds_edge = EdgeWatch()
        m.submodules.same = same = StrobeWatch()  # AS* has not been high since the cycle was taken for ours
        m.submodules.alive = alive = StrobeWatch()  # the data strobes have not been high since they were looked at
        ds = Signal(2)
        as_low = Signal()
        m.d.comb += [
            strobes.lines_n.eq(Cat(self.ds_n, self.as_n)),
            Cat(ds, as_low).eq(strobes.value),
            answers.lines_n.eq(Cat(self.dtack_n, self.berr_n)),
            as_edge.asserted.eq(~self.as_n),
            ds_edge.asserted.eq(~self.ds_n.all()),
            same.as_n.eq(self.as_n),
            alive.as_n.eq(self.ds_n.all()),
        ]

        # 2. The cycle: what AS* came with.
        # AS*, the data strobes were asserted since they were last looked at
        renewed = Signal()
        fresh = Signal()
        as_before, as_pending, ds_before = (
            Signal(name=name, reset_less=True) for name in ("as_before", "as_pending", "ds_before")
        )
        ds_pending = Signal(init=1)  # behind a reset what is there is looked at
        m.d.comb += [
            renewed.eq(as_pending | (as_edge.turn != as_before)),
            fresh.eq(ds_pending | (ds_edge.turn != ds_before)),
        ]
        m.d.sync += [
            as_before.eq(as_edge.turn),
            as_pending.eq(renewed),
            ds_before.eq(ds_edge.turn),
            ds_pending.eq(fresh),
        ]
        known = Signal()
        ours, write, wide, block, program, moved, crossed = (
            Signal(name=name, reset_less=True)
            for name in ("ours", "write", "wide", "block", "program", "moved", "crossed")
        )
        address = Signal(port.address.shape(), reset_less=True)
        strobe = Signal(2, reset_less=True)
        matches = Signal()
        a24 = Signal()
        m.d.comb += [
            a24.eq(self.am[4]),
            matches.eq(
                self.iack_n
                & self.am[3]
                & (self.am[4] == self.am[5])
                & (self.am[:2] != 0)
                & Mux(
                    a24,
                    self.select.a24 & (self.address[22] == self.select.a24_half),
                    self.select.a32 & (self.address[23:] == self.select.a32_base),
                )
            ),
        ]

        # 3. Bytes on the lines and in the word.
        # a cycle ago; when the strobes were looked at
        lines = Signal(WORD_BITS, reset_less=True)
        taken = Signal(WORD_BITS, reset_less=True)
        waiting = Signal()  # for the strobes of a transfer
        m.submodules.lanes = lanes = Lanes()
        m.d.comb += [
            lanes.wide.eq(wide),
            lanes.strobe.eq(strobe),
            lanes.high.eq(address[1]),
            lanes.lines_in.eq(Mux(waiting, lines, taken)),
        ]
        m.d.sync += lines.eq(self.data_in)
        step = Signal(range(LANES + 1))
        onward = Signal(exact_log2(BLOCK_BYTES) + 1)  # of the address; its last bit: beyond what a block may reach
        beyond = onward[-1]
        may_flow = Signal()
        m.d.comb += [
            may_flow.eq(block & strobe.all() & (address[20:] == REGIONS["data"].base >> 20)),
            step.eq(Mux(wide, 4, Mux(strobe.all(), 2, Mux(strobe[1], 0, 2)))),  # DS1*, then DS0* of the same two bytes
            onward.eq(address[: len(onward) - 1] + step),
        ]

        # 4. The access: of the transfer at work, of the one behind (posted), or of the next one (asked).
        want, waits, posted, spoiled, asked = (
            Signal(name=name) for name in ("want", "waits", "posted", "spoiled", "asked")
        )
        post = Signal()
        ahead, armed, held = (Signal(name=name) for name in ("ahead", "armed", "held"))
        smooth = Signal()  # the next transfer of the block is one in data memory, of the same size
        ahead_word = Signal(WORD_BITS, reset_less=True)
        drives = Signal(2, reset_less=True)
        data_out = Signal(WORD_BITS, reset_less=True)
        quiet = Signal()
        free = Signal()
        asks = Signal(Access, reset_less=True)
        m.d.comb += [
            port.valid.eq(want),
            *(getattr(port, name).eq(getattr(asks, name)) for name in Access.as_shape().members),
            quiet.eq(~want & ~waits),
            free.eq(quiet | port.done),
            lanes.word_in.eq(Mux(ahead, ahead_word, port.read_data)),
            self.data_out.eq(data_out),
            self.data_drive.eq(Mux(~self.ds_n.all() & (held | (armed & same.now)), drives, 0)),
        ]
        with m.If(want & port.ready):
            m.d.sync += [want.eq(0), waits.eq(1)]
        with m.If(port.done):
            m.d.sync += [waits.eq(0), posted.eq(0), asked.eq(0)]
        with m.If(port.done & posted & port.error):
            m.d.sync += spoiled.eq(1)
        with m.If(port.done & asked & ~port.error):
            m.d.sync += ahead.eq(1)
        with m.If(~ahead):
            m.d.sync += ahead_word.eq(port.read_data)
        with m.If(~armed):
            m.d.sync += [data_out.eq(lanes.lines_out), drives.eq(lanes.drive)]
        # What is asked next: a block's next word, if it is read and the one before is answered now, else that of the
        # address.
        with m.If(free & ~post):
            m.d.sync += [
                asks.address.eq(
                    Cat(
                        C(0, 2),
                        Mux(waiting & ~write, onward[2:-1], address[2 : len(onward) - 1]),
                        address[len(onward) - 1 :],
                    )
                ),
                asks.write.eq(write),
                asks.select.eq(lanes.select | (smooth & ~write).replicate(LANES)),
                asks.execute.eq(program & ~write),
                asks.write_data.eq(lanes.word_out),
            ]

        # ahead; its word goes to the lines; a new cycle
        looks, arms, forgets = (Signal(name=name) for name in ("looks", "arms", "forgets"))
        with m.If(looks):
            m.d.sync += [asked.eq(1), want.eq(1)]
        with m.If(arms):
            m.d.sync += [armed.eq(1), ahead.eq(0)]

        # 5. Read-modify-write: locked from a cycle's first read on, unless it is a block's, until its write is done.
        lock_left = Signal(range(self.lock_cycles + 1))
        late = Signal(reset_less=True)
        locks = Signal()
        unlocks = Signal()
        m.d.comb += port.lock.eq(lock_left != 0)
        with m.If(unlocks):
            m.d.sync += lock_left.eq(0)
        with m.Elif(locks):
            m.d.sync += lock_left.eq(self.lock_cycles)
        with m.Elif(port.lock & quiet):
            m.d.sync += lock_left.eq(lock_left - 1)
        with m.If(forgets):
            m.d.sync += late.eq(0)
        with m.Elif(quiet & (lock_left == 1)):
            m.d.sync += late.eq(1)

        # 6. The transfers.
        patient = Signal(reset_less=True)  # one strobe of it has been seen
        verify = Signal(range(self._verify + 1), reset_less=True)
        # the next transfer begins: its second strobe may not be seen yet
        settles = Signal()
        late_strobe = ds_edge.turn != ds_before
        if self._settle:
            settle = Signal(range(self._settle + 1), reset_less=True)
            m.d.sync += settle.eq(Mux(settles & ~late_strobe, settle - 1, self._settle))
            settled = ~late_strobe & (settle == 0)
        else:
            settled = ~late_strobe
        soon = Const(0)  # an answer would come too soon after the strobes
        if self._early:
            early = Signal(range(self._early + 1), reset_less=True)
            soon = early != 0
            with m.If(~fresh):
                m.d.sync += early.eq(self._early)
            with m.Elif(soon):
                m.d.sync += early.eq(early - 1)

        answering, bad, there, over = (Signal(name=name) for name in ("answering", "bad", "there", "over"))
        # Not if the strobes are gone: the next transfer's master would take it for its own.
        m.d.comb += there.eq(Mux(waiting, ~self.ds_n.all(), alive.now))
        with m.If(answering):
            m.d.sync += [
                self.dtack.eq(there & ~bad),
                self.berr.eq(there & bad),
                held.eq(there & ~bad & ~write),
                moved.eq(1),
            ]
        with m.Elif(over):
            m.d.sync += [self.dtack.eq(0), self.berr.eq(0), held.eq(0), armed.eq(0)]
        with m.If(answering & block):
            m.d.sync += [address[: len(onward) - 1].eq(onward[:-1]), crossed.eq(crossed | beyond)]
        with m.If(forgets):
            m.d.sync += [
                ours.eq(matches & as_low),
                address.eq(Cat(0, self.address[:22], self.address[22] & ~a24)),
                wide.eq(~self.lword_n),
                block.eq(self.am[:2] == _BLOCK),
                program.eq(self.am[:2] == _PROGRAM),
                moved.eq(0),
                crossed.eq(0),
                armed.eq(0),
                ahead.eq(0),
                smooth.eq(0),
                spoiled.eq(0),
                posted.eq(0),
                asked.eq(0),
            ]

        def answer(wrong=0):
            m.d.comb += [answering.eq(1), bad.eq(wrong)]
            m.next = "HOLD"

        with m.FSM(name="slave"):
            with m.State("WAIT"):
                m.d.comb += waiting.eq(1)
                m.d.sync += patient.eq(0)
                m.d.comb += [
                    unlocks.eq(~same.seen),
                    arms.eq((ahead | (asked & port.done & ~port.error)) & ~armed & same.seen),
                ]
                with m.If(
                    fresh & smooth & same.seen & ~spoiled & ~crossed & (self.write_n != write) & (ds.all() | ~patient)
                ):
                    m.d.sync += patient.eq(~ds.all())
                    with m.If(ds.all() & ~soon & Mux(write, quiet | (port.done & ~port.error), armed)):
                        m.d.sync += ds_pending.eq(0)
                        answer()
                        m.d.sync += post.eq(write)
                        m.d.comb += looks.eq(~write & ~beyond)
                    with m.Elif(ds.all() & ~write & quiet & ~ahead & ~armed):
                        m.next = "SETTLE"
                with m.Elif(fresh):
                    m.next = "SETTLE"
            with m.State("SETTLE"):
                m.d.comb += settles.eq(1)
                m.d.sync += [strobe.eq(ds), taken.eq(lines), write.eq(~self.write_n), verify.eq(self._verify)]
                m.d.comb += [forgets.eq(~known | renewed), unlocks.eq(forgets)]
                with m.If(settled):
                    m.d.comb += alive.set.eq(1)
                    m.d.sync += ds_pending.eq(0)
                    with m.If(forgets):
                        m.d.sync += [known.eq(as_low), as_pending.eq(0)]
                        m.next = "VERIFY"
                    with m.Elif(ours & ds.any()):
                        m.next = "BEGIN"
                    with m.Else():
                        m.next = "WAIT"
            with m.State("VERIFY"):
                # If the transfer that was seen is over, the lines may have been those of the next one.
                m.d.sync += verify.eq(verify - 1)
                with m.If(~ours):
                    m.next = "WAIT"
                with m.Elif(fresh):
                    m.d.sync += known.eq(0)
                    m.next = "SETTLE"
                with m.Elif(~ds.any() | answers.value.any()):
                    m.d.sync += known.eq(0)
                    m.next = "WAIT"
                with m.Elif(verify == 0):
                    m.d.comb += same.set.eq(1)
                    m.next = "BEGIN"
            with m.State("BEGIN"):
                with m.If(~ds.any()):
                    m.next = "WAIT"
                with m.Elif(ahead & ~armed):
                    m.d.comb += arms.eq(1)
                with m.Elif(armed & ~lanes.bad & ~write & smooth):
                    answer()
                with m.Elif(quiet):
                    m.d.sync += smooth.eq(0)
                    with m.If(lanes.bad | spoiled | crossed | (write & late)):
                        answer(1)
                    with m.Else():
                        m.d.comb += locks.eq(~write & ~block & ~moved)
                        m.d.sync += want.eq(1)
                        m.next = "ACCESS"
            with m.State("ACCESS"):
                with m.If(port.done):
                    m.d.comb += unlocks.eq(write)
                    with m.If(~ds.any()):
                        m.next = "WAIT"
                    with m.Elif(port.error | write):
                        m.d.sync += smooth.eq(may_flow & ~port.error)
                        answer(port.error)
                    with m.Else():
                        m.d.comb += arms.eq(1)
                        m.next = "ARMED"
            with m.State("ARMED"):
                # The data lines are valid a cycle before the answer.
                m.d.sync += smooth.eq(may_flow)
                answer()
            with m.State("HOLD"):
                m.d.comb += looks.eq(smooth & ~write & ~crossed & quiet & ~ahead & ~asked)
                # Data count if the strobes were still low when they were looked at.
                with m.If(post):
                    m.d.sync += [post.eq(0), want.eq(ds.all()), posted.eq(ds.all())]
                with m.If(~ds.any() | ~(self.dtack | self.berr)):
                    m.d.comb += over.eq(1)
                    m.next = "WAIT"
        return m
