"""Proof of hdl/hub/control/controller.py together with the status table and the locks: what becomes of every request,
and when.

Statements: H4, H9, H10; docs/hub.md, "Controller and status table". One arbitrary request of one arbitrary port is
followed from its arrival to its decision; what is shown for it holds for all of them."""

from amaranth.asserts import AnySeq
from amaranth.hdl import Array, Assert, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.commands import RETRY, SUPERVISOR, TEST, Op
from ...hdl.hub.control.controller import Controller
from ...hdl.hub.control.locks import Locks
from ...hdl.hub.control.status_table import StatusTable
from .arbiter import waiting
from .faults import Fault
from .locks import lock_properties
from .proof import Attempt, Proof
from .prove import look_into
from .status_table import any_port, table_properties

__all__ = ["PROOFS", "ControllerProof"]


def _is_in(value, ops):
    """Whether ``value`` is one of ``ops``."""
    return Cat(value == op for op in ops).any()


_OPENS = [op for op in Op if Op.OPEN <= op <= Op.TEST_OPEN_RETRY_REPLY]
_LOCKS = [Op.LOCK, Op.LOCK_REPLY, Op.LOCK_RETRY, Op.LOCK_RETRY_REPLY]
_USER = [op for op in Op if not op & SUPERVISOR]


class ControllerProof(wiring.Component):
    """A controller with table and locks. Connections end, locks are given back, ready bits and enabled ports change,
    and commands are given up at any time; a port asks again only after the response to its last request, which comes
    some time after the decision."""

    def __init__(self, ports, backplane):
        self.controller = Controller(ports, backplane)
        self.ports = ports
        self.backplane = backplane
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        ports, dut, table, locks = self.ports, self.controller, StatusTable(self.ports), Locks(self.ports)
        m.submodules.controller = look_into(dut, platform)
        m.submodules.table = look_into(table, platform)
        m.submodules.locks = look_into(locks, platform)
        probes = dut.probes

        # The surroundings: ports, and the rest of the HUB.
        outstanding, decided = Signal(ports), Signal(ports)  # asked and not answered; decided and not answered
        answered = Signal(ports)
        m.d.comb += answered.eq(AnySeq(ports) & decided)
        m.d.sync += [
            outstanding.eq((outstanding | dut.request_valid) & ~answered),
            decided.eq((decided | probes.turns.pick & probes.counts) & ~answered),
        ]
        # A lock is taken two cycles after its decision.
        unlocks, locks_now, named, locker = Signal(), Signal(), Signal(ports), Signal(ports)
        m.d.sync += [locks_now.eq(dut.decided.any() & dut.order.locks), named.eq(dut.place), locker.eq(dut.decided)]
        m.d.comb += [
            dut.request_valid.eq(AnySeq(ports) & ~outstanding),
            dut.give_up.eq(AnySeq(ports)),
            dut.expired.eq(AnySeq(ports)),
            dut.ready.eq(AnySeq(ports)),
            dut.enabled.eq(AnySeq(ports)),
            dut.allowed.eq(AnySeq(ports)),
            dut.finished.eq(AnySeq(1)),
            dut.mine.eq(table.mine),
            dut.connected.eq(table.connected),
            dut.locked.eq(locks.locked),
            table.enter.eq(dut.enter),
            table.entered_input.eq(dut.entered_input),
            table.entered_output.eq(dut.entered_output),
            table.close_one.eq(AnySeq(ports) & ~outstanding & ~dut.request_valid),
            table.close_mine.eq(AnySeq(ports)),
            table.closed.eq(AnySeq(ports)),
            unlocks.eq(AnySeq(1)),
            locks.change.eq(Mux(locks_now | unlocks, named, 0)),
            locks.who.eq(Mux(locks_now, locker, 0)),
            Assert(locks_now == probes.locked_before),
            Assert(~locks_now | (named == 1 << probes.output_before)),
            locks.release.eq(AnySeq(ports)),
        ]
        requests = []
        for n in range(ports):
            kept, now = Signal(16), Signal(16, name=f"request_{n}")
            m.d.comb += [
                now.eq(Mux(outstanding[n], kept, AnySeq(16))),
                dut.request[n].eq(now),
                table.port[n].eq(dut.request[n].param),
            ]
            m.d.sync += kept.eq(now)
            requests.append(now)
            m.d.comb += dut.shut[n].eq(locks.shut[n])

        port, o = any_port(m, ports, "any_port"), any_port(m, ports, "any_output")
        table_properties(m, table, port, o)
        lock_properties(m, locks, port, o)

        # The request that is followed, and where it is.
        this = Signal(ports)
        op, param = Signal(8), Signal(8)
        has_turn, picked = Signal(), Signal()  # a pick may be in vain
        travels, waits = Signal(self.backplane + 1), Signal()  # the lowest bit of `travels` is the request itself
        m.d.comb += [
            this.eq(1 << port),
            Cat(param, op).eq(Array(requests)[port]),
            has_turn.eq((probes.turns.pick & this).any()),
            picked.eq(has_turn & (probes.counts & this).any()),
            travels[0].eq((dut.request_valid & this).any()),
        ]
        m.d.sync += [travels[1:].eq(travels), waits.eq((waits | travels[-1]) & ~picked)]
        places = Cat(travels[1:], waits, (decided & this).any())
        m.d.comb += [
            Assert((places & (places - 1))[: len(places)] == 0, "a request is in one place"),
            Assert((outstanding & this).any() == places.any(), "and it is in one until it is answered"),
            Assert(~(travels[1:].any() | waits) | dut.busy, "the controller is busy with it"),
            Assert((probes.waiting & this).any() == waits),
            *(
                Assert((register & this).any() == travels[n + 1])
                for n, register in enumerate(probes.crossing[: self.backplane])
            ),
            *(
                Assert((register & (~outstanding | probes.waiting | decided)) == 0)
                for register in probes.crossing[: self.backplane]
            ),
            *(
                Assert((one & other) == 0)
                for n, one in enumerate(probes.crossing[: self.backplane])
                for other in probes.crossing[:n]
            ),
            Assert(((probes.turns.pick | decided) & ~outstanding) == 0),
            Assert((probes.waiting & ~outstanding) == 0),
            Assert((probes.waiting & decided) == 0),
        ]

        # What docs/hub.md says of it: what the tables and the ready bit allow, and what is decided at once.
        opens, locking, waiting_op, bad, test = (
            Signal(name=name) for name in ("opens", "locking", "waiting_op", "bad", "test")
        )
        mask, usable, ready, may_take = Signal(ports), Signal(), Signal(), Signal()
        m.d.comb += [
            opens.eq(_is_in(op, _OPENS)),
            locking.eq(_is_in(op, _LOCKS)),
            test.eq((op & TEST).any()),
            waiting_op.eq((op == Op.AWAIT_READY_REPLY) | (opens | locking) & (op & RETRY).any()),
            bad.eq((param >= ports) | (opens | locking | (op == Op.TEST_LOCK_REPLY)) & (param == port)),
            mask.eq(Mux(param < ports, 1 << param[:7], 0)),
            usable.eq((mask & dut.enabled).any()),
            ready.eq((mask & dut.ready).any()),
        ]
        mine = (Array(table.targets)[port] & mask).any()
        has = opens & mine  # it asks for what it has: that takes nothing
        held_by_others = [Mux(port == n, 0, held) for n, held in enumerate(locks.held)]
        free = ((table.connected & mask) == 0) & ((Array(locks.shut)[port] & mask) == 0)
        checked = Signal()  # its condition is looked at in this cycle
        had = Signal()  # the input had the output that it names in the cycle before
        wants = opens | locking | (op == Op.TEST_LOCK_REPLY)
        # The decision of the cycle before takes the output; it stands in the way of a check, and hits the result of the
        # check before. The one before that stands in the way of a check, if it is a lock.
        taken, stands_in_the_way, stood_in_the_way, hits = (
            Signal(name=name) for name in ("taken", "stands_in_the_way", "stood_in_the_way", "hits")
        )
        m.d.comb += [
            checked.eq((travels[-1] | waits) & ~has_turn & ~probes.freeze),
            stood_in_the_way.eq(
                (param[: len(probes.output)] == probes.output_before) & probes.locked_before & wants & ~has
            ),
            taken.eq((param[: len(probes.output)] == probes.output) & (probes.opened & opens | probes.locked & wants)),
            stands_in_the_way.eq(taken & ~has),
            hits.eq(taken & ~(opens & had)),
            may_take.eq(
                ~bad
                & Mux(
                    opens,
                    usable & (mine | free) & (ready | ~test),
                    Mux(op == Op.AWAIT_READY_REPLY, ready, usable & ((Array(locks.shut)[port] & mask) == 0)),
                )
            ),
        ]
        could, must, was_ready, was_usable, was_allowed = (
            Signal(name=name) for name in ("could", "must", "was_ready", "was_usable", "was_allowed")
        )
        m.d.sync += [
            could.eq(checked & may_take & ~stands_in_the_way & ~stood_in_the_way),
            must.eq(
                checked & (bad | ~waiting_op | (dut.give_up & this).any() | ~usable & (op != Op.AWAIT_READY_REPLY))
            ),
            was_ready.eq(ready),
            was_usable.eq(usable),
            had.eq((table.mine & this).any()),
            was_allowed.eq((dut.allowed & this).any()),
        ]
        takes_part = Signal()
        m.d.comb += takes_part.eq((probes.turns.asks & this).any())
        with m.If(opens | locking | (op == Op.AWAIT_READY_REPLY) | (op == Op.TEST_LOCK_REPLY)):
            m.d.comb += Assert(takes_part == (must | could), "nothing delays what can be decided but the turns")
        with m.Elif(_is_in(op, _USER)):
            m.d.comb += Assert(~must | takes_part)
        m.d.comb += [
            Assert(~takes_part | waits),
            Assert(~(could | must) | waits),
        ]
        waited = waiting(m, probes.turns, ports, port)

        # How long an output that a waiting open names has been free for it, without pause and with nobody else taking
        # it.
        usable_for = Signal(range(2 * ports + 4))
        with m.If(
            waits
            & ~picked
            & opens
            & (param == o)
            & ~bad
            & usable
            & (ready | ~test)
            & ~probes.freeze
            & ~stands_in_the_way
            & ~stood_in_the_way
            & ~Cat(row.bit_select(o, 1) for row in table.targets).any()
            & ~Cat(row.bit_select(o, 1) for row in held_by_others).any()
        ):
            m.d.sync += usable_for.eq(usable_for + 1)
        with m.Else():
            m.d.sync += usable_for.eq(0)
        m.d.comb += [
            Assert((usable_for < 2) | takes_part),
            Assert(
                ~(has_turn & ~picked) | hits & ~must,
                "a pick is in vain only for what waits, when its output has just been taken",
            ),
            Assert(
                ~(picked & waiting_op) | must | (probes.done & this).any(),
                "what waits is decided when it is granted, and not before, save at once",
            ),
            Assert(
                usable_for + dut.decided.any() <= 2 * waited + 3, "behind each decision at most one pick is in vain"
            ),
            Assert(
                usable_for <= 2 * ports + 1,
                "a retry is decided in the cycle 2 * ports + 2 in which its output is free for it at the latest",
            ),
            Assert(~(picked & (usable_for >= 2) & ~hits) | (probes.done & this).any(), "and is granted then"),
        ]

        # The decision, and what it does.
        enters = (dut.enter & this).any()
        m.d.comb += [
            Assert((dut.enter & (dut.enter - 1))[:ports] == 0, "one connection a cycle"),
            Assert(
                ~enters | picked & opens & ~bad & was_usable & (was_ready | ~test),
                "a connection is entered for an open that was decided, and for no other",
            ),
            Assert(~(picked & opens & could & ~hits & ~had) | enters, "and if it can be it is"),
            Assert(
                ~(picked & opens & had & ~bad & was_usable & (was_ready | ~test))
                | (probes.done & this).any() & ~enters,
                "an open of what the input has is done, whatever else is decided, and enters nothing",
            ),
        ]
        with m.If(enters & (param == o)):
            m.d.comb += [
                Assert(sum(row.bit_select(o, 1) for row in table.targets) == 0, "only to an output that is free"),
                Assert(sum(row.bit_select(o, 1) for row in held_by_others) == 0, "and not locked by another"),
            ]
        was_picked, had_entered, had_done = Signal(), Signal(), Signal()
        m.d.sync += [was_picked.eq(picked), had_entered.eq(enters), had_done.eq((probes.done & this).any())]
        with m.If(was_picked):
            m.d.comb += [
                Assert(dut.decided == this, "every decision is told, in turn"),
                Assert((dut.order.request.op == op) & (dut.order.request.param == param) & (dut.order.port == port)),
                Assert(dut.order.done == had_done),
                Assert(dut.order.supervisor == (op[7] & was_allowed), "only who is allowed to supervises"),
                Assert((dut.opened & this).any() == had_entered),
                Assert(dut.order.locks == (locking & had_done), "a lock is granted if it was done"),
                Assert(dut.entered_output == Mux(opens & had_done, mask, 0)),
                Assert(~had_entered | (dut.entered_input == port)),
            ]
            with m.If(~had_done):
                m.d.comb += Assert(
                    ~dut.order.locks & (dut.entered_output == 0) & (dut.opened == 0) & ~had_entered,
                    "what is refused changes nothing",
                )
        with m.If(locks_now & (locker == this) & named.bit_select(o, 1)):
            m.d.comb += Assert(sum(row.bit_select(o, 1) for row in held_by_others) == 0, "a lock is taken from nobody")
        m.d.comb += [
            Assert((dut.decided & this).any() == was_picked),
            Assert(~was_picked | (decided & this).any()),
        ]
        return m


PROOFS = [
    Proof(
        "controller",
        "it decides one request a cycle, grants truly and starves nobody",
        'H4, H9, H10; docs/hub.md, "Controller and status table"',
        holds={
            "3 ports": Attempt(lambda: ControllerProof(3, 0), depth=5),
            "3 ports and a backplane register": Attempt(lambda: ControllerProof(3, 1), depth=5),
            "4 ports and two backplane registers": Attempt(lambda: ControllerProof(4, 2), depth=5, nightly=True),
            "6 ports and a backplane register": Attempt(lambda: ControllerProof(6, 1), depth=5, nightly=True),
        },
        search=Attempt(lambda: ControllerProof(3, 0), mode="bmc", depth=8),
        everyday=0,
        faults={
            "what was decided in the cycle before is forgotten": Fault(Controller, "hit", lambda was, s: 0),
            "an open that is refused takes the output": Fault(
                Controller, "enter", lambda was, s: s["turns.pick"] & s.opening
            ),
            "a lock shuts nobody out": Fault(Controller, "free_{n}", lambda was, s, n: 1),
            "a test open does not look at the ready bit": Fault(
                Controller, "ready_{n}", lambda was, s, n: was | s.opens[n]
            ),
            "a port opens itself": Fault(
                Controller,
                "usable_{n}",
                lambda was, s, n: was | (s.enabled[n] & (s[f"request__{n}"].param[: len(s.output)] == n)),
            ),
            "a retry is refused at once": Fault(Controller, "now_{n}", lambda was, s, n: 1),
            "a request that comes with a decision is lost": Fault(
                Controller, "waiting", lambda was, s: Mux(s["turns.pick"].any(), was & s.waiting, was)
            ),
            "who is not allowed to supervises": Fault(
                Controller,
                "supervising",
                lambda was, s: s["turns.pick"] & Cat(s[f"request__{n}"].op[7] for n in range(len(was))),
            ),
            "a lock that is under way is forgotten": Fault(Controller, "same_before_{n}", lambda was, s, n: 0),
            "a lock that is decided keeps an input from what it has": Fault(
                Controller, "wanting", lambda was, s: s.opens | s.locks
            ),
            "a lock that is under way keeps an input from what it has": Fault(
                Controller, "can_{n}", lambda was, s, n: was & (s[f"clear_{n}"] | ~s.opens[n])
            ),
            "who is picked in vain is decided": Fault(Controller, "counts", lambda was, s: -1),
        },
    )
]
