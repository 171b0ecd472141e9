"""The boards by name: their platforms of amaranth-boards, which pins the fibers get, and what fits.

The one module that imports ``amaranth_boards`` (the extra ``fpga``), when a platform is wanted. Sources:
amaranth-boards 0.0.21 for pins and oscillators; the devices' data sheets for their sizes.
"""

import importlib
from dataclasses import dataclass, field

from .tools import needs

__all__ = ["BOARDS", "Board"]


def _pmods(numbers):
    """Pins of Pmods: each has two rows of four."""
    return tuple(f"pmod_{number}:{pin}" for number in numbers for pin in (1, 2, 3, 4, 7, 8, 9, 10))


def _numbered(name, count):
    return tuple((name, n, None) for n in range(count))


@dataclass(frozen=True)
class Board:
    """A board.

    Parameters
    ----------
    title : str
        What it is called.
    module, platform : str
        The class in ``amaranth_boards``.
    family : str
        Whose tools and PLL: a key of ``clocks.FAMILIES``.
    pins : tuple of str
        Pins for fibers, in order, as amaranth-boards names them: ``connector_number:pin``, or those of the FPGA.
    leds : tuple of (str, int, str or None)
        Lights, in order: resource, its number, part of it.
    size : dict of str → int
        What the FPGA has: ``COMB`` (LUTs), ``FF``, ``RAM`` (blocks).
    mhz : dict of str → float
        Clock ``sync`` of each top, if none is asked for; the key None is for all others.
    mbaud : float
        Of serial fibers, if nothing else is asked for.
    chosen : dict of str → dict
        Parameters of a top by default, where they differ from those of the top.
    uart : tuple of str
        Pins rx, tx where the board has no ``uart`` of its own.
    uart_takes_leds : bool
        The UART's pins are those of the lights.
    dfu : tuple of int
        Vendor and product of the USB device that takes the bitstream by DFU.
    """

    title: str
    module: str
    platform: str
    family: str
    pins: tuple
    leds: tuple
    size: dict
    mhz: dict
    mbaud: float = 25
    chosen: dict = field(default_factory=dict)
    uart: tuple = ()
    uart_takes_leds: bool = False
    dfu: tuple = ()

    @property
    def attributes(self):
        """Attributes of the pins for fibers, 3.3 V CMOS, as the family's tools call them."""
        return _CMOS[self.family]

    def make(self):
        """A fresh platform. Raises MissingTool without amaranth-boards."""
        needs("amaranth-boards")
        return getattr(importlib.import_module(f"amaranth_boards.{self.module}"), self.platform)()


_CMOS = {
    "ecp5": {"IO_TYPE": "LVCMOS33"},
    "ice40": {"IO_STANDARD": "SB_LVCMOS"},
    "gowin": {"IO_TYPE": "LVCMOS33"},
    "xilinx": {"IOSTANDARD": "LVCMOS33"},
    "intel": {"io_standard": "3.3-V LVTTL"},
}
#: Clocks in MHz that ECP5s meet.
_MHZ = {"cab": 25, "cluster": 25, None: 50}
#: What fits on the smaller FPGAs.
_SMALL = {"cluster": {"cabs": 2, "data_bytes": 16384}}
_ECP5_25 = {"COMB": 24288, "FF": 24288, "RAM": 56}
_ECP5_45 = {"COMB": 43848, "FF": 43848, "RAM": 108}
_ECP5_85 = {"COMB": 83640, "FF": 83640, "RAM": 208}

#: Name → Board.
BOARDS = {
    "ulx3s": Board(
        "Radiona ULX3S with the LFE5U-85F",
        "ulx3s",
        "ULX3S_85F_Platform",
        "ecp5",
        tuple(f"gpio_0:{n}{sign}" for n in range(28) for sign in "+-"),
        _numbered("led", 8),
        _ECP5_85,
        _MHZ,
    ),
    "ecpix5": Board(
        "LambdaConcept ECPIX-5 with the LFE5UM5G-85F",
        "ecpix5",
        "ECPIX585Platform",
        "ecp5",
        _pmods(range(8)),
        tuple(("rgb_led", n, colour) for n in range(4) for colour in "gr"),
        _ECP5_85,
        _MHZ,
    ),
    "orangecrab": Board(
        "OrangeCrab r0.2 with the LFE5U-25F",
        "orangecrab_r0_2",
        "OrangeCrabR0_2_25FPlatform",
        "ecp5",
        tuple(f"io_0:{pin}" for pin in "5 6 9 10 11 12 13 a0 a1 a2 a3 a4 sck copi cipo scl".split()),
        tuple(("rgb_led", 0, colour) for colour in "grb"),
        _ECP5_25,
        _MHZ,
        uart=("io_0:0", "io_0:1"),
        chosen=_SMALL,
        dfu=(0x1209, 0x5AF0),
    ),
    "versa": Board(
        "Lattice ECP5 Versa with the LFE5UM-45F",
        "versa_ecp5",
        "VersaECP5Platform",
        "ecp5",
        tuple(f"expcon_1:{n}" for n in range(4, 21)) + tuple(f"expcon_2:{n}" for n in (1, *range(3, 19))),
        _numbered("led", 8),
        _ECP5_45,
        _MHZ,
    ),
    "colorlight": Board(
        "Colorlight 5A-75B r7.0 with the LFE5U-25F",
        "colorlight_5a75b_r7_0",
        "Colorlight_5A75B_R70Platform",
        "ecp5",
        tuple(f"j_{j}:{pin}" for j in range(1, 9) for pin in (1, 2, 3, 5, 6, 7)),
        _numbered("led", 1),
        _ECP5_25,
        _MHZ,
        chosen=_SMALL,
        uart_takes_leds=True,
    ),
    "icebreaker": Board(
        "1BitSquared iCEBreaker with the iCE40UP5K",
        "icebreaker",
        "ICEBreakerPlatform",
        "ice40",
        _pmods(range(3)),
        (("led_g", 0, None), ("led_r", 0, None)),
        {"COMB": 5280, "FF": 5280, "RAM": 30},
        {None: 12},
        mbaud=6,
        chosen={"hub": {"ports": 2}, "selftest": {"ports": 2}},
    ),
    "tangnano9k": Board(
        "Sipeed Tang Nano 9K with the GW1NR-9C",
        "tang_nano_9k",
        "TangNano9kPlatform",
        "gowin",
        tuple("33 34 40 35 41 42 51 53 54 55 56 57 68 69".split()),
        _numbered("led", 6),
        {"COMB": 8640, "FF": 6480, "RAM": 26},
        {None: 27},
        mbaud=12.5,
        chosen={"hub": {"ports": 2}, "selftest": {"ports": 2}},
    ),
    "arty": Board(
        "Digilent Arty A7-100T",
        "arty_a7",
        "ArtyA7_100Platform",
        "xilinx",
        _pmods((1, 2, 0, 3)),
        _numbered("led", 4),
        {"COMB": 63400, "FF": 126800, "RAM": 135},
        {None: 50},
    ),
    "de10nano": Board(
        "Terasic DE10-Nano",
        "de10_nano",
        "DE10NanoPlatform",
        "intel",
        tuple(f"gpio_0:{n}" for n in (*range(1, 11), *range(13, 29), *range(31, 41))),
        _numbered("led", 8),
        {"COMB": 83820, "FF": 83820, "RAM": 553},
        {None: 50},
    ),
}
