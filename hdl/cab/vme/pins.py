"""The pins of the VME interface, and the switches that say where the board is on the bus.

Source: ANSI/IEEE 1014, chapters 2 to 4 (the lines); docs/vme.md (how they are told apart for an FPGA).
"""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .numbers import LEVELS

__all__ = ["ADDRESS_LINES", "Select", "VmePins"]

#: Address lines A31 to A01.
ADDRESS_LINES = 31


class VmePins(wiring.Signature):
    """Lines of the bus as pins of the board; seen from the board.

    A name ends in ``_n`` if it is the level of a line that is asserted when low. ``*_pull``: 1 pulls an open-collector
    line low. ``*_out`` is the level given to a three-state line while its ``*_drive`` is 1.

    Members
    -------
    as_n, ds_n (2: DS1*, DS0*), write_n, lword_n, iack_n, address (A31 to A01), am, data : In
    dtack_n, berr_n, bbsy_n, bclr_n, br_n (4), bgin_n (4), iackin_n, sysreset_n : In
    dtack_pull, berr_pull, bbsy_pull, br_pull (4), irq_pull (7: IRQ7* to IRQ1*) : Out
    bgout_n (4), iackout_n : Out
        Daisy chains, always driven.
    address_out, am_out, lword_n_out, iack_n_out, address_drive : Out
    as_n_out, as_drive : Out
    ds_n_out (2), write_n_out, ds_drive : Out
    data_out, data_drive (2: D31 to D16, D15 to D00) : Out
    """

    def __init__(self):
        super().__init__(
            {
                "as_n": In(1, init=1),
                "ds_n": In(2, init=3),
                "write_n": In(1, init=1),
                "lword_n": In(1, init=1),
                "iack_n": In(1, init=1),
                "address": In(ADDRESS_LINES),
                "am": In(6),
                "data": In(32),
                "dtack_n": In(1, init=1),
                "berr_n": In(1, init=1),
                "bbsy_n": In(1, init=1),
                "bclr_n": In(1, init=1),
                "br_n": In(4, init=15),
                "bgin_n": In(4, init=15),
                "iackin_n": In(1, init=1),
                "sysreset_n": In(1, init=1),
                "dtack_pull": Out(1),
                "berr_pull": Out(1),
                "bbsy_pull": Out(1),
                "br_pull": Out(4),
                "irq_pull": Out(LEVELS),
                "bgout_n": Out(4, init=15),
                "iackout_n": Out(1, init=1),
                "address_out": Out(ADDRESS_LINES),
                "am_out": Out(6),
                "lword_n_out": Out(1, init=1),
                "iack_n_out": Out(1, init=1),
                "address_drive": Out(1),
                "as_n_out": Out(1, init=1),
                "as_drive": Out(1),
                "ds_n_out": Out(2, init=3),
                "write_n_out": Out(1, init=1),
                "ds_drive": Out(1),
                "data_out": Out(32),
                "data_drive": Out(2),
            }
        )


class Select(wiring.Signature):
    """Where the board is in the address space of the bus; seen from the board. Switches: they stay.

    Members
    -------
    a24 : In(1), a24_half : In(1)
        It answers in A24, where A23 is ``a24_half``: to the first 8 Mbyte of its map.
    a32 : In(1), a32_base : In(8)
        It answers in A32, where A31 to A24 are ``a32_base``: to its whole map.
    """

    def __init__(self):
        super().__init__({"a24": In(1), "a24_half": In(1), "a32": In(1), "a32_base": In(8)})
