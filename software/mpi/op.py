"""Operations of reductions: the predefined ones, and those of the program. Names are mpi4py's.

A handle's ``target`` is an Operation. It combines Python's objects, or the packed bytes of two processes.
"""

import operator
from collections import Counter

from ..arithmetic import Work
from . import caller
from .buffers import block, same_elements
from .exception import ErrorClass, Exception
from .handle import Handle
from .memory import buffer_with
from .numbers import combine_numbers, combine_pairs
from .work import work_of, work_of_pairs

__all__ = ["OPERATIONS", "OP_NULL", "Op", "Operation"]

#: Operations of its own that a process may have at a time.
_MOST = 32
_made = Counter()


def _located(before):
    """The combination of two pairs (value, index): the pair whose value comes ``before``, else the smaller index."""

    def combine(one, other):
        (value, index), (second, position) = one, other
        if before(value, second):
            return value, index
        if before(second, value) or position < index:
            return second, position
        return value, index

    return combine


#: Name -> function of two Python objects.
_OF_OBJECTS = {
    "MAX": lambda x, y: y if y > x else x,
    "MIN": lambda x, y: y if y < x else x,
    "SUM": operator.add,
    "PROD": operator.mul,
    "LAND": lambda x, y: bool(x) & bool(y),
    "BAND": operator.and_,
    "LOR": lambda x, y: bool(x) | bool(y),
    "BOR": operator.or_,
    "LXOR": lambda x, y: bool(x) ^ bool(y),
    "BXOR": operator.xor,
    "MAXLOC": _located(operator.gt),
    "MINLOC": _located(operator.lt),
    "REPLACE": lambda x, y: y,
    "NO_OP": lambda x, y: x,
}

_INTEGERS = frozenset("bhilqpBHILQ")
_REALS = frozenset("efdg")
#: Name -> letters of the numbers that it combines.
_LETTERS = dict.fromkeys(("MAX", "MIN"), _INTEGERS | _REALS)
_LETTERS |= dict.fromkeys(("SUM", "PROD"), _INTEGERS | _REALS | frozenset("FDG"))
_LETTERS |= dict.fromkeys(("LAND", "LOR", "LXOR", "BAND", "BOR", "BXOR"), _INTEGERS)


class Operation:
    """What an operation does.

    Members
    -------
    name : str
        Of a predefined one; "" of one of the program.
    function : callable
        Predefined: of two objects. Of the program: ``function(inbuf, inoutbuf, datatype)``.
    commutative : bool
    owner : int
        The process that made it.
    """

    def __init__(self, name, function, commutative, owner=None):
        self.name = name
        self.function = function
        self.commutative = commutative
        self.owner = owner
        self.constant = None


def _refused(name, datatype):
    kind = datatype.name or "a derived datatype"
    return Exception(ErrorClass.ERR_OP, f"MPI_{name} is not for {kind}")


class Op(Handle):
    """An operation of reductions. ``op(x, y)`` combines two objects.

    Raises
    ------
    Exception
        ERR_OP if the operation is null, is predefined and is to be freed, or is not for the datatype.
    """

    def __new__(cls, other=None):
        self = super().__new__(cls, other)
        self.numbered = other is not None and getattr(other, "numbered", False)
        return self

    @property
    def _operation(self):
        if self.target is None:
            raise Exception(ErrorClass.ERR_OP, "the operation is null")
        return self.target

    def __call__(self, x, y):
        if self.target is None:
            raise ValueError("cannot call a null operation")
        if self.target.name:
            return self.target.function(x, y)
        return self.target.function(x, y, None)

    @classmethod
    def Create(cls, function, commute=False):
        """An operation of the program.

        ``function(inbuf, inoutbuf, datatype)`` combines the elements of two buffers, and leaves the results in the
        second one. If the operation is called with objects, ``datatype`` is None and the result is returned.

        Raises RuntimeError if the process has 32 of them already.
        """
        owner = caller.process()
        if _made[owner] >= _MOST:
            raise RuntimeError(f"cannot create too many user-defined reduction operations: {_MOST} at a time")
        _made[owner] += 1
        return cls.of(Operation("", function, bool(commute), owner))

    def Free(self):
        """Frees an operation of the program; the handle is null then."""
        if self._operation.name:
            raise Exception(ErrorClass.ERR_OP, "a predefined operation cannot be freed")
        _made[self.target.owner] -= 1
        self.target = None

    @classmethod
    def fromhandle(cls, handle):
        """The operation with the number ``handle``. One of the program that was got so cannot be pickled."""
        op = super().fromhandle(handle)
        op.numbered = not op.constant
        return op

    def __reduce__(self):
        if self.target is None or self.target.name or self.numbered:
            return super().__reduce__()
        return type(self).Create, (self.target.function, self.target.commutative)

    def Is_commutative(self):
        """Whether the order of the two sides does not matter."""
        return self._operation.commutative

    is_commutative = property(Is_commutative)
    is_predefined = property(lambda self: self.target is None or bool(self.target.name))

    def combination(self, datatype):
        """A function of the packed bytes of as many elements of two processes, the one with the lower rank first.

        It returns the packed bytes of the result.
        """
        operation = self._operation
        name, kind = operation.name, datatype.target
        if not name:
            return lambda one, other: _by_program(operation.function, datatype, one, other)
        if name in ("REPLACE", "NO_OP"):
            return operation.function
        if name in ("MAXLOC", "MINLOC"):
            if not datatype.pair:
                raise _refused(name, datatype)
            return lambda one, other: combine_pairs(name, kind.pair, one, other)
        if kind.logical:
            fits = name[0] == "L"
        elif kind.name in ("MPI_BYTE", "MPI_PACKED"):
            fits = kind.name == "MPI_BYTE" and name[0] == "B"
        else:
            fits = kind.char in _LETTERS[name]
        if not fits:
            raise _refused(name, datatype)
        return lambda one, other: combine_numbers(name, kind.char, one, other)

    def work(self, datatype):
        """The Work of combining an element of two processes; none for a function of the program, REPLACE, NO_OP."""
        name, kind = self._operation.name, datatype.target
        if name in ("", "REPLACE", "NO_OP"):
            return Work()
        return work_of_pairs(kind.pair) if kind.pair else work_of(name, kind.char)

    def Reduce_local(self, inbuf, inoutbuf):
        """Combines the elements of two buffers of this process; the results are in the second one."""
        result = block(inoutbuf, writable=True)
        given = block(inbuf)
        same_elements(given, result)
        combine = self.combination(result.datatype)
        if result.nbytes:
            result.unpack(combine(given.pack(), result.pack()))


def _by_program(function, datatype, one, other):
    """Lays the bytes of both sides out as elements in memory, calls the program's function, packs the result."""
    layout = datatype.layout
    count = len(one) // layout.size
    first, last = layout.span(count)
    base, length = -first, max(last, count * layout.extent) - first
    sides = [buffer_with(bytes(length)) for _ in range(2)]
    for side, data in zip(sides, (one, other), strict=True):
        layout.unpack(memoryview(side), base, count, data)
    function(*sides, datatype)
    return layout.pack(memoryview(sides[1]), base, count)


OP_NULL = Op.nothing = Op.constant_of("OP_NULL", None)
#: Name in the module MPI -> Op.
OPERATIONS = {"OP_NULL": OP_NULL} | {
    name: Op.constant_of(name, Operation(name, function, name not in ("REPLACE", "NO_OP")))
    for name, function in _OF_OBJECTS.items()
}
