"""What combining two numbers costs on the CAB's CPU, by operation and type. Specification: docs/mpi-collectives.md.

The figures are those of ``software.arithmetic``. A combination loads both numbers, combines them and stores the
result; the loop around it steps three pointers, compares and branches.
"""

from ..arithmetic import Work
from .predefined import item_size

__all__ = ["work_of", "work_of_pairs"]

_LOOP = Work(add=4, branch=1)
_REALS, _COMPLEX = "efdg", "FDG"
_COMPARED, _LOGICAL = ("MAX", "MIN"), ("LAND", "LOR", "LXOR")


def _moved(bytes):
    """Both numbers are loaded, one is stored; ``bytes``: of each, at least a word is moved at once."""
    if bytes <= 4:
        return Work(load=2, store=1)
    return -(-bytes // 8) * Work(load_double=2, store_double=1)


def _real(name):
    """One operation of two floating-point numbers."""
    if name in _COMPARED:
        return Work(float_compare=1, branch=1)
    return Work(float_multiply=1) if name == "PROD" else Work(float_add=1)


def _complex(name):
    """The same of complex numbers."""
    return Work(float_multiply=4, float_add=2) if name == "PROD" else Work(float_add=2)


def _integer(name, words):
    """The same of integers of so many 32-bit words."""
    if name == "PROD":  # without the upper half of the product
        return Work(multiply=1) if words == 1 else Work(multiply=3, add=2)
    if name in _COMPARED:
        return words * Work(add=1, branch=1)
    if name in _LOGICAL:  # each is compared with 0 first
        return words * Work(add=2) + Work(add=1)
    return words * Work(add=1)


def work_of(name, letter):
    """The Work of combining two numbers of the type ``letter``, as of ``struct`` or NumPy, by a predefined operation.

    Numbers of long double are charged as those of 64 bits, since the CPU has no others.
    """
    size = item_size(letter)
    if letter in _REALS:
        return _LOOP + _moved(min(size, 8)) + _real(name)
    if letter in _COMPLEX:
        return _LOOP + _moved(min(size, 16)) + _complex(name)
    return _LOOP + _moved(size) + _integer(name, -(-size // 4))


def work_of_pairs(letters):
    """The Work of combining two pairs of value and index by MAXLOC or MINLOC."""
    value, index = letters
    return work_of("MAX", value) + Work(add=1, branch=1) + _moved(item_size(index))
