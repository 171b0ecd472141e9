"""A serial fiber in Python, written from docs/serial.md and the published table of FDDI: sender, cable, receiver.

Nothing here is taken from the RTL or its numbers. Bits are ints, 0 or 1, in lists, the first to be sent first.
"""

import math
import random
from collections import deque

__all__ = [
    "CODES",
    "IDLE",
    "RESERVED",
    "VIOLATION",
    "WORD_OF",
    "WRONG",
    "SYMBOL_OF",
    "word_bits",
    "paced",
    "levels",
    "line_of",
    "random_symbols",
    "raw",
    "Cable",
    "sample",
    "Deserialiser",
    "ReceiverModel",
]

#: Five-bit symbols as ANSI X3.148 lists them.
CODES = {
    "0": "11110",
    "1": "01001",
    "2": "10100",
    "3": "10101",
    "4": "01010",
    "5": "01011",
    "6": "01110",
    "7": "01111",
    "8": "10010",
    "9": "10011",
    "A": "10110",
    "B": "10111",
    "C": "11010",
    "D": "11011",
    "E": "11100",
    "F": "11101",
    "Q": "00000",
    "I": "11111",
    "H": "00100",
    "J": "11000",
    "K": "10001",
    "T": "01101",
    "R": "00111",
    "S": "11001",
}
IDLE, RESERVED, VIOLATION = 0x100, 0x107, 0x1FF
#: Nine-bit symbol -> bits of its word, a string; every word that may be sent.
WORD_OF = {byte: "".join(CODES[digit] for digit in f"{byte:02X}") for byte in range(256)}
WORD_OF |= {
    code: CODES[pair[0]] + CODES[pair[1]]
    for code, pair in {
        0x100: "JK",
        0x102: "TT",
        0x103: "TS",
        0x104: "IH",
        0x105: "TR",
        0x106: "SR",
        0x107: "SS",
    }.items()
}
SYMBOL_OF = {bits: symbol for symbol, bits in WORD_OF.items()}
#: Every symbol that a board sends, but idle.
_BOARD = [*range(256), 0x102, 0x103, 0x104, 0x105, 0x106]

#: Words that are none, strings, but those that look like a line without light.
WRONG = [
    word
    for word in (f"{number:010b}" for number in range(1024))
    if word not in SYMBOL_OF and "0000" not in word and not word.startswith("000") and not word.endswith("000")
]


def word_bits(symbols):
    """The bits of all symbols, before NRZI."""
    return [int(bit) for symbol in symbols for bit in WORD_OF.get(symbol, WORD_OF[RESERVED])]


def paced(symbols, interval):
    """The symbols as a sender with this interval sends them that has one in every slot: with two idles behind each
    ``interval`` of them."""
    sent = []
    for place in range(0, len(symbols), interval):
        sent += [*symbols[place : place + interval], IDLE, IDLE]
    return sent


def levels(bits, level=0):
    """NRZI: the level of each bit; a 1 changes it."""
    found = []
    for bit in bits:
        level ^= bit
        found.append(level)
    return found


def random_symbols(count, idle=0.0):
    """Symbols that a board may send, each an idle with the given probability."""
    return [IDLE if random.random() < idle else random.choice(_BOARD) for _ in range(count)]


def raw(words):
    """Bits of symbols (ints) and of words that are none (strings)."""
    return [int(bit) for word in words for bit in (word if isinstance(word, str) else WORD_OF[word])]


def line_of(symbols):
    """Levels of the line for symbols, one for each bit."""
    return levels(word_bits(symbols))


class Cable:
    """What a fiber and a distant clock make of levels.

    ``ppm``: the sender's clock is so much faster than the receiver's. ``jitter``: each change of the level comes early
    or late by up to so much of a bit, drawn evenly, or, with ``period`` (bits), as a sine of that period. ``inverted``:
    light is taken for dark."""

    def __init__(self, ppm=0.0, jitter=0.0, period=None, inverted=False, phase=None):
        self.ppm, self.jitter, self.period, self.inverted = ppm, jitter, period, inverted
        self.phase = random.random() if phase is None else phase

    def moved(self, number):
        """How late the change before bit ``number`` comes, in bits."""
        if self.period:
            return self.jitter * math.sin(2 * math.pi * number / self.period)
        return random.uniform(-self.jitter, self.jitter)

    def __call__(self, line, oversampling):
        """The levels of the bits ``line`` in ``oversampling`` samples for each bit of the receiver's clock."""
        step = (1 + self.ppm * 1e-6) / oversampling
        found, when, number, level = [], self.phase, 0, 0
        change = 0.0
        while number < len(line):
            if when < change:
                found.append(level ^ self.inverted)
                when += step
            else:
                level = line[number]
                number += 1
                while number < len(line) and line[number] == level:
                    number += 1
                change = number + (self.moved(number) if number < len(line) else 0)
        while when < len(line):
            found.append(level ^ self.inverted)
            when += step
        return found


def sample(found, samples):
    """Samples, so many of them in one int, the first in bit 0."""
    return [
        sum(bit << n for n, bit in enumerate(found[place : place + samples]))
        for place in range(0, len(found) - samples + 1, samples)
    ]


class Deserialiser:
    """Words out of bits behind NRZI. ``push`` takes one bit and returns (word, pair, moved) or None; ``quiet`` tells
    of ten bits without a change."""

    def __init__(self):
        self.last = deque("0" * 10, maxlen=10)  # at the beginning as behind a dark line
        self.place, self.since = 0, 10**6
        self.quiet = False

    def push(self, bit):
        self.last.append(str(bit))
        self.place += 1
        self.since += 1
        ten = "".join(self.last)
        self.quiet = ten == "0" * 10
        pair = ten == WORD_OF[IDLE] and self.since == 10
        if ten == WORD_OF[IDLE]:
            self.since = 0
        due = self.place == 10
        if not due and not pair:
            return None
        self.place = 0
        return ten, pair, pair and not due


class ReceiverModel:
    """What docs/serial.md says that a receiver delivers; ``push`` takes a level. ``delivered``, ``violations``,
    ``losses``, ``up`` tell."""

    def __init__(self, trial=32, worse=4, worst=15):
        self.words = Deserialiser()
        self.numbers = trial, worse, worst
        self.level = self.score = self.violations = self.losses = 0
        self.state = "search"
        self.delivered = []

    @property
    def up(self):
        """Whether symbols are delivered."""
        return self.state == "up"

    def push(self, level):
        """Takes the level of one bit."""
        found = self.words.push(level ^ self.level)
        self.level = level
        word, pair, moved = found or (None, False, False)
        self._judge(word, moved)
        if pair and (self.state == "search" or moved):
            self.state, self.score = "trial", 0

    def _judge(self, word, moved):
        trial, worse, worst = self.numbers
        symbol = None if word is None else SYMBOL_OF.get(word, VIOLATION)
        if self.state == "trial":
            if self.words.quiet or symbol == VIOLATION:
                self.state = "search"
            elif symbol is not None:
                self.score += 1
                if self.score == trial:
                    self.state, self.score = "up", 0
        elif self.state == "up":
            self.violations += symbol == VIOLATION
            if self.words.quiet or moved or symbol == VIOLATION and self.score + worse > worst:
                self.state = "search"
                self.losses += 1
                self.delivered.append(VIOLATION)
                return
            if symbol == VIOLATION:
                self.score += worse
            elif symbol is not None:
                self.score = max(0, self.score - 1)
            if symbol not in (None, IDLE):
                self.delivered.append(symbol)
