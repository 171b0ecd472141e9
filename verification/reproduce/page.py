"""The report of ``nectar reproduce`` as one HTML page: the table of facts, and the figures as SVG inside it."""

import html
import io

from ..benchmarks.outcome import NotInstalled
from .facts import Rule, Verdict

__all__ = ["figure", "need_matplotlib", "page", "shown"]

_COLOURS = {Verdict.HOLDS: "#1a7f37", Verdict.FAILS: "#cf222e", Verdict.NOT_MEASURED: "#6e7781"}
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; color: #1f2328; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #d0d7de; vertical-align: top; }
td.number { text-align: right; white-space: nowrap; } .how { color: #57606a; font-size: 13px; }
figure { margin: 2rem 0; } figcaption { font-weight: 600; margin-bottom: .4rem; } svg { max-width: 100%; height: auto; }
"""


def need_matplotlib():
    """Raises NotInstalled unless figures can be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise NotInstalled("figures need matplotlib: pip install 'nectar[report]'") from None


def shown(value):
    """A figure as people read it: ``700``, ``10 to 15``, ``27.4``."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return " to ".join(map(shown, value))
    return f"{value:,.4g}" if isinstance(value, float) and abs(value) < 1000 else f"{value:,.0f}"


def figure(curve, lines):
    """The SVG text of a figure: lines; where they have parts, a panel of stacked areas for each."""
    from matplotlib.figure import Figure
    stacked = [line for line in lines if line.parts]
    drawn = Figure(figsize=(4.2 * max(2, len(stacked)), 3.6), layout="constrained")
    panels = drawn.subplots(1, max(1, len(stacked)), sharey=True, squeeze=False)[0]
    for axes, line in zip(panels, stacked):
        axes.stackplot([x for x, _ in line.points], list(zip(*(parts for _, parts in line.points))), labels=line.parts)
        axes.set_title(line.name, fontsize=10)
    if stacked:
        panels[0].legend(loc="upper left", fontsize=8)
    else:
        for line in lines:
            panels[0].plot(*zip(*line.points), marker="o", label=line.name)
        panels[0].legend(fontsize=8)
        if "bytes" in curve.x:
            panels[0].set_xscale("log", base=2)
        panels[0].set_ylim(bottom=0)
    for axes in panels:
        axes.set_xlabel(curve.x)
        axes.grid(alpha=0.3)
    panels[0].set_ylabel(curve.y)
    text = io.StringIO()
    drawn.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg"):]


def _row(fact, found):
    verdict, ratio = fact.verdict(found), fact.ratio(found)
    rule = "" if fact.rule in (Rule.EXACTLY, Rule.WITHIN) else f"{fact.rule.value} "
    cells = [("", fact.id), ("", fact.what), ("number", f"{rule}{shown(fact.paper)} {fact.unit}"),
             ("number", f"{shown(found.value)} {fact.unit}" if found.value is not None else ""), ("number", "" if ratio is None else f"{ratio:.3f}")]
    text = "".join(f'<td class="{kind}">{html.escape(cell)}</td>' for kind, cell in cells)
    return (f'<tr>{text}<td style="color:{_COLOURS[verdict]}">{verdict.value}</td><td class="how">{html.escape(found.how)} ({html.escape(fact.source)})</td></tr>')


def page(rows, figures, version):
    """The whole page. ``rows``: (Fact, Found); ``figures``: (Curve, lines)."""
    held = sum(fact.verdict(found) is Verdict.HOLDS for fact, found in rows)
    parts = ["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8"><title>Nectar: the papers\' figures</title>', f"<style>{_STYLE}</style></head><body>",
             f"<h1>The papers' figures, and what this Nectar does</h1><p>nectar {html.escape(version)}: {held} of {len(rows)} figures hold. "
             "All times are simulated. D: The Design of Nectar (1989); N: Network-Based Multicomputers.</p>",
             "<table><tr><th>fact</th><th>what</th><th>paper</th><th>measured</th><th>ratio</th><th>verdict</th><th>how</th></tr>",
             *(_row(fact, found) for fact, found in rows), "</table>"]
    for curve, lines in figures:
        parts.append(f"<figure><figcaption>{html.escape(curve.title)}</figcaption>{figure(curve, lines)}</figure>")
    return "\n".join([*parts, "</body></html>\n"])
