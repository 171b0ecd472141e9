"""Loads what was built into a board, by the board's own programmer.

The programs are those that amaranth-boards calls: openFPGALoader, dfu-util, iceprog, openocd; environment variables of
their names in capitals name others."""

import contextlib
import subprocess
from pathlib import Path

from .build import NAME, Refused
from .catalogue import BOARDS

__all__ = ["program"]


class _Products:
    """Files in a directory, as a platform's programmer takes them."""

    def __init__(self, directory):
        self._directory = Path(directory)

    @contextlib.contextmanager
    def extract(self, *names):
        """Path of a file, or of several."""
        paths = [str(self._directory / name) for name in names]
        yield paths[0] if len(paths) == 1 else paths


def program(board, directory):
    """Programs the ``board`` with what is in ``directory``. Raises Refused if its programmer is missing or fails."""
    try:
        BOARDS[board].make().toolchain_program(_Products(directory), NAME)
    except FileNotFoundError as error:
        tool = error.filename
        raise Refused(
            f"the board cannot be programmed: {tool} is not installed; install it by your system's packages, then "
            f"repeat the command, which "
            f"builds nothing again. The files are in {directory}"
        ) from None
    except subprocess.CalledProcessError as error:
        raise Refused(
            f"the board was not programmed: {Path(error.cmd[0]).name} ended with exit code {error.returncode}; is "
            f"{board} plugged in, and may "
            "you use its port?"
        ) from None
