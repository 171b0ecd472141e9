"""Proof of hdl/cab/vme/transfer.py: the DMA of VME touches no byte of data memory but those of its entry, however it
ends.

Statement: docs/vme.md, the DMA channel; docs/cab.md, "Data memory". The aligner inside never holds more bytes than
there is room for, and never gives one that is not there.
"""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.utils import exact_log2

from ...hdl.cab.memory import LANES
from ...hdl.cab.vme.align import HELD_BYTES
from ...hdl.cab.vme.transfer import Transfer
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "VmeTransferProof"]


class VmeTransferProof(wiring.Component):
    """A transfer: jobs in data memory; slaves, memory, errors and stops at any time."""

    def __init__(self, data_bytes):
        self.transfer = Transfer(data_bytes)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        transfer, size = self.transfer, self.transfer.data_bytes
        m.submodules.transfer = look_into(transfer, platform)
        probes, memory, port, job = transfer.probes, transfer.memory, transfer.port, transfer.job
        bits = exact_log2(size)

        foreign = Signal(bits)  # a byte that is not the job's
        m.d.comb += [
            foreign.eq(AnyConst(bits)),
            job.eq(AnySeq(len(job.as_value()))),
            transfer.start.eq(AnySeq(1) & ~transfer.busy),
            transfer.stop.eq(AnySeq(1)),
            transfer.memory_data.eq(AnySeq(32)),
            memory.ready.eq(AnySeq(1) & memory.valid),
            port.ready.eq(AnySeq(1) & (~probes.flying | port.done)),
            port.done.eq(AnySeq(1) & probes.flying),
            port.berr.eq(AnySeq(1)),
            port.timeout.eq(AnySeq(1)),
            port.read_data.eq(AnySeq(32)),
            Assume((job.length == 0) | (job.address + job.length <= size)),
        ]
        at, end = Signal(bits + 1), Signal(bits + 1)
        begin = Signal(bits + 1)
        count = Signal(3)
        m.d.comb += count.eq(sum(memory.select[n] for n in range(4)))
        with m.If(transfer.start):
            m.d.sync += [
                begin.eq(job.address[:bits]),
                at.eq(job.address[:bits]),
                end.eq(Mux(job.length == 0, job.address[:bits], job.address + job.length)),
            ]
        with m.Elif(memory.valid & memory.ready):
            m.d.sync += at.eq(at + count)

        busy, flying = transfer.busy, Mux(probes.flying, 1 << probes.flying_size, 0)
        cut = transfer.berr | transfer.timeout | transfer.stopped
        m.d.comb += [
            Assert(
                ~busy | ((probes.near == at[:bits]) & (at + probes.near_left == end) & (begin <= at) & (end <= size))
            ),
            Assert(
                ~memory.valid
                | (
                    busy
                    & (count != 0)
                    & (count <= probes.near_left)
                    & (memory.write == ~probes.send)
                    & (memory.address == at[2:bits])
                )
            ),
            Assert(
                ~(memory.valid & memory.select.bit_select(~foreign[:2], 1) & (memory.address == foreign[2:]))
                | ((foreign >= begin) & (foreign < end)),
                "what is not the entry's is neither read nor written",
            ),
            *(
                Assert(~(memory.valid & memory.select[3 - n]) | ((n >= at[:2]) & (n < at[:2] + count)), "in order")
                for n in range(4)
            ),
            # What is on its way.
            Assert(~probes.flying | busy & (probes.flying_size < 3)),
            Assert(~probes.reading | busy & probes.send & (probes.read_count <= 4)),
            Assert(
                ~(busy & probes.send)
                | (probes.near_left + Mux(probes.reading, probes.read_count, 0) + probes.level == probes.far_left)
            ),
            Assert(~(busy & ~probes.send) | (probes.level + flying + probes.far_left <= probes.near_left)),
            Assert(~(busy & ~probes.send & ~cut) | (probes.level + flying + probes.far_left == probes.near_left)),
            Assert(
                probes.level + Mux(probes.reading, probes.read_count, 0) + Mux(probes.send, 0, flying) <= HELD_BYTES,
                "the aligner has room",
            ),
            Assert(~busy | (probes.ends == cut), "a job is cut short only by an error or a stop"),
            Assert(
                ~(transfer.ended & ~cut) | ((probes.near_left == 0) & (probes.far_left == 0) & (at == end)),
                "otherwise all of it has been moved",
            ),
            Assert(~transfer.ended | ~memory.valid, "nothing is moved behind the end"),
        ]
        return m


def _reads_early(s):
    """Whether it would read a word if it had to have room for three bytes only."""
    wants = s.busy & s.send & ~s.ends & (s.near_left != 0) & ~s.reading
    return wants & (s["align.level"] == HELD_BYTES - LANES + 1)


PROOFS = [
    Proof(
        "transfer_vme",
        "it touches its entry and nothing else",
        "docs/vme.md",
        holds={
            "4 kbyte": Attempt(lambda: VmeTransferProof(4 << 10), nightly=True),
            "1 Mbyte": Attempt(lambda: VmeTransferProof(1 << 20), nightly=True),
        },
        search=Attempt(lambda: VmeTransferProof(4 << 10), mode="bmc", depth=9, timeout=60),
        faults={
            "whole words are written": Fault(
                Transfer,
                "memory__select",
                lambda was, s: Cat(s.near[:2] < lane + 1 for lane in reversed(range(LANES))),
            ),
            "what flies is forgotten": Fault(
                Transfer,
                "port__valid",
                lambda was, s: Mux(
                    s.send,
                    was,
                    s.busy & ~s.ends & (s.far_left != 0) & (s["align.level"] + (1 << s.size) <= HELD_BYTES),
                ),
            ),
            "a word is read before there is room for it": (
                Fault(Transfer, "memory__valid", lambda was, s: was | _reads_early(s)),
                Fault(Transfer, "reading", lambda was, s: was | _reads_early(s) & s.memory__ready),
            ),
            "an area is longer by one": Fault(
                Transfer, "near_left", lambda was, s: Mux(s.start, s.job.length + 1, was)
            ),
            "an error does not end the job": Fault(
                Transfer, "ends", lambda was, s: was & ~(s.port__done & (s.port__berr | s.port__timeout))
            ),
            "it ends while bytes are here": Fault(
                Transfer,
                "over",
                lambda was, s: Mux(s.send, was, ~s.flying & ((s.near_left == 0) | s.ends)),
            ),
        },
    )
]
