"""The table of gates that ``nectar compare`` shows (``nectar/compare/gates.json``): every board of every machine,
synthesised alike. It takes some minutes:

    python -m nectar.verification.benchmarks.gates

LUTs are LUT4s, carry cells twice and LUT RAMs four times, as in ``docs/verilog.md``. There is no place and route;
``nectar bench fpga`` does that."""

import json
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from ...boards.tools import ToolError, yosys
from ...compare.gates import TABLE, key
from ...hdl.product import product
from ...sim.machines import MACHINES, machine
from .fpga import OPTIONS, synthesis, versions
from .outcome import NotInstalled

__all__ = ["COMMAND", "cells", "table"]

COMMAND = "python -m nectar.verification.benchmarks.gates"


def cells(text, top):
    """What the module ``top`` of the Verilog ``text`` takes as a whole: a dict of ``luts``, ``ffs``, ``rams``. Raises
    NotInstalled, ToolError."""
    versions(["pyosys"])
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "design.v").write_text(text)
        yosys(
            f"read_verilog design.v; {synthesis('ecp5', 'nowidelut', top)}; tee -q -o stat.json stat -json", directory
        )
        (module,) = json.loads(Path(directory, "stat.json").read_text())["modules"].values()
    found = module["num_cells_by_type"]
    luts = found.get("LUT4", 0) + 2 * found.get("CCU2C", 0) + 4 * found.get("TRELLIS_DPR16X4", 0)
    return {"luts": luts, "ffs": found.get("TRELLIS_FF", 0), "rams": found.get("DP16KD", 0)}


def table(boards=None):
    """The table: when, by what, and the cells of each of ``boards`` (Counted); None for those of all machines."""
    if boards is None:
        boards = [board for name in MACHINES for board in machine(name).compared.boards]
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "command": COMMAND,
        "synthesis": f"yosys synth_ecp5 {OPTIONS['nowidelut']}, pyosys {versions(['pyosys'])['pyosys']}",
        "boards": {key(board): cells(product(board.kind, **board.parameters), board.kind) for board in boards},
    }


def main():
    """The program: exit code 2 and one line if it cannot measure."""
    try:
        TABLE.write_text(json.dumps(table(), indent=1) + "\n")
    except (NotInstalled, ToolError, OSError) as error:
        print(f"gates: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
