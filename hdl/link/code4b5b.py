"""The line code of the serial fiber: 4B/5B with the symbols of FDDI, and which pair of them each nine-bit symbol is
sent as.

Plain Python that imports nothing of the hardware. Five-bit symbols are written as they are sent, leftmost bit first:
bit 4 of the number goes first. ``docs/serial.md`` explains it.

Source: ANSI X3.148 (FDDI physical layer protocol), the table of symbols; "The Design of Nectar" (1989), section 3.2,
names the TAXI chips, which use it. The pairs are those of ``docs/wire.md``; how reserved codes are sent and violations
told is ours."""

from .symbol import Control

__all__ = ["DATA", "LINE", "PAIRS", "RESERVED", "VIOLATION", "WORD_BITS", "SYNC", "WORDS", "SYMBOLS", "word"]

#: Bits of a symbol on the line: two five-bit symbols.
WORD_BITS = 10
#: Five-bit symbols of the nibbles 0 to 15.
# fmt: off
DATA = (0b11110, 0b01001, 0b10100, 0b10101, 0b01010, 0b01011, 0b01110, 0b01111,
        0b10010, 0b10011, 0b10110, 0b10111, 0b11010, 0b11011, 0b11100, 0b11101)
# fmt: on
#: The other five-bit symbols that FDDI names.
LINE = {"Q": 0b00000, "I": 0b11111, "H": 0b00100, "J": 0b11000, "K": 0b10001, "T": 0b01101, "R": 0b00111, "S": 0b11001}
#: What every reserved control code is sent as, and comes out as: TAXI command 7, which no receiver takes.
RESERVED = 0x107
#: The reserved code that stands for a word which is none: something was damaged. It is never sent.
VIOLATION = 0x1FF
#: Control code -> pair of five-bit symbols.
PAIRS = {
    Control.IDLE: "JK",
    Control.START: "TT",
    Control.END: "TS",
    Control.READY: "IH",
    Control.COMMAND: "TR",
    Control.REPLY: "SR",
    RESERVED: "SS",
}
#: Nine-bit symbol -> word of ten bits; all words that are ever sent.
WORDS = {byte: DATA[byte >> 4] << 5 | DATA[byte & 15] for byte in range(256)}
WORDS |= {int(code): LINE[first] << 5 | LINE[second] for code, (first, second) in PAIRS.items()}
#: Word -> nine-bit symbol. Any other word is a violation.
SYMBOLS = {code: symbol for symbol, code in WORDS.items()}
#: The word of the idle symbol. It stands in no stream of words in any other place, so that two of them tell where words
#: begin.
SYNC = WORDS[Control.IDLE]


def word(symbol):
    """The ten bits that ``symbol`` (int, 0 to 0x1FF) is sent as. Raises ValueError if it has more than nine bits."""
    if not 0 <= symbol <= 0x1FF:
        raise ValueError(f"a symbol has nine bits, 0 to 0x1ff, not {symbol:#x}")
    return WORDS.get(symbol, WORDS[RESERVED])
