"""What only waveforms need of the C++ that Verilator has made of a board: parted from the rest, which works without."""

__all__ = ["split_waves"]

_INCLUDE, _LESS = '#include "verilated_vcd_c.h"\n', '#include "verilated_trace.h"\n'
#: In the model's constructor.
_REGISTERS = """    contextp()->traceBaseModelCbAdd(
        [this](VerilatedTraceBaseC* tfp, int levels, int options) { traceBaseModel(tfp, levels, options); });
"""
#: In its header, before what the constructor calls.
_PRIVATE = "  private:\n    // Internal functions - trace registration\n"
#: Behind all that runs without waveforms.
_BEHIND = "// Trace configuration\n"


def split_waves(directory, prefix):
    """Moves what only waveforms need to files with ``__Trace`` in their names, for the model of that prefix, whose C++
    files are in ``directory``. The model can be recorded if it is linked with them.

    Raises ValueError for a model in which it is not found."""
    model, header = directory / f"{prefix}.cpp", directory / f"{prefix}.h"
    text, declared = model.read_text(), header.read_text()
    for what, where in (_INCLUDE, text), (_REGISTERS, text), (_BEHIND, text), (_PRIVATE, declared):
        if where.count(what) != 1:
            raise ValueError(f"{prefix}: {what.strip()!r} is there {where.count(what)} times, not once")
    text, _, waves = text.partition(_BEHIND)
    hook = f"void (*{prefix}_waves)({prefix}&)"
    text = text.replace(_INCLUDE, f"{_LESS}\n{hook} = nullptr;  // is set if waveforms can be recorded\n")
    model.write_text(text.replace(_REGISTERS, f"    if ({prefix}_waves) {prefix}_waves(*this);\n"))
    header.write_text(declared.replace(_PRIVATE, "\n"))
    (directory / f"{prefix}__Trace.cpp").write_text(
        f"""#include "{prefix}__pch.h"
{_INCLUDE}
extern {hook};
{waves}
static void register_waves({prefix}& model) {{
    model.contextp()->traceBaseModelCbAdd([&model](VerilatedTraceBaseC* tfp, int levels, int options) {{
        model.traceBaseModel(tfp, levels, options);
    }});
}}

static const bool REGISTERED = ({prefix}_waves = register_waves, true);
"""
    )
