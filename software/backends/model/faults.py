"""Faults on demand in the pure-Python model: what they make of a piece of traffic. ``docs/faults.md``, "The pure-Python
model".

A piece is taken apart into its symbols only if one of them is struck.
"""

import math
import random

from ....hdl.link.code4b5b import DATA, VIOLATION
from ....hdl.link.symbol import COMMAND_LENGTH, Control

__all__ = ["FiberFaults", "frames"]

#: Code group of a half byte → the half byte.
_HALVES = {group: half for half, group in enumerate(DATA)}
_FOREVER = 2**63 - 1


def _damaged(symbol, bit):
    """``symbol`` with one of its ten code bits inverted."""
    if symbol > 0xFF:
        return VIOLATION
    shift = 4 if bit < 5 else 0
    half = _HALVES.get(DATA[symbol >> shift & 0xF] ^ 0x10 >> bit % 5)
    return VIOLATION if half is None else symbol & ~(0xF << shift) | half << shift


class _Rule:
    """A fault on one direction."""

    def __init__(self, fault, key, begin_ps, end_ps):
        self.fault = fault
        self.what = fault.what
        self.kind = fault.kind
        self.framed = fault.kind in ("command", "reply")
        self.begin = begin_ps
        self.until = _FOREVER if end_ps is None else end_ps
        self.hits = self.symbols = 0
        self.random = random.Random(key)
        self._left = 0  # of a burst
        self._gap = self._draw() if fault.rate is not None else fault.nth - 1  # eligible symbols until the next strike
        self._times = fault.times
        self._only = fault.kind if fault.kind in ("command", "reply", "ready") else None

    def count(self):
        """(hits, symbols)."""
        return self.hits, self.symbols

    def end(self, time_ps):
        """Ends it at ``time_ps``."""
        self.until = min(self.until, time_ps)

    def _draw(self):
        """Symbols passed over before the next that is struck: geometric."""
        rate = self.fault.rate
        if rate >= 1:
            return 0
        return math.floor(math.log(1 - self.random.random()) / math.log1p(-rate)) if rate else _FOREVER

    def passes(self, kind, start):
        """Whether it cannot concern a piece of that kind (as ``FiberFaults.strike`` has it) that starts at
        ``start``."""
        if start >= self.until:
            return True
        return not self._left and self._only is not None and self._only != kind

    def struck(self, low, high, length):
        """The symbols of a piece of ``length`` that it affects, if those from ``low`` to ``high`` are eligible."""
        found = set()
        if self._left:
            found.update(range(min(self._left, length)))
            self._left -= len(found)
        eligible = max(0, high - low)
        while self._gap < eligible:
            if self.fault.rate is None:
                self._times -= 1
                if self._times < 0:
                    self._gap = _FOREVER
                    break
            self.hits += 1
            first = low + self._gap
            last = first + self.fault.length
            found.update(range(first, min(last, length)))
            self._left = max(0, last - length)
            self._gap += 1 + (self._draw() if self.fault.rate is not None else 0)
        self._gap -= eligible
        return found


class FiberFaults:
    """All faults of one direction of a fiber.

    Parameters
    ----------
    symbol_ps, delay_ps : int
        The fiber's.
    """

    def __init__(self, symbol_ps, delay_ps):
        self.rules = []
        self._symbol_ps = symbol_ps
        self._delay_ps = delay_ps

    def add(self, fault, key, begin_ps, end_ps):
        """Adds a fault; returns what counts it and ends it."""
        rule = _Rule(fault, key, begin_ps, end_ps)
        self.rules.append(rule)
        return rule

    def strike(self, kind, start, length, data_low, data_high, begins, ends, symbols):
        """What becomes of ``length`` symbols, the first of which starts on the wire at ``start``.

        ``kind``: command, reply, ready or None for a stretch of a packet, whose bytes are those from ``data_low`` to
        ``data_high`` and which may have a start and an end. ``symbols()`` gives them. Returns (delay in ps, None if
        nothing else happens or a list of (symbol, its number))."""
        step = self._symbol_ps
        delay = 0
        for rule in self.rules:
            if rule.what == "delay" and rule.begin <= start < rule.until:
                delay += rule.fault.delay_ps
                rule.hits += length
                rule.symbols += length
        lost, doubled, wrong, again = set(), set(), [], False
        for rule in self.rules:
            if rule.what == "delay" or rule.passes(kind, start):
                continue
            low, high = -(-max(0, rule.begin - start) // step), min(length, -(-max(0, rule.until - start) // step))
            if rule.what == "cut":
                on_the_way = step + self._delay_ps + delay
                low = max(0, (rule.begin - on_the_way - start) // step + 1)
                if low < high:
                    lost.update(range(low, high))
                    rule.hits += high - low
                    rule.symbols += high - low
                continue
            if rule.framed:
                low, high = (0, 1) if rule.kind == kind and low == 0 < high else (0, 0)
            elif rule.kind is not None:
                span = {
                    "data": (data_low, data_high),
                    "start": (0, int(begins)),
                    "end": (length - ends, length),
                    "ready": (0, int(kind == "ready")),
                }[rule.kind]
                low, high = max(low, span[0]), min(high, span[1])
            found = rule.struck(low, high, min(length, -(-(rule.until - start) // step)))
            if not found:
                continue
            if rule.framed and rule.what != "errors":
                found = range(length)
            rule.symbols += len(found)
            if rule.what == "lost":
                lost.update(found)
            elif rule.what == "doubled":
                again |= rule.framed
                doubled.update(() if rule.framed else found)
            elif rule.framed:
                wrong.append((rule.random.randrange(length), rule.random.randrange(10)))
            else:
                wrong += [(number, rule.random.randrange(10)) for number in sorted(found)]
        if not (lost or doubled or wrong or again):
            return delay, None
        arriving = symbols()
        for number, bit in wrong:
            arriving[number] = _damaged(arriving[number], bit)
        left = [
            (symbol, number)
            for number, symbol in enumerate(arriving)
            if number not in lost
            for _ in range(1 + (number in doubled))
        ]
        return delay, left * (1 + again)


def frames(symbols):
    """Takes ``symbols``, a list of (symbol, number), for what a receiver sees in them.

    Yields (kind, bytes, whether it has a start, an end, number of the first symbol, of the last): kind is command,
    reply, ready or stretch."""
    frame, data, begins, first, last = None, bytearray(), False, None, None
    for symbol, number in symbols:
        if symbol <= 0xFF:
            if first is None:
                first = number
            data.append(symbol)
            last = number
            if frame and len(data) == COMMAND_LENGTH - 1:
                yield frame, bytes(data), False, False, first, number
                frame, data, first = None, bytearray(), None
        elif symbol == Control.READY:
            yield "ready", b"", False, False, number, number
        elif symbol == Control.END:
            if frame:
                frame, data, first = None, bytearray(), None
            yield "stretch", bytes(data), begins, True, number if first is None else first, number
            data, begins, first = bytearray(), False, None
        elif symbol in (Control.START, Control.COMMAND, Control.REPLY):
            if not frame and first is not None:
                yield "stretch", bytes(data), begins, False, first, last
            data, first, last = bytearray(), number, number
            begins = symbol == Control.START
            frame = {Control.COMMAND: "command", Control.REPLY: "reply"}.get(symbol)
    if not frame and first is not None:
        yield "stretch", bytes(data), begins, False, first, last
