"""The tables of calls in docs/nectarine.md are those of the docstrings; each fact of the papers names a test that
exists."""

import importlib
import re

from nectar.software.nectarine.task import Task
from nectar.verification.software.nectarine.calls import PAGE, tables, written

MODULES = ("channels", "copies", "inbox", "nodes", "tasks")


def test_the_page_has_the_tables_that_the_docstrings_make():
    text = PAGE.read_text()
    assert written(text) == text, "run python -m nectar.verification.software.nectarine.calls"


def test_every_public_call_of_a_task_is_in_them():
    calls = {name for name in vars(Task) if not name.startswith("_") and callable(getattr(Task, name))}
    calls -= {"finish", "take"}
    assert all(f"task.{name}(" in tables() for name in calls)


def test_each_fact_of_the_papers_names_a_test():
    package = __name__.rpartition(".")[0]
    modules = [importlib.import_module(f"{package}.test_{name}") for name in MODULES]
    rows = re.findall(r"^\| N[^|]+, \d[^|]* \| [^|]+ \| (.*) \|$", PAGE.read_text(), re.M)
    assert len(rows) == 10
    for row in rows:
        tests = re.findall(r"`(test_\w+)`", row)
        assert tests
        for test in tests:
            assert any(hasattr(module, test) for module in modules), test
