"""VME DMA channel: the list of areas, its registers, its interrupts.

Source: "The Design of Nectar" (1989), sections 5.1 and 5.2 (DMA between VME and CAB memory, the CPU left free); the
registers are ours.
"""

from amaranth.hdl import Module, Mux, ResetInserter, Shape, Signal
from amaranth.lib import data, fifo, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..memory import SlotPort, area_inside, check_data_bytes
from ..regions import ADDRESS_BITS, REGIONS
from ..registers import WORD_BITS, RegisterPort
from .master import MasterPort
from .registers import VME_LIST_DEPTH, VME_REG
from .transfer import Job, Transfer

__all__ = ["DMA_REGISTERS", "VmeDma"]

DMA_REGISTERS = (
    "VD_STATUS",
    "VD_ADDRESS",
    "VD_REMOTE",
    "VD_SEND",
    "VD_FETCH",
    "VD_PROGRESS",
    "VD_THRESHOLD",
    "VD_CONTROL",
    "VD_RESULT",
)


class VmeDma(wiring.Component):
    """Works on a list of areas, in order.

    Parameters
    ----------
    data_bytes : int
        Size of the data memory, as in ``DataMemory``.

    Members
    -------
    *name* : In(RegisterPort)
        Its registers: those of ``DMA_REGISTERS``, in lower case.
    port : Out(MasterPort()), owner : In(1)
    memory : Out(SlotPort(data_bytes)), memory_data : In(32)
    done, failed, threshold : Out(1)
        In one cycle: a *notify* entry has ended; the list was emptied before its end; VD_PROGRESS has reached
        VD_THRESHOLD.
    idle : Out(1)
        Nothing is under way.

    Timing
    ------
    An entry begins two cycles after the one before has ended.

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
                **{name.lower(): In(RegisterPort(VME_REG[name])) for name in DMA_REGISTERS},
                "port": Out(MasterPort()),
                "owner": In(1),
                "memory": Out(SlotPort(data_bytes)),
                "memory_data": In(WORD_BITS),
                "done": Out(1),
                "failed": Out(1),
                "threshold": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        """The list; the transfer; what software is told."""
        m = Module()
        stop = Signal()
        cut = Signal()
        result = Signal(data.StructLayout({"berr": 1, "timeout": 1, "stopped": 1}))
        entries = fifo.SyncFIFO(width=Shape.cast(Job).width, depth=VME_LIST_DEPTH)
        m.submodules.entries = ResetInserter(stop | cut)(entries)
        m.submodules.transfer = transfer = Transfer(self.data_bytes)
        connect(m, transfer.port, flipped(self.port))
        connect(m, transfer.memory, flipped(self.memory))
        self._enter(m, entries, result)
        notify = self._work(m, entries, transfer, stop, cut)
        self._tell(m, entries, transfer, notify, stop, cut, result)
        return m

    def _enter(self, m, entries, result):
        """Who may enter something: not while the list is full, or what went wrong has not been read."""
        address = Signal(ADDRESS_BITS)
        remote = Signal(WORD_BITS)
        job = Signal(Job)
        m.d.comb += [
            self.vd_address.value.eq(address),
            self.vd_remote.value.eq(remote),
            entries.w_en.eq(self.vd_send.write | self.vd_fetch.write),
            entries.w_data.eq(job),
            job.send.eq(self.vd_send.write),
            job.address.eq(address),
            job.remote.eq(remote),
        ]
        for name in ("length", "modifier", "half", "notify"):
            m.d.comb += job[name].eq(Mux(self.vd_send.write, self.vd_send.data[name], self.vd_fetch.data[name]))
        for register in (self.vd_send, self.vd_fetch):
            m.d.comb += [
                register.area_address.eq(address),
                register.refuse.eq(
                    ~entries.w_rdy
                    | result.as_value().any()
                    | ~area_inside(address, register.data.length, self.data_bytes)
                ),
            ]
        with m.If(self.vd_address.write):
            m.d.sync += address.eq(self.vd_address.data)
        with m.If(self.vd_remote.write):
            m.d.sync += remote.eq(self.vd_remote.data)

    def _work(self, m, entries, transfer, stop, cut):
        """One entry after the other; returns whether the one at work is to be told of."""
        notify = Signal()
        m.d.comb += [
            stop.eq(self.vd_control.write & self.vd_control.data.stop),
            transfer.job.eq(entries.r_data),
            transfer.start.eq(entries.r_rdy & ~transfer.busy & ~stop),
            entries.r_en.eq(transfer.start),
            transfer.stop.eq(stop),
            transfer.memory_data.eq(self.memory_data),
            cut.eq(transfer.ended & (transfer.berr | transfer.timeout | transfer.stopped)),
        ]
        with m.If(transfer.start):
            m.d.sync += notify.eq(transfer.job.notify)
        return notify

    def _tell(self, m, entries, transfer, notify, stop, cut, result):
        """What software is told."""
        count = Signal.like(self.vd_status.value.done)
        limit = Signal.like(self.vd_threshold.data.bytes)
        before = Signal.like(transfer.arrived)
        m.d.comb += [
            self.done.eq(transfer.ended & ~cut & notify),
            self.failed.eq(cut | (stop & (~transfer.busy | transfer.ended) & entries.r_rdy)),
            self.threshold.eq((before < limit) & (transfer.arrived >= limit)),
            self.idle.eq(~transfer.busy & ~entries.r_rdy),
            self.vd_status.value.free.eq(VME_LIST_DEPTH - entries.level),
            self.vd_status.value.busy.eq(transfer.busy),
            self.vd_status.value.owner.eq(self.owner),
            self.vd_status.value.done.eq(count),
            self.vd_progress.value.bytes.eq(transfer.arrived),
            self.vd_threshold.value.bytes.eq(limit),
            *(self.vd_result.value[name].eq(result[name]) for name in result.shape().members),
        ]
        m.d.sync += before.eq(transfer.arrived)
        with m.If(self.done):
            m.d.sync += count.eq(count + 1)
        with m.If(self.vd_threshold.write):
            m.d.sync += limit.eq(self.vd_threshold.data.bytes)
        with m.If(self.failed):
            m.d.sync += [result[name].eq(transfer.ended & getattr(transfer, name)) for name in ("berr", "timeout")]
            m.d.sync += result.stopped.eq(~cut | transfer.stopped)
        with m.Elif(self.vd_result.write):
            m.d.sync += result.as_value().eq(0)
