"""A board that is divided into parts does what it does undivided, and leaves out the parts that have nothing to do."""

import pytest

from nectar.sim.parts import divide
from nectar.sim.statements import merged, parse, runs, split, together, waits


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
