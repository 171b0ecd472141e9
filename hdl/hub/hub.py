"""The HUB: ports, crossbar, status table, locks, central controller, reply bus, watchdog and monitor.

Source: "The Design of Nectar" (1989), section 4; ``docs/hub.md``.
"""

from amaranth.hdl import Cat, ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..link.port import FiberPort
from .control.central import Central
from .control.neighbours import Neighbours
from .control.watchdog import Watchdog
from .crossbar import Crossbar
from .messages import check_ports
from .monitor.monitor import Monitor
from .monitor_map import CounterId
from .port.input_port import InputPort
from .port.input_register import InputRegister
from .port.output_port import OutputPort
from .profile import PROTOTYPE, HubProfile
from .reply_bus import ReplyBus

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
        Only an arriving symbol can change the state: nothing is under way inside, nothing is held that the watchdog
        watches, and the recorder does not run.

    Timing
    ------
    The profile gives the latencies. Symbols that arrive and the reset are registered. The first symbol may arrive in
    the cycle after the reset.

    Raises
    ------
    TypeError, ValueError
        If ``ports`` is not an int from 2 to 128, ``profile`` not a HubProfile, or ``supervisors`` not a mask of the
        ports.
    """

    def __init__(self, ports=16, profile=PROTOTYPE, supervisors=None):
        check_ports(ports)
        if not isinstance(profile, HubProfile):
            raise TypeError(f"profile of a HUB must be a HubProfile, not {profile!r}")
        self.ports = ports
        self.profile = profile
        self._central = Central(ports, profile.backplane, supervisors)
        super().__init__({"hub_id": In(8), **{f"port_{n}": Out(FiberPort()) for n in range(ports)}, "idle": Out(1)})

    def elaborate(self, platform):
        m = Module()
        ports = range(self.ports)
        pins = [getattr(self, f"port_{n}") for n in ports]

        # The reset reaches every register. It is registered, so it costs a simulation nothing while it does not change.
        # The input registers obey the pin itself, and so work one cycle before the rest. In this cycle the earlier
        # state of a port has no effect any more.
        reset = Signal(init=1)
        hub_id = Signal(8, reset_less=True)
        m.domains.core = ClockDomain(local=True)
        m.d.comb += [ClockSignal("core").eq(ClockSignal()), ResetSignal("core").eq(reset)]
        core = DomainRenamer("core")

        m.submodules.central = central = core(self._central)
        m.submodules.crossbar = crossbar = core(Crossbar(self.ports, early=self.profile.direct))
        m.submodules.reply_bus = reply_bus = core(ReplyBus(self.ports))
        m.submodules.neighbours = neighbours = core(Neighbours(self.ports))
        m.submodules.watchdog = watchdog = core(Watchdog(self.ports))
        m.submodules.monitor = monitor = core(Monitor(self.ports, self.profile))
        m.d.sync += [reset.eq(central.reset_hub), hub_id.eq(self.hub_id)]

        # Ports.
        space, active, arrived, closed = (
            Signal(self.ports, name=name) for name in ("space", "active", "arrived", "closed")
        )
        held, reply_closed, no_route, reply_lost = (
            Signal(self.ports, name=name) for name in ("held", "reply_closed", "no_route", "reply_lost")
        )
        for n, pin in zip(ports, pins):
            m.submodules[f"register_{n}"] = register = InputRegister()
            m.submodules[f"input_{n}"] = source = core(InputPort(self.ports, n, bypass=self.profile.direct))
            m.submodules[f"output_{n}"] = sink = core(OutputPort(register=not self.profile.direct))
            wiring.connect(m, source.control, central.port[n])
            wiring.connect(m, source.reply_source, reply_bus.source[n])
            wiring.connect(m, source.answer, sink.answer)
            # The centre is far away from most ports, so each of these signals has a register at the port.
            local = {
                name: Signal(init=name == "enabled", name=f"{name}_{n}")
                for name in ("enabled", "looped", "reset_queue", "repair", "ready_set", "ready_clear")
            }
            m.d.core += [
                there.eq(getattr(central, {"repair": "send_ready"}.get(name, name))[n]) for name, there in local.items()
            ]
            m.d.comb += [
                register.rx_payload.eq(pin.rx.payload),
                register.rx_valid.eq(pin.rx.valid),
                register.enabled.eq(local["enabled"] | reset),
                register.looped.eq(local["looped"] & ~reset),
                register.loop_symbol.eq(sink.loop_symbol),
                register.loop_valid.eq(sink.loop_valid),
                arrived[n].eq(register.valid),
                source.coming.eq(register.coming),
                source.rx_symbol.eq(register.symbol),
                source.rx_kind.eq(register.kind),
                source.enabled.eq(local["enabled"]),
                source.hub_id.eq(hub_id),
                source.reset_queue.eq(local["reset_queue"]),
                source.expired.eq(watchdog.expired[n]),
                source.no_route.eq(no_route[n]),
                source.reply_lost.eq(reply_lost[n]),
                watchdog.moved[n].eq(source.moved),
                held[n].eq(source.held),
                central.errors[n].eq(source.errors),
                central.level[n].eq(source.level),
                crossbar.beat[n].eq(source.crossbar.beat),
                crossbar.move[n].eq(source.crossbar.move),
                source.crossbar.space.eq(space),
                sink.beat.eq(crossbar.out[n]),
                sink.push.eq(crossbar.push[n]),
                space[n].eq(sink.space),
                central.ready[n].eq(sink.ready),
                central.ready_bit[n].eq(sink.ready_bit),
                closed[n].eq(sink.closed),
                sink.ended.eq(central.ended[n]),
                sink.send_ready.eq(source.send_ready),
                sink.repair.eq(local["repair"]),
                sink.ready_arrived.eq(source.ready_arrived),
                sink.ready_set.eq(local["ready_set"]),
                sink.ready_clear.eq(local["ready_clear"]),
                sink.reply_byte.eq(reply_bus.byte),
                sink.reply_place.eq(reply_bus.place),
                sink.reply_push.eq(reply_bus.push[n]),
                reply_bus.full[n].eq(sink.reply_full),
                sink.looped.eq(local["looped"]),
                pin.tx.payload.eq(sink.tx.payload),
                pin.tx.valid.eq(sink.tx.valid),
                sink.tx.ready.eq(pin.tx.ready),
                monitor.events[n].eq(source.events),
                monitor.events[n][CounterId.OPENED].eq(central.opened[n]),
                monitor.flags[n].eq(central.flags[n]),
                crossbar.targets[n].eq(source.control.targets),
                crossbar.owner[n].eq(central.owner[n]),
                reply_bus.owner[n].eq(central.owner[n]),
                active[n].eq(source.busy | sink.busy | local["repair"] | local["reset_queue"]),
            ]

        m.d.comb += [
            central.closed.eq(closed | reply_closed),
            central.expired.eq(watchdog.expired),
            central.neighbour_id.eq(neighbours.id),
            central.neighbour_kind.eq(neighbours.kind),
            central.byte.eq(monitor.byte),
            watchdog.log.eq(central.watchdog_log),
            watchdog.restart.eq(central.watchdog_restart),
            watchdog.held.eq(held | central.holding),
            reply_bus.hub_id.eq(hub_id),
            reply_bus.connected.eq(central.connected),
            reply_bus.ask.eq(central.hello_ask),
            neighbours.index.eq(central.neighbour),
            neighbours.forget.eq(central.forget),
            monitor.expired.eq(watchdog.expired),
            *(
                getattr(monitor, name).eq(getattr(central, name))
                for name in (
                    "decision",
                    "decision_valid",
                    "unlocked",
                    "watchdog_log",
                    "select",
                    "offset",
                    "pop",
                    "clear",
                    "clear_valid",
                )
            ),
        ]
        wiring.connect(m, reply_bus.hello, neighbours.hello)
        m.d.core += [reply_closed.eq(reply_bus.close), no_route.eq(reply_bus.no_route), reply_lost.eq(reply_bus.lost)]
        # The end of a connection reaches the monitor with the same delay as a decision.
        m.d.core += monitor.closed.eq(central.ended)

        # A part that was active in the last cycle may have started another part in this cycle.
        awake = Signal()
        were_active = Signal(self.ports + 3)
        m.d.sync += were_active.eq(Cat(active, central.busy, reply_bus.busy, watchdog.active))
        m.d.comb += [
            awake.eq(were_active.any() | arrived.any()),
            monitor.awake.eq(awake),
            self.idle.eq(~awake & ~monitor.active & ~reset),
        ]
        return m
