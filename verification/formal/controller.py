"""Proof of hdl/hub/controller.py together with the status table: what becomes of every request, and when.

Statements: H4, H10; docs/hub.md, "Controller and status table". One arbitrary request of one arbitrary port is followed from
its arrival to its response; what is shown for it holds for all of them.
"""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Array, Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.commands import COMMANDS, RETRY, STATUS_CONNECTED, TEST, Error, Executor, Op
from ...hdl.hub.messages import Request
from ...hdl.hub.status_table import StatusTable
from .arbiter import waiting
from .prove import look_into
from .status_table import table_properties

__all__ = ["ControllerProof"]

_OPS = [row.op for row in COMMANDS if row.executor is Executor.CONTROLLER]
_OPENS = [op for op in _OPS if op.name.endswith("OPEN") or "OPEN_" in op.name]


def _is_in(value, ops):
    """Whether ``value`` is one of ``ops``."""
    return Cat(value == op for op in ops).any()


class ControllerProof(wiring.Component):
    """A controller of class ``Controller`` with a status table. Connections may be closed, ready bits and error counters
    change at any time; a port asks again only after the response to its last request."""

    def __init__(self, Controller, ports, backplane=1):
        self.controller = Controller(ports, backplane)
        self.ports = ports
        self.backplane = backplane
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        ports, dut, table = self.ports, self.controller, StatusTable(self.ports)
        m.submodules.controller = look_into(dut, platform)
        m.submodules.table = look_into(table, platform)
        spy = dut.spy

        # The surroundings.
        outstanding = Signal(ports)
        m.d.sync += outstanding.eq((outstanding | dut.request_valid) & ~dut.response_valid)
        m.d.comb += [
            dut.request_valid.eq(AnySeq(ports) & ~outstanding),
            dut.connected.eq(table.connected),
            dut.ready.eq(AnySeq(ports)),
            table.closed.eq(AnySeq(ports)),
            table.grant_input.eq(dut.grant_input),
            table.grant_index.eq(dut.grant_index),
            table.grant_output.eq(dut.grant_output),
        ]
        for n in range(ports):
            m.d.comb += [
                dut.request[n].eq(Request(AnySeq(16))),
                dut.targets[n].eq(table.targets[n]),
                dut.owner[n].eq(table.owner[n]),
                dut.errors[n].eq(AnySeq(8)),
                table.close[n].eq(AnySeq(ports)),
                Assume(~dut.request_valid[n] | _is_in(dut.request[n].op, _OPS)),
            ]
        table_properties(m, table, ports)
        m.d.comb += Assert(dut.grant_input.any() == dut.grant_output.any(), "a grant has an input and an output")

        # The request that is followed, and where it is.
        port = Signal(range(ports), name="any_port")
        m.d.comb += [port.eq(AnyConst(port.shape())), Assume(port < ports)]
        this = Signal(ports)
        m.d.comb += this.eq(1 << port)
        op, param = Signal(8), Signal(8)
        asks, decided = Signal(), Signal()
        m.d.comb += [asks.eq((dut.request_valid & this).any()), decided.eq((spy.turns.pick & this).any())]
        with m.If(asks):
            m.d.sync += Cat(param, op).eq(Array([r.as_value() for r in dut.request])[port])
        travels, waits = Signal(self.backplane + 1), Signal()  # the lowest bit of `travels` is the request itself
        returns = Signal(self.backplane + 1)                   # the highest bit is the response
        m.d.comb += travels[0].eq(asks)
        m.d.sync += [
            travels[1:].eq(travels),
            waits.eq(waits & ~decided | travels[-1]),
            returns.eq(Cat(decided, returns)),
        ]
        places = Cat(travels[1:], waits, returns)
        m.d.comb += [
            Assert((places & (places - 1))[:len(places)] == 0, "a request is in one place"),
            Assert((outstanding & this).any() == places.any(), "and it is in one until it is answered"),
            Assert(~places.any() | _is_in(op, _OPS)),
            Assert(~places.any() | dut.busy, "the controller is busy with it"),
            Assert((spy.pending & this).any() == waits),
            Assert((spy.decided & this).any() == returns[0]),
        ]
        for n, (valid, *requests) in enumerate(spy.stages[:self.backplane]):
            m.d.comb += Assert((valid & this).any() == travels[n + 1])
            with m.If(travels[n + 1]):
                m.d.comb += Assert(Array(requests)[port] == Cat(param, op))
        for n, (valid, _, _) in enumerate(spy.stages[self.backplane:]):
            m.d.comb += Assert((valid & this).any() == returns[n + 1])

        # What docs/hub.md says of it.
        opens, bad, test, mask, usable = Signal(), Signal(), Signal(), Signal(ports), Signal()
        taken, success, can = Signal(), Signal(), Signal()
        m.d.comb += [
            opens.eq(_is_in(op, _OPENS)),
            bad.eq((param >= ports) | opens & (param == port)),
            test.eq((op & TEST).any()),
            mask.eq(Mux(bad, 0, 1 << param[:7])),
            taken.eq((mask & dut.connected & ~Array(dut.targets)[port]).any()),
            usable.eq(~taken & (~test | (mask & dut.ready).any())),
            success.eq(~bad & (~opens | usable)),
            can.eq(success | bad | ~(opens & (op & RETRY).any())),
        ]
        with m.If(waits):
            entry = Signal(spy.held[0].shape())
            m.d.comb += entry.eq(Array([held.as_value() for held in spy.held])[port])
            m.d.comb += [
                Assert((entry.op == op) & (entry.param == param) & (entry.bad == bad) & (entry.test == test)),
                Assert(entry.output == Mux(opens, mask, 0)),
                Assert(entry.status == (~opens & ~bad)),
                Assert(entry.at_once == (bad | ~opens | ~(op & RETRY).any())),
                Assert(~decided | can, "only what can be decided is decided"),
                Assert(~can | spy.turns.pick.any(), "if one can be decided one is decided"),
            ]
        m.d.comb += Assert((spy.turns.asks & this).any() == (waits & can), "nothing delays what can be decided but the turns")
        # So a retry is granted at the latest `ports` cycles after its output became usable, if that stays so.
        waiting(m, spy.turns, ports, port)

        # The grant.
        with m.If(decided & opens & success):
            m.d.comb += Assert((dut.grant_input == this) & (dut.grant_index == port) & (dut.grant_output == mask), "what can be granted is")
        with m.If(decided & ~(opens & success)):
            m.d.comb += Assert((dut.grant_input == 0) & (dut.grant_output == 0), "what is refused or only asks changes nothing")
        m.d.comb += Assert(decided | ~(dut.grant_input & this).any(), "no grant without a decision")

        # The response.
        granted = Signal()  # since the request
        expects_done, refusal, answer, value = Signal(), Signal(8), Signal(8), Signal(8)
        with m.If(asks):
            m.d.sync += granted.eq(0)
        with m.If(decided):
            m.d.sync += [
                granted.eq((dut.grant_input & this).any()),
                expects_done.eq(success),
                refusal.eq(Mux(bad, Error.BAD_PORT, Mux(taken, Error.BUSY, Error.NOT_READY))),
            ]
        m.d.comb += answer.eq(refusal)
        with m.If(expects_done):
            with m.If(opens):
                m.d.comb += answer.eq(param)
            with m.Elif(op == Op.STATUS_OUTPUT):
                m.d.comb += answer.eq(Mux((dut.connected & mask).any(), STATUS_CONNECTED | Array(dut.owner)[param], 0))
            with m.Else():
                m.d.comb += answer.eq(Array(dut.errors)[param])
        with m.If(returns[0]):
            m.d.sync += value.eq(answer)
            m.d.comb += [
                Assert((spy.done == expects_done) & (spy.op == op) & (spy.param == param)),
                Assert(expects_done | (spy.error == refusal)),
            ]
        for n, (_, done_there, value_there) in enumerate(spy.stages[self.backplane:]):
            with m.If(returns[n + 1]):
                m.d.comb += Assert((done_there == expects_done) & (value_there == value))
        with m.If(returns.any()):
            m.d.comb += [
                Assert(granted == (opens & expects_done), "an open that is refused has got nothing, one that is done has got its output"),
                Assert(~expects_done | ~bad),
            ]
        m.d.comb += Assert((dut.response_valid & this).any() == returns[-1], "each decision is told, once, and in time")
        with m.If(returns[-1]):
            m.d.comb += Assert((dut.done == expects_done) & (dut.value == (value if self.backplane else answer)), "what is told is true")
        return m
