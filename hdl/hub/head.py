"""Head of a port's input queue: passes symbols on, takes commands out and sees to it that they are done.

Source: "The Design of Nectar" (1989), sections 4.1 and 4.2.1; ``docs/hub.md``, "Input side of a port".
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..link.symbol import REPLY_BIT, SYMBOL_BITS
from .close_all import CloseAllDetector
from .commands import HELLO, Error, Op
from .entry import is_own, is_start
from .messages import Passage, Reply, Request, check_ports

__all__ = ["Head", "FAULTS"]

#: Refusals that are counted as errors, and the members that tell of them.
FAULTS = {Error.UNKNOWN: "unknown", Error.BAD_PORT: "bad_port", Error.NOT_MINE: "not_mine", Error.NOT_ALLOWED: "not_allowed",
          Error.DISABLED: "disabled"}


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
    entry, valid, pop : In(9), In(1), Out(1)
        The queue's head, and that it is taken.
    offer, offered, accept : In(1), In(8), Out(1)
        A command that may be taken without the queue, since that is empty: its opcode, its parameter being ``entry``; and that it is.
    halt : In(1)
        The queue was emptied in the cycle before: nothing is taken in this cycle, and a command that waits, or of which a part was
        taken, is given up.
    expired : In(1)
        A command that waits is given up.
    targets : In(ports)
        Outputs that are connected to this input.
    space : In(ports)
        Outputs that can take a symbol.
    passage, move : Out(Passage), Out(1)
        A symbol goes to all targets in this cycle. ``passage`` means nothing without ``move``.
    start_left : Out(1)
        A start of packet leaves the queue in this cycle, passed on or dropped.
    request, request_valid : Out(Request), Out(1)
        A command for the controller; valid for one cycle. ``request`` holds until the response.
    give_up : Out(1)
        The request that waits for its response is to be refused, unless it can be granted at once.
    resume : In(1)
        The request is decided: symbols may pass from this cycle on. Not every request is told so before its response.
    response_valid, done, value : In(1), In(1), In(8)
        The controller's decision, at any time after the request; value is an error code if not done.
    mine : In(1)
        The low bits of ``request``'s parameter, as many as a port's number has, name an output that is connected to this input.
    close_one, close_mine : Out(1), Out(1)
        The connection to that output ends; all connections of this input end.
    answer : Out(stream.Signature(Reply))
        A reply to the sender of a command.
    unknown, bad_port, not_mine, not_allowed, disabled : Out(1)
        A command is refused with an error that is counted; at most one in a cycle.
    dropped : Out(1)
        A run of symbols begins that are dropped as no output is connected.
    moved : Out(1)
        Something leaves the head: a symbol, a command, or one that waited.
    holds : Out(1)
        A command or a close all is under way.
    busy : Out(1)
        The same, or an answer waits.

    Timing
    ------
    A symbol a cycle. A command is taken in cycles t and t + 1, or, accepted, in t + 1 alone; it stands in the request register in t + 2;
    one that closes is done there, and the next entry may leave in t + 3. All others go to the controller, and hold the head until
    ``resume`` or the cycle after its response. A command waits for the response and the answer to the one before.

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
            "hub_id": In(8), "entry": In(SYMBOL_BITS), "valid": In(1), "pop": Out(1),
            "offer": In(1), "offered": In(8), "accept": Out(1), "halt": In(1), "expired": In(1),
            "targets": In(ports), "space": In(ports), "passage": Out(Passage), "move": Out(1), "start_left": Out(1),
            "request": Out(Request), "request_valid": Out(1), "give_up": Out(1),
            "resume": In(1), "response_valid": In(1), "done": In(1), "value": In(8),
            "mine": In(1), "close_one": Out(1), "close_mine": Out(1), "answer": Out(stream.Signature(Reply)),
            **{name: Out(1) for name in FAULTS.values()}, "dropped": Out(1), "moved": Out(1), "holds": Out(1), "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.close_all = close_all = CloseAllDetector()

        op, param = Signal(8, reset_less=True), Signal(8, reset_less=True)
        asked = Signal()      # the response to the request is still to come
        answering = Signal()  # an answer waits for its way out: op with done in bit 0, and param as the value
        in_run = Signal()     # the symbols before were dropped, and have been counted
        passing, connected, blocked = Signal(), Signal(), Signal()
        own = Signal()        # the entry is the first of a command for this HUB
        leaves, drops, takes = Signal(), Signal(), Signal()  # a symbol leaves; it is dropped; a command is taken out
        m.d.comb += [
            connected.eq(self.targets.any()),
            blocked.eq((self.targets & ~self.space).any()),
            own.eq(is_own(self.entry)),
            leaves.eq(passing & self.valid & ~own & ~blocked & ~self.halt),
            takes.eq(passing & self.valid & own & ~asked & ~answering & ~self.halt),
            self.accept.eq(passing & self.offer & ~asked & ~answering & ~self.halt),
        ]

        # Symbols. The opcode tells whether a command is a close all, so it counts for the control code before it, too.
        m.d.comb += [
            self.move.eq(leaves & connected),
            drops.eq(leaves & ~connected & ~close_all.inside),
            close_all.symbol.eq(self.entry),
            close_all.strobe.eq(leaves),
            close_all.forget.eq(self.halt),
            self.passage.symbol.eq(self.entry),
            self.passage.closes.eq(close_all.last),
            self.start_left.eq(leaves & is_start(self.entry)),
            self.dropped.eq(drops & ~close_all.command & ~in_run),
        ]
        with m.If(leaves | takes | self.accept):
            m.d.sync += in_run.eq(drops & (in_run | ~close_all.command))

        # Commands. A refusal of the opcode that would look like a hello is not sent.
        answers = Signal()
        m.d.comb += [
            answers.eq((op & REPLY_BIT).any() & (op[1:] != HELLO >> 1)),
            self.request.op.eq(op),
            self.request.param.eq(param),
            self.answer.payload.op.eq(op),
            self.answer.payload.hub.eq(self.hub_id),
            self.answer.payload.value.eq(param),
            self.answer.valid.eq(answering),
            self.moved.eq(leaves | takes | self.accept | self.resume | self.response_valid),
        ]
        with m.If(self.answer.ready):
            m.d.sync += answering.eq(0)
        with m.If(takes):
            m.d.sync += op[1:].eq(self.entry)
        with m.If(self.accept):
            m.d.sync += [op.eq(self.offered), param.eq(self.entry)]
        with m.If(self.response_valid):
            m.d.sync += [asked.eq(0), answering.eq(answers), op[0].eq(self.done), param.eq(self.value)]

        close_one, close_mine, bad = Signal(), Signal(), Signal()
        m.d.comb += [
            close_one.eq(op[1:] == Op.CLOSE >> 1),
            close_mine.eq((op[1:] == Op.CLOSE_MINE >> 1) | (op == Op.CLOSE_ALL_REPLY)),
            bad.eq((param >= self.ports) | (param == self.port)),
        ]
        refused = {error: self.response_valid & ~self.done & (self.value[:4] == error) for error in FAULTS}
        m.d.comb += [getattr(self, name).eq(refused[error]) for error, name in FAULTS.items()]

        giving_up = Signal()
        m.d.comb += self.give_up.eq(giving_up)
        with m.FSM(name="state") as state:
            # Where symbols may leave. A state of waiting becomes this one at once.
            m.d.comb += [
                passing.eq(state.ongoing("PASS") | state.ongoing("WAIT") & self.resume),
                self.pop.eq(leaves | takes | state.ongoing("PARAMETER") & self.valid & ~self.halt),
            ]
            with m.State("PASS"):
                with m.If(takes):
                    m.next = "PARAMETER"
                with m.If(self.accept):
                    m.next = "EXECUTE"
                with m.If(leaves & close_all.last & connected):
                    m.next = "CLOSING"

            with m.State("PARAMETER"):
                with m.If(self.halt):
                    m.next = "PASS"
                with m.Elif(self.valid):
                    m.d.sync += [param.eq(self.entry), op[0].eq(self.entry[8])]
                    m.next = "EXECUTE"

            with m.State("EXECUTE"):
                with m.If(close_one | close_mine):
                    m.d.sync += answering.eq(answers)
                    m.next = "PASS"
                with m.Else():
                    m.d.comb += self.request_valid.eq(1)
                    m.d.sync += [asked.eq(1), giving_up.eq(self.halt | self.expired)]
                    m.next = "WAIT"
                m.d.comb += [
                    self.close_one.eq(close_one & self.mine & ~bad),
                    self.close_mine.eq(close_mine),
                ]
                with m.If(close_one & bad):
                    m.d.comb += self.bad_port.eq(1)
                    m.d.sync += [op[0].eq(0), param.eq(Error.BAD_PORT)]
                with m.Elif(close_one & ~self.mine):
                    m.d.comb += self.not_mine.eq(1)
                    m.d.sync += [op[0].eq(0), param.eq(Error.NOT_MINE)]
                with m.Elif(close_one | close_mine):
                    m.d.sync += op[0].eq(1)

            with m.State("WAIT"):
                with m.If(self.halt | self.expired):
                    m.d.sync += giving_up.eq(1)
                with m.If(self.resume | self.response_valid):
                    m.d.sync += giving_up.eq(0)
                    m.next = "PASS"

            with m.State("CLOSING"):
                with m.If(~connected):
                    m.next = "PASS"

        m.d.comb += [
            self.holds.eq(~state.ongoing("PASS")),
            self.busy.eq(self.holds | asked | answering),
        ]

        if platform == "formal":
            self.spy = SimpleNamespace(state=state, close_all=close_all, asked=asked, answering=answering)
            m.d.comb += [
                Assert(~self.pop | self.valid, "only what is there is taken"),
                Assert(~self.move | ~(self.targets & ~self.space).any(), "no symbol goes where there is no space"),
                Assert(~self.close_one | self.mine, "an input closes only its own connections"),
                Assert(~(self.pop & self.halt), "nothing is taken while the queue is emptied"),
            ]
        return m
