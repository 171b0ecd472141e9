"""Head of a port's input queue: passes symbols on, takes commands out and sees to it that they are done.

Source: "The Design of Nectar" (1989), sections 4.1 and 4.2.1; ``docs/hub.md``, "Input side of a port".
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ...link.symbol import SYMBOL_BITS
from ..bundles import ControlPort, CrossbarPort
from ..commands import Error, Op
from ..messages import FAULTS, Reply, Request, index_bits, is_absent
from ..part import HubPart
from .entry import OWN_OP_BITS, is_closing, is_command, is_start

__all__ = ["Head"]


class _Signals:
    """What the sections of the head share; proofs look into them."""

    def __init__(self):
        # What leaves the queue.
        self.passes = Signal(init=1)  # symbols may leave: the state is PASS, and no connections have to end
        self.leaves = Signal()  # a symbol leaves
        self.willing = Signal()  # a command may be taken
        self.way = Signal()  # a command may be taken past the queue
        self.takes = Signal()  # the opcode of a command is taken out of the queue
        self.loads = Signal()  # and its parameter

        # Symbols.
        self.last_but_one = Signal()  # the last symbol but one of a close all comes next
        self.last = Signal()  # the last symbol of a close all comes next
        self.closed = Signal()  # the last symbol of a close all leaves, and connections have to end
        self.stands = Signal()  # a connection that has to end stands still
        self.closing = Signal()  # one stood in the cycle before

        # The command under way.
        self.op = Signal(8, reset_less=True)
        self.param = Signal(8, reset_less=True)
        self.idle = Signal()  # no command is under way
        self.here = Signal()  # the command is done here, not by the controller
        self.executes = Signal()  # the command is asked for, or looked at
        self.ends = Signal()  # a command that closes is done
        self.not_done = Signal()  # it is refused
        self.resumed = Signal()  # the wait for the decision has ended with the cycle before, by ``resume``
        self.bad = Signal(reset_less=True)  # it names a port that does not exist, or its own port
        self.asked = Signal()  # the response to the request is still to come
        self.answering = Signal()  # an answer waits for its way out: op with done in bit 0, and param as the value


class Head(HubPart):
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
    entry, own, control_code, valid, pop : In(9), In(1), In(1), In(1), Out(1)
        The queue's head; that it begins a command for this HUB; that it is a control code if not; that it is taken.
    offer, offered, clean, way, accept : In(1), In(Request), In(1), Out(1), Out(1)
        A command that is taken past the queue. ``offer``: there is such a command, ``offered``. ``clean``: nothing
        waits in front of it, and nothing is ``valid``. ``way``: a command would be taken, since ``clean`` was 1 in the
        cycle before. ``accept``: the command is taken.
    halt : In(1)
        The queue was emptied in the cycle before: nothing is ``valid`` in this cycle, no command is accepted, and a
        command that waits, or of which a part was taken, is given up.
    expired : In(1)
        A command that waits is given up.
    crossbar : Out(CrossbarPort())
        The way of symbols to the outputs.
    control, named : Out(ControlPort()), Out(ports)
        The controller and the status table. ``named``: the output that the request names, one-hot; 0 if there is none.
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
    All others go to the controller, and hold the head until the cycle after ``resume`` or its response. A command waits
    for the response and the answer to the one before.

    Behind a close all, symbols leave again in the second cycle in which nothing is connected. A command is taken before
    that; t + 2 is then this cycle at the earliest.

    Raises
    ------
    TypeError, ValueError
        As HubPart, and if ``port`` is not a port of the HUB.
    """

    def __init__(self, ports, port):
        super().__init__(ports)
        if not isinstance(port, int) or isinstance(port, bool):
            raise TypeError(f"number of a port must be an int, not {port!r}")
        if not 0 <= port < ports:
            raise ValueError(f"a HUB of {ports} ports has no port {port}")
        self.port = port

    def members(self):
        ports = self.ports
        return {
            "hub_id": In(8),
            "entry": In(SYMBOL_BITS),
            "own": In(1),
            "control_code": In(1),
            "valid": In(1),
            "pop": Out(1),
            "offer": In(1),
            "offered": In(Request),
            "clean": In(1),
            "way": Out(1),
            "accept": Out(1),
            "halt": In(1),
            "expired": In(1),
            "crossbar": Out(CrossbarPort()),
            "control": Out(ControlPort()),
            "named": Out(ports),
            "start_left": Out(1),
            "answer": Out(stream.Signature(Reply)),
            **{name: Out(1) for name in FAULTS.values()},
            "dropped": Out(1),
            "moved": Out(1),
            "holds": Out(1),
            "busy": Out(1),
        }

    def elaborate(self, platform):
        """The queue; the states; symbols; commands that close; errors; the command under way, and the answer to it."""
        m = Module()
        s = _Signals()
        self._take(m, s)
        m.d.sync += [self.control.give_up.eq(0), s.resumed.eq(0), s.way.eq(0)]
        with m.FSM(name="state") as state:
            with m.State("PASS"):
                self._pass(m, s)
            with m.State("PARAMETER"):
                self._take_parameter(m, s)
            with m.State("EXECUTE"):
                self._execute(m, s)
            with m.State("END"):
                m.d.comb += s.ends.eq(1)
                self._go(m, s, "PASS")
            with m.State("WAIT"):
                self._wait(m, s)
        m.d.comb += [
            self.holds.eq(~s.passes | s.resumed),
            self.busy.eq(~s.passes | s.asked | s.answering),
            s.idle.eq(state.ongoing("PASS") & ~s.asked & ~s.answering),
        ]
        self._pass_symbol(m, s)
        self._close(m, s)
        self._count_refusals(m, s)
        self._keep_command(m, s)
        self._answer(m, s)
        if platform == "formal":
            s.states = Cat(map(state.ongoing, ("PASS", "PARAMETER", "EXECUTE", "END", "WAIT")))
            self.probes = s
            self._assert(m, s)
        return m

    def _go(self, m, s, state):
        """The next state. Whether symbols may leave in it stands in a register of its own, which they need early in a
        cycle."""
        m.next = state
        m.d.sync += s.passes.eq((state == "PASS") & ~s.stands)

    def _take(self, m, s):
        """What leaves the queue in this cycle: a symbol, or a part of a command. A symbol leaves only if all outputs
        that are connected have space.

        The crossbar is told from a register of its own, so that the LUT that tells it can stand far from the one that
        tells the rest of the port. With 16 ports this costs 45 LUTs and 16 flip-flops."""
        offers = Signal()
        m.d.comb += [
            offers.eq(s.passes & self.valid & ~self.own),
            self.crossbar.move.eq(offers & self.crossbar.clear),
            s.leaves.eq(offers & ~self.crossbar.blocked),
            s.takes.eq(s.willing & self.valid & self.own),
            self.way.eq(s.way & ~self.halt),
            self.accept.eq(self.way & self.offer),
            self.pop.eq(s.leaves | s.takes | s.loads),
            self.moved.eq(s.leaves | s.takes | self.accept | s.resumed | self.control.response_valid),
        ]

    def _pass(self, m, s):
        """State PASS: symbols leave, one in a cycle, but not while connections have to end; until the opcode of a
        command is taken (cycle t), or a whole command is accepted (t + 1)."""
        m.d.comb += [s.willing.eq(s.idle & ~self.halt)]
        # The symbols of a command come in four cycles, so a way that was free in its last cycle but one is still free.
        m.d.sync += s.way.eq(s.willing & self.clean & ~self.accept)
        with m.If(s.takes):
            self._go(m, s, "PARAMETER")
        with m.Elif(self.accept):
            self._go(m, s, "EXECUTE")
        with m.Else():
            self._go(m, s, "PASS")

    def _take_parameter(self, m, s):
        """State PARAMETER, from cycle t + 1 on: takes the command's parameter."""
        m.d.comb += s.loads.eq(self.valid)
        with m.If(self.halt):
            self._go(m, s, "PASS")
        with m.Elif(self.valid):
            self._go(m, s, "EXECUTE")

    def _execute(self, m, s):
        """State EXECUTE, cycle t + 2: the command is asked for at the controller, or looked at here. Before that it
        waits for connections that have to end."""
        m.d.comb += [s.executes.eq(~s.closing), self.control.request_valid.eq(s.executes & ~s.here)]
        with m.If(s.closing):
            with m.If(self.halt):
                self._go(m, s, "PASS")
        with m.Elif(s.here):
            self._go(m, s, "END")
        with m.Else():
            m.d.sync += self.control.give_up.eq(self.halt | self.expired)
            self._go(m, s, "WAIT")

    def _wait(self, m, s):
        """State WAIT, from cycle t + 3 on: until ``resume`` or the response. Behind ``resume`` symbols leave, and the
        response is still to come."""
        control = self.control
        m.d.sync += s.resumed.eq(control.resume)
        with m.If(control.resume | control.response_valid):
            self._go(m, s, "PASS")
        with m.Else():
            m.d.sync += control.give_up.eq(control.give_up | self.halt | self.expired)

    def _pass_symbol(self, m, s):
        """The symbol that leaves goes to the crossbar in the same cycle, or is dropped if no output is connected.

        The opcode of a close all is marked; the two symbols behind it are its last."""
        closes = Signal()
        drops = Signal()  # a symbol is dropped
        in_run = Signal()  # the symbols before were dropped, and have been counted
        m.d.comb += [
            closes.eq(is_closing(self.entry)),
            drops.eq(s.leaves & ~self.crossbar.connected & ~closes & ~s.last_but_one & ~s.last),
            self.crossbar.beat.symbol.eq(Cat(self.entry[:8], self.control_code)),
            self.crossbar.beat.closes.eq(s.last),
            s.closed.eq(s.leaves & s.last & self.crossbar.connected),
            s.stands.eq(s.closed | s.closing & self.crossbar.connected),
            self.start_left.eq(s.leaves & is_start(self.entry)),
            self.dropped.eq(drops & ~is_command(self.entry) & ~in_run),
        ]
        m.d.sync += s.closing.eq(s.stands)
        with m.If(self.halt):
            m.d.sync += [s.last_but_one.eq(0), s.last.eq(0)]
        with m.Elif(s.leaves):
            m.d.sync += [s.last_but_one.eq(closes), s.last.eq(s.last_but_one)]
        # The opcode tells whether a command is a close all, so it counts for the control code before it, too.
        with m.If(s.leaves | s.takes | self.accept):
            m.d.sync += in_run.eq(drops & (in_run | ~is_command(self.entry)))

    def _close(self, m, s):
        """Commands that close are done here, not by the controller: in EXECUTE it is looked at what they name, and in
        the next cycle they act, or are refused."""
        op, control = s.op, self.control
        group = Signal()
        close_one = Signal()
        m.d.comb += [
            group.eq(op[4:] == Op.CLOSE >> 4),
            close_one.eq(group & (op[1:4] == (Op.CLOSE & 0xF) >> 1)),
            s.here.eq(
                close_one | group & ((op[1:4] == (Op.CLOSE_MINE & 0xF) >> 1) | (op[:4] == Op.CLOSE_ALL_REPLY & 0xF))
            ),
        ]
        m.d.sync += [
            control.close_one.eq(s.executes & close_one & control.mine & ~s.bad),
            control.close_mine.eq(s.executes & s.here & ~close_one),
            s.not_done.eq(s.executes & close_one & (s.bad | ~control.mine)),
        ]

    def _count_refusals(self, m, s):
        """The error with which a command is refused, in the cycle of the response, or in END."""
        control = self.control
        refused = {name: control.response_valid & fault for name, fault in zip(FAULTS.values(), control.fault)}
        refused["bad_port"] |= s.not_done & s.bad
        refused["not_mine"] |= s.not_done & ~s.bad
        m.d.comb += [getattr(self, name).eq(signal) for name, signal in refused.items()]

    def _keep_command(self, m, s):
        """The registers of the command under way. With the response, or in END, they become those of the answer.

        While no command is under way they may follow what comes, which is known long before it is known whether a
        command is taken."""
        control = self.control
        coming = Signal(8)  # the parameter that comes
        m.d.comb += [
            control.request.op.eq(s.op),
            control.request.param.eq(s.param),
            coming.eq(Mux(self.valid, self.entry[:8], self.offered.param)),
        ]
        # What it names is decoded in front of the register: it is looked up in tables that are far away.
        with m.If(s.idle | s.loads):
            m.d.sync += [
                self.named.eq(1 << coming[: index_bits(self.ports)]),
                s.bad.eq(is_absent(coming, self.ports) | (coming == self.port)),
            ]
        with m.If(s.idle):
            m.d.sync += s.op.eq(Mux(self.valid, Cat(self.entry[:OWN_OP_BITS], self.entry[8]), self.offered.op))
        with m.Elif(s.loads):
            m.d.sync += s.op[OWN_OP_BITS].eq(self.entry[8])
        with m.If(s.idle | s.loads | control.response_valid | s.not_done):
            m.d.sync += s.param.eq(
                Mux(
                    control.response_valid,
                    control.value,
                    Mux(
                        s.ends,
                        Mux(s.bad, Error.BAD_PORT, Error.NOT_MINE),
                        coming,
                    ),
                )
            )
        with m.If(control.response_valid | s.not_done):
            m.d.sync += s.op[0].eq(control.response_valid & control.done)

    def _answer(self, m, s):
        """The answer, from the cycle after the response, or after END, until it is taken; and whether a response is
        still to come."""
        control = self.control
        m.d.comb += [
            self.answer.payload.op.eq(s.op),
            self.answer.payload.hub.eq(self.hub_id),
            self.answer.payload.value.eq(s.param),
            self.answer.valid.eq(s.answering),
        ]
        m.d.sync += [
            s.asked.eq(control.request_valid | s.asked & ~control.response_valid),
            s.answering.eq(
                control.response_valid & s.op[0] & ~control.quiet | s.ends & s.op[0] | s.answering & ~self.answer.ready
            ),
        ]

    def _assert(self, m, s):
        """Claims about the queue, the crossbar and closing, which the proofs prove."""
        control, crossbar = self.control, self.crossbar
        m.d.comb += [
            Assert(~self.pop | self.valid, "only what is there is taken"),
            Assert(~(crossbar.move & crossbar.blocked), "no symbol goes where there is no space"),
            Assert(~(control.close_one | control.close_mine | s.not_done) | s.ends),
        ]
