"""Proof of hdl/hub/port/output_port.py: what is on the fiber, in every cycle, and what the rest of the HUB hears of it.

Statements: H12, H13, H15; docs/hub.md, "Output side of a port". The model keeps what came through the crossbar in a
list, and knows of what is inserted where it comes from.
"""

from amaranth.asserts import AnySeq
from amaranth.hdl import Array, Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.messages import CrossbarBeat
from ...hdl.hub.port.output_port import READY_LIMIT, OutputPort
from ...hdl.hub.port.skid_buffer import SkidBuffer
from ...hdl.link.symbol import SYMBOL_BITS, Control
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
        may_come = port.space if self.register else had_space  # behind the skid buffer a cycle after ``space``
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

        # What came through the crossbar and has not left, the oldest first.
        most = 3
        listed = [Signal(CrossbarBeat, name=f"listed_{n}") for n in range(most)]
        count = Signal(range(most + 1))

        # The place beside the output register: what is in it.
        inserted, waits_beside = Signal(), Signal()
        inserted_symbol = Signal(SYMBOL_BITS)
        readies = Signal(range(READY_LIMIT + 1))
        valid, symbol = Signal(), Signal(SYMBOL_BITS)
        loads, takes_ready, takes_reply, leaves = Signal(), Signal(), Signal(), Signal()
        comes, oldest = Signal(), Signal(CrossbarBeat)
        place_is_free = Signal()
        m.d.comb += [
            loads.eq(~valid | port.tx.ready | port.looped),
            place_is_free.eq(~inserted & ~waits_beside),
            comes.eq(place_is_free & ((count != 0) | (0 if self.register else port.push))),
            oldest.eq(Mux(count != 0, listed[0].as_value(), port.beat.as_value())),
            leaves.eq(loads & ~inserted & (waits_beside | comes)),
            takes_ready.eq(loads & (readies != 0)),
            takes_reply.eq(loads & (readies == 0) & sender.waiting),
        ]
        total = readies + port.send_ready + port.repair - takes_ready
        m.d.sync += readies.eq(Mux(total > READY_LIMIT, READY_LIMIT, total))
        with m.If(takes_ready | takes_reply):
            m.d.sync += [
                inserted.eq(1),
                inserted_symbol.eq(Mux(takes_ready, Control.READY, sender.symbol)),
                waits_beside.eq(0),
            ]
        with m.Elif(loads):
            m.d.sync += [inserted.eq(0), waits_beside.eq(0)]
        with m.Else():
            m.d.sync += waits_beside.eq(waits_beside | (comes if self.register else 0))

        stays = [
            Mux(leaves, listed[n + 1].as_value() if n + 1 < most else 0, listed[n].as_value()) for n in range(most)
        ]
        end = count - leaves
        m.d.sync += count.eq(count + port.push - leaves)
        for n in range(most):
            with m.If(port.push & (end == n)):
                m.d.sync += listed[n].eq(port.beat)
            with m.Else():
                m.d.sync += listed[n].eq(stays[n])
            with m.If(port.ended):
                m.d.sync += listed[n].closes.eq(0)

        # What the fiber shows after a load, and what that means.
        started, closed, bit = Signal(), Signal(), Signal(init=1)
        with m.If(loads):
            m.d.sync += [valid.eq(inserted | leaves), symbol.eq(Mux(inserted, inserted_symbol, oldest.symbol))]
        m.d.sync += [
            started.eq(leaves & (oldest.symbol == Control.START)),
            closed.eq(leaves & oldest.closes & ~port.ended),
        ]
        with m.If(started | port.ready_clear):
            m.d.sync += bit.eq(0)
        with m.Elif(port.ready_set | port.ready_arrived):
            m.d.sync += bit.eq(1)
        start_waits = Cat((count > n) & (place.symbol == Control.START) for n, place in enumerate(listed)).any()

        m.d.comb += [
            Assert(
                port.tx.valid == (valid & ~port.looped),
                "something is on the fiber exactly if something was there to be sent",
            ),
            Assert(port.loop_valid == (valid & port.looped)),
            Assert(
                ~valid | (port.tx.payload == symbol),
                "what was inserted, else what came through the crossbar, in order and unchanged",
            ),
            Assert(port.loop_symbol == port.tx.payload),
            Assert(
                port.closed == closed,
                "it closes exactly when the last symbol of a close all has entered the output register",
            ),
            Assert(
                port.ready_bit == bit,
                "a start that has left clears the ready bit, and only what arrives or is commanded sets it",
            ),
            Assert(port.ready == (bit & ~started & ~start_waits), "ready only while no start is on its way"),
            Assert(sender.take == takes_reply, "replies have precedence over data, and ready signals over replies"),
            Assert(port.busy == (valid | inserted | (count != 0) | (readies != 0) | sender.waiting | closed)),
            Assert(~waits_beside | (count != 0)),
            Assert(~(inserted & waits_beside)),
            Assert(count <= most),
        ]
        if self.register:
            m.d.comb += Assert(~port.space | (count < 3), "it takes a symbol when there is a place")
        else:
            m.d.comb += [
                Assert(port.space == (count < 2), "it takes a symbol in the next cycle when there is a place then"),
                Assert(~had_space | (count < 3)),
                Assert(~waits_beside),
            ]

        # What ties the model to the registers.
        m.d.comb += [
            Assert(probes.readies == readies),
            Assert(probes.valid == valid),
            Assert(~probes.fresh | ~valid | (started == (symbol == Control.START))),
            Assert(probes.fresh | ~started),
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
        if self.register:
            behind = probes.behind.probes
            in_register = count - waits_beside
            m.d.comb += Assert((behind.pushed - behind.taken)[:2] == in_register)
            for n in range(2):
                number = (behind.taken + n)[0]
                here = Array([place.as_value() for place in listed])[n + waits_beside]
                is_there = in_register > n
                m.d.comb += [
                    Assert(~is_there | (Array([place.as_value() for place in behind.places])[number] == here)),
                    Assert(behind.starts.bit_select(number, 1) == (is_there & (here[:SYMBOL_BITS] == Control.START))),
                ]
        else:
            for n, place in enumerate(listed):
                m.d.comb += [
                    Assert(probes.behind.probes.some[n] == (count > n)),
                    Assert((count <= n) | (probes.behind.probes.entries[n] == place)),
                ]
        return m


PROOFS = [
    Proof(
        "output_port",
        "it sends all in the right order, and closes behind it",
        'H12, H13, H15; docs/hub.md, "Output side of a port"',
        holds={
            "with the crossbar's register": Attempt(lambda: OutputPortProof(True)),
            "with the skid buffer": Attempt(lambda: OutputPortProof(False)),
        },
        search=Attempt(lambda: OutputPortProof(False), mode="bmc", depth=8),
        faults={
            "a reply waits for data": Fault(
                OutputPort,
                "stays",
                lambda was, s: Mux(s.load, (s.readies != 0) | s["replies.waiting"] & ~(s.falls & s.push), s.taken),
            ),
            "it closes although the register was not loaded": Fault(
                OutputPort, "closes_beside", lambda was, s: s.taken & s.beside.closes & ~s.ended
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
                lambda was, s: s.readies + s.repair + s.send_ready - (s.load & (s.readies != 0)),
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
