"""Equal ports share their code: which of their statements are equal, and where their variables stand.

Verilator writes the statements of each port of a HUB anew. Those of two ports differ in the names of variables and in
constants. Such statements become one function for all of these ports. What is called differently at each port becomes
a member of a structure that each port has; a constant that differs becomes an entry of a table.
"""

import functools
import re
from collections import Counter, defaultdict
from dataclasses import dataclass

from .statements import Statement, components, waits

__all__ = ["PINS", "PORT", "EqualPorts", "Form", "ordered"]

#: A variable of the model, and a constant: the number, and the end of it that tells its type.
_TOKEN = re.compile(r"\bvlSelfRef\.(\w+)|\b(0x[0-9a-f]+|\d+)(U(?:LL)?)\b")
#: What the label of a statement of a port begins with.
PORT = re.compile(r"port (\d+)")
#: What may differ between the names of two ports: numbers, with Verilator's spelling of "$" before them or not.
_NUMBER = re.compile(r"(?:__024)?\d+")
#: Types of variables whose declaration is a pin's, which tells a number of bits.
PINS = {"8": "CData", "16": "SData", "": "IData", "64": "QData"}
#: Types of other variables in the order in which a structure has them.
_ORDER = ("QData", "IData", "SData", "CData", "VlWide", "VlUnpacked")
_WORD = re.compile(r"\w*")


@functools.cache
def _without_numbers(name):
    return _NUMBER.sub("", name)


@dataclass(eq=False)
class Form:
    """What a statement has in common with its equals at other ports, and what it has not."""

    skeleton: tuple  # of texts: without blanks, names and numbers; what stands behind a number
    names: list
    constants: list  # (number, end)

    @classmethod
    def of(cls, text):
        found = _TOKEN.split(text)  # what is between tokens, and three groups for each
        between, names, numbers, ends = (found[first::4] for first in range(4))
        constants = [pair for pair in zip(numbers, ends, strict=True) if pair[0]]
        return cls(("".join("@".join(between).split()), *ends), [name for name in names if name], constants)


class EqualPorts:
    """Groups of equal statements among ``statements``, whose labels tell the port, and the names that differ.

    ``types``: of each variable. A group is the number of the statement by port. The names of a group's statements
    belong together: what is called ``a3`` at port 3 wherever it is called ``a5`` at port 5 is a column. A statement
    does not belong to a group if a name of it has another column in the rest of its port, or another type, or has
    another column at another port. Such a statement is a group of its own."""

    def __init__(self, statements, types):
        self._statements = statements
        self._types = {name: re.sub(r"/\*.*?\*/", "", kind) for name, kind in types.items()}
        self._columns = []  # {port: name} each
        self._into = {}  # number of the column that has become part of another: the other's
        self._of = defaultdict(dict)  # number of the column by port and name
        self._forms = {}
        alike = defaultdict(lambda: defaultdict(list))
        for n, statement in enumerate(statements):
            if match := PORT.match(statement.label):
                form = self._forms[n] = Form.of(statement.text)
                names = tuple(map(_without_numbers, form.names))
                alike[form.skeleton, names][int(match[1])].append(n)
        port_of = {n: port for ports in alike.values() for port, numbers in ports.items() for n in numbers}
        self.ports = sorted(set(port_of.values()))
        found = [{port: numbers[0] for port, numbers in ports.items() if len(numbers) == 1} for ports in alike.values()]
        found.sort(key=lambda group: -len(group) * len(statements[next(iter(group.values()), 0)].text))
        groups = [group for members in found if (group := self._group(members))]
        fields = self._fields()
        #: What a name that has a column is called in the code for all ports, by (port, name).
        self.fields = {}
        self.groups = []
        for group in groups:
            port, n = next(iter(group.items()))
            columns = [self._of[port][name] for name in self._forms[n].names]
            if all(column in fields for column in columns):
                self.groups.append(group)
                self.fields |= {
                    (port, self._columns[column][port]): fields[column] for column in columns for port in group
                }
        grouped = {n for group in self.groups for n in group.values()}
        self.groups += [{port: n} for n, port in port_of.items() if n not in grouped]

    def _group(self, members):
        """The group of those members whose names fit to what is known, if there are several; notes their columns."""
        kinds = {port: tuple(map(self._types.get, self._forms[n].names)) for port, n in members.items()}
        most = Counter(kinds.values()).most_common(1)
        members = {port: n for port, n in members.items() if [kinds[port]] == [kind for kind, _ in most]}
        forms = {port: self._forms[n] for port, n in members.items()}
        together = list(zip(*(form.names for form in forms.values()), strict=True))
        made = {names: self._column(dict(zip(forms, names, strict=True))) for names in dict.fromkeys(together)}
        columns = [self._kept(made[names]) for names in together]
        fitting = {port: n for port, n in members.items() if self._fits(port, forms[port].names, columns)}
        if len(fitting) < 2:
            return None
        for port in fitting:
            for name, column in zip(forms[port].names, columns, strict=True):
                self._of[port][name] = column
                self._columns[column][port] = name
        return fitting

    def _kept(self, column):
        while column in self._into:
            column = self._into[column]
        return column

    def _column(self, names):
        """The number of the column of ``names`` (by port): the one that most of them have, made one with others that
        some have, unless both have the same ports; else a new one."""
        known = Counter(self._of[port][name] for port, name in names.items() if name in self._of[port])
        if not known:
            self._columns.append({})
            return len(self._columns) - 1
        (first, _), *others = known.most_common()
        for number, _ in others:
            one, other = self._columns[first], self._columns[number]
            if not one.keys() & other.keys() and self._type(one) == self._type(other):
                for port, name in other.items():
                    self._of[port][name] = first
                one |= other
                other.clear()
                self._into[number] = first
        return first

    def _type(self, column):
        """The type of the variables of a column; None of a column without any."""
        return self._types.get(next(iter(column.values()), None))

    def _fits(self, port, names, columns):
        """Whether names of a port may have these columns: each one column, and each column one name, of one type."""
        pairs = set(zip(names, columns, strict=True))
        return len(pairs) == len({name for name, _ in pairs}) == len({column for _, column in pairs}) and all(
            self._of[port].get(name, column) == column
            and self._columns[column].get(port, name) == name
            and self._type(self._columns[column]) in (None, self._types.get(name))
            for name, column in pairs
        )

    def _fields(self):
        """What the names of a column are called in the code for all ports, by its number. Columns are left out that
        differ and cannot be moved."""
        fields, places = {}, {}
        for number, column in enumerate(self._columns):
            if len(set(column.values())) < 2:
                fields |= {number: name for name in column.values()}
                continue
            kind = self._type(column) or "none"
            placed = [places.setdefault(name, (number, port)) == (number, port) for port, name in column.items()]
            if kind in PINS or (_WORD.match(kind)[0] in _ORDER and all(placed)):
                fields[number] = f"{_NUMBER.sub('N', column[min(column)])}_{number}"
        return fields

    def moved(self):
        """{name: (index of the port, what it is called in the structure)} of what each port has of its own."""
        return {
            name: (self.ports.index(port), field)
            for (port, name), field in self.fields.items()
            if field != name and self._types[name] not in PINS
        }

    def declaration(self):
        """Members of the model, as lines of C++: for each port a structure with its variables, which begins with
        references to its pins."""
        types = {field: self._types[name] for (_, name), field in self.fields.items() if field != name}
        pins = sorted(field for field, kind in types.items() if kind in PINS)
        names = {field: {} for field in pins}  # by port
        for (port, name), field in self.fields.items():
            if field in names:
                names[field][port] = name
        order = sorted(types.keys() - names, key=lambda field: (_ORDER.index(_WORD.match(types[field])[0]), field))
        lines = [f"{PINS[types[field]]}& {field};" for field in pins] + [
            f"{types[field]} {field}{{}};" for field in order
        ]
        rows = [[names[field].get(port) or next(iter(names[field].values())) for field in pins] for port in self.ports]
        made = ", ".join(f"{{{', '.join(row)}}}" for row in rows)
        members = "".join(f"        {line}\n" for line in lines)
        return f"    struct OfPort {{\n{members}    }};\n    OfPort ofPort[{len(rows) or 1}] = {{{made}}};\n"

    def statement(self, group, constant):
        """The Statement of a group with names and constants for all its ports; ``constant({port: number}, end)`` gives
        the text of a constant."""
        port, n = next(iter(group.items()))
        if port is None:
            return self._statements[n]
        called = {name: self.fields.get((port, name), name) for name in self._forms[n].names}
        ports = {at: self._forms[other].constants for at, other in group.items()}
        place = iter(range(len(self._forms[n].constants)))

        def text(match):
            if match[1]:
                return f"vlSelfRef.{called[match[1]]}"
            at = next(place)
            return constant({port: constants[at][0] for port, constants in ports.items()}, match[3])

        old = self._statements[n]
        names = [{called[name] for name in names} for names in (old.reads, old.writes, old.needs)]
        return Statement(_TOKEN.sub(text, old.text), *names)


def ordered(statements, groups):
    """(numbers, before, apart, groups) of statements for ``runs``, in which a group is one, called by its first number:
    what must come before each, and which must not be in one run since that of one port waits for that of another; the
    groups by their numbers. A group whose statements wait for each other is taken apart."""
    numbers, waiting = waits(statements)
    while True:
        of, port_of = {n: n for n in numbers}, {}
        for group in groups:
            for port, n in group.items():
                of[n], port_of[n] = min(group.values()), port
        before, apart, cyclic = defaultdict(set), set(), set()
        for n in numbers:
            for other in waiting[n]:
                before[of[n]].add(of[other])
                if n in port_of and other in port_of and port_of[n] != port_of[other]:
                    apart.add((of[n], of[other]))
                    if of[n] == of[other]:
                        cyclic.add(of[n])
        for n, others in before.items():
            others.discard(n)
        nodes = sorted(set(of.values()))
        cyclic.update(*components(nodes, before))
        if not cyclic:
            return nodes, before, apart, {min(group.values()): group for group in groups}
        whole = [group for group in groups if min(group.values()) not in cyclic]
        groups = whole + [{port: n} for n, port in port_of.items() if of[n] in cyclic]
