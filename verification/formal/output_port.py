"""Proof of hdl/hub/port/output_port.py: what is on the fiber, in every cycle, and what the rest of the HUB hears of it.

Statements: H12, H13, H15; docs/hub.md, "Output side of a port".
"""

from amaranth.asserts import AnySeq
from amaranth.hdl import Array, Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.messages import CrossbarBeat
from ...hdl.hub.port.output_port import READY_LIMIT, OutputPort
from ...hdl.hub.port.skid_buffer import SkidBuffer
from ...hdl.link.symbol import Control
from ..specs.output_port import MOST_BEATS, OutputPortSpec
from ..specs.spec import agree, beside
from .faults import Fault, with_fields
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["MARK_OUTLIVES", "PROOFS", "OutputPortProof", "is_sent"]

#: A mark in the skid buffer outlives its connection.
MARK_OUTLIVES = Fault(
    SkidBuffer,
    "place_{n}",
    lambda was, s, n: Mux(s.ended, with_fields(CrossbarBeat(was), closes=CrossbarBeat(s[f"place_{n}"]).closes), was),
)


def is_sent(symbol):
    """Whether ``symbol`` is a byte or a control code of packets and commands: what comes out of an input queue."""
    return ~symbol[-1] | Cat(symbol == code for code in (Control.START, Control.END, Control.COMMAND)).any()


class OutputPortProof(wiring.Component):
    """An output port; symbols come at any time when there is space, all else at any time."""

    def __init__(self, register):
        self.port = OutputPort(register=register)
        self.register = register
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        port = self.port
        m.submodules.port = look_into(port, platform)
        probes, sender = port.probes, port.probes.replies
        must, had_space = Signal(), Signal()
        may_come = port.space if self.register else had_space  # without a register a cycle after ``space``
        m.d.sync += had_space.eq(port.space)
        m.d.sync += must.eq(port.answer.valid & ~port.answer.ready)
        m.d.comb += [
            port.beat.eq(AnySeq(CrossbarBeat.as_shape().size)),
            Assume(is_sent(port.beat.symbol)),
            port.push.eq(AnySeq(1) & may_come),
            port.answer.valid.eq(AnySeq(1) | must),
            port.answer.payload.eq(AnySeq(24)),
            *(
                signal.eq(AnySeq(signal.shape()))
                for signal in (
                    port.send_ready,
                    port.repair,
                    port.ready_arrived,
                    port.ready_set,
                    port.ready_clear,
                    port.ended,
                    port.looped,
                    port.reply_byte,
                    port.tx.ready,
                )
            ),
        ]
        byte_place, replies = Signal(2, init=1), sender.probes
        m.d.comb += [
            port.reply_place.eq(byte_place),
            port.reply_push.eq((byte_place != 1) | AnySeq(1)),
            Assert((byte_place != 0) & ((byte_place == 1) | ~port.reply_full)),
            Assert((replies.at == 0) | Mux(replies.own, must, replies.come != replies.sent)),
        ]
        with m.If(port.reply_push & ((byte_place != 1) | ~port.reply_full)):
            m.d.sync += byte_place.eq(Mux(byte_place == 3, 1, byte_place + 1))

        inputs = {name: getattr(port, name) for name in OutputPortSpec.inputs if hasattr(port, name)}
        spec, shown = beside(
            m,
            OutputPortSpec(self.register),
            inputs
            | {
                "beat": port.beat.as_value(),
                "tx__ready": port.tx.ready,
                "reply_waiting": sender.waiting,
                "reply_symbol": sender.symbol,
            },
        )
        count, valid, symbol = spec.count, spec.valid, spec.symbol
        inserted, inserted_symbol, waits_beside = spec.inserted, spec.inserted_symbol, spec.beside
        listed = [CrossbarBeat(getattr(spec, f"beat_{n}")) for n in range(MOST_BEATS)]
        m.d.comb += [
            agree(port.tx.valid, shown.tx__valid, "something is on the fiber if there was something to be sent"),
            agree(port.loop_valid, shown.loop_valid, "or in the loop"),
            agree(
                port.tx.payload,
                shown.tx__payload,
                "what was inserted, else what came through the crossbar, in order and unchanged",
            ),
            Assert(port.loop_symbol == port.tx.payload),
            agree(
                port.closed,
                shown.closed,
                "it closes exactly when the last symbol of a close all has entered the output register",
            ),
            agree(
                port.ready_bit,
                shown.ready_bit,
                "a start that has left clears the ready bit, and only what arrives or is commanded sets it",
            ),
            agree(port.ready, shown.ready, "ready only while no start is on its way"),
            agree(sender.take, shown.takes_reply, "replies have precedence over data, ready signals over replies"),
            agree(port.busy, shown.busy, "it is busy while anything is here"),
            agree(port.space, shown.space, "it takes a symbol when there is a place"),
            Assert(~waits_beside | (count != 0)),
            Assert(~(inserted & waits_beside)),
            Assert(count <= MOST_BEATS),
            Assert(waits_beside == 0) if not self.register else Assert(count - waits_beside <= 2),
        ]
        if not self.register:
            m.d.comb += Assert(~had_space | (count < MOST_BEATS))

        # What ties the model to the registers.
        stays = Signal(range(READY_LIMIT + 2))  # ready signals that wait, without one that has just come
        m.d.comb += [
            stays.eq(probes.readies + probes.mended - probes.went),
            Assert(~probes.went | (probes.readies != 0)),
            Assert(Mux(stays + probes.came > READY_LIMIT, READY_LIMIT, stays + probes.came) == spec.readies),
            Assert(probes.some == (stays != 0)),
            Assert(probes.valid == valid),
            Assert(~probes.fresh | ~valid | (spec.started == (symbol == Control.START))),
            Assert(probes.fresh | ~spec.started),
            Assert(~valid | is_sent(symbol) | (symbol == Control.READY) | (symbol == Control.REPLY)),
            Assert(probes.taken == (inserted | waits_beside)),
            Assert(~inserted | (probes.beside.symbol == inserted_symbol) & ~probes.beside.closes),
            Assert(
                ~inserted
                | ~inserted_symbol[-1]
                | (inserted_symbol == Control.READY)
                | (inserted_symbol == Control.REPLY)
            ),
            Assert(~waits_beside | (probes.beside.as_value() == listed[0].as_value())),
            *(Assert((count <= n) | is_sent(place.symbol)) for n, place in enumerate(listed)),
        ]
        behind = probes.behind.probes
        for n, (here, place) in enumerate(zip(behind.some, behind.entries)):
            is_there = count > n + waits_beside
            kept = Array([beat.as_value() for beat in listed])[n + waits_beside]
            m.d.comb += [Assert(here == is_there), Assert(~is_there | (place.as_value() == kept))]
        return m


PROOFS = [
    Proof(
        "output_port",
        "it sends all in the right order, and closes behind it",
        'H12, H13, H15; docs/hub.md, "Output side of a port"',
        holds={
            "with a register": Attempt(lambda: OutputPortProof(True)),
            "without": Attempt(lambda: OutputPortProof(False)),
        },
        search=Attempt(lambda: OutputPortProof(False), mode="bmc", depth=8),
        faults={
            "a reply waits for data": Fault(
                OutputPort,
                "stays",
                lambda was, s: Mux(s.load, s.pends | s["replies.waiting"] & ~(s.falls & s.push), s.taken),
            ),
            "it closes although the register was not loaded": Fault(
                OutputPort, "closed", lambda was, s: s.valid & s.sent.closes
            ),
            "a start does not clear the ready bit": Fault(OutputPort, "start_enters", lambda was, s: 0),
            "a ready signal that was sent sets the ready bit": Fault(
                OutputPort, "ready_bit", lambda was, s: was | s.send_ready & ~(s.start_enters | s.ready_clear)
            ),
            "a start on its way does not count": Fault(
                OutputPort, "ready", lambda was, s: s.ready_bit & ~s.start_enters
            ),
            "a mark outlives its connection": Fault(
                OutputPort,
                "beside",
                lambda was, s: Mux(~s.load & s.free, with_fields(was, closes=CrossbarBeat(s.oldest).closes), was),
            ),
            "too many ready signals wipe out all": Fault(
                OutputPort,
                "readies",
                lambda was, s: s.readies + s.mended + s.came - s.went,
            ),
            "a mark in the skid buffer outlives its connection": MARK_OUTLIVES,
            "the skid buffer takes one too many": Fault(SkidBuffer, "space", lambda was, s: ~s.some[2]),
            "the skid buffer forgets a start": Fault(SkidBuffer, "start", lambda was, s: 0),
        },
        searches={
            **dict.fromkeys(
                ("it closes although the register was not loaded", "a mark outlives its connection"),
                Attempt(lambda: OutputPortProof(True), mode="bmc", depth=8),
            ),
            "too many ready signals wipe out all": Attempt(lambda: OutputPortProof(False), mode="bmc", depth=20),
        },
    )
]
