"""What is around bus and protection in their proof: wired as on the board, with the decoder of the registers; memories,
the other registers and the VME window answer as they like."""

from amaranth.asserts import AnySeq
from amaranth.hdl import Assume, C, Mux, Signal
from amaranth.lib import wiring
from amaranth.utils import exact_log2

from ...hdl.cab.addresses import ADDRESS_BITS, LENGTH_BITS, REGIONS
from ...hdl.cab.bus import CpuBus
from ...hdl.cab.kernel_registers import KERNEL_PAGE
from ...hdl.cab.protection import WINDOWS, Protection
from ...hdl.cab.regions import PAGE_BITS, PAGES
from ...hdl.cab.registers import RegisterDecoder

__all__ = ["ProtectionBoard", "in_region"]

_OWN = "domain", "domains_on", "trap_address", "trap_info"


def in_region(address, name, size=None):
    """Whether an address is one of the region ``name``, or of its first ``size`` bytes."""
    region = REGIONS[name]
    return (address >= region.base) & (address < region.base + (size or region.size))


class ProtectionBoard(wiring.Component):
    """A bus, a protection and a decoder; ``pages`` as in ``Protection``.

    Before ``wire``, a proof sets three signals: ``done``, an access is done in this cycle; ``moved`` and
    ``moved_then``, which ``wire`` drives and the proof does: a reset has come during the access at work, or the one
    done.
    """

    def __init__(self, domains, pages):
        self.size = 4 << 10
        self.bus = CpuBus(self.size, self.size, window=True)
        self.protection = Protection(domains, pages)
        self.decoder = RegisterDecoder(vme=True)
        self.domains, self.pages = domains, pages
        super().__init__({})

    def wire(self, m, reset):
        """The bus, the protection and the decoder as on the board; all around them does what it likes."""
        bus, protection, decoder = self.bus, self.protection, self.decoder
        m.d.comb += [
            *(
                getattr(bus.bus, name).eq(AnySeq(getattr(bus.bus, name).shape()))
                for name in ("valid", "address", "write", "execute", "kernel", "select", "write_data")
            ),
            *(
                getattr(bus.vme, name).eq(AnySeq(getattr(bus.vme, name).shape()))
                for name in ("valid", "address", "write", "execute", "select", "write_data", "lock")
            ),
            bus.memory.ready.eq(AnySeq(1)),
            bus.memory_data.eq(AnySeq(32)),
            bus.program_data.eq(AnySeq(32)),
            bus.window.done.eq(AnySeq(1) & bus.window.valid),
            bus.window.read_data.eq(AnySeq(32)),
            bus.window.error.eq(AnySeq(1)),
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
            *(
                getattr(decoder, name).eq(getattr(bus.registers, name))
                for name in ("valid", "offset", "write", "select", "write_data")
            ),
            decoder.may.eq(bus.may),
            bus.registers.read_data.eq(decoder.read_data),
            bus.registers.error.eq(decoder.error),
            bus.registers.area.eq(decoder.area),
        ]
        # Where an area begins says a register, which only an access that is done can write; after a reset the area is
        # refused.
        with m.If(bus.probes.ends | ~bus.probes.valid):
            m.d.sync += self.moved.eq(0)
        with m.Elif(reset):
            m.d.sync += self.moved.eq(1)
        self.areas = []
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
                with m.If(self.done | reset):
                    m.d.sync += address.eq(AnySeq(ADDRESS_BITS))
                m.d.comb += [
                    port.area_address.eq(address),
                    Assume(
                        port.refuse
                        | (
                            ~(self.moved | self.moved_then)
                            & ((address + port.data.as_value()[:LENGTH_BITS])[: ADDRESS_BITS + 1] <= 1 << ADDRESS_BITS)
                        )
                    ),
                ]
                self.areas.append(register)

    def names_area(self, access):
        """Whether an access goes to a register that takes an area."""
        return sum(access.address[2:] == register.address >> 2 for register in self.areas) != 0

    def whole_area(self, access):
        """Whether an access gives such a register a whole word."""
        return self.names_area(access) & access.write & access.select.all()

    @staticmethod
    def kernels(access):
        """Whether an access goes to what is the kernel's alone."""
        return in_region(access.address, "protection") | (
            in_region(access.address, "registers") & (access.address[PAGE_BITS:12] == KERNEL_PAGE >> PAGE_BITS)
        )

    def changes(self, access):
        """Whether an access may change what the next one may do."""
        return access.write & self.kernels(access)

    def place(self, page):
        """Whether the table has ``page``, and which of its pages that is."""
        if self.pages == PAGES:
            return C(1, 1), page
        quarter = self.pages // len(WINDOWS)
        covered, index = C(0, 1), C(0, range(self.pages))
        for number, name in enumerate(WINDOWS):
            base = REGIONS[name].base >> PAGE_BITS
            inside = (page >= base) & (page < base + quarter)
            covered, index = (
                covered | inside,
                Mux(inside, page - base + number * quarter, index)[: exact_log2(self.pages)],
            )
        return covered, index
