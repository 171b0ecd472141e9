"""Sequence charts: what boards send each other, a line for each frame, from top to bottom in the order of sending."""

from dataclasses import dataclass

from .drawing import Drawing, width_of

__all__ = ["Message", "draw"]

_LEFT, _TOP, _STEP = 66, 52, 29


@dataclass(frozen=True)
class Message:
    """A frame on a fiber.

    ``time_ps`` at which its first symbol starts on the wire; ``kind``: a colour of the drawing.
    """

    time_ps: int
    sender: str
    receiver: str
    text: str
    kind: str


def draw(name, title, description, boards, messages):
    """The Drawing: a vertical line for each of ``boards`` in their order; times in microseconds from the first
    message."""
    apart = _apart(boards, messages)
    x = {board: _LEFT + 50 + number * apart for number, board in enumerate(boards)}
    picture = Drawing(name, title, description, max(x.values()) + 54)
    picture.words(16, 26, title, size=14, bold=True)
    bottom = _TOP + 46 + _STEP * len(messages)
    picture.words(16, _TOP + 12, "time", 11, "soft")
    picture.words(16, _TOP + 25, "in µs", 11, "soft")
    for board, middle in x.items():
        picture.line([(middle, _TOP + 26), (middle, bottom)], "soft", 1)
        picture.box(middle - 36, _TOP, 72, 26)
        picture.words(middle, _TOP + 18, board, 13, anchor="middle", bold=True)
    y = _TOP + 34
    for message in messages:
        y += _STEP
        begin, end = x[message.sender], x[message.receiver]
        colour = f"{message.kind}-line"
        picture.words(56, y + 4, f"{(message.time_ps - messages[0].time_ps) / 1e6:.2f}", 11, "soft", "end", mono=True)
        picture.line([(begin, y), (end, y)], colour, 1.5, head=True)
        wide = width_of(message.text, 12)
        middle = (begin + end) / 2
        picture.box(middle - wide / 2, y - 16, wide, 14, "paper", "none", 0)
        picture.words(middle, y - 5, message.text, 12, colour, "middle")
    return picture


def _apart(boards, messages):
    """Pixels between two lines: room for the longest words between neighbours."""
    steps = [
        width_of(message.text, 12) / abs(boards.index(message.sender) - boards.index(message.receiver))
        for message in messages
    ]
    return max(steps) + 22
