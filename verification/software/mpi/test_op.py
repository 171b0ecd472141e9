"""Operations of reductions: on objects, on packed numbers with and without NumPy, and those of a program."""

import pickle
import struct
import subprocess
import sys

import hypothesis.strategies as st
import numpy
import pytest
from hypothesis import given

from nectar.software.arithmetic import ARITHMETIC as ARITHMETIC_UNIT
from nectar.software.mpi.datatype import Datatype
from nectar.software.mpi.exception import ErrorClass, Exception
from nectar.software.mpi.numbers import combine_numbers, combine_pairs
from nectar.software.mpi.op import OP_NULL, OPERATIONS, Op
from nectar.software.mpi.predefined import DATATYPES
from nectar.verification.properties import properties
from nectar.verification.software.mpi.combining import PAGE, written
from nectar.verification.software.mpi.ranks import Ranks

SUM, LAND, BAND, MAXLOC = (OPERATIONS[name] for name in ("SUM", "LAND", "BAND", "MAXLOC"))
ARITHMETIC = ["MAX", "MIN", "SUM", "PROD"]
LOGIC = ["LAND", "LOR", "LXOR", "BAND", "BOR", "BXOR"]


@pytest.mark.parametrize("name", ARITHMETIC + LOGIC)
def test_an_operation_combines_objects(name):
    expected = {
        "MAX": 5,
        "MIN": 3,
        "SUM": 8,
        "PROD": 15,
        "LAND": True,
        "LOR": True,
        "LXOR": False,
        "BAND": 1,
        "BOR": 7,
        "BXOR": 6,
    }[name]
    assert OPERATIONS[name](3, 5) == expected


@pytest.fixture
def without_numpy(monkeypatch):
    monkeypatch.delitem(sys.modules, "numpy")


NUMBERS = {
    **{letter: st.integers(0, 2 ** (8 * struct.calcsize(letter)) - 1) for letter in "BHILQ"},
    **{
        letter: st.integers(-(2 ** (8 * struct.calcsize(letter) - 1)), 2 ** (8 * struct.calcsize(letter) - 1) - 1)
        for letter in "bhilq"
    },
    "f": st.floats(width=32),
    "e": st.floats(width=16),
    "d": st.floats(),
}
CASES = st.sampled_from(sorted(NUMBERS)).flatmap(
    lambda letter: st.tuples(
        st.sampled_from(ARITHMETIC + (LOGIC if letter not in "fed" else [])),
        st.just(letter),
        st.lists(st.tuples(NUMBERS[letter], NUMBERS[letter]), max_size=6),
    )
)


def same(letter, one, other):
    """Equal numbers; of what is no number, its sign and its other bits do not matter."""
    return numpy.array_equal(numpy.frombuffer(one, letter), numpy.frombuffer(other, letter), equal_nan=letter in "fed")


@properties(max_examples=300)
@given(CASES)
def test_python_and_numpy_give_the_same_numbers(case):
    name, letter, pairs = case
    one, other = (
        struct.pack(f"{len(pairs)}{letter}", *side) for side in (zip(*pairs, strict=True) if pairs else ((), ()))
    )
    by_numpy = combine_numbers(name, letter, one, other)
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(sys.modules, "numpy")
        plain = combine_numbers(name, letter, one, other)
    assert same(letter, by_numpy, plain)


def test_complex_numbers_and_pairs_are_the_same_too(without_numpy):
    numbers = struct.pack("4d", 1, 2, -3, 0.5)
    plain = [combine_numbers(name, "D", numbers, numbers[16:] + numbers[:16]) for name in ("SUM", "PROD")]
    pairs = struct.pack("=hihihi", 4, 9, 5, 0, -1, 3), struct.pack("=hihihi", 4, 2, 6, 1, -2, 4)
    located = [combine_pairs(name, "hi", *pairs) for name in ("MAXLOC", "MINLOC")]
    sys.modules["numpy"] = numpy
    assert [combine_numbers(name, "D", numbers, numbers[16:] + numbers[:16]) for name in ("SUM", "PROD")] == plain
    assert [combine_pairs(name, "hi", *pairs) for name in ("MAXLOC", "MINLOC")] == located
    assert struct.unpack("=hihihi", located[0]) == (4, 2, 6, 1, -1, 3)
    assert struct.unpack("=hihihi", located[1]) == (4, 2, 5, 0, -2, 4)


def test_no_file_loads_numpy_by_itself():
    """A program without NumPy does not pay for it, and need not have it."""
    code = (
        "import sys; from nectar.software.mpi import collectives, topologies, prefixes; print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("op", "datatype", "text"),
    [
        (SUM, "CHAR", "MPI_SUM is not for MPI_CHAR"),
        (SUM, "C_BOOL", "MPI_SUM is not for MPI_C_BOOL"),
        (SUM, "BYTE", "MPI_SUM is not for MPI_BYTE"),
        (SUM, "FLOAT_INT", "MPI_SUM is not for MPI_FLOAT_INT"),
        (LAND, "DOUBLE", "MPI_LAND is not for MPI_DOUBLE"),
        (BAND, "C_BOOL", "MPI_BAND is not for MPI_C_BOOL"),
        (MAXLOC, "INT", "MPI_MAXLOC is not for MPI_INT"),
        (OPERATIONS["MAX"], "C_COMPLEX", "MPI_MAX is not for MPI_C_COMPLEX"),
    ],
)
def test_an_operation_is_not_for_every_datatype(op, datatype, text):
    with pytest.raises(Exception, match=text) as caught:
        op.combination(DATATYPES[datatype])
    assert caught.value.Get_error_class() == ErrorClass.ERR_OP
    with pytest.raises(Exception, match="MPI_SUM is not for a derived datatype"):
        SUM.combination(DATATYPES["INT"].Create_contiguous(2))


def test_an_operation_of_the_program_gets_elements_as_they_lie_in_memory():
    """The lower rank's come first; gaps are there, too."""
    seen = []

    def subtract(inbuf, inoutbuf, datatype):
        seen.append((len(inbuf), datatype))
        first, second = (memoryview(side).cast("i") for side in (inbuf, inoutbuf))
        for index in range(0, len(first), 2):
            second[index] = first[index] - second[index]

    op = Op.Create(subtract)
    spaced = DATATYPES["INT"].Create_resized(0, 8)
    result = op.combination(spaced)(struct.pack("2i", 10, 20), struct.pack("2i", 1, 2))
    assert struct.unpack("2i", result) == (9, 18)
    assert seen == [(16, spaced)]
    assert not op.Is_commutative() and not op.is_predefined and SUM.Is_commutative()
    op.Free()
    assert op == OP_NULL


def test_an_operation_of_the_program_can_be_pickled():
    op = Op.Create(struct.pack, commute=True)
    again = pickle.loads(pickle.dumps(op)) if "mpi4py.MPI" in sys.modules else Op.Create(*op.__reduce__()[1])
    assert again != op and again.Is_commutative()
    with pytest.raises(ValueError, match="cannot pickle"):
        Op.fromhandle(op.handle).__reduce__()
    op.Free()
    again.Free()


def test_a_process_has_32_operations_of_its_own_at_most():
    made = [Op.Create(max) for _ in range(32)]  # others have freed theirs
    with pytest.raises(RuntimeError, match="32 at a time"):
        Op.Create(max)
    for op in made:
        op.Free()


def test_null_and_predefined_operations():
    with pytest.raises(ValueError, match="null"):
        OP_NULL(1, 2)
    for call in (SUM.Free, OP_NULL.Is_commutative):
        with pytest.raises(Exception) as caught:
            call()
        assert caught.value.Get_error_class() == ErrorClass.ERR_OP
    SUM.free()
    copy = Op(SUM)
    copy.free()
    assert SUM and not copy


def test_long_double_needs_numpy(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(NotImplementedError, match="long double need NumPy"):
        combine_numbers("SUM", "g", bytes(16), bytes(16))


def test_reduce_local_leaves_the_result_in_the_second_buffer():
    one, other = bytearray(b"\1\2"), bytearray(b"\3\4")
    BAND.Reduce_local([one, "B"], [other, "B"])
    assert (one, other) == (b"\1\2", b"\1\0")
    with pytest.raises(ValueError, match="mismatch in send count 1 and receive count 2"):
        SUM.Reduce_local([one, 1], [other, 2])
    with pytest.raises(ValueError, match="mismatch in send and receive MPI datatypes"):
        SUM.Reduce_local([one, Datatype.fromcode("b")], [other, "B"])


def test_the_page_has_the_cycles_of_each_combination():
    text = PAGE.read_text()
    assert written(text) == text, "run python -m nectar.verification.software.mpi.combining"


def test_a_combination_is_charged_by_operation_and_type():
    """Two loads, the operation, a store, and the loop of four additions and a branch, out of the table of computing."""
    table, double, long = ARITHMETIC_UNIT, DATATYPES["DOUBLE"], DATATYPES["INT"]
    loop = 4 * table.add + table.branch
    moved = 2 * table.load_double + table.store_double
    assert SUM.work(double).cycles == loop + moved + table.float_add
    assert OPERATIONS["PROD"].work(long).cycles == loop + 2 * table.load + table.store + table.multiply
    assert MAXLOC.work(DATATYPES["DOUBLE_INT"]).cycles > OPERATIONS["MAX"].work(double).cycles
    assert LAND.work(DATATYPES["C_BOOL"]).cycles > BAND.work(DATATYPES["BYTE"]).cycles
    assert OPERATIONS["REPLACE"].work(double).cycles == OPERATIONS["NO_OP"].work(double).cycles == 0
    assert Op.Create(lambda one, other, datatype: None).work(double).cycles == 0


def test_a_reduction_charges_each_pair_of_numbers():
    def sums(comm):
        result = bytearray(80)
        comm.Allreduce([bytes(80), DATATYPES["DOUBLE"]], [result, DATATYPES["DOUBLE"]])

    world = Ranks(2)
    world.run(sums)
    assert world.charged == 2 * 10 * SUM.work(DATATYPES["DOUBLE"]).cycles
