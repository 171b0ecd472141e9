"""Statements of C++ that Verilator has written: what each reads and assigns, and in which order they may stand."""

import heapq
import re
from collections import defaultdict
from dataclasses import dataclass

__all__ = [
    "Statement",
    "assignments",
    "components",
    "joined",
    "merged",
    "parse",
    "runs",
    "split",
    "statements_of",
    "together",
    "waits",
]

#: Functions of Verilator's library that only return a value: those that do not give a wide number, whose names begin
#: their types with W. What is handed to any other function may be assigned by it.
_PURE = re.compile(r"VL_(?:COUNTONES|ONEHOT0?|REDXOR|SHIFT[LR]S?|EXTENDS?|[LG]TE?S|MULS?|DIVS?|MODDIVS?)_[IQ][IQW]*")
#: A statement with a condition: the condition, what is done then, and what is done else.
_CONDITIONAL = re.compile(r"    if \((.*?)\) {\n(.*?)(?<=\n)    }(?: else {\n(.*?)(?<=\n)    })?\n", re.S)
_ASSIGNED = re.compile(r"\s*=(?!=)")
_FUNCTION = re.compile(r"\bVL_[A-Z0-9_]+")
_INDEX = re.compile(r"\s*\[")
_VARIABLE = re.compile(r"vlSelfRef\.(\w+)")


@dataclass
class Statement:
    """Statements that stand together: text, what it reads, what it assigns, and what it reads before it assigns it."""

    text: str
    reads: set
    writes: set
    needs: set
    label: str = ""


def _behind(text, at):
    """Where the text goes on behind the indices of a variable that ends at ``at``."""
    while match := _INDEX.match(text, at):
        depth, at = 1, match.end()
        while depth:
            depth += {"[": 1, "]": -1}.get(text[at], 0)
            at += 1
    return at


def _pure(text):
    """Whether all functions in the text only return a value."""
    return "VL_" not in text or all(_PURE.fullmatch(name) for name in _FUNCTION.findall(text))


def assignments(text, name):
    """How often the text assigns the variable or its elements; -1 if this cannot be told."""
    found = re.finditer(rf"vlSelfRef\.{name}\b", text)
    return sum(bool(_ASSIGNED.match(text, _behind(text, match.end()))) for match in found) if _pure(text) else -1


def parse(text):
    """The Statement of a text."""
    impure = not _pure(text)
    reads, writes, whole = set(), set(), set()
    for match in _VARIABLE.finditer(text):
        end = _behind(text, match.end())
        assigned = _ASSIGNED.match(text, end)
        if assigned or impure:
            writes.add(match[1])
        if impure or not assigned:
            reads.add(match[1])
        elif end == match.end() and not text[: match.start()].strip():
            whole.add(match[1])
    return Statement(text, reads, writes, reads | (writes - whole))


def statements_of(body):
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


def split(text):
    """The same as several statements, if it is one with a condition: each assigns other variables than the rest."""
    match = _CONDITIONAL.fullmatch(text)
    if not match or any("\n    }" in (block or "") for block in match.groups()[1:]):
        return [text]
    condition, *blocks = match.groups()
    inside = [(side, parse(part)) for side, block in enumerate(blocks) for part in statements_of(block or "")]
    if parse(condition).reads & set().union(*(part.writes for _, part in inside)):
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


def merged(statements):
    """The statements, of which those that follow each other and have one condition are one."""
    units, condition = [], None
    for statement in statements:
        match = _CONDITIONAL.fullmatch(statement.text)
        alone = match and not match[3] and "\n    }" not in match[2] and parse(match[1])
        if alone and match[1] == condition and not alone.reads & units[-1].writes:
            last = joined([units.pop(), statement])
            last.text = last.text.removesuffix(statement.text).removesuffix("    }\n") + match[2] + "    }\n"
            units.append(last)
        else:
            units.append(statement)
            condition = match[1] if alone else None
    return units


def together(statements):
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
    for component in components(*waits(statements, of)):
        for n in component:
            join(n, component[0])
    members = defaultdict(list)
    for n, statement in enumerate(statements):
        members[of(n)].append(statement)
    return [joined(members[n]) for run in runs(*waits(statements, of)) for n in run]


def joined(statements):
    """One Statement of several."""
    if len(statements) == 1:
        return statements[0]
    needs, assigned = set(), set()
    for statement in statements:
        needs |= statement.needs - assigned
        assigned |= statement.writes - statement.needs
    return Statement(
        "".join(statement.text for statement in statements),
        set().union(*(statement.reads for statement in statements)),
        set().union(*(statement.writes for statement in statements)),
        needs,
    )


def waits(statements, of=lambda n: n):
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


def runs(numbers, before, label=lambda n: "", most=None, apart=frozenset()):
    """Lists of the numbers, of ``most`` at most, each of one label, in an order that keeps ``before`` (``waits``). A
    list has no two numbers that are a pair in ``apart``: (that which waits, that which must come before it)."""
    waiting = {n: len(before[n]) for n in numbers}
    behind = defaultdict(list)
    for n in numbers:
        for other in before[n]:
            behind[other].append(n)
    ready = defaultdict(list)  # by label
    for n in numbers:
        if not waiting[n]:
            heapq.heappush(ready[label(n)], n)
    found = []
    while any(ready.values()):
        chosen = ready[max(sorted(ready), key=lambda name: len(ready[name]))]
        run, held, later = [], set(), []
        while chosen and len(run) != most:
            n = heapq.heappop(chosen)
            run.append(n)
            for other in behind[n]:
                waiting[other] -= 1
                if (other, n) in apart:
                    held.add(other)
                if not waiting[other]:
                    if other in held:
                        later.append(other)
                    else:
                        heapq.heappush(ready[label(other)], other)
        for other in later:
            heapq.heappush(ready[label(other)], other)
        found.append(run)
    return found


def components(numbers, before):
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
