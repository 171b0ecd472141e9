"""The soak in its everyday and its nightly size: all transports under faults, and not one message lost, doubled,
reordered or damaged."""

import pytest

from nectar.software.errors import ProgramError
from nectar.verification import seeds

from . import soak as soaking
from .soak import Outcome, Rates, soak, soak_round

#: Messages of a night: on fast boards, in so many shares; on the RTL, or as many as fit into so many seconds.
NIGHT, SHARES = 1_000_000, 4
NIGHT_RTL, NIGHT_RTL_SECONDS = 10_000, 1800
#: What has struck in a day's soak even if luck is bad.
STRUCK = ("errors", "lost-ready", "lost-reply", "lost-command", "cuts", "resets")


def whole(outcome):
    """What must hold of a soak of some thousand messages."""
    print(outcome)
    assert not outcome.strays
    assert min(outcome.messages.values()) > outcome.total / 6
    assert all(outcome.hits[name] > 5 for name in STRUCK)
    assert outcome.recoveries and max(outcome.recoveries) < soaking.PATIENCE_US / 1000


def test_not_one_message_is_lost_doubled_reordered_or_damaged():
    whole(soak(seeds.seed(), 2_000))


def test_nor_on_the_rtl():
    outcome = soak_round(seeds.seed(), "rtl", 6, Rates(errors=1e-4, reset_ms=5, cut_ms=5), "chain:3")
    print(outcome)
    assert not outcome.strays and outcome.total > 30 and outcome.hits["errors"]


@pytest.fixture
def noted(record_property):
    """Notes what an outcome is."""

    def note(outcome, where):
        record_property(f"messages on {where}", outcome.total)
        record_property(f"faults on {where}", sum(outcome.hits.values()))
        return outcome

    return note


@pytest.mark.nightly
@pytest.mark.parametrize("share", range(SHARES))
def test_not_one_in_a_night(share, noted):
    outcome = noted(soak(seeds.seed() + 3 + share, NIGHT // SHARES), "fast boards")
    whole(outcome)
    assert outcome.total >= NIGHT // SHARES


@pytest.mark.nightly
def test_nor_on_the_rtl_in_a_night(noted):
    outcome = noted(soak(seeds.seed() + 2, NIGHT_RTL, NIGHT_RTL_SECONDS, "rtl", 20), "RTL boards")
    print(outcome)
    assert not outcome.strays and outcome.hits["errors"] > 5


# -- that it can fail ------------------------------------------------------------------------------------
def test_without_faults_nothing_stands_still():
    quiet = Rates(0, 0, 0, 0, 1e9, 1e9)
    outcome = soak_round(1, count=10, rates=quiet, topology="chain:3")
    assert outcome.total >= 75 and not any(outcome.hits.values()) and not outcome.recoveries
    assert outcome.longest < 30


@pytest.mark.parametrize(
    "what, message",
    [
        ("lost", "is not what was sent"),
        ("doubled", "more messages|is not what was sent"),
        ("reordered", "is not what was sent"),
        ("damaged", "is not what was sent"),
    ],
)
def test_it_notices(monkeypatch, what, message):
    """What transports must not do, done to what a receiver gets: the round fails, and names its seed."""
    true, held = soaking._Flow.arrived, []

    async def arrived(flow, cab, data):
        number = int.from_bytes(data[3:6], "big")
        if flow.transport != "multicast" or number != 3:
            await true(flow, cab, data)
            if held and held[0][0] is flow:
                await true(*held.pop())
        elif what == "damaged":
            await true(flow, cab, data[:-1] + bytes([data[-1] ^ 1]))
        elif what == "doubled":
            await true(flow, cab, data)
            await true(flow, cab, data)
        elif what == "reordered":
            held.append((flow, cab, data))

    monkeypatch.setattr(soaking._Flow, "arrived", arrived)
    with pytest.raises(ProgramError, match=message) as caught:
        soak_round(2, count=10, rates=Rates(0, 0, 0, 0, 1e9, 1e9), topology="chain:3")
    assert "soak seed 2 on fast boards, chain:3" in caught.value.__notes__[0]


def test_outcomes_add_up():
    one, other = (
        Outcome({"stream": 1, "request": 2, "multicast": 3}, {"cuts": 1}, [5.0], 7.0, 0, 1, 10.0),
        Outcome(recoveries=[9.0], longest=8.0, rounds=1),
    )
    one.add(other)
    assert (one.total, one.rounds, one.longest, one.recoveries) == (6, 2, 8.0, [5.0, 9.0])
    assert "median 7.0 ms, worst 9.0 ms" in str(one) and "6 messages in 2 rounds" in str(one)
