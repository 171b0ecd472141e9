"""What computing costs: the table, the page that shows it, and sums of it."""

import re
from dataclasses import asdict

import pytest

from nectar.software.arithmetic import ARITHMETIC, Arithmetic, Work

from .computing import PAGE, written


def test_the_page_has_the_table_of_the_code():
    text = PAGE.read_text()
    assert written(text) == text, "run python -m nectar.verification.software.computing"


def test_every_figure_has_a_source_or_says_that_it_is_an_estimate():
    for name in asdict(ARITHMETIC):
        assert re.search(r"CY7C601|CY7C602|\.umul|estimate: ", Arithmetic.reason(name)), name


def test_work_is_the_sum_of_its_operations():
    work = Work(load=2, multiply=1, store=1)
    assert work.cycles == 2 * ARITHMETIC.load + ARITHMETIC.multiply + ARITHMETIC.store
    assert (3 * work + Work(add=1)).cycles == (work * 3).cycles + 1
    assert Work(add=16).microseconds == 1.0
    assert Work().cycles == 0


def test_an_operation_that_there_is_not_names_those_that_there_are():
    with pytest.raises(TypeError, match=r"there is no operation 'multiplies': Arithmetic has add, branch, .*multiply"):
        Work(multiplies=1)
    with pytest.raises(TypeError):
        Work(add=1) + 3
    with pytest.raises(TypeError):
        Work(add=1) * "3"
