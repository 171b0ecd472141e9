"""Bench of hdl/link/port.py: the pins that every port has."""

import re

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from nectar.hdl.link.port import FiberPort
from nectar.hdl.verilog import convert

#: docs/wire.md, pins of a port: name → (direction, bits).
PINS = {
    "rx__payload": ("input", 9),
    "rx__valid": ("input", 1),
    "tx__payload": ("output", 9),
    "tx__valid": ("output", 1),
    "tx__ready": ("input", 1),
}


class Echo(wiring.Component):
    """A board with one port that sends back what it gets, one cycle later.

    Members
    -------
    fiber : Out(FiberPort())
        The port.
    """

    fiber: Out(FiberPort())

    def elaborate(self, platform):
        """One register each way."""
        m = Module()
        with m.If(self.fiber.tx.ready | ~self.fiber.tx.valid):
            m.d.sync += [self.fiber.tx.payload.eq(self.fiber.rx.payload), self.fiber.tx.valid.eq(self.fiber.rx.valid)]
        return m


@pytest.fixture(scope="module")
def text():
    """Verilog of a board with one port called ``fiber``."""
    return convert(Echo(), "echo")


@pytest.mark.parametrize("pin", PINS)
def test_a_port_has_the_pins_of_the_specification(text, pin):
    """docs/wire.md: name, direction and width of each pin in Verilog, which engine and benches rely on."""
    direction, bits = PINS[pin]
    found = re.search(rf"^  (input|output) (?:\[(\d+):0\] )?fiber__{pin};$", text, re.M)
    assert found, f"no pin fiber__{pin}"
    assert (found[1], int(found[2] or 0) + 1) == (direction, bits)


def test_a_port_has_no_other_pins(text):
    """Besides the clock and the reset."""
    pins = set(re.findall(r"^  (?:input|output) (?:\[\d+:0\] )?(\S+);$", text, re.M))
    assert pins == {"clk", "rst", *(f"fiber__{pin}" for pin in PINS)}


class Joined(wiring.Component):
    """Ports of boards, joined by ``wiring.connect``, the right way round and the wrong one."""

    out: Out(1)

    def elaborate(self, platform):
        """Joins the ports."""
        m = Module()
        wiring.connect(m, FiberPort().create(path=["one"]), FiberPort().flip().create(path=["facing"]))
        with pytest.raises(wiring.ConnectionError, match="output to output|connect.*output|output.*connect"):
            wiring.connect(m, FiberPort().create(path=["one"]), FiberPort().create(path=["other"]))
        return m


def test_two_ports_cannot_be_joined_the_wrong_way_round():
    """H22: all ports are alike, so a port fits only what faces it; nobody can join two outputs by mistake."""
    assert "module joined" in convert(Joined(), "joined")
