"""The predefined datatypes, and the letters and type strings under which buffers and programs name them.

Sizes are those of the C compiler of the machine that runs the simulation. Types that it does not have (integers and
logicals of 16 bytes, reals of 2 and 16 bytes of Fortran) are DATATYPE_NULL, as the standard says.
"""

import ctypes
from struct import calcsize

from .constants import TYPECLASS_COMPLEX, TYPECLASS_INTEGER, TYPECLASS_LOGICAL, TYPECLASS_REAL
from .datatype import DATATYPE_NULL, Datatype, Type, name_codes, name_families
from .layout import Layout

__all__ = ["DATATYPES", "item_size"]

_LONG_DOUBLE = ctypes.sizeof(ctypes.c_longdouble)
_LETTERS = {"g": _LONG_DOUBLE, "F": 8, "D": 16, "G": 2 * _LONG_DOUBLE, "E": 4, "p": calcsize("P")}
_LETTERS |= {"c": 1, "U": ctypes.sizeof(ctypes.c_wchar)}
_KINDS = {"?": "b", "c": "S", "U": "U"}
_KINDS |= dict.fromkeys("bhilqp", "i") | dict.fromkeys("BHILQ", "u")
_KINDS |= dict.fromkeys("efdg", "f") | dict.fromkeys("EFDG", "c")


def item_size(letter):
    """Bytes of a number with this letter."""
    return _LETTERS.get(letter) or calcsize(letter)


def _string(letter):
    kind = _KINDS[letter]
    return f"{kind}1" if kind in "SU" else f"{kind}{item_size(letter)}"


#: Name -> letter. Types whose code is a type string follow.
_BY_LETTER = {
    "PACKED": "B",
    "BYTE": "B",
    "AINT": "p",
    "OFFSET": "p",
    "COUNT": "p",
    "CHAR": "c",
    "WCHAR": "U",
    "SIGNED_CHAR": "b",
    "SHORT": "h",
    "INT": "i",
    "LONG": "l",
    "LONG_LONG": "q",
    "UNSIGNED_CHAR": "B",
    "UNSIGNED_SHORT": "H",
    "UNSIGNED": "I",
    "UNSIGNED_LONG": "L",
    "UNSIGNED_LONG_LONG": "Q",
    "FLOAT": "f",
    "DOUBLE": "d",
    "LONG_DOUBLE": "g",
    "FLOAT16_T": "e",
    "C_COMPLEX": "F",
    "C_DOUBLE_COMPLEX": "D",
    "C_LONG_DOUBLE_COMPLEX": "G",
    "CXX_BOOL": "?",
    "CXX_FLOAT_COMPLEX": "F",
    "CXX_DOUBLE_COMPLEX": "D",
    "CXX_LONG_DOUBLE_COMPLEX": "G",
    "CHARACTER": "c",
    "LOGICAL": "i",
    "INTEGER": "i",
    "REAL": "f",
    "DOUBLE_PRECISION": "d",
    "COMPLEX": "F",
    "DOUBLE_COMPLEX": "D",
}
_BY_STRING = {
    "C_BOOL": "?",
    "INT8_T": "b",
    "INT16_T": "h",
    "INT32_T": "i",
    "INT64_T": "l",
    "UINT8_T": "B",
    "UINT16_T": "H",
    "UINT32_T": "I",
    "UINT64_T": "L",
    "LOGICAL1": "?",
    "LOGICAL2": "h",
    "LOGICAL4": "i",
    "LOGICAL8": "l",
    "INTEGER1": "b",
    "INTEGER2": "h",
    "INTEGER4": "i",
    "INTEGER8": "l",
    "REAL4": "f",
    "REAL8": "d",
    "COMPLEX8": "F",
    "COMPLEX16": "D",
}
_LOGICALS = ("C_BOOL", "CXX_BOOL", "LOGICAL", "LOGICAL1", "LOGICAL2", "LOGICAL4", "LOGICAL8")
_ABSENT = ("LOGICAL16", "INTEGER16", "REAL2", "REAL16", "COMPLEX4", "COMPLEX32", "BFLOAT16_T")
_PAIRS = {"SHORT": "h", "LONG": "l", "FLOAT": "f", "DOUBLE": "d", "LONG_DOUBLE": "g", "INT": "i"}
_ALIASES = {
    "FLOAT32_T": "FLOAT",
    "FLOAT64_T": "DOUBLE",
    "C_FLOAT_COMPLEX": "C_COMPLEX",
    "UNSIGNED_INT": "UNSIGNED",
    "SIGNED_SHORT": "SHORT",
    "SIGNED_INT": "INT",
    "SIGNED_LONG": "LONG",
    "SIGNED_LONG_LONG": "LONG_LONG",
    "BOOL": "C_BOOL",
    "SINT8_T": "INT8_T",
    "SINT16_T": "INT16_T",
    "SINT32_T": "INT32_T",
    "SINT64_T": "INT64_T",
    "F_BOOL": "LOGICAL",
    "F_INT": "INTEGER",
    "F_FLOAT": "REAL",
    "F_DOUBLE": "DOUBLE_PRECISION",
    "F_COMPLEX": "COMPLEX",
    "F_FLOAT_COMPLEX": "COMPLEX",
    "F_DOUBLE_COMPLEX": "DOUBLE_COMPLEX",
    "TWOINT": "INT_INT",
}

#: Name in the module MPI -> Datatype.
DATATYPES = {"DATATYPE_NULL": DATATYPE_NULL} | dict.fromkeys(_ABSENT, DATATYPE_NULL)


def _named(name, layout):
    kind = Type(layout)
    kind.name = f"MPI_{name}"
    DATATYPES[name] = Datatype.constant_of(name, kind)
    return kind


for _name, _letter in (_BY_LETTER | _BY_STRING).items():
    _size = item_size(_letter)
    _kind = _named(_name, Layout.basic(_size, _size // 2 if _letter in "FDG" else _size))
    _kind.char, _kind.string = _letter, _string(_letter)
    _kind.code = _kind.string if _name in _BY_STRING else _letter
    _kind.logical = _name in _LOGICALS

for _name, _letter in _PAIRS.items():
    _value, _index = item_size(_letter), item_size("i")
    _at = max(_value, _index)
    _parts = [(0, 1, Layout.basic(_value, _value)), (_at, 1, Layout.basic(_index, _index))]
    _kind = _named(f"{_name}_INT", Layout.placed(_parts, padded=True))
    _kind.name = "MPI_2INT" if _name == "INT" else f"MPI_{_name}_INT"
    _kind.pair = _letter, "i"

DATATYPES |= {alias: DATATYPES[name] for alias, name in _ALIASES.items()}


def _codes():
    """Letter or type string -> name."""
    yield from (("n", "COUNT"), ("N", "UNSIGNED_LONG"), ("p", "AINT"), ("P", "UNSIGNED_LONG"))
    yield from ((code, "CHAR") for code in ("c", "a", "S", "S1", "s", "1s"))
    yield from ((code, "WCHAR") for code in ("U", "U1", "w", "1w"))
    yield from ((code, "UINT16_T") for code in ("u", "1u"))
    yield from ((code, "INT64_T") for code in ("M", "M8", "m", "m8"))
    yield from (("Zf", "C_COMPLEX"), ("Zd", "C_DOUBLE_COMPLEX"), ("Zg", "C_LONG_DOUBLE_COMPLEX"))
    yield from (("?", "C_BOOL"), ("b1", "C_BOOL"), ("e", "FLOAT16_T"), ("f2", "FLOAT16_T"))
    numbers = "b SIGNED_CHAR h SHORT i INT q LONG_LONG l LONG f FLOAT d DOUBLE g LONG_DOUBLE F C_COMPLEX"
    numbers += " B UNSIGNED_CHAR H UNSIGNED_SHORT I UNSIGNED Q UNSIGNED_LONG_LONG L UNSIGNED_LONG"
    words = (numbers + " D C_DOUBLE_COMPLEX G C_LONG_DOUBLE_COMPLEX").split()
    for letter, name in zip(words[::2], words[1::2], strict=True):
        yield letter, name
        yield _string(letter), name
    for size in (1, 2, 4, 8):
        yield f"i{size}", f"INT{8 * size}_T"
        yield f"u{size}", f"UINT{8 * size}_T"


name_codes({code: DATATYPES[name] for code, name in _codes()})


_CLASSES = {
    "INTEGER": TYPECLASS_INTEGER,
    "LOGICAL": TYPECLASS_LOGICAL,
    "REAL": TYPECLASS_REAL,
    "COMPLEX": TYPECLASS_COMPLEX,
}
name_families(
    {(DATATYPES[name].target, DATATYPES["INT"].target): DATATYPES[f"{name}_INT"] for name in _PAIRS},
    {
        (number, size): DATATYPES[f"{name}{size}"]
        for name, number in _CLASSES.items()
        for size in (1, 2, 4, 8, 16)
        if f"{name}{size}" in _BY_STRING
    },
)
