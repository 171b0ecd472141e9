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
#: Pulses of commands, to a port and to the rest of the HUB.
_PORT_PULSES = ("reset_queue", "closed", "ready_set", "ready_clear", "hello_ask")
_HUB_PULSES = ("pop", "clear_valid", "watchdog_restart", "reset_hub")


class _Signals:
    """What the sections of the supervisor of so many ``ports`` share."""

    def __init__(self, ports):
        # The command, and its step.
        self.command = Signal(SupervisorCommand(ports), reset_less=True)
        self.op, self.param = self.command.request.op, self.command.request.param
        self.place, self.giver = self.command.place, self.command.giver
        self.step = Signal(9)  # one-hot; 0 while no command is under way

        # What it asks for, from step 0 on.
        self.number = Signal(7)  # number of the port that it names
        self.force = Signal()  # bit 7 of the parameter

        # From step 1 on.
        self.is_command = {one: Signal(name=f"is_{one.name.lower()}", reset_less=True) for one in _ALL}
        self.known = Signal(reset_less=True)
        self.bad = Signal(6, reset_less=True)  # the parameter is wrong, in one way or another
        self.is_bad = Signal()
        self.disabled = Signal(reset_less=True)  # a connection to a disabled port is to be forced
        self.mine = Signal(reset_less=True)  # the connection stands already
        self.locked = Signal(reset_less=True)  # the output is locked
        self.error = Signal(Error)
        self.acts = Signal()  # in step 2, if the command is not refused

        # The effects.
        # In step 3. ``vacate`` ends the connections and the locks of an input.
        self.pulses = {name: Signal(name=f"does_{name}") for name in (*_PORT_PULSES, "vacate", *_HUB_PULSES)}
        self.connects = Signal()  # a connection is forced that does not stand yet

    def is_(self, *ops):
        """Whether the command is one of ``ops``, from step 1 on."""
        return Cat(self.is_command[one] for one in ops).any()


class Supervisor(wiring.Component):
    """Carries out supervisor commands, one at a time.

    Parameters
    ----------
    ports : int
        Ports of the HUB.
    supervisors : int, optional
        Mask of the ports that may give supervisor commands after a reset; all if not given.
    commands : tuple of Command
        The commands that the HUB knows.

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
    release, lock, locker, given : Out(ports), Out(ports), Out(ports), Out(1)
        The locks of this input end; the lock on this output changes; the input that gets the lock, one-hot; whether
        one gets it.
    enter, entered_input, opened : Out(ports), Out(index), Out(ports)
        A connection that is entered, like a connection of the controller, but ``enter`` comes a cycle earlier.
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
    The effects of a command of cycle t come in cycle t + 4. *Force connection* closes in t + 4 and enters in t + 8.
    ``finished`` comes in cycle t + 10, once for each command, but never behind ``reset_hub``. Pulses last one cycle.

    Raises
    ------
    TypeError, ValueError
        If ``ports`` is not an int from 2 to 128, or ``supervisors`` not a mask of them.
    """

    def __init__(self, ports, supervisors=None, commands=COMMANDS):
        check_ports(ports)
        if supervisors is None:
            supervisors = (1 << ports) - 1
        if not isinstance(supervisors, int) or isinstance(supervisors, bool):
            raise TypeError(f"supervisors must be a mask of ports, an int, not {supervisors!r}")
        if not 0 <= supervisors < 1 << ports:
            raise ValueError(f"supervisors of {ports} ports must be a mask of {ports} bits, not {supervisors:#x}")
        self.ports = ports
        self.supervisors = supervisors
        self.known = {row.op for row in commands}
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
                "given": Out(1),
                "enter": Out(ports),
                "entered_input": Out(bits),
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
        """The command and its step; what it asks for; whether it is refused; its effects; the response; the record."""
        m = Module()
        s = _Signals(self.ports)
        self._take_command(m, s)
        self._decode(m, s)
        self._refuse(m, s)
        self._act_on_ports(m, s)
        self._act_on_hub(m, s)
        self._pulse(m, s)
        self._connect(m, s)
        self._respond(m, s)
        self._record(m, s)
        m.d.comb += self.busy.eq(s.step.any() | self.finished.any())
        return m

    def _take_command(self, m, s):
        """Takes a command if none is under way, and the command that waits in the last step of the one before.

        Step 0 is the next cycle."""
        more = Signal()  # another command waits
        begins = Signal()
        m.d.comb += begins.eq(Mux(s.step.any(), s.step[-1] & more, self.command_valid))
        m.d.sync += s.step.eq(Cat(begins, s.step))
        with m.If(s.step.any() & self.command_valid):
            m.d.sync += more.eq(1)
        with m.Elif(begins):
            m.d.sync += more.eq(0)
        with m.If(begins):
            m.d.sync += s.command.eq(self.command)

    def _decode(self, m, s):
        """Step 0: the port that the command names, the opcode, errors of the parameter, and the state of the port.

        The result stands in registers from step 1 on. Only opcodes with bit 7 come here."""
        op, param, place, giver = s.op, s.param, s.place, s.giver
        out = Signal()  # the named port does not exist
        m.d.comb += [
            s.number.eq(param),
            s.force.eq((param & FORCE).any()),
            out.eq(is_absent(s.number, self.ports)),
        ]
        given = {one: Signal(name=f"gives_{one.name.lower()}") for one in _ALL}
        m.d.comb += [signal.eq(op[:7] == one & 0x7F) for one, signal in given.items() if one in self.known]

        def names(*ops):
            """Whether the command is one of ``ops``."""
            return Cat(given[one] for one in ops).any()

        bad = Cat(
            names(*_FORCED) & out,
            names(*_PORTS) & (out | s.force),
            names(Op.FORCE_CONNECTION_REPLY) & s.force & (place & giver).any(),
            names(Op.WATCHDOG_TIME_REPLY) & (param != 0) & ((param < _WATCHDOG_MIN) | (param > WATCHDOG_MAX)),
            names(Op.MONITOR_SELECT_REPLY) & Mux(s.force, param > max(Select), out),
            names(Op.MONITOR_CLEAR_REPLY) & Mux(s.force, param > max(Clear), out),
        )
        m.d.sync += [
            *(flag.eq(given[one]) for one, flag in s.is_command.items()),
            s.known.eq(names(*_ALL)),
            s.bad.eq(bad),
            s.disabled.eq(names(Op.FORCE_CONNECTION_REPLY) & s.force & ~(place & self.enabled).any()),
            s.mine.eq((giver & self.mine).any()),
            s.locked.eq((place & self.locked).any()),
        ]

    def _refuse(self, m, s):
        """From step 1 on: whether the command is refused. A command that is not refused acts in step 2."""
        m.d.comb += s.is_bad.eq(s.bad.any())
        with m.If(~s.known):
            m.d.comb += s.error.eq(Error.UNKNOWN)
        with m.Elif(s.is_bad):
            m.d.comb += s.error.eq(Error.BAD_PORT)
        with m.Elif(s.disabled):
            m.d.comb += s.error.eq(Error.DISABLED)
        m.d.sync += s.acts.eq(s.step[1] & s.known & ~s.is_bad & ~s.disabled)

    def _act_on_ports(self, m, s):
        """Step 2: what the command does to the port that it names. Pulses come in step 3. The masks of the locks stand
        in registers, since they change many bits at once."""
        m.d.sync += [pulse.eq(0) for pulse in (*s.pulses.values(), self.lock, self.locker, self.given)]
        with m.If(s.acts):
            with m.If(s.is_(Op.DISABLE_REPLY)):
                self._switch(m, s, self.enabled, 0)
                self._does(m, s, "reset_queue", "closed", "vacate")
            with m.If(s.is_(Op.ENABLE_REPLY)):
                self._switch(m, s, self.enabled, 1)
                self._does(m, s, "ready_set", "hello_ask")
            with m.If(s.is_(Op.LOOP_BACK_REPLY)):
                self._switch(m, s, self.looped, s.force)
            with m.If(s.is_(Op.RESET_QUEUE_REPLY)):
                self._does(m, s, "reset_queue")
            with m.If(s.is_(Op.RESET_PORT_REPLY)):
                self._does(m, s, "reset_queue", "closed", "vacate", "ready_set", "hello_ask")
                m.d.sync += self.lock.eq(s.place)
            with m.If(s.is_(Op.FORCE_CONNECTION_REPLY)):
                with m.If(~s.force | ~s.mine):
                    self._does(m, s, "closed")
                m.d.sync += s.connects.eq(s.force & ~s.mine)
            with m.If(s.is_(Op.FORCE_LOCK_REPLY)):
                m.d.sync += [
                    self.lock.eq(s.place),
                    self.locker.eq(Mux(s.force, s.giver, 0)),
                    self.given.eq(s.force),
                ]
            with m.If(s.is_(Op.FORCE_READY_REPLY)):
                m.d.sync += [s.pulses["ready_set"].eq(s.force), s.pulses["ready_clear"].eq(~s.force)]
            with m.If(s.is_(Op.ALLOW_SUPERVISOR_REPLY)):
                self._switch(m, s, self.allowed, s.force)

    def _act_on_hub(self, m, s):
        """Step 2: what the command does to the watchdog, the monitor, or the whole HUB. Pulses come in step 3."""
        with m.If(s.acts):
            with m.If(s.is_(Op.RESET_HUB)):
                self._does(m, s, "reset_hub")
            with m.If(s.is_(Op.WATCHDOG_TIME_REPLY)):
                m.d.sync += self.watchdog_log.eq(s.param)
                self._does(m, s, "watchdog_restart")
            with m.If(s.is_(Op.MONITOR_SELECT_REPLY)):
                m.d.sync += self.select.eq(s.param)
            with m.If(s.is_(Op.MONITOR_READ_REPLY)):
                self._does(m, s, "pop")
            with m.If(s.is_(Op.MONITOR_CLEAR_REPLY)):
                self._does(m, s, "clear_valid")

    def _does(self, m, s, *names):
        """The pulses ``names`` come in the next cycle."""
        m.d.sync += [s.pulses[name].eq(1) for name in names]

    def _switch(self, m, s, state, value):
        """Changes the bit of the port that the command names."""
        for n in range(self.ports):
            with m.If(s.place[n]):
                m.d.sync += state[n].eq(value)

    def _pulse(self, m, s):
        """Step 3: the pulses go to the port that the command names, and to the rest of the HUB."""
        pulses = s.pulses
        m.d.comb += [
            *(getattr(self, name).eq(Mux(pulses[name], s.place, 0)) for name in _PORT_PULSES),
            *(getattr(self, name).eq(Mux(pulses["vacate"], s.place, 0)) for name in ("close_mine", "release")),
            *(getattr(self, name).eq(pulses[name]) for name in _HUB_PULSES),
            self.offset.eq(s.param),
            self.clear.eq(s.param),
        ]

    def _connect(self, m, s):
        """Steps 7 and 8: enters a forced connection. By then no symbol of the connection before can close it any
        more."""
        with m.If(s.connects & s.step[7]):
            m.d.comb += self.enter.eq(s.giver)
        with m.If(s.connects & s.step[8]):
            m.d.comb += [
                self.opened.eq(s.giver),
                self.entered_input.eq(one_hot_index(s.giver)),
            ]
            m.d.sync += s.connects.eq(0)

    def _respond(self, m, s):
        """Step 8: the response, which is given in the next cycle. The monitor's byte is taken when it belongs to the
        cycle of ``pop``."""
        shown = Signal(8, reset_less=True)
        m.d.sync += [
            shown.eq(self.byte),
            self.finished.eq(Mux(s.step[8], s.giver, 0)),
            self.finished_done.eq(s.error == 0),
            self.finished_value.eq(s.param),
        ]
        m.d.comb += self.idle.eq(~s.step.any())
        with m.If(s.error != 0):
            m.d.sync += self.finished_value.eq(s.error)
        with m.Else():
            with m.If(s.is_(*_FORCED)):
                m.d.sync += self.finished_value.eq(s.number)
            with m.If(s.is_(Op.MONITOR_READ_REPLY)):
                m.d.sync += self.finished_value.eq(shown)

    def _record(self, m, s):
        """Steps 2 and 8: the event for the record. A connection that stood already, and a connection that is forced to
        end, give no OPENED."""
        m.d.comb += [
            self.decision.input.eq(one_hot_index(s.giver)),
            self.decision.output.eq(s.number),
            self.decision.kind.eq(Event.SUPERVISOR),
        ]
        with m.If(s.step[8]):
            m.d.comb += [self.decision.kind.eq(Event.OPENED), self.decision_valid.eq(s.connects)]
        with m.Elif(s.acts):
            m.d.comb += self.decision_valid.eq(1)
            with m.If(s.is_(Op.FORCE_CONNECTION_REPLY)):
                m.d.comb += self.decision_valid.eq(~s.force)
            with m.If(s.is_(Op.FORCE_LOCK_REPLY) & s.force):
                m.d.comb += self.decision.kind.eq(Event.LOCKED)
            with m.If(s.is_(Op.FORCE_LOCK_REPLY) & ~s.force & s.locked):
                m.d.comb += self.decision.kind.eq(Event.UNLOCKED)
