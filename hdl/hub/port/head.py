"""Head of a port's input queue: passes symbols on, takes commands out and sees to it that they are done.

Source: "The Design of Nectar" (1989), sections 4.1 and 4.2.1; ``docs/hub.md``, "Input side of a port".
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...link.symbol import SYMBOL_BITS
from ..bundles import ControlPort, CrossbarPort
from ..commands import Error, Op
from ..messages import FAULTS, Reply, check_ports, is_absent
from .entry import OWN_OP_BITS, is_closing, is_command, is_start

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
    entry, own, valid, pop : In(9), In(1), In(1), Out(1)
        The queue's head, whether it is the first entry of a command for this HUB, and that it is taken.
    offer, offered, willing, accept : In(1), In(8), Out(1), Out(1)
        A command that may be taken without the queue, since that is empty: its opcode, its parameter being ``entry``;
        that one would be, and that it is.
    halt : In(1)
        The queue was emptied in the cycle before: nothing is taken in this cycle, and a command that waits, or of which
        a part was taken, is given up.
    expired : In(1)
        A command that waits is given up.
    crossbar : Out(CrossbarPort(ports))
        The way of symbols to the outputs.
    control : Out(ControlPort(ports))
        The controller and the status table.
    start_left : Out(1)
        A start of packet leaves the queue in this cycle, passed on or dropped.
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
    A symbol a cycle. A command is taken in cycles t and t + 1, or, accepted, in t + 1 alone; it stands in the request
    register in t + 2; one that closes is done in t + 3 with ``mine`` of t + 2, and the next entry may leave in t + 4.
    All others go to the controller, and hold the head until ``resume`` or the cycle after its response. A command waits
    for the response and the answer to the one before.

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
        super().__init__(
            {
                "hub_id": In(8),
                "entry": In(SYMBOL_BITS),
                "own": In(1),
                "valid": In(1),
                "pop": Out(1),
                "offer": In(1),
                "offered": In(8),
                "willing": Out(1),
                "accept": Out(1),
                "halt": In(1),
                "expired": In(1),
                "crossbar": Out(CrossbarPort(ports)),
                "control": Out(ControlPort(ports)),
                "start_left": Out(1),
                "answer": Out(stream.Signature(Reply)),
                **{name: Out(1) for name in FAULTS.values()},
                "dropped": Out(1),
                "moved": Out(1),
                "holds": Out(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        control, crossbar = self.control, self.crossbar

        op = Signal(8, reset_less=True)
        param = Signal(8, reset_less=True)
        asked = Signal()  # the response to the request is still to come
        answering = Signal()  # an answer waits for its way out: op with done in bit 0, and param as the value
        idle = Signal()  # no command is under way
        blocked = Signal()  # an output to which this port is connected has no space
        may_leave = Signal()  # a symbol may leave
        leaves = Signal()  # a symbol leaves
        takes = Signal()  # the opcode of a command is taken out of the queue
        loads = Signal()  # and its parameter
        executes = Signal()  # the command is asked for, or looked at
        ends = Signal()  # a command that closes is done
        closed = Signal()  # the last symbol of a close all leaves, and connections have to end
        here = Signal()  # the command is done here, not by the controller
        connected = Signal()
        m.d.comb += [
            connected.eq(control.targets.any()),
            blocked.eq((control.targets & ~crossbar.space).any()),
            leaves.eq(may_leave & self.valid & ~self.own),
            takes.eq(self.willing & self.valid & self.own),
            self.accept.eq(self.willing & self.offer),
            self.pop.eq(leaves | takes | loads),
            self.moved.eq(leaves | takes | self.accept | control.resume | control.response_valid),
        ]

        m.d.sync += control.give_up.eq(0)
        with m.FSM(name="state") as state:
            with m.State("PASS"):
                m.d.comb += [
                    may_leave.eq(~self.halt & ~blocked),
                    self.willing.eq(~self.halt & idle),
                ]
                with m.If(takes):
                    m.next = "PARAMETER"
                with m.Elif(self.accept):
                    m.next = "EXECUTE"
                with m.Elif(closed):
                    m.next = "CLOSING"
            with m.State("PARAMETER"):
                m.d.comb += loads.eq(self.valid & ~self.halt)
                with m.If(self.halt):
                    m.next = "PASS"
                with m.Elif(self.valid):
                    m.next = "EXECUTE"
            with m.State("EXECUTE"):
                m.d.comb += [executes.eq(1), control.request_valid.eq(~here)]
                with m.If(here):
                    m.next = "END"
                with m.Else():
                    m.d.sync += control.give_up.eq(self.halt | self.expired)
                    m.next = "WAIT"
            with m.State("END"):
                m.d.comb += ends.eq(1)
                m.next = "PASS"
            with m.State("WAIT"):
                # After ``resume`` symbols leave, and the response is still to come.
                m.d.comb += may_leave.eq(control.resume & ~self.halt & ~blocked)
                with m.If(control.resume | control.response_valid):
                    m.next = "PASS"
                with m.Else():
                    m.d.sync += control.give_up.eq(control.give_up | self.halt | self.expired)
            with m.State("CLOSING"):
                with m.If(~connected):
                    m.next = "PASS"
        m.d.comb += [
            self.holds.eq(~state.ongoing("PASS")),
            self.busy.eq(self.holds | asked | answering),
            idle.eq(~self.busy),
        ]

        # Symbols. Behind the opcode of a close all, which is marked, come its last two.
        closes = Signal()
        last_but_one = Signal()
        last = Signal()
        drops = Signal()  # a symbol is dropped
        in_run = Signal()  # the symbols before were dropped, and have been counted
        m.d.comb += [
            closes.eq(is_closing(self.entry)),
            crossbar.move.eq(leaves),
            drops.eq(leaves & ~connected & ~closes & ~last_but_one & ~last),
            crossbar.beat.symbol.eq(Cat(self.entry[:8], self.entry[8] & ~closes)),
            crossbar.beat.closes.eq(last),
            closed.eq(leaves & last & connected),
            self.start_left.eq(leaves & is_start(self.entry)),
            self.dropped.eq(drops & ~is_command(self.entry) & ~in_run),
        ]
        with m.If(self.halt):
            m.d.sync += [last_but_one.eq(0), last.eq(0)]
        with m.Elif(leaves):
            m.d.sync += [last_but_one.eq(closes), last.eq(last_but_one)]
        # The opcode tells whether a command is a close all, so it counts for the control code before it, too.
        with m.If(leaves | takes | self.accept):
            m.d.sync += in_run.eq(drops & (in_run | ~is_command(self.entry)))

        # Commands that close are done here: first it is looked at what they name, then they act.
        group = Signal()
        close_one = Signal()
        bad = Signal()
        not_done = Signal()
        was_bad = Signal(reset_less=True)
        m.d.comb += [
            group.eq(op[4:] == Op.CLOSE >> 4),
            close_one.eq(group & (op[1:4] == (Op.CLOSE & 0xF) >> 1)),
            here.eq(
                close_one | group & ((op[1:4] == (Op.CLOSE_MINE & 0xF) >> 1) | (op[:4] == Op.CLOSE_ALL_REPLY & 0xF))
            ),
            bad.eq(is_absent(param, self.ports) | (param == self.port)),
        ]
        m.d.sync += [
            control.close_one.eq(executes & close_one & control.mine & ~bad),
            control.close_mine.eq(executes & here & ~close_one),
            not_done.eq(executes & close_one & (bad | ~control.mine)),
            was_bad.eq(bad),
        ]
        refused = {name: control.response_valid & fault for name, fault in zip(FAULTS.values(), control.fault)}
        refused["bad_port"] |= not_done & was_bad
        refused["not_mine"] |= not_done & ~was_bad
        m.d.comb += [getattr(self, name).eq(signal) for name, signal in refused.items()]

        # The command under way, and the answer to it.
        m.d.comb += [
            control.request.op.eq(op),
            control.request.param.eq(param),
            self.answer.payload.op.eq(op),
            self.answer.payload.hub.eq(self.hub_id),
            self.answer.payload.value.eq(param),
            self.answer.valid.eq(answering),
        ]
        # While no command is under way they may follow what comes, which is known long before it is known whether a
        # command is taken.
        with m.If(idle):
            m.d.sync += op.eq(Mux(self.valid, Cat(self.entry[:OWN_OP_BITS], self.entry[8]), self.offered))
        with m.Elif(loads):
            m.d.sync += op[OWN_OP_BITS].eq(self.entry[8])
        with m.If(idle | loads | control.response_valid | not_done):
            m.d.sync += param.eq(
                Mux(
                    control.response_valid,
                    control.value,
                    Mux(ends, Mux(was_bad, Error.BAD_PORT, Error.NOT_MINE), self.entry[:8]),
                )
            )
        with m.If(control.response_valid | not_done):
            m.d.sync += op[0].eq(control.response_valid & control.done)
        m.d.sync += [
            asked.eq(control.request_valid | asked & ~control.response_valid),
            answering.eq(
                control.response_valid & op[0] & ~control.quiet | ends & op[0] | answering & ~self.answer.ready
            ),
        ]

        if platform == "formal":
            self.probes = SimpleNamespace(
                states=Cat(map(state.ongoing, ("PASS", "PARAMETER", "EXECUTE", "END", "WAIT", "CLOSING"))),
                last_but_one=last_but_one,
                last=last,
                asked=asked,
                answering=answering,
            )
            m.d.comb += [
                Assert(~self.pop | self.valid, "only what is there is taken"),
                Assert(
                    ~crossbar.move | ~(control.targets & ~crossbar.space).any(),
                    "no symbol goes where there is no space",
                ),
                Assert(~(control.close_one | control.close_mine | not_done) | ends),
                Assert(~(self.pop & self.halt), "nothing is taken while the queue is emptied"),
            ]
        return m
