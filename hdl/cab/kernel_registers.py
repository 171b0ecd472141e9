"""Registers of the kernel: the last page of the register region.

Plain Python that imports nothing of the hardware. Source: docs/cab.md, which is ours; "The Design of Nectar" (1989),
section 5.2, gives the protection domains.
"""

from .fields import Field, Register
from .regions import ADDRESS_BITS, DOMAIN_BITS

__all__ = ["KERNEL_PAGE", "KERNEL_REGISTERS"]

#: Offset of the registers that only the kernel domain may touch, whatever the protection table says.
KERNEL_PAGE = 0xC00

KERNEL_REGISTERS = (
    Register(
        "DOMAIN",
        0xC00,
        "rw",
        "protection domain of the CPU",
        (
            Field("current", 0, DOMAIN_BITS, "domain of the CPU's accesses from the next one on; 0 is the kernel's"),
            Field("vme", 8, DOMAIN_BITS, "domain of all VME accesses; read only"),
        ),
    ),
    Register(
        "DOMAINS_ON", 0xC04, "rw", "bit d: the table's rights of domain d count; else it may do nothing; bit 0 is 0"
    ),
    Register(
        "TRAP_ADDRESS",
        0xC08,
        "r",
        "the first access that was refused since TRAP_INFO was written",
        (Field("address", 0, ADDRESS_BITS, "its byte address; of a refused area, its first byte that is not allowed"),),
    ),
    Register(
        "TRAP_INFO",
        0xC0C,
        "rw",
        "more of it; any write forgets it",
        (
            Field("kind", 0, 2, "0: read, 1: write, 2: instruction fetch"),
            Field("domain", 8, DOMAIN_BITS, "domain that it was made in"),
            Field("vme", 16, 1, "it came from VME"),
            Field("lost", 20, 8, "refused accesses after it; stops at 255"),
            Field("valid", 31, 1, "there was one"),
        ),
    ),
    Register(
        "RESET",
        0xC10,
        "w",
        "resets",
        (Field("board", 0, 1, "reset all registers but TIMER_NOW; memories keep their content"),),
    ),
)
