"""A HUB on a board: each port a fiber on the board's connectors.

Source: ours; the HUB is that of "The Design of Nectar" (1989), section 4. ``docs/boards.md`` tells how to wire it.
"""

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out, connect, flipped

from ..hdl.hub.hub import Hub
from ..hdl.hub.profile import HUB_PROFILES
from ..hdl.link.symbol import ANY_HUB
from .fiber import Fiber
from .interface import BoardInterface
from .led_stretcher import LedStretcher

__all__ = ["HubTop", "check_hub_id", "hub_profile"]


def hub_profile(name):
    """The HubProfile called ``name``; ValueError for any other."""
    if name not in HUB_PROFILES:
        raise ValueError(f"a HUB has no profile {name!r}; there are {', '.join(HUB_PROFILES)}")
    return HUB_PROFILES[name]


def check_hub_id(hub_id):
    """Raises TypeError or ValueError if a HUB cannot have this ID."""
    if not isinstance(hub_id, int):
        raise TypeError(f"the ID of a HUB must be an integer, not {hub_id!r}")
    if not 0 <= hub_id < ANY_HUB:
        raise ValueError(f"the ID of a HUB is 0 to {ANY_HUB - 1}, not {hub_id}")


class HubTop(wiring.Component):
    """A HUB whose ports are fibers.

    Parameters
    ----------
    interface : BoardInterface
        The board.
    ports : int
        Ports, 2 to 128.
    profile : str
        Name of the HUB's profile.
    phy : str
        ``serial`` or ``parallel``, for all ports.
    hub_id : int
        ID of the HUB, 0 to 254.

    Members
    -------
    line_N : Out(line(samples)), or wires_N : Out(WIRES)
        The fiber of port N, serial or parallel.
    leds : Out(leds)
        Bit 0: something is under way in the HUB. Bit N + 1: the neighbour of port N is heard.

    Timing
    ------
    That of ``Hub`` and of ``Fiber``. Bit 0 of ``leds`` stays 1 for 2**20 cycles, so that it can be seen.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not one of those.
    """

    def __init__(self, interface=BoardInterface(), ports=8, profile="modern", phy="serial", hub_id=1):
        check_hub_id(hub_id)
        self.hub = Hub(ports=ports, profile=hub_profile(profile))
        self.hub_id = hub_id
        self.fibers = [Fiber(interface, phy) for _ in range(ports)]
        name = "line" if phy == "serial" else "wires"
        self._names = [f"{name}_{n}" for n in range(ports)]
        pins = {
            name: Out(fiber.signature.members["pins"].signature)
            for name, fiber in zip(self._names, self.fibers, strict=True)
        }
        super().__init__({**pins, "leds": Out(interface.leds)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.hub = hub = self.hub
        m.d.comb += hub.hub_id.eq(self.hub_id)
        for n, (name, fiber) in enumerate(zip(self._names, self.fibers, strict=True)):
            m.submodules[f"fiber_{n}"] = fiber
            connect(m, getattr(hub, f"port_{n}"), fiber.port)
            connect(m, flipped(getattr(self, name)), fiber.pins)
        m.submodules.busy = busy = LedStretcher()
        m.d.comb += [busy.event.eq(~hub.idle), self.leds.eq(Cat(busy.light, *(fiber.up for fiber in self.fibers)))]
        return m
