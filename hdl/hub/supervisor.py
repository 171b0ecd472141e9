"""Supervisor commands: the state of the ports, and what testing, reconfiguration and recovery do.

Source: "The Design of Nectar" (1989), sections 4 and 4.2, which counts 14 supervisor commands for system testing,
reconfiguration and recovery; what each does is ours (``docs/hub.md``).
"""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .commands import FORCE, WATCHDOG_DEFAULT, WATCHDOG_MAX, Error, Op
from .controller import Order
from .messages import check_ports, index_bits
from .monitor_map import Clear, Event, Select
from .recorder import Decision

__all__ = ["Supervisor"]

_FORCED = (Op.LOOP_BACK_REPLY, Op.FORCE_CONNECTION_REPLY, Op.FORCE_LOCK_REPLY, Op.FORCE_READY_REPLY, Op.ALLOW_SUPERVISOR_REPLY)
_PORTS = (Op.DISABLE_REPLY, Op.ENABLE_REPLY, Op.RESET_QUEUE_REPLY, Op.RESET_PORT_REPLY)
#: Shortest time that the watchdog can be set to, as a logarithm.
_WATCHDOG_MIN = 4


class Supervisor(wiring.Component):
    """Carries out supervisor commands, one at a time.

    Parameters
    ----------
    ports : int
        Ports of the HUB.
    supervisors : int, optional
        Mask of the ports that may give supervisor commands after a reset; all if not given.

    Members
    -------
    command, command_valid : In(Order(ports)), In(1)
        A command, given for one cycle.
    connected, owner : as in StatusTable
    locked : as in Locks
        The tables.
    byte : In(8)
        What the monitor shows, three cycles after ``select`` and ``offset``.
    finished, finished_port, finished_done, finished_value : Out(1), Out(index), Out(1), Out(8)
        The command has been carried out or refused: whose it was, and the response.
    enabled, looped, allowed : Out(ports)
        Ports that are in use; that hear themselves; that may give supervisor commands.
    reset_queue, close_mine, closed : Out(ports)
        The queue of this port is to be emptied; the connections of this input, and those to this output, end.
    release, lock, locker : Out(ports)
        The locks of this input end; the lock on this output changes, and who gets it, one-hot.
    enter, entered_input, entered_output, opened : Out(ports), Out(index), Out(ports), Out(ports)
        A connection that is entered, as those of the controller.
    ready_set, ready_clear, hello_ask : Out(ports)
        The ready bit of this output is to be set or cleared; the neighbour of this port is to be asked who it is.
    watchdog_log, watchdog_restart : Out(5), Out(1)
        Logarithm of the watchdog's time; it was set in the cycle before.
    select, offset, pop, clear, clear_valid : as in Monitor
        What to show and to clear.
    reset_hub : Out(1)
        The HUB is to be reset.
    decision, decision_valid : Out(Decision), Out(1)
        What is recorded.
    busy : Out(1)
        A command is under way.

    Timing
    ------
    A command of cycle t has its effects in cycle t + 2, on the registers in t + 3; *force connection* closes in t + 2 and enters in t + 6. ``finished`` comes in
    cycle t + 8, once for each command, except that nothing follows ``reset_hub``. Pulses last one cycle.

    Raises
    ------
    TypeError, ValueError
        If ``ports`` is not an int from 2 to 128, or ``supervisors`` not a mask of them.
    """

    def __init__(self, ports, supervisors=None):
        check_ports(ports)
        if supervisors is None:
            supervisors = (1 << ports) - 1
        if not isinstance(supervisors, int) or isinstance(supervisors, bool):
            raise TypeError(f"supervisors must be a mask of ports, an int, not {supervisors!r}")
        if not 0 <= supervisors < 1 << ports:
            raise ValueError(f"supervisors of {ports} ports must be a mask of {ports} bits, not {supervisors:#x}")
        self.ports = ports
        self.supervisors = supervisors
        bits = index_bits(ports)
        super().__init__({
            "command": In(Order(ports)), "command_valid": In(1),
            "connected": In(ports), "owner": In(bits).array(ports), "locked": In(ports), "byte": In(8),
            "finished": Out(1), "finished_port": Out(bits), "finished_done": Out(1), "finished_value": Out(8),
            "enabled": Out(ports, init=(1 << ports) - 1), "looped": Out(ports), "allowed": Out(ports, init=supervisors),
            "reset_queue": Out(ports), "close_mine": Out(ports), "closed": Out(ports),
            "release": Out(ports), "lock": Out(ports), "locker": Out(ports),
            "enter": Out(ports), "entered_input": Out(bits), "entered_output": Out(ports), "opened": Out(ports),
            "ready_set": Out(ports), "ready_clear": Out(ports), "hello_ask": Out(ports),
            "watchdog_log": Out(5, init=WATCHDOG_DEFAULT), "watchdog_restart": Out(1),
            "select": Out(8), "offset": Out(8), "pop": Out(1), "clear": Out(8), "clear_valid": Out(1), "reset_hub": Out(1),
            "decision": Out(Decision), "decision_valid": Out(1), "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        bits = index_bits(self.ports)

        # The command, and the step at which it is.
        command = Signal(Order(self.ports), reset_less=True)
        op, param = command.request.op, command.request.param
        step = Signal(7)
        m.d.sync += step.eq(Cat(self.command_valid, step))
        with m.If(self.command_valid):
            m.d.sync += command.eq(self.command)

        # Step 0: whether it is refused.
        named, force = Signal(7), Signal()
        place, giver = Signal(self.ports), Signal(self.ports)
        absent, error = Signal(), Signal(Error)
        in_use, mine = Signal(), Signal()
        with m.If(step.any()):
            m.d.comb += [
                named.eq(param),
                force.eq((param & FORCE).any()),
                place.eq(1 << named[:bits]),
                giver.eq(1 << command.port),
                absent.eq(named >= self.ports),
                in_use.eq((self.connected & place).any()),
                mine.eq(in_use & (Array(self.owner)[named[:bits]] == command.port)),
            ]
        with m.If(step[0]):
            with m.Switch(op):
                with m.Case(*_FORCED):
                    with m.If(absent):
                        m.d.comb += error.eq(Error.BAD_PORT)
                with m.Case(*_PORTS):
                    with m.If(absent | force):
                        m.d.comb += error.eq(Error.BAD_PORT)
                with m.Case(Op.WATCHDOG_TIME_REPLY):
                    with m.If((param != 0) & ((param < _WATCHDOG_MIN) | (param > WATCHDOG_MAX))):
                        m.d.comb += error.eq(Error.BAD_PORT)
                with m.Case(Op.MONITOR_SELECT_REPLY):
                    with m.If(Mux(force, param > max(Select), absent)):
                        m.d.comb += error.eq(Error.BAD_PORT)
                with m.Case(Op.MONITOR_CLEAR_REPLY):
                    with m.If(Mux(force, param > max(Clear), absent)):
                        m.d.comb += error.eq(Error.BAD_PORT)
                with m.Case(Op.RESET_HUB, Op.MONITOR_READ_REPLY):
                    pass
                with m.Default():
                    m.d.comb += error.eq(Error.UNKNOWN)
            with m.If((op == Op.FORCE_CONNECTION_REPLY) & force & ~absent):
                with m.If((place & giver).any()):
                    m.d.comb += error.eq(Error.BAD_PORT)
                with m.Elif(~(place & self.enabled).any()):
                    m.d.comb += error.eq(Error.DISABLED)
        refused = Signal(Error, reset_less=True)
        with m.If(step[0]):
            m.d.sync += refused.eq(error)

        # Its effects: those that last one cycle are registered, and so come in step 1.
        acts = Signal()
        m.d.comb += acts.eq(step[0] & (error == 0))
        pulses = ("reset_queue", "close_mine", "closed", "release", "lock", "locker", "ready_set", "ready_clear", "hello_ask", "pop",
                  "clear_valid", "watchdog_restart", "reset_hub")
        registers = {name: Signal(getattr(self, name).shape(), name=f"next_{name}") for name in pulses}
        with m.If(step.any()):
            m.d.sync += [getattr(self, name).eq(register) for name, register in registers.items()]

        def pulse(**values):
            m.d.comb += [registers[name].eq(value) for name, value in values.items()]

        connects = Signal()  # a connection is forced that does not stand yet
        with m.If(acts):
            with m.Switch(op):
                with m.Case(Op.DISABLE_REPLY):
                    m.d.sync += self.enabled.eq(self.enabled & ~place)
                    pulse(reset_queue=place, close_mine=place, closed=place, release=place)
                with m.Case(Op.ENABLE_REPLY):
                    m.d.sync += self.enabled.eq(self.enabled | place)
                    pulse(ready_set=place, hello_ask=place)
                with m.Case(Op.LOOP_BACK_REPLY):
                    m.d.sync += self.looped.eq(Mux(force, self.looped | place, self.looped & ~place))
                with m.Case(Op.RESET_QUEUE_REPLY):
                    pulse(reset_queue=place)
                with m.Case(Op.RESET_PORT_REPLY):
                    pulse(reset_queue=place, close_mine=place, closed=place, release=place, lock=place, ready_set=place, hello_ask=place)
                with m.Case(Op.RESET_HUB):
                    pulse(reset_hub=1)
                with m.Case(Op.FORCE_CONNECTION_REPLY):
                    with m.If(~force | ~mine):
                        pulse(closed=place)
                    m.d.sync += connects.eq(force & ~mine)
                with m.Case(Op.FORCE_LOCK_REPLY):
                    pulse(lock=place)
                    with m.If(force):
                        pulse(locker=giver)
                with m.Case(Op.FORCE_READY_REPLY):
                    with m.If(force):
                        pulse(ready_set=place)
                    with m.Else():
                        pulse(ready_clear=place)
                with m.Case(Op.WATCHDOG_TIME_REPLY):
                    m.d.sync += self.watchdog_log.eq(param)
                    pulse(watchdog_restart=1)
                with m.Case(Op.MONITOR_SELECT_REPLY):
                    m.d.sync += self.select.eq(param)
                with m.Case(Op.MONITOR_READ_REPLY):
                    pulse(pop=1)
                with m.Case(Op.MONITOR_CLEAR_REPLY):
                    pulse(clear_valid=1)
                with m.Case(Op.ALLOW_SUPERVISOR_REPLY):
                    m.d.sync += self.allowed.eq(Mux(force, self.allowed | place, self.allowed & ~place))
        m.d.comb += [self.offset.eq(param), self.clear.eq(param)]

        # A connection that is forced follows when nothing of the one before can close it any more.
        with m.If(step[4]):
            m.d.sync += self.enter.eq(Mux(connects, giver, 0))
            m.d.sync += connects.eq(0)
        with m.If(step[5]):
            m.d.sync += [
                self.enter.eq(0),
                self.opened.eq(self.enter),
                self.entered_output.eq(Mux(self.enter.any(), place, 0)),
            ]
        with m.If(step[6]):
            m.d.sync += [self.opened.eq(0), self.entered_output.eq(0)]
        m.d.comb += self.entered_input.eq(Mux(self.opened.any(), command.port, 0))

        # The answer. What the monitor shows is taken when it belongs to the cycle of ``pop``.
        shown = Signal(8, reset_less=True)
        with m.If(step[4]):
            m.d.sync += shown.eq(self.byte)
        m.d.sync += self.finished.eq(step[6])
        with m.If(step[6]):
            m.d.sync += [
                self.finished_port.eq(command.port),
                self.finished_done.eq(refused == 0),
                self.finished_value.eq(param),
            ]
            with m.If(refused != 0):
                m.d.sync += self.finished_value.eq(refused)
            with m.Else():
                with m.Switch(op):
                    with m.Case(*_FORCED):
                        m.d.sync += self.finished_value.eq(named)
                    with m.Case(Op.MONITOR_READ_REPLY):
                        m.d.sync += self.finished_value.eq(shown)

        # What is recorded. A connection that stood already, and one that is forced to end, are not entered.
        m.d.comb += [self.decision.input.eq(command.port), self.decision.output.eq(named), self.decision.kind.eq(Event.SUPERVISOR)]
        with m.If(step[6]):
            m.d.comb += [self.decision.kind.eq(Event.OPENED), self.decision_valid.eq(self.opened.any())]
        with m.Elif(acts):
            m.d.comb += self.decision_valid.eq(1)
            with m.Switch(op):
                with m.Case(Op.FORCE_CONNECTION_REPLY):
                    m.d.comb += self.decision_valid.eq(~force)
                with m.Case(Op.FORCE_LOCK_REPLY):
                    with m.If(force):
                        m.d.comb += self.decision.kind.eq(Event.LOCKED)
                    with m.Elif((self.locked & place).any()):
                        m.d.comb += self.decision.kind.eq(Event.UNLOCKED)
        m.d.comb += self.busy.eq(step.any() | self.finished)
        return m
