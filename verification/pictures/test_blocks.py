"""Block diagrams: a picture that does not show the design is refused."""

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from nectar.verification.pictures import layers
from nectar.verification.pictures.blocks import Arrow, Block, DiagramError, check, draw
from nectar.verification.pictures.netlist import open_component


class Inverter(wiring.Component):
    """A part."""

    input: In(1)
    output: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.output.eq(~self.input)
        return m


class Chain(wiring.Component):
    """Two inverters behind each other, with a register and a condition between them, and a third beside them."""

    data: In(1)
    enable: In(1)
    result: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.first = first = Inverter()
        m.submodules.second_0 = second = Inverter()
        m.submodules.lone = lone = Inverter()
        between = Signal()
        m.d.comb += [first.input.eq(self.data), second.input.eq(between), lone.input.eq(self.data)]
        with m.If(self.enable):
            m.d.sync += between.eq(first.output)
        m.d.comb += self.result.eq(second.output)
        return m


LINKS = {(".data", "first"), (".data", "lone"), (".enable", "second"), ("first", "second"), ("second", ".result")}
BLOCKS = {
    "in": Block(".data", "in", 0, 0, 50, 20, "pin"),
    "first": Block("first", "first", 100, 0, 50, 20),
    "second": Block("second", "second", 200, 0, 50, 20),
    "lone": Block("lone", "lone", 100, 100, 50, 20),
}


def test_links_are_read_from_the_rtl():
    parts, links = open_component(Chain())
    assert set(parts) == {"first", "second", "lone"} and links == LINKS


def test_a_diagram_of_the_design_is_drawn():
    arrows = [Arrow("in", "first", "h"), Arrow("first", "second", "h", "label"), Arrow("in", "lone", "vh", "", 25, 110)]
    check("it", BLOCKS, arrows, *open_component(Chain()))
    text = draw("it", "title", "text", 300, BLOCKS, arrows).svg()
    assert text.count(' stroke="var(--ink)"') == 3 and "M25 20L25 110L100 110" in text


@pytest.mark.parametrize(
    "blocks, arrows, without, error",
    [
        ({"lone": None}, [], [], "drawn are .*, there are .*lone"),
        ({"more": Block("third", "", 0, 0, 9, 9)}, [], [], "drawn are .*third"),
        ({}, [Arrow("second", "first", "h")], [], "second does not drive first"),
        ({}, [Arrow("first", "second", "h", both=True)], [], "second does not drive first"),
        ({}, [Arrow("first", "lone", "v", link=("first", ".result"))], [], "first does not drive .result"),
        ({}, [], ["gone"], "left out are"),
    ],
)
def test_a_diagram_that_is_not_of_the_design_is_refused(blocks, arrows, without, error):
    drawn = {key: block for key, block in {**BLOCKS, **blocks}.items() if block}
    with pytest.raises(DiagramError, match=error):
        check("it", drawn, arrows, *open_component(Chain()), without)


def test_a_straight_line_needs_boxes_that_face_each_other():
    with pytest.raises(DiagramError, match="do not face"):
        draw("it", "title", "text", 300, BLOCKS, [Arrow("second", "lone", "h")])


def test_layers_stand_upon_what_they_use():
    uses = layers.packages()
    levels = {name: number for number, names in enumerate(layers._levels(uses)) for name in names}
    assert levels["door"] == 0 < levels["kernel"] < levels["datalink"] < levels["transport"] < levels["nectarine"]
    assert all(levels[other] < levels[name] for name, others in uses.items() for other in others)


def test_a_circle_of_packages_is_refused():
    with pytest.raises(ValueError, match=r"in a circle: \['a', 'b'\]"):
        layers._levels({"a": {"b"}, "b": {"a"}, "c": set()})
