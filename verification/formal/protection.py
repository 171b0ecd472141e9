"""Proof of hdl/cab/bus.py and protection.py: what a domain may not do is not done, and only the kernel says what it may.

Statement: docs/cab.md, "Protection". Proved are the bus, the protection and the decoder of the registers, wired as on the board;
memories, the other registers and the VME window answer as they like. One arbitrary domain, which is not the kernel's, and one
arbitrary page are followed: what the table says of them is kept a second time, from the kernel's writes alone. An arbitrary
access is followed from the pins to where it is done.
"""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Array, Assert, Assume, C, Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.utils import exact_log2

from ...hdl.cab.addresses import ADDRESS_BITS, KERNEL_PAGE, LENGTH_BITS, REG, REGIONS
from ...hdl.cab.protection import WINDOWS
from ...hdl.cab.regions import DOMAIN_BITS, KERNEL, PAGE_BITS, PAGES, Kind, Right
from .prove import look_into

__all__ = ["ProtectionProof"]

_PAGE_NUMBER_BITS = ADDRESS_BITS - PAGE_BITS
_LANES = 4
_OWN = "domain", "domains_on", "trap_address", "trap_info"


def _in_region(address, name, size=None):
    region = REGIONS[name]
    return (address >= region.base) & (address < region.base + (size or region.size))


class ProtectionProof(wiring.Component):
    """A bus, a protection and a decoder of these classes; ``pages`` as in ``Protection``."""

    def __init__(self, CpuBus, Protection, RegisterDecoder, domains, pages):
        self.size = 4 << 10
        self.bus = CpuBus(self.size, self.size, window=True)
        self.protection = Protection(domains, pages)
        self.decoder = RegisterDecoder(vme=True)
        self.domains, self.pages = domains, pages
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        bus, protection, decoder = self.bus, self.protection, self.decoder
        reset = Signal()
        m.submodules.bus = look_into(bus, platform)
        m.submodules.protection = ResetInserter(reset)(look_into(protection, platform))
        m.submodules.decoder = decoder
        spy = bus.spy
        work, valid = spy.at_work, spy.valid
        access = work.access
        m.d.comb += reset.eq(AnySeq(1))    # by RESET or SYSRESET
        self._wire(m, reset)
        register_write = decoder.valid & decoder.write & ~decoder.error

        # 1. The access at work is one that was asked for, in the domain that was current when it began.
        current = Signal(DOMAIN_BITS)
        follows, asked, asked_kernel, from_vme = Signal(), Signal.like(access), Signal(), Signal()
        began, domain_then = Signal(), Signal(DOMAIN_BITS)
        with m.If(~follows):
            with m.If(bus.bus.valid & bus.bus.ready & AnySeq(1)):
                m.d.sync += [follows.eq(1), began.eq(spy.cpu_begins), asked_kernel.eq(bus.bus.kernel), from_vme.eq(0),
                             *(asked[name].eq(getattr(bus.bus, name)) for name in access.shape().as_shape().members)]
            with m.Elif(bus.vme.valid & bus.vme.ready & AnySeq(1)):
                m.d.sync += [follows.eq(1), began.eq(1), asked_kernel.eq(0), from_vme.eq(1),
                             *(asked[name].eq(getattr(bus.vme, name)) for name in access.shape().as_shape().members)]
            m.d.sync += domain_then.eq(bus.protection.current)
        with m.Elif(~began):
            m.d.sync += [began.eq(spy.cpu_begins), domain_then.eq(bus.protection.current)]
        with m.Elif(spy.ends):
            m.d.sync += follows.eq(0)
        with m.If(follows & ~began):
            m.d.comb += Assert(spy.held & (spy.spare.access == asked) & (spy.spare.kernel == asked_kernel) & ~from_vme,
                               "what was taken and cannot begin waits")
        with m.If(follows & began):
            m.d.comb += [
                Assert(valid & (access == asked) & (work.vme == from_vme), "what is done is what was asked"),
                Assert(from_vme | (work.domain == Mux(asked_kernel, KERNEL, domain_then)), "in the domain current when it began"),
            ]
        m.d.comb += [
            Assert(~valid | (work.kernel == (~work.vme & (work.domain == KERNEL))), "no one but the kernel is the kernel"),
            Assert(~valid | ~work.vme | (work.domain == self.domains - 1), "VME is in its own domain"),
        ]

        # 2. What the kernel alone can change: the current domain, the domains that are on, the table.
        domain, page = Signal(DOMAIN_BITS), Signal(_PAGE_NUMBER_BITS)
        by_kernel = Signal()
        on = Signal()
        m.d.comb += [
            domain.eq(AnyConst(DOMAIN_BITS)), Assume((domain != KERNEL) & (domain < self.domains)),
            page.eq(AnyConst(_PAGE_NUMBER_BITS)),
            by_kernel.eq(valid & work.kernel & access.write),
        ]
        whole = by_kernel & access.select.all()
        sets_domain = Signal()
        m.d.comb += [
            sets_domain.eq(whole & (access.address[2:] == REG["DOMAIN"].address >> 2) & (access.write_data[:DOMAIN_BITS] < self.domains)),
            Assert(bus.protection.current == Mux(sets_domain, access.write_data[:DOMAIN_BITS], current),
                   "the kernel, and nobody else, sets the current domain"),
        ]
        m.d.sync += current.eq(bus.protection.current)
        with m.If(whole & (access.address[2:] == REG["DOMAINS_ON"].address >> 2)):
            m.d.sync += on.eq(access.write_data.bit_select(domain, 1))
        with m.If(reset):
            m.d.sync += [current.eq(0), on.eq(0)]
        m.d.comb += Assert(protection.domains_on.value.bit_select(domain, 1) == on, "the kernel, and nobody else, switches domains on")

        covered, index = self._place(page)
        lane = Array([3, 2, 1, 0])[page[:2]]
        content = Signal(len(Right), reset_less=True)
        offset = Cat(page, domain)
        with m.If(by_kernel & covered & _in_region(access.address, "protection") & (access.address[2:19] == offset[2:])
                  & access.select.bit_select(lane, 1)):
            m.d.sync += content.eq(access.write_data.word_select(lane, 8)[:len(Right)])
        look = protection.spy
        m.d.comb += [
            look.address.eq(Cat(index[2:], domain)),
            Assert(~covered | (look.data.word_select(lane, len(Right)) == content), "the kernel, and nobody else, writes the table"),
        ]
        trap_stays, trap_before = Signal(), Signal.like(protection.trap_info.value)
        m.d.sync += [trap_stays.eq(protection.trap_info.value.valid & ~reset
                                   & ~(whole & (access.address[2:] == REG["TRAP_INFO"].address >> 2))),
                     trap_before.eq(protection.trap_info.value)]
        m.d.comb += Assert(~trap_stays | (protection.trap_info.value.valid & (protection.trap_info.value.domain == trap_before.domain)),
                           "the record of what was refused stays until the kernel takes it")

        # 3. What the followed domain does on the followed page is what the table allows.
        rights = Signal(len(Right))
        kind, right, effect = Signal(Kind), Signal(), Signal()
        here, to_area, moved = Signal(), Signal(), self._moved
        m.d.comb += [
            rights.eq(Mux(on & covered, content, 0)),
            kind.eq(Mux(access.write, Kind.WRITE, Mux(access.execute, Kind.EXECUTE, Kind.READ))),
            here.eq(valid & (work.domain == domain) & (access.address[PAGE_BITS:] == page)),
            right.eq(rights.bit_select(kind, 1) & ~_in_region(access.address, "protection")
                     & ~(_in_region(access.address, "registers") & (access.address[PAGE_BITS:12] == KERNEL_PAGE >> PAGE_BITS))),
            effect.eq(bus.memory.valid | bus.program.valid | bus.registers.valid & ~decoder.error | bus.protection.write | spy.leaves),
            Assert(~effect | valid),
            Assert(~effect | ~here | right, "what a domain may not do does nothing"),
            Assert(~bus.protection.trap.valid | ~work.kernel, "the kernel may do everything"),
            Assert(~(bus.protection.trap.valid & here & ~spy.denied) | ~right, "what it may do is not refused"),
        ]
        places = (
            (bus.memory.valid, _in_region(access.address, "data", self.size)),
            (bus.program.valid, _in_region(access.address, "program", self.size) | (_in_region(access.address, "prom") & ~access.write)),
            (bus.registers.valid, _in_region(access.address, "registers")),
            (spy.leaves, _in_region(access.address, "vme") & ~work.vme),
        )
        for asked_for, place in places:
            m.d.comb += [
                Assert(~asked_for | place, "an access goes to its own place"),
                Assert(~(spy.ends & place & ~bus.protection.trap.valid) | asked_for, "and if nothing is told it gets there"),
            ]
        m.d.comb += [
            Assert(~bus.protection.write | work.kernel),
            Assert(~spy.waits | ~(valid & ~work.vme | spy.answers_cpu), "while the CPU waits for the window it does nothing else"),
        ]

        # 4. DMA: an area is let in only when each of its pages is allowed; the followed page is one of them.
        first, last, inside, allowed = Signal(_PAGE_NUMBER_BITS), Signal(_PAGE_NUMBER_BITS), Signal(), Signal()
        length, area = access.write_data[:LENGTH_BITS], decoder.area
        m.d.comb += [
            first.eq(area.address >> PAGE_BITS),
            last.eq((area.address + length - 1)[PAGE_BITS:ADDRESS_BITS]),
            inside.eq((length != 0) & (first <= page) & (page <= last)),
            allowed.eq(Mux(area.write, rights[Kind.WRITE], rights[Kind.READ])),
            to_area.eq(valid & ~work.kernel & access.write & _in_region(access.address, "registers") & self._names_area(access)),
            Assert(~(register_write & to_area & (work.domain == domain) & inside & ~moved) | allowed,
                   "DMA gets no area with a page that its domain may not read or write"),
            Assert(~(spy.walking | spy.walked) | moved | ~here | right),
            Assert(~(spy.walking | spy.walked | spy.denied) | (to_area & (spy.walking + spy.walked + spy.denied == 1))),
        ]
        with m.If((work.domain == domain) & inside & ~moved):
            m.d.comb += [
                Assert(~spy.walked | allowed, "all pages of the area were looked at"),
                Assert(~(spy.walking & (page < spy.page)) | allowed, "all before the one that is looked at now"),
            ]
        m.d.comb += Assert(~(bus.protection.trap.valid & spy.denied & (work.domain == domain) & ~moved
                             & (bus.protection.trap.payload.address[PAGE_BITS:] == page)) | ~allowed, "what is told is not allowed")
        looked, looked_domain = (Signal(width, reset_less=True) for width in (_PAGE_NUMBER_BITS, DOMAIN_BITS))
        looked_covered, looked_index = self._place(looked)
        begun = Signal(reset_less=True)    # something has been looked up
        m.d.sync += begun.eq(1)
        same_word = begun & (looked[2:] == page[2:]) & (looked_domain == domain) & covered
        m.d.sync += [looked.eq(bus.protection.page), looked_domain.eq(bus.protection.page_domain)]
        m.d.comb += [
            Assert(~spy.walking | moved | ((length != 0) & (spy.page >= first) & (spy.page <= last) & (spy.last_page == last))),
            Assert(begun | ~valid),
            Assert(~spy.walking | ((looked == spy.page) & (looked_domain == work.domain))),
            Assert(~(valid & ~work.kernel & ~(spy.walking | spy.walked | spy.denied))
                   | ((looked == access.address[PAGE_BITS:]) & (looked_domain == work.domain))),
            Assert(~(valid & work.kernel & _in_region(access.address, "protection"))
                   | (Cat(looked, looked_domain) == access.address[:_PAGE_NUMBER_BITS + DOMAIN_BITS])),
            Assert(~begun | (look.inside == (looked_covered & (looked_domain < self.domains)))),
            Assert(~begun | (look.lane == looked[:2]) & (look.domain == looked_domain) & (~look.inside | (look.place == Cat(looked_index[2:], looked_domain)[:len(look.place)]))),
            Assert(~same_word | (look.read.word_select(lane, len(Right)) == content), "what was looked up is what is there"),
            Assert(~(begun & (looked == page) & (looked_domain == domain)) | (protection.rights == rights), "the table says what was written"),
        ]
        return m

    def _wire(self, m, reset):
        """The bus, the protection and the decoder as on the board; all around them does what it likes."""
        bus, protection, decoder = self.bus, self.protection, self.decoder
        m.d.comb += [
            *(getattr(bus.bus, name).eq(AnySeq(getattr(bus.bus, name).shape()))
              for name in ("valid", "address", "write", "execute", "kernel", "select", "write_data")),
            *(getattr(bus.vme, name).eq(AnySeq(getattr(bus.vme, name).shape()))
              for name in ("valid", "address", "write", "execute", "select", "write_data", "lock")),
            bus.memory.ready.eq(AnySeq(1)), bus.memory_data.eq(AnySeq(32)), bus.program_data.eq(AnySeq(32)),
            bus.window.done.eq(AnySeq(1) & bus.window.valid), bus.window.read_data.eq(AnySeq(32)), bus.window.error.eq(AnySeq(1)),
            *(getattr(protection, name).eq(getattr(bus.protection, name)) for name in ("page", "page_domain", "write", "select", "data")),
            *(getattr(bus.protection, name).eq(getattr(protection, name)) for name in ("rights", "table", "hole", "current")),
            bus.protection.vme_domain.eq(self.domains - 1),
            protection.trap.payload.eq(bus.protection.trap.payload),
            protection.trap.valid.eq(bus.protection.trap.valid),
            *(getattr(decoder, name).eq(getattr(bus.registers, name)) for name in ("valid", "offset", "write", "select", "write_data")),
            bus.registers.read_data.eq(decoder.read_data),
            bus.registers.error.eq(decoder.error),
            bus.registers.area.eq(decoder.area),
        ]
        # Where an area begins says a register, which no access but the one at work can write; after a reset the area is refused.
        self._moved = Signal()
        with m.If(bus.spy.ends | ~bus.spy.valid):
            m.d.sync += self._moved.eq(0)
        with m.Elif(reset):
            m.d.sync += self._moved.eq(1)
        self._areas = []
        for register in decoder.registers:
            name = register.name.lower()
            port = getattr(decoder, name)
            if name in _OWN:
                wiring.connect(m, port, getattr(protection, name))
                continue
            if "r" in register.access:
                m.d.comb += port.value.eq(AnySeq(32))
            if "w" in register.access:
                m.d.comb += port.refuse.eq(AnySeq(1))
            if register.area:
                address = Signal(ADDRESS_BITS, name=f"{name}_address")
                with m.If(bus.spy.ends | ~bus.spy.valid | reset):
                    m.d.sync += address.eq(AnySeq(ADDRESS_BITS))
                m.d.comb += [
                    port.area_address.eq(address),
                    Assume(port.refuse | (~self._moved & ((address + bus.registers.write_data[:LENGTH_BITS])[:ADDRESS_BITS + 1] <= 1 << ADDRESS_BITS))),
                ]
                self._areas.append(register)

    def _names_area(self, access):
        return sum(access.address[2:] == register.address >> 2 for register in self._areas) != 0

    def _place(self, page):
        """Whether the table has ``page``, and which of its pages that is."""
        if self.pages == PAGES:
            return C(1, 1), page
        quarter = self.pages // len(WINDOWS)
        covered, index = C(0, 1), C(0, range(self.pages))
        for number, name in enumerate(WINDOWS):
            base = REGIONS[name].base >> PAGE_BITS
            inside = (page >= base) & (page < base + quarter)
            covered, index = covered | inside, Mux(inside, page - base + number * quarter, index)[:exact_log2(self.pages)]
        return covered, index
