"""A desk: a board with a HUB, boards with a CAB each, and the wires between them, for simulation.

Source: ours. ``docs/boards.md``, "A HUB and CABs", tells how boards are wired; ``docs/cable.md``, "Without a board",
how this is used."""

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..hdl.host.host_controller import check_cabs
from .cab import CabTop
from .hub import HubTop
from .interface import BoardInterface

__all__ = ["BenchSetup"]

#: Samples of a fiber in a cycle, and of a bit on it: a bit takes a cycle.
_SAMPLES = 4


class BenchSetup(wiring.Component):
    """A ``HubTop`` and 1 to 16 ``CabTop``, joined at the pins of their serial fibers: CAB number N, from 0, hangs on
    port N.

    Parameters
    ----------
    cabs : int
        CABs; the HUB has a port for each, but at least 2.
    profile : str
        Name of the HUB's profile.
    hub_id : int
        The HUB's ID, 0 to 254.
    data_bytes : int
        Data memory of each CAB, as in ``Cab``.
    clock_hz : int
        Rate of the clock, which all boards share.
    bit_cycles : int
        Clock cycles of a bit on the serial lines of the host, 4 to 65536.

    Members
    -------
    rx : In(cabs), tx : Out(cabs)
        Each CAB's serial line; ``rx`` is not synchronous to the clock.
    busy : Out(1)
        A request is being executed or answered, or something is under way in the HUB.
    lost : Out(cabs)
        The CAB's light that tells of a lost symbol.

    Timing
    ------
    A symbol takes ten cycles on a fiber.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not one of those.
    """

    def __init__(self, cabs=2, profile="prototype", hub_id=1, data_bytes=32768, clock_hz=16_000_000, bit_cycles=4):
        check_cabs(cabs)
        interface = BoardInterface(
            clock_hz=clock_hz, line_hz=clock_hz, samples=_SAMPLES, oversampling=_SAMPLES, one_clock=True
        )
        self._hub = HubTop(interface, ports=max(2, cabs), profile=profile, hub_id=hub_id)
        self._cabs = [CabTop(interface, data_bytes=data_bytes, baud=clock_hz // bit_cycles) for _ in range(cabs)]
        super().__init__({"rx": In(cabs), "tx": Out(cabs, init=(1 << cabs) - 1), "busy": Out(1), "lost": Out(cabs)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.hub = hub = self._hub
        busy = [~hub.hub.idle]
        for n, cab in enumerate(self._cabs):
            m.submodules[f"cab_{n}"] = cab
            port = getattr(hub, f"line_{n}")
            m.d.comb += [port.rx.eq(cab.line_0.tx), cab.line_0.rx.eq(port.tx), cab.uart.rx.eq(self.rx[n])]
            busy.append(cab.cable.busy)
        m.d.comb += [
            self.tx.eq(Cat(cab.uart.tx for cab in self._cabs)),
            self.lost.eq(Cat(cab.leds[2] for cab in self._cabs)),
            self.busy.eq(Cat(busy).any()),
        ]
        return m
