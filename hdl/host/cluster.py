"""A Nectar inside one FPGA: a HUB with CABs on its first ports, and the host's cable.

Source: docs/cable.md, which is ours; HUB and CAB are those of "The Design of Nectar" (1989), sections 4 and 5.
"""

from amaranth.hdl import Cat, ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import exact_log2

from ..cab.cab import Cab
from ..hub.hub import Hub
from ..hub.profile import HUB_PROFILES, PROTOTYPE
from ..link.symbol import SYMBOL_BITS
from .cable import Cable
from .gate import ClockGate
from .host_controller import check_cabs
from .numbers import BUFFER_WORDS

__all__ = ["Cluster"]

#: What ``wake_in`` of a CAB shows when no timer is armed.
_NEVER = 0xFFFF_FFFF


class Cluster(wiring.Component):
    """One HUB, 1 to 16 CABs, and a cable.

    Parameters
    ----------
    cabs : int
        CABs; number N, from 0, hangs on port N of the HUB.
    ports : int or None
        Ports of the HUB; by default as many as CABs, but at least 2. What has no CAB has no fiber.
    profile : HubProfile
    hub_id : int
        The HUB's ID, 0 to 254.
    data_bytes, program_bytes, domains, pages : int
        As in ``Cab``.
    period_ps : int
        Period of the clock in picoseconds.
    bit_cycles : int
        Clock cycles of a bit on the serial line, 4 to 65536.
    gate : callable
        Makes what stops the clock: a component with the members of ``ClockGate``.

    Members
    -------
    rx : In(1), tx : Out(1)
        The serial line; ``rx`` is not synchronous to the clock.
    busy : Out(1)
        A request is being executed or answered.

    Timing
    ------
    HUB, CABs and fibers have the clock of the domain ``sync`` as far as the cable lets it through. A symbol is two
    cycles on a fiber.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not one of those.
    """

    def __init__(
        self,
        cabs=2,
        ports=None,
        profile=PROTOTYPE,
        hub_id=1,
        data_bytes=32768,
        program_bytes=4096,
        domains=4,
        pages=256,
        period_ps=20_000,
        bit_cycles=50,
        gate=ClockGate,
    ):
        check_cabs(cabs)
        ports = max(2, cabs) if ports is None else ports
        self._hub = Hub(ports, profile)
        if cabs > ports:
            raise ValueError(f"a HUB of {ports} ports has no room for {cabs} CABs")
        self._cabs = [Cab(data_bytes, program_bytes, domains=domains, pages=pages) for _ in range(cabs)]
        self._hub_id = hub_id
        self._gate = gate
        self._cable = Cable(
            cabs,
            [
                cabs << 24 | ports << 16 | hub_id << 8 | list(HUB_PROFILES).index(profile.name),
                period_ps,
                exact_log2(data_bytes) << 24 | exact_log2(program_bytes) << 16 | exact_log2(BUFFER_WORDS) << 8,
            ],
            bit_cycles,
        )
        super().__init__({"rx": In(1), "tx": Out(1, init=1), "busy": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.cable = cable = self._cable
        m.submodules.gate = gate = self._gate()
        m.domains.boards = ClockDomain("boards", local=True)
        m.d.comb += [
            gate.enable.eq(cable.tick),
            ClockSignal("boards").eq(gate.clock),
            ResetSignal("boards").eq(cable.reset),
            cable.rx.eq(self.rx),
            self.tx.eq(cable.tx),
            self.busy.eq(cable.busy),
        ]
        boards = DomainRenamer("boards")
        m.submodules.hub = boards(self._hub)
        m.d.comb += self._hub.hub_id.eq(self._hub_id)
        quiet = [self._hub.idle]
        ports = [getattr(self._hub, f"port_{n}") for n in range(self._hub.ports)]
        for n, cab in enumerate(self._cabs):
            m.submodules[f"cab_{n}"] = boards(cab)
            connect(m, getattr(cable, f"bus_{n}"), cab.bus)
            m.d.comb += cable.irq[n].eq(cab.irq)
            quiet += [cab.idle, cab.wake_in == _NEVER]
            for sender, receiver, name in ((cab.fiber, ports[n], "out"), (ports[n], cab.fiber, "in")):
                quiet.append(self._fiber(m, sender, receiver, f"{name}_{n}"))
        for port in ports[len(self._cabs) :]:
            m.d.comb += port.tx.ready.eq(1)
        m.d.comb += cable.quiet.eq(Cat(quiet).all())
        return m

    def _fiber(self, m, sender, receiver, name):
        """One direction of a fiber; whether nothing is under way on it."""
        symbols = [Signal(SYMBOL_BITS, name=f"{name}_symbol_{n}") for n in range(2)]
        valid = [Signal(name=f"{name}_valid_{n}") for n in range(2)]
        m.d.comb += [sender.tx.ready.eq(1), receiver.rx.payload.eq(symbols[1]), receiver.rx.valid.eq(valid[1])]
        m.d.boards += [
            symbols[0].eq(sender.tx.payload),
            symbols[1].eq(symbols[0]),
            valid[0].eq(sender.tx.valid),
            valid[1].eq(valid[0]),
        ]
        return ~(valid[0] | valid[1] | sender.tx.valid)
