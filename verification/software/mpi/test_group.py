"""Groups, infos and errors: what mpi4py's objects of these names do (MPI 4.1, ch. 7, 9 and 10)."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from nectar.software.mpi import caller, exception
from nectar.software.mpi.constants import IDENT, PROC_NULL, SIMILAR, UNDEFINED, UNEQUAL
from nectar.software.mpi.exception import ErrorClass, Exception
from nectar.software.mpi.group import GROUP_EMPTY, GROUP_NULL, Group
from nectar.software.mpi.info import INFO_ENV, INFO_NULL, Info
from nectar.verification.properties import properties

PROCESSES = st.lists(st.integers(0, 9), unique=True)


@properties(max_examples=100)
@given(PROCESSES, PROCESSES)
def test_sets_of_processes_keep_the_order_that_the_standard_says(one, other):
    first, second = Group.of_processes(one), Group.of_processes(other)
    assert list(Group.Union(first, second).processes) == one + [each for each in other if each not in one]
    assert list(Group.Intersection(first, second).processes) == [each for each in one if each in other]
    assert list(Group.Difference(first, second).processes) == [each for each in one if each not in other]
    expected = IDENT if one == other else SIMILAR if set(one) == set(other) else UNEQUAL
    assert first.Compare(second) == expected
    assert first.Translate_ranks(None, second) == [other.index(each) if each in other else UNDEFINED for each in one]
    assert first.Translate_ranks() == one


def test_groups_are_made_of_ranks_and_ranges_of_ranks():
    group = Group.of_processes([5, 6, 7, 8])
    assert group.Incl([3, 0]).processes == (8, 5)
    assert group.Excl([3, 0]).processes == (6, 7)
    assert group.Range_incl([(3, 1, -2), (0, 0, 1)]).processes == (8, 6, 5)
    assert group.Range_excl([(0, 2, 2)]).processes == (6, 8)
    assert group.Incl([]) == GROUP_EMPTY and group.Dup() != group
    assert group.Translate_ranks([PROC_NULL, 1], group) == [PROC_NULL, 1]


def test_the_rank_is_that_of_the_process_that_calls():
    group = Group.of_processes([5, 6])
    assert group.Get_rank() == UNDEFINED
    caller.told_by(lambda: 6)
    assert group.rank == 1
    caller.told_by(lambda: UNDEFINED)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (GROUP_NULL.Get_size, ErrorClass.ERR_GROUP),
        (lambda: Group.of_processes([1]).Incl([1]), ErrorClass.ERR_RANK),
        (lambda: Group.of_processes([1, 2]).Excl([1, 1]), ErrorClass.ERR_RANK),
        (lambda: Group.of_processes([1, 2]).Range_incl([(0, 1, 0)]), ErrorClass.ERR_ARG),
        (lambda: Info.Create().Delete("x"), ErrorClass.ERR_INFO_NOKEY),
        (lambda: Info.Create().Set("", "x"), ErrorClass.ERR_INFO_KEY),
        (lambda: Info.Create().Set("x", "y" * 1025), ErrorClass.ERR_INFO_VALUE),
        (lambda: Info.Create().Get_nthkey(0), ErrorClass.ERR_ARG),
        (INFO_NULL.Get_nkeys, ErrorClass.ERR_INFO),
        (INFO_ENV.Free, ErrorClass.ERR_INFO),
        (lambda: exception.Get_error_string(99), ErrorClass.ERR_ARG),
    ],
)
def test_an_error_has_its_class(call, error):
    with pytest.raises(Exception) as caught:
        call()
    assert caught.value.Get_error_class() == caught.value.Get_error_code() == error
    assert caught.value == error and str(caught.value).startswith(f"MPI_{error.name}: ")


def test_an_info_is_a_mapping_in_the_order_of_its_keys():
    info = Info.Create({"b": "1", "a": "2"})
    info["c"] = "3"
    assert info.items() == [("b", "1"), ("a", "2"), ("c", "3")] and len(info) == 3 and "a" in info
    copy = info.copy()
    assert info.pop("b") == "1" and info.get("b") is None and info.popitem() == ("c", "3")
    assert copy.keys() == ["b", "a", "c"] and copy.values() == ["1", "2", "3"]
    assert info.Get_nthkey(0) == "a" and info.Get("a") == "2"
    info.clear()
    assert not info.keys()
    info.Free()
    assert info == INFO_NULL
    with pytest.raises(KeyError):
        info["a"] = "1"
    assert info.get("a", "none") == "none" and info.pop("a", "none") == "none" and info.copy() == INFO_NULL


def test_a_program_adds_classes_codes_and_texts():
    kind = exception.Add_error_class()
    code = exception.Add_error_code(kind)
    exception.Add_error_string(code, "out of honey")
    error = Exception(code)
    assert (error.error_class, error.error_code, error.error_string, str(error)) == (
        kind,
        code,
        "out of honey",
        "out of honey",
    )
    for call in (lambda: exception.Remove_error_class(kind), lambda: exception.Remove_error_code(code)):
        with pytest.raises(Exception) as caught:
            call()
        assert caught.value == ErrorClass.ERR_OTHER
    exception.Remove_error_string(code)
    exception.Remove_error_code(code)
    exception.Remove_error_class(kind)
    with pytest.raises(Exception):
        exception.Get_error_class(kind)


def test_errors_compare_as_their_codes():
    error = Exception(ErrorClass.ERR_RANK, "there is no rank 7")
    assert error > 5 and error == 6 and error <= Exception(6) and int(error) == 6 and hash(error) == hash(6)
    assert repr(error) == "MPI.Exception(6)" and str(error) == "MPI_ERR_RANK: there is no rank 7"
    assert not Exception() and Exception(-3) == ErrorClass.ERR_UNKNOWN
