"""Central controller: decides commands that need serialising, one in every cycle.

Source: "The Design of Nectar" (1989), sections 4 and 4.1; ``docs/hub.md``, "Controller and status table".
"""

from types import SimpleNamespace

from amaranth.hdl import Array, Assert, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .arbiter import Arbiter
from .commands import RETRY, STATUS_CONNECTED, TEST, Error, Group, Op
from .messages import Request, check_ports, index_bits, one_hot_index, port_mask

__all__ = ["Controller"]


def _Pending(ports):
    """Layout of a request that waits for its decision."""
    return data.StructLayout({
        "op": 8, "param": 8,
        "output": ports,  # one-hot, the output to open
        "bad": 1,         # there is no such port
        "at_once": 1,     # decided at once, even if that is a refusal
        "status": 1,      # a question that can be answered
        "test": 1,        # needs the ready bit
    })


class Controller(wiring.Component):
    """Decides the requests of all ports and enters connections into the status table.

    Parameters
    ----------
    ports : int
        Ports of the HUB.
    backplane : int
        Registers on the way of a request to the controller, and as many on the way of its response, 0 or more.

    Members
    -------
    request, request_valid : In(Request).array(ports), In(ports)
        A port asks, valid for one cycle; it does not ask again before its response. The opcode is one of the controller's.
    targets, connected, owner : as in StatusTable
        The status table.
    ready : In(ports)
        Outputs to which a *test open* may connect.
    errors : In(8).array(ports)
        Error counters.
    grant_input, grant_index, grant_output : as in StatusTable
        The connection to enter.
    response_valid, done, value : Out(ports), Out(1), Out(8)
        The decision for one port, one-hot; value is the answer if done, else an error code.
    busy : Out(1)
        A request is under way.

    Timing
    ------
    A request of cycle t can be decided in cycle t + 1 + backplane. The grant of a decision in cycle d stands in the table in
    cycle d + 1; its response comes in cycle d + 1 + backplane. One decision a cycle, in turns among those that can be decided.

    Raises
    ------
    TypeError, ValueError
        If ``ports`` is not an int from 2 to 128, or ``backplane`` not an int of at least 0.
    """

    def __init__(self, ports, backplane=1):
        check_ports(ports)
        if not isinstance(backplane, int) or isinstance(backplane, bool):
            raise TypeError(f"number of backplane registers must be an int, not {backplane!r}")
        if backplane < 0:
            raise ValueError(f"number of backplane registers must not be negative: {backplane}")
        self.ports = ports
        self.backplane = backplane
        bits = index_bits(ports)
        super().__init__({
            "request": In(Request).array(ports), "request_valid": In(ports),
            "targets": In(ports).array(ports), "connected": In(ports), "owner": In(bits).array(ports),
            "ready": In(ports), "errors": In(8).array(ports),
            "grant_input": Out(ports), "grant_index": Out(bits), "grant_output": Out(ports),
            "response_valid": Out(ports), "done": Out(1), "value": Out(8), "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        stages = []  # registers on the way, valid bits first

        def cross(*signals):
            """The signals behind the registers of the backplane; the first is the valid bits."""
            for stage in range(self.backplane):
                registers = [Signal(Value.cast(s).shape(), name=f"backplane_{stage}_{n}", reset_less=n > 0)
                             for n, s in enumerate(signals)]
                m.d.sync += [r.eq(s) for r, s in zip(registers, signals)]
                signals = registers
                stages.append(registers)
            return signals

        asks, *requests = cross(self.request_valid, *self.request)

        # The request of each port that waits for its decision, decoded.
        pending = Signal(self.ports)
        possible, can_decide = Signal(self.ports), Signal(self.ports)
        held = []
        for i, request in enumerate(Request(r) for r in requests):
            entry = Signal(_Pending(self.ports), name=f"pending_{i}", reset_less=True)
            held.append(entry)
            with m.If(asks[i]):
                opens = request.op[4:7] == Group.OPEN
                bad = (request.param >= self.ports) | opens & (request.param == i)
                m.d.sync += [
                    entry.op.eq(request.op),
                    entry.param.eq(request.param),
                    entry.output.eq(Mux(opens & ~bad, port_mask(request.param, self.ports), 0)),
                    entry.bad.eq(bad),
                    entry.at_once.eq(bad | ~opens | ~(request.op & RETRY).any()),
                    entry.status.eq(~bad & ~opens),
                    entry.test.eq((request.op & TEST).any()),
                ]
            with m.If(pending[i]):
                usable = (self.targets[i] | ~self.connected) & (self.ready | ~entry.test.replicate(self.ports))
                m.d.comb += [
                    possible[i].eq(entry.status | (entry.output & usable).any()),
                    can_decide[i].eq(entry.at_once | possible[i]),
                ]

        # The decision.
        m.submodules.turns = turns = Arbiter(self.ports)
        m.d.comb += turns.asks.eq(can_decide)
        m.d.sync += pending.eq((pending & ~turns.pick) | asks)
        decided = Signal(self.ports)
        done, error = Signal(reset_less=True), Signal(Error, reset_less=True)
        op, param = Signal(8, reset_less=True), Signal(8, reset_less=True)
        index = Signal(range(self.ports))
        m.d.sync += decided.eq(turns.pick)
        with m.If(turns.pick.any()):
            m.d.comb += index.eq(one_hot_index(turns.pick))
            chosen = _Pending(self.ports)(Array([entry.as_value() for entry in held])[index])
            done_now = (turns.pick & possible).any()
            m.d.sync += [
                op.eq(chosen.op),
                param.eq(chosen.param),
                done.eq(done_now),
                error.eq(Mux(chosen.bad, Error.BAD_PORT,
                             Mux((chosen.output & self.connected & ~Array(self.targets)[index]).any(), Error.BUSY, Error.NOT_READY))),
            ]
            with m.If(done_now & ~chosen.status):
                m.d.comb += [
                    self.grant_input.eq(turns.pick),
                    self.grant_index.eq(index),
                    self.grant_output.eq(chosen.output),
                ]

        # The answer is looked up in the table as the decision has left it.
        value = Signal(8)
        port = param[:index_bits(self.ports)]
        with m.If(decided.any()):
            with m.If(~done):
                m.d.comb += value.eq(error)
            with m.Else():
                m.d.comb += value.eq(param)
                with m.Switch(op):
                    with m.Case(Op.STATUS_OUTPUT):
                        m.d.comb += value.eq(Mux(self.connected.bit_select(port, 1),
                                                 STATUS_CONNECTED | Array(self.owner)[port], 0))
                    with m.Case(Op.STATUS_ERRORS):
                        m.d.comb += value.eq(Array(self.errors)[port])

        response_valid, response_done, response_value = cross(decided, done, value)
        m.d.comb += [
            self.response_valid.eq(response_valid),
            self.done.eq(response_done),
            self.value.eq(response_value),
            self.busy.eq(pending.any() | decided.any() | Cat(registers[0] for registers in stages).any()),
        ]

        if platform == "formal":
            def one_at_most(mask):
                return (mask & (mask - 1))[:self.ports] == 0

            self.spy = SimpleNamespace(stages=stages, pending=pending, held=held, turns=turns, decided=decided, done=done,
                                       error=error, op=op, param=param)
            m.d.comb += [
                *(Assert(~pending[i] | one_at_most(entry.output) & (~entry.status | (entry.output == 0)),
                         "an open is for one output, a question for none")
                  for i, entry in enumerate(held)),
                *(Assert(one_at_most(mask), "one decision a cycle") for mask in (decided, self.response_valid)),
                *(Assert(one_at_most(registers[0]), "one decision a cycle") for registers in stages[self.backplane:]),
                Assert((self.grant_output & self.connected
                        & ~Array(self.targets)[index]) == 0, "no output is taken from another input"),
                Assert(one_at_most(self.grant_output), "one connection a cycle"),
            ]
        return m
