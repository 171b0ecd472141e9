"""The tables of calls in docs/nectarine.md are those of the docstrings."""

from nectar.software.nectarine.task import Task
from nectar.verification.software.nectarine.calls import PAGE, tables, written


def test_the_page_has_the_tables_that_the_docstrings_make():
    text = PAGE.read_text()
    assert written(text) == text, "run python -m nectar.verification.software.nectarine.calls"


def test_every_public_call_of_a_task_is_in_them():
    calls = {name for name in vars(Task) if not name.startswith("_") and callable(getattr(Task, name))}
    calls -= {"finish", "take"}
    assert all(f"task.{name}(" in tables() for name in calls)
