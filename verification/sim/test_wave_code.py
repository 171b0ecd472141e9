"""What only waveforms need of a model's C++ (``nectar.sim.wave_code``).

That a board runs without it, and that waveforms are right with it, the tests of the engine show."""

import pytest

from nectar.sim.wave_code import split_waves

MODEL = """#include "Vx__pch.h"
#include "verilated_vcd_c.h"

Vx::Vx() {
    contextp()->addModel(this);
    contextp()->traceBaseModelCbAdd(
        [this](VerilatedTraceBaseC* tfp, int levels, int options) { traceBaseModel(tfp, levels, options); });
}
// Trace configuration

void Vx::traceBaseModel(VerilatedTraceBaseC* tfp, int levels, int options) {}
"""
HEADER = """class Vx {
  public:
    Vx();
  private:
    // Internal functions - trace registration
    void traceBaseModel(VerilatedTraceBaseC* tfp, int levels, int options);
};
"""


def _written(folder, model=MODEL, header=HEADER):
    (folder / "Vx.cpp").write_text(model)
    (folder / "Vx.h").write_text(header)


def test_a_model_registers_its_waveforms_only_if_they_are_linked(tmp_path):
    _written(tmp_path)
    split_waves(tmp_path, "Vx")
    model, waves = ((tmp_path / name).read_text() for name in ("Vx.cpp", "Vx__Trace.cpp"))
    assert "if (Vx_waves) Vx_waves(*this);" in model
    assert "traceBaseModel" not in model and "verilated_vcd_c.h" not in model
    assert "void Vx::traceBaseModel(" in waves and "Vx_waves = register_waves" in waves
    assert "private" not in (tmp_path / "Vx.h").read_text()


@pytest.mark.parametrize("gone", ['#include "verilated_vcd_c.h"', "traceBaseModelCbAdd", "// Trace configuration"])
def test_a_model_without_what_is_looked_for_is_refused_and_left(tmp_path, gone):
    _written(tmp_path, MODEL.replace(gone, "something else"))
    with pytest.raises(ValueError, match="^Vx: .* is there 0 times, not once$"):
        split_waves(tmp_path, "Vx")
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["Vx.cpp", "Vx.h"]
    assert (tmp_path / "Vx.h").read_text() == HEADER


def test_a_header_without_what_is_looked_for_is_refused(tmp_path):
    _written(tmp_path, header=HEADER.replace("private", "protected"))
    with pytest.raises(ValueError, match="^Vx: .* is there 0 times, not once$"):
        split_waves(tmp_path, "Vx")
