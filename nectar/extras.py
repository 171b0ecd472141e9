"""How to get what an extra of pyproject.toml brings."""

import shlex
import sys
from pathlib import Path

from . import __version__

__all__ = ["how_to_get"]

_ROOT = Path(__file__).resolve().parent.parent
#: A wheel of this project: its name on package indexes is nobody's yet.
_WHEEL = f"nectar_backplane-{__version__}-py3-none-any.whl"


def how_to_get(extra):
    """The part of a message that tells the command which installs the ``extra``."""
    checkout = (_ROOT / "pyproject.toml").is_file()
    what = ["-c", str(_ROOT / "constraints.txt"), "-e", f"{_ROOT}[{extra}]"] if checkout else [f"{_WHEEL}[{extra}]"]
    return f"it comes with the extra '{extra}': {shlex.join([sys.executable, '-m', 'pip', 'install', *what])}"
