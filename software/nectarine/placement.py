"""Which tasks run where: by a file, by the program, or in turns. Pure logic; takes no simulated time."""

import tomllib
from pathlib import Path

from ..errors import ProgramError

__all__ = ["Placement"]

_KEYS = {"function", "on", "count", "args"}


class Placement:
    """What a program or a TOML file says of tasks.

    Parameters
    ----------
    given : path, dict or None
        Path of a TOML file with tables ``[tasks.NAME]``, or the same as a dict. Keys: ``function`` (str), ``on`` (name
        of a CAB or node, or list of such names, taken in turns), ``count`` (int: tasks ``NAME.0`` to ``NAME.count-1``),
        ``args`` (list).
    cabs, nodes : list of str, list of str
        Names of all CABs, and of all nodes.
    """

    __slots__ = ("_cabs", "_places", "_tables", "_turns")

    def __init__(self, given, cabs, nodes=()):
        if isinstance(given, (str, Path)):
            try:
                given = tomllib.loads(Path(given).read_text()).get("tasks", {})
            except OSError as error:
                raise ProgramError(f"the placement {given} cannot be read: {error.strerror}") from None
            except tomllib.TOMLDecodeError as error:
                raise ProgramError(f"the placement {given} is no TOML: {error}") from None
        self._cabs = list(cabs)
        self._places = [*cabs, *nodes]
        self._tables = given or {}
        self._turns = {}  # name, or None for tasks of which nothing is said -> how many have been placed
        for name, table in self._tables.items():
            if not isinstance(table, dict) or (wrong := sorted(set(table) - _KEYS)):
                raise ProgramError(
                    f"placement of task {name}: a table with {', '.join(sorted(_KEYS))} is expected"
                    + (f", not with {', '.join(wrong)}" if isinstance(table, dict) else "")
                )
            for place in self._named(name):
                self._check(name, place)

    def tasks(self):
        """(name, name of the function, args) of each task that the file starts."""
        for name, table in self._tables.items():
            if "function" in table:
                count = table.get("count")
                names = [name] if count is None else [f"{name}.{index}" for index in range(count)]
                yield from ((each, table["function"], table.get("args", ())) for each in names)

    def place(self, name, on=None):
        """Name of the CAB or node for task ``name``; ``on``: as the program says. ProgramError if there is no such CAB
        or node."""
        if on is not None:
            self._check(name, on)
            return on
        group = name if name in self._tables else name.rpartition(".")[0]
        cabs = self._named(group)
        group = group if cabs else None
        turn = self._turns.get(group, 0)
        self._turns[group] = turn + 1
        cabs = cabs or self._cabs
        return cabs[turn % len(cabs)]

    def _named(self, name):
        on = self._tables.get(name, {}).get("on", [])
        return [on] if isinstance(on, str) else on

    def _check(self, name, place):
        if place not in self._places:
            raise ProgramError(f"task {name} is placed on {place!r}; there are: {', '.join(self._places)}")
