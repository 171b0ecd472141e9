"""The table of docs/mpi-collectives.md of what combining two numbers costs, made from ``software.mpi.work``.

``python -m nectar.verification.software.mpi.combining`` writes it into the page."""

from pathlib import Path

from nectar.software.mpi.work import work_of

__all__ = ["PAGE", "written"]

PAGE = Path(__file__).resolve().parents[3] / "docs" / "mpi-collectives.md"
_BEGIN, _END = "<!-- combinations -->\n", "<!-- end of combinations -->\n"
_ROWS = {
    "MAX, MIN": "MAX",
    "SUM": "SUM",
    "PROD": "PROD",
    "LAND, LOR, LXOR": "LAND",
    "BAND, BOR, BXOR": "BAND",
}
_COLUMNS = {"32-bit integer": "i", "64-bit integer": "q", "float": "f", "double": "d", "double complex": "D"}


def _cycles(name, letter):
    there = letter in "iq" or name in ("SUM", "PROD") or name == "MAX" and letter != "D"
    return str(work_of(name, letter).cycles) if there else "–"


def _table():
    yield f"| operation | {' | '.join(_COLUMNS)} |"
    yield "|---" * (1 + len(_COLUMNS)) + "|"
    for row, name in _ROWS.items():
        yield f"| {row} | {' | '.join(_cycles(name, letter) for letter in _COLUMNS.values())} |"


def written(page):
    """The text of a page with its table as it should be."""
    before, rest = page.split(_BEGIN)
    return before + _BEGIN + "\n" + "\n".join(_table()) + "\n\n" + _END + rest.split(_END)[1]


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
