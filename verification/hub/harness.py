"""A HUB compiled for speed, whose pins are driven from Python for many cycles at a time: what the fuzzing runs on.

Verilator translates the HUB, a few lines of C++ that are generated here move symbols between its pins and two arrays, and the whole is
a shared library; it is kept under ``build/fuzz`` and made again only when the Verilog or the shim has changed.
"""

import ctypes
import fcntl
import functools
import hashlib
import os
import subprocess
from array import array
from pathlib import Path

from nectar.hdl.hub.hub import Hub
from nectar.hdl.verilog import convert
from nectar.verification.simulation import use_verilator, verilator_flags

__all__ = ["VALID", "Harness"]

ROOT = Path(__file__).resolve().parents[2]
#: Set in what is driven into a port in a cycle in which a symbol arrives.
VALID = 0x8000
_SHIM = """\
// Moves symbols between the pins of a HUB and arrays. Generated.
#include <cstdint>
#include <cstring>
#include "Vhub.h"
#include "verilated.h"

namespace {{
constexpr int N = {ports};
struct Handle {{
    VerilatedContext context;
    Vhub top{{&context}};
    std::uint16_t offered[N] = {{}};
}};
}}

extern "C" {{
Handle* hub_new() {{ return new Handle; }}
void hub_free(Handle* handle) {{ delete handle; }}

void hub_reset(Handle* handle, int id) {{
    Vhub& top = handle->top;
    top.hub_id = id;
    top.rst = 1;
{clear}
    for (int i = 0; i < 4; i++) {{ top.clk = 0; top.eval(); top.clk = 1; top.eval(); }}
    top.rst = 0;
    std::memset(handle->offered, 0, sizeof handle->offered);
}}

// What the HUB offers and says before it is told what arrives.
void hub_look(Handle* handle, std::uint16_t* offers, std::uint8_t* idle) {{
    Vhub& top = handle->top;
    top.clk = 0;
    top.eval();
    const std::uint16_t now[N] = {{{offer}}};
    std::memcpy(offers, now, sizeof now);
    *idle = top.idle;
}}

// rx and ready: one entry for each cycle and port; sent: the symbols taken, port by port with room for as many as there are cycles, each
// above the cycle; taken: their number; idle: one byte a cycle. Returns -1, or the cycle in which an offer was changed before it was taken.
long hub_run(Handle* handle, long cycles, const std::uint16_t* rx, const std::uint8_t* ready, std::uint32_t* sent, long* taken,
             std::uint8_t* idle) {{
    Vhub& top = handle->top;
    long wrong = -1;
    for (int n = 0; n < N; n++) taken[n] = 0;
    for (long cycle = 0; cycle < cycles; cycle++, rx += N, ready += N) {{
        top.clk = 0;
{drive}
        top.eval();
        idle[cycle] = top.idle;
        const std::uint16_t now[N] = {{{offer}}};
        for (int n = 0; n < N; n++) {{
            if (handle->offered[n] && handle->offered[n] != now[n] && wrong < 0) wrong = cycle;
            handle->offered[n] = now[n] && !ready[n] ? now[n] : 0;
            if (now[n] && ready[n]) sent[n * cycles + taken[n]++] = std::uint32_t(cycle) << 9 | (now[n] & 0x1FF);
        }}
        top.clk = 1;
        top.eval();
    }}
    return wrong;
}}
}}
"""


def _shim(ports):
    lines = {"clear": "    top.port_{n}___05Frx___05Fvalid = 0; top.port_{n}___05Ftx___05Fready = 0;",
             "drive": "        top.port_{n}___05Frx___05Fpayload = rx[{n}] & 0x1FF; top.port_{n}___05Frx___05Fvalid = rx[{n}] >> 15; top.port_{n}___05Ftx___05Fready = ready[{n}];"}
    made = {name: "\n".join(line.format(n=n) for n in range(ports)) for name, line in lines.items()}
    offer = ", ".join(f"std::uint16_t(top.port_{n}___05Ftx___05Fvalid ? {VALID} | top.port_{n}___05Ftx___05Fpayload : 0)" for n in range(ports))
    return _SHIM.format(ports=ports, offer=offer, **made)


@functools.cache
def _library(ports, profile):
    """Path of the shared library; builds it if need be."""
    use_verilator()
    verilog, shim = convert(Hub(ports=ports, profile=profile), "hub"), _shim(ports)
    directory = ROOT / "build" / "fuzz" / f"{profile.name}_{ports}"
    directory.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256((verilog + shim).encode()).hexdigest()
    library, stamp = directory / "hub.so", directory / "digest"
    with open(directory / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if library.exists() and stamp.exists() and stamp.read_text() == digest:
            return library
        (directory / "hub.v").write_text(verilog)
        (directory / "shim.cpp").write_text(shim)
        for call in (["verilator", "--cc", "hub.v", "--prefix", "Vhub", "-O3", "--Mdir", ".", *verilator_flags(verilog), "--exe", "shim.cpp",
                      "-o", "hub.so", "-CFLAGS", "-fPIC", "-LDFLAGS", "-shared"],
                     ["make", "-f", "Vhub.mk", "CFG_CXXFLAGS_PCH_I=-include", "OPT_FAST=-O1", "OPT_SLOW=-O0", "OPT_GLOBAL=-O1", "-j2"]):
            environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
            done = subprocess.run(call, cwd=directory, capture_output=True, text=True, env=environment, check=False)
            if done.returncode:
                raise RuntimeError(f"{call[0]} failed in {directory}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        stamp.write_text(digest)
    return library


class Harness:
    """A HUB of ``ports`` ports in ``profile`` with ID ``hub``, out of reset."""

    def __init__(self, ports, profile, hub):
        self.ports = ports
        self._library = library = ctypes.CDLL(str(_library(ports, profile)))
        library.hub_new.restype = ctypes.c_void_p
        library.hub_free.argtypes = [ctypes.c_void_p]
        library.hub_reset.argtypes = [ctypes.c_void_p, ctypes.c_int]
        library.hub_run.restype = ctypes.c_long
        library.hub_run.argtypes = [ctypes.c_void_p, ctypes.c_long] + [ctypes.c_void_p] * 5
        library.hub_look.argtypes = [ctypes.c_void_p] * 3
        self._handle = ctypes.c_void_p(library.hub_new())
        library.hub_reset(self._handle, hub)
        self._one = [array("H", bytes(2 * ports)), array("B", bytes(ports)), array("I", bytes(4 * ports)), array("l", bytes(8 * ports)),
                     array("B", b"\0"), array("H", bytes(2 * ports))]
        self._places = [part.buffer_info()[0] for part in self._one]

    def close(self):
        """Frees the HUB."""
        self._library.hub_free(self._handle)

    def run(self, rx, ready):
        """Many cycles at once: ``rx`` and ``ready`` are arrays ("H", "B") with one entry for each cycle and port.

        Returns ([[(cycle, symbol) taken] of each port], bytes of the idle pin). Raises AssertionError if an offer was changed before it was taken.
        """
        cycles = len(rx) // self.ports
        sent, taken, idle = array("I", bytes(4 * len(rx))), array("l", bytes(8 * self.ports)), array("B", bytes(cycles))
        parts = [part.buffer_info()[0] for part in (rx, ready, sent, taken)]
        wrong = self._library.hub_run(self._handle, cycles, *parts, idle.buffer_info()[0])
        assert wrong < 0, f"cycle {wrong} of these: an offer was changed before it was taken"
        found = [[(item >> 9, item & 0x1FF) for item in sent[port * cycles:port * cycles + taken[port]]] for port in range(self.ports)]
        return found, idle.tobytes()

    def play(self, bed, until, limit):
        """Runs the endpoints of ``bed`` (Bed) at the pins, cycle by cycle, until ``until()``; raises Violation by way of the bed's recording, and
        AssertionError after ``limit`` cycles.
        """
        rx, readies, _, _, idle, offers = self._one
        library, handle, ports = self._library, self._handle, range(self.ports)
        *places, look = self._places
        end = bed.now + limit
        while not until():
            assert bed.now < end, f"not quiet within {limit} cycles"
            library.hub_look(handle, look, places[-1])
            arriving, ready = bed.step([offer & 0x1FF if offer else None for offer in offers], bool(idle[0]))
            for port in ports:
                symbol = arriving[port]
                rx[port] = 0 if symbol is None else VALID | symbol
                readies[port] = ready[port]
            library.hub_run(handle, 1, *places)
