"""Ports of a HUB that are equal share the code of their parts, and every variable is what it is without parts."""

import re

import pytest

from nectar.sim.part_code import Code, functions
from nectar.sim.shared_parts import EqualPorts, Form, ordered
from nectar.sim.statements import parse, runs
from nectar.verification import seeds

from .divided import digests


def statements(*labelled):
    """Statements of (label, text)."""
    made = []
    for label, text in labelled:
        made.append(parse(re.sub(r"\$(\w+)", r"vlSelfRef.\1", f"    {text}\n")))
        made[-1].label = label
    return made


def types(names, kind="CData"):
    return dict.fromkeys(names.split(), kind)


def shared(equal):
    """The groups of more than one statement."""
    return [group for group in equal.groups if len(group) > 1]


def code(found, known):
    """C++ of the functions that evaluate statements."""
    equal = EqualPorts(found, known)
    numbers, before, apart, groups = ordered(found, equal.groups)
    labels = {n: "each port" if n in groups else found[n].label for n in numbers}
    made = functions(runs(numbers, before, labels.get, None, apart), before, groups, found)
    written = Code("Vx", made, known, equal)
    return [written.text(function) for function in made], written, equal


def test_a_statement_is_its_skeleton_its_names_and_its_constants():
    form = Form.of("    vlSelfRef.a_3 = (0x0fULL & (vlSelfRef.b  \n >> 3U));\n")
    assert (form.names, form.constants) == (["a_3", "b"], [("0x0f", "ULL"), ("3", "U")])
    assert form.skeleton == Form.of("    vlSelfRef.a_4 = (7ULL & (vlSelfRef.b >> 4U));\n").skeleton
    assert form.skeleton != Form.of("    vlSelfRef.a_4 = (7U & (vlSelfRef.b >> 4U));\n").skeleton
    assert form.skeleton != Form.of("    vlSelfRef.a_4 = (7ULL & (vlSelfRef.b >> vlSelfRef.c));\n").skeleton


def test_ports_share_what_differs_in_names_and_constants_alone():
    found = statements(
        ("port 0", "$a_0 = ($b & ($c_0 >> 1U));"),
        ("port 1", "$a_1 = ($b & ($c_1 >> 2U));"),
        ("port 2", "$a_2 = ($b | ($c_2 >> 3U));"),
        ("centre", "$b = ($a_0 | $a_1);"),
    )
    texts, written, equal = code(found, types("a_0 a_1 a_2 b c_0 c_1 c_2"))
    assert shared(equal) == [{0: 0, 1: 1}]
    assert sorted(equal.moved()) == ["a_0", "a_1", "c_0", "c_1"]
    assert equal.moved()["a_1"][0] == 1 and equal.moved()["a_0"][1] == equal.moved()["a_1"][1]
    assert len(texts) == 2 and len(written.parts) == 4
    (both,) = (text for text in texts if ">> (IData)at[" in text)
    column = int(re.search(r">> \(IData\)at\[(\d+)\]", both)[1])
    width = len(written.rows) // 3
    assert [written.rows[column], written.rows[width + column]] == ["1", "2"]
    # The third port has a statement of its own, behind a condition.
    assert re.search(r"if \(\(IData\)at\[\d+\]\) {[^}]*vlSelfRef\.a_2", both)


def test_each_port_marks_the_parts_that_read_its_own_variables():
    found = statements(
        ("port 0", "$a_0 = $c_0;"),
        ("port 1", "$a_1 = $c_1;"),
        ("first", "$x = $a_0;"),
        ("second", "$y = $a_1;"),
    )
    texts, written, _ = code(found, types("a_0 a_1 c_0 c_1 x y"))
    assert len(texts) == 3
    (marks,) = re.findall(r"partsNow\[0\] \|= at\[(\d+)\];", "".join(texts))
    width = len(written.rows) // 2
    rows = [int(written.rows[row * width + int(marks)], 16) for row in (0, 1)]
    readers = {re.search(r"vlSelfRef\.([xy])\b", text)[1]: text for text in texts if "ofPort" in text}
    assert sorted(rows) == [0b100, 0b1000] and not readers


@pytest.mark.parametrize(
    "other",
    ["$a_1 = $c_1 + $c_1;", "$a_1 = $c_0;", "$a_1 = $e_1;", "$a_1 = 1ULL & $c_1;"],
    ids=["structure", "name of another port", "another name", "type of a constant"],
)
def test_a_statement_that_does_not_fit_is_not_shared(other):
    found = statements(
        ("port 0", "$d_0 = $c_0 | $c_0;"),
        ("port 1", "$d_1 = $c_1 | $c_1;"),
        ("port 0", "$a_0 = $c_0;"),
        ("port 1", other),
    )
    equal = EqualPorts(found, types("a_0 a_1 c_0 c_1 d_0 d_1 e_1"))
    assert shared(equal) == [{0: 0, 1: 1}]
    assert sorted(n for group in equal.groups for n in group.values()) == [0, 1, 2, 3]


def test_two_names_of_a_port_are_never_one_name_of_another():
    found = statements(
        ("port 0", "$a_0 = $c_0 & $d_0;"), ("port 1", "$a_1 = $c_1 & $c_1;"), ("port 2", "$a_2 = $c_2 & $d_2;")
    )
    equal = EqualPorts(found, types("a_0 a_1 a_2 c_0 c_1 c_2 d_0 d_2"))
    assert shared(equal) == [{0: 0, 2: 2}]


def test_variables_of_other_types_are_not_shared():
    found = statements(("port 0", "$a_0 = $c_0;"), ("port 1", "$a_1 = $c_1;"), ("port 2", "$a_2 = $c_2;"))
    equal = EqualPorts(found, types("a_0 a_1 a_2 c_0 c_2") | {"c_1": "SData"})
    assert shared(equal) == [{0: 0, 2: 2}]
    equal = EqualPorts(found, types("a_0 a_1 a_2", "VlUnpacked<CData/*7:0*/, 4>") | types("c_0 c_1 c_2"))
    assert len(shared(equal)[0]) == 3
    equal = EqualPorts(found[:2], types("c_0 c_1") | {f"a_{n}": f"VlUnpacked<CData/*7:0*/, {n + 4}>" for n in range(2)})
    assert not shared(equal)


def test_a_variable_stands_at_one_port():
    """Port 1 reads what port 0 calls its own."""
    found = statements(
        ("port 0", "$a_0 = $c_0;"), ("port 1", "$a_1 = $c_1;"), ("port 0", "$d_0 = $c_5;"), ("port 1", "$d_1 = $c_0;")
    )
    equal = EqualPorts(found, types("a_0 a_1 c_0 c_1 c_5 d_0 d_1"))
    assert shared(equal) == [{0: 0, 1: 1}]


def test_pins_stay_where_they_are():
    found = statements(("port 0", "$p_0 = $c_0;"), ("port 1", "$p_1 = $c_1;"))
    texts, _, equal = code(found, types("p_0 p_1", "16") | types("c_0 c_1"))
    assert shared(equal) == [{0: 0, 1: 1}] and sorted(equal.moved()) == ["c_0", "c_1"]
    pin = equal.fields[0, "p_0"]
    assert f"SData& {pin};" in equal.declaration() and "= {{p_0}, {p_1}};" in equal.declaration()
    assert len(texts) == 1 and f"port.{pin} =" in texts[0]


def test_groups_that_wait_for_each_other_are_taken_apart():
    """Each port passes on to the next what the port before it has."""
    found = statements(("port 0", "$a_0 = $x_0;"), ("centre", "$x_1 = $a_0;"), ("port 1", "$a_1 = $x_1;"))
    equal = EqualPorts(found, types("a_0 a_1 x_0 x_1"))
    assert shared(equal) == [{0: 0, 1: 2}]
    numbers, before, _, groups = ordered(found, equal.groups)
    assert all(len(group) == 1 for group in groups.values())
    assert numbers == [0, 1, 2] and before[1] == {0} and before[2] == {1}


def test_a_run_ends_before_what_waits_for_another_port():
    found = statements(
        ("port 0", "$a_0 = $c_0;"),
        ("port 1", "$a_1 = $c_1;"),
        ("port 0", "$b_0 = $a_0 & $s_0;"),
        ("port 1", "$b_1 = $a_1 & $s_1;"),
        ("port 0", "$d_0 = $a_1 | $b_0;"),
    )
    equal = EqualPorts(found, types("a_0 a_1 b_0 b_1 c_0 c_1 d_0 s_0 s_1"))
    numbers, before, apart, groups = ordered(found, equal.groups)
    made = runs(numbers, before, lambda n: "each port", None, apart)
    assert made == [[0, 2], [4]]
    assert len(groups[0]) == len(groups[2]) == 2 and len(groups[4]) == 1


@pytest.mark.nightly
@pytest.mark.parametrize("profile", ["prototype", "modern"])
@pytest.mark.parametrize("ports", [2, 4, 16])
def test_a_hub_is_the_same_divided_and_whole(ports, profile, tmp_path):
    """Every variable at every clock edge, and the waveform to the byte, under random traffic."""
    seed = seeds.rng("divided", ports, profile).randrange(2**31)
    print(f"seed {seed}")
    whole, divided = digests(tmp_path, ports, profile, 4000, seed)
    assert divided == whole
    *edges, sent, waveform = whole
    assert len(set(edges)) == 4000 and all(int(count) > 20 for count in sent.split()) and len(waveform) > 100_000
    written = "".join(file.read_text() for file in (tmp_path / "parts").glob("*__parts*.cpp"))
    table = "".join(file.read_text() for file in (tmp_path / "parts").glob("*__024root__?.cpp"))
    made, parts = len(re.findall(r"___part_\d+\(.*{", written)), re.search(r"PARTS\[\] = .*", table)[0].count("ROWS")
    if ports == 16:
        assert parts > 2.5 * made
        listed = sum(file.stat().st_size for file in (tmp_path / "whole").glob("*__024root__?.cpp"))
        assert len(written) < 0.7 * listed
