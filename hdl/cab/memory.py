"""The CAB's data memory, shared by its users in time slots.

Source: "The Design of Nectar" (1989), section 5.2 (1 Mbyte; CPU, both directions of the fiber and VME at the same
time).
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .addresses import REGIONS
from .registers import WORD_BITS
from .slots import SLOTS, Slots, User

__all__ = [
    "LEAST_DATA_BYTES",
    "LANES",
    "DataMemory",
    "FetchPort",
    "SlotPort",
    "StorePort",
    "area_inside",
    "check_data_bytes",
]

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
        super().__init__(
            {
                "valid": Out(1),
                "ready": In(1),
                "address": Out(exact_log2(data_bytes // LANES)),
                "select": Out(LANES),
                "data": Out(WORD_BITS),
            }
        )


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
        super().__init__(
            {
                "valid": Out(1),
                "ready": In(1),
                "address": Out(exact_log2(data_bytes // LANES)),
                "write": Out(1),
                "select": Out(LANES),
                "data": Out(WORD_BITS),
            }
        )


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
    cpu_may : In(1)
        What the CPU did in the cycle before may be done: else, if it was a write, it is not.
    writes : Out(1)
        A word is being written.
    slept : In(2)
        As in ``Slots``.
    read_data : Out(32)
        The word that was read in the cycle before; meaningless if none was.

    Timing
    ------
    One access in each cycle, of each user within 4 cycles. A word is written in the cycle after the access, and can be
    read from that cycle on.

    Raises
    ------
    TypeError, ValueError
        If the size is not one of those.
    """

    def __init__(self, data_bytes=REGIONS["data"].size):
        check_data_bytes(data_bytes)
        self.words = data_bytes // LANES
        super().__init__(
            {
                "fiber_in": In(StorePort(data_bytes)),
                "fiber_out": In(FetchPort(data_bytes)),
                "vme": In(SlotPort(data_bytes)),
                "cpu": In(SlotPort(data_bytes)),
                "cpu_may": In(1),
                "writes": Out(1),
                "slept": In(range(SLOTS)),
                "read_data": Out(WORD_BITS),
            }
        )

    def elaborate(self, platform):
        """Whose turn it is; then what is read, and a cycle later what is written: what is read in that cycle is
        taken from there."""
        m = Module()
        # What a block RAM reads of a word that is being written is not used. If synthesis did not know that, the
        # memory would take 167 flip-flops instead of 85.
        m.submodules.memory = data = memory.Memory(shape=WORD_BITS, depth=self.words, init=[], attrs={"no_rw_check": 1})
        write = data.write_port(granularity=8)
        read = data.read_port()

        users = {User.FIBER_IN: self.fiber_in, User.FIBER_OUT: self.fiber_out, User.VME: self.vme, User.CPU: self.cpu}
        m.submodules.slots = slots = Slots()
        m.d.comb += slots.slept.eq(self.slept)
        for user, port in users.items():
            m.d.comb += [slots.wants[user.value].eq(port.valid), port.ready.eq(slots.given[user.value])]

        address = Signal(range(self.words))
        word = Signal(WORD_BITS)
        select = Signal(LANES)
        m.d.comb += read.en.eq(0)
        with m.If(self.fiber_in.ready):
            m.d.comb += [
                address.eq(self.fiber_in.address),
                select.eq(self.fiber_in.select),
                word.eq(self.fiber_in.data),
            ]
        with m.Elif(self.fiber_out.ready):
            m.d.comb += [address.eq(self.fiber_out.address), read.en.eq(1)]
        with m.Elif(self.vme.ready):
            m.d.comb += [
                address.eq(self.vme.address),
                word.eq(self.vme.data),
                select.eq(Mux(self.vme.write, self.vme.select, 0)),
                read.en.eq(~self.vme.write),
            ]
        with m.Else():
            m.d.comb += [
                address.eq(self.cpu.address),
                word.eq(self.cpu.data),
                select.eq(Mux(self.cpu.ready & self.cpu.write, self.cpu.select, 0)),
                read.en.eq(self.cpu.ready & ~self.cpu.write),
            ]
        selected = Signal(LANES)
        of_cpu = Signal()
        m.d.sync += [write.addr.eq(address), write.data.eq(word), selected.eq(select), of_cpu.eq(self.cpu.ready)]
        m.d.comb += [
            read.addr.eq(address),
            write.en.eq(Mux(of_cpu & ~self.cpu_may, 0, selected)),
            self.writes.eq(selected.any()),
            Assert(~(read.en & select.any()), "one access in a cycle"),
        ]

        # Whose turn it is is known late: the addresses are compared beside that.
        found = Signal()
        old = Signal(WORD_BITS)  # bits of the memory that count
        new = Signal(WORD_BITS)  # what stands in place of the others
        written = Cat(write.en[lane].replicate(8) for lane in range(LANES))
        m.d.comb += [
            found.eq(
                Cat(port.ready & (port.address == write.addr) for port in (self.fiber_out, self.vme, self.cpu)).any()
            ),
            self.read_data.eq((read.data & old) | new),
        ]
        m.d.sync += [old.eq(Mux(found, ~written, ~0)), new.eq(Mux(found, write.data & written, 0))]
        return m
