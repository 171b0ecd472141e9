"""Writes the Verilog of what is simulated whole to a file: ``python -m nectar.boards.export cluster|desk parameters
MODULE FILE``.

Parameters are those of Cluster and BenchSetup, as ``cabs=2``. See ``nectar.sim.export``.
"""

from ..hdl.host.cluster import Cluster
from ..hdl.hub.profile import HUB_PROFILES
from ..sim.export import main
from .bench_setup import BenchSetup


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


if __name__ == "__main__":
    main({"cluster": _cluster, "desk": _desk})
