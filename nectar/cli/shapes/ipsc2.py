"""What ``nectar topology`` tells of a cube of nodes. Routes are e-cube's: docs/ipsc2.md, "Routes"."""

from ...hdl.ipsc2.formats import probe, route
from ...sim.drawing import cube_as_svg
from ..results import Result
from . import counted

__all__ = ["COMPUTER", "HOP", "HOPS", "as_svg", "as_text", "figures", "hop", "routes", "told"]

COMPUTER, HOP, HOPS = "node", "channel", "each node with its channel"


def _way(source, destination):
    """[(node's address, channel)] from one address to another."""
    asked, here, arrived, way = probe(source, destination), source, None, []
    while (channel := route(asked, arrived)) is not None:
        way.append((here, channel))
        here, arrived = here ^ 1 << channel, channel
    return way


def routes(topology):
    """{node: {node: [(address, channel)]}}."""
    nodes = topology.computers.values()
    return {here.name: {there.name: _way(here.id, there.id) for there in nodes if there is not here} for here in nodes}


def hop(topology, hop):
    """``NODE1.C0``."""
    number, channel = hop
    return f"NODE{number}.C{channel}"


def as_text(topology):
    """Each node with what its channels lead to."""
    for name, node in topology.computers.items():
        ends = (f"C{k} == NODE{node.id ^ 1 << k}" for k in range(topology.dimensions))
        yield f"{name}  {'  '.join(ends)}"


def as_svg(topology):
    """The cube as a picture; a link tells its ends to the mouse that points at it, as NODE0.C2 - NODE4.C2."""
    links = [
        (link.a.board, link.b.board, " - ".join(f"{end.board}.C{end.port}" for end in (link.a, link.b)))
        for link in topology.fibers
    ]
    return cube_as_svg(topology.name, {name: node.id for name, node in topology.computers.items()}, links)


def figures(topology, routes):
    """What is told of the whole."""
    lengths = [len(hops) for row in routes.values() for hops in row.values()]
    return [
        Result("nodes", len(topology.computers)),
        Result("links", len(topology.fibers), "link"),
        Result("diameter", topology.dimensions, "channel"),
        Result("longest_route", max(lengths), "channel"),
        Result("mean_route", round(sum(lengths) / len(lengths), 3), "channel"),
        Result("bisection", len(topology.computers) // 2, "link"),
    ]


def told(topology, figures):
    """The figures, a line each."""
    value = {result.id: result.value for result in figures}
    yield f"{value['nodes']} nodes, {counted(value['links'], 'link')}"
    yield f"diameter: {counted(value['diameter'], 'channel')} on the way between the nodes farthest apart"
    yield f"routes: {counted(value['longest_route'], 'channel')} at most, {value['mean_route']:.2f} in the mean"
    joined = counted(value["bisection"], "link joins", "links join")
    yield f"bisection: {joined} two halves of the nodes"
