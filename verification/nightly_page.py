"""The page ``docs/nightly.md``: what the jobs of the night have found, job by job.

A job that has a result here, later than the one on the page, gets a new row. The rows of all others stay, since they
may have been run elsewhere.
"""

import re
import shlex

__all__ = ["figures", "page", "repeat"]

_HEAD = """# The night

`make nightly` runs what takes longer than the everyday regression may. It consists of jobs.
`make nightly PART=3/14` runs the third of fourteen slices; each slice takes an hour at most on two quiet cores, and
slices can be run on different machines. `make nightly JOB=proofs` runs one job, and
`.venv/bin/python -m nectar.verification.nightly --list` lists all of them.
`make nightly SCHEDULER=tcp://HOST:8786` runs the jobs on the workers of a Dask cluster ([sweeps](sweep.md)).

- The seed is `NECTAR_SEED`, or drawn and printed. A slice that was cut off and is started again goes on with the same
  seed. Jobs that are done at this commit with this seed are skipped.
- The result of a job is kept in `build/nightly`, in a file of its own, as soon as the job has ended; beside it is a
  report of its tests (JUnit) with the text of each failure. The exit code is 1 if anything has failed. A test that
  hangs is ended after two hours.
- `.venv/bin/python -m nectar.verification.nightly --page` writes the results into this page. Jobs without a newer
  result keep their rows.

The part is that of fourteen. Dates are in UTC. Minutes are those of the machine, which may have been busy with other
things. A commit with a `+` had changes that were not committed.

| job | what | part | date | commit | seed | minutes | passed | skipped | failed | figures |
|---|---|---|---|---|---|---|---|---|---|---|
"""
_NOT_YET = "not yet"
_COLUMNS = 11


def figures(found):
    """Figures of a result as text: "ports 3, 8; symbols 20,000,123"."""
    return "; ".join(
        f"{name} {', '.join(value)}" if isinstance(value, list) else f"{name} {value:,}"
        for name, value in sorted(found.items())
    )


def repeat(seed, nodeid):
    """The command that runs one test again."""
    return f"NECTAR_SEED={seed} .venv/bin/python -m pytest -n 0 {shlex.quote(nodeid)}"


def _row(result):
    return [
        result["date"],
        result["commit"],
        result["seed"],
        f"{result['minutes']:.1f}",
        result["passed"],
        result["skipped"],
        len(result["failed"]),
        figures(result["figures"]),
    ]


def _read(text):
    """Job → (cells of its row from the date on, lines about its failures), of a page."""
    found = {}
    for name, rest in re.findall(r"^\| `([\w-]+)` \|(.*)\|$", text, re.M):
        cells = [cell.strip() for cell in rest.split("|")]
        if len(cells) == _COLUMNS - 1 and cells[2] != _NOT_YET:
            found[name] = cells[2:], re.findall(rf"^- `{name}`: .*$", text, re.M)
    return found


def page(jobs, parts, results, before=""):
    """Text of the page.

    ``jobs``: in the order of the table. ``parts``: job's name → part of fourteen. ``results``: job's name → result.
    ``before``: the page as it is.
    """
    known = _read(before)
    for name, result in results.items():
        if name not in known or result["date"] >= known[name][0][0]:
            failed = [f"- `{name}`: `{repeat(result['seed'], nodeid)}`" for nodeid in result["failed"]]
            known[name] = _row(result), failed
    rows, failures = [], []
    for job in jobs:
        cells, failed = known.get(job.name, ([_NOT_YET] + [""] * (_COLUMNS - 4), []))
        cells = [f" {cell}".rstrip() for cell in (f"`{job.name}`", job.title, parts[job.name], *cells)]
        rows.append("|" + " |".join(cells) + " |")
        failures += failed
    text = _HEAD + "\n".join(rows) + "\n"
    if failures:
        text += "\n## What failed\n\nEach with the command that runs it again.\n\n" + "\n".join(failures) + "\n"
    return text
