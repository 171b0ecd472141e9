"""The CAB: one CPU bus, protection, memories, a fiber with DMA both ways, timers, interrupts.

Source: "The Design of Nectar" (1989), section 5 and figure 8. docs/cab.md specifies this board; the CPU itself is
software.
"""

from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Module, ResetInserter, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out, connect, flipped
from amaranth.utils import exact_log2

from ..link.port import FiberPort
from .addresses import ID_VALUE, REG, REGIONS
from .bus import CpuBus
from .bus_ports import CpuPort
from .errors import ErrorCounters
from .fiber_in import FiberIn
from .fiber_out import FiberOut
from .interrupts import Interrupts
from .memory import DataMemory, check_data_bytes
from .program import ProgramMemory, check_program_bytes, check_prom
from .protection import Protection, check_domains, check_pages
from .regions import DOMAINS, PAGES
from .registers import RegisterDecoder
from .timers import TIMER_BITS, Timers
from .vme.host import HostPins
from .vme.numbers import PERIOD_PS, check_period
from .vme.pins import Select, VmePins
from .vme.vme import Vme

__all__ = ["Cab"]


class Cab(wiring.Component):
    """A communication accelerator board.

    Parameters
    ----------
    data_bytes : int
        Size of the data memory: a power of two from 4 kbyte to 1 Mbyte.
    program_bytes : int
        Size of the program RAM: a power of two from 4 to 512 kbyte.
    prom : bytes
        Content of the program PROM.
    domains : int
        Protection domains, VME's among them: a power of two from 2 to 32.
    pages : int
        Pages in the protection table, as in ``Protection``.
    vme : bool
        The board has a VME interface.
    period_ps : int
        Period of the clock, as in ``Vme``, which goes by it.

    Members
    -------
    bus : Out(CpuPort())
        CPU bus.
    fiber : Out(FiberPort())
        Both fibers.
    irq : Out(1)
        Interrupt line of the CPU.
    idle : Out(1)
        The clock may stop until a symbol arrives, the CPU wants the bus, or a timer is due.
    wake_in : Out(32)
        Clock edges that may be left out before the next one because of a timer; all ones if none is armed.
    slept : In(32)
        Clock edges that were left out before this one.
    vme : Out(VmePins()), vme_select : Out(Select()), vme_level : In(2), host : Out(HostPins())
        Only with VME: ``pins``, ``select``, ``level``, ``host`` of ``Vme``.

    Timing
    ------
    docs/cab.md. Every input is registered first, ``rst`` too: the board comes out of reset one cycle after it, in which
    it is not ``idle``. Exceptions are ``fiber.tx.ready``, see ``OutputRegister``, and ``slept``, which is added to what
    is registered.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not one of those.
    """

    def __init__(
        self,
        data_bytes=REGIONS["data"].size,
        program_bytes=REGIONS["program"].size,
        prom=b"",
        domains=DOMAINS,
        pages=PAGES,
        vme=False,
        period_ps=PERIOD_PS,
    ):
        check_data_bytes(data_bytes)
        check_program_bytes(program_bytes)
        check_prom(prom)
        check_domains(domains)
        check_pages(pages)
        self.data_bytes = data_bytes
        self.program_bytes = program_bytes
        self.prom = prom
        self.domains = domains
        self.pages = pages
        self.has_vme = bool(vme)
        self.period_ps = period_ps
        check_period(period_ps)
        bus = {"vme": Out(VmePins()), "vme_select": Out(Select()), "vme_level": wiring.In(2), "host": Out(HostPins())}
        super().__init__(
            {
                "bus": Out(CpuPort()),
                "fiber": Out(FiberPort()),
                "irq": Out(1),
                "idle": Out(1),
                "wake_in": Out(TIMER_BITS),
                "slept": wiring.In(TIMER_BITS),
                **(bus if vme else {}),
            }
        )

    def elaborate(self, platform):
        """The board in a clock domain of its own: the same clock, and the reset behind a register."""
        m = Module()
        m.domains.board = board = ClockDomain("board", local=True)
        reset = Signal(reset_less=True)  # else its own reset would keep it at 0
        m.d.sync += reset.eq(ResetSignal("sync"))
        m.d.comb += [board.clk.eq(ClockSignal("sync")), board.rst.eq(reset)]
        m.submodules.board = DomainRenamer("board")(self._board(reset))
        return m

    def _board(self, resetting):
        """What is in the board's domain, whose reset is ``resetting``."""
        m = Module()
        reset = Signal()
        sysreset = Signal()
        others_idle = Signal(init=1)
        whole = ResetInserter(reset)
        bus, protection, memory = self._memories(m, whole)
        registers = self._registers(m, bus)
        m.d.comb += reset.eq((registers.reset.write & registers.reset.data.board) | sysreset)
        fiber_out, fiber_in = self._fiber(m, memory, whole)
        timers = self._timers(m, memory, reset)
        errors, interrupts = self._interrupts(m, bus, fiber_out, fiber_in, timers, whole)
        m.d.comb += self.idle.eq(~resetting & bus.idle & fiber_out.idle & fiber_in.idle & ~memory.writes & others_idle)
        owners = [fiber_out, fiber_in, timers, errors, interrupts, protection]
        if self.has_vme:
            vme = self._vme(m, bus, memory, interrupts)
            m.d.comb += [sysreset.eq(vme.sysreset), others_idle.eq(vme.idle)]
            owners.insert(0, vme)
        # Each register to its owner.
        for name in (*(register.name.lower() for register in registers.registers), *registers.banks):
            for owner in owners:
                if name in owner.signature.members and owner.signature.members[name].is_signature:
                    connect(m, getattr(registers, name), getattr(owner, name))
        return m

    def _memories(self, m, whole):
        """CPU bus, protection, memories; returns the bus, the protection and the data memory.

        ``whole`` resets what a reset of the board resets."""
        m.submodules.bus = bus = CpuBus(self.data_bytes, self.program_bytes, window=self.has_vme)
        protection = Protection(self.domains, self.pages)
        m.submodules.protection = whole(protection)
        m.submodules.memory = memory = DataMemory(self.data_bytes)
        m.submodules.program = program = ProgramMemory(self.program_bytes, self.prom)
        connect(m, bus.bus, flipped(self.bus))
        connect(m, bus.memory, memory.cpu)
        m.d.comb += [
            bus.memory_data.eq(memory.read_data),
            program.valid.eq(bus.program.valid),
            program.rom.eq(bus.program.rom),
            program.address.eq(bus.program.address),
            program.write.eq(bus.program.write),
            program.select.eq(bus.program.select),
            program.data.eq(bus.program.data),
            program.may.eq(bus.may),
            memory.cpu_may.eq(bus.may),
            bus.program_data.eq(program.read_data),
            *(
                getattr(protection, name).eq(getattr(bus.protection, name))
                for name in ("look", "page", "page_domain", "needed", "write", "select", "data")
            ),
            *(
                getattr(bus.protection, name).eq(getattr(protection, name))
                for name in ("granted", "table", "hole", "current")
            ),
            bus.protection.vme_domain.eq(self.domains - 1),
            protection.trap.payload.eq(bus.protection.trap.payload),
            protection.trap.valid.eq(bus.protection.trap.valid),
        ]
        return bus, protection, memory

    def _registers(self, m, bus):
        """Registers, and those of them that are constants; returns their decoder."""
        m.submodules.registers = registers = RegisterDecoder(vme=self.has_vme)
        m.d.comb += [
            bus.registers.area.eq(registers.area),
            registers.valid.eq(bus.registers.valid),
            registers.may.eq(bus.may),
            registers.offset.eq(bus.registers.offset),
            registers.write.eq(bus.registers.write),
            registers.select.eq(bus.registers.select),
            registers.write_data.eq(bus.registers.write_data),
            bus.registers.read_data.eq(registers.read_data),
            bus.registers.error.eq(registers.error),
            registers.id.value.eq(ID_VALUE),
            registers.config.value.data.eq(exact_log2(self.data_bytes)),
            registers.config.value.program.eq(exact_log2(self.program_bytes)),
            registers.config.value.pages.eq(exact_log2(self.pages)),
            registers.config.value.domains.eq(exact_log2(self.domains)),
            registers.config.value.vme.eq(self.has_vme),
        ]
        return registers

    def _fiber(self, m, memory, whole):
        """The fiber, both ways; returns the ways out and in."""
        fiber_out = FiberOut(self.data_bytes)
        fiber_in = FiberIn(self.data_bytes)
        m.submodules.fiber_out = whole(fiber_out)
        m.submodules.fiber_in = whole(fiber_in)
        connect(m, fiber_out.memory, memory.fiber_out)
        connect(m, fiber_in.memory, memory.fiber_in)
        connect(m, fiber_out.tx, flipped(self.fiber.tx))
        connect(m, fiber_in.rx, flipped(self.fiber.rx))
        m.d.comb += [
            fiber_out.memory_data.eq(memory.read_data),
            fiber_out.ready.eq(fiber_in.ready),
        ]
        return fiber_out, fiber_in

    def _timers(self, m, memory, reset):
        """Timers, and what follows the edges slept through."""
        m.submodules.timers = timers = Timers()
        slept = Signal.like(memory.slept, reset_less=True)
        m.d.sync += slept.eq(self.slept)
        m.d.comb += [
            timers.slept.eq(self.slept),
            timers.clear.eq(reset),
            memory.slept.eq(slept),
            self.wake_in.eq(timers.wake_in),
        ]
        return timers

    def _interrupts(self, m, bus, fiber_out, fiber_in, timers, whole):
        """Errors and interrupts; returns both."""
        errors = ErrorCounters()
        interrupts = Interrupts()
        m.submodules.errors = whole(errors)
        m.submodules.interrupts = whole(interrupts)
        m.d.comb += [
            *(getattr(errors, field.name).eq(getattr(fiber_in, field.name)) for field in REG["ERRORS"].fields),
            interrupts.packet.eq(fiber_in.packet),
            interrupts.received.eq(fiber_in.received),
            interrupts.reply.eq(fiber_in.reply_waits),
            interrupts.sent.eq(fiber_out.sent),
            interrupts.timer.eq(timers.fired),
            interrupts.error.eq(errors.moved),
            interrupts.trap.eq(bus.protection.trap.valid),
            interrupts.start.eq(fiber_in.start),
            interrupts.input.eq(fiber_in.input),
            interrupts.rx_threshold.eq(fiber_in.threshold),
            interrupts.tx_threshold.eq(fiber_out.threshold),
            self.irq.eq(interrupts.irq),
        ]
        return errors, interrupts

    def _vme(self, m, bus, memory, interrupts):
        """The VME interface, which this returns."""
        m.submodules.vme = vme = Vme(self.data_bytes, self.period_ps)
        connect(m, vme.pins, flipped(self.vme))
        connect(m, vme.select, flipped(self.vme_select))
        connect(m, vme.host, flipped(self.host))
        connect(m, vme.access, bus.vme)
        connect(m, bus.window, vme.window)
        connect(m, vme.memory, memory.vme)
        m.d.comb += [
            vme.level.eq(self.vme_level),
            vme.memory_data.eq(memory.read_data),
            interrupts.vme_done.eq(vme.done),
            interrupts.vme_error.eq(vme.failed),
            interrupts.vme_threshold.eq(vme.threshold),
            interrupts.vme_taken.eq(vme.taken),
            interrupts.vme_bell.eq(vme.bell),
        ]
        return vme
