"""Transforms a square image by a two-dimensional FFT, on 1, 2, 4, 8 and 16 CABs.

    nectar run examples/fft/fft2d.py [--order 256] [--cabs 1,2,4,8,16]

Each CAB has some rows of the image. It transforms its rows; all CABs exchange blocks, so that each has some columns;
it transforms these. The result stays where it is. It is compared with that of a sequential program, which makes the
same transforms and transposes the image in its own memory. What is printed for each number of CABs: simulated time,
speed-up over the sequential program, the ideal, and the share of the CABs' time in which they did not compute.

"The Design of Nectar" (1989), section 7, names large scientific applications on loosely coupled processors."""

import argparse

from transform import MOVE, deviation, fft_work, power_of_two, reference, transforms, transposed

from nectar.software import ProgramError
from nectar.software.speedup import Meter, Scaling, counts_of

TOPOLOGY = "hub:16"

#: The largest deviation that rounding to 32 bits between the two halves explains.
CLOSE = 1e-5


def pixel(row, column, order):
    """A grey value of the image: a bright square on a pattern."""
    inside = abs(row - order / 2) < order / 8 and abs(column - order / 3) < order / 8
    return complex((row * row + 3 * column) % 17 + (100 if inside else 0))


def fft2d(task, team, order):
    """The task of each CAB. Returns its columns of the result."""
    meter = Meter(task.cab)
    rows = [[pixel(row, column, order) for column in range(order)] for row in team.share(order)]
    meter.start()
    columns = transforms(meter, transposed(task, team, meter, transforms(meter, rows), order))
    meter.stop()
    return meter, columns


def sequential(order):
    """The columns of the result, computed without CABs."""
    rows = [reference([pixel(row, column, order) for column in range(order)]) for row in range(order)]
    return [reference([row[column] for row in rows]) for column in range(order)]


async def main(system, arguments):
    """Runs the transform on each number of CABs, prints a table."""
    parser = argparse.ArgumentParser(
        prog="nectar run examples/fft/fft2d.py", description=__doc__.partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument("--order", type=int, default=256, help="rows and columns, a power of two (default: 256)")
    parser.add_argument("--cabs", metavar="N,N,…", help="numbers of CABs (default: 1,2,4,8,16)")
    options = parser.parse_args(arguments)
    order = options.order
    power_of_two(order, "--order")
    expected = [value for column in sequential(order) for value in column]
    alone = 2 * order * fft_work(order) + order * order * MOVE
    scaling = Scaling(system, "fft2d", counts_of(system, options.cabs))
    print(f"2-D FFT of {order} x {order} points")
    async for answers in scaling.run(fft2d, alone, order):
        found = [value for columns in answers for column in columns for value in column]
        if deviation(found, expected) > CLOSE:
            raise ProgramError("the result is wrong")
        scaling.answer(found)
