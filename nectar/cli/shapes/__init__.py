"""What ``nectar topology`` tells of a machine's topologies: a module for each machine, called as it is.

Each has ``routes(topology)``: {computer: {computer: hops}}; ``hop(topology, hop)``: a hop as text;
``figures(topology, routes)``: Results of the whole; ``told(topology, figures)``: these as lines of text;
``as_text(topology)``: the topology as lines of text; ``as_svg(topology)``: the text of its picture; ``COMPUTER``,
``HOP``: what a computer is called, and what a route is counted in; ``HOPS``: what is behind the word *routes*.
"""

import importlib

__all__ = ["shapes_of"]


def shapes_of(machine):
    """The module of a Machine."""
    return importlib.import_module(f".{machine.name}", __name__)


def counted(number, thing, things=None):
    """``1 HUB``, ``2 HUBs``."""
    return f"{number} {thing if number == 1 else things or thing + 's'}"
