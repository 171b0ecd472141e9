"""Answers to the commands that the controller has decided, and what the commands for flow control do.

Source: "The Design of Nectar" (1989), sections 4.1 and 4.2 (the status table can be interrogated); ``docs/hub.md``.
"""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .commands import COMMANDS, RETRY, STATUS_IN_USE, TEST, Error, Group, Op
from .controller import Order
from .messages import check_ports, index_bits
from .monitor_map import Event
from .recorder import Decision

__all__ = ["Answers"]


def _group(group, *, below=0x100):
    """Opcodes of the commands of a group, up to one."""
    return [row.op for row in COMMANDS if row.group is group and row.op < below]


_OPENS = _group(Group.OPEN)
_LOCKS = _group(Group.LOCK, below=Op.UNLOCK)
_STATUS = _group(Group.STATUS)
#: What the port has done already, or needs no more than the answer.
_AT_PORT = [Op.FLUSH_REPLY, *_group(Group.ECHO)]
_SUPERVISOR = [row.op for row in COMMANDS if row.supervisor]


class Answers(wiring.Component):
    """Looks up what a command is answered, and sends the response to its port.

    Parameters
    ----------
    ports : int
        Ports of the HUB.

    Members
    -------
    order, order_valid : In(Order(ports)), In(1)
        A command that has been decided.
    connected, owner, targets : as in StatusTable
    locked, locker : as ``locked`` and ``owner`` of Locks
    ready_bit, enabled : In(ports), In(ports)
        The ready bits; ports in use.
    errors, level : In(9).array(ports), In(9).array(ports)
        Errors and entries of the queue of each port; bit 8: more than 255.
    neighbour, neighbour_id, neighbour_kind : Out(index), In(8), In(8)
        The port whose neighbour is asked for, and what is known of it in the same cycle.
    forget : Out(ports)
        One-hot: the neighbour of this port is to be forgotten and asked anew.
    command, command_valid : Out(Order(ports)), Out(1)
        A supervisor command to carry out.
    finished, finished_port, finished_done, finished_value : In(1), In(index), In(1), In(8)
        It has been carried out: whose it was, and what to respond. Commands decided before and just behind it have been answered by then.
    ready_set, ready_clear, send_ready : Out(ports)
        One-hot: the ready bit of an output is to be set or cleared; a ready signal is to be sent.
    release : Out(ports)
        One-hot: the input that gives back all its locks.
    response_valid, done, value : Out(ports), Out(1), Out(8)
        The response for one port, one-hot; value is the answer if done, else an error code.
    decision, decision_valid : Out(Decision), Out(1)
        What is recorded of the command.
    busy : Out(1)
        A command is under way.

    Timing
    ------
    The response to an order of cycle t comes in cycle t + 1, that to a supervisor command in the cycle of ``finished``; ``forget`` and ``release`` belong to t + 1, the other effects to t + 2.
    ``decision`` and ``command_valid`` belong to t and t + 1.

    Raises
    ------
    TypeError, ValueError
        If ``ports`` is not an int from 2 to 128.
    """

    def __init__(self, ports):
        check_ports(ports)
        self.ports = ports
        bits = index_bits(ports)
        super().__init__({
            "order": In(Order(ports)), "order_valid": In(1),
            "connected": In(ports), "owner": In(bits).array(ports), "targets": In(ports).array(ports),
            "locked": In(ports), "locker": In(bits).array(ports),
            "ready_bit": In(ports), "enabled": In(ports),
            "errors": In(9).array(ports), "level": In(9).array(ports),
            "neighbour": Out(bits), "neighbour_id": In(8), "neighbour_kind": In(8), "forget": Out(ports),
            "command": Out(Order(ports)), "command_valid": Out(1),
            "finished": In(1), "finished_port": In(bits), "finished_done": In(1), "finished_value": In(8),
            "ready_set": Out(ports), "ready_clear": Out(ports), "send_ready": Out(ports), "release": Out(ports),
            "response_valid": Out(ports), "done": Out(1), "value": Out(8),
            "decision": Out(Decision), "decision_valid": Out(1), "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        bits = index_bits(self.ports)
        order = self.order
        op, param = order.request.op, order.request.param
        named = Signal(bits)
        m.d.comb += named.eq(param)

        # What the tables say of the port that is named.
        absent, own = Signal(), Signal()
        in_use, mine, taken, usable = Signal(), Signal(), Signal(), Signal()
        with m.If(self.order_valid):
            m.d.comb += [
                absent.eq(param >= self.ports),
                own.eq(named == order.port),
                in_use.eq(self.connected.bit_select(named, 1)),
                mine.eq(in_use & (Array(self.owner)[named] == order.port)),
                taken.eq(self.locked.bit_select(named, 1)),
                usable.eq(self.enabled.bit_select(named, 1)),
            ]

        # Whether the command is refused.
        error = Signal(Error)
        supervises = Signal()
        with m.If(self.order_valid):
            with m.Switch(op):
                with m.Case("1-------"):
                    m.d.comb += supervises.eq(order.supervisor)
                    with m.If(~order.supervisor):
                        m.d.comb += error.eq(Mux(op.matches(*_SUPERVISOR), Error.NOT_ALLOWED, Error.UNKNOWN))
                with m.Case(Op.UNLOCK_MINE):
                    pass
                with m.Case(Op.UNLOCK, Op.UNLOCK_REPLY):
                    m.d.comb += error.eq(Mux(absent, Error.BAD_PORT, Mux(order.done, 0, Error.NOT_MINE)))
                with m.Case(*_OPENS, *_LOCKS):
                    is_open = op[5] == 0
                    with m.If(order.done):
                        pass
                    with m.Elif(absent | own):
                        m.d.comb += error.eq(Error.BAD_PORT)
                    with m.Elif(~usable):
                        m.d.comb += error.eq(Error.DISABLED)
                    with m.Elif((op & RETRY).any()):
                        m.d.comb += error.eq(Error.GIVEN_UP)
                    with m.Elif(is_open & in_use & ~mine):
                        m.d.comb += error.eq(Error.BUSY)
                    with m.Elif(~is_open | (taken & ~mine & (Array(self.locker)[named] != order.port))):
                        m.d.comb += error.eq(Error.LOCKED)
                    with m.Else():
                        m.d.comb += error.eq(Mux((op & TEST).any(), Error.NOT_READY, Error.BUSY))
                with m.Case(*_STATUS):
                    m.d.comb += error.eq(Mux(absent, Error.BAD_PORT, 0))
                with m.Case(Op.AWAIT_READY_REPLY):
                    m.d.comb += error.eq(Mux(absent, Error.BAD_PORT, Mux(order.done, 0, Error.GIVEN_UP)))
                with m.Case(Op.RAISE_READY, Op.LOWER_READY, Op.REPAIR_READY):
                    repairs_own = own & (op == Op.REPAIR_READY)
                    m.d.comb += error.eq(Mux(absent, Error.BAD_PORT, Mux(mine | repairs_own, 0, Error.NOT_MINE)))

                with m.Case(*_AT_PORT):
                    pass
                with m.Default():
                    m.d.comb += error.eq(Error.UNKNOWN)

        # What is answered. All that is looked up is registered, then chosen.
        valid, asks = Signal(), Signal()
        last_error = Signal(Error, reset_less=True)
        last = Signal(Order(self.ports), reset_less=True)
        holder, lock_holder = Signal(8, reset_less=True), Signal(8, reset_less=True)
        errors, level, count = Signal(9, reset_less=True), Signal(9, reset_less=True), Signal(8, reset_less=True)
        ready_bit, unopposed = Signal(reset_less=True), Signal(reset_less=True)
        answers = {
            Op.STATUS_OUTPUT: holder,
            Op.STATUS_ERRORS: Mux(errors[8], 0xFF, errors[:8]),
            Op.STATUS_INPUT: count,
            Op.STATUS_QUEUE: Mux(level[8], 0xFF, level[:8]),
            Op.STATUS_LOCK: lock_holder,
            Op.STATUS_READY: ready_bit,
            Op.STATUS_NEIGHBOUR: self.neighbour_id,
            Op.STATUS_KIND: self.neighbour_kind,
            Op.IDENTITY_REPLY: last.port,
            Op.SIZE_REPLY: self.ports,
        }
        m.d.sync += valid.eq(self.order_valid & ~supervises)
        m.d.sync += self.command_valid.eq(supervises)
        with m.If(self.order_valid):
            m.d.sync += [
                last_error.eq(error),
                last.eq(order),
                asks.eq(op.matches(*answers)),
                unopposed.eq(~in_use | mine),
            ]
            with m.If(op[4:] == Group.STATUS):
                m.d.sync += [
                    holder.eq(Mux(in_use, STATUS_IN_USE | Array(self.owner)[named], 0)),
                    lock_holder.eq(Mux(taken, STATUS_IN_USE | Array(self.locker)[named], 0)),
                    errors.eq(Array(self.errors)[named]),
                    level.eq(Array(self.level)[named]),
                    count.eq(sum(Array(self.targets)[named])),
                    ready_bit.eq(self.ready_bit.bit_select(named, 1)),
                ]
        place = Signal(self.ports)
        m.d.comb += [
            self.command.eq(last),
            self.neighbour.eq(last.request.param),
            place.eq(1 << self.neighbour),
        ]
        with m.If(valid):
            m.d.comb += [
                self.response_valid.eq(1 << last.port),
                self.done.eq(last_error == 0),
                self.value.eq(last.request.param),
            ]
            with m.If(last.request.op == Op.UNLOCK_MINE):
                m.d.comb += self.release.eq(self.response_valid)
            with m.If(last_error != 0):
                m.d.comb += self.value.eq(last_error)
            with m.Elif(asks):
                with m.Switch(last.request.op):
                    for question, answer in answers.items():
                        with m.Case(question):
                            m.d.comb += self.value.eq(answer)
                with m.If(last.request.op == Op.STATUS_NEIGHBOUR):
                    m.d.comb += self.forget.eq(place)
        with m.If(self.finished):
            m.d.comb += [
                self.response_valid.eq(1 << self.finished_port),
                self.done.eq(self.finished_done),
                self.value.eq(self.finished_value),
            ]

        # Flow control. Whoever was kept waiting for a ready bit until the watchdog came, gets it, unless another input is connected there.
        sets, clears, sends = Signal(), Signal(), Signal()
        with m.If(valid):
            with m.Switch(last.request.op):
                with m.Case(Op.RAISE_READY):
                    m.d.comb += sets.eq(last_error == 0)
                with m.Case(Op.LOWER_READY):
                    m.d.comb += clears.eq(last_error == 0)
                with m.Case(Op.REPAIR_READY):
                    m.d.comb += sends.eq(last_error == 0)
                with m.Case("000001--", Op.AWAIT_READY_REPLY):
                    m.d.comb += sets.eq((last_error == Error.GIVEN_UP) & last.expired & unopposed)
        with m.If(self.busy):
            m.d.sync += [
                self.ready_set.eq(Mux(sets, place, 0)),
                self.ready_clear.eq(Mux(clears, place, 0)),
                self.send_ready.eq(Mux(sends, place, 0)),
            ]
        after = Signal()
        m.d.sync += after.eq(valid)
        m.d.comb += self.busy.eq(valid | after | self.order_valid | self.command_valid)

        # What is recorded. Closing by an input itself is no decision, and neither is the repetition of an open or a lock.
        with m.If(self.order_valid):
            m.d.comb += [
                self.decision.input.eq(order.port),
                self.decision.output.eq(param),
                self.decision_valid.eq(1),
            ]
            with m.Switch(op):
                with m.Case(Op.UNLOCK, Op.UNLOCK_REPLY):
                    m.d.comb += [self.decision.kind.eq(Event.UNLOCKED), self.decision_valid.eq(order.done)]
                with m.Case(*_OPENS):
                    m.d.comb += [self.decision.kind.eq(Mux(order.done, Event.OPENED, Event.REFUSED)), self.decision_valid.eq(~order.had)]
                with m.Case(*_LOCKS):
                    test = (op & TEST).any()
                    m.d.comb += [self.decision.kind.eq(Mux(order.done, Event.LOCKED, Event.REFUSED)),
                                 self.decision_valid.eq(~order.had & ~(test & order.done))]
                with m.Default():
                    m.d.comb += self.decision_valid.eq(0)
        return m
