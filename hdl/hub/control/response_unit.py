"""Answers to the commands that the controller has decided, and the effects of the commands for flow control.

Source: "The Design of Nectar" (1989), sections 4.1 and 4.2 (the status table can be interrogated); ``docs/hub.md``.
"""

from functools import reduce
from operator import or_
from types import SimpleNamespace

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..commands import COMMANDS, HELLO, HELLO_ASK, RETRY, STATUS_IN_USE, TEST, Error, Executor, Group, Op
from ..messages import FAULTS, LEVEL_BITS, Request, check_ports, index_bits, is_absent
from ..monitor.recorder import Decision
from ..monitor_map import Event
from .controller import Order

__all__ = ["ResponseUnit", "SupervisorCommand"]


def _group(group, *, below=0x100):
    """Opcodes of the commands of a group below the opcode ``below``."""
    return [row.op for row in COMMANDS if row.group is group and row.op < below]


_OPENS = _group(Group.OPEN)
_LOCKS = _group(Group.LOCK, below=Op.UNLOCK)
_STATUS = _group(Group.STATUS)
#: Commands that the port has done already, or that need only the answer.
_AT_PORT = [Op.FLUSH_REPLY, *_group(Group.ECHO)]
_SUPERVISOR = [row.op for row in COMMANDS if row.supervisor]
#: Commands that the controller decides, and commands that the port has done and the controller answers.
_KNOWN = [row for row in COMMANDS if row.executor is Executor.CONTROLLER or row.op in _AT_PORT]


def _looked_up(place, entries):
    """The entry whose bit in ``place`` (one-hot) is set."""
    return reduce(
        or_, (Value.cast(entry) & bit.replicate(len(Value.cast(entry))) for bit, entry in zip(place, entries))
    )


def SupervisorCommand(ports):
    """Layout of a supervisor command."""
    return data.StructLayout(
        {
            "request": Request,
            "place": ports,  # the port that it names, one-hot
            "giver": ports,  # the port that gives the command, one-hot
        }
    )


class ResponseUnit(wiring.Component):
    """Looks up the answer to a command, and sends the response to the command's port.

    Parameters
    ----------
    ports : int
        Ports of the HUB.

    Members
    -------
    order, decided, place : as in Controller
        A command that has been decided.
    connected, owner : as in StatusTable
    locked, locker : as ``locked`` and ``owner`` of Locks
    ready_bit, enabled : In(ports), In(ports)
        The ready bits; ports in use.
    errors, level : In(9).array(ports), In(LEVEL_BITS).array(ports)
        ``errors``: errors of each port; bit 8: more than 255. ``level``: entries of its queue.
    lock, unlock, change, who : Out(1), Out(1), Out(ports), Out(ports)
        A lock is granted; a lock is given back; the lock's output, one-hot; the input that gets the lock, one-hot.
    neighbour, neighbour_id, neighbour_kind : Out(index), In(8), In(8)
        The port whose neighbour a command asks for; ID and kind of this neighbour in the same cycle.
    forget : Out(ports)
        One-hot: the neighbour of this port is to be forgotten and asked anew.
    command, command_valid : Out(SupervisorCommand(ports)), Out(1)
        A supervisor command to carry out. It holds until the next order.
    finished, finished_done, finished_value : In(ports), In(1), In(8)
        The supervisor command has been carried out: the port that gave it, one-hot, and the response. Commands decided
        before and just behind it have been answered by then.
    ready_set, ready_clear, send_ready : Out(ports)
        One-hot: the ready bit of an output is to be set; to be cleared; a ready signal is to be sent.
    release : Out(ports)
        One-hot: the input that gives back all its locks.
    response_valid, done, value : Out(ports), Out(1), Out(8)
        The response for one port, one-hot. ``value`` is the answer if ``done`` is 1, otherwise an error code.
    fault, quiet : Out(len(FAULTS)), Out(1)
        ``fault``: the error, if it is one of ``FAULTS``, one-hot in their order. ``quiet``: the opcode is the opcode of
        a hello, which is not answered.
    decision, decision_valid : Out(Decision), Out(1)
        The event of the command for the record.
    busy : Out(1)
        A command is under way.

    Timing
    ------
    The response to an order of cycle t comes in cycle t + 3. The response to a supervisor command comes in the cycle
    after ``finished``. ``lock``, ``unlock``, ``forget``, ``release``, ``command`` and ``decision`` belong to t + 1, all
    other effects to t + 3.

    Raises
    ------
    TypeError, ValueError
        If ``ports`` is not an int from 2 to 128.
    """

    def __init__(self, ports):
        check_ports(ports)
        self.ports = ports
        bits = index_bits(ports)
        super().__init__(
            {
                "order": In(Order(ports)),
                "decided": In(ports),
                "place": In(ports),
                "connected": In(ports),
                "owner": In(bits).array(ports),
                "locked": In(ports),
                "locker": In(bits).array(ports),
                "ready_bit": In(ports),
                "enabled": In(ports),
                "errors": In(9).array(ports),
                "level": In(LEVEL_BITS).array(ports),
                "lock": Out(1),
                "unlock": Out(1),
                "change": Out(ports),
                "who": Out(ports),
                "neighbour": Out(bits),
                "neighbour_id": In(8),
                "neighbour_kind": In(8),
                "forget": Out(ports),
                "command": Out(SupervisorCommand(ports)),
                "command_valid": Out(1),
                "finished": In(ports),
                "finished_done": In(1),
                "finished_value": In(8),
                "ready_set": Out(ports),
                "ready_clear": Out(ports),
                "send_ready": Out(ports),
                "release": Out(ports),
                "response_valid": Out(ports),
                "done": Out(1),
                "value": Out(8),
                "fault": Out(len(FAULTS)),
                "quiet": Out(1),
                "decision": Out(Decision),
                "decision_valid": Out(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        bits = index_bits(self.ports)

        # First cycle: the tables are looked up for the named port.
        valid = Signal()
        giver = Signal(self.ports, reset_less=True)
        order = Signal(Order(self.ports), reset_less=True)
        place = Signal(self.ports, reset_less=True)
        connections = Signal(self.ports, reset_less=True)
        in_use, taken, usable, ready_bit = (
            Signal(name=name, reset_less=True) for name in ("in_use", "taken", "usable", "ready_bit")
        )
        holder = Signal(bits, reset_less=True)
        locker = Signal(bits, reset_less=True)
        errors = Signal(9, reset_less=True)
        level = Signal(LEVEL_BITS, reset_less=True)
        name = self.order.request.param[:bits]
        again = Signal()  # the command before has named the same port, and may be changing its lock now
        m.d.comb += again.eq(name == order.request.param[:bits])
        # Commands with an effect in the second cycle are decoded in the first.
        op, param = self.order.request.op, self.order.request.param
        user = self.decided.any() & ~self.order.supervisor
        unlocks, frees, forgets, locks, supervises = (
            Signal(name=name) for name in ("unlocks", "frees", "forgets", "locks", "supervises")
        )
        absent = Signal(reset_less=True)
        m.d.sync += [
            valid.eq(self.decided.any()),
            absent.eq(is_absent(param, self.ports)),
            unlocks.eq(self.decided.any() & (op[1:] == Op.UNLOCK >> 1)),
            frees.eq(user & (op == Op.UNLOCK_MINE)),
            forgets.eq(user & (op == Op.STATUS_NEIGHBOUR) & ~is_absent(param, self.ports)),
            locks.eq(self.decided.any() & self.order.locks),
            supervises.eq(self.decided.any() & self.order.supervisor),
        ]
        with m.If(self.decided.any()):
            m.d.sync += [order.eq(self.order), giver.eq(self.decided), place.eq(self.place)]
        m.d.sync += [
            in_use.eq(self.connected.bit_select(name, 1)),
            taken.eq(again & self.lock | self.locked.bit_select(name, 1) & ~(again & self.unlock)),
            usable.eq(self.enabled.bit_select(name, 1)),
            ready_bit.eq(self.ready_bit.bit_select(name, 1)),
            holder.eq(_looked_up(self.place, self.owner)),
            locker.eq(Mux(again & self.lock, order.port, _looked_up(self.place, self.locker))),
            errors.eq(_looked_up(self.place, self.errors)),
            level.eq(_looked_up(self.place, self.level)),
            connections.eq(Cat(connected & (owner == name) for connected, owner in zip(self.connected, self.owner))),
        ]

        # Second cycle: the kind of the command, and its answer if it is done.
        op, param = order.request.op, order.request.param
        responds = Signal()
        ours = Signal()
        m.d.comb += [
            responds.eq(valid & ~supervises),
            ours.eq(taken & (locker == order.port) & ~absent),
            self.unlock.eq(unlocks & ours),
            self.lock.eq(locks),
            self.change.eq(Mux(self.lock | self.unlock, place, 0)),
            self.who.eq(Mux(self.lock, giver, 0)),
            self.release.eq(Mux(frees, giver, 0)),
            self.neighbour.eq(param),
            self.forget.eq(Mux(forgets, place, 0)),
            self.command_valid.eq(supervises),
            self.command.request.eq(order.request),
            self.command.place.eq(place),
            self.command.giver.eq(giver),
        ]
        answers = {
            Op.STATUS_OUTPUT: Mux(in_use, STATUS_IN_USE | holder, 0),
            Op.STATUS_ERRORS: errors[:8] | errors[8].replicate(8),
            Op.STATUS_INPUT: 0,
            Op.STATUS_QUEUE: level[:8] | level[8:].any().replicate(8),
            Op.STATUS_LOCK: Mux(taken, STATUS_IN_USE | locker, 0),
            Op.STATUS_READY: ready_bit,
            Op.IDENTITY_REPLY: order.port,
            Op.SIZE_REPLY: self.ports,
        }
        answer = Signal(8, reset_less=True)
        count = Signal(range(self.ports + 1), reset_less=True)
        said = Signal(8, reset_less=True)  # ID or kind from the neighbour's hello
        m.d.sync += [answer.eq(param), said.eq(Mux(op == Op.STATUS_KIND, self.neighbour_kind, self.neighbour_id))]
        with m.Switch(op):
            for question, value in answers.items():
                with m.Case(question):
                    m.d.sync += answer.eq(value)
        kinds = {
            kind: Signal(name=f"is_{kind}", reset_less=True)
            for kind in (
                "free",
                "unlock",
                "open",
                "lock",
                "status",
                "await",
                "flow",
                "repair",
                "raise",
                "lower",
                "supervisor",
                "unknown",
                "test",
                "count",
                "neighbour",
                "quiet",
            )
        }
        responding = Signal()
        asker = Signal(self.ports)
        effect = Signal(self.ports, reset_less=True)
        done, expired, retry, bad, missing, disabled, busy, shut, not_ours, not_owned, alone = (
            Signal(name=name, reset_less=True)
            for name in (
                "done_before",
                "expired",
                "retry",
                "bad",
                "missing",
                "disabled",
                "busy_output",
                "shut",
                "not_ours",
                "not_owned",
                "alone",
            )
        )
        own = Signal()
        mine = Signal()
        m.d.comb += [
            own.eq(param == order.port),
            mine.eq(holder == order.port),
        ]
        m.d.sync += [
            responding.eq(responds),
            asker.eq(Mux(responds, giver, 0)),
            effect.eq(place),
            count.eq(sum(connections)),
            done.eq(order.done),
            expired.eq(order.expired),
            retry.eq((op & RETRY).any()),
            bad.eq(absent | own),
            missing.eq(absent),
            disabled.eq(~usable),
            busy.eq(in_use & ~mine),
            shut.eq(taken & ~ours & ~(in_use & mine)),
            not_ours.eq(~ours),
            not_owned.eq(~(in_use & mine) & ~(own & (op == Op.REPAIR_READY))),
            alone.eq(~in_use | mine),
            *(
                kinds[kind].eq(reduce(or_, (op == one for one in ops)))
                for kind, ops in (
                    ("free", [Op.UNLOCK_MINE, *_AT_PORT]),
                    ("unlock", [Op.UNLOCK, Op.UNLOCK_REPLY]),
                    ("open", _OPENS),
                    ("lock", _LOCKS),
                    ("status", _STATUS),
                    ("await", [Op.AWAIT_READY_REPLY]),
                    ("flow", [Op.RAISE_READY, Op.LOWER_READY, Op.REPAIR_READY]),
                    ("repair", [Op.REPAIR_READY]),
                    ("raise", [Op.RAISE_READY]),
                    ("lower", [Op.LOWER_READY]),
                    ("supervisor", _SUPERVISOR),
                    ("count", [Op.STATUS_INPUT]),
                    ("neighbour", [Op.STATUS_NEIGHBOUR, Op.STATUS_KIND]),
                    ("quiet", [HELLO, HELLO_ASK]),
                )
            ),
            kinds["unknown"].eq(~reduce(or_, (op == row.op for row in _KNOWN))),
            kinds["test"].eq((op & TEST).any()),
        ]

        # Third cycle: whether the command is refused.
        refused = {error: Signal(name=f"refused_{error.name.lower()}") for error in Error}
        takes = kinds["open"] | kinds["lock"]
        asks = takes & ~done & ~bad & ~disabled & ~retry
        m.d.comb += [
            refused[Error.UNKNOWN].eq(kinds["unknown"]),
            refused[Error.NOT_ALLOWED].eq(kinds["supervisor"]),
            refused[Error.BAD_PORT].eq(
                takes & ~done & bad | (kinds["unlock"] | kinds["status"] | kinds["await"] | kinds["flow"]) & missing
            ),
            refused[Error.DISABLED].eq(takes & ~done & ~bad & disabled),
            refused[Error.GIVEN_UP].eq(takes & ~done & ~bad & ~disabled & retry | kinds["await"] & ~missing & ~done),
            refused[Error.NOT_MINE].eq(~missing & (kinds["unlock"] & not_ours | kinds["flow"] & not_owned)),
            refused[Error.LOCKED].eq(asks & (kinds["lock"] | ~busy & shut)),
            refused[Error.NOT_READY].eq(asks & kinds["open"] & ~busy & ~shut & kinds["test"]),
            refused[Error.BUSY].eq(asks & kinds["open"] & (busy | ~shut & ~kinds["test"])),
        ]
        refusal = Signal()
        code = Signal(4)
        m.d.comb += [
            refusal.eq(Cat(refused.values()).any()),
            code.eq(reduce(or_, (Mux(flag, error, 0) for error, flag in refused.items()))),
        ]
        m.d.sync += [
            self.response_valid.eq(asker | self.finished),
            self.done.eq(Mux(responding, ~refusal, self.finished_done)),
            self.value.eq(
                Mux(
                    responding,
                    Mux(refusal, code, Mux(kinds["count"], count, Mux(kinds["neighbour"], said, answer))),
                    self.finished_value,
                )
            ),
            self.quiet.eq(responding & kinds["quiet"]),
            *(
                fault.eq(Mux(responding, refused[error], ~self.finished_done & (self.finished_value == error)))
                for fault, error in zip(self.fault, FAULTS)
            ),
        ]

        # Flow control. If the watchdog ended a command that waited for a ready bit, the ready bit is set, unless
        # another input is connected to the output.
        sets = Signal()
        clears = Signal()
        sends = Signal()
        place_of_effect = Signal(self.ports, reset_less=True)
        m.d.sync += [
            place_of_effect.eq(effect),
            sets.eq(
                responding & ~refusal & kinds["raise"]
                | responding
                & refused[Error.GIVEN_UP]
                & expired
                & alone
                & (kinds["await"] | kinds["open"] & kinds["test"])
            ),
            clears.eq(responding & ~refusal & kinds["lower"]),
            sends.eq(responding & ~refusal & kinds["repair"]),
        ]
        m.d.comb += [
            self.ready_set.eq(Mux(sets, place_of_effect, 0)),
            self.ready_clear.eq(Mux(clears, place_of_effect, 0)),
            self.send_ready.eq(Mux(sends, place_of_effect, 0)),
            # The pulses for the ready bits come with the response.
            self.busy.eq(valid | responding | self.response_valid.any()),
        ]

        # The record. Closing by an input itself is no decision. Neither is the repetition of an open or a lock.
        m.d.comb += [self.decision.input.eq(order.port), self.decision.output.eq(param)]
        with m.If(valid):
            with m.Switch(op):
                with m.Case(Op.UNLOCK, Op.UNLOCK_REPLY):
                    m.d.comb += [self.decision.kind.eq(Event.UNLOCKED), self.decision_valid.eq(ours)]
                with m.Case(*_OPENS):
                    m.d.comb += [
                        self.decision.kind.eq(Mux(order.done, Event.OPENED, Event.REFUSED)),
                        self.decision_valid.eq(~order.had),
                    ]
                with m.Case(*_LOCKS):
                    test = (op & TEST).any()
                    m.d.comb += [
                        self.decision.kind.eq(Mux(order.done, Event.LOCKED, Event.REFUSED)),
                        self.decision_valid.eq(~order.had & ~(test & order.done)),
                    ]

        if platform == "formal":
            self.probes = SimpleNamespace(valid=valid, giver=giver, asker=asker)
        return m
