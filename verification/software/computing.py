"""The table of docs/computing.md, made from ``software.arithmetic``.

``python -m nectar.verification.software.computing`` writes it into the page."""

from dataclasses import asdict
from pathlib import Path

from nectar.software.arithmetic import ARITHMETIC, Arithmetic, Work

__all__ = ["PAGE", "table", "written"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "computing.md"
_BEGIN, _END = "<!-- operations -->\n", "<!-- end of operations -->\n"


def table():
    """The table, as it stands in the page."""
    lines = ["| operation | cycles | us | what it is, source |", "|---|---|---|---|"]
    for name, cycles in asdict(ARITHMETIC).items():
        lines.append(f"| `{name}` | {cycles} | {Work(**{name: 1}).microseconds:.3f} | {Arithmetic.reason(name)} |")
    return "\n".join(lines) + "\n"


def written(page):
    """The text of a page with its table as it should be."""
    before, rest = page.split(_BEGIN)
    return before + _BEGIN + "\n" + table() + "\n" + _END + rest.split(_END)[1]


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
