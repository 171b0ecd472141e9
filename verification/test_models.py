"""Compiled models: the same is compiled once, and nothing is kept that is not whole."""

import subprocess
import sys
from pathlib import Path

import pytest

from nectar.cache import Cache
from nectar.verification.models import ModelError, Recipe, compiled

VERILOG = "module dut(input clk, input a, output reg b); always @(posedge clk) b <= {}a; endmodule"
MAIN = (
    '#include "Vtop.h"\n'
    "int main() {{ Vtop top; top.a = 1; top.clk = 0; top.eval(); top.clk = 1; top.eval(); return top.b + {}; }}\n"
)


def _model(text, number=1, **options):
    return compiled(text, Recipe("dut", texts={"main.cpp": MAIN.format(number)}, **options))


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A cache of its own, which has what all models need already."""
    _model(VERILOG.format(""))
    usual, folder = Cache().path / "models", tmp_path / "ein Blank, ein Ü" / "models"
    folder.mkdir(parents=True)
    for kind in ("header", "runtime"):
        for name in _names(usual, kind):
            for each in name, f".{name}.sha256":
                (folder / each).symlink_to(usual / each)
    monkeypatch.setenv("NECTAR_CACHE_DIR", str(folder.parent))
    return folder


def _names(folder, kind):
    return {path.name for path in folder.glob(f"{kind}-*") if path.is_dir()}


def test_a_model_is_found_by_its_content(kept):
    """Another text, another program beside it, or other flags are other models; the same is the same file."""
    first = _model(VERILOG.format(""))
    made = first.stat().st_mtime_ns
    assert subprocess.run([first], check=False).returncode == 2
    other = {_model(VERILOG.format("~")), _model(VERILOG.format(""), 2), _model(VERILOG.format(""), flags=["-DOTHER"])}
    assert len(other | {first}) == 4
    assert [subprocess.run([model], check=False).returncode for model in sorted(other)].count(3) == 1
    assert _model(VERILOG.format("")) == first and first.stat().st_mtime_ns == made


def test_what_is_the_same_in_every_model_is_compiled_once(kept):
    """Verilator's own objects, and its headers for each optimisation, whether it is a program or a library."""
    before = _names(kept, "header"), _names(kept, "runtime")
    _model(VERILOG.format(""), shared=True)
    assert (
        (_names(kept, "header"), _names(kept, "runtime")) == before and all(before) and len(_names(kept, "model")) == 1
    )


def test_two_processes_make_a_model_once(kept):
    code = (
        f"from nectar.verification.models import Recipe, compiled; "
        f"print(compiled({VERILOG.format('0 | ')!r}, Recipe('dut', texts={{'main.cpp': {MAIN.format(1)!r}}})))"
    )
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    models = {process.communicate()[0].strip() for process in running}
    assert len(models) == 1 and Path(models.pop()).exists()


@pytest.mark.parametrize(
    "text, program, said",
    [
        ("module dut(input a; endmodule", MAIN.format(1), "syntax error"),
        (VERILOG.format(""), "no C++", "main.cpp"),
        (VERILOG.format(""), "int other;", "main"),
    ],
    ids=["Verilog", "C++", "linking"],
)
def test_what_cannot_be_compiled_is_told_and_not_kept(kept, text, program, said):
    before = {path for path in kept.rglob("*") if path.suffix != ".lock"}
    with pytest.raises(ModelError, match=said):
        compiled(text, Recipe("dut", texts={"main.cpp": program}))
    assert {path for path in kept.rglob("*") if path.suffix != ".lock"} == before
