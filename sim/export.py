"""Writes the Verilog of a board to a file: ``python -m nectar.sim.export cab|vmecab|hub [parameters] MODULE FILE``.

Of a CAB with VME the period of its clock is given, of a HUB its ports and its profile.

A process of its own for each board, so that several are converted at once, and Amaranth is loaded only when it is
needed."""

import sys

from ..hdl.cab.cab import Cab
from ..hdl.hub.hub import Hub
from ..hdl.hub.profile import HUB_PROFILES
from ..hdl.verilog import convert

#: Kind of board → what makes it of the parameters.
MAKERS = {
    "cab": Cab,
    "vmecab": lambda period_ps: Cab(vme=True, period_ps=int(period_ps)),
    "hub": lambda ports, profile: Hub(int(ports), HUB_PROFILES[profile]),
}


def main(makers):
    """The program, for the boards of ``makers``."""
    board, *parameters, module, path = sys.argv[1:]
    component = makers[board](*parameters)
    with open(path, "w") as file:
        file.write(convert(component, module))


if __name__ == "__main__":
    main(MAKERS)
