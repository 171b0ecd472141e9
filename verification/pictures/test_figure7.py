"""Sequence charts: the four examples of the paper, as frames on the fibers of an engine run."""

import pytest

from nectar.hdl.link.symbol import Control, command, packet, reply
from nectar.verification.pictures import figure7


@pytest.mark.parametrize(
    "sender, receivers, switching, commands",
    [
        ("CAB3", ["CAB1"], "circuit", ["open retry, HUB2 P8", "open retry reply, HUB1 P8"]),
        (
            "CAB2",
            ["CAB4", "CAB5"],
            "circuit",
            ["open retry, HUB1 P6", "open retry reply, HUB4 P5", "open retry, HUB4 P3", "open retry reply, HUB3 P4"],
        ),
        ("CAB3", ["CAB1"], "packet", ["test open retry, HUB2 P8", "test open retry, HUB1 P8"]),
        (
            "CAB2",
            ["CAB4", "CAB5"],
            "packet",
            [f"test open retry, {hop}" for hop in ("HUB1 P6", "HUB4 P5", "HUB4 P3", "HUB3 P4")],
        ),
    ],
    ids=["circuit", "multicast circuit", "packet", "multicast packet"],
)
def test_frames_are_those_of_the_paper(sender, receivers, switching, commands):
    """H17; sections 4.2.1 to 4.2.4: what the sender sends, that each receiver gets the packet, and in circuits that
    the packet waits for all replies."""
    messages = figure7.traffic(sender, receivers, switching)
    sent = [message.text for message in messages if message.sender == sender]
    assert sent == [*commands, "packet, 32 bytes", "close all"]
    got = {message.receiver for message in messages if message.kind == "data"}
    assert got >= set(receivers)
    replies = [message.time_ps for message in messages if message.kind == "reply" and message.receiver == sender]
    assert len(replies) == sum("reply" in text for text in commands)
    out = next(message.time_ps for message in messages if message.sender == sender and message.kind == "data")
    assert all(time < out for time in replies)
    assert [message.time_ps for message in messages] == sorted(message.time_ps for message in messages)


def test_a_log_becomes_frames():
    symbols = [*command(2, 1, 8), *packet(b"ab"), Control.READY, *reply(3, 1, 8)]
    symbols[5:5] = [Control.READY]  # inside of the packet
    found = list(figure7._frames([(100 * n, symbol) for n, symbol in enumerate(symbols)], {1: "HUB1"}))
    assert sorted(found) == [
        (0, "open retry, HUB1 P8", "command"),
        (400, "packet, 2 bytes", "data"),
        (500, "ready", "ready"),
        (900, "ready", "ready"),
        (1000, "reply of HUB1: done", "reply"),
    ]
