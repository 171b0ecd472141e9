"""What docs/transports.md says of streams, calls and multicasts, measured in RTL."""

import re
from pathlib import Path

import pytest

from nectar.verification.software.transport.figures import call_us, multicast_us, stream_mbits

PAGE = Path(__file__).resolve().parents[3] / "docs" / "transports.md"


def said(words):
    """The numbers in the page's sentence that is ``words``, a pattern."""
    found = re.search(words.replace(" ", r"\s+"), PAGE.read_text())
    assert found, words
    return [float(number) for number in found.groups()]


def test_a_call_takes_as_long_as_the_page_says():
    """From call to return, between tasks on idle CABs: smallest, 100 and 1000 bytes each way; over one, two and
    three HUBs."""
    sentence = said(
        r"takes ([\d.]+) us from call to return.*100 bytes each way ([\d.]+) us, with 1000 bytes ([\d.]+) us"
    )
    assert sentence == pytest.approx([call_us(size) for size in (0, 100, 1000)], rel=0.03)
    hubs = said(r"Over two HUBs the empty one takes ([\d.]+) us, over three ([\d.]+) us")
    assert hubs == pytest.approx([call_us(0, "figure7", "CAB3"), call_us(0, "chain:3", "CAB3")], rel=0.03)


def test_a_multicast_takes_as_long_as_the_page_says():
    sentence = said(r"acknowledged by all after ([\d.]+), ([\d.]+), ([\d.]+) and ([\d.]+) us")
    assert sentence == pytest.approx([multicast_us(members) for members in (1, 2, 4, 8)], rel=0.03)


@pytest.mark.nightly
def test_a_stream_is_as_fast_as_the_page_says():
    """With packets of 1 kbyte, whoever puts the bytes there and over three HUBs: each beyond the 90 Mbit/s that are
    asked for."""
    sentence = said(
        r"areas has ([\d.]+) Mbit/s of the fiber's 100 .* stores first, ([\d.]+) Mbit/s; over three HUBs, ([\d.]+) "
        r"Mbit/s"
    )
    measured = [stream_mbits(), stream_mbits(copied=True), stream_mbits(topology="chain:3", server="CAB3")]
    assert sentence == pytest.approx(measured, rel=0.01)
    assert min(measured) > 90


def test_a_call_takes_as_long_on_fast_boards():
    assert call_us(boards="fast") == call_us()
