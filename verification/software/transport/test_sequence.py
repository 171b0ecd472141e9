"""Windows against replay, against a set of all numbers ever seen; and adaptive time-outs."""

import hypothesis
import pytest
from hypothesis import strategies as st

from nectar.software.transport.retry import Retry
from nectar.software.transport.sequence import SPAN, SequenceWindow, ahead
from nectar.verification.properties import properties


@properties
@hypothesis.given(st.integers(0, 65535), st.lists(st.integers(-100, 80), max_size=300))
def test_no_number_is_new_twice_and_a_sender_that_keeps_its_bound_is_never_refused(first, steps):
    """The model: all numbers ever seen, without wrapping. A number is refused only if it was seen or lies SPAN or
    more behind the newest."""
    window, seen, newest = SequenceWindow(), set(), None
    for step in steps:
        number = first if newest is None else newest + step
        expected = number in seen or newest is not None and number <= newest - SPAN
        assert window.seen(number % 65536) == expected
        if not expected:
            window.add(number % 65536)
            seen.add(number)
            newest = number if newest is None else max(newest, number)
            assert window.seen(number % 65536)
        else:
            with pytest.raises(ValueError, match="seen before"):
                window.add(number % 65536)


@properties
@hypothesis.given(st.integers(0, 65535), st.integers(-32768, 32767))
def test_numbers_are_compared_around_their_end(number, step):
    assert ahead((number + step) % 65536, number) == step


@properties
@hypothesis.given(st.lists(st.integers(0, 1 << 22), max_size=50), st.integers(0, 40))
def test_a_time_out_is_bounded_and_grows_with_each_try(samples, tries):
    retry = Retry(80_000, 16_000, 1_600_000)
    assert retry.timeout() == 80_000
    for sample in samples:
        retry.sample(sample)
    assert 16_000 <= retry.timeout() <= retry.timeout(tries) <= retry.timeout(tries + 1) <= 1_600_000
    assert retry.timeout(40) == 1_600_000


def test_a_time_out_follows_what_is_measured():
    retry = Retry(80_000, 100, 1_600_000)
    for _ in range(60):
        retry.sample(2000)
    assert 2000 <= retry.timeout() <= 2100
    retry.sample(20_000)
    assert retry.timeout() > 15_000


@pytest.mark.parametrize("bounds", [(0, 0, 0), (5, 6, 7), (5, 1, 4)])
def test_bounds_out_of_order_are_refused(bounds):
    with pytest.raises(ValueError, match="least <= first <= most"):
        Retry(*bounds)
