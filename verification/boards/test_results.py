"""Claims about the page of results: rows stay until they are built again, and say what became of them."""

import pytest

from nectar.boards import results
from nectar.boards.build import Built, Missed, Refused


class Found:
    """What stands for a Design."""

    def __init__(self, board, top, *, parameters):
        self.parameters = {"ports": 4, "hub_id": 1, **parameters}


@pytest.fixture
def builds(monkeypatch):
    """Sets what building gives: a rate that is met, or an exception."""

    def interface(outcome):
        def build(found, *, seed, limit_s, progress):
            if isinstance(outcome, Exception):
                raise outcome
            built = Built(
                found, seed, {"COMB": 1, "FF": 2, "RAM": 3}, {"a": (50.0, outcome), "b": (20.0, 90.0)}, (), {}, {}
            )
            if outcome < 50:
                raise Missed("missed", built)
            return built

        monkeypatch.setattr(results, "build", build)

    monkeypatch.setattr(results, "design", Found)
    return interface


@pytest.mark.parametrize(
    "outcome, columns",
    [
        (60.0, ["profile modern, ports 4", "1", "2", "3", "50", "60", "1"]),
        (40.0, ["profile modern, ports 4", "1", "2", "3", "50", "40 missed", "1"]),
        (Refused("hub is too large"), ["profile modern, ports 4", *["-"] * 6]),
    ],
)
def test_a_row_says_what_became_of_it(builds, outcome, columns):
    builds(outcome)
    *found, built = results.row("ulx3s", "hub", "modern", None)
    assert found == columns and (": hub is too large" in built) == isinstance(outcome, Refused)


def test_a_page_keeps_its_rows_and_marks_what_is_missing(builds, monkeypatch):
    monkeypatch.setattr(results, "versions", lambda packages: dict.fromkeys(packages, "1.0"))
    builds(60.0)
    first = results.page({("ulx3s", "hub", "modern"): results.row("ulx3s", "hub", "modern", None)})
    builds(70.0)
    second = results.page(results.rows(first) | {("ulx3s", "cab", "-"): results.row("ulx3s", "cab", "-", None)})
    lines = [line for line in second.splitlines() if line.startswith("| ulx3s ") and "not built" not in line]
    assert len(lines) == 2 and "| 60 |" in lines[0] and "| 70 |" in lines[1]
    assert "| orangecrab | hub | profile modern | - | - | - | - | - | - | not built |" in second
    assert results.page(results.rows(second)) == second
