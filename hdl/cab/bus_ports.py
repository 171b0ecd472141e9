"""What the CAB's bus is connected to: the CPU, program memory, registers and the protection.

Source: docs/cab.md, which is ours and specifies the pins of the CPU bus. What connects it to data memory, VME and the
window is in memory.py and access.py.
"""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .addresses import ADDRESS_BITS, REGIONS
from .memory import LANES
from .protection import Trap
from .regions import DOMAIN_BITS, PAGE_BITS, Right
from .registers import WORD_BITS, Area

__all__ = ["CpuPort", "ProgramPort", "ProtectionPort", "RegistersPort", "TABLE_PAGE_BITS"]

#: Bits of a page's number.
TABLE_PAGE_BITS = ADDRESS_BITS - PAGE_BITS


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


class ProgramPort(wiring.Signature):
    """An access to program memory, seen from the bus.

    Members
    -------
    valid : Out(1), rom : Out(1), address : Out, write : Out(1), select : Out(4), data : Out(32)
        The access of this cycle: to the PROM or to the RAM, and to which word.
    """

    def __init__(self):
        super().__init__(
            {
                "valid": Out(1),
                "rom": Out(1),
                "address": Out(exact_log2(REGIONS["program"].size // LANES)),
                "write": Out(1),
                "select": Out(LANES),
                "data": Out(WORD_BITS),
            }
        )


class RegistersPort(wiring.Signature):
    """An access to the registers, seen from the bus.

    Members
    -------
    valid : Out(1), offset : Out, write : Out(1), select : Out(4), write_data : Out(32)
        An access to the word ``offset`` that takes effect in the next cycle if it may.
    read_data : In(32), error : In(1)
        What came of it, in that cycle.
    area : In(Area)
        What a write of what was asked, ``valid`` or not, would let DMA do; in that cycle.
    """

    def __init__(self):
        super().__init__(
            {
                "valid": Out(1),
                "offset": Out(exact_log2(REGIONS["registers"].size // LANES)),
                "write": Out(1),
                "select": Out(LANES),
                "write_data": Out(WORD_BITS),
                "read_data": In(WORD_BITS),
                "error": In(1),
                "area": In(Area),
            }
        )


class ProtectionPort(wiring.Signature):
    """The protection, seen from the bus: all as in ``Protection``, and ``vme_domain``, the domain of VME's accesses, a
    constant."""

    def __init__(self):
        super().__init__(
            {
                "look": Out(1),
                "page": Out(TABLE_PAGE_BITS),
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
