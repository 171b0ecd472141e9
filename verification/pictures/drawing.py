"""A small SVG writer: boxes, lines, arrows and words, in colours that follow the reader's light or dark mode.

A drawing measures its own words. ``collisions`` names words that touch each other or leave the picture, so that a test
finds a picture that nobody can read.
"""

from dataclasses import dataclass
from xml.sax.saxutils import escape

__all__ = ["Drawing", "PALETTES", "width_of"]

#: Colours by name: for light and for dark mode. A name with "-line" is the border and the text of the other.
PALETTES = {
    "light": {
        "paper": "#ffffff",
        "ink": "#1f2328",
        "soft": "#59636e",
        "rule": "#d8dee4",
        "box": "#f3f5f8",
        "data": "#ddf0ff",
        "data-line": "#0a5cb8",
        "frame": "#e4e8ed",
        "frame-line": "#3d444d",
        "command": "#ffecdb",
        "command-line": "#9a3c00",
        "reply": "#f4e8ff",
        "reply-line": "#6b3fbf",
        "ready": "#d9f7e0",
        "ready-line": "#116329",
    },
    "dark": {
        "paper": "#12161c",
        "ink": "#e8edf2",
        "soft": "#a3adb8",
        "rule": "#333b45",
        "box": "#1d242d",
        "data": "#0e2f52",
        "data-line": "#8cc4ff",
        "frame": "#323a44",
        "frame-line": "#c9d1d9",
        "command": "#4a2409",
        "command-line": "#ffb77c",
        "reply": "#33215a",
        "reply-line": "#d3b8ff",
        "ready": "#123d1e",
        "ready-line": "#7ee08f",
    },
}
#: Of an em: characters that are not as wide as most. The widths are those of a wide font, so that words fit in others.
_NARROW = {**dict.fromkeys("fijlrtI.,:;|!'()[]/ ", 0.38), **dict.fromkeys("mwMW@→↔", 0.98)}
_MARGIN = 16


def width_of(text, size, mono=False):
    """Pixels that ``text`` takes at most, in letters of ``size`` pixels."""
    if mono:
        return 0.61 * size * len(text)
    return size * sum(_NARROW.get(letter, 0.68 if letter.isupper() else 0.62) for letter in text)


def _n(value):
    """A coordinate as text."""
    return f"{value:.1f}".removesuffix(".0")


def _variables(mode):
    return "".join(f"--{name}:{colour};" for name, colour in PALETTES[mode].items())


#: By the reader's settings; within a page that has a switch, by this switch (``data-theme``).
_STYLE = (
    f".picture,[data-theme=light] .picture{{{_variables('light')}}}\n"
    f"@media (prefers-color-scheme:dark){{.picture{{{_variables('dark')}}}}}\n"
    f"[data-theme=dark] .picture{{{_variables('dark')}}}\n"
    '.picture text{font-family:"Segoe UI","Helvetica Neue",Arial,"DejaVu Sans",sans-serif;white-space:pre}\n'
    '.picture text.mono{font-family:Consolas,Menlo,"DejaVu Sans Mono",monospace}\n'
)


@dataclass(frozen=True)
class _Place:
    """Where words stand."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    def touches(self, other):
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


class Drawing:
    """A picture in the making.

    Parameters
    ----------
    name : str
        Name of the file without its suffix; letters, digits and ``-``.
    title, description : str
        For those who cannot see it: what it is, in a line; what it shows, in sentences.
    width : float
        Pixels. The height follows from what is drawn.
    """

    def __init__(self, name, title, description, width):
        self.name = name
        self.title = title
        self.description = description
        self.width = width
        self._bottom = 0.0
        self._parts = []
        self._words = []

    def _reach(self, y):
        self._bottom = max(self._bottom, y)

    def words(self, x, y, text, size=13, colour="ink", anchor="start", bold=False, mono=False):
        """Words with their base line at ``y``; ``anchor``: ``start``, ``middle`` or ``end``. ``mono``: as code."""
        taken = width_of(text, size, mono)
        left = {"start": x, "middle": x - taken / 2, "end": x - taken}[anchor]
        self._words.append(_Place(text, left, y - 0.75 * size, left + taken, y + 0.2 * size))
        self._reach(y + 0.3 * size)
        more = ' class="mono"' * mono + ' font-weight="600"' * bold
        if anchor != "start":
            more += f' text-anchor="{anchor}"'
        self._parts.append(
            f'<text x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}" fill="var(--{colour})"{more}>{escape(text)}</text>'
        )

    def box(self, x, y, width, height, fill="box", line="soft", corner=5, dashed=False):
        """A rectangle; ``fill`` and ``line`` are names of colours, or ``none``."""
        self._reach(y + height)
        paint = ("none" if name == "none" else f"var(--{name})" for name in (fill, line))
        more = ' stroke-dasharray="6 4"' * dashed
        self._parts.append(
            '<rect x="{}" y="{}" width="{}" height="{}" rx="{}" fill="{}" stroke="{}"{}/>'.format(
                *map(_n, (x, y, width, height, corner)), *paint, more
            )
        )

    def line(self, points, colour="ink", thick=1.2, dashed=False, head=False, tail=False):
        """A line through ``points``; ``head`` and ``tail``: with an arrow at its end, at its beginning."""
        points = list(points)
        for _, y in points:
            self._reach(y)
        if head:
            self._arrow(points[-2], points[-1], colour)
        if tail:
            self._arrow(points[1], points[0], colour)
        path = "M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
        more = ' stroke-dasharray="4 3"' * dashed
        self._parts.append(f'<path d="{path}" fill="none" stroke="var(--{colour})" stroke-width="{_n(thick)}"{more}/>')

    def _arrow(self, before, point, colour):
        """The head of an arrow that comes from ``before`` and ends at ``point``."""
        (x0, y0), (x, y) = before, point
        length = ((x - x0) ** 2 + (y - y0) ** 2) ** 0.5
        dx, dy = (x - x0) / length, (y - y0) / length
        corners = ((x, y), *((x - 9 * dx + side * dy, y - 9 * dy - side * dx) for side in (4, -4)))
        path = "L".join(f"{_n(a)} {_n(b)}" for a, b in corners)
        self._parts.append(f'<path d="M{path}Z" fill="var(--{colour})"/>')

    def collisions(self):
        """What cannot be read: pairs of words that touch, words that leave the picture."""
        found = [
            (one.text, other.text)
            for number, one in enumerate(self._words)
            for other in self._words[:number]
            if one.touches(other)
        ]
        return found + [(word.text, "edge") for word in self._words if word.left < 0 or word.right > self.width]

    def svg(self):
        """The file's text."""
        size = f"{_n(self.width)} {_n(self._bottom + _MARGIN)}"
        width, height = size.split()
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" role="img" viewBox="0 0 {size}" '
                f'width="{width}" height="{height}" aria-labelledby="{self.name}-title {self.name}-text">',
                f'<title id="{self.name}-title">{escape(self.title)}</title>',
                f'<desc id="{self.name}-text">{escape(self.description)}</desc>',
                f"<style>\n{_STYLE}</style>",
                f'<rect width="{width}" height="{height}" rx="8" fill="var(--paper)"/>',
                *self._parts,
                "</svg>\n",
            ]
        )
