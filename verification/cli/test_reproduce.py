"""``nectar reproduce``: table, JSON, page, exit code, wrong use."""

import json

import pytest

from nectar.cli import main
from nectar.verification.reproduce import catalogue, curves
from nectar.verification.reproduce.facts import Fact, Found, Rule


@pytest.fixture
def three(monkeypatch):
    """Three facts, one of which fails, and a curve."""
    facts = [
        Fact("T1", "a thing", 10, "us", Rule.AT_MOST, "D 1", lambda: Found(8.0, "by hand")),
        Fact("T2.a", "another", 10, "us", Rule.AT_LEAST, "D 1", lambda: Found(8.0, "by foot")),
        Fact("T3", "a third", 10, "us", Rule.EXACTLY, "D 1", lambda: Found(None, "no time")),
    ]
    monkeypatch.setattr(catalogue, "FACTS", {fact.id: fact for fact in facts})
    line = curves.Line("all", [(1, (1.5, 2.0)), (2, (2.5, 2.0))], ("software", "fiber"))
    curve = curves.Curve("curve", "A curve", "bytes", "us", lambda quick: [line], lambda lines: "rises")
    monkeypatch.setattr(curves, "CURVES", (curve,))


def test_the_table_says_what_holds_and_what_does_not(three, capsys):
    assert main(["reproduce"]) == 1
    out = capsys.readouterr().out
    assert "1 of 3 figures hold, 1 fail, 1 not measured" in out and "by hand" in out and "0.800" in out
    assert [line.split()[-1] for line in out.splitlines() if line.startswith("T")] == ["holds", "FAILS", "measured"]


def test_facts_are_chosen_by_number_or_name(three, capsys):
    assert main(["reproduce", "T1", "T3"]) == 0
    assert "1 of 2 figures hold, 0 fail, 1 not measured" in capsys.readouterr().out
    assert main(["reproduce", "T2"]) == 1
    assert main(["reproduce", "--list", "T2.a"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["T2.a", "another"]


def test_json_has_every_figure_and_every_curve(three, tmp_path):
    assert main(["reproduce", "--curves", "--json", str(tmp_path / "r.json")]) == 1
    results = {item["id"]: item for item in json.loads((tmp_path / "r.json").read_text())["results"]}
    assert [results[f"reproduce.{name}"]["ok"] for name in ("T1", "T2.a", "T3")] == [True, False, None]
    assert (
        results["reproduce.T1"] | {"value": 8.0, "unit": "us", "target": 10, "ratio": 0.8, "how": "by hand"}
        == results["reproduce.T1"]
    )
    assert results["reproduce.curve"]["lines"] == [
        {"name": "all", "parts": ["software", "fiber"], "points": [[1, [1.5, 2.0]], [2, [2.5, 2.0]]]}
    ]


def test_the_table_is_written_as_a_page_of_the_book(three, tmp_path):
    assert main(["reproduce", "--markdown", str(tmp_path / "r.md")]) == 1
    assert (tmp_path / "r.md").read_text().partition("## ")[2] == (
        "Other machines\n\n"
        "| figure | what | paper | here | difference | verdict | measured on |\n|---|---|---|---|---|---|---|\n"
        "| T1 | a thing (D 1) | at most 10 us | 8 us | 20 % below | holds | by hand |\n"
        "| T2.a | another (D 1) | at least 10 us | 8 us | 20 % below | FAILS | by foot |\n"
        "| T3 | a third (D 1) | 10 us |  |  | not measured | no time |\n"
    )


def test_the_page_is_written_whole(three, tmp_path):
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    assert main(["reproduce", "--html", str(tmp_path / "r.html")]) == 1
    text = (tmp_path / "r.html").read_text()
    assert text.endswith("</html>\n") and "A curve</b>rises<" in text and "by foot" in text


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("T9",), "there is no fact 'T9'; there are T1, T2.a, T3"),
        (("--markdown", "/nowhere/r.md"), "--markdown /nowhere/r.md cannot be written: there is no directory /nowhere"),
        (("--json", "x", "--markdown", "x"), "--markdown x: --json is the same file; give another name"),
        (("--html", "/nowhere/r.html"), "--html /nowhere/r.html cannot be written: there is no directory /nowhere"),
        (("--json", "/"), "--json / cannot be written: it is a directory"),
    ],
)
def test_wrong_use_is_one_line_before_anything_is_measured(three, capsys, arguments, words):
    assert main(["reproduce", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err == f"nectar: {words}\n" and not captured.out


@pytest.mark.parametrize("words", [["reproduce", "S4"], ["reproduce", "--list"], ["bench", "--list"]])
def test_no_package_of_the_tests_is_needed(nectar, tmp_path, words):
    """``make demo`` installs none of them."""
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    for name in ("cocotb", "hypothesis", "pytest"):
        (stubs / f"{name}.py").write_text(f"raise ModuleNotFoundError('{name} is for tests')")
    nectar.environment["PYTHONPATH"] = str(stubs)
    done = nectar(*words)
    assert done.returncode == 0, done.stderr


def test_a_figure_is_measured_from_the_command_line(nectar):
    done = nectar("reproduce", "H7", "H8")
    assert done.returncode == 0 and "3 of 3 figures hold, 0 fail, 0 not measured" in done.stdout
