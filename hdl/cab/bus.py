"""The CAB's CPU bus: takes requests, leads them to memory or registers, answers in order.

Source: docs/cab.md, which is ours; "The Design of Nectar" (1989), section 5.2, gives the CPU and its address space.
"""

from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .addresses import ADDRESS_BITS, REGIONS
from .memory import LANES, SlotPort, check_data_bytes
from .registers import WORD_BITS

__all__ = ["CpuBus", "CpuPort", "Request"]


class Request(data.Struct):
    """An access that the CPU wants."""

    address: ADDRESS_BITS
    write: 1
    select: LANES
    write_data: WORD_BITS


class CpuPort(wiring.Signature):
    """The pins of the CPU bus, seen from the board; docs/cab.md specifies them."""

    def __init__(self):
        super().__init__({
            "valid": In(1), "ready": Out(1),
            "address": In(ADDRESS_BITS), "write": In(1), "select": In(LANES), "write_data": In(WORD_BITS),
            "done": Out(1), "read_data": Out(WORD_BITS), "error": Out(1),
        })


class CpuBus(wiring.Component):
    """From the pins to data memory and registers, and back.

    Parameters
    ----------
    data_bytes : int
        Size of the data memory, as in ``DataMemory``.

    Members
    -------
    bus : Out(CpuPort())
        The pins. The inputs are registered before anything else.
    memory : Out(SlotPort(data_bytes))
    memory_data : In(32)
        What was read, in the cycle after.
    registers : Out
        ``valid``, ``offset`` (word), ``write``, ``select``, ``write_data``; ``read_data`` (0 unless a word is
        read) and ``error`` come in the same cycle.
    idle : Out(1)
        No request is under way.

    Timing
    ------
    Request taken in cycle t: in a register in t + 1, in which the access is done; its result is chosen in t + 2 and at
    the pins in t + 3. While the memory is taken by others the access waits, and requests behind it with it, in order;
    at most two are held here, and ``bus.ready`` falls in the cycle after the first. Requests flow in each cycle again
    as soon as the memory does.
    """

    def __init__(self, data_bytes=REGIONS["data"].size):
        check_data_bytes(data_bytes)
        self.data_bytes = data_bytes
        offsets = exact_log2(REGIONS["registers"].size // LANES)
        super().__init__({
            "bus": Out(CpuPort()),
            "memory": Out(SlotPort(data_bytes)),
            "memory_data": In(WORD_BITS),
            "registers": Out(wiring.Signature({
                "valid": Out(1), "offset": Out(offsets), "write": Out(1), "select": Out(LANES),
                "write_data": Out(WORD_BITS), "read_data": In(WORD_BITS), "error": In(1)})),
            "idle": Out(1),
        })

    def elaborate(self, platform):
        """Pins to registers; two places for requests that must wait; access; answer."""
        m = Module()

        # 1. What stood at the pins one cycle ago, and whether it was taken.
        pins = Signal(Request, reset_less=True)
        pins_valid = Signal(reset_less=True)
        was_ready = Signal()
        ready = Signal(init=1)
        arrived = Signal()
        m.d.comb += [self.bus.ready.eq(ready), arrived.eq(pins_valid & was_ready)]
        m.d.sync += [
            pins.address.eq(self.bus.address),
            pins.write.eq(self.bus.write),
            pins.select.eq(self.bus.select),
            pins.write_data.eq(self.bus.write_data),
            pins_valid.eq(self.bus.valid),
            was_ready.eq(ready),
        ]

        # 2. The oldest request, and those behind it. At most one can follow when ``ready`` has fallen.
        oldest, newer = Signal(Request), Signal(Request)
        held = Signal(range(3))
        behind = Signal(range(3))
        request = Signal(Request)
        valid = Signal()
        done = Signal()
        m.d.comb += [
            request.eq(Mux(held == 0, pins, oldest)),
            valid.eq((held != 0) | arrived),
            behind.eq(held + arrived - done),
        ]
        m.d.sync += [held.eq(behind), ready.eq(behind + ready <= 1)]
        with m.If(done):
            m.d.sync += oldest.eq(Mux(held == 2, newer, pins))
        with m.Elif(held == 0):
            m.d.sync += oldest.eq(pins)
        with m.If(arrived):
            m.d.sync += newer.eq(pins)

        # 3. The access.
        region, registers = REGIONS["data"], REGIONS["registers"]
        to_memory, to_registers = Signal(), Signal()
        m.d.comb += [
            to_memory.eq(self._within(request.address, region.base, self.data_bytes)),
            to_registers.eq(self._within(request.address, registers.base, registers.size)),
            self.memory.valid.eq(valid & to_memory),
            self.memory.address.eq(request.address[exact_log2(LANES):]),
            self.memory.write.eq(request.write),
            self.memory.select.eq(request.select),
            self.memory.data.eq(request.write_data),
            self.registers.valid.eq(valid & to_registers),
            self.registers.offset.eq(request.address[exact_log2(LANES):]),
            self.registers.write.eq(request.write),
            self.registers.select.eq(request.select),
            self.registers.write_data.eq(request.write_data),
            done.eq(valid & (~to_memory | self.memory.ready)),
        ]

        # 4. The answer.
        answer, from_memory, error = Signal(), Signal(), Signal()
        word = Signal(WORD_BITS)
        m.d.sync += [
            answer.eq(done),
            from_memory.eq(to_memory & ~request.write),
            error.eq(~to_memory & (~to_registers | self.registers.error)),
            word.eq(self.registers.read_data),
            self.bus.done.eq(answer),
            self.bus.read_data.eq(Mux(from_memory, self.memory_data, word)),
            self.bus.error.eq(answer & error),
        ]
        m.d.comb += [
            self.idle.eq(~(valid | answer | self.bus.done)),
            Assert(held + arrived <= 2, "no more than two requests wait"),
        ]
        return m

    @staticmethod
    def _within(address, base, size):
        """Whether ``address`` lies in the ``size`` bytes (a power of two) from ``base`` (a multiple of it) on."""
        bits = exact_log2(size)
        return address[bits:] == base >> bits
