"""Fourier transforms of rows, and the transposition of a matrix whose rows are spread over tasks.

A complex number is kept as two floating-point numbers of 32 bits; arithmetic is that of Python's complex numbers."""

import cmath
import functools
from array import array

from nectar.software import ProgramError
from nectar.software.arithmetic import Work

#: Two numbers of a transform of radix 2: a complex multiplication, an addition, a subtraction; the factor is loaded.
BUTTERFLY = Work(float_multiply=4, float_add=6, load=6, store=4, add=8, branch=1)
#: A complex number that gets another place.
MOVE = Work(load_double=1, store_double=1, add=3, branch=1)
#: A complex number that is multiplied by one of a table.
TURN = Work(float_multiply=4, float_add=2, load=4, store=2, add=4, branch=1)


def power_of_two(number, option):
    """The exponent of ``number``. Raises ProgramError if it is no power of two, or 1."""
    if number < 2 or number & (number - 1):
        raise ProgramError(f"{option} must be a power of two, from 2 on, not {number}")
    return number.bit_length() - 1


@functools.cache
def factors(length):
    """The first half of the roots of unity that a transform of ``length`` numbers multiplies by."""
    return [cmath.exp(-2j * cmath.pi * index / length) for index in range(length // 2)]


def fft(values):
    """The transform of ``values``, as many as a power of two."""
    if len(values) == 1:
        return values
    even, odd = fft(values[::2]), fft(values[1::2])
    odd = [factor * value for factor, value in zip(factors(len(values)), odd, strict=True)]
    return [a + b for a, b in zip(even, odd, strict=True)] + [a - b for a, b in zip(even, odd, strict=True)]


def fft_work(length):
    """What the transform of a row of ``length`` numbers takes: the numbers in reversed order, then butterflies."""
    return length // 2 * (length.bit_length() - 1) * BUTTERFLY + length * MOVE


def reference(values):
    """The transform of ``values`` by another order of computation (decimation in frequency)."""
    values, span = list(values), len(values) // 2
    while span:
        turns = factors(2 * span)
        for begin in range(0, len(values), 2 * span):
            for index in range(begin, begin + span):
                a, b = values[index], values[index + span]
                values[index], values[index + span] = a + b, (a - b) * turns[index - begin]
        span //= 2
    bits = len(values).bit_length() - 1
    return [values[int(f"{index:0{bits}b}"[::-1], 2)] for index in range(len(values))]


def packed(values):
    """Complex numbers as bytes of 32-bit floating-point numbers, real part first."""
    return array("f", (part for value in values for part in (value.real, value.imag))).tobytes()


def unpacked(data):
    """The complex numbers of ``packed``."""
    parts = array("f", data)
    return list(map(complex, parts[::2], parts[1::2]))


def exchange(task, team, blocks):
    """Sends ``blocks[n]`` (bytes) to task n of the team. Returns the blocks that all tasks have sent to this one."""
    me, others = team.index, range(1, team.size)
    got = {me: bytes(blocks[me])}
    receiving = {(me - turn) % team.size: None for turn in others}
    for index in receiving:
        receiving[index] = task.ireceive(source=team.names[index])
    sending = [task.isend(team.names[to], blocks[to]) for to in ((me + turn) % team.size for turn in others)]
    for index, handle in receiving.items():
        got[index] = bytes(handle.wait().data)
    for handle in sending:
        handle.wait()
    return [got[index] for index in range(team.size)]


def transposed(task, team, meter, rows, width):
    """The task's rows of the transposed matrix; ``rows`` are its rows of the matrix, of ``width`` numbers each."""
    blocks = []
    for index in range(team.size):
        columns = team.share_of(index, width)
        blocks.append(packed(row[column] for column in columns for row in rows))
        meter.compute(len(columns) * len(rows) * MOVE)
    result = [[] for _ in team.share(width)]
    for block in exchange(task, team, blocks):
        numbers = unpacked(block)
        height = len(numbers) // len(result) if result else 0
        for index, row in enumerate(result):
            row += numbers[index * height : (index + 1) * height]
    return result


def transforms(meter, rows):
    """The transforms of ``rows``."""
    done = []
    for row in rows:
        done.append(fft(row))
        meter.compute(fft_work(len(row)))
    return done


def deviation(found, expected):
    """The largest distance of a number from the expected one, as a share of the largest of these."""
    return max(abs(a - b) for a, b in zip(found, expected, strict=True)) / max(abs(b) for b in expected)
