"""``software.speedup``: what tasks measure, and the table."""

import re

import pytest

from nectar.software import ProgramError
from nectar.software.arithmetic import Work
from nectar.software.speedup import Measured, Meter, Scaling, Team, counts_of

from .helpers import drive, simulated

MILLISECOND = Work(add=16_000)


def plain(task, team, twice):
    """Computes for a millisecond, divided among all, and for half of that in vain if ``twice``."""
    meter = Meter(task.cab)
    meter.start()
    meter.compute(MILLISECOND * (1 / team.size))
    if twice:
        task.cab.sleep(500 / team.size)
    meter.stop()
    return meter, (team.index, task.name)


async def awaited(task, team, twice):
    meter = Meter(task.cab)
    await meter.start()
    meter.compute(MILLISECOND * (1 / team.size))
    if twice:
        await task.cab.sleep(500 / team.size)
    await meter.stop()
    return meter, (team.index, task.name)


async def scaled(system, function, twice, counts):
    scaling = Scaling(system, "it", counts)
    answers = [answer async for answer in scaling.run(function, 1000, twice)]
    return scaling, answers


@pytest.mark.parametrize("function", [plain, awaited])
def test_a_program_runs_on_each_number_of_cabs_and_its_time_is_measured(function, capsys):
    with simulated("hub:4") as system:
        scaling, answers = drive(scaled(system, function, False, [1, 2, 4]))
        reported = {result["id"]: result["value"] for result in system.results}
    assert [[index for index, _ in each] for each in answers] == [[0], [0, 1], [0, 1, 2, 3]]
    assert [run.cabs for run in scaling.runs] == [1, 2, 4]
    for run in scaling.runs:
        assert run.computing_us == pytest.approx(1000)
        assert run.time_us == pytest.approx(1000 / run.cabs, abs=5)  # starts may differ by messages of the run before
        assert run.communication < 0.01
        assert reported[f"it.speedup.{run.cabs}"] == pytest.approx(run.cabs, rel=0.01)
    head, *lines = capsys.readouterr().out.splitlines()[1:]
    assert head.split() == ["CABs", "time,", "ms", "speed-up", "ideal", "communication"]
    assert re.fullmatch(r" +1 +1\.000 +1\.00 +1 +0\.0 %", lines[0])
    assert all(len(line) <= len(head) for line in lines)


def test_an_answer_is_reported_as_a_digest_that_a_comparison_takes():
    """docs/compare.md, "Answers": the same digest for the same value, another for another."""

    async def answered(system, value):
        scaling = Scaling(system, "it", [2])
        async for _ in scaling.run(plain, 1000, False):
            scaling.answer(value)

    told = []
    for value in ([1.5, "a"], [1.5, "a"], [1.5, "b"]):
        with simulated("hub:2") as system:
            drive(answered(system, value))
            (result,) = (result for result in system.results if result["id"] == "it.answer.2")
            told.append((result["value"], result["answer"]))
    assert told[0] == told[1] != told[2] and all(marked for _, marked in told)


def test_what_is_not_computed_is_communication():
    with simulated("hub:2") as system:
        scaling, _ = drive(scaled(system, plain, True, [2]))
    assert scaling.runs[0].communication == pytest.approx(1 / 3, abs=0.02)


def test_a_cab_that_is_stopped_in_a_run_is_one_line():
    with simulated("hub:2", faults=["CAB2:stop,at=100us"]) as system:
        with pytest.raises(ProgramError, match="task it.0.1 on CAB2 has no result: its CAB was stopped by a fault"):
            drive(scaled(system, plain, False, [2]))


def test_a_run_lasts_from_the_first_start_to_the_last_stop():
    meters = [Meter(None), Meter(None)]
    for meter, begin, end in zip(meters, (10, 20), (110, 210), strict=True):
        meter.begin_us, meter.end_us, meter.computing_us = begin, end, 60
    measured = Measured.of(meters)
    assert (measured.cabs, measured.time_us, measured.computing_us) == (2, 200, 120)
    assert measured.communication == pytest.approx(0.7)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_shares_cover_everything_once_and_are_even(size):
    team = Team(tuple(f"t.{index}" for index in range(size)), 0)
    shares = [team.share_of(index, 20) for index in range(size)]
    assert [number for share in shares for number in share] == list(range(20))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1 and shares[0] == team.share(20)


def test_numbers_of_cabs():
    with simulated("hub:5") as system:
        assert counts_of(system) == [1, 2, 4]
        assert counts_of(system, "5,1,5") == [5, 1]
        for wrong in ("0", "6", "1,,2", "many", ""):
            with pytest.raises(ProgramError, match=f"--cabs {wrong}: give numbers"):
                counts_of(system, wrong)
