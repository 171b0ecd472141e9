"""Waveform files: VCD as the engine writes it, FST made from that.

The file appears under its name when it is whole, never before.
"""

import ctypes
import errno
import os
import tempfile
from pathlib import Path

__all__ = ["WaveFile"]

#: The functions that fst.cpp needs, in its order.
_WRITER = ("Create", "Close", "SetTimescaleFromString", "SetScope", "SetUpscope", "CreateVar", "EmitTimeChange", "EmitValueChange")


class WaveFile:
    """A waveform file in the making.

    Parameters
    ----------
    path : path
        Where it shall be; its suffix, ``.vcd`` or ``.fst``, tells the format.

    Members
    -------
    temporary : Path
        VCD file to write, in the same directory.

    Raises ValueError for another suffix, OSError if the directory cannot be written or ``path`` is there and is no file. Where a
    symbolic link leads is what is written.
    """

    def __init__(self, path):
        self.path = Path(path)
        if self.path.suffix not in (".vcd", ".fst"):
            raise ValueError(f"{path}: the name of a waveform file ends in .vcd or .fst")
        if self.path.exists() and not self.path.is_file():
            raise OSError(errno.EINVAL, "it is no file", str(path))
        handle, name = tempfile.mkstemp(prefix=f".{self.path.name}.", suffix=".vcd", dir=os.path.dirname(os.path.realpath(path)))
        os.close(handle)
        self.temporary = Path(name)

    def finish(self, library, error=0):
        """The VCD is complete: gives the file its format, with the help of the engine's ``library``, and its name.

        ``error`` is the number of the error that has kept the VCD from being complete; then it raises OSError instead.
        """
        made = self.temporary
        try:
            if error:
                raise OSError(error, os.strerror(error), str(self.path))
            if self.path.suffix == ".fst":
                made = self.temporary.with_suffix(".fst")
                self._convert(library, made)
            os.chmod(made, 0o666 & ~_umask())
            os.replace(made, os.path.realpath(self.path))
        finally:
            made.unlink(missing_ok=True)
            self.discard()

    def _convert(self, library, target):
        import pylibfst   # only who wants FST waits for it
        functions = [pylibfst.ffi.addressof(pylibfst.lib, f"fstWriter{name}") for name in _WRITER]
        addresses = (ctypes.c_void_p * len(functions))(*(int(pylibfst.ffi.cast("uintptr_t", function)) for function in functions))
        if not library.nectar_vcd_to_fst(str(self.temporary).encode(), str(target).encode(), addresses):
            raise OSError(f"{self.path}: the waveforms cannot be written as FST; is the disk full?")

    def discard(self):
        """Leaves nothing behind."""
        self.temporary.unlink(missing_ok=True)

    def refused(self):
        """The error for a file that could not be opened."""
        self.discard()
        return OSError(f"{self.path}: the waveform file cannot be written")


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
