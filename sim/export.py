"""Writes the Verilog of a board to a file: ``python -m nectar.sim.export cab|vmecab|hub|cluster|desk [parameters]
MODULE FILE``.

Of a CAB with VME the period of its clock is given, of a HUB its ports and its profile, of a cluster and of a desk
what Cluster and BenchSetup take, as ``cabs=2``.

A process of its own for each board, so that several are converted at once, and Amaranth is loaded only when it is
needed."""

import sys

from ..boards.bench_setup import BenchSetup
from ..hdl.cab.cab import Cab
from ..hdl.host.cluster import Cluster
from ..hdl.hub.hub import Hub
from ..hdl.hub.profile import HUB_PROFILES
from ..hdl.verilog import convert


def _values(parameters):
    """Keyword arguments: all are numbers but the profile."""
    values = dict(parameter.split("=") for parameter in parameters)
    return values.pop("profile"), {name: int(value) for name, value in values.items()}


def _cluster(*parameters):
    profile, values = _values(parameters)
    return Cluster(profile=HUB_PROFILES[profile], **values)


def _desk(*parameters):
    profile, values = _values(parameters)
    return BenchSetup(profile=profile, **values)


_MAKERS = {
    "cab": Cab,
    "vmecab": lambda period_ps: Cab(vme=True, period_ps=int(period_ps)),
    "hub": lambda ports, profile: Hub(int(ports), HUB_PROFILES[profile]),
    "cluster": _cluster,
    "desk": _desk,
}


def main(board, *options):
    """See above."""
    *parameters, module, path = options
    component = _MAKERS[board](*parameters)
    with open(path, "w") as file:
        file.write(convert(component, module))


if __name__ == "__main__":
    main(*sys.argv[1:])
