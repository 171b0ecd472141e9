"""The kinds of boards that the benches of the whole CAB run on, and what they ask of each."""

import functools
from pathlib import Path

from nectar.hdl.cab.addresses import REGISTERS
from nectar.hdl.cab.vme.registers import VME_REGISTERS
from nectar.verification.bench import elaborated, inside
from nectar.verification.cab.rates import PERIOD_PS
from nectar.verification.cab.reference import BusFault

__all__ = ["BOARDS", "VERILOG", "bus_error", "registers_of", "size_of"]

BOARDS = {
    "64 kbyte": {
        "data_bytes": 64 << 10,
        "program_bytes": 8 << 10,
        "prom": bytes(range(256)) * 5,
        "domains": 4,
        "pages": 256,
    },
    "4 kbyte": {"data_bytes": 4 << 10, "program_bytes": 4 << 10, "domains": 8, "pages": 64},
    "with VME": {"data_bytes": 16 << 10, "program_bytes": 4 << 10, "domains": 4, "pages": 64, "vme": True},
}


def _verilog(kind):
    from nectar.hdl.cab import cab
    from nectar.hdl.verilog import convert

    board = BOARDS[kind]
    return elaborated((kind, board), Path(cab.__file__), lambda: convert(cab.Cab(**board, period_ps=PERIOD_PS), "dut"))


#: Kind → what gives the board's Verilog; elaborated once for all benches.
VERILOG = {kind: functools.partial(_verilog, kind) for kind in BOARDS}


def registers_of(dut):
    """The registers that the board has."""
    return [register for register in REGISTERS if "vme" in BOARDS[inside()] or register not in VME_REGISTERS]


def size_of(dut):
    """Bytes of the board's data memory."""
    return BOARDS[inside()]["data_bytes"]


async def bus_error(board, address, value=None, select=0xF, vme=False):
    """Whether an access ends in a bus error."""
    try:
        await (board.read(address, select, vme=vme) if value is None else board.write(address, value, select, vme=vme))
    except BusFault:
        return True
    return False
