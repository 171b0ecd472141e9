"""The HUB: ports, crossbar, status table, locks, central controller, reply bus, watchdog and monitor.

Source: "The Design of Nectar" (1989), section 4; ``docs/hub.md``.
"""

from amaranth.hdl import Array, Cat, ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..link.port import FiberPort
from .answers import Answers
from .controller import Controller
from .crossbar import Crossbar
from .input_port import InputPort
from .input_register import InputRegister
from .locks import Locks
from .messages import check_ports
from .monitor import Monitor
from .monitor_map import Counter
from .neighbours import Neighbours
from .output_port import OutputPort
from .profile import PROTOTYPE, HubProfile
from .reply_bus import ReplyBus
from .status_table import StatusTable
from .supervisor import Supervisor
from .watchdog import Watchdog

__all__ = ["Hub"]


class Hub(wiring.Component):
    """A crossbar switch that obeys commands from the network.

    Parameters
    ----------
    ports : int
        Number of ports, 2 to 128.
    profile : HubProfile
        Registers on the way of symbols and commands.
    supervisors : int, optional
        Mask of the ports that may give supervisor commands after a reset; all if not given.

    Members
    -------
    hub_id : In(8)
        ID of this HUB, not 255; constant while it runs.
    port_0, port_1, … : Out(FiberPort())
        The ports.
    idle : Out(1)
        Nothing is under way inside and nothing is held that the watchdog watches: only an arriving symbol can change the state.

    Timing
    ------
    See ``profile``. Symbols that arrive and the reset are registered; the first symbol may arrive in the cycle after the
    reset.

    Raises
    ------
    TypeError, ValueError
        If ``ports`` is not an int from 2 to 128, ``profile`` not a HubProfile, or ``supervisors`` not a mask of the ports.
    """

    def __init__(self, ports=16, profile=PROTOTYPE, supervisors=None):
        check_ports(ports)
        if not isinstance(profile, HubProfile):
            raise TypeError(f"profile of a HUB must be a HubProfile, not {profile!r}")
        self.ports = ports
        self.profile = profile
        self._supervisor = Supervisor(ports, supervisors)
        super().__init__({"hub_id": In(8), **{f"port_{n}": Out(FiberPort()) for n in range(ports)}, "idle": Out(1)})

    def elaborate(self, platform):
        m = Module()
        ports = range(self.ports)
        pins = [getattr(self, f"port_{n}") for n in ports]

        # The reset reaches every register; registered, it costs a simulation nothing while it does not change. The input
        # registers obey the pin itself, and so are awake one cycle before the rest.
        reset = Signal(init=1)
        hub_id = Signal(8, reset_less=True)
        m.domains.core = ClockDomain(local=True)
        m.d.comb += [ClockSignal("core").eq(ClockSignal()), ResetSignal("core").eq(reset)]
        core = DomainRenamer("core")

        m.submodules.controller = controller = core(Controller(self.ports, self.profile.backplane))
        m.submodules.answers = answers = core(Answers(self.ports))
        m.submodules.supervisor = supervisor = core(self._supervisor)
        m.submodules.table = table = core(StatusTable(self.ports))
        m.submodules.locks = locks = core(Locks(self.ports))
        m.submodules.crossbar = crossbar = core(Crossbar(self.ports, early=self.profile.direct))
        m.submodules.reply_bus = reply_bus = core(ReplyBus(self.ports))
        m.submodules.neighbours = neighbours = core(Neighbours(self.ports))
        m.submodules.watchdog = watchdog = core(Watchdog(self.ports))
        m.submodules.monitor = monitor = core(Monitor(self.ports, self.profile))
        m.d.sync += [reset.eq(supervisor.reset_hub), hub_id.eq(self.hub_id)]

        # Ports.
        space, ready, ready_bit, active, arrived, closed = (Signal(self.ports, name=name) for name in (
            "space", "ready", "ready_bit", "active", "arrived", "closed"))
        close_one, close_mine, moved, held = (Signal(self.ports, name=name) for name in ("close_one", "close_mine", "moved", "held"))
        ready_set, ready_clear, recovered = (Signal(self.ports, name=name) for name in ("ready_set", "ready_clear", "recovered"))
        for n, pin in zip(ports, pins):
            m.submodules[f"register_{n}"] = register = InputRegister()
            m.submodules[f"input_{n}"] = source = core(InputPort(self.ports, n, bypass=self.profile.direct))
            m.submodules[f"output_{n}"] = sink = core(OutputPort(register=not self.profile.direct))
            wiring.connect(m, source.reply_source, reply_bus.source[n])
            wiring.connect(m, source.answer, sink.answer)
            m.d.comb += [
                register.rx_payload.eq(pin.rx.payload),
                register.rx_valid.eq(pin.rx.valid),
                register.enabled.eq(supervisor.enabled[n]),
                register.looped.eq(supervisor.looped[n]),
                register.loop_symbol.eq(sink.loop_symbol),
                register.loop_valid.eq(sink.loop_valid),
                arrived[n].eq(register.valid),
                source.rx_symbol.eq(register.symbol),
                source.rx_kind.eq(register.kind),
                source.enabled.eq(supervisor.enabled[n]),
                source.hub_id.eq(hub_id),
                source.targets.eq(table.targets[n]),
                source.mine.eq(table.mine[n]),
                source.space.eq(space),
                source.resume.eq(controller.resume[n]),
                source.response_valid.eq(answers.response_valid[n]),
                source.done.eq(answers.done),
                source.value.eq(answers.value),
                source.reset_queue.eq(supervisor.reset_queue[n]),
                source.expired.eq(watchdog.expired[n]),
                source.no_route.eq(reply_bus.no_route[n]),
                source.reply_lost.eq(reply_bus.lost[n]),
                close_one[n].eq(source.close_one),
                close_mine[n].eq(source.close_mine),
                moved[n].eq(source.moved),
                held[n].eq(source.held | table.targets[n].any()),
                controller.request[n].eq(source.request),
                controller.request_valid[n].eq(source.request_valid),
                controller.give_up[n].eq(source.give_up),
                table.port[n].eq(source.request.param),
                answers.errors[n].eq(source.errors),
                answers.level[n].eq(source.level),
                crossbar.passage[n].eq(source.passage),
                crossbar.move[n].eq(source.move),
                sink.passage.eq(crossbar.out[n]),
                sink.push.eq(crossbar.push[n]),
                space[n].eq(sink.space),
                ready[n].eq(sink.ready),
                ready_bit[n].eq(sink.ready_bit),
                closed[n].eq(sink.closed),
                sink.ended.eq(table.ended[n]),
                sink.send_ready.eq(source.send_ready),
                sink.repair.eq(answers.send_ready[n]),
                sink.ready_arrived.eq(source.ready_arrived),
                sink.ready_set.eq(ready_set[n]),
                sink.ready_clear.eq(ready_clear[n]),
                sink.reply_byte.eq(reply_bus.byte),
                sink.reply_place.eq(reply_bus.place),
                sink.reply_push.eq(reply_bus.push[n]),
                reply_bus.full[n].eq(sink.reply_full),
                sink.looped.eq(supervisor.looped[n]),
                pin.tx.payload.eq(sink.tx.payload),
                pin.tx.valid.eq(sink.tx.valid),
                sink.tx.ready.eq(pin.tx.ready),
                monitor.events[n].eq(source.events),
                monitor.events[n][Counter.OPENED].eq(controller.opened[n] | supervisor.opened[n]),
                monitor.flags[n].eq(Cat(supervisor.enabled[n], supervisor.looped[n], supervisor.allowed[n], sink.ready_bit,
                                        table.connected[n], locks.locked[n])),
                active[n].eq(source.busy | sink.busy),
            ]

        # Decisions.
        m.d.comb += [
            table.enter.eq(controller.enter | supervisor.enter),
            table.entered_input.eq(controller.entered_input | supervisor.entered_input),
            table.entered_output.eq(controller.entered_output | supervisor.entered_output),
            table.close_one.eq(close_one),
            table.close_mine.eq(close_mine | watchdog.expired | supervisor.close_mine),
            table.closed.eq(closed | reply_bus.close | supervisor.closed),
            locks.change.eq(controller.lock | supervisor.lock),
            locks.who.eq(controller.locker | supervisor.locker),
            locks.release.eq(controller.unlock_mine | watchdog.expired | supervisor.release),
            controller.expired.eq(watchdog.expired),
            controller.mine.eq(table.mine),
            controller.ready.eq(ready),
            answers.ready_bit.eq(ready_bit),
            answers.order.eq(controller.order),
            answers.order_valid.eq(controller.order_valid),
            supervisor.command.eq(answers.command),
            supervisor.command_valid.eq(answers.command_valid),
            controller.finished.eq(supervisor.finished),
            controller.allowed.eq(supervisor.allowed),
            *(user.connected.eq(table.connected) for user in (controller, answers, supervisor, reply_bus)),
            *(user.locked.eq(locks.locked) for user in (controller, answers, supervisor)),
            *(user.enabled.eq(supervisor.enabled) for user in (controller, answers)),
            *(getattr(answers, name).eq(getattr(supervisor, name))
              for name in ("finished", "finished_port", "finished_done", "finished_value")),
        ]
        for n in ports:
            m.d.comb += [
                controller.named[n].eq(table.named[n]),
                controller.held[n].eq(locks.held[n]),
                answers.targets[n].eq(table.targets[n]),
                answers.locker[n].eq(locks.owner[n]),
                crossbar.targets[n].eq(table.targets[n]),
                *(user.owner[n].eq(table.owner[n]) for user in (answers, supervisor, reply_bus, crossbar)),
            ]

        # What stands still gives back its ready bits.
        with m.If(watchdog.expired.any()):
            m.d.comb += recovered.eq(table.connected & Cat(Array(watchdog.expired)[table.owner[n]] for n in ports))
        m.d.comb += [
            watchdog.log.eq(supervisor.watchdog_log),
            watchdog.restart.eq(supervisor.watchdog_restart),
            watchdog.held.eq(held | locks.holding),
            watchdog.moved.eq(moved),
            ready_set.eq(answers.ready_set | supervisor.ready_set | recovered),
            ready_clear.eq(answers.ready_clear | supervisor.ready_clear),
        ]

        # Neighbours.
        wiring.connect(m, reply_bus.hello, neighbours.hello)
        m.d.comb += [
            reply_bus.hub_id.eq(hub_id),
            reply_bus.ask.eq(answers.forget | supervisor.hello_ask),
            neighbours.index.eq(answers.neighbour),
            neighbours.forget.eq(answers.forget.any()),
            answers.neighbour_id.eq(neighbours.id),
            answers.neighbour_kind.eq(neighbours.kind),
        ]

        # The monitor. Connections that ended are told one cycle after the table shows it, as decisions are.
        m.d.core += monitor.closed.eq(table.ended)
        m.d.comb += [
            monitor.unlocked.eq(locks.ended),
            monitor.expired.eq(watchdog.expired),
            monitor.watchdog_log.eq(supervisor.watchdog_log),
            monitor.decision_valid.eq(answers.decision_valid | supervisor.decision_valid),
            *(getattr(monitor, name).eq(getattr(supervisor, name)) for name in ("select", "offset", "pop", "clear", "clear_valid")),
            supervisor.byte.eq(monitor.byte),
        ]
        with m.If(answers.decision_valid):
            m.d.comb += monitor.decision.eq(answers.decision)
        with m.Else():
            m.d.comb += monitor.decision.eq(supervisor.decision)

        # What was active in the last cycle may have started something in this one.
        awake, was_active = Signal(), Signal()
        m.d.sync += was_active.eq(active.any() | controller.busy | answers.busy | supervisor.busy | reply_bus.busy | watchdog.active)
        m.d.comb += [
            awake.eq(was_active | arrived.any()),
            monitor.awake.eq(awake),
            self.idle.eq(~awake & ~monitor.active),
        ]
        return m
