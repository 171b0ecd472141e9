"""Generated Verilog as people read it: names, modules, statements; and that it still means the same."""

import re

import pytest
from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from nectar.boards.tools import yosys
from nectar.hdl.tidy import ports, tidy
from nectar.hdl.verilog import convert


class Lane(wiring.Component):
    """Counts what arrives, keeps it, gives the ``inside`` of a word; ``mode`` selects among less than all cases."""

    inside: In(8)
    mode: In(2)
    output: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = storage = memory.Memory(shape=8, depth=4, init=[1, 2, 3, 4])
        write, read = storage.write_port(), storage.read_port(domain="comb")
        place = Signal(2)
        byte = [Signal(8, name="byte") for _ in range(2)]  # a word of SystemVerilog; and both cannot bear one name
        m.d.sync += [byte[0].eq(self.inside), byte[1].eq(byte[0])]
        m.d.comb += [
            write.data.eq(self.inside),
            write.addr.eq(place),
            read.addr.eq(place - 1),
            write.en.eq(self.inside != 0),
        ]
        m.d.comb += Assert(place < 4, "never")
        with m.Switch(self.mode):
            with m.Case(1):
                m.d.sync += place.eq(place + 1)
            with m.Case(2):
                m.d.sync += [place.eq(place - 1), self.output.eq(read.data)]
        return m


class Turns(wiring.Component):
    """Picks one of those that ask, in turns."""

    asks: In(8)
    pick: Out(8)

    def elaborate(self, platform):
        m = Module()
        behind = Signal(8)
        pool = Signal(8)
        m.d.comb += [pool.eq(Mux((self.asks & behind) != 0, self.asks & behind, self.asks)), self.pick.eq(pool & -pool)]
        with m.If(self.asks != 0):
            m.d.sync += behind.eq(~(self.pick | (self.pick - 1)))
        return m


class Board(wiring.Component):
    """Two lanes that are alike, and turns."""

    port_0: In(8)
    port_2: In(8)
    port_10: In(8)
    mode: In(2)
    pick: Out(8)
    out: Out(8)

    def elaborate(self, platform):
        m = Module()
        for n, source in enumerate((self.port_0, self.port_10)):
            m.submodules[f"lane_{n}"] = lane = Lane()
            m.d.comb += [lane.inside.eq(source), lane.mode.eq(self.mode)]
            with m.If(self.port_2[n]):
                m.d.comb += self.out.eq(lane.output)
        m.submodules.arbiter = arbiter = Turns()
        m.d.comb += [arbiter.asks.eq(self.port_2), self.pick.eq(arbiter.pick)]
        return m


@pytest.fixture(scope="module")
def board():
    """The Verilog as generated, and the same tidied up."""
    text = convert(Board(), "board")
    return text, tidy(text)


def test_no_name_is_escaped_or_numbered_by_a_tool(board):
    generated, text = board
    assert "\\" in generated and "verilog_backend" in generated, "there is nothing to tidy up"
    assert "\\" not in text and "$" not in text and "verilog_backend" not in text
    assert re.findall(r"^  reg \[7:0\] (byte\w*);$", text, re.M) == ["byte_", "byte__2", "byte__2__next", "byte___next"]


def test_modules_that_are_alike_are_written_once_the_top_first(board):
    generated, text = board
    assert len(re.findall(r"^module ", generated, re.M)) == 4
    assert re.findall(r"^module (\w+) ", text, re.M) == ["board", "board__arbiter", "board__lane"]
    assert re.findall(r"^  board__lane (\w+) \(", text, re.M) == ["lane_0", "lane_1"]


def test_ports_stand_clock_first_and_in_the_order_of_their_numbers(board):
    _, text = board
    assert ports(text) == [
        ("clk", "input", 1),
        ("rst", "input", 1),
        ("mode", "input", 2),
        ("out", "output", 8),
        ("pick", "output", 8),
        ("port_0", "input", 8),
        ("port_2", "input", 8),
        ("port_10", "input", 8),
    ]


def test_a_signal_driven_by_an_instance_bears_its_name_and_a_register_has_a_next(board):
    _, text = board
    assert re.search(r"^    \.output_\(lane_0__output_\)$", text, re.M)
    assert re.search(r"^    behind <= behind__next;$", text, re.M)


def test_no_signal_hides_the_instance_that_it_is_in():
    """Its module may call it what the instance is called, or a name that becomes the same once its number is gone."""
    text = """module top(clk);
  input clk;
  wire clk;
  wire one;
  wire two;
  \\top.sum$7  \\sum$7  (
    .\\sum$3 (one),
    .add(two),
    .clk(clk)
  );
endmodule
module \\top.sum$7 (clk, \\sum$3 , add);
  input clk;
  wire clk;
  output \\sum$3 ;
  wire \\sum$3 ;
  output add;
  wire add;
  wire \\wire ;
  wire sum;
  assign sum = clk;
  assign \\sum$3  = clk;
  assign add = sum;
endmodule
"""
    found = tidy(text)
    assert re.findall(r"^  wire (\w+);$", found.split("module top__sum")[1], re.M) == [
        "clk",
        "add",
        "sum_inside",
        "sum_inside_2",
        "wire_",
    ]
    assert ".sum_inside(sum__sum)" in found and re.search(r"^  assign sum_inside = clk;$", found, re.M)


def test_every_case_has_a_default_and_no_declaration_a_value(board):
    _, text = board
    assert text.count("casez (") == text.count("default:") > 0
    assert not re.search(r"^  reg (?!wake = 0;).* = ", text, re.M) and re.search(
        r"^  initial behind = 8'h00;$", text, re.M
    )


def test_assertions_are_left_out(board):
    generated, text = board
    assert "assert" in generated and "assert" not in text and "$write" not in text


@pytest.mark.parametrize("change, same", [(None, True), ("behind__next = term_", False)])
def test_it_means_what_was_generated(board, tmp_path, change, same):
    """Yosys shows that both texts give the same outputs in the first 6 cycles, whatever the inputs; and finds a
    changed place."""
    generated, text = board
    text = re.sub(r"^module board ", "module tidied ", text, flags=re.M)
    if change:
        assert change in text
        text = text.replace(change, "behind__next = ~term_", 1)
    (tmp_path / "generated.v").write_text(re.sub(r"^ +assert \(.*\);$", "", generated, flags=re.M))
    (tmp_path / "tidied.v").write_text(text)
    log = yosys(
        "read_verilog generated.v tidied.v; proc; memory; flatten board tidied; delete t:$print; opt_clean; "
        "miter -equiv -make_assert -flatten board tidied miter; hierarchy -top miter; "
        "sat -seq 6 -prove-asserts miter",
        tmp_path,
    )
    assert ("no model found: SUCCESS!" in log) == same and ("model found: FAIL!" in log) != same, log[-2000:]


class Gap(wiring.Component):
    """A word with a part that is always 0 between two that are not; what is asserted of it at the clock's edge."""

    select: In(1)
    value: In(3)
    word: Out(8)

    def elaborate(self, platform):
        m = Module()
        with m.If(self.select):
            m.d.comb += [self.word[:3].eq(self.value), self.word[5:].eq(self.value)]
        m.d.sync += [Assert(self.value < 7, "never"), Assert(self.value != 6, "nor this")]
        return m


def test_a_constant_part_is_given_at_time_0_and_clocked_assertions_are_left_out():
    """A simulator never runs 'always @*' with nothing to wait for: the part would be unknown for ever."""
    generated = convert(Gap(), "gap")
    text = tidy(generated)
    assert re.search(r"^  always @\*\n    word\[4:3\] = 2'h0;$", generated, re.M) and "assert" in generated
    assert text.count("  always @* begin\n    if (wake) begin end\n    word[4:3] = 2'h0;\n  end\n") == 1
    assert len(re.findall(r"^  reg wake = 0;$", text, re.M)) == 1
    assert "assert" not in text and "$write" not in text and "posedge" not in text
