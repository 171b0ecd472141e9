"""Bench of hdl/link/code4b5b.py: the table is the published one, and the code has the properties that the receiver
relies on."""

import ast
from itertools import product

import pytest

from nectar.hdl.link import code4b5b
from nectar.hdl.link.code4b5b import DATA, LINE, PAIRS, RESERVED, SYMBOLS, SYNC, VIOLATION, WORDS, word
from nectar.hdl.link.symbol import Control
from nectar.verification.link.channel import CODES, SYMBOL_OF, WORD_OF

TEXTS = [f"{code:010b}" for code in WORDS.values()]


def test_the_table_is_that_of_fddi():
    """ANSI X3.148, table of symbols, typed a second time in the channel model."""
    ours = {f"{nibble:X}": f"{code:05b}" for nibble, code in enumerate(DATA)} | {
        name: f"{code:05b}" for name, code in LINE.items()
    }
    assert ours == CODES and len(set(ours.values())) == 24


def test_each_symbol_has_the_pair_of_the_specification():
    """docs/wire.md names the pairs."""
    assert PAIRS == {0x100: "JK", 0x102: "TT", 0x103: "TS", 0x104: "IH", 0x105: "TR", 0x106: "SR", 0x107: "SS"}
    assert set(Control) < set(PAIRS) and RESERVED not in set(Control) and VIOLATION not in PAIRS
    assert {symbol: f"{code:010b}" for symbol, code in WORDS.items()} == WORD_OF
    assert {f"{code:010b}": symbol for code, symbol in SYMBOLS.items()} == SYMBOL_OF and len(SYMBOLS) == 263


def test_every_symbol_is_sent_as_something():
    """docs/serial.md, "Code": a reserved code is sent as one that every receiver drops and counts."""
    for symbol in range(512):
        sent = SYMBOLS[word(symbol)]
        assert sent == (symbol if symbol < 256 or symbol in set(Control) else RESERVED)


@pytest.mark.parametrize("symbol", [-1, 512])
def test_more_than_nine_bits_are_refused(symbol):
    with pytest.raises(ValueError, match=f"a symbol has nine bits, 0 to 0x1ff, not {symbol:#x}"):
        word(symbol)


def test_the_level_changes_every_four_bits_at_least():
    """docs/serial.md, "Code": at most three bits in a row do not change the level, whatever is sent."""
    longest = max(len(run) for one, two in product(TEXTS, TEXTS) for run in (one + two).split("1"))
    assert longest == 3


def test_an_idle_looks_like_nothing_else():
    """docs/serial.md, "Code": no two words show the word of the idle in another place than their own."""
    idle = f"{SYNC:010b}"
    assert not [(one, two) for one, two in product(TEXTS, TEXTS) if idle in (one + two)[1:-1]]


def test_two_idles_at_another_place_take_several_wrong_bits():
    """docs/serial.md, "Errors": a false start of words in undamaged traffic is impossible; so many levels must be
    wrong for one."""
    pair = 2 * f"{SYNC:010b}"
    fewest = 20
    for shift in range(1, 10):
        # Cheapest stream of three words of which 20 bits stand at this place: word by word, the level before each being
        # wrong or not.
        cost = {0: 0, 1: 1}
        pieces = [("head", pair[: 10 - shift]), ("whole", pair[10 - shift : 20 - shift]), ("tail", pair[20 - shift :])]
        for kind, want in pieces:
            texts = {
                "head": {text[shift:] for text in TEXTS},
                "whole": set(TEXTS),
                "tail": {text[:shift] for text in TEXTS},
            }[kind]
            step = {}
            for text in texts:
                for level, spent in cost.items():
                    wrong, total = level, spent
                    for a, b in zip(text, want, strict=True):
                        wrong ^= a != b
                        total += wrong
                    step[wrong] = min(step.get(wrong, 99), total)
            cost = step
        fewest = min(fewest, *cost.values())
    assert fewest == 2


def outcomes():
    """What one level that is read wrong makes of a word: (kind before, kind after) -> how many of all (word, place)."""
    count = {}
    for text, symbol in SYMBOL_OF.items():
        for place in range(9):
            damaged = "".join(str(1 - int(bit)) if n in (place, place + 1) else bit for n, bit in enumerate(text))
            after = SYMBOL_OF.get(damaged, VIOLATION)
            kind = tuple(
                "violation" if one in (RESERVED, VIOLATION) else "control" if one > 255 else "data"
                for one in (symbol, after)
            )
            count[kind] = count.get(kind, 0) + 1
    return count


def test_what_one_wrong_level_does_is_what_the_specification_says():
    """docs/serial.md, "Errors": the distance of the code."""
    count = outcomes()
    assert count["data", "violation"] == 1195 and count["data", "data"] == 1108 and count["data", "control"] == 1
    assert (
        sum(count[kind] for kind in count if kind[0] == "control") == 54
        and count["control", "data"] == 1
        and ("control", "control") not in count
    )


def test_the_module_imports_nothing_of_the_hardware():
    """Software and tests read the numbers without an HDL library."""
    with open(code4b5b.__file__, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    assert {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)} == {"symbol"}
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
