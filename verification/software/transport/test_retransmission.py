"""The retransmission timer against Jacobson's and Karn's rules, reckoned with fractions.

Sources: V. Jacobson, "Congestion Avoidance and Control" (1988), appendix A: gains 1/8 and 1/4, time-out mean + 4
deviations."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nectar.software.transport.retry import Retry
from nectar.verification.properties import properties

_TIMES = st.integers(0, 1 << 24)


@properties
@given(st.lists(_TIMES, max_size=40), st.integers(0, 20))
def test_the_time_out_follows_mean_and_deviation(samples, tries):
    """Whole numbers against fractions: each step loses less than a unit, and what is lost fades."""
    retry, mean, deviation = Retry(5000, 100, 10**9), None, None
    for sample in samples:
        retry.sample(sample)
        if mean is None:
            mean, deviation = Fraction(sample), Fraction(sample, 2)
        else:
            deviation += (abs(sample - mean) - deviation) / 4
            mean += (sample - mean) / 8
        assert abs(retry.mean - mean) <= 8
        assert abs(retry.deviation - deviation) <= 4 + 8
    base = 5000 if mean is None else max(100, mean + 4 * deviation)
    assert abs(retry.timeout() - base) <= 8 + 4 * 12
    assert retry.timeout(tries) == min(retry.timeout() << min(tries, 16), 10**9)


@properties
@given(
    st.lists(_TIMES, max_size=40), st.integers(1, 1000), st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 40)
)
def test_the_time_out_stays_within_its_bounds_and_only_grows_with_tries(samples, least, more, most, tries):
    first, most = least + more, least + more + most
    retry = Retry(first, least, most)
    assert retry.timeout() == first
    for sample in samples:
        retry.sample(sample)
        assert least <= retry.timeout(tries) <= most
        assert retry.timeout(tries) <= retry.timeout(tries + 1)


@properties
@given(st.integers(1, 1 << 20))
def test_a_steady_round_trip_is_found(sample):
    """The deviation fades: in the end the time-out is close above the round trip."""
    retry = Retry(10**6, 1, 10**9)
    for _ in range(200):
        retry.sample(sample)
    assert sample <= retry.timeout() <= sample + 16


@pytest.mark.parametrize("bounds", [(1, 2, 3), (5, 0, 9), (5, 1, 4), (5, -1, 9)])
def test_bounds_in_the_wrong_order_are_refused(bounds):
    with pytest.raises(ValueError, match="0 < least <= first <= most"):
        Retry(*bounds)
