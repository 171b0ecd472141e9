"""Numbers of the VMEbus: address modifiers, times, levels.

Plain Python that imports nothing of the hardware. Source: ANSI/IEEE 1014 (VMEbus), chapters 2 (data transfer bus),
3 (arbitration) and 4 (interrupts). docs/vme.md names each rule.
"""

from enum import IntEnum

__all__ = [
    "BLOCK_BYTES",
    "GRANT_NS",
    "LEVELS",
    "MOST_PERIOD_PS",
    "LEAST_PERIOD_PS",
    "NODE_MEMORY",
    "NODE_MEMORY_BYTES",
    "NODE_PAGES",
    "NODE_PAGE_BYTES",
    "PERIOD_PS",
    "TIMEOUT_NS",
    "Modifier",
    "Ns",
    "cycles",
    "check_period",
]

#: Bytes that a block transfer may not cross a multiple of.
BLOCK_BYTES = 256
#: Longest wait for DTACK* or BERR*: longer than a bus timer's, so that it speaks first.
TIMEOUT_NS = 100_000
#: Longest wait for the bus.
GRANT_NS = 1_000_000
#: Interrupt levels: 1 to this.
LEVELS = 7
#: The node's memory (docs/nodes.md): where it is in A32, its bytes, those of a page that the node opens to the bus, and
#: where the node's CPU opens pages, a word each.
NODE_MEMORY = 0x0100_0000
NODE_MEMORY_BYTES = 1 << 20
NODE_PAGE_BYTES = 1 << 13
NODE_PAGES = 0x0200_0000
#: Clock of the prototype's CAB: 16 MHz.
PERIOD_PS = 62_500
#: Clocks that the interface may have. With a shorter one a line held for a cycle is not held long enough, with a longer
#: one AS* could fall twice within a cycle.
LEAST_PERIOD_PS, MOST_PERIOD_PS = 10_000, 75_000


class Modifier(IntEnum):
    """Address modifiers that the CAB answers to, and that its master gives."""

    A32_USER_DATA = 0x09
    A32_USER_PROGRAM = 0x0A
    A32_USER_BLOCK = 0x0B
    A32_SUPER_DATA = 0x0D
    A32_SUPER_PROGRAM = 0x0E
    A32_SUPER_BLOCK = 0x0F
    A24_USER_DATA = 0x39
    A24_USER_PROGRAM = 0x3A
    A24_USER_BLOCK = 0x3B
    A24_SUPER_DATA = 0x3D
    A24_SUPER_PROGRAM = 0x3E
    A24_SUPER_BLOCK = 0x3F


class Ns(IntEnum):
    """Times in ns. A slave sees up to 25 ns less than the master gave, because of the backplane's skew."""

    SKEW = 25  # between two lines, from one board to another
    ADDRESS_SETUP = 35  # address, AM, LWORD*, IACK* before AS* falls, at the master
    DATA_SETUP = 35  # WRITE* and data before the first data strobe falls, at the master
    STROBE_HIGH = 40  # AS* high between cycles, both data strobes high between transfers, at the master
    STROBE_LOW = 40  # AS* low, at the master
    DS_SKEW = 10  # between the two data strobes falling, at the master
    DS_SKEW_SLAVE = 20  # the same, at the slave
    WRITE_HOLD = 10  # WRITE* after both data strobes are high, at the master
    ANSWER = 30  # DTACK* or BERR* no earlier after the first data strobe fell, at the slave
    BUSY = 90  # BBSY* low
    GRANT_RELEASE = 30  # BBSY* stays low this long after BR* was let go
    IACKOUT_RELEASE = 30  # IACKOUT* high no later after AS* rose


def check_period(period_ps):
    """Raises TypeError or ValueError unless the clock of the VME interface may have that period."""
    if not isinstance(period_ps, int):
        raise TypeError(f"period_ps must be an integer, not {period_ps!r}")
    if not LEAST_PERIOD_PS <= period_ps <= MOST_PERIOD_PS:
        raise ValueError(f"period_ps must be from {LEAST_PERIOD_PS} to {MOST_PERIOD_PS}, not {period_ps}")


def cycles(ns, period_ps):
    """Cycles of a clock that last at least ``ns``."""
    return -(-int(ns) * 1000 // period_ps)
