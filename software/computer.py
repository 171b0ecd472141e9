"""How computers keep numbers: the order of bytes, the size of a word. "The Design of Nectar" (1989), section 6.3:
heterogeneous nodes and memories must be accommodated."""

from dataclasses import dataclass

__all__ = ["CAB", "Computer"]

_ORDERS = {"big": ">", "little": "<"}


@dataclass(frozen=True, slots=True)
class Computer:
    """How a computer keeps numbers: ``order`` of the bytes ("big" or "little"), ``word_bits`` of a word (32 or 64)."""

    order: str
    word_bits: int

    def __post_init__(self):
        if self.order not in _ORDERS or self.word_bits not in (32, 64):
            raise ValueError(f"a computer has the order 'big' or 'little', and words of 32 or 64 bits, not {self}")

    def format(self, type):
        """The ``struct`` format of one number of ``type``: a letter of ``struct`` that stands for a number, or
        "word"."""
        letter = {32: "I", 64: "Q"}[self.word_bits] if type == "word" else type
        if len(letter) != 1 or letter not in "bBhHiIlLqQfd":
            raise ValueError(f"a type is 'word' or one of the letters b B h H i I l L q Q f d of struct, not {type!r}")
        return _ORDERS[self.order] + letter


#: A CAB's SPARC.
CAB = Computer("big", 32)
