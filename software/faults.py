"""Faults on demand: what can be made to go wrong, as data, as text, and from files. ``docs/faults.md`` specifies it.

``FaultList`` (``software.faultlist``), which programs have as ``system.faults``, puts them into a machine. Plain data:
no simulator here."""

import hashlib
import math
import re
import tomllib
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation

from .errors import FaultError

__all__ = [
    "Fault",
    "KINDS",
    "SYMBOL_FAULTS",
    "FIBER_FAULTS",
    "LINE_FAULTS",
    "BOARD_FAULTS",
    "load",
    "directions",
    "key",
    "threshold",
]

#: What a symbol can be struck by, what else a fiber, and what a board.
SYMBOL_FAULTS = ("errors", "lost", "doubled")
FIBER_FAULTS = (*SYMBOL_FAULTS, "cut", "delay")
#: What a link of lines can be struck by.
LINE_FAULTS = ("errors", "lost", "cut")
BOARD_FAULTS = ("disable", "reset", "stop")
#: What symbols may be chosen by; the last two are frames.
KINDS = ("data", "start", "end", "ready", "command", "reply")
FRAMES = KINDS[-2:]

_UNITS = {"ps": 1, "ns": 10**3, "us": 10**6, "\u00b5s": 10**6, "\u03bcs": 10**6, "ms": 10**9, "s": 10**12}
_TIME = re.compile(r"(\d+(?:\.\d*)?|\.\d+) *([a-z\u00b5\u03bc]+)")
#: Latest time that a simulation counts to, in picoseconds.
_LATEST = 2**63 - 1
_LARGEST = 2**62


@dataclass(frozen=True)
class Fault:
    """A fault, checked. Times in picoseconds of simulated time; see the page for what each member means.

    Raises FaultError.
    """

    where: str
    what: str
    kind: str | None = None
    rate: float | None = None
    nth: int = 1
    times: int = 1
    length: int = 1
    at_ps: int | None = None
    for_ps: int | None = None
    delay_ps: int = 0

    def __post_init__(self):
        what = self.what
        if what not in (*FIBER_FAULTS, *BOARD_FAULTS):
            raise FaultError(f"there is no fault {what!r}; there are {', '.join((*FIBER_FAULTS, *BOARD_FAULTS))}")
        if not isinstance(self.where, str) or not self.where:
            raise FaultError(f"{what}: say where, as in CAB1-HUB1.P0:{what}")
        if self.kind is not None and (what not in SYMBOL_FAULTS or self.kind not in KINDS):
            raise FaultError(
                f"{what}-{self.kind}: there is no such fault; {', '.join(SYMBOL_FAULTS)} may be of {', '.join(KINDS)}"
            )
        if self.rate is not None and (
            isinstance(self.rate, bool) or not isinstance(self.rate, (int, float)) or not 0 <= self.rate <= 1
        ):
            raise FaultError(f"{what}: a rate is 0 to 1, not {self.rate!r}")
        for name in ("nth", "times", "length"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _LARGEST:
                raise FaultError(f"{what}: {name} is a whole number from 1 on, not {value!r}")
        for name, least in (("at_ps", 0), ("for_ps", 1), ("delay_ps", 1 if what == "delay" else 0)):
            value = getattr(self, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _LARGEST
            ):
                raise FaultError(
                    f"{what}: {name[:-3]} is a time {'from 0 on' if not least else 'above 0'}, not {value!r} ps"
                )
        used = {item.name for item in fields(self)[3:] if getattr(self, item.name) != item.default}
        known = {"at_ps", "for_ps"} - ({"for_ps"} if what == "reset" else set())
        known |= (
            {"rate", "nth", "times", "length"} if what in SYMBOL_FAULTS else {"delay_ps"} if what == "delay" else set()
        )
        for name in sorted(used - known):
            raise FaultError(f"{what} has no {name.removesuffix('_ps')}")
        if self.rate is not None and (self.nth, self.times) != (1, 1):
            raise FaultError(f"{what}: give a rate, or nth and times, not both")
        if self.length > 1 and self.kind in FRAMES:
            raise FaultError(f"{what}-{self.kind}: a frame is struck as a whole, leave length out")

    def __str__(self):
        text = f"{self.where}:{self.what}{f'-{self.kind}' if self.kind else ''}"
        if self.rate is not None:
            text += f"={self.rate:g}"
        if self.what == "delay":
            text += f"={_time_text(self.delay_ps)}"
        for name in ("nth", "times", "length"):
            if getattr(self, name) != 1:
                text += f",{name}={getattr(self, name)}"
        for name in ("at_ps", "for_ps"):
            if getattr(self, name) is not None:
                text += f",{name[:-3]}={_time_text(getattr(self, name))}"
        return text

    @classmethod
    def parse(cls, text):
        """The fault written as ``text``, as in ``CAB1-HUB1.P0:errors=1e-5,at=1ms``."""
        where, colon, rest = text.partition(":")
        if not colon or not where.strip():
            raise FaultError(
                "a fault is written as WHERE:WHAT, as in CAB1-HUB1.P0:errors=1e-5, or is the name of a .toml file"
            )
        first, *others = (item.strip() for item in rest.split(","))
        what, equals, value = (part.strip() for part in first.partition("="))
        values = {"delay" if what == "delay" else "rate": value} if equals else {}
        for item in others:
            name, equals, value = (part.strip() for part in item.partition("="))
            if not equals or name not in _KEYS:
                raise FaultError(
                    f"{item or 'nothing'!r} between commas: the keys are {', '.join(f'{name}=' for name in _KEYS)}"
                )
            if name in values:
                raise FaultError(f"{name} is given twice")
            values[name] = value
        return cls.of(where.strip(), what, {name: _value(name, value) for name, value in values.items()})

    @classmethod
    def of(cls, where, what, values):
        """The fault with the keys of text and files: ``rate``, ``nth``, ..., ``at``, ``for``, ``delay`` (these three
        in picoseconds)."""
        what, dash, kind = what.partition("-")
        if what == "delay" and "delay" not in values:
            raise FaultError("delay: say how long, as in delay=5us")
        if what not in SYMBOL_FAULTS and "rate" in values:
            raise FaultError(f"{what} has no rate")
        return cls(
            where, what, kind if dash else None, **{_MEMBERS.get(name, name): value for name, value in values.items()}
        )


_KEYS = ("nth", "times", "length", "at", "for")
_MEMBERS = {"at": "at_ps", "for": "for_ps", "delay": "delay_ps"}


def _value(name, text):
    """The value of a key, from text."""
    if name in _MEMBERS:
        return _time(name, text)
    try:
        return float(text) if name == "rate" else int(text)
    except ValueError:
        raise FaultError(f"{name}={text}: not a {'' if name == 'rate' else 'whole '}number") from None


def _time(name, text):
    match = _TIME.fullmatch(text) if isinstance(text, str) else None
    if match is None or match[2] not in _UNITS:
        raise FaultError(f"{name}={text}: not a time; write a number and ps, ns, us, ms or s, as in 10ms")
    try:
        time = Decimal(match[1]) * _UNITS[match[2]]
    except InvalidOperation:
        time = Decimal(_LATEST)
    if time > _LARGEST:
        raise FaultError(f"{name}={text}: longer than can be simulated")
    return round(time)


def _time_text(ps):
    unit, size = max(
        ((unit, size) for unit, size in _UNITS.items() if unit.isascii() and not ps % size), key=lambda item: item[1]
    )
    return f"{ps // size}{unit}"


def load(text):
    """The faults that ``text`` stands for: one, written as text, or those in a ``.toml`` file. Raises FaultError
    with ``text`` in front."""
    try:
        return _file(text) if text.endswith(".toml") else [Fault.parse(text)]
    except FaultError as error:
        raise FaultError(f"{text}: {error}") from None


def _file(path):
    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
    except OSError as error:
        raise FaultError(f"cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise FaultError(f"no valid TOML: {error if isinstance(error, ValueError) else 'nested too deeply'}") from None
    entries = table.pop("faults", None)
    if table or not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise FaultError("the file must hold [[faults]], one for each fault, and nothing else")
    return [_entry(number, entry) for number, entry in enumerate(entries, 1)]


def _entry(number, entry):
    values = dict(entry)
    where, what = values.pop("where", None), values.pop("what", None)
    try:
        if not isinstance(where, str) or not isinstance(what, str):
            raise FaultError('give its where and what, as in where = "CAB1-HUB1.P0", what = "cut"')
        known = ("rate", *_KEYS, "delay")
        for name in values:
            if name not in known:
                raise FaultError(f"there is no key {name!r}; known are where, what, {', '.join(known)}")
        return Fault.of(
            where, what, {name: _time(name, value) if name in _MEMBERS else value for name, value in values.items()}
        )
    except FaultError as error:
        raise FaultError(f"faults entry {number}: {error}") from None


def directions(where, fibers):
    """The directions (sending end, receiving end) among ``fibers`` that ``where`` names. Raises FaultError if there
    are none."""
    if where == "*":
        return list(fibers)
    arrow = where.partition("->") if "->" in where else None
    line = where.partition("-") if "-" in where and arrow is None else None
    found = [
        (a, b)
        for a, b in fibers
        if (arrow and (a, b) == (arrow[0], arrow[2])) or (line and {a, b} == {line[0], line[2]}) or where in (a, b)
    ]
    if not found:
        names = [f"{a}-{b}" for a, b in fibers[::2]]
        raise FaultError(
            f"there is no fiber {where}; there {'are' if len(names) > 1 else 'is'} {', '.join(names[:12])}"
            f"{' and more' if len(names) > 12 else ''}"
        )
    return found


def key(seed, ends, number):
    """The key of the random numbers of fault ``number`` (from 1) on the direction ``ends``: 64 bits."""
    return int.from_bytes(hashlib.sha256(f"{seed} {ends[0]}->{ends[1]} {number}".encode()).digest()[:8], "big")


def threshold(rate):
    """What 53 random bits must be below for a strike."""
    return math.floor(rate * 2**53 + 0.5)
