"""Draws a topology, and tells its routes: as text, or with -o FILE.svg as a picture. docs/engine.md lists the names."""

from .errors import DONE, UsageError
from .machines import VALUES, machine_named
from .results import Result, add_json_option, check_apart, check_target, save, save_json
from .shapes import shapes_of

HELP = "draw a topology; tell its routes, diameter and bisection"


def configure(parser):
    """Options of ``nectar topology``."""
    parser.usage = "nectar topology NAME [options]"
    parser.add_argument(
        "name", metavar="NAME", help="a built-in shape, as mesh:4x4 or torus:3x3x2, or a .toml or .py file"
    )
    parser.add_argument("--machine", **VALUES["--machine"])
    parser.add_argument("-o", dest="output", metavar="FILE.svg", help="write a drawing to FILE.svg")
    parser.add_argument(
        "--from", dest="source", metavar="CAB", help="list the routes from this CAB, or from all (default: the first)"
    )
    add_json_option(parser)


def _listed_routes(shapes, topology, routes, source):
    """(source, destination, hops) of the routes to list."""
    if source not in (*routes, None, "all"):
        raise UsageError(
            f"--from {source}: there is no such {shapes.COMPUTER} in {topology.name}; there are {_listed(routes)}; "
            f"or: all"
        )
    listed = routes if source == "all" else [source or next(iter(routes))]
    return [(here, there, hops) for here in listed for there, hops in routes[here].items()]


def _listed(names):
    names = list(names)
    return ", ".join(names if len(names) <= 8 else [*names[:3], "…", names[-1]])


def execute(options):
    """Draws; tells figures and routes."""
    check_target("-o", options.output)
    check_target("--json", options.json)
    check_apart([("-o", options.output), ("--json", options.json)])
    if options.output is not None and not options.output.endswith(".svg") and not options.output.startswith("/dev/"):
        raise UsageError(f"-o {options.output}: the drawing is an SVG; let the name end in .svg")
    machine = machine_named(options.machine)
    shapes = shapes_of(machine)
    topology = machine.topology(options.name)
    routes = shapes.routes(topology)
    listed = _listed_routes(shapes, topology, routes, options.source)
    figures = shapes.figures(topology, routes)
    if options.output is None:
        print(topology.name, *shapes.as_text(topology), sep="\n")
    else:
        try:
            save(options.output, shapes.as_svg(topology).encode())
        except OSError as error:
            raise UsageError(f"-o {options.output} cannot be written: {error.strerror}") from error
        print(f"{options.output}: {topology.name}")
    print(*shapes.told(topology, figures), sep="\n")
    if listed:
        print(f"routes, {shapes.HOPS}:")
    for here, there, hops in listed:
        print(f"  {here} -> {there}: {' '.join(shapes.hop(topology, hop) for hop in hops)}")
    save_json(
        options.json,
        [
            *figures,
            *(
                Result(f"route.{here}.{there}", len(hops), shapes.HOP, more={"hops": [list(hop) for hop in hops]})
                for here, there, hops in listed
            ),
        ],
    )
    return DONE
