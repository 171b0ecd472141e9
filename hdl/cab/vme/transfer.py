"""VME DMA, one entry of the list: bytes from data memory to VME, or from VME to data memory.

Source: "The Design of Nectar" (1989), sections 5.1 and 5.2 (DMA to or from VME memory; data memory only).
"""

from types import SimpleNamespace

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
        port, memory = self.port, self.memory
        m.submodules.align = align = Align()
        modifier = Signal(6)
        half, send, ends = (Signal(name=name) for name in ("half", "send", "ends"))
        # in data memory
        near = Signal(exact_log2(self.data_bytes))
        near_left = Signal(VME_LENGTH_BITS)
        # on VME
        far = Signal(32)
        far_left = Signal(VME_LENGTH_BITS)

        # 1. Data memory, a word or a part of it at a time. What a job that was cut short has fetched is stored.
        near_room = Signal(3)
        near_most = Signal(VME_LENGTH_BITS)
        near_count = Signal(3)
        reads, writes, reading = (Signal(name=name) for name in ("reads", "writes", "reading"))
        read_first = Signal(2)
        read_count = Signal(3)
        m.d.comb += [
            near_room.eq(LANES - near[:2]),
            near_most.eq(Mux(ends & ~send, align.level, near_left)),
            near_count.eq(Mux(near_most < near_room, near_most, near_room)),
            reads.eq(self.busy & send & ~ends & (near_left != 0) & ~reading & (align.level <= HELD_BYTES - LANES)),
            writes.eq(self.busy & ~send & (near_count != 0) & (align.level >= near_count)),
            memory.valid.eq(reads | writes),
            memory.write.eq(writes),
            memory.address.eq(near[2:]),
            memory.select.eq(
                Cat(*((near[:2] < lane + 1) & (lane < near[:2] + near_count) for lane in reversed(range(LANES))))
            ),
            memory.data.eq(align.get_word),
        ]
        m.d.sync += [reading.eq(reads & memory.ready), read_first.eq(near[:2]), read_count.eq(near_count)]
        with m.If(memory.valid & memory.ready):
            m.d.sync += [near.eq(near + near_count), near_left.eq(near_left - near_count)]

        # 2. The bus: as much at a time as alignment allows, blocks where the largest transfers follow each other.
        size = Signal(2)
        flying_size = Signal(2)
        count = Signal(3)
        largest = Signal(3)
        flying, inside, blocks = (Signal(name=name) for name in ("flying", "inside", "blocks"))
        flying_first = Signal(2)
        onward = Signal.like(far)
        m.d.comb += [
            largest.eq(Mux(half, 2, LANES)),
            count.eq(1 << size),
            onward.eq(far + count),
            blocks.eq((modifier[:2] == _BLOCK) & (count == largest)),
            port.first.eq(~inside),
            port.last.eq(~blocks | (far_left - count < largest) | (onward[: exact_log2(BLOCK_BYTES)] == 0)),
            port.write.eq(send),
            port.am.eq(Cat(Mux((modifier[:2] == _BLOCK) & ~blocks, _DATA, modifier[:2]), modifier[2:])),
            port.address.eq(far),
            port.size.eq(size),
            port.data.eq(align.get_word),
            port.finish.eq(ends),
            port.valid.eq(
                self.busy
                & ~ends
                & (far_left != 0)
                & Mux(send, align.level >= count, align.level + Mux(flying, 1 << flying_size, 0) + count <= HELD_BYTES)
            ),
        ]
        with m.If((far[:2] == 0) & (far_left >= LANES) & ~half):
            m.d.comb += size.eq(2)
        with m.Elif(~far[0] & (far_left >= 2)):
            m.d.comb += size.eq(1)
        with m.If(port.done):
            m.d.sync += flying.eq(0)
        with m.If(port.valid & port.ready):
            m.d.sync += [
                far.eq(onward),
                far_left.eq(far_left - count),
                inside.eq(~port.last),
                flying.eq(1),
                flying_size.eq(size),
                flying_first.eq(far[:2]),
            ]

        # 3. Bytes between them.
        good = Signal()
        m.d.comb += [
            good.eq(port.done & ~port.berr & ~port.timeout),
            align.put.eq(Mux(send, reading, good)),
            align.put_first.eq(Mux(send, read_first, flying_first)),
            align.put_count.eq(Mux(send, read_count, 1 << flying_size)),
            align.put_word.eq(Mux(send, self.memory_data, port.read_data)),
            align.get.eq(Mux(send, port.valid & port.ready, writes & memory.ready)),
            align.get_first.eq(Mux(send, far[:2], near[:2])),
            align.get_count.eq(Mux(send, count, near_count)),
            align.clear.eq(self.start),
        ]
        with m.If(send & good):
            m.d.sync += self.arrived.eq(self.arrived + (1 << flying_size))
        with m.If(writes & memory.ready):
            m.d.sync += self.arrived.eq(self.arrived + near_count)

        # 4. From start to end.
        over = Signal()
        m.d.comb += [
            over.eq(~flying & Mux(send, (far_left == 0) | ends, (align.level == 0) & ((near_left == 0) | ends))),
            self.ended.eq(self.busy & over),
        ]
        with m.If(self.busy & self.stop & ~ends):
            m.d.sync += [ends.eq(1), self.stopped.eq(1)]
        with m.If(port.done & (port.berr | port.timeout)):
            m.d.sync += [ends.eq(1), self.berr.eq(port.berr), self.timeout.eq(port.timeout)]
        with m.If(self.ended):
            m.d.sync += self.busy.eq(0)
        with m.If(self.start):
            job = self.job
            m.d.sync += [
                self.busy.eq(1),
                ends.eq(0),
                inside.eq(0),
                self.arrived.eq(0),
                self.berr.eq(0),
                self.timeout.eq(0),
                self.stopped.eq(0),
                modifier.eq(job.modifier),
                half.eq(job.half),
                send.eq(job.send),
                near.eq(job.address),
                near_left.eq(job.length),
                far.eq(job.remote),
                far_left.eq(job.length),
            ]
        if platform == "formal":
            self.probes = SimpleNamespace(
                near=near,
                near_left=near_left,
                far_left=far_left,
                send=send,
                ends=ends,
                flying=flying,
                flying_size=flying_size,
                reading=reading,
                read_count=read_count,
                level=align.level,
                size=size,
            )
        return m
