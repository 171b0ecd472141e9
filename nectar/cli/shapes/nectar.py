"""What ``nectar topology`` tells of HUBs, CABs and fibers."""

from ...sim.bisection import bisection
from ...sim.drawing import as_svg, as_text
from ...sim.layout import distances
from ...software.datalink.routes import named_routes
from ..results import Result
from . import counted

__all__ = ["COMPUTER", "HOP", "HOPS", "as_svg", "as_text", "figures", "hop", "routes", "told"]

COMPUTER, HOP, HOPS = "CAB", "HUB", "each HUB with its output"


def routes(topology):
    """{CAB: {CAB: [(HUB ID, output)]}}."""
    return named_routes(topology)


def hop(topology, hop):
    """``HUB1.P3``."""
    number, port = hop
    return f"{next(board.name for board in topology.hubs.values() if board.id == number)}.P{port}"


def figures(topology, routes):
    """What is told of the whole."""
    home = {cab: topology.neighbours(cab)[0][1].board for cab in topology.cabs}
    homes = [hub for hub in topology.hubs if hub in home.values()]
    far = {hub: distances(topology, hub) for hub in homes}
    diameter = max((far[a][b] + 1 for a in homes for b in homes if a in topology.hubs), default=0)
    lengths = [len(hops) for row in routes.values() for hops in row.values()]
    between = sum(fiber.a.port is not None and fiber.b.port is not None for fiber in topology.fibers)
    return [
        Result("hubs", len(topology.hubs)),
        Result("cabs", len(topology.cabs)),
        Result("fibers", len(topology.fibers), "pair", more={"between_hubs": between}),
        Result("diameter", diameter, "HUB"),
        Result("longest_route", max(lengths, default=0), "HUB"),
        Result("mean_route", round(sum(lengths) / len(lengths), 3) if lengths else 0, "HUB"),
        Result("bisection", bisection(topology), "pair"),
    ]


def told(topology, figures):
    """The figures, a line each."""
    value = {result.id: result.value for result in figures}
    between = figures[2].more["between_hubs"]
    pairs = counted(value["fibers"], "pair of fibers", "pairs of fibers")
    yield f"{counted(value['hubs'], 'HUB')}, {counted(value['cabs'], 'CAB')}, {pairs}, {between} between HUBs"
    yield f"diameter: {counted(value['diameter'], 'HUB')} on the shortest way between the CABs farthest apart"
    yield f"routes: {counted(value['longest_route'], 'HUB')} at most, {value['mean_route']:.2f} in the mean"
    pairs = counted(value["bisection"], "pair of fibers joins", "pairs of fibers join")
    yield f"bisection: {pairs} two halves of the CABs (the least found)"
