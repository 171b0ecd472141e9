"""Claims about the Verilog of whole systems: every board once, its pins at the top, the rest tied off."""

import re

import pytest

from nectar.sim.profile import PROTOTYPE
from nectar.sim.topology import Topology
from nectar.verification.system.verilog import TOP, Board, assemble, pins, system

BOX = """
module box(
  clk, port_0__rx__payload, port_0__rx__valid, port_0__tx__payload, port_0__tx__valid, port_0__tx__ready, knob);
  input clk;
  wire clk;
  input [8:0] port_0__rx__payload;
  input port_0__rx__valid;
  output [8:0] port_0__tx__payload;
  output port_0__tx__valid;
  input port_0__tx__ready;
  input [7:0] knob;
endmodule
"""


def top_pins(text):
    return set(re.findall(r"^  (?:input|output) wire (?:\[\d+:0\] )?(\w+),?$", text, re.M))


def connections(text, board):
    return dict(re.findall(r"\.(\w+)\(([^)]*)\)", re.search(rf"^  \w+ {board} \((.*?)^  \);", text, re.M | re.S)[1]))


def test_pins_are_read_with_direction_and_width():
    assert pins(BOX, "box")[:3] == [
        ("clk", "input", 1),
        ("port_0__rx__payload", "input", 9),
        ("port_0__rx__valid", "input", 1),
    ]
    with pytest.raises(ValueError, match="no module crate"):
        pins(BOX, "crate")


def test_a_wired_port_is_at_the_top_and_an_unwired_one_is_tied_off():
    text = assemble([Board("A", "box", ["port_0"], {"knob": 77}), Board("B", "box", (), {"knob": 0})], {"box": BOX})
    assert top_pins(text) == {
        "A__clk",
        "B__clk",
        *(f"A__port_0__{pin}" for pin in ("rx__payload", "rx__valid", "tx__payload", "tx__valid", "tx__ready")),
    }
    assert connections(text, "A")["knob"] == "8'd77"
    assert connections(text, "B") == {
        "clk": "B__clk",
        "port_0__rx__payload": "9'd0",
        "port_0__rx__valid": "1'd0",
        "port_0__tx__payload": "",
        "port_0__tx__valid": "",
        "port_0__tx__ready": "1'd1",
        "knob": "8'd0",
    }


def test_mistakes_are_refused():
    with pytest.raises(ValueError, match="letters, digits and _"):
        Board("a b", "box")
    with pytest.raises(ValueError, match="module box has no pin lever"):
        assemble([Board("A", "box", (), {"lever": 1})], {"box": BOX})


def test_a_system_has_each_kind_of_board_once_and_each_board_with_its_own_clock():
    topology = Topology("t").hub("HUB1", ports=2).hub("HUB2", id=200, ports=3).cab("CAB1").cab("CAB2")
    topology.fiber("CAB1", "HUB1.P1").fiber("HUB1.P0", "HUB2.P2").fiber("HUB2.P0", "CAB2")
    text = system(topology, PROTOTYPE)
    assert sorted(re.findall(r"^module (\w+) ?\(", text, re.M)) == ["cab", "hub2", "hub3", TOP]
    found = top_pins(text)
    boards = ("HUB1", "HUB2", "CAB1", "CAB2")
    assert {f"{board}__{pin}" for board in boards for pin in ("clk", "rst", "idle")} <= found
    assert {pin.rpartition("__tx__")[0] for pin in found if "__tx__" in pin} == {
        "HUB1__port_0",
        "HUB1__port_1",
        "HUB2__port_0",
        "HUB2__port_2",
        "CAB1__fiber",
        "CAB2__fiber",
    }
    assert connections(text, "HUB2")["hub_id"] == "8'd200" and connections(text, "CAB1")["slept"] == "32'd0"
