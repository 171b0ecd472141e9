"""Drawings of a topology: as SVG, and as text for a terminal."""

from types import SimpleNamespace
from xml.sax.saxutils import escape

from .layout import layout

__all__ = ["as_svg", "as_text", "cube_as_svg"]

#: Pixels between neighbouring HUBs, and around the drawing.
_UNIT, _MARGIN = 150, 60
#: Half the width and half the height of the boxes of HUBs and CABs, in pixels.
_HUB, _CAB = (30, 16), (21, 11)
#: From a node of a cube to its neighbour in each dimension; a little aslant, so that no line hides another.
_STEPS = (1.0, 0.06), (0.06, 1.0), (0.42, 0.36), (2.3, -0.4), (-0.4, 2.3), (0.9, 5.2), (5.2, 0.9)

_STYLE = """\
svg { font: 12px sans-serif; }
.fiber { stroke: #777; stroke-width: 1.5; fill: none; }
.hub { fill: #cfe3f7; stroke: #2a5d8f; stroke-width: 1.5; }
.cab { fill: #f6e7c8; stroke: #97701f; }
text { text-anchor: middle; dominant-baseline: central; fill: #111; }
.cabs text { font-size: 10px; }
@media (prefers-color-scheme: dark) {
  .fiber { stroke: #999; }
  .hub { fill: #1d3b57; stroke: #7db2e4; }
  .cab { fill: #4a3a17; stroke: #d9b25f; }
  text { fill: #eee; }
}"""


def as_svg(topology):
    """The topology as the text of an SVG file: HUBs and CABs as boxes, a line for each pair of fibers. A line or a box
    that the mouse points at tells its ends or its number; so do screen readers."""
    return _picture(
        f"{topology.name}; HUBs: {len(topology.hubs)}, CABs: {len(topology.cabs)}",
        [(fiber.a.board, fiber.b.board, str(fiber)) for fiber in topology.fibers],
        [("hub", topology.hubs, *_HUB), ("cab", topology.cabs, *_CAB)],
        layout(topology),
    )


def cube_as_svg(name, nodes, links):
    """The same of a cube: its ``name``; name → number of each node; (name, name, what it is called) of each link."""
    places = {
        node: tuple(sum(step[axis] for k, step in enumerate(_STEPS) if number >> k & 1) for axis in (0, 1))
        for node, number in nodes.items()
    }
    boards = {node: SimpleNamespace(id=number) for node, number in nodes.items()}
    return _picture(f"{name}; nodes: {len(nodes)}", links, [("cab", boards, *_CAB)], places)


def _picture(title, links, boards, places):
    """The text of an SVG file.

    ``links``: (board, board, what it is called) of each line. ``boards``: for each kind its class in the style, {name:
    board with an ``id``}, half of the width and of the height of its boxes. ``places``: board → (x, y)."""
    places = _pixels(places)
    width = round(max(x for x, _ in places.values()) + _MARGIN)
    height = round(max(y for _, y in places.values()) + _MARGIN)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img">',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape('; '.join(called for *_, called in links))}</desc>",
        f"<style>\n{_STYLE}\n</style>",
        *_fibers(links, places),
        *(line for kind, of, *size in boards for line in _boxes(kind, of, places, *size)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _pixels(places):
    left, top = (min(place[axis] for place in places.values()) for axis in (0, 1))
    return {
        name: (round((x - left) * _UNIT + _MARGIN, 1), round((y - top) * _UNIT + _MARGIN, 1))
        for name, (x, y) in places.items()
    }


def _fibers(links, places):
    """A line for each pair of fibers; bent, if several join the same boards."""
    count = {}
    yield '<g class="fibers">'
    for a, b, called in links:
        (x1, y1), (x2, y2) = places[a], places[b]
        pair = frozenset((a, b))
        number = count[pair] = count.get(pair, -1) + 1
        bend = 0.16 * ((number + 1) // 2) * (-1) ** number * (1 if a < b else -1)
        middle = (x1 + x2) / 2 - bend * (y2 - y1), (y1 + y2) / 2 + bend * (x2 - x1)
        if a == b:  # a loop
            path = f"M {x1} {y1} c -40 -70 40 -70 0 0"
        else:
            path = f"M {x1} {y1} Q {middle[0]:.1f} {middle[1]:.1f} {x2} {y2}"
        yield f'<path class="fiber" d="{path}"><title>{escape(called)}</title></path>'
    yield "</g>"


def _boxes(kind, boards, places, width, height):
    yield f'<g class="{kind}s">'
    for name, board in boards.items():
        x, y = places[name]
        label = escape(name)
        half = max(width, 3.4 * len(name) + 4)
        yield (
            f'<g><title>{label}, ID {board.id}</title><rect class="{kind}" x="{x - half:.1f}" y="{y - height}" '
            f'width="{2 * half:.1f}" height="{2 * height}" rx="4"/><text x="{x}" y="{y}">{label}</text></g>'
        )
    yield "</g>"


def as_text(topology):
    """The topology as lines of text: each HUB with what hangs on its ports; then CABs that are joined without a HUB."""
    lines = []
    for name, board in topology.hubs.items():
        lines.append(f"{name} (ID {board.id}, {board.ports} ports)")
        row = "   "
        for port, there in topology.neighbours(name):
            item = f" P{port} {'--' if there.board in topology.cabs else '=='} {there}"
            if len(row) + len(item) > 100:
                lines.append(row)
                row = "   "
            row += item + " "
        lines.append(row.rstrip() or "    nothing on its ports")
    for name in topology.cabs:
        _, there = topology.neighbours(name)[0]
        if there.board in topology.cabs and name < there.board:
            lines.append(f"{name} -- {there.board}")
    return [line.rstrip() for line in lines]
