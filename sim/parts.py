"""Parts of a board that sleep: Verilator's C++ of a board, divided into parts that are evaluated only when they must.

Verilator evaluates a board as one list of statements, all of them at every clock edge. This module divides the list
into parts, by the modules that the statements belong to. A part compares the variables that it assigns with their
values before, and marks the parts that read a variable that has changed. A part that is not marked is left out, since
it would assign to each of its variables the value that the variable holds already. All variables have the same values
after every edge as without parts.
"""

import re
from collections import Counter, defaultdict

from .statements import assignments, joined, merged, parse, runs, split, statements_of, together, waits

__all__ = ["divide"]

#: Variables of a function of its own: type and name.
_LOCAL = re.compile(r"^    ((?:[CSIQ]Data|VlWide<\d+>)/\*\S+\*/) (\w+);\n", re.M)
#: A variable of the model in its header: a pin's width, or a type; name.
_MEMBER = re.compile(
    r"^ *(?:VL_(?:IN|OUT)(8|16|64|W|)\((\w+),.*\);|(\w+(?:<.*>)?)(?:/\*\S+\*/)? (\w+)(?: = .*)?;)$", re.M
)
_INPUT = re.compile(r"^ *VL_IN(?:8|16|64|W|)\(&?(\w+),", re.M)
#: Types of variables whose change a comparison finds; a pin's is a number of bits.
_SCALAR = re.compile(r"[CSIQ]Data(?:/.*)?|8|16|64|")
#: Marks that fit into one variable.
_BITS = 64
#: Statements in a part at most.
_MOST = 400
#: Bytes of C++ from which on a file is full.
_FILE = 500_000


class _Model:
    """The C++ files of a model in ``directory``, and what is in them: functions, variables."""

    def __init__(self, directory, prefix):
        self.root = f"{prefix}___024root"
        self.header = directory / f"{self.root}.h"
        self.files = [file for file in sorted(directory.glob(f"{self.root}__*.cpp")) if "__Slow" not in file.name]
        self.texts = {file: file.read_text() for file in self.files}
        self.slow = [file.read_text() for file in directory.glob(f"{self.root}__*Slow*.cpp")]
        self.declarations = self.header.read_text()
        function = rf"^void {self.root}___nba_sequent__TOP__(\d+)\({self.root}\* vlSelf\) {{\n.*?^}}\n"
        self.function = re.compile(function, re.M | re.S)
        self.nba = re.compile(
            rf"(^void {self.root}___eval_nba\({self.root}\* vlSelf\) {{\n.*?    // Body\n)(.*?)^}}\n", re.M | re.S
        )

    def list(self):
        """The statements that are evaluated at a clock edge, in order, and the names and types of the functions' own
        variables, which become the model's."""
        found = [match for text in self.texts.values() for match in self.nba.finditer(text)]
        body = found[0][2] if len(found) == 1 else ""
        called = re.compile(
            rf"    if \(\(1ULL & vlSelfRef\.__VnbaTriggered\[0U\]\)\) {{\n"
            rf"(?:        (?:{self.root}___nba_sequent__TOP__\d+\(vlSelf\)"
            rf"|vlSelfRef\.__Vm_traceActivity\[1U\] = 1U);\n)*"
            rf"    }}\n"
        )
        if not called.fullmatch(body):
            raise ValueError(f"{self.root}: more than one clock decides what is evaluated")
        bodies = {int(match[1]): match[0] for text in self.texts.values() for match in self.function.finditer(text)}
        statements, own = [], {}
        for number in map(int, re.findall(r"nba_sequent__TOP__(\d+)", body)):
            head, _, rest = bodies[number].partition("    // Body\n")
            names = {}
            for kind, name in _LOCAL.findall(head):
                names[name] = f"own_{number}_{name}"
                own[names[name]] = kind
            if names:
                pattern = re.compile(rf"(?<![\w.])({'|'.join(names)})\b")
                rest = pattern.sub(lambda match: f"vlSelfRef.{names[match[1]]}", rest)  # noqa: B023
            for text in statements_of(rest.removesuffix("}\n")):
                statements += map(parse, split(text))
        return statements, own

    def write(self, parts, own, inputs):
        """Writes the model anew, with ``parts`` instead of its functions."""
        words = -(-len(parts) // _BITS)
        types = {found[1] or found[3]: found[0] or found[2] for found in _MEMBER.findall(self.declarations)} | own
        readers = defaultdict(set)
        for n, part in enumerate(parts):
            for name in joined(part).needs:
                readers[name].add(n)
        always = {n for n, part in enumerate(parts) if any(statement.reads & inputs for statement in part)}
        functions = [self._part(n, part, types, readers) for n, part in enumerate(parts)]
        fixed = [sum(1 << n % _BITS for n in always if n // _BITS == word) for word in range(words)]
        evaluate = "".join(
            f"        marks[{word}] = vlSelfRef.partsNext[{word}] | {fixed[word]:#x}ULL;\n"
            f"        vlSelfRef.partsNext[{word}] = 0;\n"
            for word in range(words)
        )
        members = "".join(f"    {kind} {name}{{}};\n" for name, kind in own.items())
        whole = [(1 << min(_BITS, len(parts) - _BITS * word)) - 1 for word in range(words)]
        members += f"    QData partsNext[{words}] = {{{', '.join(f'{mask:#x}ULL' for mask in whole)}}};\n"
        members += f"    QData partsNow[{words}] = {{}};\n"
        opened = re.search(rf"^class .*{self.root} final {{\n  public:\n", self.declarations, re.M).end()
        self.header.write_text(self.declarations[:opened] + members + self.declarations[opened:])
        table = ", ".join(f"{self.root}___part_{n}" for n in range(len(parts)))
        body = (
            f"    if ((1ULL & vlSelfRef.__VnbaTriggered[0U])) {{\n"
            f"        vlSelfRef.__Vm_traceActivity[1U] = 1U;\n"
            f"        QData* const marks = vlSelfRef.partsNow;\n{evaluate}"
            f"        for (unsigned word = 0; word < {words}; ++word) {{\n"
            f"            while (const QData left = marks[word]) {{\n"
            f"                marks[word] = left & (left - 1);\n"
            f"                PARTS[{_BITS} * word + __builtin_ctzll(left)](vlSelf);\n"
            f"            }}\n        }}\n    }}\n"
        )
        declared = "".join(f"void {self.root}___part_{n}({self.root}* vlSelf);\n" for n in range(len(parts)))
        constants = sorted(set(re.findall(r"^extern const .*;\n", "".join(self.texts.values()), re.M)))
        gone = re.compile(rf"^void {self.root}___nba_sequent__TOP__(\d+)\({self.root}\* vlSelf\);\n", re.M)
        # Verilator lets what settles a board at its beginning call an equal function of those that are evaluated later.
        shared = set(re.findall(r"nba_sequent__TOP__(\d+)\(vlSelf\)", "".join(self.slow)))

        def unless_shared(match):
            return match[0] if match[1] in shared else ""

        for file, text in self.texts.items():
            text = gone.sub(unless_shared, self.function.sub(unless_shared, text))
            text = self.nba.sub(
                lambda match: (
                    f"{declared}static void (*const PARTS[])({self.root}*) = {{{table}}};\n{match[1]}{body}}}\n"
                ),
                text,
            )
            file.write_text(text)
        head = self.texts[self.files[0]].partition("#include")[2].partition("\n")[0]
        size, number, lines = 0, 0, []
        for n, function in enumerate(functions):
            lines.append(function)
            size += len(function)
            if size > _FILE or n + 1 == len(functions):
                text = f"#include{head}\n{''.join(constants)}\n{''.join(lines)}"
                (self.header.parent / f"{self.root}__parts{number}.cpp").write_text(text)
                size, number, lines = 0, number + 1, []

    def _part(self, n, part, types, readers):
        """The function that evaluates a part: its statements, and the marks for the parts that read what has
        changed."""
        groups = {}  # number, by the parts that read
        text = ""
        for unit in merged(part):
            before, body, after = "", unit.text, ""
            for name in sorted(unit.writes & readers.keys()):
                group = groups.setdefault(tuple(sorted(readers[name])), len(groups))
                if _SCALAR.fullmatch(types[name]):
                    before += f"    const auto before_{name} = vlSelfRef.{name};\n"
                    after += f"    changed_{group} |= before_{name} ^ vlSelfRef.{name};\n"
                else:  # an array: its change is noted where it is assigned
                    body, certain = _noting(body, name, group)
                    after += "" if certain else f"    changed_{group} = 1;\n"
            text += f"    {{\n{before}{body}{after}    }}\n" if before else body + after
        head = "".join(f"    QData changed_{group} = 0;\n" for group in groups.values())
        tail = ""
        for readers_of, group in groups.items():
            marks = defaultdict(int)
            for reader in readers_of:
                marks["Now" if reader > n else "Next", reader // _BITS] |= 1 << reader % _BITS
            lines = [
                f"        vlSelfRef.parts{when}[{word}] |= {mask:#x}ULL;\n" for (when, word), mask in marks.items()
            ]
            tail += f"    if (changed_{group}) {{\n{''.join(lines)}    }}\n"
        return (
            f"void {self.root}___part_{n}({self.root}* vlSelf) {{\n    auto& vlSelfRef = *vlSelf;\n"
            f"{head}{text}{tail}}}\n\n"
        )


def _noting(text, array, group):
    """The text with a note for ``group`` beside each assignment to an element of ``array``; and whether there is no
    other way in which the text may change the array."""
    noted, count = re.subn(rf"(?m)^( *)(?=vlSelfRef\.{array}\b\s*\[)", rf"\1changed_{group} = 1;\n\1", text)
    return noted, count == assignments(text, array)


def _module(name):
    """The part of the board that a variable belongs to by its name, or an empty string."""
    path = name.partition("__DOT__board__DOT__")[2].split("__DOT__")
    if len(path) < 2:
        return ""
    if match := re.fullmatch(r"(?:register|input|output)_(\d+)", path[0]):
        return f"port {match[1]}"
    return " ".join(path[: 2 if len(path) > 2 else 1])


def _label(statements, inputs):
    """Labels each statement with the part of the board that it belongs to: by the variables that it assigns, else by
    those that it reads. What reads the pins of the board has a label of its own."""
    labels = {}
    for statement in statements:
        named = Counter(filter(None, map(_module, sorted(statement.writes))))
        statement.label = named.most_common(1)[0][0] if named else ""
        labels.update(dict.fromkeys(statement.writes, statement.label))
    for _ in range(4):
        for statement in statements:
            near = Counter(filter(None, (labels.get(name, "") for name in sorted(statement.reads))))
            ports = [label for label in near if label.startswith("port ")]
            if len(ports) == 1 and statement.label:
                # What the centre makes of the signals of one port changes when the port works.
                (statement.label,) = ports
            elif not statement.label and near:
                statement.label = "ports" if len(ports) > 2 else near.most_common(1)[0][0]
            labels.update(dict.fromkeys(statement.writes, statement.label))
    for statement in statements:
        if statement.reads & inputs:
            statement.label = "pins"


def divide(directory, prefix):
    """Divides the model of that prefix, whose C++ files are in ``directory``, into parts.

    Raises ValueError for a model in which more than one clock decides what is evaluated, and for statements that cannot
    be told apart."""
    model = _Model(directory, prefix)
    statements, own = model.list()
    inputs = set(_INPUT.findall(model.declarations))
    statements = together(statements)
    _label(statements, inputs)
    parts = runs(*waits(statements), lambda n: statements[n].label, _MOST)
    model.write([[statements[n] for n in part] for part in parts], own, inputs)
