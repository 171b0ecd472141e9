"""docs/nx.md: its table of calls is made from the docstrings; each fact of the paper names a test that exists."""

import importlib
import re

from nectar.software.nx import Process, calls
from nectar.verification.software.nx.page import HEAD, PAGE, calls_table

MODULES = ("test_asynchronous", "test_globals", "test_messages", "test_times", "test_waiting", "test_errors")


def test_the_table_of_calls_is_what_the_docstrings_say():
    """``python -m nectar.verification.software.nx.page`` writes it."""
    text = PAGE.read_text()
    table = re.search(re.escape(HEAD) + r"(\|.*\n)*", text)
    assert table is not None and table[0] == calls_table()


def test_each_call_is_a_function_and_a_method():
    for name in calls.__all__:
        assert callable(getattr(Process, name)) and getattr(calls, name).__name__ == name


def test_each_fact_of_the_paper_names_a_test():
    modules = [importlib.import_module(f"nectar.verification.software.nx.{name}") for name in MODULES]
    rows = re.findall(r"^\| (?:2|3|4)(?:\.\d)? \| .* \| (.*) \|$", PAGE.read_text(), re.M)
    assert len(rows) > 15
    for tests in rows:
        named = re.findall(r"`(test_\w+)`", tests)
        assert named
        for test in named:
            assert any(hasattr(module, test) for module in modules), test


def test_the_docstrings_of_global_operations_tell_their_messages():
    """``test_globals`` counts them."""
    for name in calls.__all__:
        if name.startswith("g"):
            assert "Messages: " in getattr(calls, name).__doc__
