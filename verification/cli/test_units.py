"""Times on the command line, and how they are shown."""

import pytest

from nectar.cli.errors import UsageError
from nectar.cli.units import picoseconds, seconds, time_text


@pytest.mark.parametrize(
    "text, value",
    [
        ("0s", 0),
        ("7ps", 7),
        ("1.5ns", 1500),
        ("500us", 500 * 10**6),
        ("500 \u00b5s", 500 * 10**6),
        (" 10ms ", 10**10),
        (".5s", 5 * 10**11),
        ("2.s", 2 * 10**12),
    ],
)
def test_a_time_is_a_number_and_a_unit(text, value):
    assert picoseconds(text, "--max-time") == value
    assert seconds(text, "--max-time") == value / 1e12


@pytest.mark.parametrize("text", ["", "5", "ms", "5m", "5min", "-5ms", "5ms5", "1e3s", "5,5s", "0x5s", "inf s"])
def test_anything_else_is_told(text):
    with pytest.raises(
        UsageError, match="--max-time .*: not a time; write a number and ps, ns, us, ms or s, as in 10ms"
    ):
        picoseconds(text, "--max-time")


@pytest.mark.parametrize(
    "value, text",
    [
        (0, "0 s"),
        (999, "999 ps"),
        (1000, "1.000 ns"),
        (62_500, "62.500 ns"),
        (40_250_000, "40.250 us"),
        (83_259_000_000, "83.259 ms"),
        (2 * 10**12, "2.000 s"),
    ],
)
def test_a_time_is_shown_in_the_unit_that_suits_it(value, text):
    assert time_text(value) == text
