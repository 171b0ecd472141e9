"""What computing costs: the table, the page that shows it, and sums of it."""

import re
from dataclasses import asdict

import pytest

from nectar.software.arithmetic import ARITHMETIC, Arithmetic, Work
from nectar.software.ipsc2.arithmetic import I387, NodeArithmetic
from nectar.software.mpi.work import work_of
from nectar.verification.software.helpers import run_task
from nectar.verification.software.ipsc2.cube import cube, tasks_on

from .computing import PAGE, written


def test_the_page_has_the_tables_of_the_code():
    text = PAGE.read_text()
    assert written(text) == text, "run python -m nectar.verification.software.computing"


def test_every_figure_has_a_source_or_says_that_it_is_an_estimate():
    for name in asdict(ARITHMETIC):
        assert re.search(r"CY7C601|CY7C602|\.umul|estimate: ", Arithmetic.reason(name)), name


def test_figures_of_a_node_have_sources_and_give_what_the_paper_has():
    """The iPSC/2 paper: 250 KFLOPS with 32 bits and over 210 KFLOPS with 64 bits; of a b + c."""
    for name in asdict(I387):
        assert re.search(r"80386|80387", NodeArithmetic.reason(name)), name
    flops = Work(float_multiply=1, float_add=1)
    single, double = flops + Work(load=3, store=1), flops + Work(load_double=3, store_double=1)
    assert 2 * 16_000 / single.cycles_by(I387) == pytest.approx(250, rel=0.05)
    assert 210 < 2 * 16_000 / double.cycles_by(I387) < 225


def test_work_takes_what_the_cpu_of_the_computer_takes():
    """And so does a reduction of MPI."""
    work = 100 * Work(load=2, divide=1, float_add=3) + 50 * work_of("PROD", "d")

    async def both(cab):
        begin = await cab.now_us()
        cab.compute(work)
        took = await cab.now_us() - begin
        return took - cab.compute_us(work), cab.compute_us(work)

    async def on_node(task):
        return await both(task.cab)

    more, cab_us = run_task(both)
    assert cab_us == work.microseconds == work.cycles_by(ARITHMETIC) / 16 and 0 <= more < 5
    with cube(1) as system:
        more, node_us = tasks_on(system, {"one": (0, on_node)})["one"].result
    assert node_us == work.cycles_by(I387) / 16 != cab_us and 0 <= more < 5


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
