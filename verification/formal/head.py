"""Proof of hdl/hub/port/head.py: what leaves the queue, what is sent for it, and what a close all holds back.

Statements: H12 (answers), H13, H15; docs/hub.md, "Input side of a port". Of the queue it is assumed that commands in
the stream are complete, and that behind a cycle in which nothing waits no entry is valid when a command is offered past
it."""

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.commands import HELLO, REPLY, Error, Op
from ...hdl.hub.messages import FAULTS, Reply, Request, index_bits
from ...hdl.hub.port.entry import CLOSES, OWN_OP_BITS, is_command, is_start
from ...hdl.hub.port.head import Head
from ...hdl.link.symbol import CONTROL_BIT, Control
from .faults import Fault, with_fields
from .output_port import is_sent
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "HeadProof"]


class HeadProof(wiring.Component):
    """A head. Entries, space, connections, decisions and the way of the answers do as they like."""

    def __init__(self, ports, port=0):
        self.head = Head(ports, port)
        self.ports = ports
        self.port = port
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        head, ports = self.head, self.ports
        control, crossbar = head.control, head.crossbar
        m.submodules.head = look_into(head, platform)
        probes = head.probes
        for signal in (
            head.entry,
            head.hub_id,
            crossbar.connected,
            crossbar.blocked,
            control.done,
            control.value,
            head.answer.ready,
            head.offered.as_value(),
            head.halt,
            head.expired,
            control.mine,
        ):
            m.d.comb += signal.eq(AnySeq(len(signal)))
        entry = head.entry
        m.d.comb += [head.valid.eq(AnySeq(1) & ~head.halt), crossbar.clear.eq(~crossbar.blocked)]

        # Where in a command of the stream the next symbol stands, and whether it is a close all.
        place, closing_command = Signal(2), Signal()
        leaves, takes, accepts, last = Signal(), Signal(), Signal(), Signal()
        own, closes_all, symbol = Signal(), Signal(), Signal(9)
        command = Signal(Request)
        was_clean, way = Signal(), Signal()  # nothing was in front; and a command would have been taken
        passes, takes_parameter, executes, ends, waits = (
            Signal(init=name == "PASS", name=name.lower()) for name in ("PASS", "PARAMETER", "EXECUTE", "END", "WAIT")
        )
        closing = Signal()  # in the cycle before, connections had still to end behind a close all
        asked, answers, answer = Signal(), Signal(), Signal(Reply)
        m.d.comb += [
            own.eq(entry[8] & entry[7]),
            closes_all.eq((place == 1) & (entry == CLOSES | Op.CLOSE_ALL)),
            symbol.eq(Mux(closes_all, Op.CLOSE_ALL, entry)),
            head.own.eq(Mux(head.valid & ~takes_parameter, own, AnySeq(1))),
            head.control_code.eq(Mux(head.valid & ~takes_parameter & ~own, symbol[8], AnySeq(1))),
            Assume(
                ~head.valid
                | takes_parameter
                | own & (place == 0)
                | closes_all
                | is_sent(entry)
                & ((place == 0) | ~(entry & CONTROL_BIT).any())
                & ((place != 1) | (entry != Op.CLOSE_ALL))
            ),
            control.fault.eq(
                Mux(
                    control.response_valid,
                    Cat(~control.done & (control.value == error) for error in FAULTS),
                    AnySeq(len(FAULTS)),
                )
            ),
            control.quiet.eq(Mux(control.response_valid, command.op[1:] == HELLO >> 1, AnySeq(1))),
            head.clean.eq(AnySeq(1) & ~head.valid & (place == 0)),
            head.offer.eq(AnySeq(1)),
            Assume(~(head.offer & was_clean) | ~head.valid & (place == 0)),
            control.response_valid.eq(AnySeq(1) & asked),
            control.resume.eq(AnySeq(1) & asked & waits),
            last.eq((place == 3) & closing_command),
        ]
        with m.If(leaves):
            with m.If((place != 0) | (entry == Control.COMMAND)):
                m.d.sync += place.eq(place + 1)
            with m.If(place == 1):
                m.d.sync += closing_command.eq(closes_all)
        with m.If(head.halt):
            m.d.sync += place.eq(0)

        # What it does now: passes on, takes the rest of a command, executes it, closes, waits for the controller. While
        # connections have to end, no symbol is passed on and no command executed.
        states = Cat(passes, takes_parameter, executes, ends, waits)
        wants, close_one, close_mine, bad = Signal(), Signal(), Signal(), Signal()
        here, resumed = Signal(), Signal()
        m.d.comb += [
            leaves.eq(passes & ~closing & head.valid & ~own & ~crossbar.blocked),
            takes.eq(passes & head.valid & own & ~asked & ~answers),
            accepts.eq(way & head.offer & ~head.halt),
            wants.eq((command.op & REPLY).any() & (command.op != HELLO | REPLY)),
            close_one.eq((command.op == Op.CLOSE) | (command.op == Op.CLOSE_REPLY)),
            close_mine.eq(
                (command.op == Op.CLOSE_MINE) | (command.op == Op.CLOSE_MINE_REPLY) | (command.op == Op.CLOSE_ALL_REPLY)
            ),
            here.eq(close_one | close_mine),
            bad.eq((command.param >= ports) | (command.param == self.port)),
        ]
        m.d.sync += [
            was_clean.eq(head.clean),
            way.eq(passes & head.clean & ~asked & ~answers & ~head.halt & ~accepts),
        ]
        giving_up, mine = Signal(), Signal()
        with m.If(waits):
            m.d.sync += giving_up.eq(giving_up | head.halt | head.expired)
            m.d.sync += resumed.eq(control.resume)
            with m.If(control.resume | control.response_valid):
                m.d.sync += [waits.eq(0), passes.eq(1), giving_up.eq(0)]
        with m.Else():
            m.d.sync += resumed.eq(0)
        with m.If(takes):
            m.d.sync += [passes.eq(0), takes_parameter.eq(1), command.op[:OWN_OP_BITS].eq(entry)]
        with m.If(accepts):
            m.d.sync += [
                passes.eq(0),
                executes.eq(1),
                command.eq(head.offered),
            ]
        m.d.sync += closing.eq((leaves & last | closing) & crossbar.connected)
        with m.If(takes_parameter & head.halt):
            m.d.sync += [takes_parameter.eq(0), passes.eq(1)]
        with m.Elif(takes_parameter & head.valid):
            m.d.sync += [
                takes_parameter.eq(0),
                executes.eq(1),
                command.param.eq(entry),
                command.op[OWN_OP_BITS].eq(entry[8]),
            ]
        with m.If(executes & closing):
            with m.If(head.halt):
                m.d.sync += [executes.eq(0), passes.eq(1)]
        with m.Elif(executes):
            m.d.sync += [executes.eq(0), waits.eq(~here), ends.eq(here), asked.eq(~here), mine.eq(control.mine)]
            with m.If(~here):
                m.d.sync += giving_up.eq(head.halt | head.expired)
        with m.If(ends):
            m.d.sync += [ends.eq(0), passes.eq(1)]

        responds, refusal = Signal(), Signal(8)
        done, value = Signal(), Signal(8)
        m.d.comb += [
            refusal.eq(Mux(bad, Error.BAD_PORT, Error.NOT_MINE)),
            done.eq(Mux(ends, close_mine | ~bad & mine, control.done)),
            value.eq(Mux(ends, Mux(done, command.param, refusal), control.value)),
            responds.eq(ends | control.response_valid),
        ]
        with m.If(head.answer.ready):
            m.d.sync += answers.eq(0)
        with m.If(responds):
            m.d.sync += [
                asked.eq(0),
                answers.eq(wants),
                answer.op.eq(Cat(done, command.op[1:])),
                answer.value.eq(value),
            ]

        m.d.comb += [
            Assert(
                head.pop == (leaves | takes | takes_parameter & head.valid),
                "it takes an entry whenever nothing holds it, and only then",
            ),
            Assert(head.accept == accepts, "a command is taken past a queue that was clean in the cycle before"),
            Assert(head.way == (way & ~head.halt)),
            Assert(~way | passes & was_clean & ~asked & ~answers),
            Assert(crossbar.move == leaves, "a symbol goes on when all outputs can take it"),
            Assert(~(crossbar.move & crossbar.blocked)),
            Assert(~crossbar.move | (crossbar.beat.symbol == symbol)),
            Assert(
                ~crossbar.move | (crossbar.beat.closes == last),
                "the last symbol of a close all, and only that, is marked",
            ),
            Assert(
                head.start_left == (leaves & (symbol == Control.START)),
                "a ready signal is sent exactly when a start leaves",
            ),
            Assert(
                ~closing
                | ~Cat(crossbar.move, control.request_valid, control.close_one, control.close_mine, ends, waits).any(),
                "nothing follows a close all too early",
            ),
            Assert(probes.closing == closing),
            Assert(~(executes | ends) | (probes.bad == bad)),
            Assert(control.request_valid == (executes & ~closing & ~here), "a command goes to the controller once"),
            Assert(
                ~(executes | ends | waits | asked) | (control.request.as_value() == command.as_value()),
                "and holds until it is answered",
            ),
            Assert(
                ~(executes | ends | waits | asked) | (head.named == (1 << command.param[: index_bits(ports)])[:ports]),
                "so does what it names",
            ),
            Assert(
                control.close_one == (ends & close_one & mine & ~bad),
                "a close ends the one connection that it names, if it is the input's own",
            ),
            Assert(control.close_mine == (ends & close_mine)),
            Assert(~ends | here),
            Assert(control.give_up == giving_up),
            Assert(head.answer.valid == answers, "each command that wants one gets one answer"),
            Assert(
                ~answers | (head.answer.payload.op == answer.op) & (head.answer.payload.value == answer.value),
                "which is true and stays until it is taken",
            ),
            Assert(head.answer.payload.hub == head.hub_id),
            Assert(head.moved == (leaves | takes | accepts | resumed | control.response_valid)),
            Assert(probes.passes == (passes & ~closing)),
            Assert(head.holds == (~passes | closing | resumed)),
            Assert(~resumed | passes),
            Assert(head.busy == (~passes | closing | asked | answers)),
            Assert((states != 0) & ((states & (states - 1))[:5] == 0)),
            Assert(probes.states == states),
            Assert((probes.answering == answers) & (probes.asked == asked)),
            Assert(
                ~(executes | ends | waits | asked | takes_parameter) | ~answers, "no answer is written over another"
            ),
            Assert(~(executes | ends | takes_parameter) | ~asked),
            Assert(~waits | asked),
            Assert(giving_up <= waits),
            Assert(~(executes | ends | takes_parameter | waits) | (place == 0)),
            Assert(~takes_parameter | (control.request.op[:OWN_OP_BITS] == command.op[:OWN_OP_BITS])),
            Assert((probes.last_but_one == (closing_command & (place == 2))) & (probes.last == last)),
        ]
        for error, name in FAULTS.items():
            refused = (value == error) & responds & ~done
            m.d.comb += Assert(
                getattr(head, name) == refused, "each refusal that is an error is counted once, under its name"
            )
        m.d.comb += Assume(~control.response_valid | control.done | (control.value < 16))
        return m


PROOFS = [
    Proof(
        "head",
        "it obeys commands, passes on the rest and holds what follows a close all",
        'H13, H15; docs/hub.md, "Input side of a port"',
        holds={
            "4 ports": Attempt(lambda: HeadProof(4)),
            "16 ports": Attempt(lambda: HeadProof(16), nightly=True),
        },
        search=Attempt(lambda: HeadProof(3), mode="bmc", depth=8),
        faults={
            "nothing waits for a close all": Fault(Head, "closed", lambda was, s: 0),
            "a ready signal is sent for what still waits": Fault(
                Head, "start_left", lambda was, s: s.valid & is_start(s.entry)
            ),
            "no ready signal for a start that is dropped": Fault(
                Head, "start_left", lambda was, s: was & s.crossbar__connected
            ),
            "a symbol goes on when an output cannot take it": Fault(
                Head, "leaves", lambda was, s: s.passes & s.valid & ~s.own
            ),
            "a command is taken before the one before is answered": Fault(
                Head, "willing", lambda was, s: s.passes & ~s.halt & ~s.answering
            ),
            "an answer is written over another": Fault(Head, "willing", lambda was, s: s.passes & ~s.halt & ~s.asked),
            "a close of a port that there is not closes another": Fault(
                Head, "control__close_one", lambda was, s: s.executes & s.close_one & s.control__mine
            ),
            "a close all is marked too early": Fault(
                Head, "crossbar__beat", lambda was, s: with_fields(was, closes=s.last_but_one)
            ),
            "a command passes what waits": Fault(Head, "way", lambda was, s: s.willing),
            "every command is a close all": Fault(Head, "closes", lambda was, s: is_command(s.entry)),
        },
    )
]
