"""Transforms a signal by a one-dimensional FFT in six steps, on 1, 2, 4, 8 and 16 CABs.

    nectar run examples/fft/fft1d.py [--points 4096] [--cabs 1,2,4,8,16]

Each CAB has a part of the signal, and gets the same part of the result. The signal is a matrix, row by row: it is
transposed, its rows are transformed and multiplied by roots of unity, it is transposed again, its rows are
transformed, and it is transposed once more. Each transposition is an exchange of blocks between all CABs. The result
is compared with that of a sequential program: a transform of all points in one memory, without transpositions. What is
printed for each number of CABs: simulated time, speed-up over the sequential program, the ideal, and the share of the
CABs' time in which they did not compute.

4 k and 32 k points are the sizes that the Meerkat paper (1993) gives a speed-up for."""

import argparse
import cmath

from transform import TURN, deviation, fft_work, power_of_two, reference, transforms, transposed

from nectar.software import ProgramError
from nectar.software.speedup import Meter, Scaling, counts_of

TOPOLOGY = "hub:16"

#: The largest deviation that rounding to 32 bits at each transposition explains.
CLOSE = 1e-5


def sample(index):
    """A value of the signal."""
    return complex((index * index) % 31 - 15, (7 * index) % 13 - 6)


def turned(meter, rows, numbers, points):
    """Row j, column k of the matrix times the root of unity of j k; ``numbers`` are those of the rows."""
    done = []
    for number, row in zip(numbers, rows, strict=True):
        unit = -2j * cmath.pi * number / points
        done.append([value * cmath.exp(unit * column) for column, value in enumerate(row)])
        meter.compute(len(row) * TURN)
    return done


def fft1d(task, team, height, width):
    """The task of each CAB: a signal of ``height`` rows of ``width`` points. Returns its part of the result."""
    meter = Meter(task.cab)
    rows = [[sample(row * width + column) for column in range(width)] for row in team.share(height)]
    meter.start()
    rows = transforms(meter, transposed(task, team, meter, rows, width))
    rows = turned(meter, rows, team.share(width), height * width)
    rows = transforms(meter, transposed(task, team, meter, rows, height))
    rows = transposed(task, team, meter, rows, width)
    meter.stop()
    return meter, [value for row in rows for value in row]


async def main(system, arguments):
    """Runs the transform on each number of CABs, prints a table."""
    parser = argparse.ArgumentParser(
        prog="nectar run examples/fft/fft1d.py", description=__doc__.partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument("--points", type=int, default=4096, help="points, a power of two (default: 4096)")
    parser.add_argument("--cabs", metavar="N,N,…", help="numbers of CABs (default: 1,2,4,8,16)")
    options = parser.parse_args(arguments)
    exponent = power_of_two(options.points, "--points")
    height = 1 << exponent // 2
    width = options.points // height
    expected = reference([sample(index) for index in range(options.points)])
    alone = fft_work(options.points)
    scaling = Scaling(system, f"fft1d.{options.points}", counts_of(system, options.cabs))
    print(f"1-D FFT of {options.points} points")
    async for answers in scaling.run(fft1d, alone, height, width):
        found = [value for part in answers for value in part]
        if deviation(found, expected) > CLOSE:
            raise ProgramError("the result is wrong")
        scaling.answer(found)
