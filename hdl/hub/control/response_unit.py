"""Answers to the commands that the controller has decided, and the effects of the commands for flow control.

Source: "The Design of Nectar" (1989), sections 4.1 and 4.2 (the status table can be interrogated); ``docs/hub.md``.
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..commands import COMMANDS, HELLO, HELLO_ASK, RETRY, STATUS_IN_USE, TEST, Error, Executor, Group, Op
from ..messages import FAULTS, LEVEL_BITS, Request, chosen, index_bits, is_absent
from ..monitor.recorder import Decision
from ..monitor_map import Event
from ..part import HubPart
from .controller import Order
from .response_signals import QUESTIONS, ResponseSignals

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


def SupervisorCommand(ports):
    """Layout of a supervisor command."""
    return data.StructLayout(
        {
            "request": Request,
            "place": ports,  # the port that it names, one-hot
            "giver": ports,  # the port that gives the command, one-hot
        }
    )


class ResponseUnit(HubPart):
    """Looks up the result of a command, and sends it, the response, to the command's port.

    Parameters
    ----------
    ports : int
        Ports of the HUB.
    commands : tuple of Command
        The commands that the HUB knows.

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
    change, who, given : Out(ports), Out(ports), Out(1)
        A lock is granted: its output, one-hot, the input that gets it, one-hot, and that it is granted.
    unlock, give_back : Out(1), Out(ports)
        A lock is given back; its output, one-hot, a cycle later.
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
    The response to an order of cycle t comes in cycle t + 5. The response to a supervisor command comes in the cycle
    after ``finished``. ``change``, ``who`` and ``given`` belong to t + 1; ``unlock``, ``forget``, ``release`` and
    ``command`` to t + 2; ``give_back`` and ``decision`` to t + 3; all other effects to t + 5. The tables are looked up
    in t + 1.
    """

    def __init__(self, ports, commands=COMMANDS):
        super().__init__(ports)
        #: Commands that the controller decides, and commands that the port has done and the controller answers.
        self.known = {row.op for row in commands if row.executor is Executor.CONTROLLER or row.op in _AT_PORT}

    def members(self):
        ports, bits = self.ports, index_bits(self.ports)
        return {
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
            "change": Out(ports),
            "who": Out(ports),
            "given": Out(1),
            "unlock": Out(1),
            "give_back": Out(ports),
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

    def elaborate(self, platform):
        """The order; the command; the tables; the early effects, and the record; the answer; the kind of the command;
        whether it is refused; the response; flow control."""
        m = Module()
        s = ResponseSignals(self.ports)
        self._take_order(m, s)
        self._take_command(m, s)
        self._look_up(m, s)
        self._act_early(m, s)
        self._record(m, s)
        self._find_answer(m, s)
        self._classify(m, s)
        self._find_obstacles(m, s)
        self._refuse(m, s)
        self._respond(m, s)
        # The pulses for the ready bits come with the response.
        m.d.comb += self.busy.eq(s.early_giver.any() | s.valid | s.responding | s.answers | self.response_valid.any())
        if platform == "formal":
            self.probes = s
        return m

    def _take_order(self, m, s):
        """Cycle t: takes the order over. A lock is taken in t + 1; a command that is decided later finds it in the
        table."""
        m.d.sync += [
            s.early.eq(self.order),
            s.early_giver.eq(self.decided),
            s.early_place.eq(self.place),
            s.locks.eq(self.order.locks),
        ]
        m.d.comb += [
            self.change.eq(Mux(s.locks, s.early_place, 0)),
            self.who.eq(Mux(s.locks, s.early_giver, 0)),
            self.given.eq(s.locks),
        ]

    def _take_command(self, m, s):
        """Cycle t + 1: takes the command over, and decodes the commands with an effect in t + 2."""
        op, param = s.early.request.op, s.early.request.param
        comes = s.early_giver.any()
        user = comes & ~s.early.supervisor
        m.d.sync += [
            s.question.eq(Cat(op == one for one in QUESTIONS)),
            s.valid.eq(comes),
            s.absent.eq(is_absent(param, self.ports)),
            s.unlocks.eq(comes & (op[1:] == Op.UNLOCK >> 1)),
            s.frees.eq(user & (op == Op.UNLOCK_MINE)),
            s.forgets.eq(user & (op == Op.STATUS_NEIGHBOUR) & ~is_absent(param, self.ports)),
            s.supervises.eq(comes & s.early.supervisor),
        ]
        with m.If(comes):
            m.d.sync += [
                s.order.eq(s.early),
                s.order.had.eq(s.early.had | s.locks & (self.locked & s.early_place).any()),
                s.giver.eq(s.early_giver),
                s.place.eq(s.early_place),
            ]

    def _look_up(self, m, s):
        """Cycle t + 1: looks up the tables for the named port.

        If one of the two commands before gives back the lock of the same port, the lock does not count any more."""
        name, place = s.early.request.param[: index_bits(self.ports)], s.early_place
        again = Signal()  # the command before has named the same port, and may be giving back its lock now
        m.d.comb += again.eq(name == s.order.request.param[: len(name)])
        m.d.sync += [
            s.in_use.eq(self.connected.bit_select(name, 1)),
            s.taken.eq(self.locked.bit_select(name, 1) & ~(again & self.unlock) & ~(self.give_back & place).any()),
            s.usable.eq(self.enabled.bit_select(name, 1)),
            s.ready_bit.eq(self.ready_bit.bit_select(name, 1)),
            s.holder.eq(chosen(place, self.owner)),
            s.locker.eq(chosen(place, self.locker)),
            s.errors.eq(chosen(place, self.errors)),
            s.level.eq(chosen(place, self.level)),
            s.connections.eq(Cat(connected & (owner == name) for connected, owner in zip(self.connected, self.owner))),
        ]

    def _act_early(self, m, s):
        """Cycle t + 2: unlocks, forgets a neighbour, and hands a supervisor command on. A lock that is given back is
        still there in t + 3."""
        m.d.sync += self.give_back.eq(Mux(self.unlock, s.place, 0))
        m.d.comb += [
            s.responds.eq(s.valid & ~s.supervises),
            s.ours.eq(s.taken & (s.locker == s.order.port) & ~s.absent),
            self.unlock.eq(s.unlocks & s.ours),
            self.release.eq(Mux(s.frees, s.giver, 0)),
            self.neighbour.eq(s.order.request.param),
            self.forget.eq(Mux(s.forgets, s.place, 0)),
            self.command_valid.eq(s.supervises),
            self.command.request.eq(s.order.request),
            self.command.place.eq(s.place),
            self.command.giver.eq(s.giver),
        ]

    def _record(self, m, s):
        """Cycle t + 3: the event for the record. Closing by an input itself is no decision. Neither is the repetition
        of an open or a lock, nor a test of a lock that could be taken."""
        order = s.order
        m.d.sync += [
            s.event_input.eq(order.port),
            s.event_output.eq(order.request.param),
            s.had.eq(order.had),
        ]
        granted = Mux(s.is_open, Event.OPENED, Event.LOCKED)
        m.d.comb += [
            self.decision.input.eq(s.event_input),
            self.decision.output.eq(s.event_output),
            self.decision.kind.eq(Mux(s.is_unlock, Event.UNLOCKED, Mux(s.done, granted, Event.REFUSED))),
            self.decision_valid.eq(
                s.responding
                & (s.is_unlock & ~s.not_ours | s.is_open & ~s.had | s.is_lock & ~s.had & ~(s.is_test & s.done))
            ),
        ]

    def _find_answer(self, m, s):
        """Cycle t + 2: finds the answer to the command, if the command is not refused. It is the parameter, unless the
        command asks for something."""
        op, param = s.order.request.op, s.order.request.param
        answers = {
            Op.STATUS_OUTPUT: Mux(s.in_use, STATUS_IN_USE | s.holder, 0),
            Op.STATUS_ERRORS: s.errors[:8] | s.errors[8].replicate(8),
            Op.STATUS_INPUT: 0,
            Op.STATUS_QUEUE: s.level[:8] | s.level[8:].any().replicate(8),
            Op.STATUS_LOCK: Mux(s.taken, STATUS_IN_USE | s.locker, 0),
            Op.STATUS_READY: s.ready_bit,
            Op.IDENTITY_REPLY: s.order.port,
            Op.SIZE_REPLY: self.ports,
        }
        looked = reduce(or_, (Mux(bit, answers[one], 0) for bit, one in zip(s.question, QUESTIONS)))
        m.d.sync += [
            s.said.eq(Mux(op == Op.STATUS_KIND, self.neighbour_kind, self.neighbour_id)),
            s.answer.eq(Mux(s.question.any(), looked, param)),
            s.count.eq(sum(s.connections)),
        ]

    def _classify(self, m, s):
        """Cycle t + 2: finds the kind of the command."""
        op = s.order.request.op

        def among(ops):
            """Whether the opcode is one of ``ops`` that the HUB knows."""
            found = [op == one for one in ops if one in self.known]
            return reduce(or_, found) if found else Const(0, 1)

        m.d.sync += [
            s.responding.eq(s.responds),
            s.asker.eq(Mux(s.responds, s.giver, 0)),
            s.effect.eq(s.place),
            s.is_unlock.eq(among([Op.UNLOCK, Op.UNLOCK_REPLY])),
            s.is_open.eq(among(_OPENS)),
            s.is_lock.eq(among(_LOCKS)),
            s.is_status.eq(among(_STATUS)),
            s.is_await.eq(among([Op.AWAIT_READY_REPLY])),
            s.is_flow.eq(among([Op.RAISE_READY, Op.LOWER_READY, Op.REPAIR_READY])),
            s.is_repair.eq(among([Op.REPAIR_READY])),
            s.is_raise.eq(among([Op.RAISE_READY])),
            s.is_lower.eq(among([Op.LOWER_READY])),
            s.is_supervisor.eq(among(_SUPERVISOR)),
            s.is_count.eq(among([Op.STATUS_INPUT])),
            s.is_neighbour.eq(among([Op.STATUS_NEIGHBOUR, Op.STATUS_KIND])),
            s.is_quiet.eq((op == HELLO) | (op == HELLO_ASK)),
            s.is_unknown.eq(~among(row.op for row in COMMANDS)),
            s.is_test.eq((op & TEST).any()),
        ]

    def _find_obstacles(self, m, s):
        """Cycle t + 2: finds in the table entries what may refuse the command."""
        op, param = s.order.request.op, s.order.request.param
        own = Signal()  # the command names its own port
        mine = Signal()  # the input that is connected to the output is the command's port
        m.d.comb += [
            own.eq(param == s.order.port),
            mine.eq(s.holder == s.order.port),
        ]
        m.d.sync += [
            s.done.eq(s.order.done),
            s.expired.eq(s.order.expired),
            s.retry.eq((op & RETRY).any()),
            s.bad.eq(s.absent | own),
            s.missing.eq(s.absent),
            s.disabled.eq(~s.usable),
            s.busy.eq(s.in_use & ~mine),
            s.shut.eq(s.taken & ~s.ours & ~(s.in_use & mine)),
            s.not_ours.eq(~s.ours),
            s.not_owned.eq(~(s.in_use & mine) & ~(own & (op == Op.REPAIR_READY))),
            s.alone.eq(~s.in_use | mine),
        ]

    def _refuse(self, m, s):
        """Cycle t + 3: whether the command is refused. At most one of ``refused`` is 1."""
        refused = s.refused
        takes = s.is_open | s.is_lock
        asks = takes & ~s.done & ~s.bad & ~s.disabled & ~s.retry
        m.d.comb += [
            refused[Error.UNKNOWN].eq(s.is_unknown),
            refused[Error.NOT_ALLOWED].eq(s.is_supervisor),
            refused[Error.BAD_PORT].eq(
                takes & ~s.done & s.bad | (s.is_unlock | s.is_status | s.is_await | s.is_flow) & s.missing
            ),
            refused[Error.DISABLED].eq(takes & ~s.done & ~s.bad & s.disabled),
            refused[Error.GIVEN_UP].eq(
                takes & ~s.done & ~s.bad & ~s.disabled & s.retry | s.is_await & ~s.missing & ~s.done
            ),
            refused[Error.NOT_MINE].eq(~s.missing & (s.is_unlock & s.not_ours | s.is_flow & s.not_owned)),
            refused[Error.LOCKED].eq(asks & (s.is_lock | ~s.busy & s.shut)),
            refused[Error.NOT_READY].eq(asks & s.is_open & ~s.busy & ~s.shut & s.is_test),
            refused[Error.BUSY].eq(asks & s.is_open & (s.busy | ~s.shut & ~s.is_test)),
        ]

    def _respond(self, m, s):
        """Cycle t + 4: sends the response, which is at the ports in t + 5. A supervisor command's response comes from
        the supervisor."""
        code = Signal(4)
        refusal = Signal()
        m.d.sync += [
            Cat(s.judged.values()).eq(Cat(s.refused.values())),
            s.answers.eq(s.responding),
            s.answered.eq(s.asker),
            s.named.eq(s.effect),
            s.text.eq(Mux(s.is_count, s.count, Mux(s.is_neighbour, s.said, s.answer))),
            s.silent.eq(s.responding & s.is_quiet),
        ]
        m.d.comb += [
            refusal.eq(Cat(s.judged.values()).any()),
            code.eq(reduce(or_, (Mux(flag, error, 0) for error, flag in s.judged.items()))),
        ]
        m.d.sync += [
            self.response_valid.eq(s.answered | self.finished),
            self.done.eq(Mux(s.answers, ~refusal, self.finished_done)),
            self.value.eq(Mux(s.answers, Mux(refusal, code, s.text), self.finished_value)),
            self.quiet.eq(s.silent),
            *(
                fault.eq(Mux(s.answers, s.judged[error], ~self.finished_done & (self.finished_value == error)))
                for fault, error in zip(self.fault, FAULTS)
            ),
        ]
        self._control_flow(m, s, refusal)

    def _control_flow(self, m, s, refusal):
        """Cycle t + 4: decides on the effects for flow control, which come in t + 5.

        If the watchdog ended a command that waited for a ready bit, the ready bit is set, unless another input is
        connected to the output."""
        raises, lowers, repairs, recovers, sets, clears, sends = (
            Signal(name=name) for name in ("raises", "lowers", "repairs", "recovers", "sets", "clears", "sends")
        )
        place_of_effect = Signal(self.ports, reset_less=True)
        m.d.sync += [
            raises.eq(s.responding & s.is_raise),
            lowers.eq(s.responding & s.is_lower),
            repairs.eq(s.responding & s.is_repair),
            recovers.eq(s.responding & s.expired & s.alone & (s.is_await | s.is_open & s.is_test)),
            place_of_effect.eq(s.named),
            sets.eq(raises & ~refusal | recovers & s.judged[Error.GIVEN_UP]),
            clears.eq(lowers & ~refusal),
            sends.eq(repairs & ~refusal),
        ]
        m.d.comb += [
            self.ready_set.eq(Mux(sets, place_of_effect, 0)),
            self.ready_clear.eq(Mux(clears, place_of_effect, 0)),
            self.send_ready.eq(Mux(sends, place_of_effect, 0)),
        ]
