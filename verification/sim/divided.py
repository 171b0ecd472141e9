"""A HUB divided into parts beside the same HUB as a whole: all variables of Verilator's model at every clock edge."""

import shutil
import subprocess

from nectar.hdl.hub.commands import BY_OPCODE
from nectar.hdl.link.symbol import ANY_HUB, Control
from nectar.sim import adapter, build
from nectar.sim.machines.nectar import boards_of
from nectar.sim.parts import divide, variables

__all__ = ["digests"]

#: Random traffic at every port: commands, packets, ready signals and symbols that mean nothing, with pauses. Prints a
#: digest of all variables at each edge, and at the end how many symbols have left each port.
_DRIVER = """
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>

#include "V%(kind)s.h"
#include "V%(kind)s___024root.h"
#include "verilated_vcd_c.h"

static std::uint64_t sum;

template <class T>
static void add(const T& variable) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&variable);
    for (std::size_t i = 0; i < sizeof variable; ++i) sum = (sum ^ bytes[i]) * 0x100000001b3;
}
static void digest(const V%(kind)s___024root* root) {
%(digest)s}

int main(int, char** arguments) {
    VerilatedContext context;
    context.threads(1);
    context.traceEverOn(true);
    V%(kind)s hub(&context, "hub");
    VerilatedVcdC waves;
    hub.trace(&waves, 99);
    waves.open(arguments[2]);
    struct Port {
        SData &rx, &tx;
        CData &valid, &ready, &sends;
    } ports[] = {%(ports)s};
    constexpr unsigned N = sizeof ports / sizeof *ports;
    std::uint64_t state = std::strtoull(arguments[1], nullptr, 10);
    auto random = [&](unsigned below) {
        state = state * 6364136223846793005 + 1442695040888963407;
        return static_cast<unsigned>((state >> 33) %% below);
    };
    constexpr unsigned OPCODES[] = {%(opcodes)s};
    std::deque<unsigned> waiting[N];
    unsigned sent[N] = {};
    for (unsigned cycle = 0; cycle < %(cycles)d; ++cycle) {
        hub.rst = cycle < 4;
        hub.hub_id = 1;
        for (unsigned n = 0; n < N; ++n) {
            auto& queue = waiting[n];
            const unsigned kind = queue.empty() ? random(40) : 40;
            if (kind < 4) {
                const unsigned opcode = random(2) ? random(8) : OPCODES[random(sizeof OPCODES / sizeof *OPCODES)];
                queue = {%(command)d, opcode, random(8) ? 1U : %(any)dU, random(8) ? random(N) : random(256)};
            } else if (kind < 6) {
                queue = {%(start)d};
                for (unsigned left = random(60); left; --left) queue.push_back(random(256));
                queue.push_back(%(end)d);
            } else if (kind < 9) {
                queue = {%(ready)d};
            } else if (kind == 9) {
                queue = {random(512)};
            }
            ports[n].valid = !queue.empty() && random(8);
            ports[n].rx = queue.empty() ? 0 : queue.front();
            if (ports[n].valid) queue.pop_front();
            ports[n].ready = random(8) != 0;
            sent[n] += ports[n].sends && ports[n].tx != %(idle)d;
        }
        hub.clk = 0;
        hub.eval();
        hub.clk = 1;
        hub.eval();
        if (cycle < 200) waves.dump(cycle);
        digest(hub.rootp);
        std::printf("%%016llx\\n", static_cast<unsigned long long>(sum));
    }
    for (unsigned count : sent) std::printf("%%u ", count);
}
"""


def digests(directory, ports, profile, cycles, seed):
    """[what the HUB as a whole tells, what the divided one tells], lists of texts: the digest of all variables at each
    clock edge, how many symbols have left each port, the waveform of the first edges. Compiles both HUBs in
    ``directory``."""
    kind = f"hub{ports}"
    made = build.Build(boards_of((ports,), profile, cabs=False), None, None)
    verilog = adapter.nameless(made._verilog(directory, kind).read_text())
    whole, parts = directory / "whole", directory / "parts"
    whole.mkdir()
    made._verilator(kind, verilog + adapter.wrapper(verilog, "board", kind), whole)
    names = variables((whole / f"V{kind}___024root.h").read_text())
    (whole / "main.cpp").write_text(_driver(kind, ports, names, cycles))
    shutil.copytree(whole, parts)
    divide(parts, f"V{kind}")
    include = made.verilator / "include"
    command, _ = build.compiler()
    flags = ["-std=c++17", "-pthread", *build._DEFINES, f"-I{include}", f"-I{include / 'vltstd'}"]
    runtime = [include / source for source in [*build.RUNTIME, build._WAVES[-1]]]
    subprocess.run([*command, *flags, "-c", *runtime], check=True, cwd=directory)
    told = []
    for folder in whole, parts:
        (folder / "unit").write_text("".join(f'#include "{file}"\n' for file in sorted(folder.glob("*.cpp"))))
        unit = ["-I", folder, "-x", "c++", folder / "unit", "-x", "none", *sorted(directory.glob("*.o"))]
        subprocess.run([*command, *flags, *unit, "-o", folder / "run"], check=True)
        ran = subprocess.run([folder / "run", str(seed), folder / "vcd"], capture_output=True, text=True, check=True)
        told.append([*ran.stdout.splitlines(), (folder / "vcd").read_text()])
    return told


def _driver(kind, ports, names, cycles):
    """C++ of the program with random traffic."""
    pins = (("rx", "payload"), ("tx", "payload"), ("rx", "valid"), ("tx", "ready"), ("tx", "valid"))
    return _DRIVER % {
        "kind": kind,
        "digest": "".join(f"    add(root->{name});\n" for name in names),
        "ports": ", ".join(
            f"{{{', '.join(f'hub.port_{n}___05F{side}___05F{pin}' for side, pin in pins)}}}" for n in range(ports)
        ),
        "opcodes": ", ".join(map(str, sorted(BY_OPCODE))),
        "cycles": cycles,
        "any": ANY_HUB,
        **{control.name.lower(): int(control) for control in Control},
    }
