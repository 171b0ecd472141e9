"""The report of ``nectar reproduce`` as one HTML page: the table of facts, and the figures as SVG inside it.

It fits the screen of a desk and that of a telephone.
"""

import html
import io
import os
import re

from ...cache import directory
from ...extras import how_to_get
from ..benchmarks.outcome import NotInstalled
from .facts import Verdict, quantity

__all__ = ["GROUPS", "STYLE", "figure", "need_matplotlib", "page"]

#: Class and mark of a row.
_MARKS = {
    Verdict.HOLDS: ("holds", "\u2713"),
    Verdict.FAILS: ("fails", "\u2717"),
    Verdict.NOT_MEASURED: ("open", "\u2013"),
    Verdict.NO_FIGURE: ("open", "\u2013"),
}
#: First letter of a fact's number -> what it is of.
GROUPS = {"H": "HUB", "C": "CAB", "S": "Messages and software"}
#: Colours that people tell apart who see few of them (M. Okabe, K. Ito): of parts, and of lines in turn.
_COLOURS = {"HUB": "#cc79a7", "fiber": "#009e73", "DMA": "#e69f00", "software": "#56b4e9"}
_COLOURS |= {"interface": _COLOURS["DMA"], "network": _COLOURS["fiber"]}
_LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
#: End of the name of a part that is hatched.
_AT_ONCE = " and fiber at once"
STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 0 auto; padding: 1rem; }
body { color: #1f2328; background: #fff; }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
.note, .how, .made, th { color: #57606a; }
.note, .how, .fact, th { font-size: .85rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid #d0d7de; vertical-align: top; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.fact { font-family: ui-monospace, monospace; white-space: nowrap; }
.verdict { white-space: nowrap; font-weight: 600; }
.holds .verdict { color: #1a7f37; }
.fails .verdict { color: #cf222e; }
.open .verdict { color: #57606a; }
.fails { background: #ffebe9; }
figure { margin: 2.5rem 0; }
figcaption { margin-bottom: .6rem; max-width: 46rem; }
figcaption b { display: block; font-size: 1.1rem; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr)); gap: 1rem; }
.panels.one { grid-template-columns: minmax(0, 28rem); }
.panels svg { width: 100%; height: auto; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .4rem 0; padding: 0; list-style: none; }
.legend i { display: inline-block; width: 1.1rem; height: .8rem; margin-right: .4rem; vertical-align: -1px; }
.legend, details { font-size: .9rem; }
details { margin-top: .4rem; overflow-x: auto; }
details table { width: auto; }
@media (max-width: 48rem) {
  .facts thead { display: none; }
  .facts, .facts tbody { display: block; }
  .facts tr { display: grid; grid-template-columns: 1fr 1fr; gap: .1rem 1rem; padding: .7rem 0; }
  .facts tr { border-bottom: 1px solid #d0d7de; }
  .facts td { display: block; border: 0; padding: 0 .4rem; }
  .facts .what, .facts .how, .facts .fact { grid-column: 1 / -1; }
  .facts .fact { order: -2; }
  .facts .what { order: -1; font-weight: 600; }
  .facts .number { text-align: left; white-space: normal; }
  .facts td[data-name]::before { content: attr(data-name) ": "; color: #57606a; font-weight: 400; }
}
"""


def need_matplotlib():
    """Raises NotInstalled unless figures can be drawn. What matplotlib keeps is kept with all else."""
    os.environ.setdefault("MPLCONFIGDIR", str(directory() / "matplotlib"))
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise NotInstalled(f"figures need matplotlib; {how_to_get('report')}") from None


def _text(words):
    """Words for the page: safe, and with microseconds as they are printed."""
    return html.escape(re.sub(r"\bus\b", "\u00b5s", words))


# -- figures -------------------------------------------------------------------------------------------
def figure(curve, lines):
    """The HTML of a figure: its caption, a legend, and its panels.

    One panel with all lines; where lines have parts, a panel of stacked areas for each.
    """
    import matplotlib

    stacked = [line for line in lines if line.parts]
    fonts = {"svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10, "hatch.linewidth": 2.5}
    with matplotlib.rc_context(fonts):
        if stacked:
            top = 1.12 * max([sum(y) for line in stacked for _, y in line.points] + _asked(curve))
            panels = [_panel(curve, line.name, _stack, line, curve, top) for line in stacked]
        else:
            panels = [_panel(curve, "", _plot, lines, curve)]
    caption = f"<figcaption><b>{_text(curve.title)}</b>{_text(curve.says(lines))}</figcaption>"
    shape = "panels" if len(panels) > 1 else "panels one"
    legend = _legend(stacked[0].parts) if stacked else ""
    return f'<figure>{caption}{legend}<div class="{shape}">{"".join(panels)}</div>{_numbers(curve, lines)}</figure>'


def _legend(parts):
    entries = "".join(f'<li><i style="background:{_swatch(part)}"></i>{_text(part)}</li>' for part in parts)
    return f'<ul class="legend">{entries}</ul>'


def _swatch(part):
    base = _COLOURS[part.removesuffix(_AT_ONCE)]
    hatched = f"repeating-linear-gradient(135deg,{base} 0 4px,{_COLOURS['fiber']} 4px 7px)"
    return hatched if part.endswith(_AT_ONCE) else base


def _panel(curve, title, draw, *what):
    """The SVG text of what ``draw(axes, *what)`` draws, as wide as a telephone's screen, which keeps it legible."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(4.4, 3.5), layout="constrained")
    axes = drawn.subplots()
    draw(axes, *what)
    axes.set_title(title, fontsize=11)
    axes.set_xlabel(curve.x)
    axes.set_ylabel(curve.y.replace("us", "\u00b5s"))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    text = io.StringIO()
    drawn.savefig(text, format="svg", metadata={"Date": None})
    drawing = text.getvalue()
    said = f"{', '.join(filter(None, (curve.title, title)))}: {curve.y} against {curve.x}"
    return f'<svg role="img" aria-label="{html.escape(said)}" {drawing[drawing.index("<svg") + 5 :]}'


def _asked(curve):
    """The papers' figure in a list, or none."""
    return [curve.paper[0]] if curve.paper else []


def _paper(axes, curve, right=True):
    """The papers' figure, as a line across."""
    if curve.paper:
        value, words = curve.paper
        axes.axhline(value, color="#1f2328", linestyle="--", linewidth=1.2, zorder=4)
        side, at = ("right", 0.99) if right else ("left", 0.01)
        axes.annotate(
            words.replace(" us", " \u00b5s"),
            (at, value),
            (0, 3),
            xycoords=axes.get_yaxis_transform(),
            textcoords="offset points",
            ha=side,
            va="bottom",
            fontsize=9,
            zorder=5,
            bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1},
        )


def _stack(axes, line, curve, top):
    """Stacked areas with a mark at each sample."""
    sizes = [x for x, _ in line.points]
    below = [0.0] * len(sizes)
    for part, values in zip(line.parts, zip(*(parts for _, parts in line.points)), strict=True):
        above = [low + value for low, value in zip(below, values, strict=True)]
        hatch = "//" if part.endswith(_AT_ONCE) else None
        axes.fill_between(
            sizes,
            below,
            above,
            facecolor=_COLOURS[part.removesuffix(_AT_ONCE)],
            edgecolor=_COLOURS["fiber"],
            linewidth=0,
            hatch=hatch,
        )
        if any(values):
            axes.plot(sizes, above, color="white", linewidth=0.8)
        below = above
    axes.plot(sizes, below, marker="o", markersize=4, color="#1f2328", linewidth=1, zorder=6, clip_on=False)
    for at, side, up in ((0, "left", -13), (-1, "right", 6)):
        axes.annotate(
            f"{below[at]:.1f}", (sizes[at], below[at]), (2, up), textcoords="offset points", ha=side, fontsize=9
        )
    axes.set_ylim(0, top)
    axes.set_xlim(0, sizes[-1])
    _paper(axes, curve)


def _plot(axes, lines, curve):
    """Lines with a mark at each sample."""
    for number, line in enumerate(lines):
        axes.plot(*zip(*line.points), marker="o", markersize=5, label=line.name, color=_LINES[number % len(_LINES)])
    if "bytes" in curve.x:
        axes.set_xscale("log", base=2)
        ticks = [x for x, _ in lines[0].points]
        axes.set_xticks(ticks, [f"{x:,}" for x in ticks], rotation=30, ha="right")
    axes.set_ylim(0, 1.12 * max([y for line in lines for _, y in line.points] + _asked(curve)))
    axes.legend(fontsize=9, loc="best", framealpha=0.9)
    _paper(axes, curve, right=False)


def _numbers(curve, lines):
    """All samples, for those who want to read them."""
    columns = [{x: sum(y) if line.parts else y for x, y in line.points} for line in lines]
    heads = [curve.x, *(f"{line.name}, {curve.y}" for line in lines)]
    text = "".join(f"<th>{_text(head)}</th>" for head in heads)
    for x in sorted(set().union(*columns)):
        cells = [f"{x:,}", *(f"{column[x]:.2f}" if x in column else "" for column in columns)]
        text += "<tr>" + "".join(f'<td class="number">{cell}</td>' for cell in cells)
    return f"<details><summary>The samples</summary><table><tr>{text}</table></details>"


# -- the table ------------------------------------------------------------------------------------------
_HEADS = ("figure", "what", "paper", "here", "difference", "verdict", "how")


def _row(fact, found):
    kind, mark = _MARKS[fact.verdict(found)]
    cells = [
        ("fact", "", fact.id),
        ("what", "", fact.what),
        ("number", "paper", fact.asked),
        ("number", "here", quantity(found.value, fact.unit)),
        ("", "", fact.difference(found)),
        ("verdict", "", f"{mark} {fact.verdict(found).value}"),
        ("how", "", f"{found.how} ({fact.source})"),
    ]
    text = "".join(
        f'<td class="{style}"' + (f' data-name="{name}"' if name else "") + f">{_text(cell)}</td>"
        for style, name, cell in cells
    )
    return f'<tr class="{kind}">{text}</tr>'


def _table(rows):
    heads = "".join(f"<th{' class=number' if head in ('paper', 'here') else ''}>{head}</th>" for head in _HEADS)
    body = "".join(_row(*row) for row in rows)
    return f'<table class="facts"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>'


def page(rows, figures, version, made):
    """The whole page. ``rows``: (Fact, Found); ``figures``: (Curve, lines); ``made``: a datetime."""
    verdicts = [fact.verdict(found) for fact, found in rows]
    summary = f"{verdicts.count(Verdict.HOLDS)} of {len(rows)} figures hold"
    for verdict, words in (
        (Verdict.FAILS, "fail"),
        (Verdict.NOT_MEASURED, "not measured"),
        (Verdict.NO_FIGURE, "without a figure"),
    ):
        if verdict in verdicts:
            summary += f", {verdicts.count(verdict)} {words}"
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Nectar: the papers' figures</title><style>{STYLE}</style></head><body>",
        f"<h1>The papers' figures, and what this Nectar does</h1><p><b>{summary}.</b></p>",
        f'<p class="made">nectar {html.escape(version)}, measured on {made.day} {made:%B %Y, %H:%M} {made:%Z}</p>',
        '<p class="note">All times are simulated: boards in RTL, software with its table of CPU costs. '
        "D: The Design of Nectar (1989); N: Network-Based Multicomputers. "
        "<i>At most</i> is a bound that is met from below, <i>at least</i> one from above.</p>",
    ]
    for letter, title in GROUPS.items():
        if group := [row for row in rows if row[0].id.startswith(letter)]:
            parts += [f"<h2>{title}</h2>", _table(group)]
    if others := [row for row in rows if row[0].id[0] not in GROUPS]:
        parts.append(_table(others))
    if figures:
        parts.append("<h2>Curves</h2>")
    return "\n".join([*parts, *(figure(*each) for each in figures), "</body></html>\n"])
