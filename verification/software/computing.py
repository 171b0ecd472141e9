"""The tables of docs/computing.md, made from ``software.arithmetic`` and ``software.ipsc2.arithmetic``.

``python -m nectar.verification.software.computing`` writes them into the page."""

from dataclasses import asdict
from pathlib import Path

from nectar.software.arithmetic import ARITHMETIC, CPU_MHZ
from nectar.software.ipsc2.arithmetic import I387

__all__ = ["PAGE", "table", "written"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "computing.md"
#: What stands before and behind each table → its figures.
_TABLES = {"operations": ARITHMETIC, "operations of a node": I387}


def table(figures):
    """A table, as it stands in the page, of an Arithmetic."""
    lines = ["| operation | cycles | us | what it is, source |", "|---|---|---|---|"]
    for name, cycles in asdict(figures).items():
        lines.append(f"| `{name}` | {cycles} | {cycles / CPU_MHZ:.3f} | {figures.reason(name)} |")
    return "\n".join(lines) + "\n"


def written(page):
    """The text of a page with its tables as they should be."""
    for name, figures in _TABLES.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        before, rest = page.split(begin)
        page = before + begin + "\n" + table(figures) + "\n" + end + rest.split(end)[1]
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
