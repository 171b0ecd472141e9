"""An RTL HUB and a fast one side by side: each cycle of the one is compared with the same cycle of the other.

``hub_lockstep.cpp`` gives both the same inputs and compares their pins, and the registers that the recorder looks
at."""

import ctypes
from array import array
from enum import IntEnum, IntFlag
from pathlib import Path

from nectar.cache import digest
from nectar.hdl.link.symbol import COMMAND_LENGTH
from nectar.sim import build
from nectar.sim.machines.nectar import boards_of

__all__ = ["HUB", "VALID", "Difference", "Lockstep", "Look", "library", "stream"]

#: ID of the HUBs.
HUB = 0xF7
#: Set in what is driven into a port in a cycle in which a symbol arrives.
VALID = 0x8000
_HERE = Path(__file__).resolve().parent
_SIM = Path(build.__file__).resolve().parent
#: What fast CABs, which are in the same library, are linked with.
_CPU = [_SIM / "processor.cpp", _SIM / "recorder.cpp"]


class Difference(IntEnum):
    """What was not equal."""

    NOTHING = 0
    OFFERED = 1
    IDLE = 2
    CONNECTED = 3
    READY_BIT = 4
    LEVEL = 5


class Look(IntFlag):
    """How the boards are run and compared."""

    REGISTERS = 1  # the registers that the recorder looks at are compared, too
    SLEEP = 2  # the fast HUB is not evaluated while it says that it is idle


class _Build(build.Build):
    """The boards without the engine; ``fast_sources`` in the place of those of the fast HUB."""

    def __init__(self, size, fast_sources):
        super().__init__(boards_of((size,), cabs=False), None, None, [f"fasthub{size}"])
        self._sources = fast_sources
        self.ours = digest(self.ours, *build.texts([_HERE / "hub_lockstep.cpp", *(fast_sources or ())]))

    def _around(self, directory, sources):
        _, *kinds = super()._around(directory, ())
        own = ("lockstep", [*(_HERE / source for source in sources), *_CPU])
        return (own, *kinds) if self._sources is None else (own, *kinds[:-1], ("broken", self._sources))


def library(size, fast_sources=None):
    """Path of the library with HUBs of ``size`` ports of both kinds; builds it if need be. Raises BuildError."""
    return _Build(size, fast_sources).make("hublockstep", ".so", ["hub_lockstep.cpp"], ["-shared"])


def stream(ports, lines, cycles):
    """What arrives in so many cycles, as Lockstep.run takes it; ``lines``: port → symbols, None where none comes."""
    rx = array("H", bytes(2 * cycles * ports))
    for port, symbols in lines.items():
        for at, symbol in enumerate(symbols[:cycles]):
            if symbol is not None:
                rx[at * ports + port] = VALID | symbol
    return rx


class Lockstep:
    """A HUB of ``ports`` ports and a fast one, out of reset. ``path``: of their library. A context manager."""

    def __init__(self, ports, path=None):
        self.ports, self.now, self.recent = ports, 0, []
        self._library = loaded = ctypes.CDLL(str(path or library(ports)))
        loaded.lockstep_new.restype = ctypes.c_void_p
        loaded.lockstep_run.restype = ctypes.c_long
        loaded.lockstep_run.argtypes = [
            ctypes.c_void_p,
            ctypes.c_long,
            ctypes.c_int,
            *[ctypes.c_void_p] * 4,
            ctypes.c_uint,
            *[ctypes.c_void_p] * 2,
        ]
        loaded.lockstep_free.argtypes = [ctypes.c_void_p]
        self._pair = loaded.lockstep_new(f"hub{ports}".encode(), f"fasthub{ports}".encode())
        self.reset()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._library.lockstep_free(self._pair)

    def reset(self):
        """Resets both for three cycles and waits until they are out of it."""
        self.run(array("H", bytes(2 * 8 * self.ports)), rst=array("B", [1, 1, 1, 0, 0, 0, 0, 0]))

    def run(self, rx, ready=None, rst=None, look=Look.REGISTERS):
        """Many cycles: ``rx`` and ``ready`` are arrays ("H", "B") with one entry for each cycle and port, ``rst`` ("B")
        has one for each cycle; without ``ready`` the fibers take all symbols at once.

        Returns (what the RTL offers, an entry for each cycle and port; its idle pin, one for each cycle).
        AssertionError at the first cycle in which the boards differ; the fast HUB may say idle four cycles later."""
        ports = self.ports
        cycles = len(rx) // ports
        rst = rst or array("B", bytes(cycles))
        ready = ready or array("B", b"\1" * len(rx))
        offers, what, idle = array("H", bytes(2 * len(rx))), array("l", bytes(32)), array("B", bytes(cycles))
        places = [part.buffer_info()[0] for part in (rx, ready, rst, offers)]
        done = self._library.lockstep_run(
            self._pair, cycles, HUB, *places, look, what.buffer_info()[0], idle.buffer_info()[0]
        )
        found = Difference(what[0])
        first = max(0, done - 12 * COMMAND_LENGTH) * ports
        assert not found, (
            f"cycle {self.now + done}, port {what[1]}: {found.name.lower()} is {what[2]:#x} in the RTL, "
            f"{what[3]:#x} in the fast HUB; what arrived last at the ports: "
            f"{[[hex(s & 0x1FF) for s in rx[first + n : (done + 1) * ports : ports] if s] for n in range(ports)]}"
        )
        self.now += cycles
        return offers, idle
