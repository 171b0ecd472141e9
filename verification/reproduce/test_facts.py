"""What is said of a figure follows from the papers' value and ours, and figures on the page are what was measured."""

import re

import pytest

from nectar.verification.reproduce.catalogue import FACTS
from nectar.verification.reproduce.curves import Curve, Line
from nectar.verification.reproduce.facts import Fact, Found, Rule, Verdict
from nectar.verification.reproduce.page import figure, page


def fact(rule, paper):
    return Fact("X1", "what", paper, "us", rule, "D 1", lambda: None)


@pytest.mark.parametrize("rule, paper, good, bad", [
    (Rule.EXACTLY, 10, (10,), (9, 11, 10.5)),
    (Rule.AT_MOST, 30, (0, 29.9, 30), (30.01, 300)),
    (Rule.AT_LEAST, 90, (90, 100), (89.99, 0)),
    (Rule.WITHIN, (10, 15), (10, 12.5, 15), (9.99, 15.01)),
    (Rule.ROUNDED, 12.5, (12.5, 12.45001, 13), (12.44, 12)),
    (Rule.ROUNDED, 66, (65.9, 66), (65.4, 60)),
])
def test_a_figure_holds_as_its_rule_says(rule, paper, good, bad):
    assert {fact(rule, paper).verdict(Found(value, "")) for value in good} == {Verdict.HOLDS}
    assert {fact(rule, paper).verdict(Found(value, "")) for value in bad} == {Verdict.FAILS}
    assert fact(rule, paper).verdict(Found(None, "why")) is Verdict.NOT_MEASURED


def test_ratios_are_told_where_they_mean_something():
    assert fact(Rule.AT_MOST, 30).ratio(Found(15, "")) == 0.5
    assert fact(Rule.WITHIN, (10, 15)).ratio(Found(12, "")) is None
    assert fact(Rule.EXACTLY, 0).ratio(Found(0, "")) is None and fact(Rule.AT_MOST, 30).ratio(Found(None, "")) is None


def test_every_fact_is_named_after_its_number_and_has_a_source():
    assert len(FACTS) >= 30
    for name, item in FACTS.items():
        assert re.fullmatch(r"[HCS]\d+(\.[a-z]+)?", name) and item.what and item.source and callable(item.measure)


def test_the_page_shows_every_row_and_every_line():
    pytest.importorskip("matplotlib", reason="figures need matplotlib: pip install 'nectar[report]'")
    plain = Curve("a", "plain <curve>", "bytes", "us", None), [Line("one", [(1, 2.0), (1024, 7.0)]), Line("two", [(1, 3.0), (1024, 9.0)])]
    parts = Curve("b", "with parts", "bytes", "us", None), [Line("1 HUB", [(1, (2.0, 1.0)), (64, (3.0, 1.5))], ("software", "fiber"))]
    assert all("<svg" in figure(*each) for each in (plain, parts))
    rows = [(fact(Rule.AT_MOST, 30), Found(27.25, "so <and> so")), (fact(Rule.AT_LEAST, 90), Found(80.0, "slowly")), (fact(Rule.EXACTLY, 3), Found(None, "not yet"))]
    text = page(rows, [plain, parts], "1.2")
    assert text.count("<svg") == 2 and text.count("<tr>") == 1 + len(rows)
    for words in ("so &lt;and&gt; so", "plain &lt;curve&gt;", "27.25 us", "at least 90 us", ">FAILS<", ">not measured<", "1 of 3 figures hold", "0.908"):
        assert words in text, words
