"""The CAB's bus: takes accesses of the CPU and of VME, checks them, leads them to their place, answers in order.

Source: docs/cab.md, which is ours; "The Design of Nectar" (1989), section 5.2, gives the CPU, its address space, and
protection that is checked in parallel.
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .access import WINDOW_BITS, Access, AccessPort, WindowPort
from .addresses import ADDRESS_BITS, KERNEL_PAGE, REGIONS, REGISTERS
from .memory import LANES, SlotPort, check_data_bytes
from .protection import KEPT, Trap
from .regions import DOMAIN_BITS, KERNEL, PAGE_BITS, AccessKind, Right
from .registers import WORD_BITS, Area

__all__ = ["CpuBus", "CpuPort"]

_TABLE_PAGE_BITS = ADDRESS_BITS - PAGE_BITS
#: Registers that name an area to DMA when they are written.
_AREAS = tuple(register for register in REGISTERS if register.area)


class CpuPort(wiring.Signature):
    """The pins of the CPU bus, seen from the board; docs/cab.md specifies them."""

    def __init__(self):
        super().__init__(
            {
                "valid": In(1),
                "ready": Out(1),
                "address": In(ADDRESS_BITS),
                "write": In(1),
                "execute": In(1),
                "kernel": In(1),
                "select": In(LANES),
                "write_data": In(WORD_BITS),
                "done": Out(1),
                "read_data": Out(WORD_BITS),
                "error": Out(1),
            }
        )


class _Where(data.Struct):
    """Where an access goes, as its address says before it begins.

    ``private``: none but the kernel may do it. ``settles``: the next access has to find what it has done. ``area``: it
    names an area, if its register is there.
    """

    memory: 1
    program: 1
    rom: 1
    registers: 1
    table: 1
    window: 1
    private: 1
    settles: 1
    area: 1


class _Granted(data.Struct):
    """The access at work, with the domain that it is made in. ``kernel``: it may do everything."""

    access: Access
    vme: 1
    kernel: 1
    domain: DOMAIN_BITS


class _Pins(data.Struct):
    """What the CPU asks."""

    access: Access
    kernel: 1


class _Parked(data.Struct):
    """An access that waits for the window."""

    address: WINDOW_BITS
    write: 1
    select: LANES
    write_data: WORD_BITS


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
    program : Out
        ``valid``, ``rom``, ``address`` (word), ``write``, ``select``, ``data``: an access to program memory in this
        cycle.
    program_data : In(32)
        What was read, in the cycle after.
    may : Out(1)
        What memory, program memory or registers were asked in the cycle before may be done: else it must not be.
    registers : Out
        ``valid``, ``offset`` (word), ``write``, ``select``, ``write_data``: an access that takes effect in the next
        cycle if it may. Then come ``read_data`` and ``error``, and ``area``, what a write of what was asked, ``valid``
        or not, would let DMA do.
    protection : Out
        ``look``, ``page``, ``page_domain`` and ``needed``, ``granted``, ``table``, ``hole``, ``write``, ``select``,
        ``data``, ``current``, ``trap`` as in ``Protection``. ``vme_domain`` is a constant.
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
        offsets = exact_log2(REGIONS["registers"].size // LANES)
        super().__init__(
            {
                "bus": Out(CpuPort()),
                "vme": In(AccessPort()),
                "memory": Out(SlotPort(data_bytes)),
                "memory_data": In(WORD_BITS),
                "program": Out(
                    wiring.Signature(
                        {
                            "valid": Out(1),
                            "rom": Out(1),
                            "address": Out(exact_log2(REGIONS["program"].size // LANES)),
                            "write": Out(1),
                            "select": Out(LANES),
                            "data": Out(WORD_BITS),
                        }
                    )
                ),
                "program_data": In(WORD_BITS),
                "may": Out(1),
                "registers": Out(
                    wiring.Signature(
                        {
                            "valid": Out(1),
                            "offset": Out(offsets),
                            "write": Out(1),
                            "select": Out(LANES),
                            "write_data": Out(WORD_BITS),
                            "read_data": In(WORD_BITS),
                            "error": In(1),
                            "area": In(Area),
                        }
                    )
                ),
                "protection": Out(
                    wiring.Signature(
                        {
                            "look": Out(1),
                            "page": Out(_TABLE_PAGE_BITS),
                            "page_domain": Out(DOMAIN_BITS),
                            "needed": Out(len(Right)),
                            "granted": In(1),
                            "table": In(WORD_BITS),
                            "hole": In(1),
                            "write": Out(1),
                            "select": Out(LANES),
                            "data": Out(WORD_BITS),
                            "current": In(DOMAIN_BITS),
                            "vme_domain": In(DOMAIN_BITS),
                            "trap": Out(wiring.Signature({"payload": Out(Trap), "valid": Out(1)})),
                        }
                    )
                ),
                "window": Out(WindowPort()),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        """Whose turn it is next and where that goes; the walk over an area; the look-up; the access; the answers."""
        m = Module()
        at_work = Signal(_Granted, reset_less=True)
        valid = Signal()
        access = at_work.access
        where = Signal(_Where, reset_less=True)
        ends = Signal()  # the access at work is over in this cycle
        parked = Signal(_Parked, reset_less=True)
        waits = Signal()  # an access of the CPU waits for the window

        # 1. What the CPU asks, or has asked and could not begin.
        pins = Signal(_Pins)
        spare = Signal(_Pins, reset_less=True)
        asked = Signal(_Pins)
        held = Signal()
        m.d.comb += [
            self.bus.ready.eq(~held),
            *(pins.access[name].eq(getattr(self.bus, name)) for name in Access.as_shape().members),
            pins.kernel.eq(self.bus.kernel),
            asked.eq(Mux(held, spare, pins)),
        ]

        # 2. Who begins in the next cycle, and where that goes.
        settling = Signal()  # what the access before has done is not there yet
        locked = Signal()
        turn = Signal()  # VME's, if both want something
        free, cpu_wants, vme_first, cpu_begins, vme_begins = (
            Signal(name=name) for name in ("free", "cpu_wants", "vme_first", "cpu_begins", "vme_begins")
        )
        following = Signal(_Granted)
        following_where = Signal(_Where)
        cpu_domain = Signal(DOMAIN_BITS)
        m.d.comb += [
            cpu_domain.eq(Mux(asked.kernel, KERNEL, self.protection.current)),
            free.eq(Mux(valid, ends & ~where.settles, ~settling)),
            cpu_wants.eq((held | self.bus.valid) & ~waits & ~(valid & where.window) & ~(locked & self.vme.lock)),
            vme_first.eq(self.vme.valid & (turn | ~cpu_wants)),
            vme_begins.eq(free & vme_first),
            cpu_begins.eq(free & cpu_wants & ~vme_first),
            self.vme.ready.eq(free & (turn | ~cpu_wants)),
            following.vme.eq(vme_first),
        ]
        with m.If(vme_first):
            m.d.comb += [
                *(following.access[name].eq(getattr(self.vme, name)) for name in Access.as_shape().members),
                following.domain.eq(self.protection.vme_domain),
            ]
        with m.Else():
            m.d.comb += [
                following.access.eq(asked.access),
                following.domain.eq(cpu_domain),
                following.kernel.eq(cpu_domain == KERNEL),
            ]
        m.d.comb += self._goes(following, following_where)
        with m.If(ends):
            m.d.sync += valid.eq(0)
        decides = Signal()  # the right to its page is all that it needs
        with m.If(cpu_begins | vme_begins):
            m.d.sync += [
                valid.eq(1),
                at_work.eq(following),
                where.eq(following_where),
                decides.eq(~(following_where.private | following_where.area)),
            ]
        with m.If(~held):
            m.d.sync += spare.eq(pins)
        with m.If(cpu_begins):
            m.d.sync += [held.eq(0), turn.eq(1)]
        with m.Elif(self.bus.valid):
            m.d.sync += held.eq(1)
        with m.If(vme_begins):
            m.d.sync += [turn.eq(0), locked.eq(self.vme.lock)]
        with m.Elif(~self.vme.lock):
            m.d.sync += locked.eq(0)

        # 3. Whether it may.
        allowed = Signal()
        m.d.comb += [
            allowed.eq(at_work.kernel | (self.protection.granted & ~where.private)),
            Assert(~valid | (decides == ~(where.private | where.area))),
        ]

        # 4. A write that lets DMA work on an area waits here until all its pages have been looked at. The owner may
        # refuse the area meanwhile, and take it again: what it said at first counts, too.
        area = Signal(Area, reset_less=True)
        ahead, page, last_page, seen_page = (
            Signal(_TABLE_PAGE_BITS, name=name, reset_less=True)
            for name in ("page_ahead", "walk_page", "last_page", "seen_page")
        )
        at_first = Signal(reset_less=True)
        seen_first = Signal(reset_less=True)
        to_walk, walking, walked = (Signal(name=name) for name in ("to_walk", "walking", "walked"))
        passed = Signal(reset_less=True)
        denied = Signal(reset_less=True)
        # The answer of the table comes late: what else decides is ready before.
        may = Signal()
        may_anyway = Signal(attrs=KEPT)
        m.d.comb += [
            to_walk.eq(where.area & ~at_work.kernel),
            may_anyway.eq(at_work.kernel | (to_walk & passed)),
            may.eq(may_anyway | (self.protection.granted & decides)),
        ]
        # Where no access is looked at, what follows means nothing.
        m.d.sync += [
            page.eq(ahead),
            ahead.eq(ahead + 1),
            at_first.eq(0),
            seen_page.eq(page),
            seen_first.eq(at_first),
            last_page.eq((area.address + area.length - 1)[PAGE_BITS:ADDRESS_BITS]),
        ]
        with m.FSM(name="walk") as walk:
            with m.State("ASK"):
                m.d.sync += [passed.eq(allowed), denied.eq(0)]
                with m.If(valid & to_walk):
                    m.next = "HEAR"
            with m.State("HEAR"):
                m.d.sync += [area.eq(self.registers.area), ahead.eq(self.registers.area.address[PAGE_BITS:])]
                m.next = "BEGIN"
            with m.State("BEGIN"):
                m.d.sync += at_first.eq(1)
                with m.If(passed & ~area.refused & (area.length != 0)):
                    m.next = "WALK"
                with m.Else():
                    m.next = "END"
            with m.State("WALK"):
                m.d.comb += walking.eq(1)
                m.d.sync += [passed.eq(self.protection.granted), denied.eq(~self.protection.granted)]
                with m.If(~self.protection.granted | (page == last_page)):
                    m.next = "END"
            with m.State("END"):
                m.d.comb += walked.eq(1)
                m.next = "ASK"

        # 5. The look-up: for the access that begins, which finds it as long as it takes; for an area, page by page. In
        # the protection region, where others may do nothing whatever is looked up, it is the table's word itself.
        m.d.comb += [
            self.protection.look.eq(free | walk.ongoing("BEGIN") | walking),
            self.protection.needed.eq(Const(1, len(Right)) << self._kind(following.access)),
        ]
        with m.If(walk.ongoing("BEGIN") | walking):
            m.d.comb += [
                self.protection.page.eq(ahead),
                self.protection.page_domain.eq(at_work.domain),
                self.protection.needed.eq(Mux(area.write, Right.WRITE, Right.READ)),
            ]
        with m.Elif(self._within(following.access.address, "protection")):
            m.d.comb += Cat(self.protection.page, self.protection.page_domain).eq(following.access.address)
        with m.Else():
            m.d.comb += [
                self.protection.page.eq(following.access.address[PAGE_BITS:]),
                self.protection.page_domain.eq(following.domain),
            ]

        # 6. The access: the memories are asked before it is known whether it may be, all else is done a cycle later.
        # What changes the protection is still here then, as nothing follows it.
        word_address = access.address[exact_log2(LANES) :]
        refused = Signal()
        m.d.comb += [
            ends.eq(valid & Mux(to_walk, walked, ~where.memory | self.memory.ready)),
            self.memory.valid.eq(valid & where.memory),
            self.memory.address.eq(word_address),
            self.memory.write.eq(access.write),
            self.memory.select.eq(access.select),
            self.memory.data.eq(access.write_data),
            self.program.valid.eq(valid & (where.program | where.rom)),
            self.program.rom.eq(where.rom),
            self.program.address.eq(word_address),
            self.program.write.eq(access.write),
            self.program.select.eq(access.select),
            self.program.data.eq(access.write_data),
            refused.eq(to_walk & area.refused),
            self.registers.valid.eq(ends & where.registers & ~refused),
            self.registers.offset.eq(word_address),
            self.registers.write.eq(access.write),
            self.registers.select.eq(access.select),
            self.registers.write_data.eq(access.write_data),
            self.protection.select.eq(access.select),
            self.protection.data.eq(access.write_data),
        ]
        trap = self.protection.trap
        to_table = Signal()
        ended = Signal()
        m.d.comb += [to_table.eq(where.table & ~self.protection.hole), trap.valid.eq(ended & ~self.may)]
        m.d.sync += [
            self.may.eq(may),
            settling.eq(ends & where.settles),
            self.protection.write.eq(ends & to_table & access.write),
            ended.eq(ends),
            trap.payload.address.eq(access.address),
            trap.payload.domain.eq(at_work.domain),
            trap.payload.kind.eq(self._kind(access)),
            trap.payload.vme.eq(at_work.vme),
        ]
        with m.If(to_walk & denied):
            m.d.sync += [
                trap.payload.address.eq(Cat(Mux(seen_first, area.address[:PAGE_BITS], 0), seen_page)),
                trap.payload.kind.eq(Mux(area.write, AccessKind.WRITE, AccessKind.READ)),
            ]

        # 7. The window: the CPU waits there, not here.
        leaves = Signal()
        m.d.comb += [
            leaves.eq(ends & may & where.window),
            self.window.valid.eq(waits),
            *(getattr(self.window, name).eq(parked[name]) for name in _Parked.as_shape().members),
        ]
        with m.If(where.window):
            m.d.sync += [parked[name].eq(access[name]) for name in _Parked.as_shape().members]
        with m.If(leaves):
            m.d.sync += waits.eq(1)
        with m.Elif(self.window.done):
            m.d.sync += waits.eq(0)

        # 8. The answers. The window's comes when no other of the CPU's is under way. What a block RAM gives comes late,
        # and from afar: it is kept by itself.
        answers_cpu = Signal()
        answers_vme = Signal()
        from_memory, from_program, from_table, from_registers = (
            Signal(name=f"from_{name}", reset_less=True) for name in ("memory", "program", "table", "registers")
        )
        fails = Signal(reset_less=True)
        error = Signal()
        memory_word, program_word, other_word, window_word = (
            Signal(WORD_BITS, name=f"{name}_word", reset_less=True) for name in ("memory", "program", "other", "window")
        )
        from_window = Signal(reset_less=True)
        known = where.memory | where.program | where.rom | to_table | where.window | (where.registers & ~refused)
        m.d.sync += [
            answers_cpu.eq(ends & ~at_work.vme & ~leaves),
            answers_vme.eq(ends & at_work.vme),
            from_memory.eq(where.memory & ~access.write),
            from_program.eq((where.program | where.rom) & ~access.write),
            from_table.eq(to_table & ~access.write),
            from_registers.eq(where.registers & ~access.write),
            fails.eq(~known),
            self.bus.done.eq(answers_cpu | (waits & self.window.done)),
            self.bus.error.eq(Mux(answers_cpu, error, waits & self.window.done & self.window.error)),
            self.vme.done.eq(answers_vme),
            self.vme.error.eq(answers_vme & error),
            memory_word.eq(Mux(from_memory & self.may, self.memory_data, 0)),
            program_word.eq(Mux(from_program & self.may, self.program_data, 0)),
            other_word.eq(
                Mux(from_table, self.protection.table, 0) | Mux(from_registers & self.may, self.registers.read_data, 0)
            ),
            window_word.eq(Mux(parked.write | self.window.error, 0, self.window.read_data)),
            from_window.eq(~answers_cpu),
        ]
        m.d.comb += [
            error.eq(fails | ~self.may | self.registers.error),
            self.vme.read_data.eq(memory_word | program_word | other_word),
            self.bus.read_data.eq(Mux(from_window, window_word, self.vme.read_data)),
            self.idle.eq(~(valid | held | waits | answers_cpu | answers_vme | self.bus.done | self.vme.done)),
            Assert(~(waits & answers_cpu & self.window.done), "one answer to the CPU in a cycle"),
            Assert(~(self.memory.valid & self.program.valid), "an access goes to one place"),
        ]
        if platform == "formal":
            self.probes = SimpleNamespace(
                at_work=at_work,
                where=where,
                valid=valid,
                ends=ends,
                leaves=leaves,
                held=held,
                spare=spare,
                cpu_begins=cpu_begins,
                vme_begins=vme_begins,
                hears=walk.ongoing("HEAR"),
                begins=walk.ongoing("BEGIN"),
                walking=walking,
                walked=walked,
                passed=passed,
                denied=denied,
                area=area,
                page=page,
                ahead=ahead,
                at_first=at_first,
                last_page=last_page,
                seen_page=seen_page,
                seen_first=seen_first,
                waits=waits,
                answers_cpu=answers_cpu,
                answers_vme=answers_vme,
                settling=settling,
                to_walk=to_walk,
                refused=refused,
            )
        return m

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
