"""Which files of the project a file depends on: by its imports, anywhere in it, and by the modules that it names in
strings."""

import ast
import functools
import re
from pathlib import Path

__all__ = ["HARNESS", "HOUSE", "ROOT", "closure", "dependencies", "imported", "steps_to", "tree"]

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
            for far in _further(near, also, followed=near == path) - steps.keys():
                steps[far] = steps[near] + 1
                reached.append(far)
        edge = reached
    return steps


def _further(path, also, followed=False):
    """Files one step away from ``path``; ``followed``: though it is what benches are run by."""
    further = frozenset(also.get(path, ())) if also else frozenset()
    return further | dependencies(path) if path.suffix == ".py" and (followed or path not in HARNESS) else further


def steps_to(wanted, starts, also=None):
    """File → how many steps away the nearest of the files ``wanted`` is, as ``closure`` counts them; for those of
    ``starts`` that depend on one, and for what is between."""
    users, seen, edge = {}, set(), [*starts]
    while edge:
        near = edge.pop()
        if near not in seen:
            seen.add(near)
            for far in _further(near, also):
                users.setdefault(far, []).append(near)
                edge.append(far)
    steps, edge = dict.fromkeys(wanted, 0), [*wanted]
    while edge:
        reached = []
        for far in edge:
            for near in users.get(far, ()):
                if near not in steps:
                    steps[near] = steps[far] + 1
                    reached.append(near)
        edge = reached
    return steps
