"""Profiles: the clocks of a system."""

import pytest

from nectar.hdl.hub.profile import HUB_PROFILES
from nectar.sim.profile import MODERN, PROFILES, PROTOTYPE, profile


def test_the_prototype_has_the_clocks_of_the_paper():
    """H2: 70 ns; C8: 16 MHz; H3: 100 Mbit/s."""
    assert PROTOTYPE.hub_period_ps == 70_000
    assert PROTOTYPE.cpu_hz == 16e6
    assert 8e12 / PROTOTYPE.symbol_ps == 100e6


def test_the_modern_profile_is_no_slower_anywhere_and_its_boards_keep_up_with_their_fibers():
    for name in ("hub_period_ps", "cab_period_ps", "symbol_ps"):
        assert getattr(MODERN, name) < getattr(PROTOTYPE, name)
    assert max(MODERN.hub_period_ps, MODERN.cab_period_ps) <= MODERN.symbol_ps


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_names_a_profile_of_the_hub(name):
    assert profile(name).name == name
    assert profile(name).hub_profile in HUB_PROFILES


def test_an_unknown_profile_is_refused_with_those_that_there_are():
    with pytest.raises(ValueError, match="no profile 'fast'; there is .*prototype"):
        profile("fast")
