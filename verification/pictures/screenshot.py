"""Writes pictures of reports: ``python -m nectar.verification.pictures.screenshot``, into ``docs/pictures``.

It runs examples and opens their reports in Chromium. A browser's fonts differ from machine to machine, so no test
compares the picture.
"""

import contextlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ..imports import ROOT
from .__main__ import FOLDER

__all__ = ["PICTURES", "main", "shot"]

#: Name of a picture → what ``nectar`` runs for it.
PICTURES = {
    "report.png": ["examples/request.py"],
    "report-ipsc2.png": ["--machine", "ipsc2", "--topology", "hypercube:2", "examples/nx_matrix.py", "--order", "8"],
}

_SIZE = "1280,860"


def shot(browser, page, picture):
    """Has ``browser`` (a path) write a PNG of an HTML file."""
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
                "--disable-background-networking", "--disable-component-update", f"--user-data-dir={profile}",
                f"--window-size={_SIZE}", "--virtual-time-budget=5000", f"--screenshot={picture}", page.as_uri(),
            ],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120,
        )  # fmt: skip


def main():
    """Writes the pictures; the exit code."""
    from ...cli import main as nectar

    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        print("nectar: the pictures are taken by chromium, which is not installed", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        for name, program in PICTURES.items():
            with contextlib.chdir(ROOT):
                if status := nectar(["run", *program, "--report", str(page)]):
                    return status
            shot(browser, page, FOLDER / name)
            print(f"docs/pictures/{name}: written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
