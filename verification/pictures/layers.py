"""The layers of the software, from what its packages import of each other, with the words of their docstrings."""

import ast
import re

from ..imports import HOUSE, ROOT, imported, tree
from .drawing import Drawing, width_of

__all__ = ["packages", "software"]

_WIDTH, _LEFT, _GAP, _STEP = 860, 16, 18, 34
_SOFTWARE = ROOT / "software"
_DOOR = "door"
_BACKENDS = "backends"


def _packages(folder):
    return sorted(path.parent for path in folder.glob("*/__init__.py"))


def _files(package):
    return [package.with_suffix(".py")] if package.name == _DOOR else sorted(package.rglob("*.py"))


def packages():
    """{package of ``software``: set of those that it imports}, the module ``door`` among them, back ends left out."""
    folders = [path for path in _packages(_SOFTWARE) if path.name != _BACKENDS] + [_SOFTWARE / _DOOR]
    names = {f"{HOUSE['software']}.{path.name}": path.name for path in folders}
    return {
        path.name: {
            other
            for file in _files(path)
            for module in imported(file)
            for name, other in names.items()
            if other != path.name and (module == name or module.startswith(f"{name}."))
        }
        for path in folders
    }


def _levels(uses):
    """Lists of packages, the lowest first: each uses one of the level below, and none of its own or above."""
    level = {}
    while len(level) < len(uses):
        ready = {name for name in uses.keys() - level.keys() if uses[name] <= level.keys()}
        if not ready:
            raise ValueError(f"packages import each other in a circle: {sorted(uses.keys() - level.keys())}")
        level |= {name: 1 + max((level[other] for other in uses[name]), default=-1) for name in ready}
    return [sorted(name for name in uses if level[name] == number) for number in range(max(level.values()) + 1)]


def _words(path):
    """What a docstring says of a package behind the colon, in a phrase."""
    first = " ".join(ast.get_docstring(tree(path)).split("\n\n")[0].split())
    return re.split(r"\. |\.$| \(|;", first.partition(": ")[2] or first)[0]


def _wrapped(text, size, width):
    """``text`` in lines of at most ``width`` pixels."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _row(picture, y, boxes, kind):
    """Draws {name: words} side by side; returns {name: (left, right)} and the bottom of the row."""
    width = (_WIDTH - 2 * _LEFT - _GAP * (len(boxes) - 1)) / len(boxes)
    lines = {name: _wrapped(text, 11, width - 16) for name, text in boxes.items()}
    high = 30 + 15 * max(map(len, lines.values()))
    places = {}
    for number, name in enumerate(boxes):
        left = _LEFT + number * (width + _GAP)
        picture.box(left, y, width, high, kind, f"{kind}-line")
        picture.words(left + width / 2, y + 19, name, 12, anchor="middle", bold=True)
        for count, line in enumerate(lines[name]):
            picture.words(left + width / 2, y + 36 + 15 * count, line, 11, "soft", "middle")
        places[name] = (left, left + width)
    return places, y + high


def _down(picture, upper, lower, y, end):
    """An arrow from a box to one below it."""
    x = (upper[0] + upper[1]) / 2
    to = min(max(x, lower[0] + 20), lower[1] - 20)
    middle = (y + end) / 2
    picture.line(
        [(x, y), (x, end)] if to == x else [(x, y), (x, middle), (to, middle), (to, end)], "ink", 1.3, head=True
    )


def software():
    """docs/software.md."""
    uses = packages()
    levels = _levels(uses)
    words = {
        name: _words(_SOFTWARE / f"{name}.py" if name == _DOOR else _SOFTWARE / name / "__init__.py") for name in uses
    }
    order = "; ".join(", ".join(names) for names in reversed(levels))
    picture = Drawing(
        "block-software",
        "Layers of the software",
        f"The packages of nectar.software, from top to bottom: {order}. Each uses packages of the row below, and "
        f"none of its own row or above. Below the door are the back ends, which run the boards.",
        _WIDTH,
    )
    picture.words(16, 26, picture.title, size=14, bold=True)
    y, upper = 44, {}
    for names in reversed(levels):
        places, bottom = _row(picture, y, {name: words[name] for name in names}, "data")
        for name, place in upper.items():
            for other in sorted(uses[name] & places.keys()):
                _down(picture, place, places[other], y - _STEP, y)
        upper, y = places, bottom + _STEP
    backends = {path.name: _words(path / "__init__.py") for path in _packages(_SOFTWARE / _BACKENDS)}
    places, _ = _row(picture, y, backends, "command")
    for left, right in places.values():
        middle = (left + right) / 2
        picture.line([(middle, y), (middle, y - _STEP)], "ink", 1.3, head=True)
    return picture
