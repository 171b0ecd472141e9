"""A HUB compiled for speed, whose pins are driven from Python for many cycles at a time: what the fuzzing runs on.

Verilator translates the HUB, with the module around it that packs its pins (``pins``); a few lines of C++ move symbols
between them and two arrays, and the whole is a shared library, which is kept (``models``). ``nectar.sim.build`` builds
another thing: boards whose pins the engine's fibers drive, a symbol in each symbol's time. The fuzzing sets each pin in
each cycle, ``tx.ready`` too, and shares its compiled HUB with the benches under cocotb.
"""

import ctypes
import functools
from array import array
from dataclasses import replace

from nectar.verification.hub.pins import PACKED, packed_hub
from nectar.verification.models import compiled
from nectar.verification.simulation import recipe

__all__ = ["VALID", "Harness"]

#: Set in what is driven into a port in a cycle in which a symbol arrives.
VALID = 0x8000
_SHIM = """\
// Moves symbols between the pins of a HUB and arrays. Generated.
#include <cstdint>
#include <cstring>
#include "Vtop.h"
#include "verilated.h"

namespace {{
constexpr int N = {ports}, WORDS = 10 * N / 32 + 2;

// The bits of a pin of any width, in words. Verilator keeps all of them in the machine's order of bytes, lowest first.
struct Bits {{
    std::uint32_t words[WORDS] = {{}};
    template <class Pin> void read(const Pin& pin) {{
        std::memcpy(words, reinterpret_cast<const char*>(&pin), sizeof pin);
    }}
    template <class Pin> void write(Pin& pin) const {{
        std::memcpy(reinterpret_cast<char*>(&pin), words, sizeof pin);
    }}
    bool bit(int n) const {{ return words[n / 32] >> n % 32 & 1; }}
    void set(int at, std::uint32_t value) {{
        const std::uint64_t moved = std::uint64_t(value) << at % 32;
        words[at / 32] |= std::uint32_t(moved);
        words[at / 32 + 1] |= std::uint32_t(moved >> 32);
    }}
    std::uint32_t get(int at) const {{
        return (words[at / 32] | std::uint64_t(words[at / 32 + 1]) << 32) >> at % 32 & 0x1FF;
    }}
}};

struct Handle {{
    VerilatedContext context;
    Vtop top{{&context}};
    std::uint16_t offered[N] = {{}};

    void offers(std::uint16_t* now) {{
        Bits bits;
        bits.read(top.offered);
        for (int n = 0; n < N; n++) now[n] = bits.bit(n) ? {valid} | bits.get(N + 9 * n) : 0;
    }}
    void drive(const std::uint16_t* rx, const std::uint8_t* ready) {{
        Bits arriving, takes;
        for (int n = 0; n < N; n++) {{
            if (rx[n]) {{
                arriving.set(n, 1);
                arriving.set(N + 9 * n, rx[n] & 0x1FF);
            }}
            if (ready[n]) takes.set(n, 1);
        }}
        arriving.write(top.arriving);
        takes.write(top.ready);
    }}
}};
}}

extern "C" {{
Handle* hub_new() {{ return new Handle; }}
void hub_free(Handle* handle) {{ delete handle; }}

void hub_reset(Handle* handle, int id) {{
    Vtop& top = handle->top;
    const std::uint16_t nothing[N] = {{}};
    const std::uint8_t nobody[N] = {{}};
    top.hub_id = id;
    top.rst = 1;
    handle->drive(nothing, nobody);
    for (int i = 0; i < 4; i++) {{ top.clk = 0; top.eval(); top.clk = 1; top.eval(); }}
    top.rst = 0;
    std::memset(handle->offered, 0, sizeof handle->offered);
}}

// What the HUB offers and says before it is told what arrives.
void hub_look(Handle* handle, std::uint16_t* offers, std::uint8_t* idle) {{
    Vtop& top = handle->top;
    top.clk = 0;
    top.eval();
    handle->offers(offers);
    *idle = top.idle;
}}

// rx and ready: one entry for each cycle and port; sent: the symbols taken, port by port with room for as many as there
// are cycles, each above the cycle; taken: their number; idle: one byte a cycle. Returns -1, or the cycle in which an
// offer was changed before it was taken.
long hub_run(Handle* handle, long cycles, const std::uint16_t* rx, const std::uint8_t* ready,
             std::uint32_t* sent, long* taken,
             std::uint8_t* idle) {{
    Vtop& top = handle->top;
    long wrong = -1;
    for (int n = 0; n < N; n++) taken[n] = 0;
    for (long cycle = 0; cycle < cycles; cycle++, rx += N, ready += N) {{
        top.clk = 0;
        handle->drive(rx, ready);
        top.eval();
        idle[cycle] = top.idle;
        std::uint16_t now[N];
        handle->offers(now);
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


@functools.cache
def _library(ports, profile):
    """Path of the shared library; builds it if need be. The HUB in it is compiled as for the benches under cocotb, once
    for both."""
    text = packed_hub(ports, profile)
    shim = _SHIM.format(ports=ports, valid=VALID)
    return compiled(text, replace(recipe(text, PACKED, ports_only=True), texts={"shim.cpp": shim}, shared=True))


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
        self._one = [
            array("H", bytes(2 * ports)),
            array("B", bytes(ports)),
            array("I", bytes(4 * ports)),
            array("l", bytes(8 * ports)),
            array("B", b"\0"),
            array("H", bytes(2 * ports)),
        ]
        self._places = [part.buffer_info()[0] for part in self._one]

    def close(self):
        """Frees the HUB."""
        self._library.hub_free(self._handle)

    def run(self, rx, ready):
        """Many cycles at once: ``rx`` and ``ready`` are arrays ("H", "B") with one entry for each cycle and port.

        Returns ([[(cycle, symbol) taken] of each port], bytes of the idle pin). Raises AssertionError if an offer was
        changed before it was taken."""
        cycles = len(rx) // self.ports
        sent, taken, idle = array("I", bytes(4 * len(rx))), array("l", bytes(8 * self.ports)), array("B", bytes(cycles))
        parts = [part.buffer_info()[0] for part in (rx, ready, sent, taken)]
        wrong = self._library.hub_run(self._handle, cycles, *parts, idle.buffer_info()[0])
        assert wrong < 0, f"cycle {wrong} of these: an offer was changed before it was taken"
        found = [
            [(item >> 9, item & 0x1FF) for item in sent[port * cycles : port * cycles + taken[port]]]
            for port in range(self.ports)
        ]
        return found, idle.tobytes()

    def play(self, agents, until, limit):
        """Runs the endpoints of ``agents`` (Agents) at the pins, cycle by cycle, until ``until()``; raises Violation by
        way of the agents's recording, and AssertionError after ``limit`` cycles."""
        rx, readies, _, _, idle, offers = self._one
        library, handle, ports = self._library, self._handle, range(self.ports)
        *places, look = self._places
        end = agents.now + limit
        while not until():
            assert agents.now < end, f"not quiet within {limit} cycles"
            library.hub_look(handle, look, places[-1])
            arriving, ready = agents.step([offer & 0x1FF if offer else None for offer in offers], bool(idle[0]))
            for port in ports:
                symbol = arriving[port]
                rx[port] = 0 if symbol is None else VALID | symbol
                readies[port] = ready[port]
            library.hub_run(handle, 1, *places)
