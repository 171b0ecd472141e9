"""Random programs in which a CAB stops, and perhaps starts anew: the others' tasks end, or hear of it, and their CABs
get their memory back."""

import pytest

from nectar.software.errors import CabSilent, ProgramError, TaskError
from nectar.verification import seeds
from nectar.verification.software.helpers import FAST_RECOVERY, drive, held
from nectar.verification.software.nectarine.applications import SETTLE, application
from nectar.verification.software.nectarine.test_random import TASKS, drawn, follow, replay

#: Simulated time in which each of these programs has ended, or nothing can happen any more, in picoseconds.
LONG = 20 * 10**12


async def guarded(task, steps):
    """Does what the replay says; the error of a message that ends this, or None."""
    try:
        await follow(task, steps)
    except (TaskError, CabSilent) as error:
        return error
    return None


@pytest.mark.parametrize(
    "seed, nodes", [*((seed, ()) for seed in range(12)), *((seed, (1, 2, 4)) for seed in range(4))]
)
def test_when_a_cab_stops_all_others_end_or_hear_of_it_and_leave_nothing(seed, nodes):
    """``nodes``: numbers of the CABs whose tasks run on their nodes."""
    draw = seeds.rng(f"stops {seed}").randrange
    doing = replay(drawn(f"stops {seed}", 60 if nodes else 120))
    behind = [f"CAB{number}" for number in nodes]
    with application(f"hub:{TASKS}", leaks=True, options=FAST_RECOVERY, nodes=behind) as made:
        before = held(made.system)
        for number in range(TASKS):
            on = f"CAB{number + 1}"
            made.spawn(f"t.{number}", guarded, doing[number], on=f"{on}.node" if on in behind else on)
        again = {"for_us": draw(200, 20_000)} if seed % 2 else {}
        made.system.faults.stop("CAB2", at_us=draw(500, 12_000), **again)
        try:
            made.go(LONG)
        except ProgramError as error:
            # A task that waits for one that has ended by its own error.
            assert "nothing can happen any more" in str(error) and ("receive from" in str(error) or nodes)
            return

        def rest():
            return all(held(made.system)[f"CAB{number}"] == before[f"CAB{number}"] for number in (1, 3, 4))

        drive(made.system.machine.run(rest, made.system.machine.time_ps + SETTLE))
        assert rest()
