"""Central controller: decides the commands that need serialising, one in every cycle.

Source: "The Design of Nectar" (1989), sections 4 and 4.1; ``docs/hub.md``, "Controller and status table".
"""

from amaranth.hdl import Assert, Cat, Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..commands import RETRY, TEST, Op
from ..messages import Request, chosen, index_bits, is_absent, one_hot_index
from ..part import HubPart
from .controller_signals import ControllerSignals

__all__ = ["Controller", "Order"]


def Order(ports):
    """Layout of a decided command: the request, its port, and the decision. When nothing was decided ``locks`` is 0,
    and the rest means nothing.

    - ``done``: the command is granted. It counts for opens, locks and *await ready*.
    - ``had``: the command is an open that is done, since the port had this connection before.
    - ``expired``: the watchdog gave the command up.
    - ``supervisor``: a supervisor command from a port that may give one.
    - ``locks``: a lock that was granted."""
    return data.StructLayout(
        {"request": Request, "port": index_bits(ports), "done": 1, "had": 1, "expired": 1, "supervisor": 1, "locks": 1}
    )


class Controller(HubPart):
    """Decides the requests of all ports.

    Parameters
    ----------
    ports : int
        Ports of the HUB.
    locks : bool
        The HUB has locks; else their opcodes are unknown.

    Members
    -------
    request, request_valid : In(Request).array(ports), In(ports)
        A port asks, with ``request_valid`` for one cycle. ``request`` holds until the response.
    give_up, expired : In(ports), In(ports)
        ``give_up``: while it is 1, the port's request is decided at once. ``expired``: the watchdog has expired at the
        port in this cycle.
    named, mine, connected : as in StatusTable
    shut : as in Locks
        What the requests name, and the tables. A lock may show two cycles later than a connection, since it is taken
        two cycles after the decision.
    ready, enabled, allowed : In(ports), In(ports), In(ports)
        Outputs whose ready bit counts as 1; ports in use; ports that may give supervisor commands.
    enter : Out(ports)
        One-hot, to the status table: the input whose connection is entered.
    entered_input : as in StatusTable
    opened : Out(ports)
        One-hot, the input that gets a new connection.
    resume : Out(ports)
        One-hot: the open or lock of this port is decided.
    order, decided, place : Out(Order(ports)), Out(ports), Out(ports)
        Every decision, in turn. ``decided``: the port that asked. ``place``: the port that its command names. Both are
        one-hot.
    finished : In(1)
        A supervisor command has been carried out.
    busy : Out(1)
        A request is under way.

    Timing
    ------
    A request of cycle t is checked against the tables in cycle t + 1. The check is repeated in every cycle
    until the pick, which may come from the next cycle on. With the pick in cycle d, all outputs belong to d + 1, the
    cycle of the decision. A picked request whose output has just been taken is not decided.

    One decision a cycle, in turns among the requests that can be decided. Behind a supervisor command there are at most
    two more decisions before ``finished``.
    """

    def __init__(self, ports, locks=True):
        super().__init__(ports)
        self.has_locks = locks

    def members(self):
        ports, bits = self.ports, index_bits(self.ports)
        return {
            "request": In(Request).array(ports),
            "request_valid": In(ports),
            "give_up": In(ports),
            "expired": In(ports),
            "named": In(ports).array(ports),
            "mine": In(ports),
            "connected": In(ports),
            "shut": In(ports).array(ports),
            "ready": In(ports),
            "enabled": In(ports),
            "allowed": In(ports),
            "enter": Out(ports),
            "entered_input": Out(bits),
            "opened": Out(ports),
            "resume": Out(ports),
            "order": Out(Order(ports)),
            "decided": Out(ports),
            "place": Out(ports),
            "finished": In(1),
            "busy": Out(1),
        }

    def elaborate(self, platform):
        """Requests; the check of each against the tables; the decision; the order; supervisor commands."""
        m = Module()
        s = ControllerSignals(self.ports)
        m.submodules.turns = s.turns
        self._classify(m, s)
        self._collect(m, s)
        for i, request in enumerate(self.request):
            self._check(m, s, i, request)
        self._decide(m, s)
        self._tell_decision(m, s)
        self._give_order(m, s)
        self._freeze(m, s)
        m.d.comb += self.busy.eq(s.asking.any() | s.picked.any() | s.opened | s.locked | s.locked_before | s.frozen)
        if platform == "formal":
            self.probes = s
            self._assert(m, s)
        return m

    def _classify(self, m, s):
        """The kind of each port's request, in every cycle. An unknown opcode may look like a command, but not like one
        that takes a connection or a lock, or that waits."""
        for i, request in enumerate(self.request):
            op = request.op
            opens = op[3:] == Op.OPEN >> 3
            locks = op[3:] == Op.LOCK >> 3 if self.has_locks else 0
            awaits = op == Op.AWAIT_READY_REPLY
            tests = (op & TEST).any()
            m.d.sync += [
                s.opens[i].eq(opens),
                s.locks[i].eq(locks),
                s.awaits[i].eq(awaits),
                s.tests[i].eq(tests),
                s.waits[i].eq(awaits | (op & RETRY).any() & (opens | locks & ~tests)),
            ]

    def _collect(self, m, s):
        """The requests that are checked in the next cycle: those that come, and those that wait for their decision."""
        m.d.sync += s.asking.eq(self.request_valid | s.asking & ~s.decided)

    def _check(self, m, s, i, request):
        """Checks the request of port ``i`` against the tables in every cycle in which it asks. The result stands in
        registers in the next cycle.

        The tables show the connections decided two cycles ago or earlier, and the locks decided three cycles ago or
        earlier. The check is therefore compared with the later decisions, too. The decision of one cycle ago is also
        compared with the result of the check before."""
        index, place = request.param[: index_bits(self.ports)], self.named[i]
        mine, idle, free, ready, usable, unknown, has = (
            Signal(name=f"{name}_{i}") for name in ("mine", "idle", "free", "ready", "usable", "unknown", "has")
        )
        now, lasts, fits, has_still, surely, if_idle, if_free = (
            Signal(name=f"{name}_{i}") for name in ("now", "lasts", "fits", "has_still", "surely", "if_idle", "if_free")
        )
        grants, enters, takes = (Signal(name=f"{name}_{i}") for name in ("grants", "enters", "takes"))
        here = Signal(name=f"here_{i}")  # the decision of the cycle before is about the same output
        m.d.comb += [
            has.eq(s.opens[i] & mine),
            here.eq(index == s.number),
            s.opened_here[i].eq(here & s.opens_now),
            s.locked_here[i].eq(here & s.locks_now),
            lasts.eq(
                (index == s.output) & (s.locked | s.opened & s.opens[i]) | (index == s.output_before) & s.locked_before
            ),
        ]
        m.d.sync += [
            mine.eq(self.mine[i]),
            # Looked up by the mask of what is named: with 16 ports by the number it would be 250 LUTs more.
            idle.eq(~(self.connected & place).any()),
            free.eq(~(self.shut[i] & place).any()),
            ready.eq((self.ready & place).any()),
            # The own port counts as not in use. Only an *await ready* may name the own port, and it does not look at
            # ``usable``.
            usable.eq((self.enabled & place & ~(1 << i)).any()),
            unknown.eq(is_absent(request.param, self.ports)),
        ]
        # ``surely``: granted whatever was decided before. ``if_idle``, ``if_free``: an open, a lock granted unless the
        # decision of the last cycle has taken the output, which is known late in the cycle. ``lasts``: an earlier
        # decision has taken the output, and the tables do not show it yet. ``now``: decided at once, granted or not. A
        # request that is neither granted nor decided at once waits.
        m.d.comb += [
            fits.eq(s.asking[i] & usable & ~unknown & (ready | ~s.tests[i] | s.locks[i])),
            has_still.eq(fits & s.opens[i] & mine),
            surely.eq(s.asking[i] & ~unknown & s.awaits[i] & ready | has_still),
            if_idle.eq(fits & s.opens[i] & ~mine & idle & free & ~lasts),
            if_free.eq(fits & s.locks[i] & free & ~lasts),
            enters.eq(if_idle & ~(here & (s.opens_now | s.locks_now))),
            takes.eq(if_free & ~(here & s.locks_now)),
            grants.eq(surely | enters | takes),
            now.eq(s.asking[i] & (unknown | self.give_up[i] | ~s.waits[i] | (~usable & ~s.awaits[i]))),
        ]
        m.d.sync += [
            s.possible[i].eq(grants),
            s.at_once[i].eq(now),
            s.either[i].eq(grants | now),
            s.may_open[i].eq(has_still | enters),
            s.may_enter[i].eq(enters),
            s.may_lock[i].eq(takes & ~s.tests[i]),
            s.opening[i].eq(s.opens[i] & ~has),
            s.wanting[i].eq((s.opens[i] | s.locks[i]) & ~has),
        ]
        # The decision of the cycle before has taken the output: a request that may wait is then picked in vain.
        m.d.comb += s.hit[i].eq(s.locked_here[i] & s.wanting[i] | s.opened_here[i] & s.opening[i])

    def _decide(self, m, s):
        """Cycle d: picks one of the requests that were checked in the cycle before, and enters its connection.

        The ports that were picked in the two cycles before are left out: whether a pick counts is known too late to
        stop the next check of that port."""
        m.d.comb += [
            s.turns.asks.eq(s.either & ~s.picked & ~s.picked_before & ~s.frozen.replicate(self.ports)),
            s.turns.back.eq(s.picked.any() & ~s.decided.any()),
        ]
        m.d.sync += [
            s.picked.eq(s.turns.pick),
            s.picked_before.eq(s.picked),
            s.counts.eq(s.at_once | ~s.hit),
            s.was_done.eq(s.possible & ~s.hit),
            s.enters.eq(s.may_enter & ~s.hit),
            s.takes_output.eq(s.may_open & ~s.hit),
            s.takes_lock.eq(s.may_lock & ~s.hit),
        ]

    def _tell_decision(self, m, s):
        """Cycle d + 1: the decision. Its output and its lock are kept for d + 2 and d + 3, too."""
        m.d.comb += [
            s.decided.eq(s.picked & s.counts),
            self.resume.eq(s.decided & (s.opens | s.locks)),
            self.enter.eq(s.picked & s.enters),
            s.opening_now.eq(s.picked & s.takes_output),
            s.locking_now.eq(s.picked & s.takes_lock),
            s.opens_now.eq(s.opening_now.any()),
            s.locks_now.eq(s.locking_now.any()),
            s.number.eq(chosen(s.picked, [request.param[: index_bits(self.ports)] for request in self.request])),
        ]
        m.d.sync += [
            s.supervisor.eq(self.allowed & Cat(request.op[7] for request in self.request)),
            s.output.eq(s.number),
            s.opened.eq(s.opens_now),
            s.locked.eq(s.locks_now),
            s.output_before.eq(s.output),
            s.locked_before.eq(s.locked),
        ]

    def _give_order(self, m, s):
        """Cycle d + 1: the order, and the connection that was entered."""
        with m.If(self.expired.any() | s.gave_up.any()):
            m.d.sync += s.gave_up.eq((s.gave_up | (self.expired & s.asking)) & ~s.decided)
        order, bits = self.order, index_bits(self.ports)
        # Signals from which other signals are made stand outside of the struct: a simulator takes a struct for one
        # signal.
        op = Signal(8)
        port = Signal(bits)
        supervises = Signal()
        m.d.comb += [
            self.decided.eq(s.decided),
            op.eq(chosen(s.decided, [request.op for request in self.request])),
            port.eq(one_hot_index(s.decided)),
            supervises.eq((s.picked & s.supervisor).any()),
            self.place.eq(1 << s.number),
            self.opened.eq(self.enter),
            self.entered_input.eq(port),
            order.request.op.eq(op),
            order.request.param.eq(
                Cat(s.number, chosen(s.decided, [request.param[bits:] for request in self.request]))
            ),
            order.port.eq(port),
            order.done.eq((s.decided & s.was_done).any()),
            order.had.eq((s.opening_now & ~self.enter).any()),
            order.expired.eq((s.decided & s.gave_up).any()),
            order.supervisor.eq(supervises),
            order.locks.eq(s.locks_now),
            s.freeze.eq(supervises),
        ]

    def _freeze(self, m, s):
        """From cycle d + 2 of a supervisor command until ``finished`` nothing is picked: supervisor commands are
        carried out one by one, and nothing else is decided meanwhile."""
        with m.If(s.frozen):
            m.d.comb += s.freeze.eq(1)
        m.d.sync += s.frozen.eq(s.freeze & ~self.finished)

    def _assert(self, m, s):
        """Claims about the check and the decision, which the proofs prove."""
        params = [request.param for request in self.request]
        m.d.comb += [
            Assert(
                ((s.possible | s.at_once) & ~s.picked & ~s.picked_before & ~s.asking) == 0,
                "only what waits is decided",
            ),
            Assert(s.either == s.possible | s.at_once),
            Assert((s.may_open & ~s.possible) == 0),
            Assert((s.may_enter & ~(s.may_open & s.opening)) == 0),
            *(Assert(~s.possible[i] | (param < self.ports)) for i, param in enumerate(params)),
            *(Assert(~s.may_open[i] | (param != i)) for i, param in enumerate(params)),
            Assert((s.may_lock & ~(s.possible & s.wanting)) == 0),
            Assert((s.opening & ~s.wanting) == 0),
        ]
