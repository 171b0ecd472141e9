"""The CAB's memory protection: the table of rights, the current domain, the record of what was refused.

Source: "The Design of Nectar" (1989), section 5.2: 1-kbyte pages of the whole address space, any subset of read, write
and execute, 32 domains with a table each, one of them VME's, checked in parallel with the access. Registers, the small
table and the switch of each domain are ours (docs/cab.md).
"""

from amaranth.hdl import Assert, C, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .addresses import ADDRESS_BITS, REG
from .regions import DOMAIN_BITS, DOMAINS, KERNEL, PAGE_BITS, PAGES, REGIONS, Right
from .registers import WORD_BITS, RegisterPort

__all__ = ["KEPT", "LEAST_PAGES", "MOST_PAGES", "WINDOWS", "Protection", "Trap", "check_domains", "check_pages"]

#: Attributes of a signal that a synthesis leaves as it is.
KEPT = {"keep": 1}
#: Entries of the table that are read at once: a word of the protection region.
_LANES = 4
_RIGHT_BITS = len(Right)
_SPARE_BITS = 8 - _RIGHT_BITS
_PAGE_NUMBER_BITS = ADDRESS_BITS - PAGE_BITS
#: A table that is not whole covers the first pages of these regions, a quarter of it each.
WINDOWS = "prom", "program", "data", "registers"
#: Sizes of a table that is not whole.
LEAST_PAGES, MOST_PAGES = 16, 2048


def check_domains(domains):
    """Raises TypeError or ValueError unless a board may have that many domains."""
    if not isinstance(domains, int):
        raise TypeError(f"domains must be an integer, not {domains!r}")
    if not 2 <= domains <= DOMAINS or domains & domains - 1:
        raise ValueError(f"domains must be a power of two from 2 to {DOMAINS}, not {domains}")


def check_pages(pages):
    """Raises TypeError or ValueError unless a protection table may have that many pages."""
    if not isinstance(pages, int):
        raise TypeError(f"pages must be an integer, not {pages!r}")
    if pages != PAGES and (not LEAST_PAGES <= pages <= MOST_PAGES or pages & pages - 1):
        raise ValueError(f"pages must be {PAGES} or a power of two from {LEAST_PAGES} to {MOST_PAGES}, not {pages}")


class Trap(data.Struct):
    """An access that was refused: its address, its domain, what it wanted, whether VME wanted it."""

    address: ADDRESS_BITS
    domain: DOMAIN_BITS
    kind: 2
    vme: 1


class _Signals:
    """What was looked up, and the domains whose rights count; proofs look into them.

    What was looked up has no reset: the access behind one that resets the board finds it."""

    def __init__(self, domains, places):
        # Its bits in a word of the table. The memory is slow: what chooses from it is there before.
        self.chosen = Signal(_RIGHT_BITS * _LANES, reset_less=True)
        self.domain = Signal(DOMAIN_BITS, reset_less=True)
        self.place = Signal(range(places), reset_less=True)
        self.inside = Signal(reset_less=True)
        self.on = Signal(domains)


class Protection(wiring.Component):
    """Says what a domain may do with a page.

    Parameters
    ----------
    domains : int
        Domains: a power of two from 2 to 32. The last is VME's.
    pages : int
        Pages in the table: 16384, all; or a power of two from 16 to 2048, the first pages of program PROM, program
        RAM, data memory and registers, a quarter each. No domain but the kernel's may do anything with the others.

    Members
    -------
    look : In(1), page : In(14), page_domain : In(5), needed : In(3)
        What is looked up in a cycle in which ``look`` is 1; ``needed`` has bits ``Right``.
    granted : Out(1)
        The domain has one of the rights ``needed`` on the page. None, if the domain is not switched on or the page is
        not in the table.
    table : Out(32)
        The word of the protection region with that page in that domain: its byte and the three around it.
    hole : Out(1)
        There is no such word.
    write : In(1), select : In(4), data : In(32)
        Write that word.
    current : Out(5)
        Domain of the CPU.
    trap : In
        ``payload`` is refused in a cycle in which ``valid`` is 1.
    domain, domains_on, trap_address, trap_info : In(RegisterPort)
        Its registers.

    Timing
    ------
    ``granted``, ``table`` and ``hole`` follow a look-up by one cycle and stay until the next; ``write`` writes what was
    looked up last, in a cycle in which nothing is looked up, and is seen from the next cycle on, as is a write of a
    register.

    Raises
    ------
    TypeError, ValueError
        If ``domains`` or ``pages`` is not one of those.
    """

    def __init__(self, domains=DOMAINS, pages=PAGES):
        check_domains(domains)
        check_pages(pages)
        self.domains = domains
        self.pages = pages
        super().__init__(
            {
                "look": In(1),
                "page": In(_PAGE_NUMBER_BITS),
                "page_domain": In(DOMAIN_BITS),
                "needed": In(_RIGHT_BITS),
                "granted": Out(1),
                "table": Out(WORD_BITS),
                "hole": Out(1),
                "write": In(1),
                "select": In(_LANES),
                "data": In(WORD_BITS),
                "current": Out(DOMAIN_BITS),
                "trap": In(wiring.Signature({"payload": Out(Trap), "valid": Out(1)})),
                **{
                    name: In(RegisterPort(REG[name.upper()]))
                    for name in ("domain", "domains_on", "trap_address", "trap_info")
                },
            }
        )

    def elaborate(self, platform):
        """Table, registers, record."""
        m = Module()
        places = self.domains * self.pages // _LANES
        # No place is read while it is written. If synthesis did not know that, protection with four
        # domains of 256 pages would take 107 LUTs instead of 89.
        m.submodules.memory = table = memory.Memory(
            shape=_RIGHT_BITS * _LANES, depth=places, init=[], attrs={"no_rw_check": 1}
        )
        write = table.write_port(granularity=_RIGHT_BITS)
        read = table.read_port()
        s = _Signals(self.domains, places)
        self._look_up(m, s, read)
        self._decide(m, s, read)
        self._write(m, s, write)
        if platform == "formal":
            look = table.read_port(domain="comb")
            s.address, s.data, s.read = look.addr, look.data, read.data
            self.probes = s
        self._set_domains(m, s)
        self._record(m)
        return m

    def _look_up(self, m, s, read):
        """Where a page is in the table."""
        domain_bits = exact_log2(self.domains)
        covered, index = self._index(m)
        m.d.comb += [
            read.addr.eq(Cat(index[exact_log2(_LANES) :], self.page_domain[:domain_bits])),
            read.en.eq(self.look),
        ]
        with m.If(self.look):
            m.d.sync += [
                s.chosen.eq(
                    Cat(Mux(self.page[: exact_log2(_LANES)] == n, self.needed, 0) for n in reversed(range(_LANES)))
                ),
                s.domain.eq(self.page_domain),
                s.place.eq(read.addr),
                s.inside.eq(covered & (self.page_domain < self.domains)),
            ]

    def _decide(self, m, s, read):
        """What the table says. The byte at a word's own address is the first of its four pages."""
        # Two bits and two choices fill a LUT, three pairs another, both halves and two conditions of who asks a third.
        # A synthesis that does not know how slow the memory is would put them into a chain: with the kept signals,
        # those of ``CpuBus`` among them, a CAB has 6 levels of logic behind this memory, without them 8.
        counts = Signal(attrs=KEPT)  # it is in the table, and the domain is on
        pairs = [Signal(name=f"pair_{n}", attrs=KEPT) for n in range(_RIGHT_BITS * _LANES // 2)]
        halves = [Signal(name=f"granted_{n}", attrs=KEPT) for n in range(2)]
        m.d.comb += [
            counts.eq(s.inside & s.on.bit_select(s.domain[: exact_log2(self.domains)], 1)),
            *(pair.eq((read.data & s.chosen).word_select(n, 2).any()) for n, pair in enumerate(pairs)),
            *(half.eq(counts & Cat(pairs[n::2]).any()) for n, half in enumerate(halves)),
            self.granted.eq(Cat(halves).any()),
            self.hole.eq(~s.inside),
            self.table.eq(
                Mux(
                    s.inside,
                    Cat(Cat(read.data.word_select(n, _RIGHT_BITS), C(0, _SPARE_BITS)) for n in range(_LANES)),
                    0,
                )
            ),
        ]

    def _write(self, m, s, write):
        """A write of the word that was looked up last."""
        m.d.comb += [
            write.addr.eq(s.place),
            write.data.eq(Cat(self.data.word_select(n, 8)[:_RIGHT_BITS] for n in range(_LANES))),
            write.en.eq(Mux(self.write & s.inside, self.select, 0)),
            # A block RAM does not say what it reads of a word that is being written.
            Assert(~(self.look & self.write), "nothing is looked up while the table is written"),
        ]

    def _set_domains(self, m, s):
        """The current domain, and the domains whose rights count."""
        m.d.comb += [
            self.domain.refuse.eq(self.domain.data.current >= self.domains),
            self.domain.value.current.eq(self.current),
            self.domain.value.vme.eq(self.domains - 1),
            self.domains_on.value.eq(s.on),
        ]
        with m.If(self.domain.write):
            m.d.sync += self.current.eq(self.domain.data.current)
        with m.If(self.domains_on.write):
            m.d.sync += s.on.eq(self.domains_on.data & ~(1 << KERNEL))

    def _record(self, m):
        """The first refused access stays until it is taken; the others are counted."""
        trap = Signal(Trap)
        valid = Signal()
        lost = Signal(REG["TRAP_INFO"].lost.width)
        info = self.trap_info.value
        m.d.comb += [
            self.trap_address.value.address.eq(trap.address),
            info.kind.eq(trap.kind),
            info.domain.eq(trap.domain),
            info.vme.eq(trap.vme),
            info.lost.eq(lost),
            info.valid.eq(valid),
        ]
        with m.If(self.trap.valid):
            with m.If(~valid):
                m.d.sync += [trap.eq(self.trap.payload), valid.eq(1)]
            with m.Elif(~lost.all()):
                m.d.sync += lost.eq(lost + 1)
        with m.Elif(self.trap_info.write):
            m.d.sync += [trap.eq(Const(0, Trap)), valid.eq(0), lost.eq(0)]

    def _index(self, m):
        """Whether the page looked up is in the table, and its number there."""
        if self.pages == PAGES:
            return 1, self.page
        quarter = self.pages // len(WINDOWS)
        bits = exact_log2(quarter)
        window = Signal(range(len(WINDOWS)))
        covered = Signal()
        for number, name in enumerate(WINDOWS):
            base = REGIONS[name].base >> PAGE_BITS
            with m.If(self.page[bits:] == base >> bits):
                m.d.comb += covered.eq(1)
            # Each of these regions but the first begins at a power of two of its own: one bit tells which it is.
            with m.If(self.page & base):
                m.d.comb += window.eq(number)
        index = Signal(range(self.pages))
        m.d.comb += index.eq(Cat(self.page[:bits], window))
        return covered, index
