"""A recording as one HTML page that needs nothing else: topology, timeline, messages, traffic (docs/recording.md).

The page's data are JSON, compressed by gzip, in base64; its code is in the folder ``page``.
"""

import base64
import gzip
import json
from array import array
from html import escape
from pathlib import Path

from .. import __version__
from .layers import layer_name
from .summary import summary, traffic

__all__ = ["page"]

_PAGE = Path(__file__).parent / "page"
_SCRIPTS = ("data.js", "timeline.js", "panels.js", "main.js")


def page(spans, *, title, complete=True):
    """The text of the page.

    Parameters
    ----------
    spans : Spans
    title : str
        What the page is called: the program.
    complete : bool
        Whether the simulation came to its end.
    """
    machine = spans.recording.machine.recorded
    data = {
        "title": title,
        "version": __version__,
        "topology": spans.recording.topology,
        "end": spans.end_ps,
        "complete": complete,
        "dropped": spans.recording.dropped,
        "summary": summary(spans),
        "drawing": machine.drawing(spans.recording),
        "words": {
            "link": machine.link,
            "pair": machine.pair,
            "carried": "packets" if spans.circuits is None else "circuits",
        },
        "labels": spans.labels,
        "styles": spans.styles,
        "tracks": [_track(track) for track in spans.tracks],
        "stages": spans.stages,
        "messages": _messages(spans),
        "fibers": _fibers(spans),
        "repeated": [
            [board, layer_name(layer), to, count] for (board, layer, to), count in sorted(spans.repeated.items())
        ],
        "faults": [[fiber.number, time_ps, text] for fiber, time_ps, text in spans.faults],
        **traffic(spans),
    }
    packed = base64.b64encode(gzip.compress(json.dumps(data, separators=(",", ":")).encode(), 6)).decode()
    return _filled(
        (_PAGE / "page.html").read_text(),
        title=escape(title),
        style=(_PAGE / "page.css").read_text(),
        script="".join((_PAGE / name).read_text() for name in _SCRIPTS),
        data=packed,
    )


def _filled(text, **parts):
    """``text`` with each ``<!-- name -->`` replaced."""
    for name, part in parts.items():
        before, place, behind = text.partition(f"<!-- {name} -->")
        assert place, name
        text = before + part + behind
    return text


def _steps(numbers):
    """The differences from number to number, which take less room."""
    before = 0
    steps = array("q")
    for number in numbers:
        steps.append(number - before)
        before = number
    return steps.tolist()


def _track(track):
    return {
        "board": track.board,
        "name": track.name,
        "begin": _steps(track.begins),
        "length": [end - begin for begin, end in zip(track.begins, track.ends)],
        "label": track.labels.tolist(),
        "style": track.styles.tolist(),
        "message": track.messages.tolist(),
    }


def _messages(spans):
    """A list for each member; times in picoseconds, None where there is none."""
    place = {id(track): number for number, track in enumerate(spans.tracks)}
    messages = spans.messages
    stages = [message.stages() for message in messages]
    return {
        "layer": [layer_name(message.layer) for message in messages],
        "from": [message.board for message in messages],
        "to": [message.destination for message in messages],
        "bytes": [message.length for message in messages],
        "number": [message.number for message in messages],
        "parent": [message.parent for message in messages],
        "sent": [message.sent_ps for message in messages],
        "done": [message.done_ps for message in messages],
        "repeated": [message.repeated for message in messages],
        "stages": [[each[name] for name in spans.stages] if each else None for each in stages],
        "path": [[[place[id(track)], number] for track, number in message.path] for message in messages],
    }


def _fibers(spans):
    """Of each fiber its ends, its track, the time of a symbol (None: slices are no packets), and the share of time in
    which something was on it."""
    place = {id(track): number for number, track in enumerate(spans.tracks)}
    return [
        {
            "from": fiber.sender,
            "to": fiber.receiver,
            "track": place[id(spans.fibers[fiber.number])],
            "symbol": fiber.symbol_ps if spans.circuits is None else None,
            "load": spans.fibers[fiber.number].busy_ps / spans.end_ps if spans.end_ps else 0,
            "packets": len(spans.fibers[fiber.number].begins),
        }
        for fiber in spans.recording.fibers
    ]
