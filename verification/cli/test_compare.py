"""``nectar compare``: what it refuses, the answers that it compares, what it prints and writes; docs/compare.md."""

import json
import re
from datetime import UTC, datetime

import pytest

from nectar.cli import compare
from nectar.compare import messages as measuring
from nectar.compare import runs
from nectar.compare.gates import key, recorded
from nectar.compare.messages import PARTS, Message
from nectar.compare.runs import Ran, difference, is_ranked
from nectar.compare.told import lines, page, results
from nectar.sim.machines import MACHINES, machine
from nectar.verification.benchmarks import gates

BOTH = ("--machines", "nectar,ipsc2")
MAIN = "async def main(system, arguments):\n    pass\n"


@pytest.mark.parametrize(
    "arguments, words",
    [
        (
            ("--machines", "nectar,cray", "p.py"),
            "--machines nectar,cray: there is no machine 'cray'; there is nectar, ",
        ),
        (("--machines", "nectar", "p.py"), "--machines nectar: name two machines or more, each once"),
        (("--machines", "nectar,nectar", "p.py"), "--machines nectar,nectar: name two machines or more, each once"),
        (("--machines", "", "p.py"), "--machines : there is no machine ''"),
        (("p.py",), "the following arguments are required: --machines"),
        (BOTH, "the following arguments are required: PROGRAM.py"),
        ((*BOTH, "-n", "1", "p.py"), "-n 1: give a number of computers, 2 or more"),
        ((*BOTH, "-n", "two", "p.py"), "-n two: give a number of computers, 2 or more"),
        (
            (*BOTH, "-n", "3", "p.py"),
            "-n 3: the machine ipsc2 has no topology of 3 computers, the nearest is hypercube:2",
        ),
        (
            (*BOTH, "-n", "200", "p.py"),
            "-n 200: the machine ipsc2 has no topology of 200 computers, the nearest is hypercube:7",
        ),
        ((*BOTH, "gone.py"), "gone.py: the program cannot be read: No such file or directory"),
        ((*BOTH, "bad.py"), "bad.py:1: no Python program: "),
        ((*BOTH, "--json", "p.py", "p.py"), "--json p.py: the program is the same file; give another name"),
        ((*BOTH, "--html", "none/x.html", "p.py"), "--html none/x.html cannot be written: there is no directory"),
        ((*BOTH, "--fast", "p.py"), "there is no option --fast, and options of the program stand behind its name"),
        ((*BOTH, "p.py", "--boards", "fast"), "ipsc2, hypercube:1: --boards fast: "),
        ((*BOTH, "p.py", "--threads", "0"), "nectar, hub:2: --threads 0: give a whole number from 1 to "),
        (("p.py", *BOTH, "--machine", "x"), "there is no option --machine; the nearest is --machines; "),
    ],
)
def test_bad_input_is_one_line_and_leaves_no_file(here, arguments, words):
    here.program(MAIN, "p.py")
    here.program("def (", "bad.py")
    assert words in here.refused("compare", *arguments)
    assert sorted(path.name for path in here.folder.iterdir()) == ["bad.py", "p.py"]


def test_a_program_with_main_runs_as_it_is_and_any_other_on_ranks(here):
    here.program(MAIN, "main.py")
    here.program("from mpi4py import MPI\n\n\ndef main():\n    print(MPI.COMM_WORLD.rank)\n\n\nmain()\n", "ranks.py")
    assert not is_ranked("main.py") and is_ranked("ranks.py")


@pytest.mark.parametrize(
    "one, other, told",
    [
        (["a"], ["a"], None),
        (["a", "b"], ["a", "c"], ("'b'", "'c'")),
        (["a"], ["a", "b"], ("nothing", "'b'")),
        ([("sum", 1.5)], [("sum", 1.5)], None),
        ([("sum", 1.5)], [("sum", 2)], ("sum = 1.5", "sum = 2")),
        ([("sum", 1)], [("product", 1)], ("sum = 1", "product = 1")),
    ],
)
def test_the_first_answers_that_differ_are_told(one, other, told):
    assert difference(Ran(one, True, 1), Ran(other, True, 2)) == told


def said(monkeypatch, output, found=(), code=0, error=""):
    """Has a run of the program end so, whatever it is."""

    def run(words, *, pass_fds, **_):
        rows = [{"id": "run.simulated_time", "value": 1000, "ok": None}, *found]
        with open(pass_fds[0], "w", closefd=False) as file:
            file.write(json.dumps({"results": rows}) if code in (0, 1) else "")
        return runs.subprocess.CompletedProcess(words, code, output, error)

    monkeypatch.setattr(runs.subprocess, "run", run)
    return runs.ran("nectar", "p.py", [], "hub:2")


def test_answers_are_what_is_marked_or_what_is_printed_without_times(monkeypatch):
    printed = "b: 3 rows in 12.5 us, 1,000 Mbyte/s\na: 7 %, 2.50 times as fast, 12 msgs\n"
    assert said(monkeypatch, printed) == Ran(["a: #, # as fast, 12 msgs", "b: 3 rows in #, #"], False, 1000)
    marked = {"id": "sum", "value": 5, "ok": None, "answer": True}
    other = {"id": "time", "value": 5, "ok": None}
    assert said(monkeypatch, printed, [other, marked]) == Ran([("sum", 5)], True, 1000)


@pytest.mark.parametrize(
    "end, words",
    [
        ({"code": 2, "error": "nectar: p.py:3: ZeroDivisionError: x\n"}, "nectar, hub:2: p.py:3: ZeroDivisionError: x"),
        ({"code": 3}, "nectar, hub:2: the program ended with exit code 3"),
        ({"code": 1, "found": [{"id": "sum", "value": 1, "ok": False}]}, "nectar, hub:2: sum of p.py does not hold"),
    ],
)
def test_a_program_that_fails_on_a_machine_is_told_with_the_machine(monkeypatch, end, words):
    with pytest.raises(runs.UsageError) as refused:
        said(monkeypatch, "", **end)
    assert str(refused.value) == words and refused.value.status == 2


def test_answers_that_differ_end_the_comparison_with_exit_code_1(here, monkeypatch):
    here.program(MAIN)
    monkeypatch.setattr(runs, "ran", lambda name, *_: Ran([f"{name} is best"], False, 1.0))
    assert here.refused("compare", *BOTH, "-n", 2, "program.py", status=1) == (
        "program.py on 2 computers: the answers differ: nectar gives 'nectar is best', ipsc2 'ipsc2 is best'"
    )


#: What two machines might have done.
RUNS = {2: {name: Ran([("sum", 1)], True, 8e6) for name in MACHINES}}
RUNS[4] = {"nectar": Ran([("sum", 1)], True, 4e6), "ipsc2": Ran([("sum", 1)], True, 5e6)}
FOUND = {
    name: [Message(size, way, us * (size + 9), (us, us * size, 8.0 * us)) for way in (1, 2) for size in (0, 100, 4096)]
    for name, us in (("nectar", 1.0), ("ipsc2", 3.0))
}
THERE = [machine(name) for name in MACHINES]


def test_everything_is_printed_and_is_in_the_results(here, monkeypatch):
    """Time, speed-up, latency, throughput, parts, distance, gates of each machine."""
    here.program(MAIN)
    asked = []
    monkeypatch.setattr(compare, "_runs", lambda options, *_: asked.append(options.arguments) or RUNS)
    monkeypatch.setattr(measuring, "messages", lambda name, sizes: FOUND[name])
    done = here("compare", "program.py", "8", *BOTH, "--json", "c.json", "--order", "5", "--", "--machines", "x")
    assert (done.returncode, done.stderr) == (0, "") and asked == [["8", "--order", "5", "--machines", "x"]]
    text = done.stdout
    assert text.startswith("the same answers on nectar, ipsc2: 1 marked\n")
    assert "nectar: 4.000 ms on 4 computers; on 4 2.00 times as fast as on 2\n" in text
    assert "ipsc2: 5.000 ms on 4 computers; on 4 1.60 times as fast as on 2\n" in text
    assert re.search(r"^ +4096 +12315.0 +0.333 +3.0 +12288.0 +24.0$", text, re.M)
    assert "0 bytes: 27.0 us over 1, 27.0 us over 2" in text and text.count("for each computer (") == 2
    found = {row["id"]: row["value"] for row in json.loads((here.folder / "c.json").read_text())["results"]}
    assert found["compare.ipsc2.speedup.4"] == 1.6 and found["compare.nectar.latency.100.2"] == 109
    assert all(found[f"compare.nectar.{part}.0.1"] is not None for part in PARTS)
    assert found["compare.nectar.luts"] > 0 and found["compare.ipsc2.luts.router"] > 0


def test_the_page_has_all_figures_and_needs_nothing_else():
    pytest.importorskip("matplotlib", reason="the extra 'report' is not installed")
    text = page("<pi>.py", THERE, RUNS, FOUND, "1.0", datetime(2026, 1, 2, tzinfo=UTC))
    assert "&lt;pi&gt;.py on nectar and ipsc2" in text and "<pi>" not in text
    for title in ("Latency", "Throughput", "Distance", "Speed-up of the program", "Where the time of a message goes"):
        assert f"<figcaption><b>{title}</b>" in text
    assert all(f"</i>{part}</li>" in text for part in PARTS) and "<h2>Gates</h2>" in text
    assert not re.search(r"(src|href)=[\"']?(http|//)", text.replace('xlink:href="#', ""))
    for line in list(lines(THERE, RUNS, FOUND))[1:]:
        assert line.replace("&", "&amp;") in text


def test_the_table_of_gates_has_the_boards_of_all_machines():
    """The boards as they are counted now; when and by what the table was made."""
    table = recorded()
    assert set(table["boards"]) == {key(board) for each in THERE for board in each.compared.boards}
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", table["date"]) and table["command"].startswith("python -m nectar.")
    assert all(cells["luts"] > 500 for cells in table["boards"].values())
    assert dict((name, value) for name, value, _ in results(THERE, RUNS, FOUND))[
        "compare.nectar.luts"
    ] == pytest.approx(sum(board.share * table["boards"][key(board)]["luts"] for board in THERE[0].compared.boards))


@pytest.mark.nightly
def test_the_table_of_gates_is_that_of_the_boards_as_they_are():
    assert gates.table()["boards"] == recorded()["boards"], f"'{gates.COMMAND}' makes the table"


@pytest.mark.nightly
def test_pi_has_the_same_digits_on_both_machines(nectar):
    """The whole command, and what the papers lead to expect: software is most of an empty message on the iPSC/2."""
    from nectar.verification.imports import ROOT

    done = nectar("compare", *BOTH, "-n", 2, "--quick", "--json", "c.json", ROOT / "examples" / "mpi_pi.py")
    assert done.returncode == 0, done  # the first run tells that it builds the simulator
    found = {row["id"]: row["value"] for row in json.loads((nectar.folder / "c.json").read_text())["results"]}
    assert found["compare.ipsc2.latency.0.1"] == pytest.approx(350, rel=0.05)
    assert found["compare.ipsc2.software.0.1"] > 0.9 * found["compare.ipsc2.latency.0.1"]
    assert found["compare.nectar.latency.0.1"] < 60
    for name in MACHINES:
        for which in "0.1", "4096.3":
            parts = [found[f"compare.{name}.{part}.{which}"] for part in PARTS]
            assert sum(parts) == pytest.approx(found[f"compare.{name}.latency.{which}"]) and min(parts) >= 0
        assert found[f"compare.{name}.latency.0.1"] < found[f"compare.{name}.latency.0.3"]


@pytest.mark.nightly
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("words", ["octree/octree.py --size 16 --level 1", "vision/vision.py"])
def test_examples_with_tables_of_their_own_have_the_same_answers_on_both_machines(nectar, words):
    """Each marks an answer for 1, 2 and 4 computers."""
    from nectar.verification.imports import ROOT

    name, *arguments = words.split()
    done = nectar("compare", *BOTH, "-n", 4, "--quick", ROOT / "examples" / name, *arguments)
    assert done.returncode == 0, done
    assert done.stdout.startswith("the same answers on nectar, ipsc2: 3 marked\n")


@pytest.mark.nightly
def test_a_program_whose_answers_depend_on_the_machine_is_found_out(nectar):
    nectar.program(
        "async def main(system, arguments):\n    system.report('machine', system.topology.machine, answer=True)\n"
    )
    assert nectar.refused("compare", *BOTH, "-n", 2, "program.py", status=1) == (
        "program.py on 2 computers: the answers differ: nectar gives machine = 'nectar', ipsc2 machine = 'ipsc2'"
    )
    nectar.program(
        "async def main(system, arguments):\n"
        "    if system.topology.machine != 'nectar':\n"
        "        raise ValueError('not here')\n"
    )
    assert "ipsc2, hypercube:1: program.py:3: ValueError: not here" in nectar.refused("compare", *BOTH, "program.py")
