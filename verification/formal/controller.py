"""Proof of hdl/hub/control/controller.py together with the status table and the locks: what becomes of every request,
and when.

Statements: H4, H9, H10; docs/hub.md, "Controller and status table". One arbitrary request of one arbitrary port is
followed from its arrival to its decision; what is shown for it holds for all of them."""

from amaranth.asserts import AnySeq
from amaranth.hdl import Array, Assert, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.commands import RETRY, TEST, Op
from ...hdl.hub.control.arbiter import Arbiter
from ...hdl.hub.control.controller import Controller
from ...hdl.hub.control.locks import Locks
from ...hdl.hub.control.status_table import StatusTable
from ...hdl.hub.messages import index_bits
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


class ControllerProof(wiring.Component):
    """A controller with table and locks. Connections end, locks are given back, ready bits and enabled ports change,
    and commands are given up at any time; a port asks again only after the response to its last request, which comes
    some time after the decision."""

    def __init__(self, ports):
        self.controller = Controller(ports)
        self.ports = ports
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
            decided.eq((decided | dut.decided) & ~answered),
        ]
        # The decision of this cycle, and those of the two cycles before. A lock is taken in the cycle behind its
        # decision.
        opens_now, locks_now, opened, locked, locked_before = (
            Signal(name=name) for name in ("opens_now", "locks_now", "opened", "locked", "locked_before")
        )
        place, place_before, locker = Signal(ports, init=1), Signal(ports, init=1), Signal(ports)
        m.d.comb += [
            opens_now.eq(dut.decided.any() & dut.order.done & _is_in(dut.order.request.op, _OPENS)),
            locks_now.eq(dut.decided.any() & dut.order.locks),
        ]
        m.d.sync += [
            Cat(opened, locked, locked_before).eq(Cat(opens_now, locks_now, locked)),
            Cat(place, place_before, locker).eq(Cat(dut.place, place, dut.decided)),
        ]
        m.d.comb += [
            Assert(Cat(opened, locked, locked_before) == Cat(probes.opened, probes.locked, probes.locked_before)),
            Assert((place == (1 << probes.output)[:ports]) & (place_before == (1 << probes.output_before)[:ports])),
            dut.request_valid.eq(AnySeq(ports) & ~outstanding),
            dut.give_up.eq(AnySeq(ports)),
            dut.expired.eq(AnySeq(ports)),
            dut.ready.eq(AnySeq(ports)),
            dut.enabled.eq(AnySeq(ports)),
            dut.allowed.eq(AnySeq(ports)),
            dut.finished.eq(AnySeq(1)),
            dut.mine.eq(table.mine),
            # What ends now by the output may be told to be free.
            dut.connected.eq(table.connected & ~(table.closed & AnySeq(ports))),
            table.enter.eq(dut.enter),
            table.entered_input.eq(dut.entered_input),
            table.close_one.eq(AnySeq(ports) & ~outstanding & ~dut.request_valid),
            table.close_mine.eq(AnySeq(ports)),
            table.closed.eq(AnySeq(ports)),
            locks.change.eq(Mux(locked, place, 0)),
            locks.who.eq(Mux(locked, locker, 0)),
            locks.given.eq(locked),
            locks.give_back.eq(AnySeq(ports)),
            locks.release.eq(AnySeq(ports)),
        ]
        requests = []
        for n in range(ports):
            kept, now = Signal(16), Signal(16, name=f"request_{n}")
            m.d.comb += [
                now.eq(Mux(outstanding[n], kept, AnySeq(16))),
                dut.request[n].eq(now),
                table.named[n].eq(1 << dut.request[n].param[: index_bits(ports)]),
                dut.named[n].eq(table.named[n]),
                dut.shut[n].eq(locks.shut[n]),
            ]
            m.d.sync += kept.eq(now)
            requests.append(now)

        port, o = any_port(m, ports, "any_port"), any_port(m, ports, "any_output")
        table_properties(m, table, port, o)
        lock_properties(m, locks, o)

        # The request that is followed, and where it is.
        this = Signal(ports)
        op, param = Signal(8), Signal(8)
        has_turn, told = Signal(), Signal()  # it is picked, perhaps in vain; it is decided
        comes, waits = Signal(), Signal()
        m.d.comb += [
            this.eq(1 << port),
            Cat(param, op).eq(Array(requests)[port]),
            has_turn.eq((probes.turns.pick & this).any()),
            told.eq((dut.decided & this).any()),
            comes.eq((dut.request_valid & this).any()),
        ]
        m.d.sync += waits.eq(comes | waits & ~told)
        places = Cat(waits, (decided & this).any())
        m.d.comb += [
            Assert((places & (places - 1))[: len(places)] == 0, "a request is in one place"),
            Assert((outstanding & this).any() == places.any(), "and it is in one until it is answered"),
            Assert(~waits | dut.busy, "the controller is busy with it"),
            Assert((probes.asking & this).any() == waits),
            Assert(((probes.turns.pick | probes.picked | decided) & ~outstanding) == 0),
            Assert((probes.picked & ~probes.asking) == 0),
            Assert((probes.asking & ~outstanding) == 0),
            Assert((probes.asking & decided) == 0),
        ]

        # What docs/hub.md says of it: what the tables and the ready bit allow, and what is decided at once.
        opens, locking, waiting_op, bad, test = (
            Signal(name=name) for name in ("opens", "locking", "waiting_op", "bad", "test")
        )
        mask, usable, ready, may_take, has, wants = (
            Signal(width, name=name)
            for name, width in (("mask", ports), ("usable", 1), ("ready", 1), ("may_take", 1), ("has", 1), ("wants", 1))
        )
        mine = (Array(table.targets)[port] & mask).any()
        held_by_others = [Mux(port == n, 0, held) for n, held in enumerate(locks.held)]
        shut = (Array(locks.shut)[port] & mask).any()
        m.d.comb += [
            opens.eq(_is_in(op, _OPENS)),
            locking.eq(_is_in(op, _LOCKS)),
            test.eq((op & TEST).any()),
            waiting_op.eq((op == Op.AWAIT_READY_REPLY) | (opens | locking) & (op & RETRY).any()),
            wants.eq(opens | locking | (op == Op.TEST_LOCK_REPLY)),
            bad.eq((param >= ports) | wants & (param == port)),
            mask.eq(Mux(param < ports, 1 << param[:7], 0)),
            usable.eq((mask & dut.enabled).any()),
            ready.eq((mask & dut.ready).any()),
            has.eq(opens & mine),  # it asks for what it has: that takes nothing
            may_take.eq(
                ~bad
                & Mux(
                    opens,
                    usable & (mine | ~(dut.connected & mask).any() & ~shut) & (ready | ~test),
                    Mux(op == Op.AWAIT_READY_REPLY, ready, usable & ~shut),
                )
            ),
        ]
        # Its check, with the tables of the cycle before. Decisions that these do not show stand in its way: the one of
        # this cycle, the one before, and the one before that if it is a lock.
        could_take, was_usable, was_ready, had, stands_in_the_way = (
            Signal(name=name) for name in ("could_take", "was_usable", "was_ready", "had", "stands_in_the_way")
        )
        takes_it = (mask & dut.place).any() & wants & (locks_now | opens_now & opens)
        m.d.sync += Cat(could_take, was_usable, was_ready, had).eq(Cat(may_take, usable, ready, has))
        m.d.comb += stands_in_the_way.eq(
            ~had
            & (
                takes_it
                | (mask & place).any() & wants & (locked | opened & opens)
                | (mask & place_before).any() & wants & locked_before
            )
        )
        # In the next cycle: it takes part in the turns, or has just been picked. The decision of that cycle may hit it.
        could, must, had_before, were_ready, were_usable, hits = (
            Signal(name=name) for name in ("could", "must", "had_before", "were_ready", "were_usable", "hits")
        )
        had_turn, had_turn_before, takes_part, picked = (
            Signal(name=name) for name in ("had_turn", "had_turn_before", "takes_part", "picked")
        )
        m.d.sync += [
            could.eq(waits & could_take & ~stands_in_the_way),
            must.eq(
                waits & (bad | ~waiting_op | (dut.give_up & this).any() | ~was_usable & (op != Op.AWAIT_READY_REPLY))
            ),
            Cat(had_before, were_ready, were_usable).eq(Cat(had, was_ready, was_usable)),
            Cat(had_turn, had_turn_before).eq(Cat(has_turn, had_turn)),
        ]
        done = could & ~hits
        m.d.comb += [
            hits.eq(takes_it & ~had_before),
            takes_part.eq((probes.turns.asks & this).any()),
            picked.eq(has_turn & (done | must)),
            Assert((probes.picked & this).any() == had_turn),
            Assert((probes.picked_before & this).any() == had_turn_before),
            Assert(~takes_part | waits & ~had_turn & ~had_turn_before & ~probes.frozen),
            Assert(~(could | must) | waits | (decided & this).any()),
        ]
        with m.If(~had_turn & ~had_turn_before & ~probes.frozen):
            m.d.comb += Assert(~must | takes_part)
            with m.If(wants | (op == Op.AWAIT_READY_REPLY)):
                m.d.comb += Assert(takes_part == (must | could), "nothing delays what can be decided but the turns")
        waited = waiting(m, probes.turns, ports, port)

        # Whose turn was last, from the picks and the decisions alone.
        turn, turn_before, somebody_had_turn = (
            Signal(width, name=name)
            for name, width in (("turn", ports), ("turn_before", ports), ("somebody_had_turn", 1))
        )
        m.d.sync += [turn_before.eq(turn), somebody_had_turn.eq(probes.turns.pick.any())]
        with m.If(probes.turns.pick.any()):
            m.d.sync += turn.eq(probes.turns.pick)
        with m.Elif(somebody_had_turn & ~dut.decided.any()):
            m.d.sync += turn.eq(turn_before)
        m.d.comb += [
            Assert(probes.picked.any() == somebody_had_turn),
            Assert(probes.turns.probes.last_before == turn_before),
            Assert(
                probes.turns.probes.last == turn,
                "a pick in vain is no turn, unless another is picked in the cycle behind it; every other pick is one",
            ),
        ]

        # How long an output that a waiting open names has been free for it, without pause and with nobody else taking
        # it.
        usable_for = Signal(range(ports + 4))
        with m.If(
            (comes | waits)
            & ~has_turn
            & ~had_turn
            & opens
            & (param == o)
            & ~bad
            & usable
            & (ready | ~test)
            & ~probes.frozen
            & (has | ~(takes_it | (mask & place).any() & locked))
            & ~Cat(row.bit_select(o, 1) for row in table.targets).any()
            & ~Cat(row.bit_select(o, 1) for row in held_by_others).any()
        ):
            m.d.sync += usable_for.eq(usable_for + 1)
        with m.Else():
            m.d.sync += usable_for.eq(0)
        m.d.comb += [
            Assert((usable_for < 3) | takes_part | probes.frozen),
            Assert(usable_for <= waited + 3),
            Assert(
                usable_for <= ports + 2,
                "a retry is picked in the cycle ports + 3 in which its output is free for it at the latest",
            ),
            Assert(~(picked & (usable_for >= 3) & ~hits) | done, "and is granted then"),
        ]

        # The decision, in the cycle behind the pick, and what it does.
        was_picked, was_done, was_allowed, enters, entered, was_allowed_to = (
            Signal(name=name)
            for name in ("was_picked", "was_done", "was_allowed", "enters", "entered", "was_allowed_to")
        )
        m.d.sync += [
            was_picked.eq(picked),
            was_done.eq(done),
            enters.eq(picked & done & opens & ~had_before),
            was_allowed_to.eq(opens & ~bad & were_usable & (were_ready | ~test)),
            was_allowed.eq((dut.allowed & this).any()),
        ]
        m.d.comb += [
            entered.eq((dut.enter & this).any()),
            Assert((dut.enter & (dut.enter - 1))[:ports] == 0, "one connection a cycle"),
            Assert(dut.opened == dut.enter, "each is told"),
            Assert(told == was_picked, "every decision is told, in turn, and nothing that was picked in vain"),
            Assert(~(had_turn & ~told) | (~was_done & waiting_op), "a pick is in vain only for what waits"),
            Assert(entered == enters, "a connection is entered for an open that is granted, and for no other"),
            Assert(~entered | was_allowed_to),
            Assert(~wants | ((dut.resume & this).any() == told), "each port is told when its open or lock is decided"),
            Assert(~(dut.resume & this).any() | told),
        ]
        with m.If(entered & (param == o)):
            m.d.comb += [
                Assert(sum(row.bit_select(o, 1) for row in table.targets) == 0, "only to an output that is free"),
                Assert(sum(row.bit_select(o, 1) for row in held_by_others) == 0, "and not locked by another"),
                Assert(dut.entered_input == port),
            ]
        with m.If(told):
            m.d.comb += [
                Assert(dut.decided == this),
                Assert((dut.order.request.op == op) & (dut.order.request.param == param) & (dut.order.port == port)),
                Assert(dut.place == (1 << param[: index_bits(ports)])[:ports]),
                Assert(dut.order.supervisor == (op[7] & was_allowed), "only who is allowed to supervises"),
                Assert(dut.order.locks == (locking & was_done), "a lock is granted if it was done"),
                Assert(dut.order.had == (opens & was_done & ~entered), "an open of what the input has enters nothing"),
            ]
            with m.If(wants | (op == Op.AWAIT_READY_REPLY)):
                m.d.comb += Assert(dut.order.done == was_done)
        with m.If(locked & (locker == this) & place.bit_select(o, 1)):
            m.d.comb += Assert(sum(row.bit_select(o, 1) for row in held_by_others) == 0, "a lock is taken from nobody")
        return m


PROOFS = [
    Proof(
        "controller",
        "it decides one request a cycle, grants truly and starves nobody",
        'H4, H9, H10; docs/hub.md, "Controller and status table"',
        holds={
            "3 ports": Attempt(lambda: ControllerProof(3), depth=5),
            "6 ports": Attempt(lambda: ControllerProof(6), depth=5, nightly=True),
        },
        search=Attempt(lambda: ControllerProof(3), mode="bmc", depth=11),
        everyday=0,
        faults={
            "what was decided in the cycle before is forgotten": Fault(Controller, "hit", lambda was, s: 0),
            "an open that is refused takes the output": Fault(Controller, "enters", lambda was, s: s.opening),
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
                Controller, "asking", lambda was, s: Mux(s.decided.any(), was & s.asking, was)
            ),
            "who is not allowed to supervises": Fault(
                Controller, "supervisor", lambda was, s: Cat(s[f"request__{n}"].op[7] for n in range(len(was)))
            ),
            "a lock that is under way is forgotten": Fault(
                Controller,
                "lasts_{n}",
                lambda was, s, n: was & (s[f"request__{n}"].param[: len(s.output)] == s.output),
            ),
            "a lock that is decided keeps an input from what it has": Fault(
                Controller, "wanting", lambda was, s: s.opens | s.locks
            ),
            "a lock that is under way keeps an input from what it has": Fault(
                Controller, "surely_{n}", lambda was, s, n: was & ~s[f"lasts_{n}"]
            ),
            "who is picked in vain is decided": Fault(Controller, "counts", lambda was, s: -1),
            "who has just been picked is picked again": Fault(Controller, "picked_before", lambda was, s: 0),
            "a pick in vain stays a turn": Fault(Controller, "turns.back", lambda was, s: 0),
            "a pick that is decided is no turn": Fault(Controller, "turns.back", lambda was, s: s.picked.any()),
            "two turns run beside each other": Fault(
                Arbiter, "behind", lambda was, s: Mux(s.asks.any() & ~s.behind[0], was, s.behind)
            ),
        },
    )
]
