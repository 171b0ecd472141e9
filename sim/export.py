"""Writes the Verilog of a board to a file: ``python -m nectar.sim.export cab|vmecab|hub [period | ports profile] MODULE FILE``.

A process of its own for each board, so that several are converted at once, and Amaranth is loaded only when it is needed.
"""

import sys

from ..hdl.cab.cab import Cab
from ..hdl.hub.hub import Hub
from ..hdl.hub.profile import HUB_PROFILES
from ..hdl.verilog import convert


def main(board, *options):
    """See above."""
    *parameters, module, path = options
    if board == "hub":
        component = Hub(ports=int(parameters[0]), profile=HUB_PROFILES[parameters[1]])
    else:
        component = Cab(vme=True, period_ps=int(parameters[0])) if board == "vmecab" else Cab()
    with open(path, "w") as file:
        file.write(convert(component, module))


if __name__ == "__main__":
    main(*sys.argv[1:])
