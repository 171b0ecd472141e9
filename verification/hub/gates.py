"""A HUB as a netlist of an FPGA's cells: what yosys makes of it for an iCE40, with the models of the cells that come
with yosys.

(Yosys has no model of the ECP5's block RAM; the iCE40's are complete.)
"""

import importlib.util
from pathlib import Path

from ...boards.tools import kept, needs, yosys
from ...cache import digest
from ...hdl.hub.hub import Hub
from ...hdl.verilog import convert
from ...progress import Progress

__all__ = ["CELLS", "netlist"]

#: Cells that a netlist must be made of, by the beginning of their names.
CELLS = ("SB_LUT4", "SB_DFF", "SB_CARRY", "SB_RAM40_4K")
_SCRIPT = "read_verilog dut.v; synth_ice40 -device u -top dut; splitnets; write_verilog -noattr netlist.v"


def _models():
    """Text of the cells' models."""
    place = Path(importlib.util.find_spec("pyosys").origin).parent
    return (place / "share" / "ice40" / "cells_sim.v").read_text()


def netlist(ports, profile):
    """Verilog of a HUB of ``ports`` ports in ``profile`` as module ``dut``: cells, and their models. Raises
    MissingTool, ToolError."""
    needs("pyosys")
    text, models = convert(Hub(ports=ports, profile=profile), "dut"), _models()

    def make(directory):
        (directory / "dut.v").write_text(text)
        yosys(_SCRIPT, directory)
        return directory / "netlist.v"

    path = kept(digest(text, _SCRIPT, models), "-gates.v", make, Progress(), f"synthesis of a HUB of {ports} ports")
    return path.read_text() + models
