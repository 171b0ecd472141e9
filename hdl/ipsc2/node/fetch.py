"""DMA from memory to the router: areas, one behind the other, make messages.

Source: Close, "The iPSC/2 Node Architecture" (1988), section 2.4.4: one channel of the 82258 from node to routing
logic, transfers of any size; Pierce, "The NX/2 Operating System" (1988), section 2.3: it is set up for header and data.
The list of areas is ours: ``docs/ipsc2-node.md``, "DMA".
"""

from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..formats import WORD_BITS
from .serializer import OutWord

__all__ = ["AREAS", "Fetch", "area_layout"]

#: Areas that can wait, the one included that is being sent.
AREAS = 4


def area_layout(memory_bytes):
    """An area of ``words`` words from the word ``address`` on, in a memory of ``memory_bytes``, a power of two.

    ``last``: the message ends with it."""
    bits = ceil_log2(memory_bytes) - 2
    return data.StructLayout({"address": bits, "words": bits + 1, "last": 1})


class Fetch(wiring.Component):
    """Reads areas.

    Parameters
    ----------
    memory_bytes : int
        Size of the memory: a power of two, as Bus checks.

    Members
    -------
    areas : In(stream of area_layout)
        Areas to send, none without words. ``ready`` is 0 while AREAS are there.
    count : Out(range(AREAS + 1))
        Areas that are there.
    wants, address : Out(1), Out
        A word of memory is wanted, and its word address; both stay until ``done``.
    done, read_data : In(1), In(32)
        The word is there in this cycle.
    words : Out(stream of OutWord)
        Words for the FIFO.

    Timing
    ------
    ``wants`` is 1 as long as an area is there and ``words`` is ready. A word is at ``words`` in the cycle of ``done``,
    and is taken there: ``words.ready`` must not fall before ``done``.
    """

    def __init__(self, memory_bytes):
        self._area = area = area_layout(memory_bytes)
        super().__init__(
            {
                "areas": In(stream.Signature(area)),
                "count": Out(range(AREAS + 1)),
                "wants": Out(1),
                "address": Out(area["address"].width),
                "done": In(1),
                "read_data": In(2 * WORD_BITS),
                "words": Out(stream.Signature(OutWord)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        width = self._area.size
        m.submodules.list = waiting = fifo.SyncFIFO(width=width, depth=AREAS)
        area = data.View(self._area, waiting.r_data)
        gone = Signal(len(self.address))  # words of the area that have been read
        ends = Signal()
        m.d.comb += [
            waiting.w_data.eq(self.areas.payload.as_value()),
            waiting.w_en.eq(self.areas.valid),
            self.areas.ready.eq(waiting.w_rdy),
            self.count.eq(waiting.level),
            self.address.eq(area.address + gone),
            self.wants.eq(waiting.r_rdy & self.words.ready),
            ends.eq(gone + 1 == area.words),
            self.words.payload.data.eq(self.read_data),
            self.words.payload.last.eq(ends & area.last),
            self.words.valid.eq(self.done),
            waiting.r_en.eq(self.done & ends),
        ]
        with m.If(self.done & ends):
            m.d.sync += gone.eq(0)
        with m.Elif(self.done):
            m.d.sync += gone.eq(gone + 1)
        m.d.comb += Assert(~waiting.r_rdy | (gone < area.words) | (area.words == 0), "within the area")
        return m
