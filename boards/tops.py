"""The tops by name: what they are, what makes them, what may be chosen."""

from dataclasses import dataclass

from .interface import BoardInterface

__all__ = ["TOPS", "Top", "make"]


@dataclass(frozen=True)
class Top:
    """``purpose`` in a few words; ``make(interface, **parameters)`` gives the component; ``defaults``: its parameters
    with
    their values by default;
    ``crowded``: it is hard to route, and built as ``Flow.crowded`` says."""

    purpose: str
    make: object
    defaults: dict
    crowded: bool = False


def _hub(interface, **parameters):
    from .hub import HubTop

    return HubTop(interface, **parameters)


def _cab(interface, **parameters):
    from .cab import CabTop

    return CabTop(interface, **parameters)


def _selftest(interface, **parameters):
    from .selftest import SelftestTop

    return SelftestTop(interface, **parameters)


def _cluster(interface, **parameters):
    from .cluster import ClusterTop

    return ClusterTop(interface, **parameters)


#: Name → Top.
TOPS = {
    "hub": Top(
        "a HUB with its ports on the board's connectors",
        _hub,
        {"ports": 8, "profile": "modern", "phy": "serial", "hub_id": 1},
    ),
    "cab": Top(
        "a CAB with a fiber on the connectors, whose software runs on a computer at the board's serial line",
        _cab,
        {"phy": "serial", "data_bytes": 32768, "baud": 1_000_000},
    ),
    "selftest": Top(
        "a HUB with traffic from all ports to all others, which is checked: lights for passed and failed",
        _selftest,
        {"ports": 4, "profile": "modern", "hub_id": 1},
    ),
    "cluster": Top(
        "a HUB with CABs whose software runs on a computer at the board's serial line",
        _cluster,
        {"cabs": 4, "profile": "modern", "hub_id": 1, "data_bytes": 32768, "baud": 1_000_000},
        crowded=True,
    ),
}


def make(name, interface=BoardInterface(), **parameters):
    """The top called ``name`` for a board. Raises ValueError or TypeError for what there is not."""
    if name not in TOPS:
        raise ValueError(f"there is no top {name!r}; there are {', '.join(TOPS)}")
    top = TOPS[name]
    for parameter in parameters:
        if parameter not in top.defaults:
            raise TypeError(
                f"the top {name} has no {parameter.replace('_', ' ')} to choose; it has {', '.join(top.defaults)}"
            )
    return top.make(interface, **{**top.defaults, **parameters})
