"""What a simulation expects of the machine, and what it compiles."""

import subprocess
import sys

import cocotb
from nectar.verification import simulation

VERILOG = "module dut(input clk, input a, output reg b); always @(posedge clk) b <= {} a; endmodule"


@cocotb.test(timeout_time=1, timeout_unit="us")
async def runs(dut):
    """Anything at all."""


def test_a_machine_whose_python_is_called_python3_will_do(tmp_path):
    """Verilator's makefiles call ``python``: it is found although PATH leads nowhere."""
    text = "import shutil; from nectar.verification.simulation import use_verilator; use_verilator(); print(shutil.which('python'), shutil.which('verilator'))"
    done = subprocess.run([sys.executable, "-c", text], env={"PATH": str(tmp_path)}, capture_output=True, text=True, timeout=60, check=True)
    assert "None" not in done.stdout, done.stdout


def test_what_is_the_same_in_every_model_is_compiled_once(tmp_path, monkeypatch):
    """The second model takes the objects of Verilator itself from the first; other flags of the compiler mean other objects."""
    kept = tmp_path / "kept"
    monkeypatch.setattr(simulation, "OBJECTS", kept)
    made = []
    for name, text, flags in (("one", "", ()), ("two", "~", ()), ("three", "~", ("-CFLAGS", "-DOTHER=1"))):
        outcome = simulation.simulate(VERILOG.format(text), __name__, top="dut", directory=tmp_path / name, flags=flags)
        assert outcome.results == {"runs": True}, outcome.log
        made.append({file.name: file.stat().st_mtime_ns for file in kept.iterdir()})
    one, two, three = made
    assert len(one) == 4 and two == one and len(three) == 8


def test_an_object_that_cannot_be_compiled_is_not_kept(tmp_path):
    source = tmp_path / "verilated.cpp"
    source.write_text("no C++")
    done = subprocess.run([sys.executable, simulation.objects.__file__, tmp_path / "kept", "c++", "-c", "-o", tmp_path / "verilated.o", source],
                          capture_output=True, timeout=60)
    assert done.returncode == 1 and not (tmp_path / "kept").exists()
