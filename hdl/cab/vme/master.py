"""VME master: single transfers and blocks, as the DMA channel or the CPU's window asks for them.

Source: ANSI/IEEE 1014, chapter 2. docs/vme.md names the times that it keeps.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..registers import WORD_BITS
from .lanes import Lanes
from .numbers import GRANT_NS, PERIOD_PS, TIMEOUT_NS, Ns, check_period, cycles
from .pins import ADDRESS_LINES
from .sync import Synchroniser

__all__ = ["MasterPort", "VmeMaster"]


class MasterPort(wiring.Signature):
    """Transfers on the bus, seen from the one who wants them.

    Members
    -------
    valid : Out(1), ready : In(1)
        A transfer is taken in a cycle in which both are 1. ``valid`` may be withdrawn.
    first : Out(1), last : Out(1)
        The cycle's first transfer; its last one. A block has several; nothing else than the next transfer of the block
        may be asked between them.
    write, am, address (32), size : Out
        ``size``: 0, 1, 2 for 1, 2, 4 bytes; ``address`` is a multiple of them.
    data : Out(32), read_data : In(32)
        A word in whose lanes the bytes lie where ``address`` says.
    finish : Out(1)
        Ends the cycle unless a transfer is under way.
    done : In(1)
        One cycle, when the transfer that was taken has ended; before that no other is taken.
    berr : In(1), timeout : In(1)
        With ``done``: it failed, and the cycle is over.
    """

    def __init__(self):
        super().__init__(
            {
                "valid": Out(1),
                "ready": In(1),
                "first": Out(1),
                "last": Out(1),
                "write": Out(1),
                "am": Out(6),
                "address": Out(32),
                "size": Out(2),
                "data": Out(WORD_BITS),
                "finish": Out(1),
                "done": In(1),
                "berr": In(1),
                "timeout": In(1),
                "read_data": In(WORD_BITS),
            }
        )


class _Signals:
    """What the sections of the master share. ``before``: cycles from the lines to the strobes; ``longest``: from the
    strobes to an answer, or for the bus, at most."""

    def __init__(self, before, longest):
        # The lines.
        self.as_low = Signal()
        self.berr = Signal()
        self.free = Signal()
        self.driving = Signal()

        # The transfer.
        self.strobe = Signal(2)
        self.taken_strobe = Signal(2, reset_less=True)
        self.wide = Signal(reset_less=True)
        self.last = Signal(reset_less=True)

        # How long.
        self.setup = Signal(range(before + 1), reset_less=True)
        self.left = Signal(range(longest), reset_less=True)
        self.waits = Signal()
        self.answered = Signal()


class VmeMaster(wiring.Component):
    """Makes transfers.

    Parameters
    ----------
    period_ps : int
        Period of the clock.
    timeout_ns, grant_ns : int
        Longest waits for an answer and for the bus.

    Members
    -------
    as_n, dtack_n, berr_n, data_in : In
    address_out, am_out, lword_n_out, address_drive, as_n_out, as_drive, ds_n_out, write_n_out, ds_drive, data_out,
    data_drive : Out
        As in ``VmePins``.
    want : Out(1), owner : In(1)
        As in ``Requester``.
    port : In(MasterPort())

    Timing
    ------
    The next transfer of a block begins as soon as DTACK* is seen to be high again: 6 cycles after the one before if
    the slave answers and lets go within a cycle each.

    Raises
    ------
    TypeError, ValueError
        If the period is not one that is possible.
    """

    def __init__(self, period_ps=PERIOD_PS, timeout_ns=TIMEOUT_NS, grant_ns=GRANT_NS):
        check_period(period_ps)
        self._cycles = lambda ns: cycles(ns, period_ps)
        self._timeout = cycles(timeout_ns, period_ps)
        self._grant = cycles(grant_ns, period_ps)
        super().__init__(
            {
                "as_n": In(1, init=1),
                "dtack_n": In(1, init=1),
                "berr_n": In(1, init=1),
                "data_in": In(WORD_BITS),
                "address_out": Out(ADDRESS_LINES),
                "am_out": Out(6),
                "lword_n_out": Out(1, init=1),
                "address_drive": Out(1),
                "as_n_out": Out(1, init=1),
                "as_drive": Out(1),
                "ds_n_out": Out(2, init=3),
                "write_n_out": Out(1, init=1),
                "ds_drive": Out(1),
                "data_out": Out(WORD_BITS),
                "data_drive": Out(2),
                "want": Out(1),
                "owner": In(1),
                "port": In(MasterPort()),
            }
        )

    def elaborate(self, platform):
        """Bus, address, strobes, answer, again."""
        m = Module()
        before = self._cycles(max(Ns.ADDRESS_SETUP, Ns.DATA_SETUP))
        s = _Signals(before, max(self._timeout, self._grant))
        self._watch_lines(m, s)
        self._lanes(m, s)
        held = self._hold_lines(m, s)
        self._await_data(m, s)
        idle, between, strobed = self._cycle(m, s)
        self._tell(m, s, strobed, held)
        self._follow(m, s, idle, between, held, before)
        return m

    def _watch_lines(self, m, s):
        """The lines in our clock."""
        m.submodules.lines = lines = Synchroniser(3)
        dtack = Signal()
        m.d.comb += [
            lines.lines_n.eq(Cat(self.as_n, self.dtack_n, self.berr_n)),
            Cat(s.as_low, dtack, s.berr).eq(lines.value),
            s.free.eq(~dtack & ~s.berr),
        ]

    def _lanes(self, m, s):
        """What a transfer looks like on the lines."""
        port = self.port
        m.submodules.lanes_out = lanes_out = Lanes()
        m.submodules.lanes_in = lanes_in = Lanes()
        m.d.comb += [
            s.strobe.eq(Mux(port.size == 0, Mux(port.address[0], 0b01, 0b10), 0b11)),
            lanes_out.wide.eq(port.size == 2),
            lanes_out.strobe.eq(s.strobe),
            lanes_out.high.eq(port.address[1]),
            lanes_out.word_in.eq(port.data),
            lanes_in.wide.eq(s.wide),
            lanes_in.lines_in.eq(self.data_in),
        ]

    def _hold_lines(self, m, s):
        """Registers behind the lines, which are anything behind a reset; returns them by the names of the lines."""
        held = {}
        for name, line in (
            ("address", self.address_out),
            ("am", self.am_out),
            ("lword_n", self.lword_n_out),
            ("write_n", self.write_n_out),
            ("data", self.data_out),
            ("read_data", self.port.read_data),
        ):
            held[name] = Signal.like(line, reset_less=True, name=f"{line.name}_held")
            m.d.comb += line.eq(held[name])
        m.d.comb += [drive.eq(s.driving) for drive in (self.address_drive, self.as_drive, self.ds_drive)]
        return held

    def _await_data(self, m, s):
        """From the answer to its data."""
        skew = self._cycles(Ns.SKEW) - 1
        if skew:
            late_data = Signal(range(skew + 1))
            m.d.comb += s.answered.eq(~s.free & (late_data == 0))
            with m.If(s.free):
                m.d.sync += late_data.eq(skew)
            with m.Elif(late_data != 0):
                m.d.sync += late_data.eq(late_data - 1)
        else:
            m.d.comb += s.answered.eq(~s.free)

    def _end(self, m):
        """The last transfer of the cycle is over."""
        m.d.sync += self.as_n_out.eq(1)
        m.next = "END"

    def _cycle(self, m, s):
        """The cycle; returns whether it is idle, between two transfers, or in one."""
        port = self.port
        m.d.sync += port.done.eq(0)
        with m.FSM(name="master") as fsm:
            idle, between, gives, strobed = (fsm.ongoing(state) for state in ("IDLE", "BETWEEN", "GIVE", "TRANSFER"))
            m.d.comb += self.want.eq(Mux(idle, port.valid & port.first, ~gives))
            m.d.sync += s.left.eq(Mux(s.waits, s.left - 1, Mux(idle | gives, self._grant - 1, self._timeout - 1)))
            with m.State("IDLE"):
                self._get_bus(m, s)
            with m.State("ADDRESS"):
                with m.If(s.setup == 0):
                    m.d.sync += self.as_n_out.eq(0)
                    m.next = "STROBE"
            with m.State("STROBE"):
                with m.If((s.setup == 0) & s.free):
                    m.d.sync += self.ds_n_out.eq(~s.taken_strobe)
                    m.next = "TRANSFER"
                with m.Elif(s.left == 0):
                    m.d.sync += port.done.eq(1)
                    self._end(m)
                with m.Else():
                    m.d.comb += s.waits.eq(1)
            with m.State("TRANSFER"):
                with m.If(s.answered | (s.left == 0)):
                    m.d.sync += [self.ds_n_out.eq(3), port.done.eq(1)]
                    with m.If(s.last | ~s.answered | s.berr):
                        self._end(m)
                    with m.Else():
                        m.next = "BETWEEN"
                with m.Else():
                    m.d.comb += s.waits.eq(1)
            with m.State("BETWEEN"):
                with m.If(port.valid):
                    m.d.comb += port.ready.eq(1)
                    m.next = "STROBE"
                with m.Elif(port.finish):
                    self._end(m)
            with m.State("END"):
                # The lines hold for a cycle after the strobes.
                m.d.comb += s.waits.eq(1)
                m.d.sync += [s.driving.eq(0), self.data_drive.eq(0)]
                with m.If(s.free | (s.left == 0)):
                    m.next = "GIVE"
            with m.State("GIVE"):
                # Whoever else wants the bus gets it now.
                m.next = "IDLE"
        return idle, between, strobed

    def _get_bus(self, m, s):
        """A transfer waits for the bus, but not for ever."""
        port, wide = self.port, m.submodules.lanes_out.wide
        with m.If(port.valid & port.first):
            with m.If(self.owner & ~s.as_low & s.free):
                m.d.comb += port.ready.eq(1)
                m.d.sync += [s.driving.eq(1), self.data_drive.eq(Cat(port.write, port.write & wide))]
                m.next = "ADDRESS"
            with m.Elif(s.left == 0):
                m.d.comb += port.ready.eq(1)
                m.d.sync += port.done.eq(1)
                m.next = "GIVE"
            with m.Else():
                m.d.comb += s.waits.eq(1)

    def _tell(self, m, s, strobed, held):
        """What came of a transfer."""
        m.d.sync += [
            self.port.berr.eq(strobed & s.berr),
            self.port.timeout.eq(~(strobed & s.answered)),
            held["read_data"].eq(m.submodules.lanes_in.word_out),
        ]

    def _follow(self, m, s, idle, between, held, before):
        """The lines follow what is asked until it is taken."""
        port, lanes_out = self.port, m.submodules.lanes_out
        with m.If(idle):
            m.d.sync += [
                held["address"].eq(port.address[1:]),
                held["am"].eq(port.am),
                held["lword_n"].eq(~lanes_out.wide),
                held["write_n"].eq(~port.write),
            ]
        with m.If(idle | between):
            m.d.sync += [
                s.taken_strobe.eq(s.strobe),
                s.wide.eq(lanes_out.wide),
                s.last.eq(port.last),
                held["data"].eq(lanes_out.lines_out),
                s.setup.eq(before),
            ]
        with m.Elif(s.setup != 0):
            m.d.sync += s.setup.eq(s.setup - 1)
