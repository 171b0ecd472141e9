"""The VME interface as a whole: slave, interrupter, requester, master with DMA channel and the CPU's window, host port.

Source: "The Design of Nectar" (1989), sections 5.1 and 5.2; docs/vme.md.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..access import AccessPort, WindowPort
from ..memory import SlotPort, check_data_bytes
from ..regions import REGIONS
from ..registers import WORD_BITS, RegisterPort
from .dma import DMA_REGISTERS, VmeDma
from .host import HostPins, HostPort
from .interrupter import Interrupter
from .master import VmeMaster
from .numbers import GRANT_NS, PERIOD_PS, TIMEOUT_NS, check_period, cycles
from .pins import Select, VmePins
from .registers import VME_REGISTERS
from .requester import Requester
from .share import ShareAccess, ShareMaster
from .slave import LOCK_NS, VmeSlave
from .sync import Synchroniser
from .window import Window

__all__ = ["Vme"]


class Vme(wiring.Component):
    """All that a CAB has of the VMEbus.

    Parameters
    ----------
    data_bytes : int
        Size of the data memory, as in ``DataMemory``.
    period_ps : int
        Period of the clock.
    timeout_ns, grant_ns : int
        As in ``VmeMaster``.

    Members
    -------
    pins : Out(VmePins())
    select : Out(Select()), level : In(2)
        Switches: addresses, level of bus requests.
    host : Out(HostPins())
        The synchronous port.
    *name* : In(RegisterPort)
        The registers of ``VME_REGISTERS``, in lower case.
    access : Out(AccessPort())
        To the address map.
    window : In(WindowPort())
        The CPU's accesses to the VME window.
    memory : Out(SlotPort(data_bytes)), memory_data : In(32)
        The DMA channel's slots.
    done, failed, threshold, taken, bell : Out(1)
        Events for the interrupt controller: as in ``VmeDma`` and ``Interrupter``; VME_BELL was written.
    sysreset : Out(1)
        SYSRESET* is asserted.
    idle : Out(1)
        Nothing is under way, on the bus neither.

    Timing
    ------
    docs/vme.md.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not one of those.
    """

    def __init__(self, data_bytes=REGIONS["data"].size, period_ps=PERIOD_PS, timeout_ns=TIMEOUT_NS, grant_ns=GRANT_NS):
        check_data_bytes(data_bytes)
        check_period(period_ps)
        self.data_bytes = data_bytes
        self.period_ps = period_ps
        self.timeout_ns = timeout_ns
        self.grant_ns = grant_ns
        super().__init__(
            {
                "pins": Out(VmePins()),
                "select": Out(Select()),
                "level": In(2),
                "host": Out(HostPins()),
                **{register.name.lower(): In(RegisterPort(register)) for register in VME_REGISTERS},
                "access": Out(AccessPort()),
                "window": In(WindowPort()),
                "memory": Out(SlotPort(data_bytes)),
                "memory_data": In(WORD_BITS),
                "done": Out(1),
                "failed": Out(1),
                "threshold": Out(1),
                "taken": Out(1),
                "bell": Out(1),
                "sysreset": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        """Who answers; who asks; what the board is told."""
        m = Module()
        slave, interrupter = self._answer_others(m)
        requester, master, dma = self._ask(m)
        self._share_lines(m, slave, interrupter, master)
        self._tell(m, interrupter, requester, master, dma)
        return m

    def _lead(self, m, part, *names):
        """Pins that ``part`` reads under the same names."""
        m.d.comb += [getattr(part, name).eq(getattr(self.pins, name)) for name in names]

    def _drive(self, m, part, *names):
        """Pins that ``part`` alone drives under the same names."""
        m.d.comb += [getattr(self.pins, name).eq(getattr(part, name)) for name in names]

    def _answer_others(self, m):
        """Answers to others: transfers, acknowledgments. Returns the slave and the interrupter."""
        m.submodules.slave = slave = VmeSlave(self.period_ps)
        m.submodules.interrupter = interrupter = Interrupter()
        m.submodules.host = host = HostPort(cycles(LOCK_NS, self.period_ps))
        m.submodules.share_access = share_access = ShareAccess()
        self._lead(m, slave, "as_n", "ds_n", "write_n", "lword_n", "iack_n", "address", "am", "dtack_n", "berr_n")
        self._lead(m, interrupter, "as_n", "ds_n", "iack_n", "iackin_n")
        self._drive(m, interrupter, "irq_pull", "iackout_n")
        connect(m, slave.select, flipped(self.select))
        connect(m, host.pins, flipped(self.host))
        connect(m, slave.access, share_access.a)
        connect(m, host.access, share_access.b)
        connect(m, share_access.port, flipped(self.access))
        connect(m, interrupter.vme_interrupt, flipped(self.vme_interrupt))
        return slave, interrupter

    def _ask(self, m):
        """Transfers of our own. Returns the requester, the master and the DMA."""
        m.submodules.requester = requester = Requester(self.period_ps)
        m.submodules.master = master = VmeMaster(self.period_ps, self.timeout_ns, self.grant_ns)
        m.submodules.dma = dma = VmeDma(self.data_bytes)
        m.submodules.window = window = Window()
        m.submodules.share_master = share_master = ShareMaster()
        self._lead(m, requester, "br_n", "bgin_n", "bclr_n")
        self._drive(m, requester, "br_pull", "bbsy_pull", "bgout_n")
        self._lead(m, master, "as_n", "dtack_n", "berr_n")
        self._drive(m, master, "address_out", "am_out", "lword_n_out", "address_drive", "as_n_out", "as_drive")
        self._drive(m, master, "ds_n_out", "write_n_out", "ds_drive")
        connect(m, dma.port, share_master.a)
        connect(m, window.port, share_master.b)
        connect(m, share_master.port, master.port)
        connect(m, dma.memory, flipped(self.memory))
        connect(m, window.window, flipped(self.window))
        connect(m, window.vme_window, flipped(self.vme_window))
        for name in DMA_REGISTERS:
            connect(m, getattr(dma, name.lower()), flipped(getattr(self, name.lower())))
        m.d.comb += [
            requester.level.eq(self.level),
            requester.want.eq(master.want),
            master.owner.eq(requester.owner),
            dma.owner.eq(requester.owner),
            dma.memory_data.eq(self.memory_data),
        ]
        return requester, master, dma

    def _share_lines(self, m, slave, interrupter, master):
        """Lines that several drive: only one of them at a time."""
        pins = self.pins
        m.d.comb += [
            slave.data_in.eq(pins.data),
            master.data_in.eq(pins.data),
            interrupter.level.eq(pins.address[:3]),
            pins.dtack_pull.eq(slave.dtack | interrupter.dtack),
            pins.berr_pull.eq(slave.berr),
            pins.data_out.eq(
                Mux(
                    master.data_drive.any(),
                    master.data_out,
                    Mux(interrupter.drive, interrupter.data_out, slave.data_out),
                )
            ),
            pins.data_drive.eq(slave.data_drive | master.data_drive | interrupter.drive),
            pins.iack_n_out.eq(1),
        ]

    def _tell(self, m, interrupter, requester, master, dma):
        """What the board is told."""
        pins = self.pins
        m.submodules.sysreset = sysreset = Synchroniser()
        m.submodules.bus_used = bus_used = Synchroniser(3)
        used = Signal(3)
        m.d.comb += [
            sysreset.lines_n.eq(pins.sysreset_n),
            self.sysreset.eq(sysreset.value),
            bus_used.lines_n.eq(Cat(pins.as_n, pins.ds_n)),
            used.eq(bus_used.value),
            self.done.eq(dma.done),
            self.failed.eq(dma.failed),
            self.threshold.eq(dma.threshold),
            self.taken.eq(interrupter.taken),
            self.bell.eq(self.vme_bell.write),
            self.idle.eq(
                dma.idle
                & ~used.any()
                & pins.as_n
                & pins.ds_n.all()
                & ~requester.owner
                & ~master.want
                & ~self.host.cyc
                & ~self.window.valid
            ),
        ]
