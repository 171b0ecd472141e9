"""Numbers of MPI that several files need: ranks, results of a comparison, kinds of topologies and combiners.

Names are mpi4py's. The standard leaves the values to the implementation; those here are **ours**.
"""

from enum import IntEnum

__all__ = [
    "ANY_SOURCE",
    "ANY_TAG",
    "BOTTOM",
    "CART",
    "CONGRUENT",
    "Combiner",
    "DIST_GRAPH",
    "GRAPH",
    "IDENT",
    "IN_PLACE",
    "MAX_INFO_KEY",
    "MAX_INFO_VAL",
    "MAX_OBJECT_NAME",
    "ORDER_C",
    "ORDER_FORTRAN",
    "PROC_NULL",
    "ROOT",
    "SIMILAR",
    "TYPECLASS_COMPLEX",
    "TYPECLASS_INTEGER",
    "TYPECLASS_LOGICAL",
    "TYPECLASS_REAL",
    "UNDEFINED",
    "UNEQUAL",
    "UNWEIGHTED",
    "WEIGHTS_EMPTY",
]

UNDEFINED = -32766
ANY_SOURCE = -2
ANY_TAG = -1
PROC_NULL = -1
ROOT = -3

IDENT, CONGRUENT, SIMILAR, UNEQUAL = range(4)

GRAPH, CART, DIST_GRAPH = 1, 2, 3

TYPECLASS_REAL, TYPECLASS_INTEGER, TYPECLASS_COMPLEX, TYPECLASS_LOGICAL = 1, 2, 3, 4

ORDER_C, ORDER_FORTRAN = 56, 57

MAX_OBJECT_NAME = 128
MAX_INFO_KEY = 255
MAX_INFO_VAL = 1024


class Combiner(IntEnum):
    """How a datatype was made: the ``COMBINER_`` constants of mpi4py."""

    NAMED = 1
    DUP = 2
    CONTIGUOUS = 3
    VECTOR = 4
    HVECTOR = 5
    INDEXED = 6
    HINDEXED = 7
    INDEXED_BLOCK = 8
    HINDEXED_BLOCK = 9
    STRUCT = 10
    SUBARRAY = 11
    DARRAY = 12
    RESIZED = 13
    VALUE_INDEX = 14
    F90_INTEGER = 15
    F90_REAL = 16
    F90_COMPLEX = 17


class _Named(int):
    """A constant with a name, which stands in the place of a buffer or of a list."""

    __module__ = "mpi4py.MPI"

    def __new__(cls, name, value):
        self = super().__new__(cls, value)
        self.name = name
        return self

    def __repr__(self):
        return self.name

    def __reduce__(self):
        return self.name

    def __bool__(self):
        return False


BOTTOM = _Named("BOTTOM", 0)
IN_PLACE = _Named("IN_PLACE", -1)
UNWEIGHTED = _Named("UNWEIGHTED", 10)
WEIGHTS_EMPTY = _Named("WEIGHTS_EMPTY", 11)
