"""boards/cluster.py and boards/gate.py: the top as boards get it."""

import pytest

from nectar.boards.cluster import ClusterTop, bit_cycles
from nectar.boards.gate import BoardGate
from nectar.boards.interface import BoardInterface
from nectar.boards.tops import TOPS, make
from nectar.hdl.host.numbers import BAUD
from nectar.hdl.verilog import convert, with_kept_yosys


class Ecp5:
    """A platform, as far as the gate looks at it."""

    family = "ecp5"


def test_the_top_has_a_line_and_lights():
    top = make("cluster", BoardInterface(clock_hz=40_000_000, leds=3), cabs=1)
    assert isinstance(top, ClusterTop) and set(top.signature.members) == {"uart", "leds"} and len(top.leds) == 3
    assert TOPS["cluster"].defaults["baud"] == BAUD


def test_a_slow_clock_will_do():
    """A CAB without VME goes by no other clock than its own: an iCEBreaker's 12 MHz are enough."""
    make("cluster", BoardInterface(clock_hz=12_000_000), cabs=1, baud=1_000_000)


def test_the_gate_is_the_global_clock_buffer_of_an_ecp5_and_logic_elsewhere():
    from amaranth.back import verilog

    with with_kept_yosys():
        assert "DCCA" in verilog.convert(BoardGate(), platform=Ecp5())
    assert "DCCA" not in convert(BoardGate(), "gate")


@pytest.mark.parametrize(
    "clock_hz, baud, cycles",
    [
        (50_000_000, 1_000_000, 50),
        (25_000_000, 3_000_000, None),
        (50_000_000, 3_000_000, 17),
        (48_000_000, 3_000_000, 16),
        (12_000_000, 3_000_000, 4),
        (12_000_000, 4_000_000, None),
        (100_000_000, 1200, None),
    ],
)
def test_a_bit_has_as_many_cycles_as_its_rate_needs(clock_hz, baud, cycles):
    if cycles is None:
        with pytest.raises(ValueError, match="makes no serial line"):
            bit_cycles(clock_hz, baud)
    else:
        assert bit_cycles(clock_hz, baud) == cycles


@pytest.mark.parametrize(
    "parameters, error, message",
    [
        ({"cabs": 17}, ValueError, "1 to 16 CABs, not 17"),
        ({"hub_id": 255}, ValueError, "0 to 254"),
        ({"profile": "fast"}, ValueError, "no profile 'fast'"),
        ({"baud": 0}, ValueError, "no serial line of 0 baud"),
        ({"baud": 1e6}, TypeError, "must be an integer"),
        ({"ports": 3}, TypeError, "no ports to choose"),
    ],
)
def test_parameters_that_cannot_be_are_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        make("cluster", **{"cabs": 1, **parameters})


@pytest.mark.nightly
def test_it_becomes_verilog():
    """With one CAB, whose name and the line's pins are in it."""
    text = convert(make("cluster", cabs=1), "top")
    assert "uart__rx" in text and "uart__tx" in text
