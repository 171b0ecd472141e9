"""The centre of the HUB: controller, response unit, supervisor, status table and locks, wired together.

Source: "The Design of Nectar" (1989), section 4.1; ``docs/hub.md``, "Controller and status table".
"""

from types import SimpleNamespace

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ..bundles import ControlPort
from ..commands import WATCHDOG_DEFAULT, commands_of
from ..messages import LEVEL_BITS, index_bits
from ..monitor.recorder import Decision
from ..monitor_map import Flag
from ..part import HubPart, give
from .controller import Controller
from .locks import Locks
from .response_unit import ResponseUnit
from .status_table import StatusTable
from .supervisor import Supervisor

__all__ = ["Central"]

_FLAG_BITS = max(Flag).bit_length()


class Central(HubPart):
    """Decides and carries out the commands that a port cannot do by itself, and holds the tables.

    Parameters
    ----------
    ports, supervisors
        As in Supervisor.
    monitor, locks : bool
        The HUB has a monitor; it has locks.

    Members
    -------
    port : In(ControlPort()).array(ports)
        The ports. There is one response in a cycle: all ports get its ``done``, ``value``, ``fault`` and ``quiet``.
    named : as in StatusTable
        The output that the request of each port names.
    expired : In(ports)
        Inputs at which the watchdog has expired: their connections and locks end.
    passed, closed : In(ports), In(ports)
        Outputs whose connection ends: a close all has passed through the output; the reply to a close all reply has.
    enter, targets, connected, owner, ended : as in StatusTable
        The status table.
    holding : Out(ports)
        Inputs that hold a connection or a lock.
    ready, ready_bit, errors, level : as in Controller and ResponseUnit
        State of the ports that commands look at.
    ready_set, ready_clear, send_ready, reset_queue, hello_ask : Out(ports)
        Pulses to the ports: set the ready bit; clear it; send a ready signal; empty the queue; ask the neighbour.
    enabled, looped : Out(ports)
        State of the ports.
    neighbour, neighbour_id, neighbour_kind, forget : Out(index), In(8), In(8), Out(1)
        As in ResponseUnit. ``forget``: the neighbour of the port ``neighbour`` is to be forgotten.
    watchdog_log, watchdog_restart, reset_hub, select, offset, pop, clear, clear_valid, byte : as in Supervisor
    decision, decision_valid, opened, unlocked, flags : as in Monitor
        Events and state for the monitor. ``opened`` has a bit for each input that got a connection.
    busy : Out(1)
        A command is under way.

    Timing
    ------
    As its parts. In the cycle after ``expired`` the ready bits are set of the outputs that were connected to an expired
    input.

    Raises
    ------
    TypeError, ValueError
        As Supervisor.
    """

    def __init__(self, ports, supervisors=None, *, monitor=True, locks=True):
        super().__init__(ports)
        commands = commands_of(monitor=monitor, locks=locks)
        #: The parts; proofs look into them.
        self._parts = SimpleNamespace(
            controller=Controller(ports, locks),
            answers=ResponseUnit(ports, commands),
            supervisor=Supervisor(ports, supervisors, commands),
            table=StatusTable(ports),
            locks=Locks(ports) if locks else None,
        )

    def members(self):
        ports, bits = self.ports, index_bits(self.ports)
        return {
            "port": In(ControlPort()).array(ports),
            "named": In(ports).array(ports),
            "expired": In(ports),
            "passed": In(ports),
            "closed": In(ports),
            "targets": Out(ports).array(ports),
            "enter": Out(ports),
            "connected": Out(ports),
            "owner": Out(bits).array(ports),
            "ended": Out(ports),
            "holding": Out(ports),
            "ready": In(ports),
            "ready_bit": In(ports),
            "errors": In(9).array(ports),
            "level": In(LEVEL_BITS).array(ports),
            "ready_set": Out(ports),
            "ready_clear": Out(ports),
            "send_ready": Out(ports),
            "reset_queue": Out(ports),
            "hello_ask": Out(ports),
            "enabled": Out(ports),
            "looped": Out(ports),
            "neighbour": Out(bits),
            "neighbour_id": In(8),
            "neighbour_kind": In(8),
            "forget": Out(1),
            "watchdog_log": Out(5, init=WATCHDOG_DEFAULT),
            "watchdog_restart": Out(1),
            "reset_hub": Out(1),
            "select": Out(8),
            "offset": Out(8),
            "pop": Out(1),
            "clear": Out(8),
            "clear_valid": Out(1),
            "byte": In(8),
            "decision": Out(Decision),
            "decision_valid": Out(1),
            "opened": Out(ports),
            "unlocked": Out(ports),
            "flags": Out(_FLAG_BITS).array(ports),
            "busy": Out(1),
        }

    def elaborate(self, platform):
        """The parts; the ports; commands; what leaves for the rest of the HUB; the tables; recovery; the monitor."""
        m, parts = Module(), self._parts
        for name, part in vars(parts).items():
            if part is not None:
                m.submodules[name] = part
        self._wire_ports(m, parts)
        self._wire_commands(m, parts)
        self._show_state(m, parts)
        self._wire_tables(m, parts)
        if parts.locks is not None:
            self._wire_locks(m, parts)
        self._pulse_ports(m, parts)
        self._wire_monitor(m, parts)
        m.d.comb += self.busy.eq(parts.controller.busy | parts.answers.busy | parts.supervisor.busy)
        if platform == "formal":
            self.probes = parts
        return m

    def _behind_register(self, m, signal):
        """A vector as it was in the cycle before."""
        register = Signal(self.ports)
        m.d.sync += register.eq(signal)
        return register

    def _wire_ports(self, m, parts):
        """The ports' bundles become vectors, and vectors become bundles, in the same cycle."""
        controller, answers, table = parts.controller, parts.answers, parts.table
        give(m, table, self, "named")
        give(m, controller, self, "named")
        for n, port in enumerate(self.port):
            give(m, controller, port, "request", "request_valid", "give_up", to=n)
            give(m, table, port, "close_one", to=n)
            give(m, port, controller, "resume", of=n)
            give(m, port, table, "mine", of=n)
            give(m, port, answers, "response_valid", of=n)
            give(m, port, answers, "done", "value", "fault", "quiet")

    def _wire_commands(self, m, parts):
        """The way of a command from the controller to the response unit and the supervisor, with the tables that each
        of them looks at, in the same cycle."""
        controller, answers, supervisor = parts.controller, parts.answers, parts.supervisor
        table = parts.table
        give(m, controller, self, "expired")
        # A start that left a cycle ago has no effect here yet: no port can ask for its output anew so soon.
        starting = Signal(self.ports)
        m.d.sync += starting.eq(self.ready_bit & ~self.ready)
        m.d.comb += controller.ready.eq(self.ready_bit & ~starting)
        give(m, controller, table, "mine")
        # An output whose connection ends by a close all counts as free two cycles before the table shows it. Behind
        # other ends a start may be on its way that ``starting`` does not show yet.
        m.d.comb += controller.connected.eq(table.connected & ~self.passed)
        give(m, controller, supervisor, "enabled", "allowed")
        give(m, answers, controller, "order", "decided", "place")
        give(m, answers, table, "connected", "owner")
        give(m, answers, supervisor, "enabled", "finished", "finished_done", "finished_value")
        give(m, answers, self, "ready_bit", "errors", "level", "neighbour_id", "neighbour_kind")
        give(m, supervisor, answers, "command", "command_valid")
        m.d.comb += supervisor.mine.eq(self._behind_register(m, table.mine))
        give(m, supervisor, self, "byte")
        # Only then are all effects in the tables at which the controller looks.
        m.d.sync += controller.finished.eq(supervisor.finished.any() & supervisor.idle)

    def _show_state(self, m, parts):
        """What the parts tell the rest of the HUB, in the same cycle."""
        answers, supervisor, table = parts.answers, parts.supervisor, parts.table
        give(m, self, answers, "send_ready", "neighbour")
        give(m, self, supervisor, "enabled", "looped", "reset_queue", "watchdog_log", "watchdog_restart", "reset_hub")
        give(m, self, supervisor, "select", "offset", "pop", "clear", "clear_valid")
        give(m, self, table, "targets", "connected", "owner", "ended")

    def _wire_tables(self, m, parts):
        """What changes the tables: decisions, the ports, the supervisor and the watchdog, in the same cycle.

        A port's queue is emptied later than the tables change. The port's connections must not end before that: so
        ``close_mine`` of the supervisor comes a cycle later."""
        controller, supervisor, table = parts.controller, parts.supervisor, parts.table
        close_mine = Cat(port.close_mine for port in self.port)
        vacated = Signal(self.ports)
        m.d.sync += vacated.eq(supervisor.close_mine)
        m.d.comb += [
            table.enter.eq(controller.enter | self._behind_register(m, supervisor.enter)),
            self.enter.eq(table.enter),
            table.entered_input.eq(controller.entered_input | supervisor.entered_input),
            table.close_mine.eq(close_mine | self.expired | vacated),
            table.closed.eq(self.passed | self.closed | supervisor.closed),
            self.holding.eq(
                Cat(targets.any() for targets in table.targets) | (parts.locks.holding if parts.locks else 0)
            ),
        ]

    def _wire_locks(self, m, parts):
        """The locks: what changes them, and what looks at them, in the same cycle. Without locks, no output is ever
        locked."""
        controller, answers, supervisor, locks = parts.controller, parts.answers, parts.supervisor, parts.locks
        m.d.comb += [
            locks.change.eq(answers.change | supervisor.lock),
            locks.who.eq(answers.who | supervisor.locker),
            locks.given.eq(answers.given | supervisor.given),
            locks.give_back.eq(answers.give_back),
            locks.release.eq(answers.release | self.expired | supervisor.release),
            *(to.eq(owner) for to, owner in zip(answers.locker, locks.owner)),
            self.unlocked.eq(locks.ended),
        ]
        give(m, controller, locks, "shut")
        give(m, answers, locks, "locked")
        give(m, supervisor, locks, "locked")

    def _pulse_ports(self, m, parts):
        """Pulses to the ports.

        In the cycle after the watchdog has expired, ready bits are set: those of the outputs that have lost their
        connection, except by a close all."""
        answers, supervisor = parts.answers, parts.supervisor
        expired = Signal()
        spared = Signal(self.ports)
        m.d.sync += [expired.eq(self.expired.any()), spared.eq(self.passed | self.closed)]
        recovered = Mux(expired, parts.table.ended & ~spared, 0)
        m.d.comb += [
            self.ready_set.eq(answers.ready_set | supervisor.ready_set | recovered),
            self.ready_clear.eq(answers.ready_clear | supervisor.ready_clear),
            self.hello_ask.eq(answers.forget | supervisor.hello_ask),
            self.forget.eq(answers.forget.any()),
        ]

    def _wire_monitor(self, m, parts):
        """Events and state for the monitor, in the same cycle; an event of the supervisor in the next.

        The response unit has none then: what was decided before the supervisor's command, or just behind it, is
        recorded by then."""
        answers, supervisor = parts.answers, parts.supervisor
        event = Signal(Decision, reset_less=True)
        event_valid = Signal()
        m.d.sync += [event.eq(supervisor.decision), event_valid.eq(supervisor.decision_valid)]
        m.d.comb += [
            self.opened.eq(parts.controller.opened | supervisor.opened),
            self.decision_valid.eq(answers.decision_valid | event_valid),
            *(
                flags.eq(Cat(bits))
                for flags, *bits in zip(
                    self.flags,
                    supervisor.enabled,
                    supervisor.looped,
                    supervisor.allowed,
                    self.ready_bit,
                    parts.table.connected,
                    parts.locks.locked if parts.locks else Const(0, self.ports),
                )
            ),
        ]
        with m.If(event_valid):
            m.d.comb += self.decision.eq(event)
        with m.Else():
            m.d.comb += self.decision.eq(answers.decision)
