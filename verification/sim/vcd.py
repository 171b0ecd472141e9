"""Reads VCD files, for tests: changes of the signals that are asked for."""

import re
from bisect import bisect_left

__all__ = ["Signal", "names", "read", "scopes", "strings"]


class Signal:
    """Changes of one signal: ``times`` in ps, ascending, and the ``values`` from then on."""

    def __init__(self):
        self.times = []
        self.values = []

    def before(self, time):
        """Value that an edge at ``time`` samples; 0 before the first change."""
        index = bisect_left(self.times, time)
        return self.values[index - 1] if index else 0

    def rises(self):
        """Times at which it becomes 1."""
        return [time for time, value in zip(self.times, self.values) if value == 1]


def _header(lines):
    """(full name, code) of each variable; leaves ``lines`` behind the header."""
    scope, variables = [], []
    for line in lines:
        words = line.split()
        if not words:
            continue
        if words[0] == "$scope":
            scope.append(words[2])
        elif words[0] == "$upscope":
            scope.pop()
        elif words[0] == "$var":
            variables.append((".".join([*scope, words[4]]), words[3]))
        elif words[0] == "$enddefinitions":
            break
        elif words[0] == "$timescale":
            assert "1ps" in line.replace(" ", "")
    return variables


def read(path, names):
    """{name: Signal} for dotted ``names``, such as ``CAB1.cab.board.clk``. A name that is not there raises KeyError."""
    signals = {name: Signal() for name in names}
    with open(path) as lines:
        found = dict(_header(lines))
        wanted = {}
        for name, signal in signals.items():
            wanted.setdefault(found[name], []).append(signal)
        codes = "|".join(map(re.escape, wanted))
        # Most lines are of signals that nobody asks for.
        changes = re.compile(rf"\n(?:#(\d+)|([01xz])({codes})|b([01xz]+) ({codes}))(?=\n)")
        time = 0
        for match in changes.finditer("\n" + lines.read()):
            stamp, bit, scalar, bits, vector = match.groups()
            if stamp:
                assert int(stamp) >= time, "time runs backwards"
                time = int(stamp)
                continue
            for signal in wanted[scalar or vector]:
                signal.times.append(time)
                signal.values.append(int(bit or bits, 2))
    return signals


def names(path):
    """Full names of all variables."""
    with open(path) as lines:
        return {name for name, _ in _header(lines)}


def strings(path, name):
    """[(time, text)] of the changes of a string variable; blanks are written as ``\\x20``."""
    with open(path) as lines:
        code, time, found = dict(_header(lines))[name], 0, []
        for line in lines:
            if line[0] == "#":
                time = int(line[1:])
            elif line[0] == "s" and line.split(" ")[1] == f"{code}\n":
                found.append((time, line.split(" ")[0][1:].replace("\\x20", " ")))
    return found


def scopes(path):
    """Names of the outermost scopes."""
    with open(path) as lines:
        return {name.split(".")[0] for name, _ in _header(lines)}
