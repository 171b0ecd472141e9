"""The CAB's bus: takes accesses of the CPU and of VME, checks them, leads them to their place, answers in order.

Source: docs/cab.md, which is ours; "The Design of Nectar" (1989), section 5.2, gives the CPU, its address space, and
protection that is checked in parallel.
"""

from amaranth.hdl import Assert, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .access import Access, AccessPort, WindowPort
from .addresses import ADDRESS_BITS, REGIONS, REGISTERS
from .bus_ports import CpuPort, ProgramPort, ProtectionPort, RegistersPort
from .bus_signals import BusSignals, Parked
from .kernel_registers import KERNEL_PAGE
from .memory import LANES, SlotPort, check_data_bytes
from .protection import KEPT
from .regions import DOMAIN_BITS, KERNEL, PAGE_BITS, AccessKind, Right
from .registers import WORD_BITS

__all__ = ["CpuBus"]

#: Registers that name an area to DMA when they are written.
_AREAS = tuple(register for register in REGISTERS if register.area)


class CpuBus(wiring.Component):
    """From the pins to memories, registers and the protection table, and back.

    Parameters
    ----------
    data_bytes : int
        Size of the data memory, as in ``DataMemory``.
    program_bytes : int
        Size of the program RAM, as in ``ProgramMemory``.
    window : bool
        There is a VME window.

    Members
    -------
    bus : Out(CpuPort())
        The pins.
    vme : In(AccessPort())
        Accesses of VME.
    memory : Out(SlotPort(data_bytes))
    memory_data : In(32)
        What was read, in the cycle after.
    program : Out(ProgramPort())
    program_data : In(32)
        What was read, in the cycle after.
    may : Out(1)
        What memory, program memory or registers were asked in the cycle before may be done: else it must not be.
    registers : Out(RegistersPort())
    protection : Out(ProtectionPort())
    window : Out(WindowPort())
    idle : Out(1)
        No access is under way.

    Timing
    ------
    Access taken in cycle t: the memories are asked in t + 1, while the answer of the table that was looked up in t
    decides whether it may be; a write to them, what a register does, and the record of a refused access follow in t +
    2, when the result is chosen; it is given in t + 3. While the memory is taken by others the access waits, refused or
    not, and those behind it; one of the CPU's is held here, and ``bus.ready`` falls in the cycle after. CPU and VME
    take turns when both want something. Behind an access to the protection table, or a write to the kernel's registers,
    the next one is taken in t + 3 at the earliest: it goes by what that has done. A write that names an area to DMA in
    a domain other than the kernel's takes three cycles more, and one for each page of the area. An access to the window
    leaves the bus to VME while it waits.
    """

    def __init__(self, data_bytes=REGIONS["data"].size, program_bytes=REGIONS["program"].size, window=False):
        check_data_bytes(data_bytes)
        self.data_bytes = data_bytes
        self.program_bytes = program_bytes
        self.has_window = window
        super().__init__(
            {
                "bus": Out(CpuPort()),
                "vme": In(AccessPort()),
                "memory": Out(SlotPort(data_bytes)),
                "memory_data": In(WORD_BITS),
                "program": Out(ProgramPort()),
                "program_data": In(WORD_BITS),
                "may": Out(1),
                "registers": Out(RegistersPort()),
                "protection": Out(ProtectionPort()),
                "window": Out(WindowPort()),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        """What the CPU asks; whose turn it is next and where that goes; the walk over an area; the look-up; the access;
        the answers."""
        m = Module()
        s = BusSignals()
        self._hear_cpu(m, s)
        self._choose_next(m, s)
        self._begin_next(m, s)
        self._judge(m, s)
        walk = self._walk_area(m, s)
        self._look_up(m, s, walk)
        self._make_access(m, s)
        self._do_late(m, s)
        self._park(m, s)
        self._answer(m, s)
        if platform == "formal":
            s.hears, s.begins = walk.ongoing("HEAR"), walk.ongoing("BEGIN")
            self.probes = s
        return m

    def _hear_cpu(self, m, s):
        """What the CPU asks, or has asked and could not begin."""
        m.d.comb += [
            self.bus.ready.eq(~s.held),
            *(s.pins.access[name].eq(getattr(self.bus, name)) for name in Access.as_shape().members),
            s.pins.kernel.eq(self.bus.kernel),
            s.asked.eq(Mux(s.held, s.spare, s.pins)),
        ]

    def _choose_next(self, m, s):
        """Who begins in the next cycle, and where that goes."""
        cpu_wants = Signal()
        vme_first = Signal()
        cpu_domain = Signal(DOMAIN_BITS)
        m.d.comb += [
            cpu_domain.eq(Mux(s.asked.kernel, KERNEL, self.protection.current)),
            s.free.eq(Mux(s.valid, s.ends & ~s.where.settles, ~s.settling)),
            cpu_wants.eq(
                (s.held | self.bus.valid) & ~s.waits & ~(s.valid & s.where.window) & ~(s.locked & self.vme.lock)
            ),
            vme_first.eq(self.vme.valid & (s.turn | ~cpu_wants)),
            s.vme_begins.eq(s.free & vme_first),
            s.cpu_begins.eq(s.free & cpu_wants & ~vme_first),
            self.vme.ready.eq(s.free & (s.turn | ~cpu_wants)),
            s.following.vme.eq(vme_first),
        ]
        with m.If(vme_first):
            m.d.comb += [
                *(s.following.access[name].eq(getattr(self.vme, name)) for name in Access.as_shape().members),
                s.following.domain.eq(self.protection.vme_domain),
            ]
        with m.Else():
            m.d.comb += [
                s.following.access.eq(s.asked.access),
                s.following.domain.eq(cpu_domain),
                s.following.kernel.eq(cpu_domain == KERNEL),
            ]
        m.d.comb += self._goes(s.following, s.following_where)

    def _begin_next(self, m, s):
        """The access that begins is at work until it ends; one of the CPU's that cannot begin is held."""
        with m.If(s.ends):
            m.d.sync += s.valid.eq(0)
        with m.If(s.cpu_begins | s.vme_begins):
            m.d.sync += [
                s.valid.eq(1),
                s.at_work.eq(s.following),
                s.where.eq(s.following_where),
                s.decides.eq(~(s.following_where.private | s.following_where.area)),
            ]
        with m.If(~s.held):
            m.d.sync += s.spare.eq(s.pins)
        with m.If(s.cpu_begins):
            m.d.sync += [s.held.eq(0), s.turn.eq(1)]
        with m.Elif(self.bus.valid):
            m.d.sync += s.held.eq(1)
        with m.If(s.vme_begins):
            m.d.sync += [s.turn.eq(0), s.locked.eq(self.vme.lock)]
        with m.Elif(~self.vme.lock):
            m.d.sync += s.locked.eq(0)

    def _judge(self, m, s):
        """Whether the access may be done. The answer of the table comes late: what else decides is ready before
        (``Protection._decide`` tells what that buys)."""
        may_anyway = Signal(attrs=KEPT)
        m.d.comb += [
            s.allowed.eq(s.at_work.kernel | (self.protection.granted & ~s.where.private)),
            Assert(~s.valid | (s.decides == ~(s.where.private | s.where.area))),
            s.to_walk.eq(s.where.area & ~s.at_work.kernel),
            may_anyway.eq(s.at_work.kernel | (s.to_walk & s.passed)),
            s.may.eq(may_anyway | (self.protection.granted & s.decides)),
        ]

    def _walk_area(self, m, s):
        """A write that lets DMA work on an area waits here until all its pages have been looked at.

        The owner may refuse the area meanwhile, and take it again: what it said at first counts, too. Where no access
        is looked at, what follows means nothing. Returns the state machine."""
        granted = self.protection.granted
        m.d.sync += [
            s.page.eq(s.ahead),
            s.ahead.eq(s.ahead + 1),
            s.at_first.eq(0),
            s.seen_page.eq(s.page),
            s.seen_first.eq(s.at_first),
            s.last_page.eq((s.area.address + s.area.length - 1)[PAGE_BITS:ADDRESS_BITS]),
        ]
        with m.FSM(name="walk") as walk:
            with m.State("ASK"):
                m.d.sync += [s.passed.eq(s.allowed), s.denied.eq(0)]
                with m.If(s.valid & s.to_walk):
                    m.next = "HEAR"
            with m.State("HEAR"):
                m.d.sync += [s.area.eq(self.registers.area), s.ahead.eq(self.registers.area.address[PAGE_BITS:])]
                m.next = "BEGIN"
            with m.State("BEGIN"):
                m.d.sync += s.at_first.eq(1)
                with m.If(s.passed & ~s.area.refused & (s.area.length != 0)):
                    m.next = "WALK"
                with m.Else():
                    m.next = "END"
            with m.State("WALK"):
                m.d.comb += s.walking.eq(1)
                m.d.sync += [s.passed.eq(granted), s.denied.eq(~granted)]
                with m.If(~granted | (s.page == s.last_page)):
                    m.next = "END"
            with m.State("END"):
                m.d.comb += s.walked.eq(1)
                m.next = "ASK"
        return walk

    def _look_up(self, m, s, walk):
        """The look-up: for the access that begins, which finds it as long as it takes; for an area, page by page.

        In the protection region, where others may do nothing whatever is looked up, it is the table's word itself."""
        following = s.following.access
        m.d.comb += [
            self.protection.look.eq(s.free | walk.ongoing("BEGIN") | s.walking),
            self.protection.needed.eq(Const(1, len(Right)) << self._kind(following)),
        ]
        with m.If(walk.ongoing("BEGIN") | s.walking):
            m.d.comb += [
                self.protection.page.eq(s.ahead),
                self.protection.page_domain.eq(s.at_work.domain),
                self.protection.needed.eq(Mux(s.area.write, Right.WRITE, Right.READ)),
            ]
        with m.Elif(self._within(following.address, "protection")):
            m.d.comb += Cat(self.protection.page, self.protection.page_domain).eq(following.address)
        with m.Else():
            m.d.comb += [
                self.protection.page.eq(following.address[PAGE_BITS:]),
                self.protection.page_domain.eq(s.following.domain),
            ]

    def _make_access(self, m, s):
        """The access: the memories are asked before it is known whether it may be."""
        access, where = s.at_work.access, s.where
        word_address = access.address[exact_log2(LANES) :]
        m.d.comb += [
            s.ends.eq(s.valid & Mux(s.to_walk, s.walked, ~where.memory | self.memory.ready)),
            self.memory.valid.eq(s.valid & where.memory),
            self.memory.address.eq(word_address),
            self.memory.write.eq(access.write),
            self.memory.select.eq(access.select),
            self.memory.data.eq(access.write_data),
            self.program.valid.eq(s.valid & (where.program | where.rom)),
            self.program.rom.eq(where.rom),
            self.program.address.eq(word_address),
            self.program.write.eq(access.write),
            self.program.select.eq(access.select),
            self.program.data.eq(access.write_data),
            s.refused.eq(s.to_walk & s.area.refused),
            self.registers.valid.eq(s.ends & where.registers & ~s.refused),
            self.registers.offset.eq(word_address),
            self.registers.write.eq(access.write),
            self.registers.select.eq(access.select),
            self.registers.write_data.eq(access.write_data),
            self.protection.select.eq(access.select),
            self.protection.data.eq(access.write_data),
        ]

    def _do_late(self, m, s):
        """What is done a cycle after the access was made: a write of the table, and the record of a refused access.

        What changes the protection is still at work then, as nothing follows it."""
        access, trap = s.at_work.access, self.protection.trap
        ended = Signal()
        m.d.comb += [s.to_table.eq(s.where.table & ~self.protection.hole), trap.valid.eq(ended & ~self.may)]
        m.d.sync += [
            self.may.eq(s.may),
            s.settling.eq(s.ends & s.where.settles),
            self.protection.write.eq(s.ends & s.to_table & access.write),
            ended.eq(s.ends),
            trap.payload.address.eq(access.address),
            trap.payload.domain.eq(s.at_work.domain),
            trap.payload.kind.eq(self._kind(access)),
            trap.payload.vme.eq(s.at_work.vme),
        ]
        with m.If(s.to_walk & s.denied):
            m.d.sync += [
                trap.payload.address.eq(Cat(Mux(s.seen_first, s.area.address[:PAGE_BITS], 0), s.seen_page)),
                trap.payload.kind.eq(Mux(s.area.write, AccessKind.WRITE, AccessKind.READ)),
            ]

    def _park(self, m, s):
        """The window: the CPU waits there, not here."""
        m.d.comb += [
            s.leaves.eq(s.ends & s.may & s.where.window),
            self.window.valid.eq(s.waits),
            *(getattr(self.window, name).eq(s.parked[name]) for name in Parked.as_shape().members),
        ]
        with m.If(s.where.window):
            m.d.sync += [s.parked[name].eq(s.at_work.access[name]) for name in Parked.as_shape().members]
        with m.If(s.leaves):
            m.d.sync += s.waits.eq(1)
        with m.Elif(self.window.done):
            m.d.sync += s.waits.eq(0)

    def _answer(self, m, s):
        """The answers. The window's comes when no other of the CPU's is under way.

        What a block RAM gives comes late, and from afar: it is kept by itself."""
        access, where = s.at_work.access, s.where
        from_memory, from_program, from_table, from_registers = (
            Signal(name=f"from_{name}", reset_less=True) for name in ("memory", "program", "table", "registers")
        )
        fails = Signal(reset_less=True)
        error = Signal()
        memory_word, program_word, other_word, window_word = (
            Signal(WORD_BITS, name=f"{name}_word", reset_less=True) for name in ("memory", "program", "other", "window")
        )
        from_window = Signal(reset_less=True)
        known = where.memory | where.program | where.rom | s.to_table | where.window | (where.registers & ~s.refused)
        m.d.sync += [
            s.answers_cpu.eq(s.ends & ~s.at_work.vme & ~s.leaves),
            s.answers_vme.eq(s.ends & s.at_work.vme),
            from_memory.eq(where.memory & ~access.write),
            from_program.eq((where.program | where.rom) & ~access.write),
            from_table.eq(s.to_table & ~access.write),
            from_registers.eq(where.registers & ~access.write),
            fails.eq(~known),
            self.bus.done.eq(s.answers_cpu | (s.waits & self.window.done)),
            self.bus.error.eq(Mux(s.answers_cpu, error, s.waits & self.window.done & self.window.error)),
            self.vme.done.eq(s.answers_vme),
            self.vme.error.eq(s.answers_vme & error),
            memory_word.eq(Mux(from_memory & self.may, self.memory_data, 0)),
            program_word.eq(Mux(from_program & self.may, self.program_data, 0)),
            other_word.eq(
                Mux(from_table, self.protection.table, 0) | Mux(from_registers & self.may, self.registers.read_data, 0)
            ),
            window_word.eq(Mux(s.parked.write | self.window.error, 0, self.window.read_data)),
            from_window.eq(~s.answers_cpu),
        ]
        m.d.comb += [
            error.eq(fails | ~self.may | self.registers.error),
            self.vme.read_data.eq(memory_word | program_word | other_word),
            self.bus.read_data.eq(Mux(from_window, window_word, self.vme.read_data)),
            self.idle.eq(~(s.valid | s.held | s.waits | s.answers_cpu | s.answers_vme | self.bus.done | self.vme.done)),
            Assert(~(s.waits & s.answers_cpu & self.window.done), "one answer to the CPU in a cycle"),
            Assert(~(self.memory.valid & self.program.valid), "an access goes to one place"),
        ]

    def _goes(self, granted, where):
        """Statements: ``where`` an access that is about to begin goes."""
        address, write = granted.access.address, granted.access.write
        kernels = self._within(address, "registers") & (address[PAGE_BITS:12] == KERNEL_PAGE >> PAGE_BITS)
        return [
            where.memory.eq(self._within(address, "data", self.data_bytes)),
            where.program.eq(self._within(address, "program", self.program_bytes)),
            where.rom.eq(self._within(address, "prom") & ~write),
            where.registers.eq(self._within(address, "registers")),
            where.table.eq(self._within(address, "protection") & granted.kernel),
            where.window.eq(self._within(address, "vme") & ~granted.vme & self.has_window),
            where.private.eq(self._within(address, "protection") | kernels),
            where.settles.eq(self._within(address, "protection") | (kernels & write)),
            where.area.eq(
                write & Cat(address[exact_log2(LANES) :] == register.address // LANES for register in _AREAS).any()
            ),
        ]

    @staticmethod
    def _kind(access):
        return Mux(access.write, AccessKind.WRITE, Mux(access.execute, AccessKind.EXECUTE, AccessKind.READ))

    @staticmethod
    def _within(address, name, size=None):
        """Whether ``address`` lies in the first ``size`` bytes (a power of two; all if None) of a region."""
        size = size or REGIONS[name].size
        bits = exact_log2(size)
        return address[bits:] == REGIONS[name].base >> bits
