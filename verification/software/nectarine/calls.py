"""The tables of calls in docs/nectarine.md, made from the docstrings.

``python -m nectar.verification.software.nectarine.calls`` writes them into the page."""

import inspect
import re
from pathlib import Path

from nectar.software.kernel.plain import is_call
from nectar.software.nectarine import CAB, Application, Buffer
from nectar.software.nectarine.buffer import Numbers
from nectar.software.nectarine.handle import Handle
from nectar.software.nectarine.task import Task

__all__ = ["PAGE", "tables", "written"]

PAGE = Path(__file__).resolve().parents[3] / "docs" / "nectarine.md"
#: What stands in the page: heading, the name before the dot, class, calls.
_TABLES = [
    (
        "The program's `main`",
        "application",
        Application,
        ["__init__", "spawn", "run"],
    ),
    (
        "A task",
        "task",
        Task,
        ["buffer", "send", "receive", "isend", "ireceive", "probe", "select", "spawn", "end", "exit"],
    ),
    ("A send or a receive under way", "handle", Handle, ["wait", "test", "cancel"]),
    ("A buffer", "buffer", Buffer, ["write", "read", "as_type", "free"]),
    ("Its numbers", "numbers", Numbers, ["write", "read"]),
]
_BEGIN, _END = "<!-- calls -->\n", "<!-- end of calls -->\n"


def _row(before, kind, name):
    """The row of a call: how it is written, and what its docstring says."""
    function = getattr(kind, name)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    written = ", ".join(str(each) for each in parameters)
    for shown, meant in (("=-1", "=ANY"), (f"={CAB}", "=CAB"), ("b''", 'b""')):
        written = written.replace(shown, meant)
    call = f"{kind.__name__}({written})" if name == "__init__" else f"{before}.{name}({written})"
    if is_call(inspect.unwrap(function)):
        call = f"await {call}"
    words = inspect.getdoc(kind if name == "__init__" else function)
    if name == "__init__":
        words = words.partition("\n\n")[0]
    words = re.sub(r"\s+", " ", words).replace("``", "`").replace("|", "\\|")
    return f"| `{call}` | {words} |"


def tables():
    """The tables, as they stand in the page."""
    lines = []
    for heading, before, kind, names in _TABLES:
        lines += ["", f"**{heading}**", "", "| call | what it does |", "|---|---|"]
        lines += [_row(before, kind, name) for name in names]
    return "\n".join(lines[1:]) + "\n"


def written(page):
    """The text of a page with its tables as they should be."""
    before, rest = page.split(_BEGIN)
    return before + _BEGIN + "\n" + tables() + "\n" + _END + rest.split(_END)[1]


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
