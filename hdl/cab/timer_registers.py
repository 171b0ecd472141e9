"""Registers of the timers: the second page of the register region.

Plain Python that imports nothing of the hardware. Source: docs/cab.md, which is ours. TIMER_NOW, TIMER_COMPARE and
TIMER_STOP are in the first page: see ``addresses``.
"""

from .fields import Field, Register

__all__ = ["TIMERS", "TIMER_BANK", "TIMER_PAGE_REGISTERS", "timer_fields"]

#: Timers.
TIMERS = 8
#: The bank of registers with their times: of timer n the compare value is word 2n, the period word 2n + 1.
TIMER_BANK = "timer_times"


def timer_fields():
    """The fields of a register with a bit for each timer."""
    return (Field("timers", 0, TIMERS, "one bit for each timer"),)


TIMER_PAGE_REGISTERS = (
    *(
        Register(
            f"TIMER{n}_COMPARE",
            0x400 + 8 * n,
            "rw",
            f"arms timer {n}, as TIMER_COMPARE does timer 0; it fires up to 7 cycles later",
            bank=(TIMER_BANK, 2 * n),
        )
        for n in range(1, TIMERS)
    ),
    *(
        Register(
            f"TIMER{n}_PERIOD",
            0x404 + 8 * n,
            "rw",
            f"cycles from a firing of timer {n} to its next; 0: it fires once",
            bank=(TIMER_BANK, 2 * n + 1),
        )
        for n in range(TIMERS)
    ),
    Register("TIMER_FIRED", 0x440, "rw", "timers that have fired; 1 clears", timer_fields()),
    Register("TIMER_ARMED", 0x444, "r", "timers that are armed", timer_fields()),
)
