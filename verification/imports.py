"""Which files of the project a file depends on: by its imports, anywhere in it, and by the modules that it names in
strings."""

import ast
import functools
import re
from pathlib import Path

__all__ = ["HARNESS", "HOUSE", "ROOT", "closure", "dependencies", "imported", "tree"]

ROOT = Path(__file__).resolve().parent.parent
#: Folder → package, as pyproject.toml maps them.
HOUSE = {
    "hdl": "nectar.hdl",
    "sim": "nectar.sim",
    "software": "nectar.software",
    "verification": "nectar.verification",
    "boards": "nectar.boards",
    "nectar": "nectar",
}
#: What benches and proofs are run by.
HARNESS = frozenset(
    ROOT / "verification" / name
    for name in ("conftest.py", "bench.py", "simulation.py", "models.py", "seeds.py", "schedule.py")
)
_NAME = re.compile(r"nectar(?:\.\w+)+")


@functools.cache
def tree(path):
    """The syntax tree of a file."""
    return ast.parse(path.read_text(), str(path.relative_to(ROOT)))


@functools.cache
def imported(path):
    """Absolute names of the modules that the file imports, and of what it takes from them, anywhere in it: a tuple."""
    relative = path.relative_to(ROOT)
    package = HOUSE.get(relative.parts[0], relative.parts[0]).split(".") + list(relative.parts[1:-1])
    names = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names += (item.name for item in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join(base + ([node.module] if node.module else []))
            names += [base, *(f"{base}.{item.name}" for item in node.names)]
    return tuple(names)


@functools.cache
def _files():
    """Module name → file, of all of the house."""
    found = {}
    for folder, package in HOUSE.items():
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join([package, *(parts[:-1] if parts[-1] == "__init__" else parts)])] = path
    return found


@functools.cache
def dependencies(path):
    """Files of the house that the file imports or names, each with the ``__init__.py`` files of its packages: a
    frozenset."""
    known, found = _files(), set()
    for name in {*imported(path), *_NAME.findall(path.read_text())}:
        while "." in name or name in known:
            if name in known:
                found.add(known[name])
            name = name.rpartition(".")[0]
    return frozenset(found - {path})


def closure(path, also=None):
    """The file, and all files of the house that it depends on, directly or not: Path → how many steps away.

    What a bench is run by is named, but not followed: it depends on the engine's build, and so on all boards. ``also``:
    Path → further files that it depends on.
    """
    steps, edge = {path: 0}, [path]
    while edge:
        reached = []
        for near in edge:
            further = set(also.get(near, ())) if also else set()
            if near.suffix == ".py" and (near not in HARNESS or near == path):
                further |= dependencies(near)
            for far in further - steps.keys():
                steps[far] = steps[near] + 1
                reached.append(far)
        edge = reached
    return steps
