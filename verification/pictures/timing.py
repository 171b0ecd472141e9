"""Timing diagrams: what was recorded in each cycle, a row for each pin or signal, a column for each cycle."""

from dataclasses import dataclass

from ...hdl.hub.commands import BY_OPCODE
from ...hdl.link.symbol import COMMAND_LENGTH, Control, is_control
from .drawing import Drawing, width_of

__all__ = ["Bits", "Measure", "States", "Symbols", "command_name", "draw", "frames"]

_LEFT, _CELL, _GAP, _HIGH = 134, 36, 26, 24
_TOP = 54
#: So many cycles in which nothing changes are not left out yet.
_QUIET = 2
_NAMES = {
    Control.IDLE: "idle",
    Control.START: "start",
    Control.END: "end",
    Control.READY: "ready",
    Control.COMMAND: "cmd",
    Control.REPLY: "reply",
}
_KINDS = {
    Control.START: "frame",
    Control.END: "frame",
    Control.READY: "ready",
    Control.COMMAND: "command",
    Control.REPLY: "reply",
}


@dataclass(frozen=True)
class Symbols:
    """A row of symbols: ``values`` has one or None for each cycle. ``frames``: commands and replies are named below."""

    name: str
    note: str
    values: list
    frames: bool = False


@dataclass(frozen=True)
class States:
    """A row of what something holds: a number or None for each cycle; ``text`` is the format of a number."""

    name: str
    note: str
    values: list
    text: str


@dataclass(frozen=True)
class Bits:
    """A row of one bit."""

    name: str
    note: str
    values: list


@dataclass(frozen=True)
class Measure:
    """A distance between two cycles, told in a line of its own. ``what`` it is."""

    begin: int
    end: int
    what: str


def command_name(opcode, parameter):
    """The words of the table of commands, with the port if the command names one."""
    row = BY_OPCODE[opcode]
    return f"{row.name}, port {parameter}" if row.parameter.endswith("port") else row.name


def frames(values):
    """Commands and replies in a list of symbols and None: [(cycle of the first, of the last, its four symbols)].

    Symbols inside of one may be apart; a ready signal inside belongs to no frame.
    """
    found, under_way = [], []
    for cycle, symbol in enumerate(values):
        if symbol is None or symbol == Control.READY:
            continue
        if symbol in (Control.COMMAND, Control.REPLY):
            under_way = [(cycle, symbol)]
        elif under_way and not is_control(symbol):
            under_way.append((cycle, symbol))
            if len(under_way) == COMMAND_LENGTH:
                found.append((under_way[0][0], cycle, [item for _, item in under_way]))
                under_way = []
        else:
            under_way = []
    return found


def _kinds(values):
    """The colour of each symbol."""
    kinds = [None if symbol is None else _KINDS.get(symbol, "data") for symbol in values]
    for begin, end, (control, *_) in frames(values):
        for cycle in range(begin, end + 1):
            if kinds[cycle] == "data":
                kinds[cycle] = _KINDS[control]
    return kinds


class _Columns:
    """Where each cycle stands: cycles in which nothing happens are left out."""

    def __init__(self, rows, first, last, zero):
        self.zero = zero
        self.first, self.last = first, last
        busy = {
            cycle
            for cycle in range(first, last + 1)
            for row in rows
            if isinstance(row, Symbols)
            and row.values[cycle] is not None
            or cycle > first
            and not isinstance(row, Symbols)
            and row.values[cycle] != row.values[cycle - 1]
        }
        kept = {first, last} | {near for cycle in busy for near in (cycle - 1, cycle, cycle + 1)}
        shown = [cycle for cycle in range(first, last + 1) if cycle in kept]
        shown = [
            cycle
            for cycle in range(first, last + 1)
            if cycle in kept or any(b - a <= _QUIET + 1 and a < cycle < b for a, b in zip(shown, shown[1:]))
        ]
        self.cycles = shown
        self.left, self.gaps = {}, []
        x = _LEFT
        for before, cycle in zip([None, *shown], shown):
            if before is not None and cycle != before + 1:
                self.gaps.append((x, x + _GAP, cycle - before - 1))
                x += _GAP
            self.left[cycle] = x
            x += _CELL
        self.right = x

    def runs(self, values):
        """Stretches with one value: (left, right, value)."""
        found = []
        for cycle in self.cycles:
            begin, end = self.left[cycle], self.left[cycle] + _CELL
            if found and found[-1][2] == values[cycle]:
                found[-1][1] = end
            else:
                found.append([found[-1][1] if found else begin, end, values[cycle]])
        return found


def draw(name, title, description, rows, measures, zero, first, last):
    """The Drawing. Cycle ``zero`` bears number 0; cycles ``first`` to ``last`` are shown."""
    columns = _Columns(rows, first, last, zero)
    picture = Drawing(name, title, description, columns.right + 16)
    picture.words(16, 26, title, size=14, bold=True)
    heights = [_HIGH + 16 + (20 if isinstance(row, Symbols) and row.frames else 0) for row in rows]
    bottom = _TOP + sum(heights) + 26 * len(measures)
    picture.words(16, _TOP - 6, "cycle", size=11, colour="soft")
    for cycle in columns.cycles:
        middle = columns.left[cycle] + _CELL / 2
        picture.words(middle, _TOP - 6, str(cycle - zero), size=11, colour="soft", anchor="middle")
        picture.line([(columns.left[cycle], _TOP), (columns.left[cycle], bottom)], "rule", 1)
    picture.line([(columns.right, _TOP), (columns.right, bottom)], "rule", 1)
    for cycle in sorted({at for measure in measures for at in (measure.begin, measure.end)}):
        x = columns.left[cycle]
        picture.line([(x, _TOP), (x, bottom)], "command-line", 1, dashed=True)
    y = _TOP + 8
    for row, height in zip(rows, heights):
        picture.words(16, y + 11, row.name, size=12, mono=True)
        picture.words(16, y + 25, row.note, size=11, colour="soft")
        {Symbols: _symbols, States: _states, Bits: _bits}[type(row)](picture, columns, row, y)
        y += height
    for left, right, count in columns.gaps:
        picture.box(left + 1, _TOP, right - left - 2, bottom - _TOP, "paper", "none", 0)
        picture.words((left + right) / 2, _TOP - 6, "…", size=11, colour="soft", anchor="middle")
        for x in (left + 4, right - 4):
            picture.line([(x, _TOP), (x, bottom)], "rule", 1, dashed=True)
    for measure in measures:
        _measure(picture, columns, measure, y)
        y += 26
    return picture


def _symbols(picture, columns, row, y):
    kinds = _kinds(row.values)
    middle = y + _HIGH / 2
    picture.line([(_LEFT, middle), (columns.right, middle)], "rule", 1.2)
    for cycle in columns.cycles:
        if row.values[cycle] is None:
            continue
        symbol, kind = row.values[cycle], kinds[cycle]
        text = _NAMES[symbol] if symbol in _NAMES else f"{symbol:02X}"
        left = columns.left[cycle]
        picture.box(left + 1, y, _CELL - 2, _HIGH, kind, f"{kind}-line", 4)
        picture.words(left + _CELL / 2, middle + 4, text, 10.5, f"{kind}-line", "middle", mono=not is_control(symbol))
    if row.frames:
        for begin, end, (control, opcode, hub, value) in frames(row.values):
            if begin not in columns.left or end not in columns.left:
                continue
            left, right = columns.left[begin] + 2, columns.left[end] + _CELL - 2
            low = y + _HIGH + 5
            kind = _KINDS[control]
            picture.line([(left, low - 3), (left, low), (right, low), (right, low - 3)], f"{kind}-line", 1)
            what = command_name(opcode, value) if control == Control.COMMAND else f"done: {value}"
            picture.words((left + right) / 2, low + 13, what, 11, f"{kind}-line", "middle")


def _states(picture, columns, row, y):
    for left, right, value in columns.runs(row.values):
        if value is None:
            middle = y + _HIGH / 2
            picture.line([(left, middle), (right, middle)], "rule", 1.2)
        else:
            picture.box(left, y + 2, right - left, _HIGH - 4, "box", "soft", 4)
            cuts = [left, *(x for gap in columns.gaps for x in gap[:2] if left < x < right), right]
            begin, end = max(zip(cuts[::2], cuts[1::2]), key=lambda part: part[1] - part[0])
            picture.words((begin + end) / 2, y + _HIGH / 2 + 4, row.text.format(value), 11, anchor="middle")


def _bits(picture, columns, row, y):
    points = []
    for left, right, value in columns.runs(row.values):
        level = y + (3 if value else _HIGH - 3)
        points += [(left, level), (right, level)]
    picture.line(points, "ink", 1.5)


def _measure(picture, columns, measure, y):
    """An arrow from the left edge of one cycle to that of another, and its length."""
    left, right = columns.left[measure.begin], columns.left[measure.end]
    middle = y + 12
    picture.line([(left, middle), (right, middle)], "command-line", 1.4, head=True, tail=True)
    count = measure.end - measure.begin
    text = f"{measure.what}: {count} cycle{'s' * (count != 1)}"
    wide = width_of(text, 13)
    begin = right + 6 if right + 6 + wide < picture.width else left - 6 - wide
    picture.box(begin, y + 2, wide, 20, "paper", "none", 0)
    picture.words(begin + wide / 2, middle + 4, text, 12, "command-line", "middle", bold=True)
