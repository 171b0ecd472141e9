"""Bench of hdl/hub/crossbar.py: each output gets what its input sends, and nothing else."""

import random

import cocotb
import pytest

from nectar.hdl.hub.crossbar import Crossbar
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep

CONFIGURATIONS = {
    f"{ports} ports{', late' if late else ''}": (ports, late) for ports in (2, 5, 16) for late in (False, True)
}


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def takes_every_symbol_to_all_its_outputs(dut):
    """H1, H10, H3: any input to any number of outputs, all pairs at the same time; an output that is not connected
    gets nothing. An input is blocked while one of its outputs has no room, and if the crossbar is late in the cycle
    after it has ended a connection."""
    count, late = CONFIGURATIONS[inside()]
    ports = range(count)
    lockstep = Lockstep(
        dut, ["move", "space", "ends", *(f"{name}__{n}" for name in ("beat", "targets", "owner") for n in ports)]
    )
    await lockstep.start()
    seen = set()
    before = [None] * count, 0, 0  # the owner of each output, the room of the outputs, and who ends a connection
    for cycle in range(600):
        sends = [random.getrandbits(10) for _ in ports]
        moves = [random.random() < 0.7 for _ in ports]
        now = (
            [random.choice([None, *(i for i in ports if i != o)]) for o in ports],
            random.choice([random.getrandbits(count), -1 % (1 << count)]),
            random.getrandbits(count) if random.random() < 0.3 else 0,
        )
        owner, space, ends = before if late else now
        told = {
            "listened": sum((i in owner) << i for i in ports),
            "blocked": sum(
                (late and ends >> i & 1 or any(owner[o] == i and not space >> o & 1 for o in ports)) << i for i in ports
            ),
            "push": sum((i is not None and moves[i]) << o for o, i in enumerate(owner)),
        }
        told |= {f"out__{o}": sends[i] for o, i in enumerate(owner) if i is not None and moves[i]}
        inputs = {"move": sum(move << n for n, move in enumerate(moves)), "space": now[1], "ends": now[2]}
        for n in ports:
            # A late crossbar does not look at the numbers.
            number = random.choice(ports) if now[0][n] is None or late else now[0][n]
            targets = sum((i == n) << o for o, i in enumerate(now[0]))
            inputs |= {f"beat__{n}": sends[n], f"targets__{n}": targets, f"owner__{n}": number}
        await lockstep.step(inputs, told)
        seen |= {(i, o) for o, i in enumerate(owner) if i is not None and moves[i]}
        before = now
    assert len(seen) == len(ports) * (len(ports) - 1), "not every pair was used"


bench = Bench(
    __name__,
    {name: lambda parameters=parameters: Crossbar(*parameters) for name, parameters in CONFIGURATIONS.items()},
    ports_only=True,
)


@pytest.mark.parametrize(
    "configuration, claim", bench.cases(nightly=("2 ports, late", "2 ports", "16 ports, late", "16 ports"))
)
def test_crossbar(configuration, claim):
    bench.check(configuration, claim)
