"""Claims about boards/clocks.py: what the PLLs make of the oscillators, computed here once more from the families'
guides."""

from fractions import Fraction

import pytest

from nectar.boards.catalogue import BOARDS
from nectar.boards.clocks import MHZ, plan


def outputs(family, oscillator, pll):
    """Rate of each output of a PLL; its limits hold."""
    if family == "ecp5":
        compared = Fraction(oscillator, pll["CLKI_DIV"])
        vco = compared * pll["CLKFB_DIV"] * pll["CLKOP_DIV"]
        found = {name.removesuffix("_DIV"): vco / divider for name, divider in pll.items() if name.startswith("CLKO")}
        assert (
            10 * MHZ <= compared <= 400 * MHZ
            and 400 * MHZ <= vco <= 800 * MHZ
            and all(3_125_000 <= rate <= 400 * MHZ for rate in found.values())
        )
    elif family == "xilinx":
        vco = Fraction(oscillator, pll["DIVCLK_DIVIDE"]) * pll["CLKFBOUT_MULT"]
        found = {
            name.removesuffix("_DIVIDE"): vco / divider for name, divider in pll.items() if name.startswith("CLKOUT")
        }
        assert 800 * MHZ <= vco <= 1600 * MHZ
    elif family == "ice40":
        compared = Fraction(oscillator, pll["DIVR"] + 1)
        vco = compared * (pll["DIVF"] + 1)
        found = {"A": vco / 2 ** pll["DIVQ"], "B": vco / 2 ** pll["DIVQ"] / 2}
        assert (
            10 * MHZ <= compared <= 133 * MHZ
            and 533 * MHZ <= vco <= 1066 * MHZ
            and 16 * MHZ <= found["A"] <= 275 * MHZ
            and pll["DIVF"] < 128
        )
    else:
        compared = Fraction(oscillator, pll["IDIV_SEL"] + 1)
        whole = compared * (pll["FBDIV_SEL"] + 1)
        found = {"CLKOUT": whole, "CLKOUTD": whole / pll["DYN_SDIV_SEL"]}
        assert (
            compared >= 3 * MHZ and 400 * MHZ <= whole * pll["ODIV_SEL"] <= 1200 * MHZ and pll["DYN_SDIV_SEL"] % 2 == 0
        )
    return found | {None: Fraction(oscillator)}


@pytest.mark.parametrize(
    "family, oscillator",
    sorted({("ecp5", 25), ("ecp5", 48), ("ecp5", 100), ("ice40", 12), ("gowin", 27), ("xilinx", 100), ("intel", 50)}),
)
def test_what_is_planned_is_what_comes_out(family, oscillator):
    """docs/boards.md, "Clocks": the line exactly, the other clock within 2 %; nothing that the PLL cannot do."""
    made = 0
    for asked in (6, 12, 25, 27, 50, 60, 100):
        for baud in (None, 6, 12.5, 25, 62.5):
            try:
                clocks = plan(family, oscillator * MHZ, asked * MHZ, None if baud is None else round(baud * MHZ))
            except ValueError:
                continue
            made += 1
            rates = outputs(family, oscillator * MHZ, clocks.pll) if clocks.pll else {None: Fraction(oscillator * MHZ)}
            assert abs(rates[clocks.sync] - asked * MHZ) <= Fraction(asked * MHZ, 50) and clocks.sync_hz == round(
                rates[clocks.sync]
            )
            if baud is not None:
                assert rates[clocks.line] == clocks.line_hz == round(baud * MHZ) * clocks.oversampling / clocks.samples
                assert clocks.oversampling % clocks.samples == 0 and clocks.oversampling >= 4
                assert clocks.one_clock == (clocks.line_hz == clocks.sync_hz)
    assert made >= 2


@pytest.mark.parametrize("name", BOARDS)
def test_every_board_makes_its_own_clocks(name):
    board = BOARDS[name]
    oscillator = int(board.make().default_clk_frequency)
    for mhz in board.mhz.values():
        clocks = plan(board.family, oscillator, round(mhz * MHZ), round(board.mbaud * MHZ))
        assert abs(clocks.sync_hz - mhz * MHZ) <= mhz * MHZ / 50


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("ecp5", 25 * MHZ, 2000 * MHZ), "2000 MHz cannot be made of the board's 25 MHz; 400 MHz can"),
        (("intel", 50 * MHZ, 60 * MHZ), "60 MHz cannot be made of the board's 50 MHz; 50 MHz can"),
        (("ice40", 12 * MHZ, 12 * MHZ, 25 * MHZ), "25 Mbaud cannot be made of the board's 12 MHz"),
    ],
)
def test_what_cannot_be_made_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        plan(*arguments)
