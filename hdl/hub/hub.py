"""The HUB: ports, crossbar, status table, locks, central controller, reply bus, watchdog and monitor.

Source: "The Design of Nectar" (1989), section 4; ``docs/hub.md``.
"""

from types import SimpleNamespace

from amaranth.hdl import Cat, ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..link.port import FiberPort
from ..link.queue import QUEUE_DEPTH
from .control.central import Central
from .control.neighbours import Neighbours
from .control.watchdog import Watchdog
from .crossbar import Crossbar
from .monitor.monitor import Monitor
from .monitor_map import CounterId
from .part import HubPart, give
from .port.input_port import InputPort
from .port.input_register import InputRegister
from .port.output_port import OutputPort
from .profile import PROTOTYPE, HubProfile
from .reply_bus import ReplyBus

__all__ = ["QUEUE_LEAST", "QUEUE_MOST", "Hub"]

#: Symbols that an input queue of a HUB holds, at least and at most.
QUEUE_LEAST, QUEUE_MOST = 256, 4096

#: Puts a part into the domain that the reset of the HUB resets.
_core = DomainRenamer("core")


class _Signals:
    """What the sections of a HUB of so many ``ports`` share. Vectors have a bit for each port."""

    def __init__(self, ports):
        self.reset = Signal(init=1)
        self.hub_id = Signal(8, reset_less=True)
        self.active = Signal(ports)
        self.arrived = Signal(ports)  # a symbol has arrived
        self.held = Signal(ports)
        self.closed = Signal(ports)  # a close all has passed through the output
        self.reply_closed = Signal(ports)  # the reply to a close all reply has passed
        self.no_route = Signal(ports)
        self.reply_lost = Signal(ports)
        self.events = [Signal(len(CounterId), name=f"events_{n}") for n in range(ports)]
        self.awake = Signal()  # something is under way, or a symbol has arrived


class Hub(HubPart):
    """A crossbar switch that obeys commands from the network.

    Parameters
    ----------
    ports : int
        Number of ports, 2 to 128.
    profile : HubProfile
        Registers on the way of symbols and commands.
    supervisors : int, optional
        Mask of the ports that may give supervisor commands after a reset; all if not given.
    monitor, locks : bool
        The HUB has a monitor; it has locks. The commands of an absent part are unknown.
    queue : int
        Symbols that each input queue holds, 256 to 4096.

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
        If ``ports`` is not an int from 2 to 128, ``profile`` not a HubProfile, ``supervisors`` not a mask of the
        ports, ``monitor`` or ``locks`` not a bool, or ``queue`` not an int from 256 to 4096.
    """

    def __init__(self, ports=16, profile=PROTOTYPE, supervisors=None, *, monitor=True, locks=True, queue=QUEUE_DEPTH):
        super().__init__(ports)
        if not isinstance(profile, HubProfile):
            raise TypeError(f"profile of a HUB must be a HubProfile, not {profile!r}")
        for name, part in (("monitor", monitor), ("locks", locks)):
            if not isinstance(part, bool):
                raise TypeError(f"whether a HUB has {name} must be True or False, not {part!r}")
        if not isinstance(queue, int) or isinstance(queue, bool):
            raise TypeError(f"symbols in a queue of a HUB must be an int, not {queue!r}")
        if not QUEUE_LEAST <= queue <= QUEUE_MOST:
            raise ValueError(f"a queue of a HUB holds {QUEUE_LEAST} to {QUEUE_MOST} symbols, not {queue}")
        self.profile = profile
        self.queue = queue
        self.has_monitor = monitor
        self._central = Central(ports, supervisors, monitor=monitor, locks=locks)

    def members(self):
        ports = {f"port_{n}": Out(FiberPort()) for n in range(self.ports)}
        return {"hub_id": In(8), **ports, "idle": Out(1)}

    def elaborate(self, platform):
        """The parts for all ports; the reset; the ports, each wired to the parts; the wires between the parts; idle."""
        m = Module()
        s = _Signals(self.ports)
        self._make_parts(m)
        self._reset(m, s)
        for n in range(self.ports):
            self._make_port(m, s, n)
        self._wire_centre(m, s)
        self._wire_reply_bus(m, s)
        if self.has_monitor:
            self._wire_monitor(m, s)
        self._tell_idle(m, s)
        return m

    def _make_parts(self, m):
        """The parts that are there once for all ports."""
        m.submodules.central = _core(self._central)
        m.submodules.crossbar = _core(Crossbar(self.ports, late=self.profile.pipelined))
        m.submodules.reply_bus = _core(ReplyBus(self.ports))
        m.submodules.neighbours = _core(Neighbours(self.ports))
        m.submodules.watchdog = _core(Watchdog(self.ports))
        if self.has_monitor:
            m.submodules.monitor = _core(Monitor(self.ports, self.profile))

    def _reset(self, m, s):
        """The reset of the domain ``core``, one cycle after the pin, or after the centre has asked for it.
        The HUB's ID comes a cycle late, too.

        The reset is registered, so it costs a simulation nothing while it does not change. The input registers obey the
        pin itself, and so work one cycle before the rest. In this cycle the earlier state of a port has no effect any
        more."""
        m.domains.core = ClockDomain(local=True)
        m.d.comb += [ClockSignal("core").eq(ClockSignal()), ResetSignal("core").eq(s.reset)]
        m.d.sync += [s.reset.eq(m.submodules.central.reset_hub), s.hub_id.eq(self.hub_id)]

    def _make_port(self, m, s, n):
        """Port ``n``: its parts, and their wires.

        The centre is far away from most ports, so each of the signals in ``local`` has a register at the port: it comes
        a cycle later."""
        central, reply_bus = m.submodules.central, m.submodules.reply_bus
        m.submodules[f"register_{n}"] = register = InputRegister()
        m.submodules[f"input_{n}"] = source = _core(InputPort(self.ports, n, self.queue, bypass=self.profile.pipelined))
        m.submodules[f"output_{n}"] = sink = _core(OutputPort(register=not self.profile.pipelined))
        wiring.connect(m, source.control, central.port[n])
        wiring.connect(m, source.reply_source, reply_bus.source[n])
        wiring.connect(m, source.answer, sink.answer)
        local = SimpleNamespace(repair=Signal(name=f"repair_{n}"))
        m.d.core += local.repair.eq(central.send_ready[n])
        for name in ("enabled", "looped", "reset_queue", "ready_set", "ready_clear"):
            here = Signal(init=name == "enabled", name=f"{name}_{n}")
            setattr(local, name, here)
            m.d.core += here.eq(getattr(central, name)[n])
        self._wire_register(m, s, n, register, sink)
        self._wire_input(m, s, n, register, source, local)
        self._wire_output(m, s, n, source, sink, local)
        m.d.comb += s.active[n].eq(source.busy | sink.busy | local.repair | local.reset_queue)

    def _wire_register(self, m, s, n, register, sink):
        """The input register of port ``n``: from the fiber, or from the port's own output in loop back."""
        pin = getattr(self, f"port_{n}")
        # The input register works while the HUB is reset, as if it were behind it. The reset itself, behind which this
        # could be made without registers, goes to every register of the HUB, which takes 4 ns.
        central = m.submodules.central
        reset = s.reset | central.reset_hub
        enabled = Signal(init=1, name=f"enabled_or_reset_{n}")
        looped = Signal(name=f"looped_behind_reset_{n}")
        m.d.sync += [enabled.eq(central.enabled[n] | reset), looped.eq(central.looped[n] & ~reset)]
        give(m, register, sink, "loop_symbol", "loop_valid")
        m.d.comb += [
            register.rx_payload.eq(pin.rx.payload),
            register.rx_valid.eq(pin.rx.valid),
            register.enabled.eq(enabled),
            register.looped.eq(looped),
            s.arrived[n].eq(register.valid),
        ]

    def _wire_input(self, m, s, n, register, source, local):
        """The input side of port ``n``: to the crossbar, the watchdog, the centre and the monitor, in the same
        cycle."""
        central, crossbar = m.submodules.central, m.submodules.crossbar
        watchdog = m.submodules.watchdog
        give(m, source, register, "coming")
        give(m, source, local, "enabled", "reset_queue")
        give(m, source, s, "hub_id")
        give(m, source, s, "no_route", "reply_lost", of=n)
        give(m, watchdog, source, "moved", to=n)
        give(m, s, source, "held", "events", to=n)
        give(m, central, source, "errors", "level", "named", to=n)
        give(m, crossbar, source, "named", to=n)
        give(m, crossbar, source.crossbar, "beat", "move", to=n)
        m.d.comb += [
            source.rx_symbol.eq(register.symbol),
            source.rx_kind.eq(register.kind),
            source.expired.eq(~watchdog.in_time[n]),
            source.crossbar.connected.eq(crossbar.listened[n]),
            source.crossbar.blocked.eq(crossbar.blocked[n]),
            source.crossbar.clear.eq(crossbar.clear[n]),
            s.events[n][CounterId.OPENED].eq(central.opened[n]),
        ]

    def _wire_output(self, m, s, n, source, sink, local):
        """The output side of port ``n``: from the crossbar and the reply bus to the fiber, in the same cycle. Ready
        signals stay in the port."""
        central, crossbar, reply_bus = m.submodules.central, m.submodules.crossbar, m.submodules.reply_bus
        give(m, sink, local, "repair", "ready_set", "ready_clear", "looped")
        give(m, sink, source, "send_ready", "ready_arrived")
        give(m, sink, crossbar, "push", of=n)
        give(m, sink, central, "ended", of=n)
        give(m, central, sink, "ready", "ready_bit", to=n)
        give(m, crossbar, sink, "space", to=n)
        give(m, s, sink, "closed", to=n)
        m.d.comb += [
            sink.beat.eq(crossbar.out[n]),
            sink.reply_byte.eq(reply_bus.byte),
            sink.reply_place.eq(reply_bus.place),
            sink.reply_push.eq(reply_bus.push[n]),
            reply_bus.full[n].eq(sink.reply_full),
        ]
        wiring.connect(m, sink.tx, wiring.flipped(getattr(self, f"port_{n}").tx))

    def _wire_centre(self, m, s):
        """The centre, with crossbar, watchdog and neighbours. The reply bus closes connections a cycle late."""
        central, neighbours = m.submodules.central, m.submodules.neighbours
        crossbar, watchdog = m.submodules.crossbar, m.submodules.watchdog
        give(m, crossbar, central, "enter", "targets", "owner")
        give(m, central, watchdog, "expired")
        m.d.comb += [
            central.passed.eq(s.closed),
            central.closed.eq(s.reply_closed),
            central.neighbour_id.eq(neighbours.id),
            central.neighbour_kind.eq(neighbours.kind),
            watchdog.log.eq(central.watchdog_log),
            watchdog.restart.eq(central.watchdog_restart),
            watchdog.held.eq(s.held | central.holding),
            neighbours.index.eq(central.neighbour),
            neighbours.forget.eq(central.forget),
        ]

    def _wire_reply_bus(self, m, s):
        """The reply bus, with the table of connections and the neighbours. Its errors reach the ports a cycle late."""
        central, reply_bus = m.submodules.central, m.submodules.reply_bus
        give(m, reply_bus, s, "hub_id")
        give(m, reply_bus, central, "connected", "owner")
        m.d.comb += reply_bus.ask.eq(central.hello_ask)
        wiring.connect(m, reply_bus.hello, m.submodules.neighbours.hello)
        m.d.core += [
            s.reply_closed.eq(reply_bus.close),
            s.no_route.eq(reply_bus.no_route),
            s.reply_lost.eq(reply_bus.lost),
        ]

    def _wire_monitor(self, m, s):
        """The monitor, with the events of centre and watchdog. The end of a connection reaches it a cycle late, with
        the same delay as a decision."""
        central, watchdog, monitor = m.submodules.central, m.submodules.watchdog, m.submodules.monitor
        give(m, monitor, s, "awake", "events")
        give(m, monitor, watchdog, "expired")
        give(m, monitor, central, "decision", "decision_valid", "unlocked", "watchdog_log", "flags")
        give(m, monitor, central, "select", "offset", "pop", "clear", "clear_valid")
        give(m, central, monitor, "byte")
        m.d.core += monitor.closed.eq(central.ended)

    def _tell_idle(self, m, s):
        """Whether nothing is under way. A part that was active in the last cycle may have started another part in this
        cycle. The watchdog is itself a cycle behind what it watches."""
        central, reply_bus = m.submodules.central, m.submodules.reply_bus
        watchdog = m.submodules.watchdog
        were_active = Signal(self.ports + 2)
        m.d.sync += were_active.eq(Cat(s.active, central.busy, reply_bus.busy))
        m.d.comb += [
            s.awake.eq(were_active.any() | watchdog.active | s.arrived.any()),
            self.idle.eq(~s.awake & ~(m.submodules.monitor.active if self.has_monitor else 0) & ~s.reset),
        ]
