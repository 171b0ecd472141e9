"""The seed of a run: fixed, or drawn, or given, and what follows it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nectar.verification import seeds
from nectar.verification.simulation import simulate

ROOT = Path(__file__).resolve().parent.parent


STAND_IN = """import sys
from pathlib import Path
from nectar.verification import nightly, seeds
from nectar.verification.nightly_jobs import Job

module, *arguments = sys.argv[2:]
if module == "pytest":
    print("given", seeds.seed())
    for word in arguments:
        if word.startswith("--outcome="):
            Path(word.partition("=")[2]).write_text('{"passed": 1, "skipped": 0, "failed": [], "figures": {}}')
else:
    sys.executable = str(Path(__file__).with_suffix(""))
    sys.exit(nightly.main(arguments, (Job("all", "everything", 1, ("test_nothing.py",)),), Path(__file__).parent))
"""


@pytest.fixture
def make(tmp_path):
    """Runs ``make TARGET`` with a stand-in for Python whose pytest only tells the seed that it is given; what was
    printed, and the seed."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{python}.py" "$@"\n')
    (tmp_path / "python.py").write_text(STAND_IN)
    python.chmod(0o755)

    def run(target, **environment):
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in ("NECTAR_SEED", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
        }
        text = subprocess.run(
            ["make", "-o", ".venv/installed", target, f"BIN={tmp_path}"],
            cwd=ROOT,
            env=kept | environment,
            text=True,
            capture_output=True,
            check=True,
        ).stdout
        return text, int(re.search(r"^given (\d+)$", text, re.M)[1])

    return run


def test_the_everyday_regression_has_the_same_seed_in_every_run(make):
    assert [make("test")[1] for _ in range(2)] == [seeds.DEFAULT] * 2


def test_the_nightly_regression_draws_a_seed_and_tells_it(make):
    runs = [make("nightly") for _ in range(3)]
    assert len({seed for _, seed in runs}) > 1
    for text, seed in runs:
        assert f"NECTAR_SEED={seed}\n" in text


@pytest.mark.parametrize("target", ["test", "nightly"])
def test_a_seed_that_is_given_is_taken(make, target):
    assert make(target, NECTAR_SEED="77")[1] == 77


def _pytest(folder, **environment):
    """Runs pytest on the benches' own conftest and one trivial test."""
    (folder / "conftest.py").write_text((ROOT / "verification" / "conftest.py").read_text())
    (folder / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(folder)],
        cwd=folder,
        text=True,
        capture_output=True,
        env=os.environ | environment,
    )


def test_a_run_tells_its_seed(tmp_path):
    assert "\neverything random follows NECTAR_SEED=4711\n" in _pytest(tmp_path, NECTAR_SEED="4711").stdout


@pytest.mark.parametrize("text", ["soon", "-1", "1.5"])
def test_a_seed_that_is_no_number_is_refused(tmp_path, text):
    done = _pytest(tmp_path, NECTAR_SEED=text)
    assert done.returncode and f"NECTAR_SEED={text}: not a seed; give a whole number from 0 on" in done.stderr


def test_generators_follow_the_seed_and_their_key(monkeypatch):
    def drawn(seed, *key):
        monkeypatch.setenv("NECTAR_SEED", seed)
        return seeds.rng(*key).randbytes(8)

    assert drawn("1", "a", 2) == drawn("1", "a", 2)
    assert len({drawn("1", "a", 2), drawn("2", "a", 2), drawn("1", "a", 3), drawn("1")}) == 4


BENCH = """
import random
import cocotb

@cocotb.test(timeout_time=1, timeout_unit="us")
async def tells(dut):
    print("drawn", random.getrandbits(64))
"""


def test_benches_follow_the_seed(tmp_path, monkeypatch):
    (tmp_path / "draws.py").write_text(BENCH)
    monkeypatch.syspath_prepend(tmp_path)

    def drawn(seed):
        monkeypatch.setenv("NECTAR_SEED", seed)
        outcome = simulate("module dut(input a); endmodule\n", "draws", top="dut", directory=tmp_path / "model")
        assert outcome.results == {"tells": True}, outcome.log
        return re.search(r"drawn (\d+)", outcome.log)[1]

    assert drawn("1") == drawn("1") != drawn("2")


def test_nothing_random_goes_around_the_seed():
    """Generators and seeds of one's own are for ``seeds.rng``. Benches draw from ``random``, which cocotb seeds;
    what runs under pytest alone does not."""
    own = re.compile(r"random\.Random\(|random\.seed\(|SystemRandom|os\.urandom|import secrets")
    for path in sorted((ROOT / "verification").rglob("*.py")):
        if path.name in ("seeds.py", Path(__file__).name):
            continue
        text = path.read_text()
        lines = [line.strip() for line in text.splitlines() if own.search(line) and "random.Random(random." not in line]
        assert not lines, f"{path.relative_to(ROOT)}: {lines}"
        if re.search(r"^import random$", text, re.M) and path.name.startswith("test_"):
            assert "Bench(" in text or "@cocotb.test" in text, (
                f"{path.relative_to(ROOT)} draws from random outside of a bench; take seeds.rng"
            )
