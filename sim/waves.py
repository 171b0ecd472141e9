"""Waveform files: VCD as the engine writes it, FST made from that; with them, what viewers need (``wave_views``).

The file appears under its name when it is whole, never before. Until then it is a hidden file beside it, which its
process holds locked: one that nobody holds was left by a process that was killed, and is deleted by the next that
writes the same file.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import tempfile
from pathlib import Path

from . import wave_views
from .numbers import FstFunction

__all__ = ["WaveFile"]


class WaveFile:
    """A waveform file in the making.

    Parameters
    ----------
    path : path
        Where it shall be; its suffix, ``.vcd`` or ``.fst``, tells the format.
    views : bool
        Whether the files for viewers are written beside it.

    Members
    -------
    temporary : Path
        VCD file to write, in the same directory.

    Raises ValueError for another suffix, OSError if the directory cannot be written or ``path`` is there and is no
    file. Where a symbolic link leads is what is written.
    """

    def __init__(self, path, views=False):
        self.path = Path(path)
        self._views = views
        self._read, self._size = ctypes.c_int64(), None  # bytes of the VCD that have become FST, and of all
        if self.path.suffix not in (".vcd", ".fst"):
            raise ValueError(f"{path}: the name of a waveform file ends in .vcd or .fst")
        if self.path.exists() and not self.path.is_file():
            raise OSError(errno.EINVAL, "it is no file", str(path))
        folder, prefix = Path(os.path.realpath(path)).parent, f".{self.path.name}."
        _sweep(folder, prefix)
        self._handle, name = tempfile.mkstemp(prefix=prefix, suffix=".vcd", dir=folder)
        fcntl.flock(self._handle, fcntl.LOCK_EX)
        self.temporary = Path(name)

    def finish(self, library, error, value_names, first_ps):
        """The VCD is complete: gives the file its format, with the help of the engine's ``library``, and its name.

        ``error`` is the number of the error that has kept the VCD from being complete; then it raises OSError instead.
        ``value_names`` and ``first_ps`` are what Views (``wave_views``) takes.
        """
        made = self.temporary
        try:
            if error:
                raise OSError(error, os.strerror(error), str(self.path))
            variables = wave_views.read_header(self.temporary) if self._views else None
            if self.path.suffix == ".fst":
                made = self.temporary.with_suffix(".fst")
                self._convert(library, made)
            os.chmod(made, 0o666 & ~_umask())
            os.replace(made, os.path.realpath(self.path))
            if variables is not None:
                wave_views.Views(self.path, variables, value_names, first_ps).write()
        finally:
            made.unlink(missing_ok=True)
            self.discard()

    def _convert(self, library, target):
        import pylibfst  # only who wants FST waits for it

        functions = [pylibfst.ffi.addressof(pylibfst.lib, f"fstWriter{each.name}") for each in FstFunction]
        addresses = (ctypes.c_void_p * len(functions))(
            *(int(pylibfst.ffi.cast("uintptr_t", function)) for function in functions)
        )
        self._size = max(1, os.path.getsize(self.temporary))
        read = ctypes.byref(self._read)
        if not library.nectar_vcd_to_fst(os.fsencode(self.temporary), os.fsencode(target), addresses, read):
            raise OSError(errno.EIO, "making an FST file of the waveforms failed; is the disk full?", str(self.path))

    @property
    def written(self):
        """How much of the VCD has become FST, from 0 to 1; None while it is not being made. For any thread."""
        return self._size and self._read.value / self._size

    def discard(self):
        """Leaves nothing behind. May be called twice."""
        self.temporary.unlink(missing_ok=True)
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def refused(self):
        """The error for a file that could not be opened."""
        self.discard()
        return OSError(f"{self.path}: the waveform file cannot be written")


def _sweep(folder, prefix):
    """Deletes what killed processes have left of files whose hidden names begin with ``prefix``."""
    names = os.listdir(folder)
    for name in names:
        if name.startswith(prefix) and name.endswith(".vcd"):
            with contextlib.suppress(OSError), open(folder / name, "rb") as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                for left in names:  # what it is converted to, too
                    if left.startswith(name.removesuffix("vcd")):
                        (folder / left).unlink()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
