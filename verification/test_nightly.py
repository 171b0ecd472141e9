"""The night in slices: what is run, kept, taken up again and told; with jobs of a few tests that do nothing."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nectar.verification import nightly, schedule, seeds
from nectar.verification.nightly_jobs import JOBS, SEEDS, Job, pack
from nectar.verification.nightly_page import page

ROOT = Path(__file__).resolve().parent.parent
TESTS = """
import os
import pytest

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("size", [2, 3, 16])
def test_sizes(size, record_property):
    record_property("ports", str(size))
    record_property("symbols", 1000 * size)
    with open("ran", "a") as file:
        print(f"size {size} seed {os.environ['NECTAR_SEED']}", file=file)


def test_other():
    with open("ran", "a") as file:
        print("other", file=file)
    assert not os.path.exists("broken"), "there is a fault"


def test_not_here():
    pytest.skip("not here")
"""
SIZES = Job("sizes", "all sizes", 2, ("test_it.py::test_sizes",))
OTHER = Job("other", "another", 1, ("test_it.py::test_other", "test_it.py::test_not"), seed=3)
TINY = (SIZES, OTHER)


# -- the table ---------------------------------------------------------------------------------------------
def test_parts_hold_each_job_once_and_are_always_the_same():
    for parts in (1, 3, 14, 15, 200):
        packed = pack(JOBS, parts)
        assert len(packed) == parts and packed == pack(JOBS[::-1], parts)
        assert sorted(job.name for part in packed for job in part) == sorted({job.name for job in JOBS})


@pytest.mark.parametrize("parts", [14, 15, 24])
def test_a_part_takes_an_hour_at_most(parts):
    assert max(sum(job.minutes for job in part) for part in pack(JOBS, parts)) <= 60


def test_parts_are_even():
    loads = [sum(job.minutes for job in part) for part in pack(JOBS, 14)]
    assert min(loads) > 0.8 * max(loads)


def test_every_test_that_is_marked_nightly_belongs_to_one_job(request):
    """Of the run's tests; in a run of all of them, each job has some of its own, too."""
    found = request.config.stash[schedule.NIGHTLY]
    jobs = [job for job in JOBS if not job.benches]
    owners = {nodeid: [job.name for job in jobs if nodeid.startswith(job.beginnings)] for nodeid in found}
    assert not {nodeid: names for nodeid, names in owners.items() if len(names) != 1}
    if request.config.args != request.config.getini("testpaths"):
        pytest.skip("whether each job has tests is seen in a run of all tests")
    assert len(found) > 500 and {name for names in owners.values() for name in names} == {job.name for job in jobs}


def test_every_bench_of_hardware_meets_each_seed():
    again = [job for job in JOBS if job.benches]
    assert sorted(job.seed for job in again) == list(range(1, SEEDS + 1)) and SEEDS >= 20
    for path in (ROOT / "hdl").rglob("*.py"):
        bench = (ROOT / "verification" / path.relative_to(ROOT / "hdl")).with_name(f"test_{path.name}")
        if path.parent != ROOT / "hdl" and bench.exists() and "Bench(" in bench.read_text():
            assert all(bench.relative_to(ROOT).as_posix().startswith(job.beginnings) for job in again), bench


# -- running -----------------------------------------------------------------------------------------------
def _git(folder, *words):
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=n@example.org", *words],
        cwd=folder,
        check=True,
        capture_output=True,
    )


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A checkout with three tests, in which a job has no workers."""
    monkeypatch.setenv("PYTEST_XDIST_AUTO_NUM_WORKERS", "0")
    monkeypatch.delenv("NECTAR_SEED", raising=False)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = nightly: long\n")
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / ".gitignore").write_text("build\nran\nbroken\ncut*\n__pycache__\n.pytest_cache\n")
    _git(tmp_path, "init", "--quiet")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "--quiet", "--message", "begin")
    return tmp_path


def _ran(root):
    """What has run since this was last asked."""
    path = root / "ran"
    text = path.read_text() if path.exists() else ""
    path.unlink(missing_ok=True)
    return sorted(text.splitlines())


def _result(root, name):
    return json.loads((root / "build" / "nightly" / f"{name}.json").read_text())


def test_a_job_runs_its_tests_with_its_seed_and_keeps_what_they_note(root, monkeypatch):
    monkeypatch.setenv("NECTAR_SEED", "40")
    monkeypatch.setenv("PYTEST_XDIST_AUTO_NUM_WORKERS", "2")
    assert nightly.main(["--job", "sizes"], TINY, root) == 0
    assert _ran(root) == ["size 16 seed 40", "size 2 seed 40", "size 3 seed 40"]
    result = _result(root, "sizes")
    assert result["figures"] == {"ports": ["2", "3", "16"], "symbols": 21_000}
    assert (result["passed"], result["skipped"], result["failed"], result["seed"]) == (3, 0, [], 40)
    assert re.fullmatch(r"[0-9a-f]{10}", result["commit"]) and result["minutes"] > 0
    assert (root / "build" / "nightly" / "sizes.xml").read_text().count("<testcase ") == 3
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", result["date"])


STAND_IN = """#!/bin/sh
for word; do
    case $word in --outcome=*) outcome=${word#*=};; --beginning=*) what=${word#*::};; esac
done
echo "$what seed $NECTAR_SEED" >>ran
[ ! -e "cut $what" ] || exit 2
[ "$what" != test_nothing ] || exit 5
failed=
[ ! -e broken ] || failed='"test_it.py::test_a[b c]"'
echo '{"passed": 3, "skipped": 1, "failed": ['"$failed"'],' >"$outcome"
echo '"figures": {"ports": ["2", "16"], "symbols": 21000}}' >>"$outcome"
"""
ONE, TWO = Job("one", "first", 2, ("test_it.py::test_one",)), Job("two", "second", 1, ("test_it.py::test_two",), seed=3)


@pytest.fixture
def quick(root, monkeypatch):
    """Runs jobs whose pytest is a stand-in that only notes what it is called for; the exit code, and what was noted."""
    python = root / "build" / "python"
    python.parent.mkdir()
    python.write_text(STAND_IN)
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))

    def run(*arguments, jobs=(ONE, TWO)):
        return nightly.main(arguments, jobs, root), _ran(root)

    return run


def test_what_is_done_at_this_commit_with_this_seed_is_not_run_again(root, quick, monkeypatch, capfd):
    monkeypatch.setenv("NECTAR_SEED", "40")
    assert quick("--part", "1/2") == (0, ["test_one seed 40"])
    assert quick() == (0, ["test_two seed 43"])
    assert "nightly: one is done at " in capfd.readouterr().out
    monkeypatch.setenv("NECTAR_SEED", "41")
    again = 0, ["test_one seed 41", "test_two seed 44"]
    assert quick() == again, "another seed"
    (root / "new.py").write_text("")
    assert quick() == again and _result(root, "one")["commit"].endswith("+"), "a file more"
    assert quick() == (0, []), "the same files"
    (root / "new.py").write_text("# another text")
    assert quick() == again, "another text"
    (root / "link").symlink_to(root.parent)
    assert quick() == again, "a link to a folder"
    _git(root, "add", ".")
    _git(root, "commit", "--quiet", "--message", "more")
    assert quick() == again and not _result(root, "one")["commit"].endswith("+"), "another commit"


def test_without_a_repository_nothing_is_known_to_be_done(root, quick, monkeypatch):
    monkeypatch.setenv("NECTAR_SEED", "40")
    (root / ".git").rename(root / "git")
    for _ in range(2):
        assert quick() == (0, ["test_one seed 40", "test_two seed 43"])
    assert _result(root, "one")["commit"] == "unknown"


def test_a_part_that_was_cut_off_goes_on_with_its_seed_and_the_next_draws_another(root, quick, monkeypatch, capfd):
    drawn = iter([7, 8])
    monkeypatch.setattr(seeds, "draw", lambda: next(drawn))
    (root / "cut test_two").touch()
    assert quick() == (130, ["test_one seed 7", "test_two seed 10"])
    assert "what is done is kept" in capfd.readouterr().out
    (root / "cut test_two").unlink()
    assert quick() == (0, ["test_two seed 10"]) and "NECTAR_SEED=7\n" in capfd.readouterr().out
    (root / "cut test_one").touch()
    monkeypatch.setenv("NECTAR_SEED", "9")
    assert quick() == (130, ["test_one seed 9"])
    (root / "cut test_one").unlink()
    monkeypatch.delenv("NECTAR_SEED")
    assert quick() == (0, ["test_one seed 9", "test_two seed 12"]), "with one that was given as well"
    assert quick() == (0, ["test_one seed 8", "test_two seed 11"])


def test_a_job_that_cannot_run_is_no_success_and_not_done(root, quick, capfd):
    nothing = Job("nothing", "no test", 3, ("test_it.py::test_nothing",))
    code, (none, one) = quick(jobs=(nothing, ONE))
    assert code == 1 and none.startswith("test_nothing") and one.startswith("test_one")
    assert "nothing has not come to its end: pytest's exit code is 5" in capfd.readouterr().out
    assert quick(jobs=(nothing, ONE)) == (1, [none]), "with the same seed, since it has not come to its end"
    assert not (root / "build" / "nightly" / "nothing.json").exists()


def test_a_failure_is_told_with_what_repeats_it_and_counts(root, monkeypatch, capfd):
    monkeypatch.setenv("NECTAR_SEED", "40")
    (root / "broken").touch()
    for _ in range(2):
        assert nightly.main([], (OTHER,), root) == 1
        out = capfd.readouterr().out
        assert "\n  NECTAR_SEED=43 .venv/bin/python -m pytest -n 0 test_it.py::test_other\n" in out
        assert "nightly: 1 jobs: 0 passed, 1 failed\n" in out
    assert _ran(root) == ["other"], "it is done, though it failed"
    assert _result(root, "other")["failed"] == ["test_it.py::test_other"] and _result(root, "other")["skipped"] == 1


def test_ctrl_c_leaves_what_is_done(root):
    (root / "test_long.py").write_text(
        "import pathlib, time, pytest\n@pytest.mark.nightly\ndef test_long():\n"
        "    pathlib.Path('begun').touch()\n    time.sleep(100)\n"
    )
    code = (
        "import sys; from pathlib import Path; from nectar.verification.nightly import main; "
        "from nectar.verification.nightly_jobs import Job; "
        "quick = Job('quick', 'a', 2, ('test_it.py::test_sizes',)); "
        "sys.exit(main([], (quick, Job('long', 'b', 1, ('test_long.py',))), Path.cwd()))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=root,
        start_new_session=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        while not (root / "begun").exists():
            assert process.poll() is None, process.stdout.read()
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=300)
    assert process.returncode == 130, out
    assert out.endswith("nightly: interrupted; what is done is kept, and the same command goes on\n")
    assert sorted(path.stem for path in (root / "build" / "nightly").glob("*.json")) == ["quick", "run-1-of-1"]


def test_on_a_cluster_each_worker_has_the_same_checkout(root, monkeypatch, capsys):
    """The worker that is looked at here has the project's own, and not that of this test."""
    monkeypatch.setenv("NECTAR_SEED", "40")
    asked = []

    def spread(function, tasks, *, scheduler, prepare, **more):
        asked.extend((scheduler, task.job, task.seed, task.root) for task in tasks)
        prepare()

    monkeypatch.setattr(nightly, "spread", spread)
    assert nightly.main(["--scheduler", "tcp://host:1"], (ONE, TWO), root) == 2
    assert asked == [("tcp://host:1", ONE, 40, None), ("tcp://host:1", TWO, 43, None)], "in the worker's own checkout"
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"nightly: its checkout {ROOT} is at ") and "not the same as here" in line


@pytest.mark.parametrize(
    "given, options",
    [
        ([], ""),
        (["PART=3/14"], "--part 3/14"),
        (["JOB=soak"], "--job soak"),
        (["SCHEDULER=tcp://h:1"], "--scheduler tcp://h:1"),
    ],
)
def test_make_hands_on_what_it_is_given(given, options):
    text = subprocess.run(
        ["make", "--dry-run", "-o", ".venv/installed", "nightly", *given],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=True,
    ).stdout
    assert re.search(rf"^\S+ -m nectar\.verification\.nightly *{options} *$", text, re.M)


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/0"])
def test_a_part_that_is_none_is_refused(text, capsys):
    with pytest.raises(SystemExit) as caught:
        nightly.main(["--part", text], TINY)
    assert (
        caught.value.code == 2 and f"{text} is no part; give 3/14 for the third of fourteen" in capsys.readouterr().err
    )


def test_a_seed_that_is_none_is_refused(monkeypatch, capsys):
    monkeypatch.setenv("NECTAR_SEED", "soon")
    with pytest.raises(SystemExit) as caught:
        nightly.main([], TINY)
    assert caught.value.code == 2 and "NECTAR_SEED=soon: not a seed" in capsys.readouterr().err


def test_jobs_are_listed_by_part(capsys):
    assert nightly.main(["--list"], TINY) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["sizes", "other"]
    assert nightly.main(["--list", "--part", "2/2"], TINY) == 0
    assert capsys.readouterr().out == "other                1 minutes  another\n"


# -- the page ----------------------------------------------------------------------------------------------
def _page(root, jobs=(ONE, TWO)):
    assert nightly.main(["--page"], jobs, root) == 0
    return (root / "docs" / "nightly.md").read_text()


def test_the_page_tells_each_job_and_each_failure(root, quick, monkeypatch):
    monkeypatch.setenv("NECTAR_SEED", "40")
    before = _page(root)
    assert "\n| `one` | first | 1 | not yet | | | | | | | |\n" in before and "What failed" not in before
    assert quick("--job", "one")[0] == 0
    (root / "broken").touch()
    assert quick("--job", "two")[0] == 1
    text, one = _page(root), _result(root, "one")
    told = f"{one['date']} | {one['commit']} | 40 | {one['minutes']:.1f} | 3 | 1 | 0 | ports 2, 16; symbols 21,000"
    assert f"\n| `one` | first | 1 | {told} |\n" in text
    assert re.search(r"^\| `two` \| second \| 2 \|.*\| 43 \|.*\| 3 \| 1 \| 1 \|", text, re.M)
    assert text.endswith("\n- `two`: `NECTAR_SEED=43 .venv/bin/python -m pytest -n 0 'test_it.py::test_a[b c]'`\n")
    assert _page(root) == text


def test_writing_the_page_changes_no_commit(root, quick, monkeypatch):
    monkeypatch.setenv("NECTAR_SEED", "40")
    assert len(quick()[1]) == 2
    _page(root)
    assert quick() == (0, [])


def test_rows_of_jobs_that_were_run_elsewhere_stay():
    def result(name, date, failed=()):
        return {
            name: {
                "date": date,
                "commit": "c",
                "seed": 1,
                "minutes": 2,
                "passed": 3,
                "skipped": 0,
                "failed": list(failed),
                "figures": {},
            }
        }

    parts = {job.name: 1 for job in TINY}
    sizes = result("sizes", "2026-01-02 00:00")
    there = page(TINY, parts, result("other", "2026-01-02 00:00", ["t.py::test_a"]) | sizes)
    assert page(TINY, parts, {}, there) == there
    assert page(TINY, parts, result("other", "2026-01-01 00:00"), there) == there, "an older one"
    later = result("other", "2026-01-03 00:00")
    after = page(TINY, parts, later, there)
    assert after == page(TINY, parts, later | sizes) and "test_a" not in after
    without = page((SIZES,), parts, {}, there)
    assert without.count("2026-01-02") == 1 and "test_a" not in without, "a job that there is no more"


def test_the_page_in_the_book_has_the_jobs_that_there_are():
    text = (ROOT / "docs" / "nightly.md").read_text()
    parts = {job.name: number for number, part in enumerate(pack(JOBS, 14), 1) for job in part}
    assert page(JOBS, parts, {}, text) == text
