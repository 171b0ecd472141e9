"""A board that is divided into parts does what it does undivided, and leaves out the parts that have nothing to do."""

import subprocess

import pytest

from nectar.sim import build
from nectar.sim.machines.nectar import boards_of
from nectar.sim.parts import divide, label, label_told
from nectar.sim.statements import merged, parse, runs, split, together, waits
from nectar.verification import seeds


def texts(*lines):
    return [parse(f"    {line}\n") for line in lines]


def assign(name, *reads):
    return f"vlSelfRef.{name} = {' + '.join(f'vlSelfRef.{read}' for read in reads) or 0};"


def test_what_a_statement_reads_and_assigns_is_found():
    statement = parse("    vlSelfRef.a = (vlSelfRef.b[(3U & vlSelfRef.c)] == VL_COUNTONES_I(vlSelfRef.d));\n")
    assert (statement.reads, statement.writes, statement.needs) == ({"b", "c", "d"}, {"a"}, {"b", "c", "d"})
    statement = parse("    vlSelfRef.a[vlSelfRef.b] = 1U;\n")
    assert (statement.reads, statement.writes, statement.needs) == ({"b"}, {"a"}, {"a", "b"})
    statement = parse("    if (vlSelfRef.a) {\n        vlSelfRef.b = 1U;\n    }\n")
    assert (statement.reads, statement.writes, statement.needs) == ({"a"}, {"b"}, {"a", "b"})


def of_port(number):
    """Statements of a port, and of what the centre knows of it."""
    taken, sent = (f"top__DOT__board__DOT__output_{number}__DOT__{name}" for name in ("taken", "sent"))
    return [
        *texts(assign(sent, taken, "top__DOT__core_rst")),
        parse(f"    vlSelfRef.{taken} = (1U & ((IData)(vlSelfRef.top__DOT__board__DOT__push) >> {number}U));\n"),
        *texts(assign(f"top__DOT__board__DOT__monitor__DOT__counters__DOT__leave_{number}", sent, "visit")),
    ]


def test_what_the_centre_makes_of_a_port_or_tells_all_ports_is_apart_from_the_rest_of_the_port():
    """The counters visit one port after the other, and which outputs get a symbol is told all of them at once: that
    alone does not make a port work."""
    centre = texts(
        assign("top__DOT__board__DOT__crossbar__DOT__pushes"),
        assign("top__DOT__core_rst"),
        assign("top__DOT__board__DOT__push", "top__DOT__board__DOT__crossbar__DOT__pushes"),
    )
    statements = [*centre, *(statement for number in range(4) for statement in of_port(number))]
    label(statements, {"clk"})
    label_told(statements, 4)
    assert [statement.label for statement in statements[3:6]] == ["port 0", "port 0 told", "port 0 monitor counters"]
    assert [statement.label for statement in statements[12:]] == ["port 3", "port 3 told", "port 3 monitor counters"]
    assert not any(statement.label.startswith("port") for statement in statements[:3])


@pytest.mark.parametrize("function", ["VL_ADD_W", "VL_SHIFTL_WWI", "VL_CONCAT_WII", "VL_ASSIGNSEL_II"])
def test_what_a_function_gets_counts_as_assigned_unless_it_only_returns_a_value(function):
    statement = parse(f"    {function}(3, vlSelfRef.a, vlSelfRef.b, vlSelfRef.c);\n")
    assert statement.reads == statement.writes == statement.needs == {"a", "b", "c"}


def test_a_condition_is_repeated_for_what_does_not_belong_together():
    block = "        vlSelfRef.a = vlSelfRef.b;\n        vlSelfRef.c = vlSelfRef.a;\n        vlSelfRef.d = 0U;\n"
    first, second = split(f"    if (vlSelfRef.on) {{\n{block}    }}\n")
    assert parse(first).writes == {"a", "c"} and parse(second).writes == {"d"}
    (whole,) = merged([parse(first), parse(second)])
    assert whole.text.count("if (") == 1 and whole.writes == {"a", "c", "d"}
    # What decides must not be assigned before it is asked again.
    changing = f"    if (vlSelfRef.d) {{\n{block}    }}\n"
    assert split(changing) == [changing]


def test_statements_that_assign_one_variable_stay_together_in_their_order():
    found = together(
        texts(assign("a"), assign("b", "x"), "if (vlSelfRef.b) {\n        vlSelfRef.a = 1U;\n    }", assign("c", "a"))
    )
    assert [sorted(statement.writes) for statement in found] == [["b"], ["a"], ["c"]]
    assert found[1].text.index("a = 0") < found[1].text.index("a = 1")


def test_an_old_value_is_read_before_the_new_one_is_assigned():
    found = texts(assign("out", "register"), assign("register", "next"), assign("next", "register"))
    numbers, before = waits(found)
    assert (numbers, before[1], before[2]) == ([0, 1, 2], {0}, {1})


def test_statements_that_wait_for_each_other_are_one():
    """a, c, a: c stands between the two, and waits for the first, and the second waits for c."""
    found = together(texts(assign("a"), assign("c", "a"), assign("a", "c"), assign("d")))
    assert sorted(sorted(statement.writes) for statement in found) == [["a", "c"], ["d"]]


def test_a_run_has_one_label_and_comes_behind_what_it_waits_for():
    found = texts(assign("a0"), assign("b0", "a0"), assign("a1", "b0"), assign("a2"), assign("b1"))
    numbers, before = waits(found)
    made = runs(numbers, before, lambda n: "ababa"[n])
    done = set()
    for run in made:
        assert len({"ababa"[n] for n in run}) == 1
        for n in run:
            assert before[n] <= done
            done.add(n)
    assert sorted(n for run in made for n in run) == numbers
    assert all(len(run) == 1 for run in runs(numbers, before, most=1))


def test_a_model_with_several_clocks_is_refused(tmp_path):
    (tmp_path / "Vx___024root.h").write_text("")
    (tmp_path / "Vx___024root__0.cpp").write_text(
        "void Vx___024root___eval_nba(Vx___024root* vlSelf) {\n    // Body\n    if ((2ULL & x)) {\n    }\n}\n"
    )
    with pytest.raises(ValueError, match="^Vx___024root: more than one clock decides what is evaluated$"):
        divide(tmp_path, "Vx")


_WIDE = """
module board(
  input clk, input rst, input [99:0] x, input [6:0] n, output reg [99:0] y, output reg [7:0] q, output reg z
);
  reg [99:0] a; reg [129:0] c; reg [99:0] m [0:15]; reg [6:0] k;
  always @(posedge clk) begin
    k <= n;
    a <= rst ? 100'd0 : (x + a) ^ {a[0], a[99:1]};
    c <= {c[29:0], x} & ~({130{x[3]}});
    if (x[5]) m[n[3:0]] <= a;
    c[n] <= x[0];
    y <= m[k[3:0]] | (a << k);
    q <= a[k +: 8];
    z <= (c == {30'd0, a}) | (a < x) | ^a;
  end
endmodule
module wide(input clk, input rst, input [99:0] x, input [6:0] n, output [99:0] y, output [7:0] q, output z);
  reg [99:0] hx; reg [6:0] hn; reg hr;
  always @(posedge clk) begin hx <= x; hn <= n; hr <= rst; end
  board board(clk, hr, hx, hn, y, q, z);
endmodule
"""
_DRIVER = """
#include "Vwide.h"
#include <cstdio>
#include <cstdlib>
int main(int, char** arguments) {
    VerilatedContext context;
    context.threads(1);
    Vwide m(&context, "wide");
    unsigned s = std::atoi(arguments[1]);
    auto random = [&] { s = s * 1664525u + 1013904223u; return s >> 8; };
    for (int i = 0; i < 2000; ++i) {
        m.rst = i < 3;
        if (random() % 3 == 0) for (int w = 0; w < 4; ++w) m.x[w] = w == 3 ? random() & 15 : random() ^ random() << 12;
        if (random() % 3 == 0) m.n = random() & 127;
        m.clk = 0;
        m.eval();
        m.clk = 1;
        m.eval();
        std::printf("%08x%08x%08x%08x %x %x\\n", m.y[3], m.y[2], m.y[1], m.y[0], m.q, m.z);
    }
}
"""


@pytest.mark.nightly
def test_wide_numbers_and_memories_are_the_same_divided_and_whole(tmp_path):
    made = build.Build(boards_of((16,)), tmp_path, None)
    include = made.verilator / "include"
    command, _ = build.compiler()
    seed = str(seeds.rng("wide").randrange(2**31))

    def simulated(name, divided):
        folder = tmp_path / name
        folder.mkdir()
        made._verilator("wide", _WIDE, folder)
        if divided:
            divide(folder, "Vwide")
        (folder / "main.cpp").write_text(_DRIVER)
        sources = [*folder.glob("*.cpp"), *(include / source for source in [*build.RUNTIME, build._WAVES[-1]])]
        flags = ["-std=c++17", "-pthread", *build._DEFINES, f"-I{include}", f"-I{include / 'vltstd'}", f"-I{folder}"]
        subprocess.run([*command, *flags, *map(str, sources), "-o", str(folder / "run")], check=True)
        return subprocess.run([folder / "run", seed], capture_output=True, text=True, check=True).stdout

    whole = simulated("whole", divided=False)
    assert len(set(whole.splitlines())) > 1000
    assert simulated("divided", divided=True) == whole
