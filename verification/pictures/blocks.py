"""Block diagrams: boxes at given places, arrows between them, both checked against the RTL that they show.

A box names a part or a port, an arrow goes from a driver to what it drives. A part that is not there, a part that is
drawn nowhere, or an arrow that the RTL does not have is a DiagramError: so a change of the design finds its picture.
"""

from dataclasses import dataclass

from .drawing import Drawing, width_of

__all__ = ["Arrow", "Block", "DiagramError", "check", "draw"]


class DiagramError(Exception):
    """A block diagram does not show the design."""


@dataclass(frozen=True)
class Block:
    """A box. ``part``: its name in the design; ``words``: its lines, the first in bold; corner, width, height.

    ``kind``: ``part``, ``pin`` (a port), ``many`` (one for each port of the board) or ``frame`` (a box around others).
    """

    part: str
    words: str
    x: float
    y: float
    width: float
    height: float
    kind: str = "part"

    @property
    def right(self):
        return self.x + self.width

    @property
    def bottom(self):
        return self.y + self.height


@dataclass(frozen=True)
class Arrow:
    """From the block with key ``driver`` to ``driven``.

    route : str
        ``h`` and ``v``: straight. ``vh``: with a corner, vertical first.
    label : str
        What goes this way.
    at : float, optional
        y of a horizontal line, x of one that begins vertically; in the middle if not given.
    to : float, optional
        y of the horizontal piece of a line with a corner.
    both : bool
        The other way, too.
    link : tuple, optional
        (driver, driven) in the design, if not the blocks' own parts.
    """

    driver: str
    driven: str
    route: str
    label: str = ""
    at: float | None = None
    to: float | None = None
    both: bool = False
    link: tuple | None = None


def check(name, blocks, arrows, parts, links, without=()):
    """Raises DiagramError unless the blocks show ``parts`` but those in ``without``, and the arrows ``links``."""
    drawn = {block.part for block in blocks.values()}
    inside = {part for part in drawn if part and not _is_port(part)}
    if inside != set(parts) - set(without):
        raise DiagramError(f"{name}: drawn are {sorted(inside)}, there are {sorted(set(parts) - set(without))}")
    if not set(without) <= set(parts):
        raise DiagramError(f"{name}: left out are {sorted(without)}, there are {sorted(parts)}")
    for arrow in arrows:
        link = arrow.link or (blocks[arrow.driver].part, blocks[arrow.driven].part)
        for driver, driven in (link, link[::-1]) if arrow.both else (link,):
            if (driver, driven) not in links:
                raise DiagramError(f"{name}: {driver} does not drive {driven}")


def _is_port(part):
    return part.rpartition("/")[2].startswith(".")


def draw(name, title, description, width, blocks, arrows):
    """The Drawing of checked ``blocks``, {key: Block}, and ``arrows``."""
    picture = Drawing(name, title, description, width)
    picture.words(16, 26, title, size=14, bold=True)
    for block in blocks.values():
        if block.kind == "frame":
            picture.box(block.x, block.y, block.width, block.height, "none", "soft", 8, dashed=True)
            picture.words(block.x + 10, block.y + 17, block.words, 12, "soft", bold=True)
    for block in blocks.values():
        if block.kind != "frame":
            _box(picture, block)
    for arrow in arrows:
        picture.line(_path(blocks[arrow.driver], blocks[arrow.driven], arrow), "ink", 1.3, head=True, tail=arrow.both)
    for arrow in arrows:
        if arrow.label:
            _label(picture, _path(blocks[arrow.driver], blocks[arrow.driven], arrow), arrow.label)
    return picture


def _box(picture, block):
    fill, line = {"pin": ("paper", "soft"), "part": ("data", "data-line"), "many": ("data", "data-line")}[block.kind]
    if block.kind == "many":
        for shift in (6, 3):
            picture.box(block.x + shift, block.y - shift, block.width, block.height, fill, line)
    picture.box(block.x, block.y, block.width, block.height, fill, line)
    lines = block.words.split("\n")
    y = block.y + block.height / 2 + 4 - 7.5 * (len(lines) - 1)
    for number, text in enumerate(lines):
        picture.words(
            block.x + block.width / 2,
            y + 15 * number,
            text,
            11 if number else 12,
            "soft" if number else "ink",
            "middle",
            bold=not number,
        )


def _label(picture, path, text):
    """Words on the longest piece of a line."""
    (x0, y0), (x1, y1) = max(zip(path, path[1:]), key=lambda piece: abs(piece[0][0] - piece[1][0]) + 0.1)
    lines = text.split("\n")
    wide = max(width_of(line, 11) for line in lines)
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    if x0 == x1:
        y -= 6 * (len(lines) - 1)
        picture.box(x - wide / 2 - 2, y - 8, wide + 4, 13 * len(lines) + 3, "paper", "none", 0)
        for number, line in enumerate(lines):
            picture.words(x, y + 4 + 13 * number, line, 11, anchor="middle")
    else:
        for number, line in enumerate(reversed(lines)):
            picture.words(x, y - 5 - 13 * number, line, 11, anchor="middle")


def _middle(low, high, other_low, other_high):
    """The middle of what two stretches have in common."""
    begin, end = max(low, other_low), min(high, other_high)
    if begin >= end:
        raise DiagramError("two boxes that a straight line joins do not face each other")
    return (begin + end) / 2


def _path(a, b, arrow):
    """The corners of an arrow's line."""
    if arrow.route == "h":
        y = arrow.at if arrow.at is not None else _middle(a.y, a.bottom, b.y, b.bottom)
        return [(a.right, y), (b.x, y)] if a.right <= b.x else [(a.x, y), (b.right, y)]
    if arrow.route == "v":
        x = arrow.at if arrow.at is not None else _middle(a.x, a.right, b.x, b.right)
        return [(x, a.bottom), (x, b.y)] if a.bottom <= b.y else [(x, a.y), (x, b.bottom)]
    return [(arrow.at, a.bottom), (arrow.at, arrow.to), (b.x if arrow.at < b.x else b.right, arrow.to)]
