"""The night in slices: ``python -m nectar.verification.nightly --part 3/14``, as ``make nightly PART=3/14`` does.

A job (``nightly_jobs``) is a run of pytest. Its result is kept in ``build/nightly`` as soon as it has ended, in a file
that is written under another name and renamed, so that whatever is cut off can go on. docs/nightly.md tells the use.
"""

import argparse
import datetime
import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ..many import SpreadError, spread
from . import nightly_plugin, seeds
from .nightly_jobs import JOBS, Job, pack
from .nightly_page import figures, page, repeat

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
#: Parts that docs/nightly.md tells of.
_PARTS = 14
#: Seconds after which a single test is ended.
_TEST_S = 2 * 3600
_WRONG, _INTERRUPTED = 2, 130


class _Night:
    """The results that are kept of a checkout in the folder ``root``, and the state that it is in."""

    def __init__(self, root):
        self.root, self.folder, self.page = root, root / "build" / "nightly", root / "docs" / "nightly.md"
        self.commit, self.state = self._version()

    def _git(self, *words):
        done = subprocess.run(["git", *words], cwd=self.root, capture_output=True, check=False)
        return done.stdout if not done.returncode else b""

    def _version(self):
        """The commit, with a ``+`` if files differ from it, and a digest of both; the page does not count.

        Where there is no repository, ("unknown", None): nothing can be known to be done there.
        """
        commit = self._git("rev-parse", "--short=10", "HEAD").decode().strip()
        if not commit:
            return "unknown", None
        but = ["--", ".", ":(exclude)docs/nightly.md"]
        changes = self._git("diff", "HEAD", "--binary", *but)
        digest = hashlib.sha256(commit.encode() + changes)
        new = self._git("ls-files", "-z", "--others", "--exclude-standard", *but).decode().split("\0")
        for name in filter(None, new):
            changes = b"new"
            path = self.root / name
            digest.update(name.encode() + (os.readlink(path).encode() if path.is_symlink() else path.read_bytes()))
        return commit + ("+" if changes else ""), digest.hexdigest()[:16]

    def read(self, name):
        """What is kept under ``name``; an empty dict if there is nothing."""
        try:
            return json.loads((self.folder / f"{name}.json").read_text())
        except (OSError, ValueError):
            return {}

    def keep(self, name, content):
        """Keeps ``content`` under ``name``, whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        beside = self.folder / f"{name}.{os.getpid()}"
        beside.write_text(json.dumps(content, indent=1))
        os.replace(beside, self.folder / f"{name}.json")

    def forget(self, name):
        """Keeps nothing under ``name`` any more."""
        (self.folder / f"{name}.json").unlink(missing_ok=True)

    def seed(self, run):
        """The seed of ``run``: the one that is given, or that of the same run if it was cut off here, or a new one."""
        kept = self.read(run)
        if os.environ.get("NECTAR_SEED"):
            seed = seeds.seed()
        else:
            seed = kept["seed"] if self.state and kept.get("state") == self.state else seeds.draw()
        self.keep(run, {"state": self.state, "seed": seed})
        return seed

    def done(self, job, seed):
        """The job's result in this state with the night's ``seed``, or an empty dict."""
        result = self.read(job.name) if self.state else {}
        return result if (result.get("state"), result.get("seed")) == (self.state, seed + job.seed) else {}

    def result(self, job, seed, outcome):
        """Keeps and returns the result of a job: what its pytest noted, with what it was run on."""
        result = {"job": job.name, "commit": self.commit, "state": self.state, "seed": seed + job.seed, **outcome}
        self.keep(job.name, result)
        return result


@dataclass(frozen=True)
class _Task:
    """A job with its ``seed``, in the checkout ``root``; None: that of the machine that does it."""

    job: Job
    seed: int
    root: Path | None
    place: str


@dataclass(frozen=True)
class _Same:
    """Looks, on a worker, whether its checkout is in this ``state``."""

    commit: str
    state: str | None

    def __call__(self):
        there = _Night(ROOT)
        if self.state is None or there.state != self.state:
            raise SpreadError(f"its checkout {ROOT} is at {there.commit}, and not the same as here, {self.commit}")


def _run(task):
    """Runs the pytest of a task. Returns what it noted, a dict, or its exit code if it was cut off or could not run."""
    job, root = task.job, task.root or ROOT
    _say(f"{task.place}: {job.name}, {job.title}; about {job.minutes:g} minutes")
    environment = os.environ | {"NECTAR_SEED": str(task.seed)}
    begun = time.monotonic()
    report = f"--junitxml={root / 'build' / 'nightly' / job.name}.xml"
    with tempfile.TemporaryDirectory() as folder:
        outcome = Path(folder) / "outcome.json"
        limit = ["-o", f"timeout={_TEST_S}"] if importlib.util.find_spec("pytest_timeout") else []
        options = ["-n", "auto", "-p", nightly_plugin.__name__, f"--outcome={outcome}", report, *limit]
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *job.arguments()], cwd=root, env=environment
        )
        try:
            status = process.wait()
        except KeyboardInterrupt:
            process.wait()  # it has been interrupted as well, and ends what it has started
            raise
        if not outcome.exists():
            return status
        return {
            "date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M}",
            "minutes": round((time.monotonic() - begun) / 60, 2),
            **json.loads(outcome.read_text()),
        }


def _told(result):
    """A result in one line."""
    text = f"{result['passed']} passed, {result['skipped']} skipped, {len(result['failed'])} failed"
    text += f" in {result['minutes']:.1f} minutes"
    return f"{text}; {figures(result['figures'])}" if result["figures"] else text


def _say(text):
    print(f"nightly: {text}", flush=True)


def _run_all(night, jobs, run, scheduler):
    """Runs ``jobs``, but for what is done; ``run`` names this run. Returns the exit code."""
    seed = night.seed(run)
    print(f"NECTAR_SEED={seed}", flush=True)
    results, broken, tasks = {}, [], []
    for number, job in enumerate(jobs, 1):
        if result := night.done(job, seed):
            _say(f"{job.name} is done at {night.commit} with this seed: {_told(result)}")
            results[job.name] = result
        else:
            root = night.root if scheduler is None else None
            tasks.append(_Task(job, seed + job.seed, root, f"job {number} of {len(jobs)}"))
    same = None if scheduler is None else _Same(night.commit, night.state)
    # Here one after the other: each has pytest's workers on all cores.
    for ended in spread(_run, tasks, scheduler=scheduler, workers=0, prepare=same, what="jobs"):
        job, outcome = tasks[ended.number].job, ended.value()
        if outcome == 2 and scheduler is None:
            raise KeyboardInterrupt
        if isinstance(outcome, int):
            _say(f"{job.name} has not come to its end: pytest's exit code is {outcome}")
            broken.append(job.name)
            continue
        results[job.name] = night.result(job, seed, outcome)
        _say(f"{job.name}: {_told(results[job.name])}")
    results = [results[job.name] for job in jobs if job.name in results]
    if not broken:
        night.forget(run)
    for result in results:
        for nodeid in result["failed"]:
            _say(f"failed in {result['job']}; to repeat it:\n  {repeat(result['seed'], nodeid)}")
    failed = sum(bool(result["failed"]) for result in results)
    rest = f", {len(broken)} have not come to their end" if broken else ""
    _say(f"{len(jobs)} jobs: {len(results) - failed} passed, {failed} failed{rest}")
    return 1 if failed or broken else 0


def _part(text):
    """(k, n) of "k/n"."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    part, parts = map(int, found.groups()) if found else (0, 0)
    if not 1 <= part <= parts:
        raise argparse.ArgumentTypeError(f"{text} is no part; give 3/14 for the third of fourteen")
    return part, parts


def main(arguments=None, jobs=JOBS, root=ROOT):
    """The program; returns the exit code.

    ``arguments``: of the command line. ``jobs``: those that there are. ``root``: where pytest runs.
    """
    parser = argparse.ArgumentParser(prog="python -m nectar.verification.nightly", description="The night in slices.")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--part", metavar="K/N", type=_part, help="the K-th of N parts; without it all jobs")
    chosen.add_argument("--job", metavar="NAME", choices=[job.name for job in jobs], help="one job")
    parser.add_argument("--list", action="store_true", help="only tell the jobs")
    parser.add_argument("--page", action="store_true", help="only write docs/nightly.md from build/nightly")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="run the jobs on a Dask cluster, as tcp://host:8786")
    options = parser.parse_args(arguments)
    try:
        seeds.seed()
    except ValueError as error:
        parser.error(str(error))
    night = _Night(root)
    if options.page:
        parts = {job.name: number for number, part in enumerate(pack(jobs, _PARTS), 1) for job in part}
        results = {job.name: result for job in jobs if (result := night.read(job.name))}
        night.page.parent.mkdir(exist_ok=True)
        night.page.write_text(page(jobs, parts, results, night.page.read_text() if night.page.exists() else ""))
        _say(f"{night.page.relative_to(root)} has the results of {len(results)} jobs that were run here")
        return 0
    if options.job:
        mine, run = [job for job in jobs if job.name == options.job], f"run-{options.job}"
    else:
        part, parts = options.part or (1, 1)
        mine, run = pack(jobs, parts)[part - 1], f"run-{part}-of-{parts}"
    if options.list:
        for job in mine:
            print(f"{job.name:16} {job.minutes:5g} minutes  {job.title}")
        return 0
    try:
        return _run_all(night, mine, run, options.scheduler)
    except SpreadError as error:
        print(f"nightly: {error}; what is done is kept, and the same command goes on", file=sys.stderr)
        return _WRONG
    except KeyboardInterrupt:
        _say("interrupted; what is done is kept, and the same command goes on")
        return _INTERRUPTED


if __name__ == "__main__":
    from nectar.verification.nightly import main  # workers import what this module sends them

    sys.exit(main())
