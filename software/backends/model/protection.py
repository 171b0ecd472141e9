"""The protection of the pure-Python model's CAB, as ``docs/cab.md`` says: table, domains, record of what was
refused."""

from ....hdl.cab.addresses import REG, REGIONS
from ....hdl.cab.kernel_registers import KERNEL_PAGE
from ....hdl.cab.regions import DOMAINS, KERNEL, PAGE_BITS, AccessKind, Right

__all__ = ["Guard"]

_TABLE, _REGISTERS = REGIONS["protection"], REGIONS["registers"]
_PAGE_NUMBERS = 14
_NEEDS = {AccessKind.READ: Right.READ, AccessKind.WRITE: Right.WRITE}


class Guard:
    """Says which of the CPU's accesses may be made.

    Members
    -------
    trapped : callable()
        Called when an access has been refused.
    kernel : bool
        The CPU is in its supervisor mode: it makes its accesses in the kernel's domain.
    vme : bool
        The access comes from VME.
    """

    def __init__(self, trapped):
        self.trapped = trapped
        self.kernel = False
        self.vme = False
        self._table = {}  # byte number in the region → rights
        self._on = 0
        self._current = KERNEL
        self._trap = None  # address, word of TRAP_INFO
        self._lost = 0

    def reset(self):
        """All but the table."""
        self._on, self._current, self._trap, self._lost = 0, KERNEL, None, 0

    @property
    def open(self):
        """Whether the CPU may do anything now: it is in the kernel's domain."""
        return self._domain() == KERNEL

    def allows(self, address, kind):
        """Whether the CPU may make an access of that AccessKind; if not, it is recorded."""
        domain = self._domain()
        if domain == KERNEL:
            return True
        private = _TABLE.base <= address < _TABLE.end or _REGISTERS.base + KERNEL_PAGE <= address < _REGISTERS.end
        if not private and self._rights(domain, address >> PAGE_BITS) & _NEEDS[kind]:
            return True
        self._refuse(address, kind)
        return False

    def allows_area(self, address, length, kind):
        """As ``allows`` for an area of DMA."""
        domain = self._domain()
        for page in (
            range(address >> PAGE_BITS, (address + length - 1 >> PAGE_BITS) + 1) if length and domain != KERNEL else ()
        ):
            if not self._rights(domain, page) & _NEEDS[kind]:
                self._refuse(max(address, page << PAGE_BITS), kind)
                return False
        return True

    def permits(self, address, length, kind):
        """Whether all of an area may be read or written; nothing is recorded."""
        domain = self._domain()
        return all(
            self._rights(domain, page) & _NEEDS[kind]
            for page in range(address >> PAGE_BITS, (address + length - 1 >> PAGE_BITS) + 1)
        )

    def _domain(self):
        return DOMAINS - 1 if self.vme else KERNEL if self.kernel else self._current

    def _rights(self, domain, page):
        return self._table.get(domain << _PAGE_NUMBERS | page, 0) if self._on >> domain & 1 else 0

    def _refuse(self, address, kind):
        if self._trap is None:
            self._trap = address, kind, self._domain(), self.vme
        else:
            self._lost = min(self._lost + 1, 255)
        self.trapped()

    def load(self, address):
        """The word of the table at ``address``."""
        offset = address - _TABLE.base
        return int.from_bytes(bytes(self._table.get(offset + n, 0) for n in range(4)), "big")

    def store(self, address, value, select):
        """Writes bytes of that word."""
        offset = address - _TABLE.base
        for n in range(4):
            if select & 8 >> n:
                self._table[offset + n] = value >> 8 * (3 - n) & 7

    # -- registers -----------------------------------------------------------------------------------
    def read_domain(self):
        return REG["DOMAIN"].current.put(self._current) | REG["DOMAIN"].vme.put(DOMAINS - 1)

    def write_domain(self, value):
        self._current = REG["DOMAIN"].current.get(value)

    def read_domains_on(self):
        return self._on

    def write_domains_on(self, value):
        self._on = value & ~(1 << KERNEL)

    def read_trap_address(self):
        return self._trap[0] if self._trap else 0

    def read_trap_info(self):
        if self._trap is None:
            return 0
        info = REG["TRAP_INFO"]
        return (
            info.valid.mask
            | info.kind.put(int(self._trap[1]))
            | info.domain.put(self._trap[2])
            | info.vme.put(self._trap[3])
            | info.lost.put(self._lost)
        )

    def write_trap_info(self, value):
        self._trap, self._lost = None, 0
