"""Head of a port's input queue: passes symbols on, takes commands out and sees to it that they are done.

Source: "The Design of Nectar" (1989), sections 4.1 and 4.2.1; ``docs/hub.md``, "Input side of a port".
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..link.symbol import REPLY_BIT, Control
from .close_all import CloseAllDetector
from .commands import COMMANDS, Error, Executor, Op
from .messages import Passage, QueueEntry, Reply, Request, check_ports, port_mask

__all__ = ["Head"]


class Head(wiring.Component):
    """Works off the input queue of one port.

    Parameters
    ----------
    ports : int
        Ports of the HUB.
    port : int
        Number of this port.

    Members
    -------
    hub_id : In(8)
        ID of this HUB.
    entry, valid, pop : In(QueueEntry), In(1), Out(1)
        The queue's head, and that it is taken.
    targets : In(ports)
        Outputs that are connected to this input.
    space : In(ports)
        Outputs that can take a symbol.
    passage, move : Out(Passage), Out(1)
        A symbol goes to all targets in this cycle.
    start_left : Out(1)
        A start of packet leaves the queue in this cycle, passed on or dropped.
    request, request_valid : Out(Request), Out(1)
        A command for the controller; valid for one cycle.
    response_valid, done, value : In(1), In(1), In(8)
        The controller's decision, at any time after the request; value is an error code if not done.
    close : Out(ports)
        Connections of this input to take out of the table.
    answer : Out(stream.Signature(Reply))
        A reply to the sender of a command.
    error : Out(1)
        An error to count.
    busy : Out(1)
        A command is under way, or a close all has not closed yet.

    Timing
    ------
    A symbol a cycle. A command is taken in cycle t, stands in the request register in t + 1; one of the port's own is done
    there, and the next entry may leave in t + 2. One of the controller's holds the head until the cycle after its response.

    Raises
    ------
    TypeError, ValueError
        If ``ports`` is not an int from 2 to 128, or ``port`` not a port of them.
    """

    def __init__(self, ports, port):
        check_ports(ports)
        if not isinstance(port, int) or isinstance(port, bool):
            raise TypeError(f"number of a port must be an int, not {port!r}")
        if not 0 <= port < ports:
            raise ValueError(f"a HUB of {ports} ports has no port {port}")
        self.ports = ports
        self.port = port
        super().__init__({
            "hub_id": In(8), "entry": In(QueueEntry), "valid": In(1), "pop": Out(1),
            "targets": In(ports), "space": In(ports), "passage": Out(Passage), "move": Out(1), "start_left": Out(1),
            "request": Out(Request), "request_valid": Out(1),
            "response_valid": In(1), "done": In(1), "value": In(8),
            "close": Out(ports), "answer": Out(stream.Signature(Reply)), "error": Out(1), "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.close_all = close_all = CloseAllDetector()

        request = Signal(Request, reset_less=True)
        answer = Signal(Reply, reset_less=True)
        answering = Signal()  # an answer waits for its way out
        in_run = Signal()     # the symbols before were dropped, and have been counted
        passing, connected = Signal(), Signal()
        leaves, drops, takes = Signal(), Signal(), Signal()  # a symbol leaves; it is dropped; a command is taken out

        # Symbols. The opcode tells whether a command is a close all, so it counts for the control code before it, too.
        m.d.comb += [
            connected.eq(self.targets.any()),
            leaves.eq(passing & self.valid & ~self.entry.command & ~(self.targets & ~self.space).any()),
            takes.eq(passing & self.valid & self.entry.command & ~answering),
            self.pop.eq(leaves | takes),
            self.move.eq(leaves & connected),
            drops.eq(leaves & ~connected & ~close_all.inside),
            close_all.symbol.eq(self.entry.content.symbol),
            close_all.strobe.eq(leaves),
            self.passage.symbol.eq(self.entry.content.symbol),
            self.passage.closes.eq(close_all.last),
            self.start_left.eq(leaves & (self.entry.content.symbol == Control.START)),
        ]
        with m.If(self.pop):
            m.d.sync += in_run.eq(drops & (in_run | ~close_all.command))
        with m.If(drops & ~close_all.command & ~in_run):
            m.d.comb += self.error.eq(1)

        # Commands.
        with m.If(takes):
            m.d.sync += request.eq(self.entry.content.request)
        with m.If(self.answer.ready):
            m.d.sync += answering.eq(0)
        m.d.comb += [
            self.request.eq(request),
            self.answer.payload.eq(answer),
            self.answer.valid.eq(answering),
        ]

        def respond(done, value):
            """Answers the command in the request register if it asks for it."""
            with m.If(request.op & REPLY_BIT):
                m.d.sync += [answering.eq(1), answer.eq(Cat(value, self.hub_id, done, request.op[1:]))]

        with m.FSM(name="state") as state:
            with m.State("PASS"):
                m.d.comb += passing.eq(1)
                with m.If(takes):
                    m.next = "EXECUTE"
                with m.If(close_all.last & connected):
                    m.next = "CLOSING"

            with m.State("EXECUTE"):
                m.next = "PASS"
                with m.Switch(request.op):
                    with m.Case(*(row.op for row in COMMANDS if row.executor is Executor.CONTROLLER)):
                        m.d.comb += self.request_valid.eq(1)
                        m.next = "WAIT"
                    with m.Case(Op.CLOSE):
                        m.d.comb += [
                            self.close.eq(port_mask(request.param, self.ports) & self.targets),
                            self.error.eq(~self.close.any()),
                        ]
                    with m.Default():
                        m.d.comb += self.error.eq(1)
                        respond(0, Const(Error.UNKNOWN, 8))

            with m.State("WAIT"):
                with m.If(self.response_valid):
                    m.d.comb += self.error.eq(~self.done & (self.value == Error.BAD_PORT))
                    respond(self.done, self.value)
                    m.next = "PASS"

            with m.State("CLOSING"):
                with m.If(~connected):
                    m.next = "PASS"

        m.d.comb += self.busy.eq(~passing | answering)

        if platform == "formal":
            self.spy = SimpleNamespace(state=state, close_all=close_all, answering=answering)
            m.d.comb += [
                Assert(~self.pop | self.valid, "only what is there is taken"),
                Assert(~self.move | ~(self.targets & ~self.space).any(), "no symbol goes where there is no space"),
                Assert(~(self.close & ~self.targets).any(), "an input closes only its own connections"),
            ]
        return m
