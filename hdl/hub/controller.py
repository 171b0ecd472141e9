"""Central controller: decides commands that need serialising, one in every cycle.

Source: "The Design of Nectar" (1989), sections 4 and 4.1; ``docs/hub.md``, "Controller and status table".
"""

from amaranth.hdl import Array, Assert, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .arbiter import Arbiter
from .commands import RETRY, STATUS_CONNECTED, TEST, Error, Group, Op
from .messages import Request, check_ports, index_bits, one_hot_index, port_mask

__all__ = ["Controller"]


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
    A request in cycle t can be decided in cycle t + 1 + backplane; its grant stands in the table one cycle later, its response
    comes in the cycle after that with one register of the backplane, or one cycle earlier for each that is missing. One decision a cycle, in turns among those that can be decided.
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
        ports = range(self.ports)
        stages = []  # valid bits of all registers on the way

        def cross(*signals):
            """The signals behind the registers of the backplane; the first is the valid bits."""
            for stage in range(self.backplane):
                registers = [Signal.like(s.as_value() if hasattr(s, "as_value") else s, name=f"backplane_{n}_{stage}")
                             for n, s in enumerate(signals)]
                m.d.sync += [r.eq(s) for r, s in zip(registers, signals)]
                signals = registers
                stages.append(registers[0])
            return signals

        asks, *requests = cross(self.request_valid, *self.request)
        requests = [Request(r) for r in requests]

        # The request of each port that waits for its decision, decoded.
        pending = Signal(self.ports)
        can_decide = Signal(self.ports)
        possible = Signal(self.ports)  # can be decided, and not as refused
        params, masks, kinds, errors = [], [], [], []
        for i in ports:
            op, param = Signal(8, name=f"op_{i}"), Signal(8, name=f"param_{i}")
            mask = Signal(self.ports, name=f"mask_{i}")
            is_open, bad = Signal(name=f"is_open_{i}"), Signal(name=f"bad_{i}")
            free, error = Signal(name=f"free_{i}"), Signal(Error, name=f"error_{i}")
            with m.If(asks[i]):
                opens = requests[i].op[4:7] == Group.OPEN
                m.d.sync += [
                    op.eq(requests[i].op),
                    param.eq(requests[i].param),
                    mask.eq(port_mask(requests[i].param, self.ports)),
                    is_open.eq(opens),
                    bad.eq((requests[i].param >= self.ports) | opens & (requests[i].param == i)),
                ]
            m.d.comb += [
                free.eq((mask & (self.targets[i] | ~self.connected)).any()),
                error.eq(Mux(bad, Error.BAD_PORT, Mux(free, Error.NOT_READY, Error.BUSY))),
            ]
            ready = ((op & TEST) == 0) | (mask & self.ready).any()
            m.d.comb += [
                possible[i].eq(~bad & (~is_open | (free & ready))),
                can_decide[i].eq(pending[i] & (bad | possible[i] | ((op & RETRY) == 0))),
            ]
            params.append(param)
            masks.append(mask)
            kinds.append(Cat(is_open, op))
            errors.append(error)

        # The decision.
        m.submodules.turns = turns = Arbiter(self.ports)
        index = Signal(range(self.ports))
        done = Signal()
        m.d.comb += [
            turns.asks.eq(can_decide),
            index.eq(one_hot_index(turns.pick)),
            done.eq((turns.pick & possible).any()),
        ]
        m.d.sync += pending.eq((pending & ~turns.pick) | asks)
        with m.If(done & Array(kinds)[index][0]):
            m.d.comb += [
                self.grant_input.eq(turns.pick),
                self.grant_index.eq(index),
                self.grant_output.eq(Array(masks)[index]),
            ]

        # What was decided; the answer is looked up in the table as the decision has left it.
        decided = Signal(self.ports)
        decided_op, decided_param = Signal(8), Signal(8)
        decided_done, decided_error = Signal(), Signal(Error)
        m.d.sync += decided.eq(turns.pick)
        with m.If(turns.pick != 0):
            m.d.sync += [
                decided_op.eq(Array(kinds)[index][1:]),
                decided_param.eq(Array(params)[index]),
                decided_done.eq(done),
                decided_error.eq(Array(errors)[index]),
            ]
        value = Signal(8)
        port = decided_param[:index_bits(self.ports)]
        with m.If(~decided_done):
            m.d.comb += value.eq(decided_error)
        with m.Else():
            m.d.comb += value.eq(decided_param)
            with m.Switch(decided_op):
                with m.Case(Op.STATUS_OUTPUT):
                    m.d.comb += value.eq(Mux(self.connected.bit_select(port, 1),
                                             STATUS_CONNECTED | Array(self.owner)[port], 0))
                with m.Case(Op.STATUS_ERRORS):
                    m.d.comb += value.eq(Array(self.errors)[port])

        response_valid, response_done, response_value = cross(decided, decided_done, value)
        m.d.comb += [
            self.response_valid.eq(response_valid),
            self.done.eq(response_done),
            self.value.eq(response_value),
            self.busy.eq((pending != 0) | (decided != 0) | Cat(stages).any()),
        ]

        if platform == "formal":
            m.d.comb += [
                Assert((self.grant_output & self.connected
                        & ~Array(self.targets)[index]) == 0, "no output is taken from another input"),
                Assert((self.grant_output & (self.grant_output - 1))[:self.ports] == 0, "one connection a cycle"),
            ]
        return m
