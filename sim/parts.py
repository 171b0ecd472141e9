"""Parts of a board that sleep: Verilator's C++ of a board, divided into parts that are evaluated only when they must.

Verilator evaluates a board as one list of statements, all of them at every clock edge. This module divides the list
into parts, by the modules that the statements belong to. A part compares the variables that it assigns with their
values before, and marks the parts that read a variable that has changed. A part that is not marked is left out, since
it would assign to each of its variables the value that the variable holds already. All variables have the same values
after every edge as without parts.
"""

import functools
import re
from collections import Counter, defaultdict

from .part_code import BITS, Code, functions
from .shared_parts import PORT, EqualPorts, ordered
from .statements import parse, runs, split, statements_of, together

__all__ = ["divide", "label", "label_told", "variables"]

#: Variables of a function of its own: type and name.
_LOCAL = re.compile(r"^    ((?:[CSIQ]Data|VlWide<\d+>)/\*\S+\*/) (\w+);\n", re.M)
#: A variable of the model in its header: a pin's width, or a type; name.
_MEMBER = re.compile(
    r"^ +(?:VL_(?:IN|OUT)(8|16|64|W|)\((\w+),.*\);|(\w+(?:<.*>)?)(?:/\*\S+\*/)? (\w+)(?: = .*)?;)$", re.M
)
_INPUT = re.compile(r"^ *VL_IN(?:8|16|64|W|)\(&?(\w+),", re.M)
#: Statements in a part at most.
_MOST = 400
#: Bytes of C++ from which on a file is full.
_FILE = 200_000


def variables(header):
    """{name: type} of the variables that a model's header declares; a pin's type is its number of bits, 8, 16, 64, W
    for more, or an empty text for 32."""
    return {found[1] or found[3]: found[0] or found[2] for found in _MEMBER.findall(header)}


class _Model:
    """The C++ files of a model in ``directory``, and what is in them: functions, variables."""

    def __init__(self, directory, prefix):
        self.root = f"{prefix}___024root"
        self.header = directory / f"{self.root}.h"
        self.files = [file for file in sorted(directory.glob(f"{self.root}__*.cpp")) if "__Slow" not in file.name]
        self.texts = {file: file.read_text() for file in self.files}
        self.slow = [file.read_text() for file in directory.glob(f"{self.root}__*Slow*.cpp")]
        self.declarations = self.header.read_text()
        self.types = variables(self.declarations)
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

    def write(self, functions, own, inputs, equal):
        """Writes the model anew, with functions for parts instead of its own; ``equal`` tells the ports' variables."""
        words = -(-functions[-1].numbers.stop // BITS)
        parts = {n: part for function in functions for n, part in zip(function.numbers, function.parts, strict=True)}

        def marks(numbers):
            return [sum(1 << n % BITS for n in numbers if n // BITS == word) for word in range(words)]

        fixed = marks([n for n, part in parts.items() if part.reads & inputs])
        evaluate = "".join(
            f"        marks[{word}] = vlSelfRef.partsNext[{word}] | {mask:#x}ULL;\n"
            f"        vlSelfRef.partsNext[{word}] = 0;\n"
            for word, mask in enumerate(fixed)
        )
        whole = ", ".join(f"{mask:#x}ULL" for mask in marks(parts))
        members = f"    QData partsNext[{words}] = {{{whole}}};\n"
        members += f"    QData partsNow[{words}] = {{}};\n"
        self._declare(members, own, equal)
        code = Code(self.root, functions, self.types | own, equal)
        self._write_functions(code)
        body = (
            f"    if ((1ULL & vlSelfRef.__VnbaTriggered[0U])) {{\n"
            f"        vlSelfRef.__Vm_traceActivity[1U] = 1U;\n"
            f"        QData* const marks = vlSelfRef.partsNow;\n{evaluate}"
            f"        for (unsigned word = 0; word < {words}; ++word) {{\n"
            f"            while (const QData left = marks[word]) {{\n"
            f"                marks[word] = left & (left - 1);\n"
            f"                const auto& part = PARTS[{BITS} * word + __builtin_ctzll(left)];\n"
            f"                part.evaluate(vlSelf, vlSelfRef.ofPort[part.port], part.row);\n"
            f"            }}\n        }}\n    }}\n"
        )
        kind = f"({self.root}*, {self.root}::OfPort&, const QData*)"
        declared = "".join(f"void {self.root}___part_{function.first}{kind};\n" for function in functions)
        declared += f"static const QData ROWS[] = {{{', '.join(code.rows or '0')}}};\n"
        declared += (
            f"static const struct {{\n    void (*evaluate){kind};\n    unsigned port;\n    const QData* row;\n}} "
        )
        declared += f"PARTS[] = {{{', '.join(code.parts)}}};\n"
        gone = re.compile(rf"^void {self.root}___nba_sequent__TOP__(\d+)\({self.root}\* vlSelf\);\n", re.M)
        # Verilator lets what settles a board at its beginning call an equal function of those that are evaluated later.
        shared = set(re.findall(r"nba_sequent__TOP__(\d+)\(vlSelf\)", "".join(self.slow)))

        def unless_shared(match):
            return match[0] if match[1] in shared else ""

        for file, text in self.texts.items():
            text = gone.sub(unless_shared, self.function.sub(unless_shared, text))
            text = self.nba.sub(lambda match: f"{declared}{match[1]}{body}}}\n", text)
            file.write_text(text)

    def _declare(self, members, own, equal):
        """Writes the header with ``members`` and the functions' ``own`` variables, and the ports' in a structure."""
        moved = equal.moved()
        members += "".join(f"    {kind} {name}{{}};\n" for name, kind in own.items() if name not in moved)
        members += equal.declaration()
        text = _MEMBER.sub(lambda match: "" if (match[2] or match[4]) in moved else match[0], self.declarations)
        while (left := re.sub(r"^ *struct {\s*};\n", "", text, flags=re.M)) != text:
            text = left
        opened = re.search(rf"^class .*{self.root} final {{\n  public:\n", text, re.M)
        names = "".join(f"#define {name} ofPort[{port}].{field}\n" for name, (port, field) in moved.items())
        self.header.write_text(text[: opened.start()] + names + opened[0] + members + text[opened.end() :])

    def _write_functions(self, code):
        """Writes the files with the functions."""
        constants = sorted(set(re.findall(r"^extern const .*;\n", "".join(self.texts.values()), re.M)))
        head = self.texts[self.files[0]].partition("#include")[2].partition("\n")[0]
        size, number, lines = 0, 0, []
        for n, function in enumerate(code.functions):
            lines.append(code.text(function))
            size += len(lines[-1])
            if size > _FILE or n + 1 == len(code.functions):
                text = f"#include{head}\n{''.join(constants)}\n{''.join(lines)}"
                (self.header.parent / f"{self.root}__parts{number}.cpp").write_text(text)
                size, number, lines = 0, number + 1, []


@functools.cache
def _module(name):
    """The part of the board that a variable belongs to by its name, or an empty string."""
    path = name.partition("__DOT__board__DOT__")[2].split("__DOT__")
    if len(path) < 2:
        return ""
    if match := re.fullmatch(r"(?:register|input|output)_(\d+)", path[0]):
        return f"port {match[1]}"
    return " ".join(path[: 2 if len(path) > 2 else 1])


def label(statements, inputs):
    """Labels each statement with the part of the board that it belongs to: by the variables that it assigns, else by
    those that it reads. What the centre makes of the signals of one port has a label of this port and of the module:
    "port 3 monitor counters". What reads the pins of the board has a label of its own."""
    labels = {}
    for statement in statements:
        named = Counter(filter(None, map(_module, sorted(statement.writes))))
        statement.label = named.most_common(1)[0][0] if named else ""
        labels.update(dict.fromkeys(statement.writes, statement.label))
    reads = [sorted(statement.reads) for statement in statements]
    for _ in range(4):
        for statement, names in zip(statements, reads, strict=True):
            near = Counter(filter(None, map(labels.get, names)))
            ports = {match[0] for known in near if (match := PORT.match(known))}
            if len(ports) == 1 and statement.label:
                # It changes when the port works.
                (port,) = ports
                module = PORT.sub("", statement.label).strip()
                statement.label = f"{port} {module}".strip()
            elif not statement.label and near:
                statement.label = "ports" if len(ports) > 2 else near.most_common(1)[0][0]
            labels.update(dict.fromkeys(statement.writes, statement.label))
    for statement in statements:
        if statement.reads & inputs:
            statement.label = "pins"


def label_told(statements, ports):
    """Labels statements of ports apart that read what the centre tells at least half of the ``ports`` at once, as which
    outputs are sent a symbol. When that changes, most of it does for one port: the rest of the others is left out. The
    reset is no such thing: all registers read it, and it seldom changes."""
    by_centre, by_port, readers = set(), set(), defaultdict(set)
    for statement in statements:
        port = PORT.match(statement.label)
        (by_port if port else by_centre).update(statement.writes)
        for name in statement.reads if port else ():
            readers[name].add(port[0])
    told = {name for name in by_centre - by_port if 2 * len(readers[name]) >= ports and not name.endswith("rst")}
    for statement in statements:
        if PORT.match(statement.label) and statement.reads & told:
            statement.label += " told"


def divide(directory, prefix):
    """Divides the model of that prefix, whose C++ files are in ``directory``, into parts.

    Raises ValueError for a model in which more than one clock decides what is evaluated, and for statements that cannot
    be told apart."""
    model = _Model(directory, prefix)
    statements, own = model.list()
    inputs = set(_INPUT.findall(model.declarations))
    statements = together(statements)
    label(statements, inputs)
    equal = EqualPorts(statements, model.types | own)
    numbers, before, apart, groups = ordered(statements, equal.groups)
    label_told(statements, len(equal.ports))
    labels = {n: statements[n].label for n in numbers}
    labels |= {n: f"each {PORT.sub('port', labels[n])}" for n in groups}
    found = runs(numbers, before, labels.get, _MOST, apart)
    model.write(functions(found, before, groups, statements), own, inputs, equal)
