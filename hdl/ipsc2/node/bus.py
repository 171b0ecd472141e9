"""The bus of the node: the CPU and two channels of DMA have the memory in turns.

Source: Close, "The iPSC/2 Node Architecture" (1988), sections 2.3.2 (two wait states of the DRAM), 2.4.1 (DMA steals
cycles from the CPU, 10.7 Mbyte/s) and 2.4.4 (both channels share a bus, interleaved). The turns are ours:
``docs/ipsc2-node.md``, "Bus".
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..formats import WORD_BITS
from .registers import ADDRESS_BITS, BASE, CPU_CYCLES, DMA_CYCLES

__all__ = ["CPU", "IN", "OUT", "Bus", "CpuPort"]

#: Users of the bus: bits of ``owner``.
CPU, IN, OUT = range(3)
_LANES = 4
_WIDTH = 2 * WORD_BITS
_REGISTER_BITS = 10


class CpuPort(wiring.Signature):
    """Pins of the CPU bus, seen from the board; docs/ipsc2-node.md, "Bus"."""

    def __init__(self):
        super().__init__(
            {
                "valid": In(1),
                "ready": Out(1),
                "address": In(ADDRESS_BITS),
                "write": In(1),
                "select": In(_LANES),
                "write_data": In(_WIDTH),
                "done": Out(1),
                "read_data": Out(_WIDTH),
                "error": Out(1),
            }
        )


class Bus(wiring.Component):
    """Memory, and who has it.

    Parameters
    ----------
    memory_bytes : int
        Size of the memory: a power of two, 4 kbyte to 8 Mbyte.

    Members
    -------
    cpu : Out(CpuPort())
        The CPU.
    in_wants, in_address, in_data, in_done : In, In, In, Out
        DMA that writes a word; all but ``in_done`` stay until it is 1.
    out_wants, out_address, out_data, out_done : In, In, Out, Out
        DMA that reads a word.
    register, register_write, register_data : Out
        What the CPU names: number of a register's word, whether it is written, and what is written; from the second
        cycle of its access to the last one.
    register_act : Out(1)
        The cycle in which a register is read or written.
    register_value, register_error : In
        What the register holds, and whether the access is a bus error, in the cycle of ``register_act``.
    quiet : Out(1)
        Nobody has the bus or wants it.

    Timing
    ------
    In a cycle in which nobody has the bus the first of those who want it, in turns, gets it: the CPU for CPU_CYCLES, a
    channel for DMA_CYCLES, that cycle included. The access is done in the last one of these cycles.

    Raises
    ------
    TypeError, ValueError
        If there is no memory of such a size.
    """

    def __init__(self, memory_bytes):
        if not isinstance(memory_bytes, int) or isinstance(memory_bytes, bool):
            raise TypeError(f"the size of the memory is an int, not {memory_bytes!r}")
        if memory_bytes.bit_count() != 1 or not 1 << 12 <= memory_bytes <= 1 << 23:
            raise ValueError(f"the memory has 4 kbyte to 8 Mbyte, a power of two, not {memory_bytes} bytes")
        self.memory_bytes = memory_bytes
        words_bits = ceil_log2(memory_bytes // _LANES)
        super().__init__(
            {
                "cpu": Out(CpuPort()),
                **{f"{name}_wants": In(1) for name in ("in", "out")},
                **{f"{name}_address": In(words_bits) for name in ("in", "out")},
                "in_data": In(_WIDTH),
                "out_data": Out(_WIDTH),
                **{f"{name}_done": Out(1) for name in ("in", "out")},
                "register": Out(_REGISTER_BITS),
                "register_write": Out(1),
                "register_act": Out(1),
                "register_data": Out(_WIDTH),
                "register_value": In(_WIDTH),
                "register_error": In(1),
                "quiet": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = store = memory.Memory(shape=_WIDTH, depth=self.memory_bytes // _LANES, init=[])
        read = store.read_port()
        write = store.write_port(granularity=8)
        owner = Signal(3)
        last = Signal(range(3), init=OUT)  # who had the bus before
        left = Signal(range(DMA_CYCLES))
        begins = Signal()
        picked = Signal(3)
        # The access, which means nothing without an owner.
        word = Signal(max(_REGISTER_BITS, len(read.addr)), reset_less=True)
        in_memory = Signal(reset_less=True)
        in_registers = Signal(reset_less=True)
        writes = Signal(reset_less=True)
        select = Signal(_LANES, reset_less=True)
        data = Signal(_WIDTH, reset_less=True)
        acts = Signal()
        wants = Cat(self.cpu.valid, self.in_wants, self.out_wants)

        for user in range(3):
            ahead = Signal(3, name=f"ahead_of_{user}")
            with m.Switch(last):
                for before in range(3):
                    order = [(before + 1 + n) % 3 for n in range(3)]
                    with m.Case(before):
                        m.d.comb += ahead.eq(sum(1 << other for other in order[: order.index(user)]))
            m.d.comb += picked[user].eq(wants[user] & ~(wants & ahead).any())
        m.d.comb += [
            begins.eq((owner == 0) & wants.any()),
            self.cpu.ready.eq(begins & picked[CPU]),
            self.quiet.eq((owner == 0) & ~wants.any()),
        ]
        with m.If(begins):
            m.d.sync += owner.eq(picked)
            with m.If(picked[CPU]):
                m.d.sync += [
                    left.eq(CPU_CYCLES - 2),
                    last.eq(CPU),
                    word.eq(self.cpu.address[2:]),
                    in_memory.eq(self.cpu.address < self.memory_bytes),
                    in_registers.eq(self.cpu.address >= BASE),
                    writes.eq(self.cpu.write),
                    select.eq(self.cpu.select),
                    data.eq(self.cpu.write_data),
                ]
            with m.Else():
                m.d.sync += [
                    left.eq(DMA_CYCLES - 2),
                    last.eq(Mux(picked[IN], IN, OUT)),
                    word.eq(Mux(picked[IN], self.in_address, self.out_address)),
                    in_memory.eq(1),
                    in_registers.eq(0),
                    writes.eq(picked[IN]),
                    select.eq(-1),
                    data.eq(self.in_data),
                ]
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        with m.Else():
            m.d.sync += owner.eq(0)

        # The memory is read two cycles before the access is done, and written a cycle before.
        value = Signal(_WIDTH, reset_less=True)
        refused = Signal(reset_less=True)
        served = Signal()
        done = Signal()
        m.d.sync += [value.eq(self.register_value), refused.eq(self.register_error)]
        m.d.comb += [
            acts.eq((owner != 0) & (left == 1)),
            done.eq((owner != 0) & (left == 0)),
            read.addr.eq(word),
            read.en.eq(acts),
            write.addr.eq(word),
            write.data.eq(data),
            write.en.eq(Mux(acts & writes & in_memory, select, 0)),
            self.register.eq(word),
            self.register_write.eq(writes),
            self.register_data.eq(data),
            self.register_act.eq(acts & in_registers & select.all()),
            self.out_data.eq(read.data),
            self.in_done.eq(done & owner[IN]),
            self.out_done.eq(done & owner[OUT]),
            self.cpu.done.eq(done & owner[CPU]),
            served.eq(in_memory | in_registers & select.all() & ~refused),
            self.cpu.error.eq(self.cpu.done & ~served),
        ]
        with m.If(self.cpu.done & ~writes & served):
            m.d.comb += self.cpu.read_data.eq(Mux(in_memory, read.data, value))
        if platform == "formal":
            self.probes = SimpleNamespace(owner=owner, left=left)
        m.d.comb += [
            Assert(last <= OUT, "a user had it before"),
            Assert((owner & (owner - 1)) == 0, "one has the bus"),
        ]
        return m
