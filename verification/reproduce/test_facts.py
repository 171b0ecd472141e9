"""What is said of a figure follows from the papers' value and ours, and figures on the page are what was measured."""

import re
from datetime import UTC, datetime

import pytest

from nectar.verification.reproduce.catalogue import FACTS
from nectar.verification.reproduce.curves import CURVES, Curve, Line
from nectar.verification.reproduce.facts import Fact, Found, Rule, Verdict, quantity
from nectar.verification.reproduce.page import figure, page
from nectar.verification.reproduce.runs import PARTS


def fact(rule, paper):
    return Fact("X1", "what", paper, "us", rule, "D 1", lambda: None)


def test_words_of_a_paper_are_shown_and_nothing_is_judged():
    """docs/reproduce.md: *no figure*."""
    words, found = fact(Rule.WORDS, "a few us"), Found(3.0, "")
    assert words.verdict(found) is Verdict.NO_FIGURE and words.asked == "a few us"
    assert not words.difference(found) and words.ratio(found) is None


@pytest.mark.parametrize(
    "rule, paper, good, bad",
    [
        (Rule.EXACTLY, 10, (10,), (9, 11, 10.5)),
        (Rule.AT_MOST, 30, (0, 29.9, 30), (30.01, 300)),
        (Rule.AT_LEAST, 90, (90, 100), (89.99, 0)),
        (Rule.WITHIN, (10, 15), (10, 12.5, 15), (9.99, 15.01)),
        (Rule.ROUNDED, 12.5, (12.5, 12.45001, 13), (12.44, 12)),
        (Rule.ROUNDED, 66, (65.9, 66), (65.4, 60)),
    ],
)
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
        assert re.fullmatch(r"[HCSD]\d+(\.[a-z-]+)?", name) and item.what and item.source and callable(item.measure)


@pytest.mark.parametrize(
    "rule, paper, value, words",
    [
        (Rule.AT_MOST, 30, 27.25, "9.2 % below"),
        (Rule.AT_MOST, 30, 45, "50 % above"),
        (Rule.AT_LEAST, 90, 95.5, "6.1 % above"),
        (Rule.AT_LEAST, 90, 90.3, "0.3 % above"),
        (Rule.EXACTLY, 10, 10, "the same"),
        (Rule.EXACTLY, 0, 2, "2 above"),
        (Rule.EXACTLY, 3, None, ""),
        (Rule.ROUNDED, 12.5, 12.46, "the same to its decimals"),
        (Rule.ROUNDED, 12.5, 12.2, "2.4 % below"),
        (Rule.WITHIN, (10, 15), 12.5, "in the range"),
        (Rule.WITHIN, (10, 15), 16, "above the range"),
    ],
)
def test_how_far_a_figure_is_from_the_papers_is_told_in_words(rule, paper, value, words):
    assert fact(rule, paper).difference(Found(value, "")) == words


def test_units_agree_with_their_numbers():
    for value, unit, text in (
        (1, "cycles", "1 cycle"),
        (0, "cycles", "0 cycles"),
        (3, "bytes", "3 bytes"),
        (1, "bytes", "1 byte"),
        (1024, "bytes", "1,024 bytes"),
        (16, "", "16"),
        (1, "us", "1 us"),
        ((10, 15), "us", "10 to 15 us"),
        (None, "us", ""),
        (27.25, "us", "27.25 us"),
    ):
        assert quantity(value, unit) == text
    assert fact(Rule.AT_MOST, 30).asked == "at most 30 us" and fact(Rule.EXACTLY, 30).asked == "30 us"


def says(lines):
    return f"what {len(lines)} lines show, in us"


PLAIN = (
    Curve("a", "plain <curve>", "bytes", "us", None, says, (5, "paper: 5 us")),
    [Line("one", [(1, 2.0), (64, 3.0), (1024, 7.0)]), Line("two", [(1, 3.0), (1024, 9.0)])],
)
PIECES = [(1, (2.0, 1.0, 0.0)), (9, (2.0, 1.2, 0.8)), (64, (3.0, 1.5, 9.0))]
STACK = (
    Curve("b", "with parts", "bytes", "us", None, says, (3, "paper: 3 us")),
    [Line(name, PIECES, ("software", "fiber", "DMA and fiber at once")) for name in ("1 HUB", "2 HUBs")],
)


def test_a_plot_marks_its_samples_and_the_papers_figure_and_says_what_is_found():
    """And what goes on at once has a band of its own, hatched: nothing vanishes."""
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    for (curve, lines), panels in ((PLAIN, 1), (STACK, 2)):
        text = figure(curve, lines)
        assert text.count("<svg") == panels and f"what {len(lines)} lines show, in \u00b5s</figcaption>" in text
        assert text.count(f"paper: {curve.paper[0]} \u00b5s</text>") == panels, "the papers' figure is in each panel"
        marks = sum(len(line.points) for line in lines)
        mark = r'<use [^>]*xlink:href="#m\w+"[^>]*style="[^"]*stroke: #(?:1f2328|0072b2|d55e00)'
        assert len(re.findall(mark, text)) >= marks, "each sample has its mark"
    assert text.count("url(#h") == 2 and "DMA and fiber at once" in text, "hatched in both"


def test_captions_follow_from_what_was_measured():
    latency, throughput, spread = CURVES[0], CURVES[2], CURVES[3]
    empty = dict.fromkeys(PARTS, 0.0)

    def of(**parts):
        return tuple((empty | parts).values())

    large = of(**{"software": 30.0, PARTS[-1]: 60.5})
    text = latency.says([Line(f"{n} HUBs", [(1, of(software=20.0 + n)), (1004, large)], PARTS) for n in (1, 2, 3)])
    assert text.startswith("1 byte: 21.0 us over 1 HUBs, and 1.0 us more for each HUB more.")
    assert "1,004 bytes: 90.5 us" in text and "for 60.5 us of these the packet still comes in" in text
    text = throughput.says(
        [
            Line("packet switching", [(64, 20.0), (256, 50.0), (1024, 91.25)]),
            Line("circuit switching", [(64, 9.0), (256, 51.0), (1024, 98.0)]),
        ]
    )
    assert text.startswith("91.2 Mbit/s by packet switching with messages of 1,024 bytes; 98.0 Mbit/s by circuit")
    assert "faster from 256 bytes on" in text
    text = spread.says([Line("one", [(1, 100.0), (15, 110.0)]), Line("each", [(1, 100.0), (15, 1100.0)])])
    assert text == (
        "110 us by one multicast to 15 CABs, 100 us to 1; 1100 us by one message to each of 15, 10.0 times as long."
    )


def test_the_page_shows_every_row_and_every_line():
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    rows = [
        (fact(Rule.AT_MOST, 30), Found(27.25, "so <and> so")),
        (fact(Rule.AT_LEAST, 90), Found(80.0, "slowly")),
        (fact(Rule.EXACTLY, 3), Found(None, "not yet")),
    ]
    text = page(rows, [PLAIN, STACK], "1.2", datetime(2026, 5, 4, 3, 2, tzinfo=UTC))
    assert text.count("<svg") == 3 and text.count('<tr class="') == len(rows)
    for words in (
        '<meta name="viewport" content="width=device-width',
        "so &lt;and&gt; so",
        "plain &lt;curve&gt;",
        ">27.25 \u00b5s<",
        ">at least 90 \u00b5s<",
        ">9.2 % below<",
        ">\u2713 holds<",
        ">\u2717 FAILS<",
        ">\u2013 not measured<",
        "1 of 3 figures hold, 1 fail, 1 not measured.",
        "nectar 1.2, measured on 4 May 2026, 03:02 UTC",
    ):
        assert words in text, words
