"""Bench of hdl/hub/hub.py: the whole HUB under random legal traffic on all ports at once, judged by the reference
model.

The claims about single facts are in ``claims``; they run here too, on the same simulation.
"""

import functools
import random

import cocotb
import pytest

from nectar.hdl.hub.profile import HUB_PROFILES
from nectar.verification.bench import Bench
from nectar.verification.hub.claims import (
    commands,
    flow,
    locks,
    misuse,
    monitor,
    neighbours,
    network,
    parts,
    reset,
    sequence,
    supervisor,
    table,
    together,
    watchdog,
)
from nectar.verification.hub.monitors import always, randomly, seven_of_eight
from nectar.verification.hub.pins import PACKED, Pins, packed_hub
from nectar.verification.hub.reference import judge
from nectar.verification.hub.testbench import (
    HUB,
    NEEDED,
    NEEDED_PARTS,
    commands_inside,
    longest_inside,
    options_of,
    profile_inside,
)
from nectar.verification.hub.traffic import Neighbour, audit, transactions

for module in (
    commands,
    network,
    misuse,
    table,
    together,
    sequence,
    locks,
    flow,
    supervisor,
    watchdog,
    neighbours,
    monitor,
    reset,
    parts,
):
    globals().update({name: item for name, item in vars(module).items() if name in NEEDED})


async def traffic(dut, count, *, gap=0.0, take=lambda port: always, longest=0, late=0.1, unasked=0):
    """``count`` random transactions from each of 16 ports, or more from each of fewer, then the error counters and the
    connections of all ports; returns the verdict.

    ``take`` gives the ``take`` of each port's endpoint; every ``unasked`` cycles, if not 0, somebody sends a reply that
    nobody asked for. The other parameters are those of traffic.py.
    """
    pins = Pins(dut, HUB)
    count = count * 16 // pins.ports
    rng = random.Random(random.getrandbits(64))
    agents = await pins.reset(
        [
            Neighbour(
                port, rng, transactions(port, pins.ports, HUB, rng, count, longest), gap=gap, take=take(port), late=late
            )
            for port in range(pins.ports)
        ]
    )
    number = 0
    while unasked and not all(end.done for end in agents.endpoints):
        rng.choice(agents.endpoints).unasked(agents.now, number & 0xFF)
        number += 1
        await pins.cycles(unasked)
        assert agents.now < 200_000, "the traffic has come to a stop"
    await pins.drain(200_000)
    before = agents.now
    agents.endpoints[rng.randrange(pins.ports)].then(audit(pins.ports, HUB))
    await pins.drain(20_000)
    verdict = judge(agents.recording, HUB, profile_inside().transfer, commands_inside())
    cocotb.log.info(
        "%d cycles, then %d; %d packets, %d grants, %d locks, %d refused, %d replies, %d lost, %d errors",
        before,
        agents.now - before,
        verdict.packets,
        verdict.grants,
        verdict.locks,
        verdict.refused,
        verdict.replies,
        verdict.lost,
        sum(map(len, verdict.errors)),
    )
    assert verdict.packets >= count and verdict.replies >= count // 2
    return verdict


@cocotb.test(timeout_time=30, timeout_unit="ms")
async def random_traffic_at_full_speed(dut):
    """H1, H9 to H16 at once: no pause at any source, no fiber ever busy."""
    await traffic(dut, 40)


@cocotb.test(timeout_time=30, timeout_unit="ms")
async def random_traffic_on_fibers_that_take_seven_symbols_in_eight_cycles(dut):
    """The prototype's rates, with pauses and idle symbols between the sources' symbols."""
    await traffic(dut, 40, gap=0.2, take=lambda port: seven_of_eight)


@cocotb.test(timeout_time=30, timeout_unit="ms")
async def random_traffic_on_fibers_of_any_pace(dut):
    """Each fiber takes symbols at random, each with a share of its own; many ready signals and replies come late."""
    await traffic(dut, 30, gap=0.1, take=lambda port: randomly(random, random.choice([0.3, 0.6, 0.9, 1])), late=0.5)


@cocotb.test(timeout_time=30, timeout_unit="ms")
async def random_traffic_with_packets_as_long_as_allowed(dut):
    """H14: packets of up to 1024 bytes among short ones."""
    await traffic(dut, 20, take=lambda port: seven_of_eight, gap=0.05, longest=longest_inside())


@cocotb.test(timeout_time=30, timeout_unit="ms")
async def random_traffic_with_replies_that_nobody_asked_for(dut):
    """H12: replies that arrive at any time, when their connection may be about to be closed or was never there."""
    verdict = await traffic(dut, 30, take=lambda port: randomly(random, 0.9), unasked=50)
    assert verdict.lost


SIZES = (2, 3, 5, 8, 16, 64, 128)
#: The size of HUB of the everyday regression: what all claims need. Further sizes are left for the night. Every day 16
#: ports run in the simulator (``reproduce`` measures all their pairs), and parts of 2 and 3 ports in their own benches.
EVERYDAY = 5
#: HUBs with parts left out or queues of other sizes, of five ports: each combination, in one profile or in the other.
#: The words are those of ``options_of``.
SMALLER = [
    f"5 ports {options} {profile}"
    for options, profile in (
        ("no-monitor no-locks queue-256", "prototype"),
        ("no-monitor no-locks queue-4096", "modern"),
        ("no-monitor", "modern"),
        ("no-locks", "prototype"),
        ("no-monitor no-locks", "prototype"),
        ("queue-256", "modern"),
        ("queue-3000", "prototype"),
        ("no-monitor queue-507", "prototype"),
        ("no-locks queue-2047", "modern"),
    )
]

bench = Bench(
    __name__,
    {
        f"{ports} ports {profile.name}": functools.partial(packed_hub, ports, profile)
        for profile in HUB_PROFILES.values()
        for ports in SIZES
    }
    | {name: functools.partial(packed_hub, 5, HUB_PROFILES[name.split()[-1]], **options_of(name)) for name in SMALLER},
    top=PACKED,
    ports_only=True,
)


def _ports(configuration):
    return int(configuration.split()[0])


#: Claims that take longest, of what commands mean: the profiles' registers, in which they differ, have no part in that,
#: so that every day ``modern`` alone meets them.
MEANING = {
    "every_command_meets_each_of_its_errors",
    "every_command_is_done_with_its_effect_and_its_reply",
    "every_opcode_that_is_not_in_the_table_is_refused",
    "a_port_that_there_is_not_is_never_taken_for_the_one_that_its_low_bits_name",
    "a_command_that_lost_its_first_symbols_stays_lost_when_room_appears",
    "no_part_of_a_command_that_found_the_queue_full_has_an_effect",
    "a_port_that_is_disabled_in_the_middle_of_its_stream_counts_no_error_for_it",
    "every_misuse_is_counted_under_its_name",
    "random_traffic_with_packets_as_long_as_allowed",
}


def _marks(configuration, claim):
    everyday = configuration not in SMALLER and _ports(configuration) == EVERYDAY
    everyday &= not (claim in MEANING and configuration.endswith("prototype"))
    return [] if everyday else [pytest.mark.nightly]


#: A claim that needs more ports than a configuration has shows nothing there.
CASES = [
    pytest.param(configuration, claim, marks=_marks(configuration, claim))
    for configuration, claim in bench.cases()
    if _ports(configuration) >= NEEDED.get(claim, 2)
    and not NEEDED_PARTS.get(claim, frozenset()) & options_of(configuration).keys()
]


@pytest.mark.parametrize("configuration, claim", CASES)
def test_hub(configuration, claim, record_property):
    """Each claim on each size of HUB in each profile."""
    record_property("ports", str(_ports(configuration)))
    bench.check(configuration, claim)
