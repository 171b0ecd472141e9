"""Profiles of a system: which RTL its boards have and how fast their clocks are.

Plain Python that imports nothing of the hardware. Source: "The Design of Nectar" (1989), section 4 (HUB cycle of 70 ns,
fibers of 100 Mbit/s) and 5.2 (CPU at 16 MHz). ``modern`` is ours: clocks that an ECP5 of today is to reach (HUB 100
MHz, CAB 80 MHz), and fibers of one symbol a CAB cycle (640 Mbit/s).
"""

from dataclasses import dataclass

__all__ = ["Profile", "PROTOTYPE", "MODERN", "PROFILES", "profile"]


@dataclass(frozen=True)
class Profile:
    """Speeds of the boards and of the fibers between them.

    Parameters
    ----------
    name : str
        What users type.
    hub_profile : str
        Name of the HUB's own profile (``nectar.hdl.hub.profile``): how many registers stand in a symbol's way.
    hub_period_ps, cab_period_ps : int
        Clock periods in picoseconds. The CAB's CPU, memory and fiber port have one clock.
    symbol_ps : int
        Time of one symbol on a fiber, in picoseconds, where the fiber itself does not say otherwise.
    """

    name: str
    hub_profile: str = "prototype"
    hub_period_ps: int = 70_000
    cab_period_ps: int = 62_500
    symbol_ps: int = 80_000

    @property
    def cpu_period_ps(self):
        """``cab_period_ps``, by the name that profiles of all machines have."""
        return self.cab_period_ps

    @property
    def switch_period_ps(self):
        """``hub_period_ps``, likewise."""
        return self.hub_period_ps

    @property
    def cpu_hz(self):
        """Cycles per second of a CAB's CPU."""
        return 1e12 / self.cab_period_ps


PROTOTYPE = Profile("prototype")
MODERN = Profile("modern", "modern", hub_period_ps=10_000, cab_period_ps=12_500, symbol_ps=12_500)

PROFILES = {p.name: p for p in (PROTOTYPE, MODERN)}


def profile(name):
    """The profile called ``name``; ValueError, with the names that there are, for any other."""
    if name not in PROFILES:
        raise ValueError(f"there is no profile {name!r}; there is {', '.join(sorted(PROFILES))}")
    return PROFILES[name]
