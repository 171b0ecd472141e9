"""Datatypes: what the elements of a message are, and how they lie in memory. Names are mpi4py's.

A handle's ``target`` is a Type. Predefined ones are made in ``predefined``. Numbers lie in the memory of the machine
that runs the simulation, as Python and NumPy have them there; nothing is converted on the way.
"""

from itertools import product
from math import prod

from .absent import name_absent
from .constants import MAX_OBJECT_NAME, ORDER_C, ORDER_FORTRAN, Combiner
from .exception import ErrorClass, Exception
from .handle import Handle
from .layout import Layout

__all__ = ["DATATYPE_NULL", "Datatype", "Type", "datatype_of_code", "name_codes", "name_families"]

#: Codes and type strings of Python and NumPy -> predefined Datatype.
_of_code = {}
#: Types of value and index -> predefined pair.
_of_pair = {}
#: Class of types and bytes -> predefined Datatype of Fortran.
_of_size = {}


class Type:
    """What a datatype is.

    Members
    -------
    layout : Layout
    name : str
    code, char, string : str or None
        What ``fromcode`` knows it by, its letter and its type string, if it has any.
    combiner : Combiner
    old : tuple of Datatype
        What it was made of.
    parameters : dict
        Arguments of the constructor that made it, without ``old``.
    integers, addresses : lists of int
        The same as ``MPI_Type_get_contents`` has them.
    pair : tuple of two letters, or None
        Of a predefined pair: of the value and of the index.
    logical : bool
        Its numbers are true or false.
    """

    def __init__(self, layout, combiner=Combiner.NAMED, old=(), integers=(), addresses=(), **parameters):
        self.layout = layout
        self.combiner = combiner
        self.old = tuple(old)
        self.integers = list(integers)
        self.addresses = list(addresses)
        self.parameters = parameters
        self.name = ""
        self.code = self.char = self.string = self.pair = self.constant = None
        self.logical = False


def _counts(values, count=None):
    """A list of int. Raises ValueError if there are not ``count`` of them."""
    values = [int(value) for value in values]
    if count is not None and len(values) != count:
        raise ValueError(f"expecting {count} items, got {len(values)}")
    return values


def _not_negative(*counts):
    for count in counts:
        if count < 0:
            raise Exception(ErrorClass.ERR_ARG, f"a count is 0 or more, not {count}")


class Datatype(Handle):
    """A datatype.

    Displacements and strides of the constructors are in elements of the old type, unless their names begin with ``h``:
    those, and displacements of structs, are in bytes.

    Raises
    ------
    Exception
        ERR_TYPE if the datatype is null, or is predefined and is to be freed; ERR_ARG for a count below 0.
    """

    @property
    def _type(self):
        if self.target is None:
            raise Exception(ErrorClass.ERR_TYPE, "the datatype is null")
        return self.target

    @property
    def layout(self):
        """The Layout of one element."""
        return self._type.layout

    @property
    def pair(self):
        """Of a predefined pair of value and index: their codes; else None."""
        return self._type.pair

    def Get_size(self):
        """Bytes of data of one element."""
        return self._type.layout.size

    def Get_extent(self):
        """Lower bound and extent, in bytes."""
        return self._type.layout.lb, self._type.layout.extent

    def Get_true_extent(self):
        """Lower bound and extent of the data alone, in bytes."""
        layout = self._type.layout
        return layout.true_lb, layout.true_ub - layout.true_lb

    size = property(Get_size)
    extent = property(lambda self: self._type.layout.extent)
    lb = property(lambda self: self._type.layout.lb)
    ub = property(lambda self: self._type.layout.ub)
    true_extent = property(lambda self: self.Get_true_extent()[1])
    true_lb = property(lambda self: self._type.layout.true_lb)
    true_ub = property(lambda self: self._type.layout.true_ub)

    # -- constructors --------------------------------------------------------------------------------
    def Dup(self):
        """The same again."""
        made = Type(self._type.layout, Combiner.DUP, [self])
        made.code, made.char, made.string = self._type.code, self._type.char, self._type.string
        return self.of(made)

    Create_dup = Dup

    def Create_contiguous(self, count):
        """``count`` elements one behind the other."""
        _not_negative(count)
        layout = Layout.placed([(0, count, self.layout)])
        return self.of(Type(layout, Combiner.CONTIGUOUS, [self], [count], count=count))

    def _strided(self, count, blocklength, stride):
        _not_negative(count, blocklength)
        return Layout.placed([(index * stride, blocklength, self.layout) for index in range(count)])

    def Create_vector(self, count, blocklength, stride):
        """``count`` blocks of ``blocklength`` elements, ``stride`` elements from start to start."""
        numbers = {"count": count, "blocklength": blocklength, "stride": stride}
        layout = self._strided(count, blocklength, stride * self.extent)
        return self.of(Type(layout, Combiner.VECTOR, [self], numbers.values(), **numbers))

    def Create_hvector(self, count, blocklength, stride):
        """``count`` blocks of ``blocklength`` elements, ``stride`` bytes from start to start."""
        numbers = {"count": count, "blocklength": blocklength, "stride": stride}
        layout = self._strided(count, blocklength, stride)
        return self.of(Type(layout, Combiner.HVECTOR, [self], [count, blocklength], [stride], **numbers))

    def _blocks(self, blocklengths, displacements, unit):
        _not_negative(*blocklengths)
        return Layout.placed(
            [(at * unit, length, self.layout) for length, at in zip(blocklengths, displacements, strict=True)]
        )

    def Create_indexed(self, blocklengths, displacements):
        """Blocks of these numbers of elements, at these displacements in elements."""
        lengths = _counts(blocklengths)
        at = _counts(displacements, len(lengths))
        layout = self._blocks(lengths, at, self.extent)
        integers = [len(lengths), *lengths, *at]
        return self.of(Type(layout, Combiner.INDEXED, [self], integers, blocklengths=lengths, displacements=at))

    def Create_hindexed(self, blocklengths, displacements):
        """As ``Create_indexed``; displacements in bytes."""
        lengths = _counts(blocklengths)
        at = _counts(displacements, len(lengths))
        layout = self._blocks(lengths, at, 1)
        integers = [len(lengths), *lengths]
        return self.of(Type(layout, Combiner.HINDEXED, [self], integers, at, blocklengths=lengths, displacements=at))

    def Create_indexed_block(self, blocklength, displacements):
        """Blocks of ``blocklength`` elements each, at these displacements in elements."""
        at = _counts(displacements)
        layout = self._blocks([blocklength] * len(at), at, self.extent)
        integers = [len(at), blocklength, *at]
        return self.of(
            Type(layout, Combiner.INDEXED_BLOCK, [self], integers, blocklength=blocklength, displacements=at)
        )

    def Create_hindexed_block(self, blocklength, displacements):
        """As ``Create_indexed_block``; displacements in bytes."""
        at = _counts(displacements)
        layout = self._blocks([blocklength] * len(at), at, 1)
        integers = [len(at), blocklength]
        return self.of(
            Type(layout, Combiner.HINDEXED_BLOCK, [self], integers, at, blocklength=blocklength, displacements=at)
        )

    @classmethod
    def Create_struct(cls, blocklengths, displacements, datatypes):
        """Blocks of elements of these types, at these displacements in bytes. The end is padded as C pads a struct."""
        lengths = _counts(blocklengths)
        at = _counts(displacements, len(lengths))
        datatypes = list(datatypes)
        if len(datatypes) != len(lengths):
            raise ValueError(f"expecting {len(lengths)} items, got {len(datatypes)}")
        _not_negative(*lengths)
        parts = [(*part, each.layout) for *part, each in zip(at, lengths, datatypes, strict=True)]
        copies = [each if each.is_predefined else Datatype(each) for each in datatypes]
        given = {"blocklengths": lengths, "displacements": at, "datatypes": copies}
        layout = Layout.placed(parts, padded=True)
        return cls.of(Type(layout, Combiner.STRUCT, copies, [len(lengths), *lengths], at, **given))

    def Create_subarray(self, sizes, subsizes, starts, order=ORDER_C):
        """The part of an array of ``sizes`` that begins at ``starts`` and has ``subsizes`` elements, by dimension.

        Its extent is that of the whole array.
        """
        sizes = _counts(sizes)
        subsizes, starts = _counts(subsizes, len(sizes)), _counts(starts, len(sizes))
        for size, subsize, start in zip(sizes, subsizes, starts, strict=True):
            if not (0 < subsize <= size and 0 <= start <= size - subsize):
                raise Exception(ErrorClass.ERR_ARG, f"no {subsize} from {start} on in a dimension of {size}")
        if order not in (ORDER_C, ORDER_FORTRAN):
            raise Exception(ErrorClass.ERR_ARG, f"the order is ORDER_C or ORDER_FORTRAN, not {order}")
        given = {"sizes": sizes, "subsizes": subsizes, "starts": starts, "order": order}
        dimensions = list(zip(sizes, subsizes, starts, strict=True))
        if order == ORDER_FORTRAN:
            dimensions.reverse()
        strides = [self.extent * prod(size for size, _, _ in dimensions[index + 1 :]) for index in range(len(sizes))]
        *outer, (_, run, first) = dimensions
        parts = [
            (sum(map(int.__mul__, indices, strides[:-1])) + first * self.extent, run, self.layout)
            for indices in product(*(range(start, start + subsize) for _, subsize, start in outer))
        ]
        layout = Layout.placed(parts).resized(0, prod(sizes) * self.extent)
        integers = [len(sizes), *sizes, *subsizes, *starts, order]
        return self.of(Type(layout, Combiner.SUBARRAY, [self], integers, **given))

    def Create_darray(self, size, rank, gsizes, distribs, dargs, psizes, order=ORDER_C):
        """Distributed arrays are not provided."""
        raise NotImplementedError("Datatype.Create_darray")

    def Create_resized(self, lb, extent):
        """The same data with another lower bound and extent, in bytes."""
        layout = self.layout.resized(lb, extent)
        return self.of(Type(layout, Combiner.RESIZED, [self], addresses=[lb, extent], lb=lb, extent=extent))

    Resized = Create_resized

    @classmethod
    def fromcode(cls, code):
        """The predefined datatype of a letter or a type string. Raises ValueError if there is none."""
        try:
            return _of_code[code]
        except KeyError:
            raise ValueError(f"cannot map code {code!r} to MPI datatype") from None

    @classmethod
    def Get_value_index(cls, value, index):
        """The predefined pair of a value and an index of these datatypes; DATATYPE_NULL if there is none."""
        return _of_pair.get((value._type, index._type), DATATYPE_NULL)

    @classmethod
    def Match_size(cls, typeclass, size):
        """The datatype of Fortran of that class (a TYPECLASS constant) with ``size`` bytes.

        Raises Exception (ERR_ARG) if there is none.
        """
        try:
            return _of_size[typeclass, size]
        except KeyError:
            raise Exception(ErrorClass.ERR_ARG, f"there is no datatype of {size} bytes in class {typeclass}") from None

    @classmethod
    def Create_f90_integer(cls, r):
        """Datatypes by digits are not provided."""
        raise NotImplementedError("Datatype.Create_f90_integer")

    @classmethod
    def Create_f90_real(cls, p, r):
        """Datatypes by digits are not provided."""
        raise NotImplementedError("Datatype.Create_f90_real")

    @classmethod
    def Create_f90_complex(cls, p, r):
        """Datatypes by digits are not provided."""
        raise NotImplementedError("Datatype.Create_f90_complex")

    # -- use -----------------------------------------------------------------------------------------
    def Commit(self):
        """Makes the datatype ready for messages. Here it is ready from the start."""
        return self if self._type else None

    def Free(self):
        """Frees the datatype; the handle is null then."""
        if self._type.combiner == Combiner.NAMED:
            raise Exception(ErrorClass.ERR_TYPE, "a predefined datatype cannot be freed")
        self.target = None

    def Get_envelope(self):
        """Numbers of integers, addresses, counts and datatypes that made it, and its combiner."""
        kind = self._type
        return len(kind.integers), len(kind.addresses), 0, len(kind.old), int(kind.combiner)

    def Get_contents(self):
        """Integers, addresses, counts and datatypes that made it. Raises Exception (ERR_TYPE) if it is predefined."""
        kind = self._type
        if kind.combiner == Combiner.NAMED:
            raise Exception(ErrorClass.ERR_TYPE, "a predefined datatype has no contents")
        return list(kind.integers), list(kind.addresses), [], list(kind.old)

    def decode(self):
        """What it was made of: the old datatype, the name of the combiner and a dict of its arguments."""
        kind = self._type
        if kind.combiner == Combiner.NAMED:
            return self, "NAMED", {}
        old = DATATYPE_NULL if kind.combiner == Combiner.STRUCT else kind.old[0]
        return old, kind.combiner.name, dict(kind.parameters)

    envelope = property(Get_envelope)
    contents = property(Get_contents)
    combiner = property(lambda self: int(self._type.combiner))
    is_named = property(lambda self: self._type.combiner == Combiner.NAMED)
    is_predefined = property(lambda self: self.target is None or self.is_named)

    def __reduce__(self):
        if self.constant or self.is_predefined:
            return super().__reduce__()
        old, combiner, parameters = self.decode()
        return _made_again, (type(self), old, combiner, parameters)

    # -- names ---------------------------------------------------------------------------------------
    def Get_name(self):
        """The name."""
        return "MPI_DATATYPE_NULL" if self.target is None else self.target.name

    def Set_name(self, name):
        """Gives the datatype a name."""
        self._type.name = name[: MAX_OBJECT_NAME - 1]

    name = property(Get_name, Set_name)

    def tocode(self):
        """The letter or type string of a predefined datatype. Raises ValueError if it has none."""
        if self.target is None or self.target.code is None:
            raise ValueError("cannot map to character code or type string")
        return self.target.code

    @property
    def typechar(self):
        """The letter of a predefined datatype; V if it has none."""
        return "" if self.target is None else self.target.char or "V"

    @property
    def typestr(self):
        """The type string of a predefined datatype; V and the extent if it has none."""
        return "" if self.target is None else self.target.string or f"V{self.extent}"


def _made_again(cls, old, combiner, parameters):
    constructor = "Create_" + combiner.lower()
    return getattr(cls if combiner == "STRUCT" else old, constructor)(**parameters)


def datatype_of_code(code):
    """The predefined Datatype of a letter or type string, as buffers and programs have them.

    Raises
    ------
    KeyError
        If there is none.
    """
    try:
        return _of_code[code]
    except KeyError:
        raise KeyError(f"cannot map {code!r} to MPI datatype") from None


def name_codes(codes):
    """Adds ``codes``, code -> Datatype."""
    _of_code.update(codes)


def name_families(pairs, sizes):
    """Adds ``pairs``, (Type of value, Type of index) -> Datatype, and ``sizes``, (class, bytes) -> Datatype."""
    _of_pair.update(pairs)
    _of_size.update(sizes)


_PACKING = ("Pack", "Unpack", "Pack_size", "Pack_external", "Unpack_external", "Pack_external_size")
_ATTRIBUTES = ("Get_attr", "Set_attr", "Delete_attr")
name_absent(Datatype, (*_PACKING, *_ATTRIBUTES), ("Create_keyval", "Free_keyval"))

DATATYPE_NULL = Datatype.nothing = Datatype.constant_of("DATATYPE_NULL", None)
