"""``nectar run --waves FILE``: what is recorded of the boards' signals (docs/waves.md)."""

import os

from .errors import UsageError
from .results import check_target
from .sizes import octets, size_text
from .units import LONGEST, picoseconds, time_text

__all__ = ["VALUES", "missed_window", "wave_news", "wave_views", "waves"]

#: What ends waveforms that nobody looks after.
WAVE_LIMIT = "1G"
#: Options that take a value, as argparse wants them.
VALUES = {
    "--waves": {"metavar": "FILE", "help": "record waveforms; FILE ends in .vcd or .fst; nectar waves FILE shows it"},
    "--wave-boards": {"metavar": "NAMES", "help": "record only these boards: CAB1,HUB2"},
    "--wave-window": {
        "metavar": "FROM:TO",
        "help": "record only this part of simulated time: 10us:150us; either end may be left out",
    },
    "--wave-limit": {
        "metavar": "SIZE",
        "help": f"size at which recording ends, as 500M, before it becomes FST; 0: none (default: {WAVE_LIMIT})",
    },
}


def waves(options):
    """What the machine is to record of waveforms, as keyword arguments of its class. Raises UsageError."""
    path, boards, window = options.waves, options.wave_boards, options.wave_window
    if path is None:
        for name, value in (("--wave-boards", boards), ("--wave-window", window), ("--wave-limit", options.wave_limit)):
            if value is not None:
                raise UsageError(f"{name} needs --waves FILE")
        return {"wave_boards": None}
    if path and os.path.splitext(path)[1] not in (".vcd", ".fst"):
        raise UsageError(f"--waves {path}: the name must end in .vcd or .fst, which is the format")
    check_target("--waves", path)
    _check_views(path)
    if boards is not None:
        boards = [name.strip() for name in boards.split(",") if name.strip()]
        if not boards:
            raise UsageError("--wave-boards names no board; write names with commas between them")
    return {
        "waves": path,
        "wave_boards": boards,
        "wave_window": None if window is None else _window(window),
        "wave_limit": _wave_limit(options) or None,
        "wave_views": True,
    }


def _check_views(path):
    """Raises UsageError if what viewers need cannot be written beside the waveforms."""
    from ..sim.wave_views import names_folder, save_file

    saved, names = save_file(path), names_folder(path)
    check_target("--waves", str(saved))
    if saved.exists() and not saved.is_file():
        raise UsageError(f"--waves {saved} cannot be written: it is no file")
    if names.exists() and not (names.is_dir() and os.access(names, os.W_OK)):
        reason = "permission denied" if names.is_dir() else "it is no directory"
        raise UsageError(f"--waves {names} cannot be written: {reason}")


def wave_views(path):
    """Real paths of what is written beside the waveform file ``path`` (None: nothing): its save file, and the folder
    of names."""
    from ..sim.wave_views import names_folder, save_file

    return [] if path is None else [os.path.realpath(save_file(path)), os.path.realpath(names_folder(path))]


def _wave_limit(options):
    """Bytes; 0 for no limit."""
    return octets(options.wave_limit or WAVE_LIMIT, "--wave-limit")


def _window(text):
    """What part of simulated time --wave-window names, in picoseconds."""
    begin, colon, end = text.partition(":")
    if not colon:
        raise UsageError(f"--wave-window {text}: write FROM:TO, as in 10us:150us")
    window = (
        picoseconds(begin, "--wave-window") if begin.strip() else 0,
        picoseconds(end, "--wave-window") if end.strip() else LONGEST,
    )
    if window[0] >= window[1]:
        raise UsageError(f"--wave-window {text}: it ends before it begins")
    return window


def missed_window(options, time_ps):
    """The line that tells that a program that ended at ``time_ps`` did not come to --wave-window; or None."""
    if options.wave_window is None or time_ps >= _window(options.wave_window)[0]:
        return None
    return (
        f"--wave-window {options.wave_window}: the program ended at {time_text(time_ps)} of simulated time, before it; "
        f"{options.waves} shows nothing"
    )


def wave_news(options, system):
    """What tells once, as soon as it is so, that the waveforms have reached their limit."""
    waiting = options.waves is not None

    def news():
        nonlocal waiting
        if not waiting or (full_ps := system.machine.waves_full_ps) is None:
            return None
        waiting = False
        return (
            f"--waves {options.waves}: the waveforms have reached {size_text(_wave_limit(options))} "
            f"at {time_text(full_ps)} of simulated time and end there; give a larger --wave-limit, "
            "or record less by --wave-boards and --wave-window"
        )

    return news
