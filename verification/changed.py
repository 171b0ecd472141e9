"""What a change touches, and a run of just that: ``python -m nectar.verification.changed``, as ``make check`` does.

A test is touched by a change of its own file, and of whatever this imports or names, directly or not; for a bench that
is what it elaborates. Units of tests (``schedule``) are taken from the nearest on, until two minutes are full by what
they took the last time; what is left is told. A change of what every test stands on, or of a file that nothing is known
about, means the whole regression.
"""

import argparse
import os
import re
import subprocess
import sys

from ..sim.host import cores
from .imports import HARNESS, HOUSE, ROOT, steps_to
from .schedule import Durations, unit

__all__ = ["choose", "touched"]

#: Seconds that a check may take.
LIMIT = 120
#: Share of them that the chosen units may take by what they took before: collecting comes on top, and times vary.
_SHARE = 0.7
#: By how much what has not been measured here may take longer than is assumed.
_UNSURE = 2
_INTERRUPTED = 130
#: What every test stands on.
_EVERYTHING = (
    "pyproject.toml",
    "constraints.txt",
    "Makefile",
    ".ci/run",
    *(path.relative_to(ROOT).as_posix() for path in HARNESS),
)
#: Looks at the text of all files: for every change.
_ALWAYS = ("verification/test_house.py",)
#: Runs the proofs that the modules beside it list, each of which is touched by what its module stands on.
_PROOFS = ROOT / "verification" / "formal" / "test_proofs.py"
_PROOF = re.compile(r'\bProof\(\s*"(\w+)"')
#: Files that no test depends on.
_NOTHING = (".gitignore", "LICENSE", "CHANGELOG.md")


#: Folders of the project besides those of the package.
_OTHERS = ("docs", "examples", ".ci", ".github")


def _beside(*patterns):
    return [path for pattern in patterns for path in ROOT.glob(pattern)]


def _also():
    """Dependencies that no import shows: Path → Paths."""
    command = _beside("nectar/cli/*.py")
    programs, folders = _beside("examples/*.py"), _beside("examples/*/*")
    pages = ROOT / "verification" / "test_documents.py"
    loading = [pages, *(ROOT / "verification" / "programs").glob("test_*.py")]
    typed = [
        *(ROOT / "verification" / "cli").glob("*.py"),
        pages,
        ROOT / "verification" / "system" / "test_send_file.py",
    ]
    found = {
        ROOT / "sim" / "build.py": [ROOT / "sim" / "export.py", *_beside("sim/*.cpp", "sim/*.h")],
        ROOT / "boards" / "simulated.py": [ROOT / "boards" / "export.py", *_beside("boards/*.cpp")],
        ROOT / "verification" / "mutation" / "test_campaign.py": [
            ROOT / "verification" / "mutation" / "survivors.toml"
        ],
        **{
            path: [*command, *programs, *path.parent.glob("conftest.py")]
            for path in typed
            if path.name != "conftest.py"
        },
    }
    for path in loading:
        found.setdefault(path, []).extend(folders)
    return found


def changed(base):
    """Files that differ from the commit ``base``: a list of names, new ones among them; and those that are new and lie
    where nothing of the project does, as what a user has written here."""

    def git(*words):
        done = subprocess.run(["git", *words], cwd=ROOT, text=True, capture_output=True, check=False)
        if done.returncode:
            raise SystemExit(
                f"check: git {words[0]} failed: {(done.stderr.strip() or 'it said nothing').splitlines()[-1]}"
            )
        return done.stdout.splitlines()

    new = set(git("ls-files", "--others", "--exclude-standard"))
    foreign = {
        name
        for name in new
        if name.partition("/")[0] not in {*HOUSE, *_OTHERS}
        and name not in _EVERYTHING
        and ("/" in name or not name.endswith(".md"))
    }
    return sorted({*git("diff", "--name-only", base, "--"), *new} - foreign), sorted(foreign)


def touched(names):
    """What a change of files ``names`` touches: test file → steps to the nearest of them; and None, or why all
    is run.

    A document or an example is not followed further: it touches the pages of test_documents that have its name. Of the
    proofs, those are touched whose module depends on it: "verification/formal/test_proofs.py[head]" are those of head.
    """
    found, wanted = {}, set()
    for name in names:
        path = ROOT / name
        if name in _EVERYTHING:
            return {}, f"every test stands on {name}"
        if name in _NOTHING:
            continue
        if path.suffix == ".md" and path.parent in (ROOT, ROOT / "docs"):
            found[f"verification/test_documents.py[{path.name}]"] = 0
        elif path.parts[len(ROOT.parts)] not in {*HOUSE, "examples"}:
            return {}, f"nothing is known about {name}"
        elif not path.exists():
            return {}, f"{name} is gone"
        else:
            wanted.add(path)
    tests = sorted((ROOT / "verification").rglob("test_*.py"))
    modules = sorted(_PROOFS.parent.glob("*.py"))
    steps = steps_to(wanted, [*tests, *modules], _also())
    found |= {test.relative_to(ROOT).as_posix(): steps[test] for test in tests if test in steps}
    for module in modules:
        if module in steps:
            names = _PROOF.findall(module.read_text())
            found |= {f"{_PROOFS.relative_to(ROOT).as_posix()}[{name}]": 1 + steps[module] for name in names}
    return found, None


def choose(found, units, seconds, limit):
    """Units to run, and those for which there is no room: the nearest first, of those the shortest.

    ``found``: test file, unit or, of proofs, beginning of units → steps. ``units``: name → number of tests.
    ``seconds``: called with a unit and its number of tests. ``limit``: seconds for all together. The nearest unit is
    always among them.
    """
    steps = {
        name: min(
            (found[key] for key in (name, name.partition("[")[0], f"{name.partition('-')[0]}]") if key in found),
            default=None,
        )
        for name in units
    }
    order = sorted(
        (name for name in units if steps[name] is not None),
        key=lambda name: (steps[name], seconds(name, units[name]), name),
    )
    run, left, total = [], [], 0
    for name in order:
        total += seconds(name, units[name])
        (run if total <= limit or not run else left).append(name)
    always = [name for name in units if name.partition("[")[0] in _ALWAYS and name not in run]
    return run + always, left


def _collected(files):
    """Units of the everyday tests in ``files``, with their numbers of tests."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "--collect-only", "-q", "-m", "not nightly", *files],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode not in (0, 5):
        raise SystemExit(f"check: the tests cannot be collected:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    units = {}
    for line in done.stdout.splitlines():
        if "::" in line:
            name = unit(line)
            units[name] = units.get(name, 0) + 1
    return units


def _run(command):
    """Runs a command to its end, which comes with Ctrl-C, too; its exit code."""
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.wait()  # it has been interrupted as well, and ends what it has started
        raise


def main():
    """Runs the tests that are asked for; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m nectar.verification.changed", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--base", default="HEAD", help="compare with this commit; by default with the last one")
    parser.add_argument("--list", action="store_true", help="only tell what would be run")
    options = parser.parse_args()
    names, foreign = changed(options.base)
    if foreign:
        print(f"check: no test looks at {', '.join(foreign)}", flush=True)
    if not names:
        print(f"check: nothing differs from {options.base}; BASE=main compares with another commit")
        return 0
    found, reason = touched(names)
    python = [sys.executable, "-m", "pytest", "-n", "auto", "-m", "not nightly"]
    if reason:
        print(f"check: the whole regression, since {reason}", flush=True)
        return 0 if options.list else _run(python)
    units = _collected(sorted({name.partition("[")[0] for name in [*found, *_ALWAYS]}))
    durations = Durations()
    builds = any(name.startswith("hdl/") for name in names)

    def seconds(name, tests):
        return durations.seconds(name, tests, build=builds) * (1 if name in durations else _UNSURE)

    run, left = choose(found, units, seconds, LIMIT * _SHARE * cores())
    near, far = (sum(units[name] for name in names) for names in (run, left))
    print(f"check: {len(names)} files changed; {near} tests in {len(run)} places touch them most closely", flush=True)
    if left:
        where = f"{far} tests in {len(left)} places"
        print(f"check: {where} touch them from further away; 'make test' runs them, too", flush=True)
    if options.list:
        print("\n".join(run))
        return 0
    chosen = ROOT / "build" / f"check-{os.getpid()}"
    chosen.parent.mkdir(exist_ok=True)
    chosen.write_text("\n".join(run))
    try:
        return _run([*python, "--units", str(chosen), *sorted({name.partition("[")[0] for name in run})])
    finally:
        chosen.unlink()


def program():
    """The program, and what it says of Ctrl-C."""
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("check: interrupted", file=sys.stderr)
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    program()
