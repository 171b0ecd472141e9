"""Supervisor commands for testing, reconfiguration and recovery, and the state of the ports.

Source: "The Design of Nectar" (1989), sections 4 and 4.2, which counts 14 supervisor commands for system testing,
reconfiguration and recovery. The effect of each command is ours (``docs/hub.md``).
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..commands import COMMANDS, FORCE, WATCHDOG_DEFAULT, WATCHDOG_MAX, Error, Op
from ..messages import check_ports, index_bits, is_absent, one_hot_index
from ..monitor.recorder import Decision
from ..monitor_map import Clear, Event, Select
from .response_unit import SupervisorCommand

__all__ = ["Supervisor"]

_FORCED = (
    Op.LOOP_BACK_REPLY,
    Op.FORCE_CONNECTION_REPLY,
    Op.FORCE_LOCK_REPLY,
    Op.FORCE_READY_REPLY,
    Op.ALLOW_SUPERVISOR_REPLY,
)
_PORTS = (Op.DISABLE_REPLY, Op.ENABLE_REPLY, Op.RESET_QUEUE_REPLY, Op.RESET_PORT_REPLY)
_ALL = [row.op for row in COMMANDS if row.supervisor]
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
    command, command_valid : In(SupervisorCommand(ports)), In(1)
        A command. One more command may be given up to seven cycles later. It must hold, and is carried out next.
    mine, locked : In(ports), In(ports)
        ``mine``: inputs to which the output named by their command is connected. ``locked``: outputs that are locked.
    byte : In(8)
        The byte that the monitor shows, four cycles after ``select`` and ``offset``.
    finished, finished_done, finished_value : Out(ports), Out(1), Out(8)
        A command has been carried out or refused: the port that gave it, one-hot, and the response.
    idle : Out(1)
        With ``finished``: no other command waits.
    enabled, looped, allowed : Out(ports)
        Ports that are in use; ports in loop back; ports that may give supervisor commands.
    reset_queue, close_mine, closed : Out(ports)
        The queue of this port is to be emptied; the connections of this input end; the connection to this output ends.
    release, lock, locker : Out(ports)
        The locks of this input end; the lock on this output changes; the input that gets the lock, one-hot.
    enter, entered_input, entered_output, opened : Out(ports), Out(index), Out(ports), Out(ports)
        A connection that is entered, like a connection of the controller.
    ready_set, ready_clear, hello_ask : Out(ports)
        The ready bit of this output is to be set; to be cleared; the neighbour of this port is to be asked for a hello.
    watchdog_log, watchdog_restart : Out(5), Out(1)
        Logarithm of the watchdog's time; the time was set in the cycle before.
    select, offset, pop, clear, clear_valid : as in Monitor
        What the monitor shows and clears.
    reset_hub : Out(1)
        The HUB is to be reset.
    decision, decision_valid : Out(Decision), Out(1)
        An event for the record.
    busy : Out(1)
        A command is under way.

    Timing
    ------
    The effects of a command of cycle t come in cycle t + 3. *Force connection* closes in t + 3 and enters in t + 7.
    ``finished`` comes in cycle t + 9, once for each command, but never behind ``reset_hub``. Pulses last one cycle.

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
        super().__init__(
            {
                "command": In(SupervisorCommand(ports)),
                "command_valid": In(1),
                "mine": In(ports),
                "locked": In(ports),
                "byte": In(8),
                "finished": Out(ports),
                "finished_done": Out(1),
                "finished_value": Out(8),
                "idle": Out(1),
                "enabled": Out(ports, init=(1 << ports) - 1),
                "looped": Out(ports),
                "allowed": Out(ports, init=supervisors),
                "reset_queue": Out(ports),
                "close_mine": Out(ports),
                "closed": Out(ports),
                "release": Out(ports),
                "lock": Out(ports),
                "locker": Out(ports),
                "enter": Out(ports),
                "entered_input": Out(bits),
                "entered_output": Out(ports),
                "opened": Out(ports),
                "ready_set": Out(ports),
                "ready_clear": Out(ports),
                "hello_ask": Out(ports),
                "watchdog_log": Out(5, init=WATCHDOG_DEFAULT),
                "watchdog_restart": Out(1),
                "select": Out(8),
                "offset": Out(8),
                "pop": Out(1),
                "clear": Out(8),
                "clear_valid": Out(1),
                "reset_hub": Out(1),
                "decision": Out(Decision),
                "decision_valid": Out(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()

        # The command, and its step.
        command = Signal(SupervisorCommand(self.ports), reset_less=True)
        op, param, place, giver = command.request.op, command.request.param, command.place, command.giver
        step = Signal(8)
        # another command waits; a command begins
        more = Signal()
        begins = Signal()
        m.d.comb += begins.eq(Mux(step.any(), step[-1] & more, self.command_valid))
        m.d.sync += step.eq(Cat(begins, step))
        with m.If(step.any() & self.command_valid):
            m.d.sync += more.eq(1)
        with m.Elif(begins):
            m.d.sync += more.eq(0)
        with m.If(begins):
            m.d.sync += command.eq(self.command)

        # Step 0: the port that the command names, and errors of the parameter.
        named = Signal(7)
        force = Signal()
        out = Signal()
        m.d.comb += [
            named.eq(param),
            force.eq((param & FORCE).any()),
            out.eq(is_absent(named, self.ports)),
        ]

        # Only opcodes with bit 7 come here.
        given = {one: Signal(name=f"gives_{one.name.lower()}") for one in _ALL}
        m.d.comb += [signal.eq(op[:7] == one & 0x7F) for one, signal in given.items()]

        def names(*ops):
            """Whether the command is one of ``ops``."""
            return Cat(given[one] for one in ops).any()

        bad = Cat(
            names(*_FORCED) & out,
            names(*_PORTS) & (out | force),
            names(Op.FORCE_CONNECTION_REPLY) & force & (place & giver).any(),
            names(Op.WATCHDOG_TIME_REPLY) & (param != 0) & ((param < _WATCHDOG_MIN) | (param > WATCHDOG_MAX)),
            names(Op.MONITOR_SELECT_REPLY) & Mux(force, param > max(Select), out),
            names(Op.MONITOR_CLEAR_REPLY) & Mux(force, param > max(Clear), out),
        )
        is_command = {one: Signal(name=f"is_{one.name.lower()}", reset_less=True) for one in _ALL}
        known, is_bad, disabled, mine, locked = (
            Signal(name=name, reset_less=True) for name in ("known", "is_bad", "disabled", "mine", "locked")
        )
        m.d.sync += [
            *(flag.eq(given[one]) for one, flag in is_command.items()),
            known.eq(names(*_ALL)),
            is_bad.eq(bad.any()),
            disabled.eq(names(Op.FORCE_CONNECTION_REPLY) & force & ~(place & self.enabled).any()),
            mine.eq((giver & self.mine).any()),
            locked.eq((place & self.locked).any()),
        ]

        def is_(*ops):
            """The same as ``names``, in the steps behind step 0."""
            return Cat(is_command[one] for one in ops).any()

        # From step 1 on: whether the command is refused.
        error = Signal(Error)
        with m.If(~known):
            m.d.comb += error.eq(Error.UNKNOWN)
        with m.Elif(is_bad):
            m.d.comb += error.eq(Error.BAD_PORT)
        with m.Elif(disabled):
            m.d.comb += error.eq(Error.DISABLED)

        # The effects. Pulses come in step 2.
        acts = Signal()
        m.d.comb += acts.eq(step[1] & known & ~is_bad & ~disabled)
        pulses = {
            name: Signal(name=f"does_{name}")
            for name in (
                "reset_queue",
                "closed",
                "vacate",
                "lock",
                "locker",
                "ready_set",
                "ready_clear",
                "hello_ask",
                "pop",
                "clear_valid",
                "watchdog_restart",
                "reset_hub",
            )
        }
        m.d.sync += [pulse.eq(0) for pulse in pulses.values()]

        def does(*names):
            m.d.sync += [pulses[name].eq(1) for name in names]

        def switches(state, value):
            """Changes the bit of the port that is named."""
            for n in range(self.ports):
                with m.If(place[n]):
                    m.d.sync += state[n].eq(value)

        connects = Signal()  # a connection is forced that does not stand yet
        with m.If(acts):
            with m.If(is_(Op.DISABLE_REPLY)):
                switches(self.enabled, 0)
                does("reset_queue", "closed", "vacate")
            with m.If(is_(Op.ENABLE_REPLY)):
                switches(self.enabled, 1)
                does("ready_set", "hello_ask")
            with m.If(is_(Op.LOOP_BACK_REPLY)):
                switches(self.looped, force)
            with m.If(is_(Op.RESET_QUEUE_REPLY)):
                does("reset_queue")
            with m.If(is_(Op.RESET_PORT_REPLY)):
                does("reset_queue", "closed", "vacate", "lock", "ready_set", "hello_ask")
            with m.If(is_(Op.RESET_HUB)):
                does("reset_hub")
            with m.If(is_(Op.FORCE_CONNECTION_REPLY)):
                with m.If(~force | ~mine):
                    does("closed")
                m.d.sync += connects.eq(force & ~mine)
            with m.If(is_(Op.FORCE_LOCK_REPLY)):
                does("lock")
                m.d.sync += pulses["locker"].eq(force)
            with m.If(is_(Op.FORCE_READY_REPLY)):
                m.d.sync += [pulses["ready_set"].eq(force), pulses["ready_clear"].eq(~force)]
            with m.If(is_(Op.WATCHDOG_TIME_REPLY)):
                m.d.sync += self.watchdog_log.eq(param)
                does("watchdog_restart")
            with m.If(is_(Op.MONITOR_SELECT_REPLY)):
                m.d.sync += self.select.eq(param)
            with m.If(is_(Op.MONITOR_READ_REPLY)):
                does("pop")
            with m.If(is_(Op.MONITOR_CLEAR_REPLY)):
                does("clear_valid")
            with m.If(is_(Op.ALLOW_SUPERVISOR_REPLY)):
                switches(self.allowed, force)
        m.d.comb += [
            *(
                getattr(self, name).eq(Mux(pulses[name], place, 0))
                for name in ("reset_queue", "closed", "lock", "ready_set", "ready_clear", "hello_ask")
            ),
            *(getattr(self, name).eq(Mux(pulses["vacate"], place, 0)) for name in ("close_mine", "release")),
            self.locker.eq(Mux(pulses["locker"], giver, 0)),
            *(getattr(self, name).eq(pulses[name]) for name in ("pop", "clear_valid", "watchdog_restart", "reset_hub")),
            self.offset.eq(param),
            self.clear.eq(param),
        ]

        # A forced connection is entered when no symbol of the connection before can close it any more.
        with m.If(connects & step[6]):
            m.d.comb += self.enter.eq(giver)
        with m.If(connects & step[7]):
            m.d.comb += [
                self.opened.eq(giver),
                self.entered_input.eq(one_hot_index(giver)),
                self.entered_output.eq(place),
            ]
            m.d.sync += connects.eq(0)

        # The response. The monitor's byte is taken when it belongs to the cycle of ``pop``.
        shown = Signal(8, reset_less=True)
        m.d.sync += [
            shown.eq(self.byte),
            self.finished.eq(Mux(step[7], giver, 0)),
            self.finished_done.eq(error == 0),
            self.finished_value.eq(param),
        ]
        m.d.comb += self.idle.eq(~step.any())
        with m.If(error != 0):
            m.d.sync += self.finished_value.eq(error)
        with m.Else():
            with m.If(is_(*_FORCED)):
                m.d.sync += self.finished_value.eq(named)
            with m.If(is_(Op.MONITOR_READ_REPLY)):
                m.d.sync += self.finished_value.eq(shown)

        # The record. A connection that stood already, and a connection that is forced to end, give no OPENED.
        m.d.comb += [
            self.decision.input.eq(one_hot_index(giver)),
            self.decision.output.eq(named),
            self.decision.kind.eq(Event.SUPERVISOR),
        ]
        with m.If(step[7]):
            m.d.comb += [self.decision.kind.eq(Event.OPENED), self.decision_valid.eq(connects)]
        with m.Elif(acts):
            m.d.comb += self.decision_valid.eq(1)
            with m.If(is_(Op.FORCE_CONNECTION_REPLY)):
                m.d.comb += self.decision_valid.eq(~force)
            with m.If(is_(Op.FORCE_LOCK_REPLY) & force):
                m.d.comb += self.decision.kind.eq(Event.LOCKED)
            with m.If(is_(Op.FORCE_LOCK_REPLY) & ~force & locked):
                m.d.comb += self.decision.kind.eq(Event.UNLOCKED)
        m.d.comb += self.busy.eq(step.any() | self.finished.any())
        return m
