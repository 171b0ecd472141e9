"""Numbers combined one by one, as reductions do with the bytes of two processes.

NumPy does it if the program has loaded it; else Python does, with the same results. Only ``long double`` needs NumPy.
"""

import operator
import sys
from struct import Struct, calcsize, pack, unpack

__all__ = ["combine_numbers", "combine_pairs"]


def _larger(one, other):
    return other if other > one else one


def _smaller(one, other):
    return other if other < one else one


def _both(one, other):
    return bool(one) and bool(other)


def _either(one, other):
    return bool(one) or bool(other)


def _one(one, other):
    return bool(one) is not bool(other)


_PLAIN = {
    "MAX": _larger,
    "MIN": _smaller,
    "SUM": operator.add,
    "PROD": operator.mul,
    "LAND": _both,
    "LOR": _either,
    "LXOR": _one,
    "BAND": operator.and_,
    "BOR": operator.or_,
    "BXOR": operator.xor,
}
_ORDER = {"MAX": operator.gt, "MIN": operator.lt, "MAXLOC": operator.gt, "MINLOC": operator.lt}


def _numpy(letter):
    """NumPy, if the program has loaded it or if there is no other way; None."""
    if letter in "gG" and not sys.modules.get("numpy"):
        try:
            import numpy  # noqa: F401 - found in sys.modules below
        except ImportError:
            raise NotImplementedError("numbers of type long double need NumPy") from None
    return sys.modules.get("numpy")


def _of_arrays(numpy, name, one, other):
    if name in _ORDER:
        return numpy.where(_ORDER[name](other, one), other, one)
    if name in ("LAND", "LOR", "LXOR"):
        one, other = one != 0, other != 0
        name = "B" + name[1:]
    with numpy.errstate(all="ignore"):
        return _PLAIN[name](one, other)


def _integer(letter):
    """The format of ``struct`` for a letter, its bits, and whether it is signed; None for no integer."""
    letter = {"p": "q" if calcsize("P") == 8 else "i"}.get(letter, letter)
    return (letter, 8 * calcsize(letter), letter.islower()) if letter in "bhilqBHILQ" else None


def _wrapped(values, bits, signed):
    """Integers without their carries beyond ``bits``."""
    low = -(1 << bits - 1) if signed else 0
    return [(value - low) % (1 << bits) + low for value in values]


def combine_numbers(name, letter, one, other):
    """The bytes of the numbers of ``one`` and ``other``, combined in pairs.

    ``name``: MAX, MIN, SUM, PROD, LAND, LOR, LXOR, BAND, BOR or BXOR. ``letter``: of the numbers' type, as of
    ``struct`` or NumPy. Integers lose their carries.

    Raises
    ------
    NotImplementedError
        For long double without NumPy.
    """
    numpy = _numpy(letter)
    if numpy:
        one, other = numpy.frombuffer(one, letter), numpy.frombuffer(other, letter)
        return _of_arrays(numpy, name, one, other).astype(letter).tobytes()
    if letter in "FD":
        form = f"={2 * len(one) // {'F': 8, 'D': 16}[letter]}{letter.lower()}"
        one, other = unpack(form, one), unpack(form, other)
        pairs = zip(map(complex, one[::2], one[1::2]), map(complex, other[::2], other[1::2]), strict=True)
        values = [_PLAIN[name](first, second) for first, second in pairs]
        return pack(form, *(part for value in values for part in (value.real, value.imag)))
    integer = _integer(letter)
    letter = integer[0] if integer else letter
    form = Struct(f"{len(one) // calcsize(letter)}{letter}")
    values = list(map(_PLAIN[name], form.unpack(one), form.unpack(other)))
    if integer:
        values = _wrapped(values, *integer[1:])
    elif letter in "ef":
        values = _within(letter, values)
    return form.pack(*values)


def _within(letter, values):
    """Floating-point numbers, those beyond the range of their type as infinite."""
    largest = {"e": 65520.0, "f": float.fromhex("0x1.ffffffp+127")}[letter]
    return [value if abs(value) < largest or value != value else value * float("inf") for value in values]


def combine_pairs(name, letters, one, other):
    """As ``combine_numbers``, of pairs of value and index. ``name``: MAXLOC or MINLOC.

    The pair with the larger (smaller) value wins; of two equal values, the one with the smaller index.
    """
    letter, index = letters
    before = _ORDER[name]
    numpy = _numpy(letter)
    if numpy:
        form = numpy.dtype([("value", letter), ("index", index)])
        one, other = numpy.frombuffer(one, form), numpy.frombuffer(other, form)
        equal = (one["value"] == other["value"]) & (other["index"] < one["index"])
        return numpy.where(before(other["value"], one["value"]) | equal, other, one).tobytes()
    form = (
        Struct(f"={letter}{index}") if letter != "l" else Struct(f"=q{index}" if calcsize("l") == 8 else f"=i{index}")
    )
    result = [
        second if before(second[0], first[0]) or second[0] == first[0] and second[1] < first[1] else first
        for first, second in zip(form.iter_unpack(one), form.iter_unpack(other), strict=True)
    ]
    return b"".join(form.pack(*pair) for pair in result)
