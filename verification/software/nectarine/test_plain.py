"""Plain functions as tasks of an application: the same calls, times, results as coroutines."""

import inspect

import pytest

from nectar.verification.software.helpers import BOARDS
from nectar.verification.software.nectarine import plain_application
from nectar.verification.software.nectarine.applications import application
from nectar.verification.software.plainly import plainly


def both():
    """The tasks as they are, and with plain functions."""
    space = {"__name__": plain_application.__name__}
    exec(compile(plainly(inspect.getsource(plain_application)), "plain", "exec"), space)
    assert not any(map(inspect.iscoroutinefunction, space["TASKS"]))
    return plain_application.TASKS, space["TASKS"]


def run(tasks, boards):
    """What the tasks return, how long it has taken, the counters of copies."""
    with application(boards=boards) as made:
        for index, function in enumerate(tasks, 1):
            made.spawn(function.__name__, function, on=f"CAB{index}")
        made.go()
        return [(record.name, record.end, record.result) for record in made.tasks], made.system.time_ns


@pytest.mark.parametrize("boards", BOARDS)
def test_every_call_takes_the_same_time_to_the_picosecond(boards):
    coroutines, plain = (run(tasks, boards) for tasks in both())
    assert plain == coroutines
    assert len(plain[0]) == 3 and len(plain[0][1][2]) == 8
