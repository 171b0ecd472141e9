"""Accesses inside the CAB: what one who wants something of the address map asks, and what it is told.

Source: "The Design of Nectar" (1989), section 5.2: everything that the CAB's CPU can reach is visible over VME. The
ports are ours (docs/cab.md).
"""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .addresses import ADDRESS_BITS
from .registers import WORD_BITS

__all__ = ["Access", "AccessPort", "WINDOW_BITS", "WindowPort"]

_LANES = WORD_BITS // 8
#: Bits of a byte address in the VME window.
WINDOW_BITS = 23


class Access(data.Struct):
    """What is wanted: ``select`` bit 3 is the byte at the word's own address; ``execute``: an instruction is
    fetched."""

    address: ADDRESS_BITS
    write: 1
    execute: 1
    select: _LANES
    write_data: WORD_BITS


class AccessPort(wiring.Signature):
    """Accesses of VME, or of another host, to the whole address map; seen from the one who wants them.

    Members
    -------
    valid : Out(1)
    ready : In(1)
        The access is taken in a cycle in which both are 1. ``valid`` must not fall, and the rest must not change,
        before that; ``valid`` must not wait for ``ready``.
    address, write, execute, select, write_data : Out
        As in ``Access``. The two low bits of ``address`` are ignored.
    lock : Out(1)
        From the cycle in which an access is taken with this 1 on, until the cycle in which it is 0, no access of the
        CPU begins (read-modify-write). The holder must let go in bounded time.
    done : In(1)
        One cycle for each access, in order; 3 cycles after it was taken if nobody else wants the memory.
    read_data : In(32), error : In(1)
        With ``done``. ``read_data`` is 0 for a write or an error. An access that ends in an error has had no effect.

    The accesses are made in VME's own protection domain, the last one that the board has.
    """

    def __init__(self):
        super().__init__(
            {
                "valid": Out(1),
                "ready": In(1),
                "address": Out(ADDRESS_BITS),
                "write": Out(1),
                "execute": Out(1),
                "select": Out(_LANES),
                "write_data": Out(WORD_BITS),
                "lock": Out(1),
                "done": In(1),
                "read_data": In(WORD_BITS),
                "error": In(1),
            }
        )


class WindowPort(wiring.Signature):
    """Accesses of the CPU to the VME window, which may take long; seen from the bus that asks.

    Members
    -------
    valid : Out(1)
        An access waits; it and all the rest stay until the cycle in which ``done`` is 1, that one included.
    address : Out(23)
        Byte address in the window, a word's.
    write, select, write_data : Out
        As in ``Access``.
    done : In(1)
        It is done in this cycle; at the earliest in the first one of ``valid``.
    read_data : In(32), error : In(1)
        With ``done``.
    """

    def __init__(self):
        super().__init__(
            {
                "valid": Out(1),
                "address": Out(WINDOW_BITS),
                "write": Out(1),
                "select": Out(_LANES),
                "write_data": Out(WORD_BITS),
                "done": In(1),
                "read_data": In(WORD_BITS),
                "error": In(1),
            }
        )
