"""Everything in README.md and docs/ that a reader may type is typed here, and gives what the page says.

In a page, code stands between fences. What is executed:

- ``python`` and ``toml`` behind the words *Save this as `NAME`*: the file is written.
- ``python`` with a ``main``, not saved: run by ``nectar run``. Any other ``python``: run by Python.
- ``console``: lines that begin with ``$`` are commands, the lines below them what they print. ``...`` stands for
  anything, and numbers with a decimal point may be off by a quarter, so that a page need not follow every cycle.

All blocks of a page run one after the other in the same folder, which looks like the project's own.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nectar.verification.cli.silence import without_progress

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
LINKS = ("README.md", "docs", "examples", "Makefile")
EXECUTED = {"python", "toml", "console"}
NEVER = {"text", ""}
#: Targets that only show what they would do: they run this very test, take very long, or take things away.
DRY = {"test", "check", "nightly", "bench", "bench-fpga", "boards", "docs", "clean"}
#: What is installed stays as it is, even if pyproject.toml has changed since: the tests run on it.
MAKE = "make --old-file=.venv/running --old-file=.venv/installed"


class Block:
    """A fenced block: ``language``, ``text``, ``name`` that it shall be saved as or None, its ``line`` in the page."""

    def __init__(self, language, text, before, line):
        self.language = language
        self.text = text
        said = re.search(r"Save this as `([\w.]+)`:$", before)
        self.name = said[1] if said else None
        self.line = line


def blocks(text):
    """The fenced blocks of a page."""
    found = []
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S):
        before = text[: match.start()].rstrip()
        found.append(Block(match[1], match[2], before[-200:], before.count("\n") + 2))
    return found


def commands(text):
    """(command, lines that it prints) of a console block."""
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def _number(text):
    return re.fullmatch(r"\d+\.\d+", text)


def _alike(said, got):
    """Whether the line ``got`` is what the page says."""
    pattern = ".*".join(re.escape(part) for part in said.split("..."))
    if re.fullmatch(pattern, got):
        return True
    ours, theirs = (re.split(r"(\d+\.\d+)", re.sub(r" +", " ", line)) for line in (said, got))
    return len(ours) == len(theirs) and all(
        a == b or _number(a) and _number(b) and abs(float(a) - float(b)) <= 0.01 * float(a)
        for a, b in zip(ours, theirs, strict=True)
    )


def matches(said, got):
    """Whether the lines ``got`` are what the page says; a line ``...`` stands for any number of lines."""
    if not said:
        return not got
    if said[0] == "...":
        return any(matches(said[1:], got[count:]) for count in range(len(got) + 1))
    return bool(got) and _alike(said[0], got[0]) and matches(said[1:], got[1:])


@pytest.fixture(scope="module")
def simulator():
    from nectar.sim import build
    from nectar.sim.machines.nectar import boards_of

    return build.library(boards_of())


class Reader:
    """Somebody who does what a page says, in ``folder``."""

    def __init__(self, folder):
        self.folder = folder
        for name in LINKS:
            (folder / name).symlink_to(ROOT / name)
        (folder / ".venv").symlink_to(sys.prefix)
        # What a page has compiled need not be fast.
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.environment = {**os.environ, "PATH": path, "MAKEFLAGS": "OPT_FAST=-O0 OPT_GLOBAL=-O0"}
        self.background = []

    def run(self, command, folder=None):
        """Exit code, and what a command prints, errors last."""
        with subprocess.Popen(
            command,
            shell=isinstance(command, str),
            cwd=folder or self.folder,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            if " & " in command:
                self.background.append(process.pid)
            try:
                out, errors = process.communicate(timeout=600)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        return process.returncode, out + without_progress(errors)

    def close(self):
        """Ends what a page has started in the background and not ended."""
        for group in self.background:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGTERM)

    def type(self, command, said):
        """A command of a console block."""
        make = re.fullmatch(r"make ([\w-]+)", command)
        if make:
            status, output = self.run(f"{MAKE} {'--dry-run' if make[1] in DRY else ''} {make[1]}", ROOT)
            if make[1] in DRY:
                said = ["..."]
        else:
            status, output = self.run(command)
        assert matches(said, output.splitlines()), f"$ {command}\n{output}"
        assert (status == 0) != any(line.startswith("nectar: ") for line in said), f"$ {command} has exit code {status}"

    def follow(self, block):
        """Does what a block says."""
        if block.name:
            (self.folder / block.name).write_text(block.text)
        elif block.language == "console":
            for command, said in commands(block.text):
                self.type(command, said)
        elif block.language == "python":
            (self.folder / "block.py").write_text(block.text)
            program = "async def main(" in block.text
            status, output = self.run(["nectar", "run", "block.py"] if program else [sys.executable, "block.py"])
            assert status == 0, output


#: Pages whose commands take longest. What they show has everyday tests of its own; the README, the tutorial and all
#: other pages are followed every day.
LONG = {
    "first-board.md",
    "latency.md",
    "machines.md",
    "network.md",
    "programs.md",
    "recording.md",
    "sockets.md",
    "sweep.md",
    "transport.md",
    "transports.md",
    "verilog.md",
}


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.nightly] if page.name in LONG else [], id=page.name) for page in PAGES],
)
def test_a_page_does_what_it_says(page, tmp_path, simulator):
    with contextlib.closing(Reader(tmp_path)) as reader:
        for block in blocks(page.read_text()):
            assert block.language in EXECUTED | NEVER, (
                f"{page.name}:{block.line}: a block of {block.language!r} is not executed"
            )
            reader.follow(block)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_command_hides_outside_a_fence(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    hidden = [
        line for line in text.splitlines() if re.match(r"(    |\t)+(\$ |make |nectar |\.venv/|python|pip |git )", line)
    ]
    assert not hidden


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        assert "://" in target or (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_are_whole(page):
    """A table begins with its heads and the line below them; a blank line in it makes two, of which one is none."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
        assert re.match(r"\|.*\|\n\|[-| :]+\|\n\|", table), f"{page.name}: {table.splitlines()[0]}"


@pytest.mark.parametrize(
    "said, got, alike",
    [
        ("a\nb", "a\nb", True),
        ("a\n...\nd", "a\nb\nc\nd", True),
        ("a\n...\nd", "a\nd", True),
        ("a\n...", "a", True),
        ("a", "b", False),
        ("a", "a\nb", False),
        ("a\nb", "a", False),
        ("x ... z", "x y z", True),
        ("x ... z", "x y", False),
        ("t 10.00 us", "t  10.09 us", True),
        ("t 10.00 us", "t 10.11 us", False),
        ("n 3 of 4", "n 3 of 5", False),
        ("10.0 us", "10 us", False),
    ],
)
def test_the_comparison_can_fail(said, got, alike):
    assert matches(said.splitlines(), got.splitlines()) == alike


def test_a_wrong_page_is_found(tmp_path):
    page = "Save this as `p.py`:\n\n```python\nprint(1)\n```\n\n```console\n$ python p.py\n2\n```\n"
    reader = Reader(tmp_path)
    first, second = blocks(page)
    reader.follow(first)
    with pytest.raises(AssertionError):
        reader.follow(second)
