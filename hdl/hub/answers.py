"""Answers to the commands that the controller has decided, and what the commands for flow control do.

Source: "The Design of Nectar" (1989), sections 4.1 and 4.2 (the status table can be interrogated); ``docs/hub.md``.
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .commands import COMMANDS, RETRY, STATUS_IN_USE, TEST, Error, Group, Op
from .controller import Order
from .messages import Request, check_ports, index_bits
from .monitor_map import Event
from .recorder import Decision

__all__ = ["Answers", "SupervisorCommand"]


def _group(group, *, below=0x100):
    """Opcodes of the commands of a group, up to one."""
    return [row.op for row in COMMANDS if row.group is group and row.op < below]


_OPENS = _group(Group.OPEN)
_LOCKS = _group(Group.LOCK, below=Op.UNLOCK)
_STATUS = _group(Group.STATUS)
#: What the port has done already, or needs no more than the answer.
_AT_PORT = [Op.FLUSH_REPLY, *_group(Group.ECHO)]
_SUPERVISOR = [row.op for row in COMMANDS if row.supervisor]


def _looked_up(place, entries):
    """The entry that ``place`` (one-hot) points at."""
    return reduce(or_, (Value.cast(entry) & bit.replicate(len(Value.cast(entry))) for bit, entry in zip(place, entries)))


def SupervisorCommand(ports):
    """Layout of a supervisor command."""
    return data.StructLayout({
        "request": Request,
        "place": ports,  # the port that it names, one-hot
        "giver": ports,  # the port that gives the command, one-hot
    })


class Answers(wiring.Component):
    """Looks up what a command is answered, and sends the response to its port.

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
    errors, level : In(9).array(ports), In(9).array(ports)
        Errors and entries of the queue of each port; bit 8: more than 255.
    unlock : Out(1)
        The output's lock is given back.
    neighbour, neighbour_id, neighbour_kind : Out(index), In(8), In(8)
        The port whose neighbour is asked for, and what is known of it in the same cycle.
    forget : Out(ports)
        One-hot: the neighbour of this port is to be forgotten and asked anew.
    command, command_valid : Out(SupervisorCommand(ports)), Out(1)
        A supervisor command to carry out; it stays there until the next order.
    finished, finished_done, finished_value : In(ports), In(1), In(8)
        It has been carried out: whose it was, one-hot, and what to respond. Commands decided before and just behind it have been answered by then.
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
    The response to an order of cycle t comes in cycle t + 1, that to a supervisor command in the cycle of ``finished``. ``unlock`` belongs to cycle t; ``forget``, ``release``,
    ``command`` and ``decision`` to t + 1, the other effects to t + 2.

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
            "order": In(Order(ports)), "decided": In(ports), "place": In(ports),
            "connected": In(ports), "owner": In(bits).array(ports), "locked": In(ports), "locker": In(bits).array(ports),
            "ready_bit": In(ports), "enabled": In(ports), "errors": In(9).array(ports), "level": In(9).array(ports),
            "unlock": Out(1), "neighbour": Out(bits), "neighbour_id": In(8), "neighbour_kind": In(8), "forget": Out(ports),
            "command": Out(SupervisorCommand(ports)), "command_valid": Out(1),
            "finished": In(ports), "finished_done": In(1), "finished_value": In(8),
            "ready_set": Out(ports), "ready_clear": Out(ports), "send_ready": Out(ports), "release": Out(ports),
            "response_valid": Out(ports), "done": Out(1), "value": Out(8),
            "decision": Out(Decision), "decision_valid": Out(1), "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        bits = index_bits(self.ports)

        # What the tables say of the port that is named; all of it is registered.
        valid = Signal()
        giver = Signal(self.ports, reset_less=True)
        order = Signal(Order(self.ports), reset_less=True)
        place, connections = Signal(self.ports, reset_less=True), Signal(self.ports, reset_less=True)
        in_use, mine, taken, ours, usable, ready_bit = (Signal(name=name, reset_less=True) for name in (
            "in_use", "mine", "taken", "ours", "usable", "ready_bit"))
        holder, locker = Signal(bits, reset_less=True), Signal(bits, reset_less=True)
        errors, level = Signal(9, reset_less=True), Signal(9, reset_less=True)
        m.d.sync += valid.eq(self.decided.any())
        with m.If(self.decided.any()):
            holder_now, locker_now, taken_now, ours_now = Signal(bits), Signal(bits), Signal(), Signal()
            m.d.comb += [
                holder_now.eq(_looked_up(self.place, self.owner)),
                locker_now.eq(_looked_up(self.place, self.locker)),
                taken_now.eq((self.place & self.locked).any()),
                ours_now.eq(taken_now & (locker_now == self.order.port) & (self.order.request.param < self.ports)),
                self.unlock.eq(ours_now & (self.order.request.op[1:] == Op.UNLOCK >> 1)),
            ]
            m.d.sync += [
                order.eq(self.order),
                giver.eq(self.decided),
                place.eq(self.place),
                in_use.eq((self.place & self.connected).any()),
                mine.eq(holder_now == self.order.port),
                taken.eq(taken_now),
                ours.eq(ours_now),
                usable.eq((self.place & self.enabled).any()),
                ready_bit.eq((self.place & self.ready_bit).any()),
                holder.eq(holder_now),
                locker.eq(locker_now),
                errors.eq(_looked_up(self.place, self.errors)),
                level.eq(_looked_up(self.place, self.level)),
                connections.eq(Cat(connected & (owner == self.order.request.param[:bits])
                                   for connected, owner in zip(self.connected, self.owner))),
            ]
        op, param = order.request.op, order.request.param

        # Whether the command is refused.
        error = Signal(Error)
        absent, own, owned = Signal(), Signal(), Signal()
        m.d.comb += [
            absent.eq(param >= self.ports),
            own.eq((place & giver).any()),
            owned.eq(in_use & mine),
        ]
        with m.Switch(op):
            with m.Case(Op.UNLOCK_MINE, *_AT_PORT):
                pass
            with m.Case(Op.UNLOCK, Op.UNLOCK_REPLY):
                with m.If(absent):
                    m.d.comb += error.eq(Error.BAD_PORT)
                with m.Elif(~ours):
                    m.d.comb += error.eq(Error.NOT_MINE)
            with m.Case(*_OPENS, *_LOCKS):
                is_open = ~op[5]
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
                with m.Elif(~is_open | (taken & ~ours & ~owned)):
                    m.d.comb += error.eq(Error.LOCKED)
                with m.Else():
                    m.d.comb += error.eq(Mux((op & TEST).any(), Error.NOT_READY, Error.BUSY))
            with m.Case(*_STATUS):
                with m.If(absent):
                    m.d.comb += error.eq(Error.BAD_PORT)
            with m.Case(Op.AWAIT_READY_REPLY):
                with m.If(absent):
                    m.d.comb += error.eq(Error.BAD_PORT)
                with m.Elif(~order.done):
                    m.d.comb += error.eq(Error.GIVEN_UP)
            with m.Case(Op.RAISE_READY, Op.LOWER_READY, Op.REPAIR_READY):
                with m.If(absent):
                    m.d.comb += error.eq(Error.BAD_PORT)
                with m.Elif(~owned & ~(own & (op == Op.REPAIR_READY))):
                    m.d.comb += error.eq(Error.NOT_MINE)
            with m.Case(*_SUPERVISOR):
                m.d.comb += error.eq(Error.NOT_ALLOWED)
            with m.Default():
                m.d.comb += error.eq(Error.UNKNOWN)

        # What is answered.
        answers = {
            Op.STATUS_OUTPUT: Mux(in_use, STATUS_IN_USE | holder, 0),
            Op.STATUS_ERRORS: Mux(errors[8], 0xFF, errors[:8]),
            Op.STATUS_INPUT: sum(connections),
            Op.STATUS_QUEUE: Mux(level[8], 0xFF, level[:8]),
            Op.STATUS_LOCK: Mux(taken, STATUS_IN_USE | locker, 0),
            Op.STATUS_READY: ready_bit,
            Op.STATUS_NEIGHBOUR: self.neighbour_id,
            Op.STATUS_KIND: self.neighbour_kind,
            Op.IDENTITY_REPLY: order.port,
            Op.SIZE_REPLY: self.ports,
        }
        responds = Signal()
        answer = Signal(8)
        m.d.comb += [
            responds.eq(valid & ~order.supervisor),
            self.neighbour.eq(param),
            self.command_valid.eq(valid & order.supervisor),
            self.command.request.eq(order.request),
            self.command.place.eq(place),
            self.command.giver.eq(giver),
            answer.eq(param),
        ]
        with m.Switch(op):
            for question, value in answers.items():
                with m.Case(question):
                    m.d.comb += answer.eq(value)
        with m.If(responds):
            m.d.comb += [
                self.response_valid.eq(giver),
                self.done.eq(error == 0),
                self.value.eq(Mux(error == 0, answer, error)),
            ]
            with m.If((op == Op.STATUS_NEIGHBOUR) & ~absent):
                m.d.comb += self.forget.eq(place)
            with m.If(op == Op.UNLOCK_MINE):
                m.d.comb += self.release.eq(giver)
        with m.Elif(self.finished.any()):
            m.d.comb += [
                self.response_valid.eq(self.finished),
                self.done.eq(self.finished_done),
                self.value.eq(self.finished_value),
            ]

        # Flow control. Whoever was kept waiting for a ready bit until the watchdog came, gets it, unless another input is connected there.
        sets, clears, sends = Signal(), Signal(), Signal()
        effect = Signal(self.ports, reset_less=True)
        m.d.sync += [sets.eq(0), clears.eq(0), sends.eq(0)]
        with m.If(responds):
            m.d.sync += effect.eq(place)
            with m.Switch(op):
                with m.Case(Op.RAISE_READY):
                    m.d.sync += sets.eq(error == 0)
                with m.Case(Op.LOWER_READY):
                    m.d.sync += clears.eq(error == 0)
                with m.Case(Op.REPAIR_READY):
                    m.d.sync += sends.eq(error == 0)
                with m.Case("000001--", Op.AWAIT_READY_REPLY):
                    m.d.sync += sets.eq((error == Error.GIVEN_UP) & order.expired & (~in_use | mine))
        m.d.comb += [
            self.ready_set.eq(Mux(sets, effect, 0)),
            self.ready_clear.eq(Mux(clears, effect, 0)),
            self.send_ready.eq(Mux(sends, effect, 0)),
            self.busy.eq(valid | sets | clears | sends),
        ]

        # What is recorded. Closing by an input itself is no decision, and neither is the repetition of an open or a lock.
        m.d.comb += [self.decision.input.eq(order.port), self.decision.output.eq(param)]
        with m.If(valid):
            with m.Switch(op):
                with m.Case(Op.UNLOCK, Op.UNLOCK_REPLY):
                    m.d.comb += [self.decision.kind.eq(Event.UNLOCKED), self.decision_valid.eq(ours)]
                with m.Case(*_OPENS):
                    m.d.comb += [self.decision.kind.eq(Mux(order.done, Event.OPENED, Event.REFUSED)), self.decision_valid.eq(~order.had)]
                with m.Case(*_LOCKS):
                    test = (op & TEST).any()
                    m.d.comb += [self.decision.kind.eq(Mux(order.done, Event.LOCKED, Event.REFUSED)),
                                 self.decision_valid.eq(~order.had & ~(test & order.done))]
        return m
