"""Fiber in, last step: puts bytes together into words and writes them to data memory, area by area.

Source: "The Design of Nectar" (1989), section 5.2 (DMA controller).
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, C, Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .addresses import LENGTH_BITS, REGIONS
from .memory import LANES, StorePort, check_data_bytes
from .registers import WORD_BITS
from .scatter import scatter_area

__all__ = ["RxWriter"]

_LANE_BITS = exact_log2(LANES)


class RxWriter(wiring.Component):
    """Writes bytes to consecutive addresses of areas, at most one word in four bytes apart from the ends of areas.

    Parameters
    ----------
    data_bytes : int
        Size of the data memory, as in ``DataMemory``.

    Members
    -------
    areas : In(stream.Signature(scatter_area(data_bytes)))
        Where the bytes go; an area is taken when the one before is full.
    valid : In(1), ready : Out(1)
        ``data`` is the next byte, taken in a cycle in which both are 1.
    data : In(8)
    exhausted : Out(1)
        There is room in no area: no byte will be taken before another area comes.
    flush : In(1)
        Write what is here, full word or not. From then on until ``empty``, no byte may be given.
    empty : Out(1)
        All bytes taken are in memory.
    forget : In(1)
        Give up the area at work, and what has not been written.
    moves : Out(1)
        Something changes in this cycle, or waits for the memory; but not where all that happens is that a byte is taken
        which completes no word.
    memory : Out(StorePort(data_bytes))

    Timing
    ------
    A byte in each cycle while the memory has a cycle for a word within four cycles; an area costs one cycle more, one
    that ends within a word may cost a wait for the word before. A word is offered to the memory in the cycle after its
    last byte came.

    Raises
    ------
    TypeError, ValueError
        If the size is not one of those of ``DataMemory``.
    """

    def __init__(self, data_bytes=REGIONS["data"].size):
        check_data_bytes(data_bytes)
        self.data_bytes = data_bytes
        super().__init__(
            {
                "areas": In(stream.Signature(scatter_area(data_bytes))),
                "valid": In(1),
                "ready": Out(1),
                "data": In(8),
                "exhausted": Out(1),
                "flush": In(1),
                "empty": Out(1),
                "forget": In(1),
                "moves": Out(1),
                "memory": Out(StorePort(data_bytes)),
            }
        )

    def elaborate(self, platform):
        """The area at work; the word that is being put together; the word that waits for the memory."""
        m = Module()
        address = Signal(exact_log2(self.data_bytes))
        remaining = Signal(min(LENGTH_BITS, len(address) + 1))  # of an area, which lies in data memory
        some = Signal()  # bytes remain
        last = Signal()  # one byte remains
        whole = Signal(WORD_BITS)
        word = Signal(WORD_BITS - 8, reset_less=True)  # without the last lane, whose byte is never waited for
        select = Signal(LANES)
        selected = Signal(LANES)
        lane = address[:_LANE_BITS]
        takes, completes, moves_on, free = (Signal(name=name) for name in ("takes", "completes", "moves_on", "free"))

        m.d.comb += [
            self.areas.ready.eq(~some),
            self.exhausted.eq(~some & ~self.areas.valid),
            free.eq(~self.memory.valid | self.memory.ready),
            completes.eq((lane == LANES - 1) | last),
            self.ready.eq(some & (free | ~completes)),
            takes.eq(self.valid & self.ready),
            # Lane 0 is the most significant.
            whole.eq(Cat(self.data, word)),
            selected.eq(select),
        ]
        with m.If(self.areas.ready & self.areas.valid):
            length = self.areas.payload.length
            m.d.sync += [
                address.eq(self.areas.payload.address),
                remaining.eq(length),
                some.eq(length != 0),
                last.eq(length == 1),
            ]
        with m.If(takes):
            m.d.comb += [whole.word_select(~lane, 8).eq(self.data), selected.bit_select(~lane, 1).eq(1)]
            m.d.sync += [
                address.eq(address + 1),
                remaining.eq(remaining - 1),
                some.eq(~last),
                last.eq(remaining == 2),
                word.eq(whole[8:]),
                select.eq(selected),
            ]

        m.d.comb += moves_on.eq((takes & completes) | (self.flush & (select != 0) & free))
        with m.If(self.memory.ready):
            m.d.sync += self.memory.valid.eq(0)
        with m.If(moves_on):
            m.d.sync += [
                select.eq(0),
                self.memory.valid.eq(1),
                self.memory.address.eq(address[_LANE_BITS:]),
                self.memory.select.eq(selected),
                self.memory.data.eq(whole),
            ]
            # The address of a word that is flushed is that of the byte before.
            with m.If(~takes):
                m.d.sync += self.memory.address.eq((address - 1)[_LANE_BITS:])
        with m.If(self.forget):
            m.d.sync += [remaining.eq(0), some.eq(0), last.eq(0), select.eq(0)]
        m.d.comb += [
            self.empty.eq((select == 0) & ~self.memory.valid),
            # What cannot move on waits for the memory.
            self.moves.eq(
                self.memory.valid
                | (self.areas.ready & self.areas.valid)
                | (self.valid & some & completes)
                | (self.flush & (select != 0))
            ),
            Assert(~moves_on | self.moves),
            Assert((some == (remaining != 0)) & (last == (remaining == 1)), "what remains is known a cycle before"),
            Assert(~(self.flush & self.valid), "no byte comes while the last ones are written"),
        ]
        if platform == "formal":
            self.probes = SimpleNamespace(address=address, remaining=remaining, word=Cat(C(0, 8), word), select=select)
        return m
