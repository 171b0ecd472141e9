"""Proof of hdl/hub/head.py: what leaves the queue, what is sent for it, and what a close all holds back.

Statements: H12 (answers), H13, H15; docs/hub.md, "Input side of a port". Of the queue it is assumed that commands in the
stream are complete: the receiver lets no fragment into it.
"""

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.commands import COMMANDS, REPLY, Error, Executor, Op
from ...hdl.hub.messages import QueueEntry, Reply, Request
from ...hdl.link.symbol import CONTROL_BIT, Control
from .prove import look_into

__all__ = ["HeadProof"]

_CONTROLLER_OPS = [row.op for row in COMMANDS if row.executor is Executor.CONTROLLER]


class HeadProof(wiring.Component):
    """A head of class ``Head``. Entries, space, connections, decisions and the way of the answers do as they like."""

    def __init__(self, Head, ports, port=0):
        self.head = Head(ports, port)
        self.ports = ports
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        head, ports = self.head, self.ports
        m.submodules.head = look_into(head, platform)
        spy = head.spy
        for signal in (head.entry, head.valid, head.hub_id, head.targets, head.space, head.response_valid, head.done, head.value,
                       head.answer.ready):
            m.d.comb += signal.eq(AnySeq(len(signal.as_value() if hasattr(signal, "as_value") else signal)))
        entry = Signal(QueueEntry)
        m.d.comb += entry.eq(head.entry)
        symbol = entry.content.symbol

        # Where in a command of the stream the next symbol stands, and whether it is a close all.
        place, closing_command = Signal(2), Signal()
        leaves, takes, blocked = Signal(), Signal(), Signal()
        last = Signal()
        m.d.comb += [
            Assume((place == 0) | ~(head.valid & ~entry.command & (symbol & CONTROL_BIT).any())),
            Assume((place == 0) | ~(head.valid & entry.command)),
            last.eq((place == 3) & closing_command),
        ]
        with m.If(leaves):
            with m.If((place != 0) | (symbol == Control.COMMAND)):
                m.d.sync += place.eq(place + 1)
            with m.If(place == 1):
                m.d.sync += closing_command.eq(symbol == Op.CLOSE_ALL)

        # What it does now: passes on, executes a command, waits for the controller, waits for the end of the connections.
        passes, executes, waits, closes = (Signal(init=name == "PASS", name=name.lower()) for name in ("PASS", "EXECUTE", "WAIT", "CLOSING"))
        states = Cat(passes, executes, waits, closes)
        command, answers, answer = Signal(Request), Signal(), Signal(Reply)
        to_controller, unknown = Signal(), Signal()
        m.d.comb += [
            blocked.eq((head.targets & ~head.space) != 0),
            leaves.eq(passes & head.valid & ~entry.command & ~blocked),
            takes.eq(passes & head.valid & entry.command & ~answers),
            to_controller.eq(Cat(command.op == op for op in _CONTROLLER_OPS).any()),
            unknown.eq(~to_controller & (command.op != Op.CLOSE)),
        ]
        with m.If(takes):
            m.d.sync += [passes.eq(0), executes.eq(1), command.eq(entry.content.request)]
        with m.If(leaves & last & (head.targets != 0)):
            m.d.sync += [passes.eq(0), closes.eq(1)]
        with m.If(executes):
            m.d.sync += [executes.eq(0), waits.eq(to_controller), passes.eq(~to_controller)]
        with m.If(waits & head.response_valid):
            m.d.sync += [waits.eq(0), passes.eq(1)]
        with m.If(closes & (head.targets == 0)):
            m.d.sync += [closes.eq(0), passes.eq(1)]

        with m.If(head.answer.ready):
            m.d.sync += answers.eq(0)
        responds = Signal()
        m.d.comb += responds.eq((command.op & REPLY).any() & (executes & unknown | waits & head.response_valid))
        with m.If(responds):
            m.d.sync += [
                answers.eq(1),
                answer.op.eq(Mux(executes | ~head.done, command.op & ~REPLY, command.op)),
                answer.hub.eq(head.hub_id),
                answer.value.eq(Mux(executes, Error.UNKNOWN, head.value)),
            ]

        m.d.comb += [
            Assert(head.pop == (leaves | takes), "it takes an entry whenever nothing holds it, and only then"),
            Assert(head.move == (leaves & (head.targets != 0)), "a symbol goes on when all outputs can take it"),
            Assert(~head.move | (head.passage.symbol == symbol)),
            Assert(~head.move | (head.passage.closes == last), "the last symbol of a close all, and only that, is marked"),
            Assert(head.start_left == (head.pop & ~entry.command & (symbol == Control.START)),
                   "a ready signal is sent exactly when a start leaves"),
            Assert(~closes | ~head.pop & ~head.move & ~head.request_valid & (head.close == 0), "nothing follows a close all too early"),
            Assert(head.request_valid == (executes & to_controller), "a command goes to the controller once"),
            Assert(~(executes | waits) | (head.request.as_value() == command.as_value())),
            Assert(head.close == Mux(executes & (command.op == Op.CLOSE) & (command.param < ports), (1 << command.param[:7]) & head.targets, 0),
                   "a close ends the one connection that it names"),
            Assert(head.answer.valid == answers, "each command that wants one gets one answer"),
            Assert(~answers | (head.answer.payload.as_value() == answer.as_value()), "which is true and stays until it is taken"),
            Assert(head.busy == (~passes | answers)),
            Assert((states != 0) & ((states & (states - 1))[:4] == 0)),
            *(Assert(spy.state.ongoing(name) == state) for name, state in
              (("PASS", passes), ("EXECUTE", executes), ("WAIT", waits), ("CLOSING", closes))),
            Assert(spy.answering == answers),
            Assert(~(executes | waits) | ~answers, "no answer is written over another"),
            Assert(spy.close_all.spy.place == Mux((place > 1) & ~closing_command, 0, place)),
        ]
        return m
