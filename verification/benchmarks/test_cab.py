"""Claims about the benchmark of the CAB with all its users busy."""

import importlib.util
import json

import pytest

from nectar.cli import main
from nectar.verification.benchmarks import cab
from nectar.verification.benchmarks.outcome import NotInstalled

PARTS = ["fiber_out", "fiber_in", "vme", "total", "cpu", "protection"]


@pytest.mark.nightly
def test_all_users_reach_the_figures_of_the_papers(monkeypatch, tmp_path, capsys):
    """C1, C3, C4: simulated time, so no machine's load disturbs it."""
    monkeypatch.setenv("NECTAR_CACHE_DIR", str(tmp_path / "cache"))
    assert main(["bench", "cab", "--quick", "--json", str(tmp_path / "c.json")]) == 0
    results = {result["id"]: result for result in json.loads((tmp_path / "c.json").read_text())["results"]}
    assert list(results) == [f"bench.cab.{part}" for part in PARTS]
    for name, figure in cab.FIGURES.items():
        result = results[f"bench.cab.{name}"]
        assert result["ok"] and result["value"] == pytest.approx(result["measured"]["rate"] / figure)
    rates = results["bench.cab.cpu"]["measured"]
    assert rates["total"] == pytest.approx(sum(rates[name] for name in ("fiber_out", "fiber_in", "vme", "cpu")))
    assert results["bench.cab.cpu"]["value"] == rates["cpu"] > 66 - 12.5 - 12.5 - 66 / 6
    assert results["bench.cab.protection"]["value"] == 0
    assert "12.50 of 12.5 Mbyte/s" in capsys.readouterr().out


def test_what_is_slower_than_the_papers_is_told(monkeypatch, capsys):
    rates = {
        "fiber_out": 12.4,
        "fiber_in": 12.5,
        "vme": 9.9,
        "cpu": 31.0,
        "total": 65.8,
        "backlog": 0,
        "share": 0.5,
        "longest": 9,
    }
    monkeypatch.setattr(cab, "found", lambda *_, **__: {"rates": rates, "on": [3, 4], "off": [3, 3]})
    outcomes = cab.measure(1)
    assert [(outcome.part, outcome.ok) for outcome in outcomes] == list(
        zip(PARTS, [False, True, False, True, None, False], strict=True)
    )
    assert main(["bench", "cab"]) == 1
    assert capsys.readouterr().out.count("MISSED") == 3


def test_without_cocotb_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        NotInstalled, match=r"cocotb is not installed; .* pip install -c .*constraints\.txt'? -e .*\[test\]'"
    ):
        cab.measure(1)
