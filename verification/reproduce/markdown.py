"""The table of ``nectar reproduce`` as the page ``docs/results.md``. It names nothing of the machine that measured."""

from .facts import quantity
from .page import GROUPS

__all__ = ["COLUMNS", "markdown"]

#: Heads of the columns.
COLUMNS = ("figure", "what", "paper", "here", "difference", "verdict", "measured on")
_HEAD = """# Results

`nectar reproduce --markdown docs/results.md` measures the figures of the papers and writes this page. It takes some
minutes. [Figures of the papers](reproduce.md) tells how each figure is measured, and which verdict it gets.

All times are simulated, so they do not depend on the machine on which the command runs. D is *The Design of Nectar*
(1989), N is *Network-Based Multicomputers*; the number behind the letter is the section.
"""


def _cells(fact, found):
    return (
        fact.id,
        f"{fact.what} ({fact.source})",
        fact.asked,
        quantity(found.value, fact.unit),
        fact.difference(found),
        fact.verdict(found).value,
        found.how,
    )


def _line(cells):
    return f"| {' | '.join(str(cell).replace('|', '/') for cell in cells)} |"


def markdown(rows):
    """The text of the page. ``rows``: (Fact, Found) of each figure."""
    parts = [_HEAD]
    titles = {**GROUPS, "": "Other machines"}
    for letter, title in titles.items():
        group = [row for row in rows if (row[0].id[0] if row[0].id[0] in GROUPS else "") == letter]
        if group:
            lines = [_line(COLUMNS), f"|{'---|' * len(COLUMNS)}", *(_line(_cells(*row)) for row in group)]
            parts.append("\n".join([f"## {title}", "", *lines, ""]))
    return "\n".join(parts)
