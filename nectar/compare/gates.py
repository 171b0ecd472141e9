"""Gates of the machines' boards, from a table that ``verification.benchmarks.gates`` has made."""

import json
from pathlib import Path

__all__ = ["TABLE", "gates", "key", "recorded"]

#: The table.
TABLE = Path(__file__).with_name("gates.json")


def key(board):
    """What a Counted is called in the table."""
    return " ".join([board.kind, *(f"{name}={value}" for name, value in board.parameters.items())])


def recorded():
    """The table: a dict of ``date``, ``command``, ``synthesis`` and ``boards``."""
    return json.loads(TABLE.read_text())


def gates(machine, table):
    """[(Counted, its cells)] of a Machine, and the LUTs for each computer."""
    rows = [(board, table["boards"][key(board)]) for board in machine.compared.boards]
    return rows, sum(board.share * cells["luts"] for board, cells in rows)
