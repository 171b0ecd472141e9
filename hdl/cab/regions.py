"""The regions of the CAB's address space, and what its pages and protection domains are.

Plain Python that imports nothing of the hardware. Source: "The Design of Nectar" (1989), section 5.2: 24-bit byte
addresses, 128 kbyte of PROM and 512 kbyte of RAM for programs, 1 Mbyte of data memory, 1-kbyte pages, 32 protection
domains. The base addresses are ours.
"""

from dataclasses import dataclass
from enum import IntEnum

__all__ = [
    "ADDRESS_BITS",
    "DOMAINS",
    "DOMAIN_BITS",
    "KERNEL",
    "PAGE_BITS",
    "PAGES",
    "AccessKind",
    "Region",
    "REGIONS",
    "Right",
]

ADDRESS_BITS = 24
#: Bits of a byte address within a page of 1 kbyte.
PAGE_BITS = 10
#: Pages of the address space.
PAGES = 1 << ADDRESS_BITS - PAGE_BITS
#: Protection domains at most. The last one that a board has is VME's own.
DOMAINS = 32
DOMAIN_BITS = 5
#: The kernel's domain: it may do everything.
KERNEL = 0


class Right(IntEnum):
    """Bits of a byte of the protection table: what a domain may do with a page."""

    READ = 1
    WRITE = 2
    EXECUTE = 4


class AccessKind(IntEnum):
    """Kinds of access, as TRAP_INFO tells them: which right it needs."""

    READ = 0
    WRITE = 1
    EXECUTE = 2


@dataclass(frozen=True)
class Region:
    """A part of the address space: first byte address, size in bytes, whether this board has it."""

    name: str
    base: int
    size: int
    present: bool
    purpose: str

    @property
    def end(self):
        """First byte address behind the region."""
        return self.base + self.size


REGIONS = {
    r.name: r
    for r in (
        Region("prom", 0x000000, 128 << 10, True, "program PROM, read only"),
        Region("program", 0x080000, 512 << 10, True, "program RAM: no DMA"),
        Region("data", 0x100000, 1 << 20, True, "data memory: CPU, fiber in and out, VME"),
        Region("registers", 0x200000, 4 << 10, True, "control registers"),
        Region(
            "protection", 0x300000, 512 << 10, True, "rights of a page in a domain: the byte at domain * 16384 + page"
        ),
        Region("vme", 0x800000, 8 << 20, False, "window on the node's VME bus"),
    )
}
