"""The HUB: ports, crossbar, status table, central controller and reply bus.

Source: "The Design of Nectar" (1989), section 4; ``docs/hub.md``.
"""

from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..link.port import FiberPort
from ..link.symbol import SYMBOL_BITS
from .controller import Controller
from .crossbar import Crossbar
from .input_port import InputPort
from .messages import check_ports
from .output_port import OutputPort
from .profile import PROTOTYPE, HubProfile
from .reply_bus import ReplyBus
from .status_table import StatusTable

__all__ = ["Hub"]


class Hub(wiring.Component):
    """A crossbar switch that obeys commands from the network.

    Parameters
    ----------
    ports : int
        Number of ports, 2 to 128.
    profile : HubProfile
        Registers on the way of symbols and commands.

    Members
    -------
    hub_id : In(8)
        ID of this HUB, not 255; constant while it runs.
    port_0, port_1, … : Out(FiberPort())
        The ports.
    idle : Out(1)
        No symbol, request or reply is under way inside: only an arriving symbol can change the state.

    Timing
    ------
    See ``profile``. Symbols that arrive and the reset are registered; the first symbol may arrive in the cycle after the
    reset.

    Raises
    ------
    TypeError, ValueError
        If ``ports`` is not an int from 2 to 128, or ``profile`` not a HubProfile.
    """

    def __init__(self, ports=16, profile=PROTOTYPE):
        check_ports(ports)
        if not isinstance(profile, HubProfile):
            raise TypeError(f"profile of a HUB must be a HubProfile, not {profile!r}")
        self.ports = ports
        self.profile = profile
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
        m.d.sync += [reset.eq(0), hub_id.eq(self.hub_id)]
        m.d.comb += [ClockSignal("core").eq(ClockSignal()), ResetSignal("core").eq(reset)]
        core = DomainRenamer("core")

        m.submodules.controller = controller = core(Controller(self.ports, self.profile.backplane))
        m.submodules.table = table = core(StatusTable(self.ports))
        m.submodules.crossbar = crossbar = core(Crossbar(self.ports))
        m.submodules.reply_bus = reply_bus = core(ReplyBus(self.ports))
        inputs = [core(InputPort(self.ports, n)) for n in ports]
        outputs = [core(OutputPort()) for n in ports]

        m.d.comb += [
            table.grant_input.eq(controller.grant_input),
            table.grant_index.eq(controller.grant_index),
            table.grant_output.eq(controller.grant_output),
            controller.connected.eq(table.connected),
            crossbar.connected.eq(table.connected),
            reply_bus.connected.eq(table.connected),
        ]
        space, active = Signal(self.ports), Signal(self.ports)
        arrived = Signal(self.ports)
        for n, pin, source, sink in zip(ports, pins, inputs, outputs):
            m.submodules[f"input_{n}"] = source
            m.submodules[f"output_{n}"] = sink
            symbol = Signal(SYMBOL_BITS, name=f"rx_symbol_{n}", reset_less=True)
            m.d.sync += [symbol.eq(pin.rx.payload), arrived[n].eq(pin.rx.valid)]
            m.d.comb += [
                source.rx_symbol.eq(symbol),
                source.rx_valid.eq(arrived[n]),
                source.hub_id.eq(hub_id),
                source.targets.eq(table.targets[n]),
                source.space.eq(space),
                source.response_valid.eq(controller.response_valid[n]),
                source.done.eq(controller.done),
                source.value.eq(controller.value),
                source.reply_lost.eq(reply_bus.lost[n]),
                table.close[n].eq(source.close),
                table.closed[n].eq(sink.closed),
                controller.request[n].eq(source.request),
                controller.request_valid[n].eq(source.request_valid),
                controller.targets[n].eq(table.targets[n]),
                controller.owner[n].eq(table.owner[n]),
                controller.ready[n].eq(sink.ready),
                controller.errors[n].eq(source.errors),
                crossbar.passage[n].eq(source.passage),
                crossbar.move[n].eq(source.move),
                crossbar.owner[n].eq(table.owner[n]),
                reply_bus.source[n].payload.eq(source.replies.payload),
                reply_bus.source[n].valid.eq(source.replies.valid),
                source.replies.ready.eq(reply_bus.source[n].ready),
                reply_bus.owner[n].eq(table.owner[n]),
                reply_bus.full[n].eq(sink.reply_full),
                space[n].eq(sink.space),
                sink.passage.eq(crossbar.out[n]),
                sink.push.eq(crossbar.push[n]),
                sink.send_ready.eq(source.start_left),
                sink.ready_arrived.eq(source.ready_arrived),
                sink.reply.eq(reply_bus.reply),
                sink.reply_push.eq(reply_bus.push[n]),
                pin.tx.payload.eq(sink.tx.payload),
                pin.tx.valid.eq(sink.tx.valid),
                sink.tx.ready.eq(pin.tx.ready),
                active[n].eq(source.busy | sink.busy),
            ]

        # What was active in the last cycle may have started something in this one.
        was_active = Signal()
        m.d.sync += was_active.eq(active.any() | controller.busy | reply_bus.busy)
        m.d.comb += self.idle.eq(~was_active & ~arrived.any())
        return m
