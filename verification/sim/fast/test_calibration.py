"""The same programs on RTL boards and on fast boards: equal to the picosecond.

Specification: docs/engine.md, "Calibration"."""

import math
from pathlib import Path

import pytest

from nectar.hdl.host.events import PacketMark
from nectar.sim.events import Fiber, Packet
from nectar.sim.topology import load
from nectar.verification.sim.fast import calibration
from nectar.verification.sim.fast.calibration import CASES, MEDIAN, WORST, compare, measure, rewritten, table
from nectar.verification.sim.test_sleep import record

ROOT = Path(__file__).resolve().parents[3]
FIBER = Fiber(0, "CAB1", "HUB1.P0", 80_000, 100_000)


def packets(*times, length=20):
    return [Packet(time, FIBER, number, 0, length, PacketMark.CRC_GOOD, b"") for number, time in enumerate(times)]


def test_deviations_are_shares_of_the_time_since_the_start():
    row = compare("p", packets(100, 200, 400), packets(101, 200, 380))
    assert (row.events, row.same, row.exact) == (3, True, False)
    assert (row.median, row.worst) == (0.01, 0.05)
    assert compare("p", packets(100, 200), packets(100, 200)).exact


@pytest.mark.parametrize("other", [packets(100), packets(100, 200, 300), packets(100, 200, length=21), []])
def test_other_events_are_found(other):
    row = compare("p", packets(100, 200), other)
    assert not row.same and not row.exact and math.isnan(row.worst)


def test_a_table_takes_the_place_of_another():
    rows = [compare("p", packets(100), packets(100))]
    page = "\n".join(["above", "", *table([]), "| old |", "", "below", ""])
    assert rewritten(page, table(rows)) == "\n".join(["above", "", *table(rows), "", "below", ""])


def test_the_table_of_the_page_has_all_programs_and_keeps_the_limits():
    text = (ROOT / "docs" / "engine.md").read_text()
    begin = text.index(table([])[0])
    lines = text[begin : text.index("\n\n", begin)].split("\n")[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [row[0] for row in cells] == list(CASES)
    for _, events, same, median, worst in cells:
        assert int(events.replace(",", "")) > 10 and same == "yes"
        assert float(median.split()[0]) <= 100 * MEDIAN and float(worst.split()[0]) <= 100 * WORST


def test_random_traffic_takes_the_same_time():
    """A sample of each day: all boards are fast."""
    topology = load("hub:2")
    why, _, *expected = record(topology, 7)[0]
    seen = record(topology, 7, boards="fast")[0]
    assert (seen[0], [*seen[2:]]) == (why, expected)


@pytest.mark.nightly
@pytest.mark.parametrize("name, seed", [("figure7", 11), ("mesh:2x2", 12), ("tree:2x2", 13), ("random:4", 14)])
def test_random_traffic_takes_the_same_time_everywhere(name, seed):
    topology = load(name)
    why, _, *expected = record(topology, seed)[0]
    seen = record(topology, seed, boards="fast")[0]
    assert (seen[0], [*seen[2:]]) == (why, expected)


@pytest.mark.nightly
@pytest.mark.parametrize("case", CASES)
def test_a_program_takes_the_same_time(case):
    row = measure(case)
    assert row.exact and row.events > 10, row


def test_the_command_prints_the_table_and_writes_the_page(monkeypatch, capsys, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("\n".join([*table([]), ""]))
    rows = iter([compare("a", packets(100), packets(100)), compare("b", packets(100), packets(104))])
    monkeypatch.setattr(calibration, "CASES", ["a", "b"])
    monkeypatch.setattr(calibration, "measure", lambda case: next(rows))
    assert calibration.main([page]) == 1
    written = page.read_text()
    assert written == capsys.readouterr().out and "| b | 1 | yes | 4 % | 4 % |" in written
