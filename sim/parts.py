"""Parts of a board that sleep: Verilator's C++ of a board, divided into parts that are evaluated only when they must be.

Verilator evaluates a board as one list of statements, all of them at every clock edge. This module divides the list into
parts, by the modules that the statements belong to. A part compares the variables that it has assigned with their values
before, and marks the parts that read a variable that has changed. A part that is not marked is left out, since it would
assign to each of its variables the value that the variable holds already. All variables have the same values after
every edge as without parts.
"""

import heapq
import re
from collections import Counter, defaultdict
from dataclasses import dataclass

__all__ = ["divide"]

#: Functions of Verilator's library that only return a value; what is handed to any other may be assigned by it.
_PURE = re.compile(r"VL_(?:COUNTONES|ONEHOT0?|REDXOR|SHIFT[LR]S?|EXTENDS?|[LG]TE?S|MULS?|DIVS?|MODDIVS?)_\w+")
#: Variables of a function of its own: type and name.
_LOCAL = re.compile(r"^    ((?:[CSIQ]Data|VlWide<\d+>)/\*\S+\*/) (\w+);\n", re.M)
#: A variable of the model in its header: a pin's width, or a type; name.
_MEMBER = re.compile(r"^ *(?:VL_(?:IN|OUT)(8|16|64|W|)\((\w+),.*\);|(\w+(?:<.*>)?)(?:/\*\S+\*/)? (\w+)(?: = .*)?;)$", re.M)
_INPUT = re.compile(r"^ *VL_IN(?:8|16|64|W|)\(&?(\w+),", re.M)
#: A statement with a condition: the condition, what is done then, and what is done else.
_CONDITIONAL = re.compile(r"    if \((.*?)\) {\n(.*?)(?<=\n)    }(?: else {\n(.*?)(?<=\n)    })?\n", re.S)
#: Marks that fit into one variable.
_BITS = 64
#: Statements in a part at most.
_MOST = 400
#: Bytes of C++ from which on a file is full.
_FILE = 500_000


@dataclass
class _Statement:
    """Statements that stand together: text, what it reads, what it assigns, and what it reads before it assigns it."""

    text: str
    reads: set
    writes: set
    needs: set
    label: str = ""


def _behind(text, at):
    """Where the text goes on behind the indices of a variable that ends at ``at``."""
    while match := re.compile(r"\s*\[").match(text, at):
        depth, at = 1, match.end()
        while depth:
            depth += {"[": 1, "]": -1}.get(text[at], 0)
            at += 1
    return at


def _parse(text):
    """The _Statement of a text."""
    impure = any(not _PURE.fullmatch(name) for name in re.findall(r"\bVL_[A-Z0-9_]+", text))
    reads, writes, whole = set(), set(), set()
    for match in re.finditer(r"vlSelfRef\.(\w+)", text):
        end = _behind(text, match.end())
        assigned = re.compile(r"\s*=(?!=)").match(text, end)
        if assigned or impure:
            writes.add(match[1])
        if impure or not assigned:
            reads.add(match[1])
        elif end == match.end() and not text[: match.start()].strip():
            whole.add(match[1])
    return _Statement(text, reads, writes, reads | (writes - whole))


def _statements(body):
    """The texts of the statements in a function's body, or in a block."""
    lines, depth = [], 0
    for line in body.splitlines(keepends=True):
        lines.append(line)
        depth += line.count("{") - line.count("}")
        if depth == 0 and line.rstrip().endswith((";", "}")):
            yield "".join(lines)
            lines = []
    if lines:
        raise ValueError(f"a statement has no end: {lines[0].strip()}")


def _split(text):
    """The same as several statements, if it is one with a condition: each assigns other variables than the rest."""
    match = _CONDITIONAL.fullmatch(text)
    if not match or any("\n    }" in (block or "") for block in match.groups()[1:]):
        return [text]
    condition, *blocks = match.groups()
    inside = [(side, _parse(part)) for side, block in enumerate(blocks) for part in _statements(block or "")]
    if _parse(condition).reads & set().union(*(part.writes for _, part in inside)):
        return [text]
    groups = []  # (names that are read or assigned, those assigned, the blocks)
    for side, part in inside:
        names, writes, texts = part.reads | part.writes, set(part.writes), ["", ""]
        apart = []
        for group in groups:
            if group[0] & writes or group[1] & names:
                names, writes = names | group[0], writes | group[1]
                texts = [before + text for before, text in zip(texts, group[2], strict=True)]
            else:
                apart.append(group)
        texts[side] += part.text
        groups = [*apart, (names, writes, texts)]
    return [
        f"    if ({condition}) {{\n{first}    }}" + (f" else {{\n{second}    }}\n" if second else "\n")
        for _, _, (first, second) in groups
    ]


def _text(statements):
    """The text of statements, with those together that follow each other and have one condition."""
    text, condition, writes = "", None, set()
    for statement in statements:
        match = _CONDITIONAL.fullmatch(statement.text)
        alone = match and not match[3] and "\n    }" not in match[2] and _parse(match[1])
        if alone and match[1] == condition and not alone.reads & writes:
            text = text.removesuffix("    }\n") + match[2] + "    }\n"
            writes = writes | statement.writes
        else:
            text += statement.text
            condition, writes = (match[1], statement.writes) if alone else (None, set())
    return text


class _Model:
    """The C++ files of a model in ``directory``, and what is in them: functions, variables."""

    def __init__(self, directory, prefix):
        self.root = f"{prefix}___024root"
        self.header = directory / f"{self.root}.h"
        self.files = [file for file in sorted(directory.glob(f"{self.root}__*.cpp")) if "__Slow" not in file.name]
        self.texts = {file: file.read_text() for file in self.files}
        self.declarations = self.header.read_text()
        function = rf"^void {self.root}___nba_sequent__TOP__(\d+)\({self.root}\* vlSelf\) {{\n.*?^}}\n"
        self.function = re.compile(function, re.M | re.S)
        self.nba = re.compile(
            rf"(^void {self.root}___eval_nba\({self.root}\* vlSelf\) {{\n.*?    // Body\n)(.*?)^}}\n", re.M | re.S
        )

    def list(self):
        """The statements that are evaluated at a clock edge, in order, and the names and types of the functions' own
        variables, which become the model's. None if more than the clock decides what is evaluated."""
        found = [match for text in self.texts.values() for match in self.nba.finditer(text)]
        body = found[0][2] if len(found) == 1 else ""
        called = re.compile(
            rf"    if \(\(1ULL & vlSelfRef\.__VnbaTriggered\[0U\]\)\) {{\n"
            rf"(?:        (?:{self.root}___nba_sequent__TOP__\d+\(vlSelf\)|vlSelfRef\.__Vm_traceActivity\[1U\] = 1U);\n)*"
            rf"    }}\n"
        )
        if not called.fullmatch(body):
            return None
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
            for text in _statements(rest.removesuffix("}\n")):
                statements += map(_parse, _split(text))
        return statements, own

    def write(self, parts, own, inputs):
        """Writes the model anew, with ``parts`` instead of its functions."""
        words = -(-len(parts) // _BITS)
        types = {found[1] or found[3]: found[0] or found[2] for found in _MEMBER.findall(self.declarations)} | own
        readers = defaultdict(set)
        for n, part in enumerate(parts):
            for name in _joined(part).needs:
                readers[name].add(n)
        always = {n for n, part in enumerate(parts) if any(statement.reads & inputs for statement in part)}
        functions = [self._part(n, part, types, readers) for n, part in enumerate(parts)]
        fixed = [sum(1 << n % _BITS for n in always if n // _BITS == word) for word in range(words)]
        evaluate = "".join(
            f"        marks[{word}] = vlSelfRef.partsNext[{word}] | {fixed[word]:#x}ULL;\n"
            f"        vlSelfRef.partsNext[{word}] = 0;\n"
            for word in range(words)
        )
        members = "".join(f"    {kind} {name};\n" for name, kind in own.items())
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
        gone = re.compile(rf"^void {self.root}___nba_sequent__TOP__\d+\({self.root}\* vlSelf\);\n", re.M)
        for file, text in self.texts.items():
            text = gone.sub("", self.function.sub("", text))
            text = self.nba.sub(
                lambda match: (
                    f"{declared}static void (*const PARTS[])({self.root}*) = {{{table}}};\n{match[1]}{body}}}\n"
                ),
                text,
            )
            file.write_text(text)
        head = self.texts[self.files[0]].partition('#include')[2].partition("\n")[0]
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
        groups = defaultdict(list)  # what it assigns, by who reads it
        for name in sorted(_joined(part).writes):
            if readers[name]:
                groups[tuple(sorted(readers[name]))].append(name)
        text = _text(part)
        before, after = "", ""
        for group, (readers_of, names) in enumerate(groups.items()):
            changed = []
            for name in names:
                if re.fullmatch("[CSIQ]Data|8|16|64|", types[name]):
                    before += f"    const auto before_{name} = vlSelfRef.{name};\n"
                    changed.append(f"(before_{name} ^ vlSelfRef.{name})")
                else:  # an array: its change is noted where it is assigned
                    text, certain = _noting(text, name)
                    before += f"    bool changed_{name} = {'false' if certain else 'true'};\n"
                    changed.append(f"changed_{name}")
            marks = defaultdict(int)
            for reader in readers_of:
                marks["Now" if reader > n else "Next", reader // _BITS] |= 1 << reader % _BITS
            after += f"    if ({' | '.join(changed)}) {{\n" + "".join(
                f"        vlSelfRef.parts{when}[{word}] |= {mask:#x}ULL;\n" for (when, word), mask in marks.items()
            ) + "    }\n"
        return (
            f"void {self.root}___part_{n}({self.root}* vlSelf) {{\n    auto& vlSelfRef = *vlSelf;\n"
            f"{before}{text}{after}}}\n\n"
        )


def _noting(text, array):
    """The text with a note beside each assignment to an element of ``array``; and whether there is no other way in which
    the text may change the array."""
    noted, count = re.subn(
        rf"(?m)^( *)(?=vlSelfRef\.{array}\b\s*\[)", rf"\1changed_{array} = true;\n\1", text
    )
    statements = [_parse(statement) for statement in _statements(text)]
    return noted, count == sum(array in statement.writes for statement in statements)


def _together(statements):
    """The statements with those made one that assign the same variable, in an order that keeps what each waits for
    before it."""
    group = list(range(len(statements)))

    def of(n):
        while group[n] != n:
            group[n] = group[group[n]]
            n = group[n]
        return n

    def join(n, other):
        first, second = sorted((of(n), of(other)))
        group[second] = first

    writers = {}
    for n, statement in enumerate(statements):
        for name in statement.writes:
            join(n, writers.setdefault(name, n))
    # Statements that wait for each other are made one, too.
    for component in _components(*_order(statements, of)):
        for n in component:
            join(n, component[0])
    members = defaultdict(list)
    for n, statement in enumerate(statements):
        members[of(n)].append(statement)
    numbers, before = _order(statements, of)
    done, order = set(), []
    waiting = {n: len(before[n]) for n in numbers}
    behind = defaultdict(list)
    for n in numbers:
        for other in before[n]:
            behind[other].append(n)
    ready = [n for n in numbers if not waiting[n]]
    while ready:
        n = heapq.heappop(ready)
        order.append(_joined(members[n]))
        done.add(n)
        for other in behind[n]:
            waiting[other] -= 1
            if not waiting[other]:
                heapq.heappush(ready, other)
    return order


def _joined(statements):
    """One _Statement of several."""
    if len(statements) == 1:
        return statements[0]
    needs, assigned = set(), set()
    for statement in statements:
        needs |= statement.needs - assigned
        assigned |= statement.writes - statement.needs
    return _Statement(
        "".join(statement.text for statement in statements),
        set().union(*(statement.reads for statement in statements)),
        set().union(*(statement.writes for statement in statements)),
        needs,
    )


def _order(statements, of=lambda n: n):
    """(numbers, for each the set of those that must come before it) of statements; ``of`` gives a statement's number.

    A statement comes behind the one before it that assigns what it reads, and behind those that read or assign what it
    assigns."""
    before = defaultdict(set)
    writer, readers = {}, defaultdict(list)
    for position, statement in enumerate(statements):
        n = of(position)
        for name in statement.reads | statement.writes:
            if name in writer:
                before[n].add(writer[name])
        for name in statement.writes:
            before[n].update(readers.pop(name, ()))
            writer[name] = n
        for name in statement.reads - statement.writes:
            readers[name].append(n)
        before[n].discard(n)
    return sorted({of(position) for position in range(len(statements))}), before


def _components(numbers, before):
    """The strongly connected components of more than one number."""
    index, low, on, stack, found = {}, {}, set(), [], []
    for start in numbers:
        if start in index:
            continue
        work = [(start, iter(before[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on.add(start)
        while work:
            n, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on.add(other)
                    work.append((other, iter(before[other])))
                    break
                if other in on:
                    low[n] = min(low[n], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[n])
                if low[n] == index[n]:
                    component = []
                    while not component or component[-1] != n:
                        component.append(stack.pop())
                        on.discard(component[-1])
                    if len(component) > 1:
                        found.append(component)
    return found


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
        named = Counter(filter(None, map(_module, statement.writes)))
        statement.label = named.most_common(1)[0][0] if named else ""
        labels.update(dict.fromkeys(statement.writes, statement.label))
    for _ in range(4):
        for statement in statements:
            near = Counter(filter(None, (labels.get(name, "") for name in statement.reads)))
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


def _scheduled(statements):
    """Parts: lists of statements of one label each, in an order that keeps what each statement waits for before it."""
    numbers, before = _order(statements)
    waiting = {n: len(before[n]) for n in numbers}
    behind = defaultdict(list)
    for n in numbers:
        for other in before[n]:
            behind[other].append(n)
    ready = defaultdict(list)  # by label
    for n in numbers:
        if not waiting[n]:
            heapq.heappush(ready[statements[n].label], n)
    parts = []
    while any(ready.values()):
        label = max(sorted(ready), key=lambda label: len(ready[label]))
        part = []
        while ready[label] and len(part) < _MOST:
            n = heapq.heappop(ready[label])
            part.append(statements[n])
            for other in behind[n]:
                waiting[other] -= 1
                if not waiting[other]:
                    heapq.heappush(ready[statements[other].label], other)
        parts.append(part)
    return parts


def divide(directory, prefix):
    """Divides the model of that prefix, whose C++ files are in ``directory``, into parts. A model of which more than one
    clock decides what is evaluated stays as it is. Raises ValueError for statements that cannot be told apart."""
    model = _Model(directory, prefix)
    listed = model.list()
    if listed is None:
        return
    statements, own = listed
    inputs = set(_INPUT.findall(model.declarations))
    statements = _together(statements)
    _label(statements, inputs)
    model.write(_scheduled(statements), own, inputs)
