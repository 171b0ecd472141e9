"""Sizes on the command line, and how they are shown."""

import pytest

from nectar.cli.errors import UsageError
from nectar.cli.sizes import octets, size_text


@pytest.mark.parametrize(
    "text, size",
    [
        ("0", 0),
        ("17", 17),
        ("500M", 500_000_000),
        ("1.5 Gbyte", 1_500_000_000),
        ("2kB", 2000),
        (" .5T ", 500_000_000_000),
    ],
)
def test_a_size_is_a_number_and_a_prefix(text, size):
    assert octets(text, "--wave-limit") == size


@pytest.mark.parametrize("text", ["", "G", "-1", "1m", "1 GiB", "much", "1e3", "9" * 40])
def test_anything_else_is_told(text):
    with pytest.raises(
        UsageError, match="--wave-limit .*: not a size; write a number of bytes, with k, M, G or T, as in 500M"
    ):
        octets(text, "--wave-limit")


@pytest.mark.parametrize(
    "size, text",
    [(0, "0 byte"), (999, "999 byte"), (1000, "1.0 kbyte"), (1_100_000_000, "1.1 Gbyte"), (2 * 10**12, "2.0 Tbyte")],
)
def test_a_size_is_shown_in_the_unit_that_suits_it(size, text):
    assert size_text(size) == text
