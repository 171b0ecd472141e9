"""VME DMA, one entry of the list: bytes from data memory to VME, or from VME to data memory.

Source: "The Design of Nectar" (1989), sections 5.1 and 5.2 (DMA to or from VME memory; data memory only).
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..memory import LANES, SlotPort, check_data_bytes
from ..regions import REGIONS
from ..registers import WORD_BITS
from .align import HELD_BYTES, Align
from .master import MasterPort
from .numbers import BLOCK_BYTES
from .registers import VME_LENGTH_BITS

__all__ = ["Job", "Transfer"]

_BLOCK, _DATA = 3, 1


class Job(data.Struct):
    """An entry of the list; ``address`` counts from the start of data memory."""

    address: VME_LENGTH_BITS
    remote: 32
    length: VME_LENGTH_BITS
    modifier: 6
    half: 1
    send: 1
    notify: 1


class _Signals:
    """What the sections of the transfer share; proofs look into them. ``data_bytes``: size of the data memory."""

    def __init__(self, data_bytes):
        # The job.
        self.modifier = Signal(6)
        self.half = Signal()
        self.send = Signal()
        self.ends = Signal()

        # In data memory.
        self.near = Signal(exact_log2(data_bytes))
        self.near_left = Signal(VME_LENGTH_BITS)
        self.near_count = Signal(3)
        self.writes = Signal()
        self.reading = Signal()
        self.read_first = Signal(2)
        self.read_count = Signal(3)

        # On VME.
        self.far = Signal(32)
        self.far_left = Signal(VME_LENGTH_BITS)
        self.size = Signal(2)
        self.count = Signal(3)
        self.inside = Signal()
        self.flying = Signal()
        self.flying_size = Signal(2)
        self.flying_first = Signal(2)


class Transfer(wiring.Component):
    """Does one job at a time.

    Parameters
    ----------
    data_bytes : int
        Size of the data memory, as in ``DataMemory``.

    Members
    -------
    job : In(Job), start : In(1)
        Begin it; only while ``busy`` is 0. An area that goes beyond the end of the memory goes on at its beginning.
    stop : In(1)
        End after the transfer under way. Bytes that have been read from VME are still stored.
    busy : Out(1)
    ended : Out(1), berr : Out(1), timeout : Out(1), stopped : Out(1)
        ``ended`` is 1 in the last cycle of ``busy``; the others then tell what cut it short.
    arrived : Out(20)
        Bytes that have arrived, all before them included.
    port : Out(MasterPort())
    memory : Out(SlotPort(data_bytes)), memory_data : In(32)

    Timing
    ------
    In a block the next transfer is asked for in the cycle in which the one before has ended, if data memory gives a
    word in six cycles. Otherwise the bus waits with the data strobes high.

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
                "job": In(Job),
                "start": In(1),
                "stop": In(1),
                "busy": Out(1),
                "ended": Out(1),
                "berr": Out(1),
                "timeout": Out(1),
                "stopped": Out(1),
                "arrived": Out(VME_LENGTH_BITS),
                "port": Out(MasterPort()),
                "memory": Out(SlotPort(data_bytes)),
                "memory_data": In(WORD_BITS),
            }
        )

    def elaborate(self, platform):
        """Memory on one side, the bus on the other, bytes between them."""
        m = Module()
        m.submodules.align = align = Align()
        s = _Signals(self.data_bytes)
        self._move_memory(m, s)
        self._move_bus(m, s)
        self._move_bytes(m, s)
        self._start_and_end(m, s)
        if platform == "formal":
            s.level = align.level
            self.probes = s
        return m

    def _move_memory(self, m, s):
        """Data memory, a word or a part of it at a time. What a job that was cut short has fetched is stored."""
        memory, align = self.memory, m.submodules.align
        near_room = Signal(3)
        near_most = Signal(VME_LENGTH_BITS)
        reads = Signal()
        m.d.comb += [
            near_room.eq(LANES - s.near[:2]),
            near_most.eq(Mux(s.ends & ~s.send, align.level, s.near_left)),
            s.near_count.eq(Mux(near_most < near_room, near_most, near_room)),
            reads.eq(
                self.busy & s.send & ~s.ends & (s.near_left != 0) & ~s.reading & (align.level <= HELD_BYTES - LANES)
            ),
            s.writes.eq(self.busy & ~s.send & (s.near_count != 0) & (align.level >= s.near_count)),
            memory.valid.eq(reads | s.writes),
            memory.write.eq(s.writes),
            memory.address.eq(s.near[2:]),
            memory.select.eq(
                Cat(*((s.near[:2] < lane + 1) & (lane < s.near[:2] + s.near_count) for lane in reversed(range(LANES))))
            ),
            memory.data.eq(align.get_word),
        ]
        m.d.sync += [s.reading.eq(reads & memory.ready), s.read_first.eq(s.near[:2]), s.read_count.eq(s.near_count)]
        with m.If(memory.valid & memory.ready):
            m.d.sync += [s.near.eq(s.near + s.near_count), s.near_left.eq(s.near_left - s.near_count)]

    def _move_bus(self, m, s):
        """The bus: as much at a time as alignment allows, blocks where the largest transfers follow each other."""
        port, align = self.port, m.submodules.align
        largest = Signal(3)
        blocks = Signal()
        onward = Signal.like(s.far)
        m.d.comb += [
            largest.eq(Mux(s.half, 2, LANES)),
            s.count.eq(1 << s.size),
            onward.eq(s.far + s.count),
            blocks.eq((s.modifier[:2] == _BLOCK) & (s.count == largest)),
            port.first.eq(~s.inside),
            port.last.eq(~blocks | (s.far_left - s.count < largest) | (onward[: exact_log2(BLOCK_BYTES)] == 0)),
            port.write.eq(s.send),
            port.am.eq(Cat(Mux((s.modifier[:2] == _BLOCK) & ~blocks, _DATA, s.modifier[:2]), s.modifier[2:])),
            port.address.eq(s.far),
            port.size.eq(s.size),
            port.data.eq(align.get_word),
            port.finish.eq(s.ends),
            port.valid.eq(
                self.busy
                & ~s.ends
                & (s.far_left != 0)
                & Mux(
                    s.send,
                    align.level >= s.count,
                    align.level + Mux(s.flying, 1 << s.flying_size, 0) + s.count <= HELD_BYTES,
                )
            ),
        ]
        with m.If((s.far[:2] == 0) & (s.far_left >= LANES) & ~s.half):
            m.d.comb += s.size.eq(2)
        with m.Elif(~s.far[0] & (s.far_left >= 2)):
            m.d.comb += s.size.eq(1)
        with m.If(port.done):
            m.d.sync += s.flying.eq(0)
        with m.If(port.valid & port.ready):
            m.d.sync += [
                s.far.eq(onward),
                s.far_left.eq(s.far_left - s.count),
                s.inside.eq(~port.last),
                s.flying.eq(1),
                s.flying_size.eq(s.size),
                s.flying_first.eq(s.far[:2]),
            ]

    def _move_bytes(self, m, s):
        """Bytes between them."""
        port, align = self.port, m.submodules.align
        good = Signal()
        m.d.comb += [
            good.eq(port.done & ~port.berr & ~port.timeout),
            align.put.eq(Mux(s.send, s.reading, good)),
            align.put_first.eq(Mux(s.send, s.read_first, s.flying_first)),
            align.put_count.eq(Mux(s.send, s.read_count, 1 << s.flying_size)),
            align.put_word.eq(Mux(s.send, self.memory_data, port.read_data)),
            align.get.eq(Mux(s.send, port.valid & port.ready, s.writes & self.memory.ready)),
            align.get_first.eq(Mux(s.send, s.far[:2], s.near[:2])),
            align.get_count.eq(Mux(s.send, s.count, s.near_count)),
            align.clear.eq(self.start),
        ]
        with m.If(s.send & good):
            m.d.sync += self.arrived.eq(self.arrived + (1 << s.flying_size))
        with m.If(s.writes & self.memory.ready):
            m.d.sync += self.arrived.eq(self.arrived + s.near_count)

    def _start_and_end(self, m, s):
        """From start to end."""
        port, job, level = self.port, self.job, m.submodules.align.level
        over = Signal()
        m.d.comb += [
            over.eq(~s.flying & Mux(s.send, (s.far_left == 0) | s.ends, (level == 0) & ((s.near_left == 0) | s.ends))),
            self.ended.eq(self.busy & over),
        ]
        with m.If(self.busy & self.stop & ~s.ends):
            m.d.sync += [s.ends.eq(1), self.stopped.eq(1)]
        with m.If(port.done & (port.berr | port.timeout)):
            m.d.sync += [s.ends.eq(1), self.berr.eq(port.berr), self.timeout.eq(port.timeout)]
        with m.If(self.ended):
            m.d.sync += self.busy.eq(0)
        with m.If(self.start):
            m.d.sync += [
                self.busy.eq(1),
                s.ends.eq(0),
                s.inside.eq(0),
                self.arrived.eq(0),
                self.berr.eq(0),
                self.timeout.eq(0),
                self.stopped.eq(0),
                s.modifier.eq(job.modifier),
                s.half.eq(job.half),
                s.send.eq(job.send),
                s.near.eq(job.address),
                s.near_left.eq(job.length),
                s.far.eq(job.remote),
                s.far_left.eq(job.length),
            ]
