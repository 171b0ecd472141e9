"""Profiles of the HUB: how many registers are on the way of a symbol and of a command.

Plain Python that imports nothing of the hardware. Source: "The Design of Nectar" (1989), section 4: 10
cycles for set-up and transfer, 5 for transfer. ``modern`` is ours.
"""

from dataclasses import dataclass

__all__ = ["HubProfile", "PROTOTYPE", "MODERN", "HUB_PROFILES"]


@dataclass(frozen=True)
class HubProfile:
    """Latencies of a HUB at its pins, in cycles of its clock (see ``docs/wire.md``), and the registers behind them.

    ``pipelined``: symbols and commands pass an empty input queue without entering it; the crossbar stands between the
    head of the queue and the output register, obeys registers, and has a skid buffer behind it.
    """

    name: str
    transfer: int
    setup_and_transfer: int
    pipelined: bool


PROTOTYPE = HubProfile("prototype", transfer=5, setup_and_transfer=10, pipelined=False)
MODERN = HubProfile("modern", transfer=3, setup_and_transfer=6, pipelined=True)

HUB_PROFILES = {p.name: p for p in (PROTOTYPE, MODERN)}
