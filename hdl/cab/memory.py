"""The CAB's data memory, shared by its users in time slots.

Source: "The Design of Nectar" (1989), section 5.2 (1 Mbyte; CPU, both directions of the fiber and VME at the same
time).
"""

from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .addresses import REGIONS
from .registers import WORD_BITS
from .slots import SLOTS, Slots, User

__all__ = ["LEAST_DATA_BYTES", "LANES", "DataMemory", "FetchPort", "SlotPort", "StorePort",
           "area_inside", "check_data_bytes"]

#: Smallest data memory.
LEAST_DATA_BYTES = 4 << 10
#: Bytes of a word; lane 0 is the byte at the word's own address, bits 31 to 24.
LANES = WORD_BITS // 8


def check_data_bytes(data_bytes):
    """Raises TypeError or ValueError unless a data memory may have that size."""
    if not isinstance(data_bytes, int):
        raise TypeError(f"data_bytes must be an integer, not {data_bytes!r}")
    most = REGIONS["data"].size
    if not LEAST_DATA_BYTES <= data_bytes <= most or data_bytes & data_bytes - 1:
        raise ValueError(f"data_bytes must be a power of two from {LEAST_DATA_BYTES} to {most}, not {data_bytes}")


def area_inside(address, length, data_bytes):
    """Value: whether ``length`` bytes from the byte address ``address`` on lie in data memory; none lie anywhere."""
    base = REGIONS["data"].base
    bits = exact_log2(data_bytes)
    return (length == 0) | ((address[bits:] == base >> bits) & (address[:bits] + length <= data_bytes))


class StorePort(wiring.Signature):
    """Writes of fiber in, seen from there: a word is written in a cycle in which ``valid`` and ``ready`` are 1.

    Bit 3 of ``select`` is lane 0, the byte at the word's own address. ``address`` counts words.
    """

    def __init__(self, data_bytes):
        super().__init__({
            "valid": Out(1), "ready": In(1), "address": Out(exact_log2(data_bytes // LANES)), "select": Out(LANES),
            "data": Out(WORD_BITS)})


class FetchPort(wiring.Signature):
    """Reads of fiber out, seen from there: done in a cycle in which ``valid`` and ``ready`` are 1."""

    def __init__(self, data_bytes):
        super().__init__({"valid": Out(1), "ready": In(1), "address": Out(exact_log2(data_bytes // LANES))})


class SlotPort(wiring.Signature):
    """Accesses to data memory that wait for their slot, of the CPU and of the VME DMA channel; seen from there.

    An access is done in a cycle in which ``valid`` and ``ready`` are 1; what was read comes in the cycle after, as the
    memory's ``read_data``. ``address`` counts words; bit 3 of ``select`` is the byte at the word's own address.
    ``valid`` may be withdrawn.
    """

    def __init__(self, data_bytes):
        super().__init__({
            "valid": Out(1), "ready": In(1), "address": Out(exact_log2(data_bytes // LANES)), "write": Out(1),
            "select": Out(LANES), "data": Out(WORD_BITS)})


class DataMemory(wiring.Component):
    """A memory of words with one access in each cycle, of the user whom ``Slots`` gives it.

    Parameters
    ----------
    data_bytes : int
        Its size: a power of two from 4 kbyte to 1 Mbyte.

    Members
    -------
    fiber_in : In(StorePort(data_bytes))
    fiber_out : In(FetchPort(data_bytes))
    vme : In(SlotPort(data_bytes))
    cpu : In(SlotPort(data_bytes))
    slept : In(2)
        As in ``Slots``.
    read_data : Out(32)
        The word that was read in the cycle before; meaningless if none was.

    Timing
    ------
    One access in each cycle, of each user within 4 cycles. A word that was written can be read from the next cycle on.

    Raises
    ------
    TypeError, ValueError
        If the size is not one of those.
    """

    def __init__(self, data_bytes=REGIONS["data"].size):
        check_data_bytes(data_bytes)
        self.words = data_bytes // LANES
        super().__init__({
            "fiber_in": In(StorePort(data_bytes)),
            "fiber_out": In(FetchPort(data_bytes)),
            "vme": In(SlotPort(data_bytes)),
            "cpu": In(SlotPort(data_bytes)),
            "slept": In(range(SLOTS)),
            "read_data": Out(WORD_BITS),
        })

    def elaborate(self, platform):
        """Whose turn it is, then one memory port."""
        m = Module()
        m.submodules.memory = data = memory.Memory(shape=WORD_BITS, depth=self.words, init=[])
        write = data.write_port(granularity=8)
        read = data.read_port()

        users = {User.FIBER_IN: self.fiber_in, User.FIBER_OUT: self.fiber_out, User.VME: self.vme, User.CPU: self.cpu}
        m.submodules.slots = slots = Slots()
        m.d.comb += [slots.slept.eq(self.slept), self.read_data.eq(read.data)]
        for user, port in users.items():
            m.d.comb += [slots.wants[user.value].eq(port.valid), port.ready.eq(slots.given[user.value])]

        address, word = Signal(range(self.words)), Signal(WORD_BITS)
        m.d.comb += read.en.eq(0)
        with m.If(self.fiber_in.ready):
            m.d.comb += [address.eq(self.fiber_in.address), write.en.eq(self.fiber_in.select), word.eq(self.fiber_in.data)]
        with m.Elif(self.fiber_out.ready):
            m.d.comb += [address.eq(self.fiber_out.address), read.en.eq(1)]
        for port in (self.vme, self.cpu):
            with m.Elif(port.ready):
                m.d.comb += [
                    address.eq(port.address),
                    word.eq(port.data),
                    write.en.eq(Mux(port.write, port.select, 0)),
                    read.en.eq(~port.write),
                ]
        m.d.comb += [
            read.addr.eq(address),
            write.addr.eq(address),
            write.data.eq(word),
            Assert(~(read.en & write.en.any()), "one access in a cycle"),
        ]
        return m
