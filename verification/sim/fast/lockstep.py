"""Two boards side by side: each cycle of one is compared with the same cycle of the other.

The boards are kinds of the engine: one translated by Verilator, one fast. ``lockstep.cpp`` gives both the same inputs
and compares their pins, and the registers that the recorder looks at."""

import ctypes
from array import array
from enum import IntEnum
from pathlib import Path

from nectar.cache import digest
from nectar.sim import build

__all__ = ["VALID", "Difference", "Lockstep", "library"]

#: Set in what is driven into a port in a cycle in which a symbol arrives.
VALID = 0x8000
_HERE = Path(__file__).resolve().parent


class Difference(IntEnum):
    """What was not equal."""

    NOTHING = 0
    OFFERED = 1
    IDLE = 2
    CONNECTED = 3
    READY_BIT = 4
    LEVEL = 5


class _Build(build.Build):
    """The boards without the engine."""

    def _around(self, directory, sources):
        _, *kinds = super()._around(directory, ())
        return ("lockstep", [_HERE / source for source in sources]), *kinds


def library(sizes, fast=None):
    """Path of the library with HUBs of ``sizes`` ports of both kinds."""
    made = _Build(sizes, "prototype", None, None, cabs=False, fast=fast or [f"fasthub{size}" for size in sizes])
    made.ours = digest(made.ours, *build.texts([_HERE / "lockstep.cpp"]))
    return made.make("lockstep", ".so", ["lockstep.cpp"], ["-shared"])


class Lockstep:
    """A HUB of ``ports`` ports and a fast one, with ID ``hub``, out of reset."""

    def __init__(self, ports, hub=7, path=None):
        self.ports, self.hub, self.now = ports, hub, 0
        self._library = ctypes.CDLL(str(path or library((ports,))))
        self._library.lockstep_new.restype = ctypes.c_void_p
        self._library.lockstep_run.restype = ctypes.c_long
        self._library.lockstep_run.argtypes = [
            ctypes.c_void_p,
            ctypes.c_long,
            ctypes.c_int,
            *[ctypes.c_void_p] * 4,
            ctypes.c_uint,
            *[ctypes.c_void_p] * 2,
        ]
        self._library.lockstep_free.argtypes = [ctypes.c_void_p]
        self._pair = self._library.lockstep_new(f"hub{ports}".encode(), f"fasthub{ports}".encode())
        nothing = array("H", bytes(2 * ports * 8)), array("B", bytes(ports * 8))
        self.run(*nothing, array("B", [1, 1, 1, 0, 0, 0, 0, 0]))

    def close(self):
        """Frees both."""
        self._library.lockstep_free(self._pair)

    def run(self, rx, ready, rst=None, looks=1):
        """Many cycles; see ``lockstep.cpp``. Returns (offers of the RTL board, its idle pin), one entry for each cycle.
        AssertionError at the first cycle in which the boards differ."""
        ports = self.ports
        cycles = len(rx) // ports
        rst = rst or array("B", bytes(cycles))
        offers, what, idle = array("H", bytes(2 * len(rx))), array("l", bytes(32)), array("B", bytes(cycles))
        places = [part.buffer_info()[0] for part in (rx, ready, rst, offers)]
        done = self._library.lockstep_run(
            self._pair, cycles, self.hub, *places, looks, what.buffer_info()[0], idle.buffer_info()[0]
        )
        found = Difference(what[0])
        assert not found, (
            f"cycle {self.now + done}, port {what[1]}: {found.name.lower()} is {what[2]:#x} in the RTL, "
            f"{what[3]:#x} in the fast HUB"
        )
        self.now += cycles
        return offers, idle
