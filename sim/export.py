"""Writes the Verilog of a board to a file: ``python -m nectar.sim.export cab|vmecab|hub|cluster [parameters] MODULE FILE``.

Of a CAB with VME the period of its clock is given, of a HUB its ports and its profile, of a cluster what its Cluster takes, as ``cabs=2``.

A process of its own for each board, so that several are converted at once, and Amaranth is loaded only when it is needed.
"""

import sys

from ..hdl.cab.cab import Cab
from ..hdl.host.cluster import Cluster
from ..hdl.hub.hub import Hub
from ..hdl.hub.profile import HUB_PROFILES
from ..hdl.verilog import convert


def _cluster(*parameters):
    values = dict(parameter.split("=") for parameter in parameters)
    profile = HUB_PROFILES[values.pop("profile")]
    return Cluster(profile=profile, **{name: int(value) for name, value in values.items()})


_MAKERS = {
    "cab": Cab,
    "vmecab": lambda period_ps: Cab(vme=True, period_ps=int(period_ps)),
    "hub": lambda ports, profile: Hub(int(ports), HUB_PROFILES[profile]),
    "cluster": _cluster,
}


def main(board, *options):
    """See above."""
    *parameters, module, path = options
    component = _MAKERS[board](*parameters)
    with open(path, "w") as file:
        file.write(convert(component, module))


if __name__ == "__main__":
    main(*sys.argv[1:])
