"""A simulation under cocotb: what it runs, what it repeats, what it leaves."""

import os
import shlex
from pathlib import Path

import cocotb
import pytest
from cocotb.triggers import Timer

from nectar.verification import bench, repeat, seeds, simulation

VERILOG = "module dut(input clk, input a, output reg b); always @(posedge clk) b <= a; endmodule"


@cocotb.test(timeout_time=1, timeout_unit="us")
async def runs(dut):
    """Anything at all."""
    dut.a.value = 1
    await Timer(10, unit="ns")
    cocotb.log.info("drawn %d", cocotb.RANDOM_SEED)


@cocotb.test(timeout_time=1, timeout_unit="us")
async def fails(dut):
    """Nothing that holds."""
    assert False, "it never holds"


def _simulate(directory, **options):
    return simulation.simulate(VERILOG, __name__, top="dut", directory=directory, **options)


def _drawn(log):
    return log.partition("drawn ")[2].split()[0]


def test_a_claim_alone_draws_what_it_draws_beside_others(tmp_path):
    both, one = _simulate(tmp_path / "both"), _simulate(tmp_path / "one", tests=["runs"])
    assert both.results["runs"] is True and "it never holds" in both.results["fails"]
    assert one.results == {"runs": True} and _drawn(one.log) == _drawn(both.log)


def test_the_same_simulation_is_run_once_in_a_test_run(tmp_path):
    first, again = (_simulate(tmp_path, tests=["runs"], once="this run") for _ in range(2))
    assert first[:2] == again[:2]
    (tmp_path / "simulation.log").write_text("the first one's")
    assert _simulate(tmp_path, tests=["runs"], once="this run").log == "the first one's"
    assert _simulate(tmp_path, tests=["runs"], once="another").log != "the first one's"


@pytest.mark.nightly
def test_waves_are_recorded_when_asked_for(tmp_path, monkeypatch):
    assert _simulate(tmp_path, tests=["runs"]).waves is None
    monkeypatch.setenv(repeat.WAVES, "1")
    waves = _simulate(tmp_path, tests=["runs"]).waves
    assert waves == tmp_path / "dump.vcd" and "$var" in waves.read_text()


@pytest.mark.parametrize("waves", [None, bench.ROOT / "build" / "x y" / "dump.vcd"])
def test_a_claim_that_fails_tells_how_to_see_it(request, monkeypatch, waves):
    """Without a waveform the one command that makes it, with it the one that opens it."""
    outcome = simulation.Outcome({"fails": "failed: never"}, "what it said", waves)
    monkeypatch.setattr(simulation, "simulate", lambda *arguments, **options: outcome)
    with pytest.raises(AssertionError) as caught:
        bench.Bench(__name__, {"one": lambda: VERILOG}).check("one", "fails")
    *_, said, last = str(caught.value).splitlines()
    assert said == "what it said"
    if waves:
        assert last == f"to look at the waveform: nectar waves '{os.path.relpath(waves)}'"
    else:
        told = shlex.split(last.removeprefix("once more, with a waveform: "))
        file, _, name = request.node.nodeid.partition("::")
        assert told[:2] == ["WAVES=1", f"NECTAR_SEED={seeds.seed()}"]
        assert told[2].endswith("python") and told[3:6] == ["-m", "pytest", "-n"]
        assert told[-1].endswith(name) and Path(told[-1].partition("::")[0]).resolve() == bench.ROOT / file


@pytest.mark.parametrize(
    "text, said",
    [
        ("module dut(input a; endmodule", "syntax error"),
        ("module dut(input a, output b); assign b = b ^ a; endmodule", "UNOPTFLAT"),
    ],
)
def test_what_verilator_refuses_is_told(tmp_path, text, said):
    outcome = simulation.simulate(text, __name__, top="dut", directory=tmp_path)
    assert not outcome.results and said in outcome.log


def test_a_folder_with_a_blank_and_an_umlaut_will_do(tmp_path):
    assert _simulate(tmp_path / "hier läuft es", tests=["runs"]).results == {"runs": True}
