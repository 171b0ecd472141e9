"""C++ of the parts of a board: a function for each, or for the equal parts of several ports.

A function of several ports gets what belongs to the port: a structure of its variables, and a row of constants."""

import re
from collections import defaultdict
from dataclasses import dataclass

from .statements import assignments, joined, merged, runs

__all__ = ["BITS", "Code", "Function", "functions"]

#: Types of variables whose change a comparison finds; a pin's is a number of bits.
_SCALAR = re.compile(r"[CSIQ]Data(?:/.*)?|8|16|64|")
#: Marks that fit into one variable.
BITS = 64


@dataclass(eq=False)
class Function:
    """A function: the number of its first part, the port of each of its parts, the parts (Statement), and the groups of
    equal statements. A part that is of no port has the port None."""

    first: int
    ports: list
    parts: list
    groups: list

    @property
    def numbers(self):
        return range(self.first, self.first + len(self.ports))


def functions(found, before, groups, statements):
    """Functions of ``runs`` of groups; a number that is in no group is a statement by itself."""
    made, first = [], 0
    for run in found:
        # Groups of the same ports stand together as far as they can.
        inside = {n: before[n] & set(run) for n in run}
        run = [n for part in runs(run, inside, lambda n: str(sorted(groups.get(n, ())))) for n in part]
        members = [groups.get(n, {None: n}) for n in run]
        ports = sorted(set().union(*members), key=lambda port: port or 0)
        parts = [joined([statements[group[port]] for group in members if port in group]) for port in ports]
        made.append(Function(first, ports, parts, members))
        first += len(ports)
    return made


class _Table:
    """What differs between the parts of a function: a row of numbers for each."""

    def __init__(self, ports):
        self._ports = ports
        self._columns = {}  # number of the column, by {port: number}'s items

    def constant(self, numbers, end):
        """C++ text of a constant that has these ``numbers`` (texts, by port) and this end."""
        if len(set(numbers.values())) == 1:
            return next(iter(numbers.values())) + end
        column = self._columns.setdefault(tuple(sorted(numbers.items())), len(self._columns))
        return f"{'' if end == 'ULL' else '(IData)'}at[{column}]"

    def rows(self):
        """The rows: lists of texts."""
        columns = list(map(dict, self._columns))
        return [[column.get(port, "0") for column in columns] for port in self._ports]


class Code:
    """The C++ of ``functions``; ``types`` of the variables of the class ``root``."""

    def __init__(self, root, functions, types, equal):
        self.functions = functions
        self.parts, self.rows = [], []  # texts of C++, of the functions of ``text`` so far
        self._root = root
        self._equal = equal
        self._types = types | {field: types[name] for (_, name), field in equal.fields.items()}
        self._names = {(port, field): name for (port, name), field in equal.fields.items()}
        self._own = {field for (_, name), field in equal.fields.items() if field != name}
        self._readers = defaultdict(set)
        for function in functions:
            for n, part in zip(function.numbers, function.parts, strict=True):
                for name in part.needs:
                    self._readers[name].add(n)

    def text(self, function):
        """The function that evaluates a part, or each of some equal parts: its statements, and the marks for the parts
        that read what has changed."""
        table = _Table(function.ports)
        groups = []  # of variables with the same readers, as {port: readers}
        text = ""
        for ports, statements in self._pieces(function, table):
            piece = "".join(self._unit(unit, ports, groups) for unit in merged(statements))
            if len(ports) != len(function.ports):
                has = table.constant({port: str(int(port in ports)) for port in function.ports}, "U")
                piece = f"    if ({has}) {{\n{piece}    }}\n"
            text += piece
        head = "".join(f"    QData changed_{group} = 0;\n" for group in range(len(groups)))
        tail = "".join(
            f"    if (changed_{n}) {{\n{self._marks(function, group, table)}    }}\n" for n, group in enumerate(groups)
        )
        text = re.sub(
            r"\bvlSelfRef\.(\w+)", lambda match: f"port.{match[1]}" if match[1] in self._own else match[0], text
        )
        self._rows(function, table)
        return (
            f"void {self._root}___part_{function.first}({self._root}* vlSelf, {self._root}::OfPort& __restrict port, "
            f"const QData* at) {{\n    (void)port;\n    (void)at;\n    auto& vlSelfRef = *vlSelf;\n"
            f"{head}{text}{tail}}}\n\n"
        )

    def _rows(self, function, table):
        """Takes the rows of a function's table, and tells for each of its parts what evaluates it, with which port and
        row."""
        for port, row in zip(function.ports, table.rows(), strict=True):
            index = self._equal.ports.index(port) if port is not None else 0
            self.parts.append(f"{{{self._root}___part_{function.first}, {index}, ROWS + {len(self.rows)}}}")
            self.rows += row

    def _pieces(self, function, table):
        """[(ports, statements)] of what follows each other and is the same ports'."""
        pieces = []
        for group in function.groups:
            if not pieces or pieces[-1][0] != group.keys():
                pieces.append((group.keys(), []))
            pieces[-1][1].append(self._equal.statement(group, table.constant))
        return pieces

    def _unit(self, unit, ports, groups):
        """C++ text of a statement, with notes of what has changed."""
        before, body, after = "", unit.text, ""
        for name in sorted(unit.writes):
            readers = {port: frozenset(self._readers[self._names.get((port, name), name)]) for port in ports}
            if not any(readers.values()):
                continue
            group = _group(groups, readers)
            if _SCALAR.fullmatch(self._types[name]):
                before += f"    const auto before_{name} = vlSelfRef.{name};\n"
                after += f"    changed_{group} |= before_{name} ^ vlSelfRef.{name};\n"
            else:  # an array: its change is noted where it is assigned
                body, certain = _noting(body, name, group)
                after += "" if certain else f"    changed_{group} = 1;\n"
        return f"    {{\n{before}{body}{after}    }}\n" if before else body + after

    def _marks(self, function, group, table):
        """Lines that mark the readers of a group."""
        masks = defaultdict(lambda: dict.fromkeys(group, 0))  # by (when, word)
        for n, port in zip(function.numbers, function.ports, strict=True):
            for reader in group.get(port, ()):
                masks["Now" if reader > n else "Next", reader // BITS][port] |= 1 << reader % BITS
        return "".join(
            f"        vlSelfRef.parts{when}[{word}] |= "
            f"{table.constant({port: f'{mask:#x}' for port, mask in by_port.items()}, 'ULL')};\n"
            for (when, word), by_port in sorted(masks.items())
        )


def _group(groups, readers):
    """The number of the group whose variables are read as ``readers`` tells; a port that is in one of both alone fits
    to any."""
    for number, group in enumerate(groups):
        if all(group.get(port, numbers) == numbers for port, numbers in readers.items()):
            group.update(readers)
            return number
    groups.append(dict(readers))
    return len(groups) - 1


def _noting(text, array, group):
    """The text with a note for ``group`` beside each assignment to an element of ``array``; and whether there is no
    other way in which the text may change the array."""
    noted, count = re.subn(rf"(?m)^( *)(?=vlSelfRef\.{array}\b\s*\[)", rf"\1changed_{group} = 1;\n\1", text)
    return noted, count == assignments(text, array)
