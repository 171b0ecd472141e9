"""Bench of hdl/cab/slots.py: every user gets his slot, nothing is wasted, the schedule goes on while the board
sleeps."""

import random

import cocotb
import pytest

from nectar.hdl.cab.slots import Slots
from nectar.verification.bench import Bench
from nectar.verification.harness import Lockstep
from nectar.verification.specs.slots import SlotsSpec
from nectar.verification.specs.spec import Follower

WORD_BYTES, CLOCK_HZ = 4, 16_500_000


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def each_cycle_goes_to_its_slots_user_or_to_the_first_who_wants_it(dut):
    """docs/cab.md, data memory; C3."""
    clock = Lockstep(dut)
    await clock.start("wants", "slept")
    schedule = Follower(SlotsSpec())
    for densities in [(1, 1, 1, 1), (0.3, 0.3, 0.3, 0.3), (0.9, 0.1, 0.9, 0.5), (0, 1, 0.5, 1)]:
        await clock.follow(
            lambda inputs: {"given": schedule.step(inputs)["given"]},
            (
                {
                    "wants": sum((random.random() < chance) << user for user, chance in enumerate(densities)),
                    "slept": random.choice([0, 0, 0, random.randrange(4)]),
                }
                for _ in range(2000)
            ),
        )


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def whoever_waits_is_served_within_four_cycles_and_has_a_quarter_of_them(dut):
    """C2, C3: at 16.5 MHz a quarter is 16.5 Mbyte/s: more than the 12.5 of a fiber and the 10 of VME, for all at once,
    and as much for the CPU; whatever the others do."""
    clock = Lockstep(dut)
    await clock.start("wants", "slept")
    for user in range(4):
        longest = 0
        for _ in range(300):
            waited = 0
            others = random.choice([random.getrandbits(4), 15])
            while True:
                clock.drive(wants=others | 1 << user)
                await clock.settle()
                waited += 1
                given = clock.pin("given")
                await clock.edge()
                if given >> user & 1:
                    break
            longest = max(longest, waited)
        assert longest <= 4
    await clock.start("wants", "slept")
    given = [(await clock.step({"wants": 15}, outputs=["given"]))[0] for _ in range(4000)]
    assert [given.count(1 << user) for user in range(4)] == [1000] * 4 and CLOCK_HZ * WORD_BYTES // 4 >= 12_500_000


bench = Bench(__name__, {"slots": Slots}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_slots(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
