"""Broadcasts by multicast are as fast as docs/mpi.md says, on the RTL."""

import pytest

from nectar.verification.software.mpi.figures import measured


def test_a_kilobyte_reaches_15_cabs_in_less_than_a_third_of_the_time_of_15_messages():
    times = measured(16, ["multicast", "one by one", "tree"], [1024])
    assert times["multicast 1024"] < times["one by one 1024"] / 3
    assert times["multicast 1024"] < times["tree 1024"] / 3


@pytest.mark.nightly
def test_a_barrier_of_many_ranks_ends_by_multicast_in_half_of_the_time():
    times = measured(24, [], [])
    assert times["barrier multicast"] < times["barrier messages"] / 2


def test_short_messages_reach_few_cabs_before_a_multicast():
    times = measured(4, ["multicast", "tree"], [0])
    assert times["tree 0"] < times["multicast 0"]
    assert times["barrier messages"] < times["barrier multicast"]
