"""examples/fft: transforms, their distribution, and what the tables say."""

import cmath

import pytest

from nectar.software import ProgramError
from nectar.software.arithmetic import Work
from nectar.software.speedup import Meter, Team
from nectar.verification import seeds

from .examples import as_stated, modules, rows, run


@pytest.fixture(scope="module", params=["fft/fft2d", "fft/fft1d"])
def program(request):
    with modules(request.param) as module:
        yield module


@pytest.fixture(scope="module")
def transform():
    with modules("fft/transform") as module:
        yield module


SIZES = {"fft2d": ("--order", 16), "fft1d": ("--points", 256)}


@pytest.mark.parametrize("length", [1, 2, 8, 64])
def test_both_transforms_are_the_sum_that_defines_one(length, transform):
    draw = seeds.rng(length)
    values = [complex(draw.uniform(-1, 1), draw.uniform(-1, 1)) for _ in range(length)]
    defined = [
        sum(value * cmath.exp(-2j * cmath.pi * j * k / length) for j, value in enumerate(values)) for k in range(length)
    ]
    for computed in (transform.fft(values), transform.reference(values)):
        assert max(abs(a - b) for a, b in zip(computed, defined, strict=True)) < 1e-12 * length


def test_a_transform_is_charged_by_its_butterflies(transform):
    """n/2 log2 n of them."""
    assert transform.fft_work(8).cycles == 12 * transform.BUTTERFLY.cycles + 8 * transform.MOVE.cycles
    assert transform.BUTTERFLY.cycles == Work(float_multiply=4, float_add=6).cycles + 34


def test_the_result_is_that_of_the_sequential_program_on_any_number_of_cabs(program):
    """The program compares them. 3 CABs have unequal shares."""
    ran = run(program, *SIZES[program.__name__], "--cabs", "1,2,3,4")
    table = rows(ran.text)
    assert [row.cabs for row in table] == [row.ideal for row in table] == [1, 2, 3, 4]
    assert all(row.speedup <= row.ideal for row in table)
    assert [row.time_ms for row in table] == sorted((row.time_ms for row in table), reverse=True)
    assert table[0].communication == 0.0 < table[1].communication


def test_more_cabs_than_rows_work(program):
    size = {"fft2d": ("--order", 2), "fft1d": ("--points", 4)}[program.__name__]
    assert [row.cabs for row in rows(run(program, *size, "--cabs", "4").text)] == [4]


def test_a_wrong_result_ends_the_program(program, monkeypatch):
    monkeypatch.setattr(program, "transforms", lambda meter, rows: rows)
    with pytest.raises(ProgramError, match="the result is wrong"):
        run(program, *SIZES[program.__name__], "--cabs", "2")


@pytest.mark.parametrize("size", [0, 1, 3, 100, -4])
def test_a_size_that_is_no_power_of_two_is_refused(size, program):
    option = SIZES[program.__name__][0]
    with pytest.raises(ProgramError, match=f"{option} must be a power of two, from 2 on, not {size}"):
        run(program, f"{option}={size}")


def test_one_cab_by_itself_takes_what_the_sequential_program_does():
    """In two dimensions there is no other work; in one the six steps transpose three times more."""
    with modules("fft/fft2d") as program:
        assert rows(run(program, "--order", 8, "--cabs", "1").text)[0].speedup == 1.0
    with modules("fft/fft1d") as program:
        assert rows(run(program, "--points", 64, "--cabs", "1").text)[0].speedup < 1.0


def test_a_part_of_a_transposition_has_the_numbers_in_their_places(transform):
    """On one task, without messages."""
    matrix = [[complex(row, column) for column in range(3)] for row in range(5)]

    class Cab:
        def compute(self, work):
            pass

        def compute_us(self, work):
            return work.microseconds

    found = transform.transposed(None, Team(("alone",), 0), Meter(Cab()), matrix, 3)
    assert found == [[complex(row, column) for row in range(5)] for column in range(3)]


@pytest.mark.nightly
@pytest.mark.parametrize("points", [4096, 32768])
def test_a_signal_of_full_size_on_the_rtl(points):
    """K3 asks for 4 k and 32 k points."""
    with modules("fft/fft1d") as program:
        table = rows(run(program, "--points", points, topology="hub:16", boards="rtl").text)
    as_stated(f"fft1d.{points}", table)


@pytest.mark.nightly
def test_an_image_of_full_size_on_the_rtl():
    with modules("fft/fft2d") as program:
        as_stated("fft2d", rows(run(program, topology="hub:16", boards="rtl").text))
