"""What docs/nectarine.md says of latency and throughput, measured in RTL."""

import re

import pytest

from nectar.verification.software.nectarine.calls import PAGE
from nectar.verification.software.nectarine.figures import message_us, throughput_mbits


def said(words):
    """The numbers in the page's sentence that is ``words``, a pattern."""
    found = re.search(words.replace(" ", r"\s+"), PAGE.read_text())
    assert found, words
    return [float(number) for number in found.groups()]


def test_an_empty_message_takes_as_long_as_the_page_says():
    """Below the 60 us that are asked for, over one, two and three HUBs."""
    sentence = said(r"takes ([\d.]+) us from task to task. Over two HUBs it takes ([\d.]+) us, over three ([\d.]+) us")
    measured = [message_us(), message_us(topology="figure7", to="CAB3"), message_us(topology="chain:3", to="CAB3")]
    assert sentence == pytest.approx(measured, rel=0.02)
    assert max(measured) < 40


def test_messages_with_bytes_take_as_long_as_the_page_says():
    sentence = said(
        r"take ([\d.]+) us with 100 bytes, ([\d.]+) us with 1000. From Python objects to Python objects they take "
        r"([\d.]+) us with 100 bytes"
    )
    assert sentence == pytest.approx([message_us(100), message_us(1000), message_us(100, copied=True)], rel=0.02)


@pytest.mark.nightly
def test_long_messages_are_as_fast_as_the_page_says_and_nothing_is_copied():
    """Beyond the 90 Mbit/s that are asked for 64 kbyte, of the fiber's 100."""
    sentence = said(
        r"65,536 bytes has ([\d.]+) Mbit/s from buffer to buffer, from `send` to its return; over three HUBs ([\d.]+) "
        r"Mbit/s. One of 262,144 bytes has ([\d.]+) Mbit/s"
    )
    measured = [
        throughput_mbits(65_536),
        throughput_mbits(65_536, topology="chain:3", to="CAB3"),
        throughput_mbits(262_144),
    ]
    assert sentence == pytest.approx([mbits for mbits, _ in measured], rel=0.01)
    assert min(mbits for mbits, _ in measured) > 90
    assert not any(copied for _, copied in measured)


def test_messages_between_nodes_take_as_long_as_the_page_says():
    """S1: under 100 us."""
    sentence = said(r"an empty message takes ([\d.]+) us from process to process, one of 1 byte ([\d.]+) us, one of "
                    r"100 bytes ([\d.]+) us")  # fmt: skip
    measured = [message_us(size, True, to="CAB2.node", at="CAB1.node") for size in (0, 1, 100)]
    assert sentence == pytest.approx(measured, rel=0.03)
    assert measured[1] < 100


def test_a_message_takes_as_long_on_fast_boards():
    assert message_us(boards="fast") == message_us()
