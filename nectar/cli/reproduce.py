"""Measures the figures of the papers on simulated boards, and prints them beside the papers' own.

Exit code 1: a figure that must hold does not. What cannot be measured yet says why, and does not count.
"""

from datetime import UTC, datetime

from .. import __version__
from ..live import telling
from .errors import DONE, FAILED, UsageError
from .results import Result, add_json_option, check_apart, check_target, save, save_json

HELP = "measure every figure of the papers beside the papers' own"


def configure(parser):
    """Options of ``nectar reproduce``."""
    parser.add_argument(
        "names",
        metavar="FACT",
        nargs="*",
        help="facts to measure, as H2 or H2.time (default: all); --list tells which there are",
    )
    parser.add_argument("--list", action="store_true", help="tell what there is to measure, and measure nothing")
    parser.add_argument(
        "--curves",
        action="store_true",
        help="measure latency and throughput against the size of a message too (some minutes)",
    )
    parser.add_argument(
        "--html", metavar="FILE", help="write a page with the table and the curves, as figures; implies --curves"
    )
    parser.add_argument("--markdown", metavar="FILE", help="also write the table as the page docs/results.md")
    parser.add_argument("--quick", action="store_true", help="only the ends of the curves")
    add_json_option(parser)


def execute(options):
    """Measures what was asked for, one fact after the other."""
    from ..verification.benchmarks.outcome import NotInstalled
    from ..verification.reproduce.catalogue import FACTS
    from ..verification.reproduce.curves import CURVES
    from ..verification.reproduce.facts import Verdict
    from ..verification.reproduce.markdown import markdown
    from ..verification.reproduce.page import need_matplotlib, page

    chosen = [
        fact
        for fact in FACTS.values()
        if not options.names or {fact.id, fact.id.partition(".")[0]} & set(options.names)
    ]
    for name in options.names:
        if not any(name in (fact.id, fact.id.partition(".")[0]) for fact in FACTS.values()):
            raise UsageError(f"there is no fact {name!r}; there are {', '.join(FACTS)}")
    check_target("--json", options.json)
    check_target("--html", options.html)
    check_target("--markdown", options.markdown)
    check_apart([("--json", options.json), ("--html", options.html), ("--markdown", options.markdown)])
    if options.list:
        for fact in chosen:
            print(f"{fact.id:14}{fact.what}")
        return DONE
    if options.html:
        try:
            need_matplotlib()
        except NotInstalled as error:
            raise UsageError(f"--html: {error}") from error
    rows = []
    for number, fact in enumerate(chosen, 1):
        with telling(f"measuring {fact.id} ({number} of {len(chosen)})"):
            found = fact.measure()
        rows.append((fact, found))
        _tell(*rows[-1])
    count = {verdict: sum(fact.verdict(found) is verdict for fact, found in rows) for verdict in Verdict}
    print(
        f"{count[Verdict.HOLDS]} of {len(rows)} figures hold, {count[Verdict.FAILS]} fail, "
        f"{count[Verdict.NOT_MEASURED]} not measured"
        + (f", {count[Verdict.NO_FIGURE]} without a figure of the papers" if count[Verdict.NO_FIGURE] else ""),
        flush=True,
    )
    figures = []
    for number, curve in enumerate(CURVES if options.html or options.curves else (), 1):
        with telling(f"measuring {curve.id} ({number} of {len(CURVES)})"):
            lines = curve.measure(options.quick)
        figures.append((curve, lines))
        _draw(*figures[-1])
    save_json(options.json, [*(_result(*row) for row in rows), *(_points(*figure) for figure in figures)])
    if options.markdown:
        _save("--markdown", options.markdown, markdown(rows))
    if options.html:
        _save("--html", options.html, page(rows, figures, __version__, datetime.now(UTC)))
    return FAILED if count[Verdict.FAILS] else DONE


def _save(option, path, text):
    try:
        save(path, text.encode())
    except OSError as error:
        raise UsageError(f"{option} {path} cannot be written: {error.strerror}") from error


def _tell(fact, found):
    """Prints a row of the table."""
    from ..verification.reproduce.facts import Rule, quantity

    ratio = fact.ratio(found)
    paper = fact.paper if fact.rule is Rule.WORDS else quantity(fact.paper, fact.unit)
    here = quantity(found.value, fact.unit) or "-"
    print(
        f"{fact.id:14}{fact.what:60} paper: {fact.rule.value} {paper:18} measured: {here:16}"
        f"{'' if ratio is None else f'{ratio:7.3f}':8}{fact.verdict(found).value}"
    )
    print(f"{'':14}{found.how}", flush=True)


def _draw(curve, lines):
    """Prints the points of a curve."""
    print(f"{curve.title} ({curve.y} against {curve.x})")
    for line in lines:
        points = ", ".join(f"{x}: {sum(y) if line.parts else y:.2f}" for x, y in line.points)
        print(f"  {line.name}: {points}")
        if line.parts:
            x, y = line.points[-1]
            print(
                f"    of which at {x}: "
                f"{', '.join(f'{name} {part:.2f}' for name, part in zip(line.parts, y, strict=True))}"
            )


def _result(fact, found):
    from ..verification.reproduce.facts import Verdict

    verdict = fact.verdict(found)
    return Result(
        f"reproduce.{fact.id}",
        found.value,
        fact.unit or None,
        None if verdict is Verdict.NO_FIGURE else fact.paper,
        None if verdict in (Verdict.NOT_MEASURED, Verdict.NO_FIGURE) else verdict is Verdict.HOLDS,
        {
            "what": fact.what,
            "rule": fact.rule.value,
            "ratio": fact.ratio(found),
            "how": found.how,
            "source": fact.source,
            "verdict": verdict.value,
        },
    )


def _points(curve, lines):
    return Result(
        f"reproduce.{curve.id}",
        None,
        curve.y,
        more={
            "what": curve.title,
            "x": curve.x,
            "lines": [
                {
                    "name": line.name,
                    "parts": list(line.parts),
                    "points": [[x, list(y) if line.parts else y] for x, y in line.points],
                }
                for line in lines
            ],
        },
    )
