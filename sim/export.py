"""Writes the Verilog of a board to a file: ``python -m nectar.sim.export KIND [parameters] MODULE FILE``.

KIND is cab, vmecab, hub or node.
Of a CAB with VME the period of its clock is given, of a HUB its ports and its profile, of a node the dimensions of its
cube and the bytes of its memory.

A process of its own for each board, so that several are converted at once, and Amaranth is loaded only when it is
needed."""

import sys

from ..hdl.cab.cab import Cab
from ..hdl.hub.hub import Hub
from ..hdl.hub.profile import HUB_PROFILES
from ..hdl.ipsc2.board import Board
from ..hdl.verilog import convert

#: Kind of board → what makes it of the parameters.
MAKERS = {
    "cab": Cab,
    "vmecab": lambda period_ps: Cab(vme=True, period_ps=int(period_ps)),
    "node": lambda dimensions, memory_bytes: Board(int(dimensions), int(memory_bytes)),
    "hub": lambda ports, profile: Hub(int(ports), HUB_PROFILES[profile]),
}


def main(makers):
    """The program, for the boards of ``makers``."""
    board, *parameters, module, path = sys.argv[1:]
    component = makers[board](*parameters)
    with open(path, "w") as file:
        file.write(convert(component, module, quickly=True))


if __name__ == "__main__":
    main(MAKERS)
