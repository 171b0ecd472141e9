"""What the benches of the serial fiber share: the start of a simulation, levels as samples, runs of symbols."""

import random

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from .channel import IDLE, SYMBOL_OF, WORD_OF, levels, word_bits

__all__ = ["WRONG", "begin", "random_symbols", "raw", "line_of"]

#: Every symbol that a board sends, but idle.
_BOARD = [*range(256), 0x102, 0x103, 0x104, 0x105, 0x106]

#: Words that are none, strings, but those that look like a line without light.
WRONG = [
    word
    for word in (f"{number:010b}" for number in range(1024))
    if word not in SYMBOL_OF and "0000" not in word and not word.startswith("000") and not word.endswith("000")
]


#: The clock's task, which ends with the test that has started it.
_clock = []


async def begin(dut, **inputs):
    """Clock (if this test has none yet), given inputs and reset; returns behind a falling edge, in a cycle without
    reset."""
    if not _clock or _clock[0].done():
        _clock[:] = [Clock(dut.clk, 10, unit="ns", impl="gpi").start(start_high=False)]
    for name, value in inputs.items():
        getattr(dut, name).value = value
    dut.rst.value = 1
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0


def random_symbols(count, idle=0.0):
    """Symbols that a board may send, each an idle with the given probability."""
    return [IDLE if random.random() < idle else random.choice(_BOARD) for _ in range(count)]


def raw(words):
    """Bits of symbols (ints) and of words that are none (strings)."""
    return [int(bit) for word in words for bit in (word if isinstance(word, str) else WORD_OF[word])]


def line_of(symbols):
    """Levels of the line for symbols, one for each bit."""
    return levels(word_bits(symbols))
