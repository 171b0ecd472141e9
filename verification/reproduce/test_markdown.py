"""``docs/results.md`` is what ``nectar reproduce --markdown`` writes, apart from what was measured."""

from nectar.verification.bench import ROOT
from nectar.verification.reproduce.catalogue import FACTS
from nectar.verification.reproduce.facts import Found, Verdict
from nectar.verification.reproduce.markdown import COLUMNS, markdown

PAGE = (ROOT / "docs" / "results.md").read_text()
HERE, DIFFERENCE = COLUMNS.index("here"), COLUMNS.index("difference")


def cells(line):
    """The cells of a line of a table; None for any other line."""
    return line[2:-2].split(" | ") if line.startswith("| ") else None


def read(fact, row):
    """What the page says was found."""
    number = row[HERE].removesuffix(fact.unit).removesuffix(fact.unit.removesuffix("s")).strip().replace(",", "")
    return Found(float(number) if "." in number else int(number), row[-1])


def blind(text):
    """The lines of a page without differences, which are those of figures with more digits than the page has."""
    rows = ((line, cells(line)) for line in text.splitlines())
    return [line if row is None else [*row[:DIFFERENCE], *row[DIFFERENCE + 1 :]] for line, row in rows]


def test_the_page_has_every_figure_in_the_form_that_the_command_gives_it():
    rows = {row[0]: row for row in map(cells, PAGE.splitlines()) if row and row[0] in FACTS}
    assert list(rows) == [line.split(" | ")[0][2:] for line in PAGE.splitlines() if line[2:].split(" | ")[0] in FACTS]
    found = [(fact, read(fact, rows[name])) for name, fact in FACTS.items()]
    assert blind(PAGE) == blind(markdown(found))
    assert all(fact.verdict(each) in (Verdict.HOLDS, Verdict.NO_FIGURE) for fact, each in found)
