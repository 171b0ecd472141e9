"""VME master: single transfers and blocks, as the DMA channel or the CPU's window asks for them.

Source: ANSI/IEEE 1014, chapter 2. docs/vme.md names the times that it keeps.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..registers import WORD_BITS
from .lanes import Lanes
from .numbers import PERIOD_PS, Ns, check_period, cycles
from .pins import ADDRESS_LINES
from .sync import Synchroniser

__all__ = ["GRANT_NS", "TIMEOUT_NS", "MasterPort", "VmeMaster"]

#: Longest wait for DTACK* or BERR*: longer than a bus timer's, so that it speaks first.
TIMEOUT_NS = 100_000
#: Longest wait for the bus.
GRANT_NS = 1_000_000


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
        port = self.port
        m.submodules.lines = lines = Synchroniser(3)
        as_low, dtack, berr = (Signal(name=name) for name in ("as_low", "dtack", "berr"))
        free = Signal()
        m.d.comb += [
            lines.lines_n.eq(Cat(self.as_n, self.dtack_n, self.berr_n)),
            Cat(as_low, dtack, berr).eq(lines.value),
            free.eq(~dtack & ~berr),
        ]

        # 1. What a transfer looks like on the lines.
        m.submodules.lanes_out = lanes_out = Lanes()
        m.submodules.lanes_in = lanes_in = Lanes()
        strobe = Signal(2)
        taken_strobe = Signal(2, reset_less=True)
        wide = Signal(reset_less=True)
        last = Signal(reset_less=True)
        m.d.comb += [
            strobe.eq(Mux(port.size == 0, Mux(port.address[0], 0b01, 0b10), 0b11)),
            lanes_out.wide.eq(port.size == 2),
            lanes_out.strobe.eq(strobe),
            lanes_out.high.eq(port.address[1]),
            lanes_out.word_in.eq(port.data),
            lanes_in.wide.eq(wide),
            lanes_in.lines_in.eq(self.data_in),
        ]

        def register(value):
            """A register for ``value``, which is anything behind a reset."""
            behind = Signal.like(value, reset_less=True, name=f"{value.name}_held")
            m.d.comb += value.eq(behind)
            return behind

        address, am, lword_n, write_n = (
            register(value) for value in (self.address_out, self.am_out, self.lword_n_out, self.write_n_out)
        )
        data_out, read_data = register(self.data_out), register(port.read_data)
        driving = Signal()
        m.d.comb += [drive.eq(driving) for drive in (self.address_drive, self.as_drive, self.ds_drive)]

        # 2. How long: from the lines to the strobes, from the answer to its data, for an answer or the bus at most.
        before = self._cycles(max(Ns.ADDRESS_SETUP, Ns.DATA_SETUP))
        setup = Signal(range(before + 1), reset_less=True)
        left = Signal(range(max(self._timeout, self._grant)), reset_less=True)
        waits = Signal()
        skew = self._cycles(Ns.SKEW) - 1
        answered = Signal()
        if skew:
            late_data = Signal(range(skew + 1))
            m.d.comb += answered.eq(~free & (late_data == 0))
            with m.If(free):
                m.d.sync += late_data.eq(skew)
            with m.Elif(late_data != 0):
                m.d.sync += late_data.eq(late_data - 1)
        else:
            m.d.comb += answered.eq(~free)

        # 3. The cycle.
        def end():
            m.d.sync += self.as_n_out.eq(1)
            m.next = "END"

        m.d.sync += port.done.eq(0)
        with m.FSM(name="master") as fsm:
            idle, between, gives, strobed = (fsm.ongoing(state) for state in ("IDLE", "BETWEEN", "GIVE", "TRANSFER"))
            m.d.comb += self.want.eq(Mux(idle, port.valid & port.first, ~gives))
            m.d.sync += left.eq(Mux(waits, left - 1, Mux(idle | gives, self._grant - 1, self._timeout - 1)))
            with m.State("IDLE"):
                with m.If(port.valid & port.first):
                    with m.If(self.owner & ~as_low & free):
                        m.d.comb += port.ready.eq(1)
                        m.d.sync += [driving.eq(1), self.data_drive.eq(Cat(port.write, port.write & lanes_out.wide))]
                        m.next = "ADDRESS"
                    with m.Elif(left == 0):
                        m.d.comb += port.ready.eq(1)
                        m.d.sync += port.done.eq(1)
                        m.next = "GIVE"
                    with m.Else():
                        m.d.comb += waits.eq(1)
            with m.State("ADDRESS"):
                with m.If(setup == 0):
                    m.d.sync += self.as_n_out.eq(0)
                    m.next = "STROBE"
            with m.State("STROBE"):
                with m.If((setup == 0) & free):
                    m.d.sync += self.ds_n_out.eq(~taken_strobe)
                    m.next = "TRANSFER"
                with m.Elif(left == 0):
                    m.d.sync += port.done.eq(1)
                    end()
                with m.Else():
                    m.d.comb += waits.eq(1)
            with m.State("TRANSFER"):
                with m.If(answered | (left == 0)):
                    m.d.sync += [self.ds_n_out.eq(3), port.done.eq(1)]
                    with m.If(last | ~answered | berr):
                        end()
                    with m.Else():
                        m.next = "BETWEEN"
                with m.Else():
                    m.d.comb += waits.eq(1)
            with m.State("BETWEEN"):
                with m.If(port.valid):
                    m.d.comb += port.ready.eq(1)
                    m.next = "STROBE"
                with m.Elif(port.finish):
                    end()
            with m.State("END"):
                # The lines hold for a cycle after the strobes.
                m.d.comb += waits.eq(1)
                m.d.sync += [driving.eq(0), self.data_drive.eq(0)]
                with m.If(free | (left == 0)):
                    m.next = "GIVE"
            with m.State("GIVE"):
                # Whoever else wants the bus gets it now.
                m.next = "IDLE"

        # 4. The lines follow what is asked until it is taken.
        m.d.sync += [
            port.berr.eq(strobed & berr),
            port.timeout.eq(~(strobed & answered)),
            read_data.eq(lanes_in.word_out),
        ]
        with m.If(idle):
            m.d.sync += [
                address.eq(port.address[1:]),
                am.eq(port.am),
                lword_n.eq(~lanes_out.wide),
                write_n.eq(~port.write),
            ]
        with m.If(idle | between):
            m.d.sync += [
                taken_strobe.eq(strobe),
                wide.eq(lanes_out.wide),
                last.eq(port.last),
                data_out.eq(lanes_out.lines_out),
                setup.eq(before),
            ]
        with m.Elif(setup != 0):
            m.d.sync += setup.eq(setup - 1)
        return m
