"""Fiber in, last step: puts bytes together into words and writes them to data memory.

Source: "The Design of Nectar" (1989), section 5.2 (DMA controller).
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .addresses import REGIONS
from .memory import LANES, StorePort, check_data_bytes
from .registers import WORD_BITS

__all__ = ["Store"]


class Store(wiring.Component):
    """Writes bytes to consecutive addresses, at most one word in four bytes apart from the ends.

    Parameters
    ----------
    data_bytes : int
        Size of the data memory, as in ``DataMemory``.

    Members
    -------
    begin : In(1)
        The next byte goes to ``address``; what has not been written is forgotten.
    address : In
        Byte number in data memory.
    valid : In(1)
        ``data`` is the next byte. Not in a cycle in which ``begin`` is 1.
    data : In(8)
    flush : In(1)
        Write what is here in the next cycle. Not in a cycle in which ``valid`` is 1.
    memory : Out(StorePort(data_bytes))

    Timing
    ------
    A byte in each cycle. A word is written in the cycle after its last byte came, an incomplete one in the cycle after
    ``flush``.

    Raises
    ------
    TypeError, ValueError
        If the size is not one of those of ``DataMemory``.
    """

    def __init__(self, data_bytes=REGIONS["data"].size):
        check_data_bytes(data_bytes)
        self.words = data_bytes // LANES
        super().__init__({
            "begin": In(1),
            "address": In(exact_log2(data_bytes)),
            "valid": In(1),
            "data": In(8),
            "flush": In(1),
            "memory": Out(StorePort(data_bytes)),
        })

    def elaborate(self, platform):
        """One word, which may be written while the first byte of the next comes."""
        m = Module()
        lane = Signal(range(LANES))
        word_address = Signal(range(self.words))
        word = Signal(WORD_BITS)
        select = Signal(LANES)
        write = Signal()
        m.d.comb += [
            self.memory.valid.eq(write),
            self.memory.address.eq(word_address),
            self.memory.select.eq(select),
            self.memory.data.eq(word),
        ]
        m.d.sync += write.eq(0)
        with m.If(write):
            m.d.sync += [word_address.eq(word_address + 1), select.eq(0)]
        with m.If(self.valid):
            m.d.sync += [
                lane.eq(lane + 1),
                word.word_select(~lane, 8).eq(self.data),    # lane 0 is the most significant
                select.bit_select(~lane, 1).eq(1),
                write.eq(lane == LANES - 1),
            ]
        with m.Elif(self.flush):
            m.d.sync += write.eq(~write & (select != 0))
        with m.If(self.begin):
            m.d.sync += [
                lane.eq(self.address[:exact_log2(LANES)]),
                word_address.eq(self.address[exact_log2(LANES):]),
                select.eq(0),
                write.eq(0),
            ]
        return m
