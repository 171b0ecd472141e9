"""Cutting and putting together of messages, against sets of numbers. Source: docs/transports.md."""

import hypothesis
import pytest
from hypothesis import strategies as st

from nectar.software.packet import LAST_FRAGMENT, MAX_DATA
from nectar.software.transport.fragments import MASK_BITS, NOTHING, Assembly, count, fragments, lacking, parts, size
from nectar.verification.properties import properties

LENGTHS = st.one_of(st.sampled_from([0, 1, MAX_DATA - 1, MAX_DATA, MAX_DATA + 1, 65536]), st.integers(0, 65536))


@properties
@hypothesis.given(
    st.lists(st.tuples(st.integers(0, 9999), st.integers(0, 5000)), max_size=9), st.sampled_from([1, 7, MAX_DATA])
)
def test_what_is_cut_is_what_was_there(areas, largest):
    """Byte for byte, in pieces that are as large as they may be, the last marked."""
    if largest < MAX_DATA:
        areas = [(address, length % 40) for address, length in areas]
    length = sum(size for _, size in areas)
    cut = list(fragments(areas, length, largest))
    whole = [place for address, size in areas for place in range(address, address + size)]
    assert [place for _, part, _ in cut for address, size in part for place in range(address, address + size)] == whole
    assert [offset for offset, _, _ in cut] == list(range(0, max(length, 1), largest))
    assert [flags for _, _, flags in cut] == [0] * (len(cut) - 1) + [LAST_FRAGMENT]
    assert all(size for _, part, _ in cut for _, size in part)


@properties
@hypothesis.given(LENGTHS)
def test_fragments_have_the_number_and_the_sizes_that_receivers_count_on(length):
    cut = parts([(0, length)], length)
    assert len(cut) == count(length)
    assert [sum(size for _, size in part) for part in cut] == [size(length, index) for index in range(count(length))]


@properties
@hypothesis.given(LENGTHS, st.lists(st.integers(-2, 70), max_size=200))
def test_an_assembly_is_a_set_of_fragments(length, arrivals):
    assembly, model = Assembly(length), set()
    assert assembly.word == NOTHING and not assembly.begun
    for index in arrivals:
        wanted = 0 <= index < count(length) and index not in model
        assert assembly.wants(index) == wanted
        if wanted:
            assembly.add(index)
            model.add(index)
        else:
            with pytest.raises(ValueError, match="is not wanted"):
                assembly.add(index)
        assert assembly.missing == count(length) - len(model) and assembly.begun == bool(model)


@properties
@hypothesis.given(LENGTHS, st.sets(st.integers(0, 65)))
def test_a_status_word_tells_of_the_first_gap_and_what_is_close_behind_it(length, arrivals):
    assembly = Assembly(length)
    for index in arrivals & set(range(count(length))):
        assembly.add(index)
    missing = [index for index in range(count(length)) if assembly.wants(index)]
    told = lacking(assembly.word, count(length))
    assert told == [index for index in missing if index <= missing[0] + MASK_BITS]
    assert bool(told) == bool(missing) and assembly.word < 1 << 32


@properties
@hypothesis.given(st.integers(0, (1 << 32) - 1), st.integers(1, 66))
def test_no_status_word_makes_a_sender_send_what_there_is_not(word, fragments):
    assert all(0 <= index < fragments for index in lacking(word, fragments))


@properties
@hypothesis.given(LENGTHS, st.randoms(use_true_random=False))
def test_a_message_comes_together_whatever_is_lost_on_the_way(length, rng):
    """The exchange of transports: all once, then what the status word tells, until nothing is missing."""
    assembly, rounds, todo = Assembly(length), 0, list(range(count(length)))
    while assembly.missing:
        rng.shuffle(todo)
        for index in todo:
            if rng.random() < 0.5 and assembly.wants(index):
                assembly.add(index)
        todo = lacking(assembly.word, count(length))
        rounds += 1
        assert rounds < 200
