"""boards/bench_setup.py: what is on a desk. That it works is shown with software:
verification/software/backends/cable/test_desk.py, verification/cli/test_run_desk.py."""

import pytest

from nectar.boards.bench_setup import BenchSetup
from nectar.boards.fiber import Fiber
from nectar.boards.interface import BoardInterface


@pytest.mark.parametrize(
    "parameters, error, message",
    [
        ({"cabs": 0}, ValueError, "1 to 16 CABs, not 0"),
        ({"cabs": 17}, ValueError, "1 to 16 CABs, not 17"),
        ({"profile": "fast"}, ValueError, "no profile 'fast'"),
        ({"hub_id": 255}, ValueError, "0 to 254"),
        ({"data_bytes": 5000}, ValueError, "data_bytes must be a power of two"),
        ({"bit_cycles": 3}, ValueError, "makes no serial line of 5333333 baud"),
    ],
)
def test_parameters_that_cannot_be_are_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        BenchSetup(**parameters)


def test_each_cab_has_a_line_and_a_light():
    desk = BenchSetup(cabs=3)
    assert (len(desk.rx), len(desk.tx), len(desk.lost), len(desk.busy)) == (3, 3, 3, 1)


@pytest.mark.parametrize(
    "interface, phy, symbol_ps",
    [
        (BoardInterface(), "serial", 400_000),
        (BoardInterface(line_hz=125_000_000, samples=4), "serial", 80_000),
        (BoardInterface(clock_hz=25_000_000), "parallel", 80_000),
    ],
)
def test_a_fiber_tells_the_time_of_a_symbol(interface, phy, symbol_ps):
    """docs/serial.md: ten bits, or two cycles of the clock."""
    assert Fiber(interface, phy).symbol_ps == symbol_ps
