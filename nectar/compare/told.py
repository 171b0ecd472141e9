"""What a comparison has found, as lines, as results and as a page."""

import html

from .gates import gates, recorded
from .messages import PARTS

__all__ = ["lines", "page", "results"]

_NOTE = (
    "All times are simulated: boards in RTL, cycle by cycle; software with the machine's table of CPU costs. "
    "docs/compare.md tells how each figure is measured."
)


def _at(found, distance):
    return [message for message in found if message.distance == distance]


def _rate(message):
    return message.size / message.us


def _speedups(runs, name):
    """[(computers, times as fast as on the fewest)]."""
    first = min(runs)
    return [(count, runs[first][name].simulated_ns / runs[count][name].simulated_ns) for count in sorted(runs)]


def lines(machines, runs, found):
    """What is printed."""
    most = max(runs)
    given = all(ran.given for ran in runs[most].values())
    names = ", ".join(machine.name for machine in machines)
    count = len(next(iter(runs[most].values())).answers)
    what = "marked answers" if given else "printed lines, without times"
    yield f"the same {count} {what} on {names}"
    table = recorded()
    for machine in machines:
        name = machine.name
        took = f"{name}: {runs[most][name].simulated_ns / 1e6:.3f} ms on {most} computers"
        base = f"times as fast as on {min(runs)}"
        faster = [f"on {count} {speedup:.2f} {base}" for count, speedup in _speedups(runs, name)[1:]]
        yield "; ".join([took, *faster])
        nearest = min(message.distance for message in found[name])
        yield f"  {'bytes':>7}  {'us':>10}  {'Mbyte/s':>8}  " + "  ".join(f"{part:>10}" for part in PARTS)
        for message in _at(found[name], nearest):
            parts = "  ".join(f"{part:10.1f}" for part in message.parts)
            yield f"  {message.size:7}  {message.us:10.1f}  {_rate(message):8.3f}  {parts}"
        smallest = min(message.size for message in found[name])
        ways = (f"{message.us:.1f} us over {message.distance}" for message in found[name] if message.size == smallest)
        yield f"  {smallest} bytes: {', '.join(ways)}"
        rows, each = gates(machine, table)
        boards = "; ".join(f"{board.called} {cells['luts']}" for board, cells in rows)
        yield f"  LUTs: {boards}; {each:.0f} for each computer ({table['date']}, {table['command']})"


def results(machines, runs, found):
    """(id, value, unit) of each figure."""
    table = recorded()
    for machine in machines:
        name = machine.name
        for count, speedup in _speedups(runs, name):
            yield f"compare.{name}.time.{count}", runs[count][name].simulated_ns, "ns"
            yield f"compare.{name}.speedup.{count}", speedup, None
        for message in found[name]:
            which = f"{message.size}.{message.distance}"
            yield f"compare.{name}.latency.{which}", message.us, "us"
            for part, us in zip(PARTS, message.parts, strict=True):
                yield f"compare.{name}.{part}.{which}", us, "us"
        rows, each = gates(machine, table)
        for board, cells in rows:
            yield f"compare.{name}.luts.{board.kind}", cells["luts"], "LUTs"
        yield f"compare.{name}.luts", each, "LUTs"


def _curves(machines, runs, found):
    """(Curve, lines) of each figure of the page."""
    from ..verification.reproduce.curves import Curve, Line

    def curve(id, title, x, y, says):
        return Curve(id, title, x, y, None, lambda lines: says)

    def drawn(value):
        return [
            Line(
                f"{name}, distance {distance}",
                [(message.size, value(message)) for message in _at(found[name], distance) if message.size],
            )
            for name in found
            for distance in _ends(found[name])
        ]

    yield (
        curve(
            "latency",
            "Latency",
            "bytes",
            "us",
            "A message of NX/2, from the call of the send to the end of the receive.",
        ),
        drawn(lambda message: message.us),
    )
    yield (
        curve("rate", "Throughput", "bytes", "Mbyte/s", "The bytes of a message by its latency."),
        drawn(_rate),
    )
    empty = [
        Line(name, [(message.distance, message.us) for message in several if message.size == several[0].size])
        for name, several in found.items()
    ]
    yield (
        curve(
            "distance",
            "Distance",
            "switches, or links",
            "us",
            f"Latency of {next(iter(found.values()))[0].size} bytes.",
        ),
        empty,
    )
    faster = [Line(machine.name, _speedups(runs, machine.name)) for machine in machines]
    first = min(runs)
    faster.append(Line("ideal", [(count, count / first) for count in sorted(runs)]))
    yield (
        curve(
            "speedup",
            "Speed-up of the program",
            "computers",
            "times as fast",
            f"The whole program, by its time on {first} computer{'s' * (first > 1)}.",
        ),
        faster,
    )
    parts = [
        Line(name, [(message.size, message.parts) for message in _at(several, _ends(several)[0])], PARTS)
        for name, several in found.items()
    ]
    yield (
        curve(
            "parts",
            "Where the time of a message goes",
            "bytes",
            "us",
            "At the smallest distance. What software and hardware do at the same time counts as software.",
        ),
        parts,
    )


def _ends(several):
    """The smallest and the largest distance."""
    distances = {message.distance for message in several}
    return sorted({min(distances), max(distances)})


def _table(machines):
    table = recorded()
    rows = []
    for machine in machines:
        boards, each = gates(machine, table)
        for board, cells in boards:
            parameters = ", ".join(f"{name} {value}" for name, value in board.parameters.items())
            numbers = "".join(f'<td class="number">{cells[kind]:,}</td>' for kind in ("luts", "ffs", "rams"))
            rows.append(
                f"<tr><td>{html.escape(machine.name)}</td><td>{html.escape(board.called)}</td>"
                f"<td>{html.escape(parameters)}</td>{numbers}</tr>"
            )
        rows.append(
            f"<tr><td>{html.escape(machine.name)}</td><td><b>for each computer</b></td><td></td>"
            f'<td class="number"><b>{each:,.0f}</b></td><td></td><td></td></tr>'
        )
    heads = "".join(
        f"<th>{head}</th>" for head in ("machine", "board", "parameters", "LUTs", "flip-flops", "block RAMs")
    )
    said = f"Synthesis of {table['date']}: {table['synthesis']}, by <code>{html.escape(table['command'])}</code>."
    return f"<h2>Gates</h2><p class=note>{said}</p><table><tr>{heads}</tr>{''.join(rows)}</table>"


def page(program, machines, runs, found, version, made):
    """The whole page, with all that it needs inside. ``made``: a datetime."""
    from ..verification.reproduce.page import STYLE, figure

    names = " and ".join(machine.name for machine in machines)
    first, *more = lines(machines, runs, found)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(f'{program} on {names}')}</title><style>{STYLE}</style></head><body>",
        f"<h1>{html.escape(program)} on {html.escape(names)}</h1><p><b>{html.escape(first)}.</b></p>",
        f'<p class="made">nectar {html.escape(version)}, measured on {made.day} {made:%B %Y, %H:%M} {made:%Z}</p>',
        f'<p class="note">{_NOTE}</p>',
        *(figure(*each) for each in _curves(machines, runs, found)),
        _table(machines),
        f"<details><summary>The same as text</summary><pre>{html.escape(chr(10).join(more))}</pre></details>",
        "</body></html>\n",
    ]
    return "\n".join(parts)
