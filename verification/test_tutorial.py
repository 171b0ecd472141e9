"""The tutorial, followed word for word in a fresh clone, in one shell, by somebody who has nothing but its pages."""

import os
import shutil
import signal
import subprocess

import pytest

from nectar.verification.cli.silence import without_progress
from nectar.verification.imports import ROOT
from nectar.verification.test_documents import blocks, commands, matches

PAGES = [ROOT / "docs" / "tutorial" / f"first-{name}.md" for name in ("program", "waveform", "fault", "board")]
#: Ends a command's output in the shell of the reader.
MARK = "--- done"


class Shell:
    """A shell that goes on from command to command, in ``folder``, without anything of the environment of tests."""

    def __init__(self, folder, home):
        path = os.pathsep.join(
            part for part in os.environ["PATH"].split(os.pathsep) if not part.startswith(str(ROOT / ".venv"))
        )
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "LANG", "LC_"))}
        with (home / "errors").open("w") as errors:
            self._process = subprocess.Popen(
                ["bash", "--noprofile", "--norc"],
                cwd=folder,
                env={**kept, "PATH": path, "HOME": str(home)},
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        self._errors = (home / "errors").open()

    def type(self, command):
        """Exit code of a command, and the lines that it prints, errors last."""
        self._process.stdin.write(f"{command}\nprintf '\\n{MARK} %s\\n' $?\n")
        self._process.stdin.flush()
        lines = []
        for line in self._process.stdout:
            if line.startswith(MARK):
                break
            lines.append(line)
        output = "".join(lines).removesuffix("\n") + without_progress(self._errors.read())
        return int(line.split()[-1]), output.splitlines()

    def close(self):
        """Ends the shell, and what it has started."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
        self._errors.close()


@pytest.fixture
def clone(tmp_path):
    """The files under version control, as they are now."""
    folder = tmp_path / "nectar"
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, text=True, capture_output=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    return folder


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_a_new_user_can_follow_the_tutorial(clone, tmp_path):
    shell = Shell(clone, tmp_path)
    try:
        for page in PAGES:
            for block in blocks(page.read_text()):
                if block.name:
                    (clone / block.name).write_text(block.text)
                    continue
                for command, said in commands(block.text) if block.language == "console" else ():
                    status, got = shell.type(command)
                    assert matches(said, got), f"{page.name}: $ {command}\n" + "\n".join(got)
                    failed = any(line.startswith("nectar: ") for line in said)
                    assert (status != 0) == failed, f"{page.name}: $ {command} has exit code {status}"
    finally:
        shell.close()
