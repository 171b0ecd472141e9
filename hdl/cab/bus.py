"""The CAB's bus: takes accesses of the CPU and of VME, checks them, leads them to their place, answers in order.

Source: docs/cab.md, which is ours; "The Design of Nectar" (1989), section 5.2, gives the CPU, its address space, and
protection that is checked in parallel.
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .access import WINDOW_BITS, Access, AccessPort, WindowPort
from .addresses import ADDRESS_BITS, KERNEL_PAGE, LENGTH_BITS, REGIONS
from .memory import LANES, SlotPort, check_data_bytes
from .protection import Trap
from .regions import DOMAIN_BITS, KERNEL, PAGE_BITS, Kind, Right
from .registers import WORD_BITS, Area

__all__ = ["CpuBus", "CpuPort"]

_TABLE_PAGE_BITS = ADDRESS_BITS - PAGE_BITS


class CpuPort(wiring.Signature):
    """The pins of the CPU bus, seen from the board; docs/cab.md specifies them."""

    def __init__(self):
        super().__init__({
            "valid": In(1), "ready": Out(1),
            "address": In(ADDRESS_BITS), "write": In(1), "execute": In(1), "kernel": In(1), "select": In(LANES),
            "write_data": In(WORD_BITS),
            "done": Out(1), "read_data": Out(WORD_BITS), "error": Out(1),
        })


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
        ``valid``, ``rom``, ``address`` (word), ``write``, ``select``, ``data``: an access to program memory in this cycle.
    program_data : In(32)
        What was read, in the cycle after.
    registers : Out
        ``valid``, ``offset`` (word), ``write``, ``select``, ``write_data``; ``read_data`` (0 unless a word is
        read) and ``error`` come in the same cycle. ``area`` is what a write would let DMA do.
    protection : Out
        ``page`` and ``page_domain``, ``rights``, ``table``, ``hole``, ``write``, ``select``, ``data``, ``current``,
        ``trap`` as in ``Protection``. ``vme_domain`` is a constant.
    window : Out(WindowPort())
    idle : Out(1)
        No access is under way.

    Timing
    ------
    Access taken in cycle t: done in t + 1, while the answer of the table that was looked up in t decides whether it may
    be; its result is chosen in t + 2 and given in t + 3. While the memory is taken by others the access waits, and
    those behind it; one of the CPU's is held here, and ``bus.ready`` falls in the cycle after. CPU and VME take turns
    when both want something. A write that names an area to DMA in a domain other than the kernel's takes one cycle
    more for each page of the area. An access to the window leaves the bus to VME while it waits.
    """

    def __init__(self, data_bytes=REGIONS["data"].size, program_bytes=REGIONS["program"].size, window=False):
        check_data_bytes(data_bytes)
        self.data_bytes = data_bytes
        self.program_bytes = program_bytes
        self.has_window = window
        offsets = exact_log2(REGIONS["registers"].size // LANES)
        super().__init__({
            "bus": Out(CpuPort()),
            "vme": In(AccessPort()),
            "memory": Out(SlotPort(data_bytes)),
            "memory_data": In(WORD_BITS),
            "program": Out(wiring.Signature({
                "valid": Out(1), "rom": Out(1), "address": Out(exact_log2(REGIONS["program"].size // LANES)),
                "write": Out(1), "select": Out(LANES), "data": Out(WORD_BITS)})),
            "program_data": In(WORD_BITS),
            "registers": Out(wiring.Signature({
                "valid": Out(1), "offset": Out(offsets), "write": Out(1), "select": Out(LANES),
                "write_data": Out(WORD_BITS), "read_data": In(WORD_BITS), "error": In(1), "area": In(Area)})),
            "protection": Out(wiring.Signature({
                "page": Out(_TABLE_PAGE_BITS), "page_domain": Out(DOMAIN_BITS), "rights": In(len(Right)),
                "table": In(WORD_BITS), "hole": In(1), "write": Out(1), "select": Out(LANES), "data": Out(WORD_BITS),
                "current": In(DOMAIN_BITS), "vme_domain": In(DOMAIN_BITS),
                "trap": Out(wiring.Signature({"payload": Out(Trap), "valid": Out(1)}))})),
            "window": Out(WindowPort()),
            "idle": Out(1),
        })

    def elaborate(self, platform):
        """Whose turn it is next; the look-up for it; the access; the walk over an area; the answers."""
        m = Module()
        at_work, valid = Signal(_Granted), Signal()
        access = at_work.access
        ends = Signal()        # the access at work is over in this cycle
        parked = Signal(_Granted)
        waits = Signal()       # an access of the CPU waits for the window

        # 1. What the CPU asks, or has asked and could not begin.
        pins, spare, asked = Signal(_Pins), Signal(_Pins), Signal(_Pins)
        held = Signal()
        m.d.comb += [
            self.bus.ready.eq(~held),
            *(pins.access[name].eq(getattr(self.bus, name)) for name in Access.as_shape().members),
            pins.kernel.eq(self.bus.kernel),
            asked.eq(Mux(held, spare, pins)),
        ]

        # 2. Who begins in the next cycle.
        to_window = Signal()
        locked = Signal()
        turn = Signal()        # VME's, if both want something
        free, cpu_wants, cpu_begins, vme_begins = Signal(), Signal(), Signal(), Signal()
        following = Signal(_Granted)
        cpu_domain = Signal(DOMAIN_BITS)
        m.d.comb += [
            cpu_domain.eq(Mux(asked.kernel, KERNEL, self.protection.current)),
            free.eq(~valid | ends),
            cpu_wants.eq((held | self.bus.valid) & ~waits & ~(valid & to_window) & ~(locked & self.vme.lock)),
            vme_begins.eq(free & self.vme.valid & (turn | ~cpu_wants)),
            cpu_begins.eq(free & cpu_wants & ~vme_begins),
            self.vme.ready.eq(free & (turn | ~cpu_wants)),
            following.vme.eq(vme_begins),
        ]
        with m.If(vme_begins):
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
        with m.If(free):
            m.d.sync += valid.eq(cpu_begins | vme_begins)
        with m.If(cpu_begins | vme_begins):
            m.d.sync += at_work.eq(following)
        with m.If(cpu_begins):
            m.d.sync += [held.eq(0), turn.eq(1)]
        with m.Elif(self.bus.valid & ~held):
            m.d.sync += [held.eq(1), spare.eq(pins)]
        with m.If(vme_begins):
            m.d.sync += [turn.eq(0), locked.eq(self.vme.lock)]
        with m.Elif(~self.vme.lock):
            m.d.sync += locked.eq(0)

        # 3. Where the access goes, and whether it may.
        to_memory, to_program, to_rom, to_registers, to_table, inside = (
            Signal(name=name) for name in ("to_memory", "to_program", "to_rom", "to_registers", "to_table", "inside"))
        kind = Signal(Kind)
        allowed, may = Signal(), Signal()
        word_address = access.address[exact_log2(LANES):]
        m.d.comb += [
            to_memory.eq(self._within(access.address, "data", self.data_bytes)),
            to_program.eq(self._within(access.address, "program", self.program_bytes)),
            to_rom.eq(self._within(access.address, "prom") & ~access.write),
            to_registers.eq(self._within(access.address, "registers")),
            to_table.eq(self._within(access.address, "protection") & at_work.kernel & ~self.protection.hole),
            to_window.eq(self._within(access.address, "vme") & ~at_work.vme & self.has_window),
        ]
        with m.If(access.write):
            m.d.comb += kind.eq(Kind.WRITE)
        with m.Elif(access.execute):
            m.d.comb += kind.eq(Kind.EXECUTE)
        forbidden = Signal()    # to all but the kernel
        m.d.comb += [
            forbidden.eq(self._within(access.address, "protection")
                         | (to_registers & (access.address[PAGE_BITS:12] == KERNEL_PAGE >> PAGE_BITS))),
            allowed.eq(at_work.kernel | (self.protection.rights.bit_select(kind, 1).any() & ~forbidden)),
        ]

        # 4. A write that lets DMA work on an area first walks over its pages; what the table says of the access itself
        # was looked at before that.
        walking, walked, denied = Signal(), Signal(), Signal()
        walk_begins = Signal()
        first_page, last_page, page = (Signal(_TABLE_PAGE_BITS, name=name) for name in ("first_page", "last_page", "walk_page"))
        area = self.registers.area
        page_allowed = Signal()
        m.d.comb += [
            first_page.eq(area.address[PAGE_BITS:]),
            walk_begins.eq(valid & to_registers & allowed & ~at_work.kernel & (area.length != 0)
                           & ~(walking | walked | denied)),
            page_allowed.eq(Mux(area.write, self.protection.rights[Kind.WRITE], self.protection.rights[Kind.READ])),
            may.eq(Mux(walking | walked | denied, walked, allowed & ~walk_begins)),
        ]
        with m.If(walk_begins):
            # The owner may refuse the area while the walk goes on, and take it again at its end.
            m.d.sync += [walking.eq(1), page.eq(first_page), last_page.eq((area.address + area.length - 1)[PAGE_BITS:ADDRESS_BITS])]
        with m.If(walking):
            m.d.sync += [
                walking.eq(page_allowed & (page != last_page)),
                walked.eq(page_allowed & (page == last_page)),
                denied.eq(~page_allowed),
            ]
            with m.If(page_allowed):
                m.d.sync += page.eq(page + 1)
        with m.If(walked | denied):
            m.d.sync += [walked.eq(0), denied.eq(0)]

        # 5. The look-up for the next cycle. In the protection region it is the table's word itself.
        looked = Signal(_Granted)
        table_offset = looked.access.address
        m.d.comb += looked.eq(Mux(free, following, at_work))
        with m.If(walk_begins | walking):
            m.d.comb += [
                self.protection.page.eq(Mux(walking, page + 1, first_page)),
                self.protection.page_domain.eq(at_work.domain),
            ]
        with m.Elif(self._within(looked.access.address, "protection") & looked.kernel):
            m.d.comb += Cat(self.protection.page, self.protection.page_domain).eq(table_offset)
        with m.Else():
            m.d.comb += [
                self.protection.page.eq(looked.access.address[PAGE_BITS:]),
                self.protection.page_domain.eq(looked.domain),
            ]

        # 6. The access.
        m.d.comb += [
            inside.eq(valid & may),
            self.memory.valid.eq(inside & to_memory),
            self.memory.address.eq(word_address),
            self.memory.write.eq(access.write),
            self.memory.select.eq(access.select),
            self.memory.data.eq(access.write_data),
            self.program.valid.eq(inside & (to_program | to_rom)),
            self.program.rom.eq(to_rom),
            self.program.address.eq(word_address),
            self.program.write.eq(access.write),
            self.program.select.eq(access.select),
            self.program.data.eq(access.write_data),
            self.registers.valid.eq(inside & to_registers),
            self.registers.offset.eq(word_address),
            self.registers.write.eq(access.write),
            self.registers.select.eq(access.select),
            self.registers.write_data.eq(access.write_data),
            self.protection.write.eq(inside & to_table & access.write),
            self.protection.select.eq(access.select),
            self.protection.data.eq(access.write_data),
            ends.eq(valid & ~walk_begins & ~walking & (~to_memory | ~may | self.memory.ready)),
        ]
        trap = self.protection.trap
        m.d.comb += [
            trap.valid.eq(ends & ~may),
            trap.payload.address.eq(access.address),
            trap.payload.domain.eq(at_work.domain),
            trap.payload.kind.eq(kind),
            trap.payload.vme.eq(at_work.vme),
        ]
        with m.If(denied):
            m.d.comb += [
                trap.payload.address.eq(Cat(Mux(page == first_page, area.address[:PAGE_BITS], 0), page)),
                trap.payload.kind.eq(Mux(area.write, Kind.WRITE, Kind.READ)),
            ]

        # 7. The window: the CPU waits there, not here.
        leaves = Signal()
        m.d.comb += [
            leaves.eq(inside & to_window),
            self.window.valid.eq(waits),
            self.window.address.eq(parked.access.address[:WINDOW_BITS]),
            self.window.write.eq(parked.access.write),
            self.window.select.eq(parked.access.select),
            self.window.write_data.eq(parked.access.write_data),
        ]
        with m.If(leaves):
            m.d.sync += [waits.eq(1), parked.eq(at_work)]
        with m.Elif(self.window.done):
            m.d.sync += waits.eq(0)

        # 8. The answers. The window's comes when no other of the CPU's is under way.
        answers_cpu, answers_vme = Signal(), Signal()
        from_memory, from_program, error = Signal(), Signal(), Signal()
        word = Signal(WORD_BITS)
        result, window_result = Signal(WORD_BITS), Signal(WORD_BITS)
        known = to_memory | to_program | to_rom | to_table | to_window
        m.d.sync += [
            answers_cpu.eq(ends & ~at_work.vme & ~leaves),
            answers_vme.eq(ends & at_work.vme),
            from_memory.eq(to_memory & ~access.write & may),
            from_program.eq((to_program | to_rom) & ~access.write & may),
            error.eq(~may | ~(known | (to_registers & ~self.registers.error))),
            word.eq(Mux(to_table & ~access.write, self.protection.table, self.registers.read_data)),
            self.bus.done.eq(answers_cpu | (waits & self.window.done)),
            self.bus.error.eq(Mux(answers_cpu, error, waits & self.window.done & self.window.error)),
            self.bus.read_data.eq(Mux(answers_cpu, result, window_result)),
            self.vme.done.eq(answers_vme),
            self.vme.error.eq(answers_vme & error),
            self.vme.read_data.eq(result),
        ]
        m.d.comb += [
            result.eq(Mux(from_memory, self.memory_data, Mux(from_program, self.program_data, word))),
            window_result.eq(Mux(parked.access.write | self.window.error, 0, self.window.read_data)),
            self.idle.eq(~(valid | held | waits | answers_cpu | answers_vme | self.bus.done | self.vme.done)),
            Assert(~(waits & answers_cpu & self.window.done), "one answer to the CPU in a cycle"),
            Assert(~(self.memory.valid & self.registers.valid), "an access goes to one place"),
        ]
        if platform == "formal":
            self.spy = SimpleNamespace(
                at_work=at_work, valid=valid, ends=ends, leaves=leaves, held=held, spare=spare, cpu_begins=cpu_begins,
                vme_begins=vme_begins, walking=walking, walked=walked, denied=denied, page=page, last_page=last_page,
                waits=waits, parked=parked, answers_cpu=answers_cpu)
        return m

    @staticmethod
    def _within(address, name, size=None):
        """Whether ``address`` lies in the first ``size`` bytes (a power of two; all if None) of a region."""
        size = size or REGIONS[name].size
        bits = exact_log2(size)
        return address[bits:] == REGIONS[name].base >> bits
