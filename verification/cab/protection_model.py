"""Reference model of the protection, written from docs/cab.md: who may do what, and what is recorded."""

from nectar.hdl.cab.addresses import REG, REGIONS
from nectar.hdl.cab.kernel_registers import KERNEL_PAGE
from nectar.hdl.cab.regions import KERNEL, PAGES, AccessKind, Right

__all__ = ["ProtectionModel", "Refused"]

_NEEDS = {AccessKind.READ: Right.READ, AccessKind.WRITE: Right.WRITE, AccessKind.EXECUTE: Right.EXECUTE}
_WINDOWS = "prom", "program", "data", "registers"


class Refused(Exception):
    """The protection does not allow the access."""


class ProtectionModel:
    """Table, current domain, trap record.

    Members
    -------
    table : dict of (domain, page) → rights
    on : set of domains whose rights count
    current : domain of the CPU
    """

    def __init__(self, domains, pages):
        self.domains = domains
        self.pages = pages
        self.table = {}
        self.reset()

    def reset(self):
        """All but the table is as at first."""
        self.on = set()
        self.current = KERNEL
        self.trap = None
        self.lost = 0

    def covers(self, domain, page):
        """Whether the table has an entry for that page in that domain."""
        if domain >= self.domains:
            return False
        quarter = self.pages // len(_WINDOWS)
        return self.pages == PAGES or any(0 <= page - (REGIONS[name].base >> 10) < quarter for name in _WINDOWS)

    def rights(self, domain, page):
        """What a domain may do with a page."""
        if domain == KERNEL:
            return 7
        return self.table.get((domain, page), 0) if domain in self.on and self.covers(domain, page) else 0

    def check(self, address, kind, domain, vme=False):
        """Records the access and raises Refused unless the domain may make it."""
        registers = REGIONS["registers"]
        protection = REGIONS["protection"]
        private = protection.base <= address < protection.end or registers.base + KERNEL_PAGE <= address < registers.end
        if domain != KERNEL and (private or not self.rights(domain, address >> 10) & _NEEDS[kind]):
            self.refuse(address, kind, domain, vme)

    def check_area(self, address, length, kind, domain, vme=False):
        """As ``check`` for each byte of an area."""
        for page in range(address >> 10, (address + length - 1 >> 10) + 1) if length else ():
            if not self.rights(domain, page) & _NEEDS[kind]:
                self.refuse(max(address, page << 10), kind, domain, vme)

    def refuse(self, address, kind, domain, vme):
        """An access has been refused."""
        if self.trap is None:
            self.trap = {"address": address, "kind": int(kind), "domain": domain, "vme": int(vme)}
        else:
            self.lost = min(self.lost + 1, 255)
        raise Refused

    def word(self, domain, page):
        """The word of the protection region with that page and the three around it; None if there is none."""
        if not self.covers(domain, page):
            return None
        return int.from_bytes(bytes(self.table.get((domain, page & ~3 | n), 0) for n in range(4)), "big")

    def store(self, domain, page, value, select):
        """Writes bytes of that word."""
        for n, byte in enumerate(value.to_bytes(4, "big")):
            if select >> 3 - n & 1:
                self.table[domain, page & ~3 | n] = byte & 7

    # -- registers -----------------------------------------------------------------------------------
    def _put(self, name, **values):
        return sum(getattr(REG[name], field).put(value) for field, value in values.items())

    def read_domain(self):
        return self._put("DOMAIN", current=self.current, vme=self.domains - 1)

    def write_domain(self, value):
        """Whether that domain exists."""
        wanted = REG["DOMAIN"].current.get(value)
        if wanted >= self.domains:
            return False
        self.current = wanted
        return True

    def read_domains_on(self):
        return sum(1 << domain for domain in self.on)

    def write_domains_on(self, value):
        self.on = {domain for domain in range(1, self.domains) if value >> domain & 1}

    def read_trap_address(self):
        return self.trap["address"] if self.trap else 0

    def read_trap_info(self):
        if not self.trap:
            return 0
        return self._put(
            "TRAP_INFO",
            kind=self.trap["kind"],
            domain=self.trap["domain"],
            vme=self.trap["vme"],
            lost=self.lost,
            valid=1,
        )

    def write_trap_info(self, value):
        self.trap, self.lost = None, 0
