"""Opens a waveform file in the viewer that is installed: GTKWave, or else Surfer.

GTKWave shows the groups of the save file that 'nectar run --waves' has written beside it.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from .errors import DONE, UsageError

HELP = "open waveforms in the viewer that is installed"

#: Viewers, the one to be preferred first.
VIEWERS = ("gtkwave", "surfer")
#: Environment variables, one of which names the screen.
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
#: What GTKWave says, with exit code 0, when it cannot use that screen.
_NO_SCREEN = "Could not initialize GTK"


def configure(parser):
    """Options of ``nectar waves``."""
    parser.add_argument("file", metavar="FILE", help="what 'nectar run --waves FILE' has written: .vcd or .fst")
    parser.add_argument("--viewer", metavar="V", help=f"which viewer: {' or '.join(VIEWERS)}, by default what is there")


def execute(options):
    """Runs the viewer until it is closed."""
    path = Path(options.file)
    if path.suffix not in (".vcd", ".fst"):
        raise UsageError(f"{path}: the name of a waveform file ends in .vcd or .fst")
    if not path.is_file():
        reason = "is no file" if path.exists() else "is not there"
        raise UsageError(f"{path} {reason}; 'nectar run PROGRAM.py --waves {path}' writes it")
    if options.viewer is not None and options.viewer not in VIEWERS:
        raise UsageError(f"--viewer {options.viewer}: viewers are {' and '.join(VIEWERS)}")
    asked = VIEWERS if options.viewer is None else (options.viewer,)
    viewer = next(filter(shutil.which, asked), None)
    if viewer is None:
        raise UsageError(f"no viewer of waveforms is there; install {' or '.join(asked)} by your system's packages")
    if sys.platform == "linux" and not any(map(os.environ.get, _DISPLAYS)):
        raise UsageError(f"{viewer} needs a screen, but {' and '.join(_DISPLAYS)} are not set; look from a desktop")
    command, folder = _command(viewer, path)
    done = subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    if done.returncode or _NO_SCREEN in done.stderr:
        said = next((line.strip() for line in done.stderr.splitlines() if line.strip()), "it said nothing")
        raise UsageError(f"{viewer} ended with exit code {done.returncode}: {said}")
    return DONE


def _command(viewer, path):
    """The command that shows the waveforms, and the folder to run it in."""
    from ..sim.wave_views import names_folder, save_file

    path = path.absolute()
    if viewer == "gtkwave":
        saved = save_file(path)
        return [viewer, str(path), str(saved)] if saved.exists() else [viewer, str(path)], None
    names = names_folder(path)  # Surfer looks for names in the folder in which it runs
    return [viewer, str(path)], names if names.is_dir() else None
