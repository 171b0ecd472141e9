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


def test_the_program_writes_the_rows_that_it_is_asked_for(builds, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(results, "versions", lambda packages: dict.fromkeys(packages, "1.0"))
    builds(60.0)
    path = tmp_path / "page.md"
    words = ["--only", "ulx3s", "--tops", "hub", "--profiles", "modern,prototype", str(path)]
    monkeypatch.setattr("sys.argv", ["results", *words])
    assert results.main() == 0
    lines = [line for line in path.read_text().splitlines() if line.startswith("| ulx3s ") and "| 60 |" in line]
    assert len(lines) == 2 and all(line.startswith("| ulx3s | hub | profile ") for line in lines)
    assert capsys.readouterr().err.splitlines() == ["ulx3s hub modern", "ulx3s hub prototype"]


def test_a_scheduler_that_is_not_there_leaves_the_page_as_it_is(monkeypatch, tmp_path, capsys):
    def spread(*words, scheduler, **more):
        raise results.SpreadError(f"no Dask scheduler answers at {scheduler}")

    monkeypatch.setattr(results, "spread", spread)
    monkeypatch.setattr("sys.argv", ["results", "--scheduler", "tcp://host:1", str(tmp_path / "page.md")])
    with pytest.raises(SystemExit) as caught:
        results.main()
    assert caught.value.code == 2 and not (tmp_path / "page.md").exists()
    assert "no Dask scheduler answers at tcp://host:1" in capsys.readouterr().err
