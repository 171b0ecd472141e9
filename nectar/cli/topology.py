"""Draws a topology, and tells its routes: as text, or with -o FILE.svg as a picture. docs/engine.md lists the names."""

from .errors import DONE, UsageError
from .results import Result, add_json_option, check_apart, check_target, save, save_json

HELP = "draw a topology; tell its routes, diameter and bisection"


def configure(parser):
    """Options of ``nectar topology``."""
    parser.usage = "nectar topology NAME [options]"
    parser.add_argument(
        "name", metavar="NAME", help="a built-in shape, as mesh:4x4 or torus:3x3x2, or a .toml or .py file"
    )
    parser.add_argument("-o", dest="output", metavar="FILE.svg", help="write a drawing to FILE.svg")
    parser.add_argument(
        "--from", dest="source", metavar="CAB", help="list the routes from this CAB, or from all (default: the first)"
    )
    add_json_option(parser)


def _routes(topology, source):
    """(source, destination, hops) of the routes to list."""
    from ..software.datalink.routes import named_routes

    routes = named_routes(topology)
    if source not in (*routes, None, "all"):
        raise UsageError(
            f"--from {source}: there is no such CAB in {topology.name}; there are {_listed(routes)}; or: all"
        )
    listed = routes if source == "all" else [source or next(iter(routes))]
    return routes, [(here, there, hops) for here in listed for there, hops in routes[here].items()]


def _listed(names):
    names = list(names)
    return ", ".join(names if len(names) <= 8 else [*names[:3], "…", names[-1]])


def _figures(topology, routes):
    """What is told of the whole: Results."""
    from ..sim.bisection import bisection
    from ..sim.layout import distances

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


def _counted(number, thing, things=None):
    return f"{number} {thing if number == 1 else things or thing + 's'}"


def _tell(topology, figures, listed):
    value = {result.id: result.value for result in figures}
    between = figures[2].more["between_hubs"]
    names = {board.id: board.name for board in topology.hubs.values()}
    pairs = _counted(value["fibers"], "pair of fibers", "pairs of fibers")
    print(f"{_counted(value['hubs'], 'HUB')}, {_counted(value['cabs'], 'CAB')}, {pairs}, {between} between HUBs")
    print(f"diameter: {_counted(value['diameter'], 'HUB')} on the shortest way between the CABs farthest apart")
    print(f"routes: {_counted(value['longest_route'], 'HUB')} at most, {value['mean_route']:.2f} in the mean")
    pairs = _counted(value["bisection"], "pair of fibers joins", "pairs of fibers join")
    print(f"bisection: {pairs} two halves of the CABs (the least found)")
    if listed:
        print("routes, each HUB with its output:")
    for here, there, hops in listed:
        print(f"  {here} -> {there}: {' '.join(f'{names[hub]}.P{port}' for hub, port in hops)}")


def execute(options):
    """Draws; tells figures and routes."""
    from ..sim.drawing import as_svg, as_text
    from ..sim.topology import load

    check_target("-o", options.output)
    check_target("--json", options.json)
    check_apart([("-o", options.output), ("--json", options.json)])
    if options.output is not None and not options.output.endswith(".svg") and not options.output.startswith("/dev/"):
        raise UsageError(f"-o {options.output}: the drawing is an SVG; let the name end in .svg")
    topology = load(options.name)
    routes, listed = _routes(topology, options.source)
    figures = _figures(topology, routes)
    if options.output is None:
        print(topology.name, *as_text(topology), sep="\n")
    else:
        try:
            save(options.output, as_svg(topology).encode())
        except OSError as error:
            raise UsageError(f"-o {options.output} cannot be written: {error.strerror}") from error
        print(f"{options.output}: {topology.name}")
    _tell(topology, figures, listed)
    save_json(
        options.json,
        [
            *figures,
            *(
                Result(f"route.{here}.{there}", len(hops), "HUB", more={"hops": [list(hop) for hop in hops]})
                for here, there, hops in listed
            ),
        ],
    )
    return DONE
