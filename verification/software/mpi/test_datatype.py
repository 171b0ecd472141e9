"""Datatypes: sizes, bounds, order of the packed bytes, and how a datatype tells how it was made (MPI 4.1, ch. 5)."""

import pickle
from array import array

import hypothesis.strategies as st
import pytest
from hypothesis import given

from nectar.software.mpi.buffers import block
from nectar.software.mpi.constants import ORDER_C, ORDER_FORTRAN, TYPECLASS_REAL
from nectar.software.mpi.datatype import DATATYPE_NULL, Datatype
from nectar.software.mpi.exception import ErrorClass, Exception
from nectar.software.mpi.predefined import DATATYPES
from nectar.verification.properties import properties

INT, DOUBLE, CHAR, BYTE = (DATATYPES[name] for name in ("INT", "DOUBLE", "CHAR", "BYTE"))


def taken(datatype, count=1, length=40):
    """Which bytes of a buffer 0, 1, 2, … the elements are, in the order in which they are packed."""
    return list(block([bytes(range(length)), count, datatype]).pack())


def test_predefined_types_have_the_sizes_of_the_c_compiler():
    assert [DATATYPES[name].Get_size() for name in ("CHAR", "SHORT", "INT", "LONG_LONG", "FLOAT", "DOUBLE")] == [
        1,
        2,
        4,
        8,
        4,
        8,
    ]
    for name, datatype in DATATYPES.items():
        if datatype and not datatype.pair:
            assert datatype.Get_extent() == datatype.Get_true_extent() == (0, datatype.size), name
            assert Datatype.fromcode(datatype.tocode()).typestr == datatype.typestr, name


def test_pairs_lie_as_a_c_struct_and_are_packed_without_gaps():
    short = DATATYPES["SHORT_INT"]
    assert (short.size, short.extent) == (6, 8)
    assert taken(short, 2) == [0, 1, 4, 5, 6, 7, 8, 9, 12, 13, 14, 15]
    assert Datatype.Get_value_index(DOUBLE, INT) == DATATYPES["DOUBLE_INT"]
    assert Datatype.Get_value_index(DOUBLE, DOUBLE) == DATATYPE_NULL


@pytest.mark.parametrize(
    ("make", "bytes_of_one", "bounds"),
    [
        (lambda: CHAR.Create_contiguous(3), [0, 1, 2], (0, 3)),
        (lambda: CHAR.Create_vector(2, 2, 3), [0, 1, 3, 4], (0, 5)),
        (lambda: CHAR.Create_vector(2, 1, -2), [0, -2], (-2, 3)),
        (lambda: INT.Create_hvector(2, 1, 6), [*range(4), *range(6, 10)], (0, 10)),
        (lambda: CHAR.Create_indexed([2, 1], [4, 0]), [4, 5, 0], (0, 6)),
        (lambda: CHAR.Create_indexed_block(2, [3, 0]), [3, 4, 0, 1], (0, 5)),
        (lambda: INT.Create_hindexed([1, 1], [5, 0]), [5, 6, 7, 8, 0, 1, 2, 3], (0, 9)),
        (lambda: INT.Create_hindexed_block(1, [6]), [6, 7, 8, 9], (6, 4)),
        (lambda: Datatype.Create_struct([1, 1], [0, 8], [CHAR, DOUBLE]), [0, *range(8, 16)], (0, 16)),
        (lambda: Datatype.Create_struct([1, 1], [0, 8], [DOUBLE, CHAR]), [*range(8), 8], (0, 16)),
        (lambda: CHAR.Create_resized(-1, 4), [0], (-1, 4)),
        (lambda: CHAR.Create_resized(0, 3).Create_contiguous(2), [0, 3], (0, 6)),
        (lambda: CHAR.Create_subarray([3, 4], [2, 2], [1, 1]), [5, 6, 9, 10], (0, 12)),
        (lambda: CHAR.Create_subarray([3, 4], [2, 2], [1, 1], ORDER_FORTRAN), [4, 5, 7, 8], (0, 12)),
        (lambda: CHAR.Create_vector(0, 1, 1), [], (0, 0)),
    ],
)
def test_a_derived_type_takes_these_bytes_and_has_these_bounds(make, bytes_of_one, bounds):
    datatype = make()
    assert datatype.Get_extent() == bounds
    assert datatype.size == len(bytes_of_one)
    room = bytes(range(60))
    got = datatype.layout.pack(room, 10, 2)
    assert list(got) == [10 + element * bounds[1] + at for element in range(2) for at in bytes_of_one]
    target = bytearray(60)
    datatype.layout.unpack(target, 10, 2, got)
    assert bytes(target[at] for at in got) == got


DERIVED = st.recursive(
    st.sampled_from([CHAR, INT, DATATYPES["SHORT"], DATATYPES["DOUBLE_INT"]]),
    lambda inner: st.one_of(
        st.builds(Datatype.Create_contiguous, inner, st.integers(0, 3)),
        st.builds(Datatype.Create_vector, inner, st.integers(0, 3), st.integers(0, 3), st.integers(-3, 4)),
        st.builds(Datatype.Create_indexed_block, inner, st.integers(0, 2), st.lists(st.integers(0, 9), max_size=3)),
        st.builds(Datatype.Create_resized, inner, st.integers(-4, 4), st.integers(1, 40)),
    ),
    max_leaves=3,
)


@properties(max_examples=150)
@given(DERIVED, st.integers(0, 3))
def test_what_was_packed_and_unpacked_packs_to_the_same(datatype, count):
    layout = datatype.layout
    first, last = layout.span(count)
    base = max(0, -first)
    room = bytes((index * 37 + 11) & 255 for index in range(base + max(0, last)))
    packed = layout.pack(room, base, count)
    assert len(packed) == count * datatype.size
    assert layout.items(len(packed)) is not None
    assert layout.nbytes(layout.items(len(packed))) == len(packed)
    target = bytearray(len(room))
    layout.unpack(target, base, count, packed)
    copy = memoryview(bytes(target))
    assert layout.pack(copy, base, count) == packed or len(set(placed(layout, count))) < len(packed)


def placed(layout, count):
    """The places of the packed bytes: an element may take a byte twice."""
    return [
        element * layout.extent + at + offset
        for element in range(count)
        for at, unit, items in layout.blocks
        for offset in range(unit * items)
    ]


def test_a_datatype_tells_how_it_was_made_and_can_be_pickled():
    vector = INT.Create_vector(3, 2, 5)
    old, combiner, arguments = vector.decode()
    assert (old, combiner, arguments) == (INT, "VECTOR", {"count": 3, "blocklength": 2, "stride": 5})
    assert vector.Get_contents() == ([3, 2, 5], [], [], [INT])
    struct = Datatype.Create_struct([1, 2], [0, 64], [vector, DOUBLE])
    again = pickle.loads(pickle.dumps(struct)) if "mpi4py" in __import__("sys").modules else struct.Dup()
    assert (again.size, again.extent) == (struct.size, struct.extent)
    assert struct.Get_envelope() == (3, 2, 0, 2, struct.combiner)
    assert INT.is_named and not vector.is_predefined


def test_handles_are_equal_that_stand_for_the_same():
    again = Datatype(INT)
    assert again == INT and again is not INT and INT != DOUBLE and INT != 5
    assert not DATATYPE_NULL and Datatype() == DATATYPE_NULL
    derived = INT.Dup()
    assert derived != INT
    derived.Free()
    assert derived == DATATYPE_NULL
    with pytest.raises(TypeError, match="Datatype is made of a Datatype, not of int"):
        Datatype(3)
    with pytest.raises(TypeError):
        hash(INT)


def test_wrong_datatypes_are_refused():
    for call, error in [
        (DATATYPE_NULL.Get_size, ErrorClass.ERR_TYPE),
        (INT.Free, ErrorClass.ERR_TYPE),
        (lambda: INT.Create_contiguous(-1), ErrorClass.ERR_ARG),
        (lambda: CHAR.Create_subarray([3], [4], [0], ORDER_C), ErrorClass.ERR_ARG),
        (lambda: Datatype.Match_size(TYPECLASS_REAL, 3), ErrorClass.ERR_ARG),
    ]:
        with pytest.raises(Exception) as caught:
            call()
        assert caught.value.Get_error_class() == error
    with pytest.raises(ValueError, match="expecting 1 items, got 2"):
        Datatype.Create_struct([1], [0], [INT, DOUBLE])
    with pytest.raises(ValueError, match="cannot map code 'abc' to MPI datatype"):
        Datatype.fromcode("abc")
    with pytest.raises(NotImplementedError, match="Datatype.Create_darray"):
        INT.Create_darray(1, 0, [1], [0], [0], [1])


def test_a_part_of_an_element_may_come():
    vector = CHAR.Create_vector(2, 1, 2)
    room = array("b", [9] * 6)
    block([room, 2, vector], writable=True).unpack(b"\1\2\3")
    assert list(room) == [1, 9, 2, 3, 9, 9]
    assert DATATYPES["SHORT_INT"].layout.items(9) is None
    assert DATATYPES["SHORT_INT"].layout.items(8) == 3
