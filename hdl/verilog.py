"""Verilog of a component, as the engine, the benches and ``nectar verilog`` take it.

Amaranth spells out the initial content of every memory, one line a word; for a megabyte of zeros that takes
most of a minute and makes megabytes of text. Memories without initial content are therefore left
uninitialised here: no part of the design reads a word that it has not written.
"""

import re

from amaranth.back import rtlil, verilog

__all__ = ["convert"]

_ZERO_MEMORY = re.compile(r"^ *cell \$meminit_v2 [^\n]*\n(?:(?! *end\n)[^\n]*\n)*? *connect \\DATA \d+'0+\n"
                          r"(?:(?! *end\n)[^\n]*\n)*? *end\n", re.M)


def convert(component, name):
    """Verilog-2005 text of ``component`` (a ``wiring.Component``) as module ``name``.

    The text is the same from run to run: it holds no paths and no times.
    """
    text = rtlil.convert(component, name=name, emit_src=False)
    return verilog._convert_rtlil_text(_ZERO_MEMORY.sub("", text))
