"""The table of calls of docs/nx.md, made from the docstrings. Run as a program, this module writes it into the page."""

import inspect
import re
from pathlib import Path

from nectar.software.nx import calls
from nectar.verification.imports import ROOT

__all__ = ["PAGE", "calls_table"]

PAGE = Path(ROOT) / "docs" / "nx.md"
HEAD = "| call | what it does |\n|---|---|\n"


def calls_table():
    """The rows of the table: each call with its parameters, and its docstring."""
    rows = []
    for name in calls.__all__:
        function = inspect.unwrap(getattr(calls, name))
        parameters = ", ".join(list(inspect.signature(function).parameters)[1:])
        text = re.sub(r"``(.*?)``", r"`\1`", " ".join(inspect.getdoc(function).split()))
        rows.append(f"| `{name}({parameters})` | {text} |\n")
    return HEAD + "".join(rows)


if __name__ == "__main__":
    text = PAGE.read_text()
    PAGE.write_text(re.sub(re.escape(HEAD) + r"(\|.*\n)*", lambda _: calls_table(), text))
