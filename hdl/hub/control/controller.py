"""Central controller: decides the commands that need serialising, one in every cycle.

Source: "The Design of Nectar" (1989), sections 4 and 4.1; ``docs/hub.md``, "Controller and status table".
"""

from functools import reduce
from operator import or_
from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..commands import RETRY, TEST, Op
from ..messages import Request, check_ports, index_bits, is_absent, one_hot_index
from .arbiter import Arbiter

__all__ = ["Controller", "Order"]


def Order(ports):
    """Layout of a decided command: the request, its port, and the decision. It means nothing when nothing was decided.

    - ``done``: the command is granted. It counts for opens, locks and *await ready*.
    - ``had``: the command is done, since the port had this connection or lock before.
    - ``expired``: the watchdog gave the command up.
    - ``supervisor``: a supervisor command from a port that may give one.
    - ``locks``: a lock that was granted."""
    return data.StructLayout(
        {"request": Request, "port": index_bits(ports), "done": 1, "had": 1, "expired": 1, "supervisor": 1, "locks": 1}
    )


def _chosen(one_hot, values):
    """The value whose bit in ``one_hot`` is set; 0 if no bit is set."""
    shape = Value.cast(values[0]).shape()
    return reduce(or_, (Value.cast(value) & bit.replicate(shape.width) for bit, value in zip(one_hot, values)))


class Controller(wiring.Component):
    """Decides the requests of all ports.

    Parameters
    ----------
    ports : int
        Ports of the HUB.
    backplane : int
        Registers on the way of a request to the controller, and as many on the way of ``resume``, 0 or more.

    Members
    -------
    request, request_valid : In(Request).array(ports), In(ports)
        A port asks, with ``request_valid`` for one cycle. ``request`` holds until the response.
    give_up, expired : In(ports), In(ports)
        ``give_up``: while it is 1, the port's request is decided at once. ``expired``: the watchdog has expired at the
        port in this cycle.
    mine, connected : as in StatusTable
    shut, locked : as in Locks
        The tables. A lock may show two cycles later than a connection, since it is taken two cycles after the decision.
    ready, enabled, allowed : In(ports), In(ports), In(ports)
        Outputs whose ready bit counts as 1; ports in use; ports that may give supervisor commands.
    enter : Out(ports)
        One-hot, to the status table: the input whose connection is entered.
    entered_input, entered_output : as in StatusTable
        The connection entered in the cycle before.
    opened : Out(ports)
        One-hot, the input that got a new connection in the cycle before.
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
    A request of cycle t is checked against the tables in cycle t + backplane. The check is repeated in every cycle
    until the decision, which may come from the next cycle on. With the decision in cycle d, ``enter`` belongs to cycle
    d, ``order`` and ``opened`` to d + 1, ``resume`` to d + 1 + backplane.

    One decision a cycle, in turns among the requests that can be decided. Behind a supervisor command there are at most
    two more decisions before ``finished``.

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
        super().__init__(
            {
                "request": In(Request).array(ports),
                "request_valid": In(ports),
                "give_up": In(ports),
                "expired": In(ports),
                "mine": In(ports),
                "connected": In(ports),
                "shut": In(ports).array(ports),
                "locked": In(ports),
                "ready": In(ports),
                "enabled": In(ports),
                "allowed": In(ports),
                "enter": Out(ports),
                "entered_input": Out(bits),
                "entered_output": Out(ports),
                "opened": Out(ports),
                "resume": Out(ports),
                "order": Out(Order(ports)),
                "decided": Out(ports),
                "place": Out(ports),
                "finished": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        bits = index_bits(self.ports)

        def cross(signal):
            """A vector behind the registers of the backplane."""
            for stage in range(self.backplane):
                register = Signal(self.ports, name=f"backplane_{stage}")
                m.d.sync += register.eq(signal)
                signal = register
                crossing.append(register)
            return signal

        crossing = []
        asks = cross(self.request_valid)

        # The kind of each port's request, which holds until the response. An unknown opcode may look like a command,
        # but not like one that takes a connection or a lock, or that waits.
        opens, locks, awaits, tests, waits = (
            Signal(self.ports, name=name) for name in ("opens", "locks", "awaits", "tests", "waits")
        )
        for i, request in enumerate(self.request):
            op = request.op
            m.d.comb += [
                opens[i].eq(op[3:] == Op.OPEN >> 3),
                locks[i].eq(op[3:] == Op.LOCK >> 3),
                awaits[i].eq(op == Op.AWAIT_READY_REPLY),
                tests[i].eq((op & TEST).any()),
                waits[i].eq(awaits[i] | ((op & RETRY).any() & (opens[i] | (locks[i] & ~tests[i])))),
            ]

        # The check against the tables. The tables show the connections decided two cycles ago or earlier, and the locks
        # decided three cycles ago or earlier. The check is therefore compared with the later decisions, too. The
        # decision of one cycle ago is also compared with the result of the check before.
        waiting = Signal(self.ports)
        possible = Signal(self.ports)
        at_once = Signal(self.ports)
        either = Signal(self.ports)
        # Possible requests: opens; opens of outputs that the input does not have yet; locks that take the lock.
        may_open = Signal(self.ports)
        may_enter = Signal(self.ports)
        may_lock = Signal(self.ports)
        # Requests that take their output: opens; opens and locks. An open of an output that the input has already takes
        # nothing.
        opening = Signal(self.ports)
        wanting = Signal(self.ports)
        # the decision of the cycle before: it opened a connection; it took a lock
        opened = Signal()
        locked = Signal()
        output = Signal(bits)  # its output
        # the decision before that
        locked_before = Signal()
        output_before = Signal(bits)
        freeze = Signal()
        asking = Signal(self.ports)
        # the pick of the cycle before: known too late in its cycle to keep the port from being checked again
        picked = Signal(self.ports)
        hit = Signal(self.ports)
        counts = Signal(self.ports)
        m.submodules.turns = turns = Arbiter(self.ports)
        m.d.comb += [asking.eq(asks | waiting), turns.asks.eq(either & ~picked)]
        m.d.sync += [locked_before.eq(locked), output_before.eq(output), picked.eq(turns.pick)]
        for i, request in enumerate(self.request):
            index = request.param[:bits]
            same, same_before, has = (Signal(name=f"{name}_{i}") for name in ("same", "same_before", "has"))
            free, ready, usable, unknown = (
                Signal(name=f"{name}_{i}") for name in ("free", "ready", "usable", "unknown")
            )
            can, now, clear, may, grants = (
                Signal(name=f"{name}_{i}") for name in ("can", "now", "clear", "may", "grants")
            )
            m.d.comb += [
                same.eq(index == output),
                same_before.eq(index == output_before),
                free.eq(~self.shut[i].bit_select(index, 1)),
                ready.eq(self.ready.bit_select(index, 1)),
                # The own port counts as not in use. Only an *await ready* may name the own port, and it does not look
                # at ``usable``.
                usable.eq(Cat(0 if o == i else enabled for o, enabled in enumerate(self.enabled)).bit_select(index, 1)),
                unknown.eq(is_absent(request.param, self.ports)),
                has.eq(opens[i] & self.mine[i]),
                clear.eq(~(same & (locked | opened & opens[i])) & ~(same_before & locked_before)),
            ]
            with m.If(opens[i]):
                m.d.comb += can.eq(
                    usable
                    & (self.mine[i] | (~self.connected.bit_select(index, 1) & free & clear))
                    & (ready | ~tests[i])
                )
            with m.Elif(locks[i]):
                m.d.comb += can.eq(usable & free & clear)
            with m.Elif(awaits[i]):
                m.d.comb += can.eq(ready)
            m.d.comb += [
                now.eq(unknown | self.give_up[i] | ~waits[i] | (~usable & ~awaits[i])),
                may.eq(asking[i] & ~freeze),
                grants.eq(may & can & ~unknown),
            ]
            m.d.sync += [
                possible[i].eq(grants),
                at_once[i].eq(may & now),
                either[i].eq(grants | may & now),
                may_open[i].eq(grants & opens[i]),
                may_enter[i].eq(grants & opens[i] & ~self.mine[i]),
                may_lock[i].eq(grants & locks[i] & ~tests[i]),
                opening[i].eq(opens[i] & ~has),
                wanting[i].eq((opens[i] | locks[i]) & ~has),
            ]
            # The decision of the cycle before has taken the output: a request that may wait is then picked in vain.
            m.d.comb += [
                hit[i].eq(same & (locked & wanting[i] | opened & opening[i])),
                counts[i].eq(at_once[i] | ~hit[i]),
            ]

        # The decision.
        done = Signal(self.ports)
        some = Signal()
        decided, entered, was_done, resumes = (
            Signal(self.ports, name=name) for name in ("decided", "entered", "was_done", "resumes")
        )
        counted = Signal()  # the pick is not in vain
        supervising = Signal(self.ports)  # it is a supervisor command from a port that may give one
        m.d.comb += [
            done.eq(possible & ~hit),
            self.enter.eq(turns.pick & may_enter & ~hit),
            counted.eq(turns.chosen(list(counts))),
            turns.keep.eq(~counted),
        ]
        with m.If(asking.any()):
            m.d.sync += waiting.eq(asking & ~(turns.pick & counts))
        m.d.sync += [
            decided.eq(turns.pick & counts),
            resumes.eq(turns.pick & counts & (opens | locks)),
            entered.eq(self.enter),
            supervising.eq(turns.pick & self.allowed & Cat(request.op[7] for request in self.request)),
            Cat(output, opened, locked).eq(
                turns.chosen(
                    [
                        Cat(request.param[:bits], may_open[i] & ~hit[i], may_lock[i] & ~hit[i])
                        for i, request in enumerate(self.request)
                    ]
                )
            ),
            was_done.eq(done),
            some.eq(counted),
        ]
        m.d.comb += self.resume.eq(cross(resumes))

        # The cycle after the decision: the order.
        gave_up = Signal(self.ports)  # the watchdog has expired while the port was waiting
        with m.If(self.expired.any() | gave_up.any()):
            m.d.sync += gave_up.eq((gave_up | (self.expired & waiting)) & ~decided)
        frozen = Signal()
        order = self.order
        # Signals from which other signals are made stand outside of the struct: a simulator takes a struct for one
        # signal.
        op = Signal(8)
        port = Signal(index_bits(self.ports))
        supervises = Signal()
        m.d.comb += [
            self.decided.eq(decided),
            op.eq(_chosen(decided, [request.op for request in self.request])),
            port.eq(one_hot_index(decided)),
            supervises.eq(supervising.any()),
        ]
        m.d.comb += [
            self.place.eq(1 << output),
            self.opened.eq(entered),
            self.entered_input.eq(port),
            self.entered_output.eq(Mux(opened, self.place, 0)),
            order.request.op.eq(op),
            order.request.param.eq(Cat(output, _chosen(decided, [request.param[bits:] for request in self.request]))),
            order.port.eq(port),
            order.done.eq((decided & was_done).any()),
            order.had.eq((opened & ~entered.any()) | (locked & self.locked.bit_select(output, 1))),
            order.expired.eq((decided & gave_up).any()),
            order.supervisor.eq(supervises),
            order.locks.eq(locked),
            freeze.eq(supervises),
        ]

        # Supervisor commands are carried out one by one. Nothing else is decided meanwhile.
        with m.If(frozen):
            m.d.comb += freeze.eq(1)
        m.d.sync += frozen.eq(freeze & ~self.finished)

        m.d.comb += self.busy.eq(waiting.any() | some | locked_before | frozen | Cat(*crossing).any())

        if platform == "formal":
            self.probes = SimpleNamespace(
                turns=turns,
                counts=counts,
                waiting=waiting,
                crossing=crossing,
                possible=possible,
                at_once=at_once,
                done=done,
                opened=opened,
                locked=locked,
                output=output,
                locked_before=locked_before,
                output_before=output_before,
                freeze=freeze,
                was_done=was_done,
                entered=entered,
            )
            m.d.comb += [
                Assert(((possible | at_once) & ~picked & ~waiting) == 0, "only what waits is decided"),
                Assert(either == possible | at_once),
                Assert((may_open & ~possible) == 0),
                Assert((may_enter & ~(may_open & opening)) == 0),
                *(Assert(~possible[i] | (request.param < self.ports)) for i, request in enumerate(self.request)),
                *(Assert(~may_open[i] | (request.param != i)) for i, request in enumerate(self.request)),
                Assert((may_lock & ~(possible & wanting)) == 0),
                Assert((opening & ~wanting) == 0),
                Assert(some == decided.any()),
            ]
        return m
