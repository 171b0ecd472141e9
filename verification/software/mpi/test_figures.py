"""Broadcasts by multicast are as fast as docs/mpi-collectives.md says, on the RTL."""

import pytest

from nectar.verification.software.mpi.figures import measured


@pytest.mark.nightly
def test_a_kilobyte_reaches_15_cabs_in_less_than_a_third_of_the_time_of_15_messages():
    times = measured(16, ["multicast", "one by one", "tree"], [1024])
    assert times["multicast 1024"] < times["one by one 1024"] / 3
    assert times["multicast 1024"] < times["tree 1024"] / 3


@pytest.mark.nightly
def test_a_barrier_of_24_ranks_is_faster_by_multicast():
    times = measured(24, [], [])
    assert times["barrier multicast"] < times["barrier messages"]


def test_short_messages_reach_few_cabs_before_a_multicast():
    times = measured(4, ["multicast", "tree"], [0])
    assert times["tree 0"] < times["multicast 0"]
    assert times["barrier messages"] < times["barrier multicast"]
    times = measured(8, ["multicast", "tree"], [0])
    assert times["multicast 0"] < times["tree 0"]
    assert times["barrier messages"] < times["barrier multicast"]
