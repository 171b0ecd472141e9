"""Claims about boards/assembly.py and boards/catalogue.py, on the platforms of amaranth-boards themselves: every pin
exists, none twice; what is constrained."""

import re

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from nectar.boards.assembly import Assembly, pins_of
from nectar.boards.catalogue import BOARDS
from nectar.boards.clocks import MHZ, plan
from nectar.boards.interface import UART, WIRES, line
from nectar.boards.tops import TOPS
from nectar.hdl.verilog import with_kept_yosys
from nectar.verification.bench import ROOT


class All(wiring.Component):
    """A top of so many fibers, with a serial line if wanted: each sends what it receives."""

    def __init__(self, phy, count, samples, leds, uart):
        self.phy = phy
        self.count = count
        fibers = (
            {f"line_{n}": Out(line(samples)) for n in range(count)}
            if phy == "serial"
            else {f"wires_{n}": Out(WIRES) for n in range(count)}
        )
        super().__init__({**fibers, "leds": Out(leds), **({"uart": Out(UART)} if uart else {})})

    def elaborate(self, platform):
        m = Module()
        for n in range(self.count):
            if self.phy == "serial":
                pins = getattr(self, f"line_{n}")
                m.d.line += pins.tx.eq(pins.rx)
            else:
                pins = getattr(self, f"wires_{n}")
                m.d.sync += [pins.tx_data.eq(pins.rx_data), pins.tx_strobe.eq(pins.rx_strobe)]
        m.d.sync += self.leds.eq(~self.leds)
        if hasattr(self, "uart"):
            m.d.sync += self.uart.tx.eq(self.uart.rx)
        return m


@pytest.mark.parametrize("phy", ["serial", "parallel"])
@pytest.mark.parametrize("name", BOARDS)
def test_all_fibers_of_a_board_have_pins_of_their_own(name, phy):
    """docs/boards.md, "Boards": so many ports; pins.txt names the pins that the constraints name."""
    board = BOARDS[name]
    platform = board.make()
    clocks = plan(
        board.family,
        int(platform.default_clk_frequency),
        round(board.mhz[None] * MHZ),
        round(board.mbaud * MHZ) if phy == "serial" else None,
    )
    count = len(board.pins) // (2 if phy == "serial" else 20)
    said = re.search(rf"^\| `{name}` \|.*\| (\d+), (\d+) \|$", (ROOT / "docs" / "boards.md").read_text(), re.M)
    assert count == int(said[1 if phy == "serial" else 2])
    if not count:
        pytest.skip("a parallel fiber takes more pins than there are")
    uart = bool(board.uart) or any(resource == "uart" for resource, _ in platform.resources)
    top = All(phy, count, clocks.samples, len(board.leds), uart)
    assembly = Assembly(top, board, clocks)
    with with_kept_yosys():
        files = platform.prepare(assembly, "top", emit_src=False).files
    pins = [pin for *_, pin in assembly.pins]
    assert len(set(pins)) == len(pins) == count * (2 if phy == "serial" else 20) + 2 * uart
    constraints = b"".join(
        data if isinstance(data, bytes) else data.encode()
        for file, data in files.items()
        if file.endswith((".lpf", ".pcf", ".cst", ".xdc", ".qsf"))
    ).decode()
    assert all(re.search(rf"\b(PIN_)?{pin}\b", constraints) for pin in pins)


def test_a_parallel_fiber_has_its_pins_in_the_order_that_the_page_says():
    top = All("parallel", 1, 2, 1, False)
    assert pins_of(top, "wires_0") == [
        ("tx_data", "o", 9),
        ("tx_strobe", "o", 1),
        ("rx_data", "i", 9),
        ("rx_strobe", "i", 1),
    ]


def test_defaults_name_what_there_is():
    for board in BOARDS.values():
        assert set(board.mhz) <= {*TOPS, None} and set(board.chosen) <= set(TOPS)
        for top, parameters in board.chosen.items():
            assert set(parameters) <= set(TOPS[top].defaults)
