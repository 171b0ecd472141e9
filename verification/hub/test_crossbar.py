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
    """H1, H10, H3: any input to any number of outputs, all pairs at the same time; an output that is not connected gets
    nothing, and is shown 0. An input is blocked while one of its outputs has no room. A late crossbar looks at the
    connections and the room of the cycle before, and an input may still be blocked by a connection that ended in it.
    """
    count, late = CONFIGURATIONS[inside()]
    ports = range(count)
    lockstep = Lockstep(
        dut,
        ["move", "space", "enter", *(f"{name}__{n}" for name in ("beat", "targets", "named", "owner") for n in ports)],
    )
    await lockstep.start()
    seen = set()
    owner = [None] * count  # the owner of each output
    before = 0  # the inputs that were blocked by the connections and the room of the cycle before
    for cycle in range(600):
        sends = [random.getrandbits(10) for _ in ports]
        moves = [random.random() < 0.7 for _ in ports]
        space = random.choice([random.getrandbits(count), -1 % (1 << count)])
        following = [random.choice([None, *(i for i in ports if i != o)]) for o in ports]
        masks = [sum((i == n) << o for o, i in enumerate(owner)) for n in ports]
        named = [1 << random.choice([o for o in ports if o != n]) for n in ports]
        enter = random.getrandbits(count)
        ahead = [masks[n] | (named[n] if enter >> n & 1 else 0) for n in ports]
        blocked = sum(((masks[n] & ~space) != 0) << n for n in ports)
        told = {
            "listened": sum((masks[n] != 0) << n for n in ports),
            "blocked": before if late else blocked,
            "clear": (before if late else blocked) ^ (1 << count) - 1,
            "push": sum((i is not None and moves[i]) << o for o, i in enumerate(owner)),
        }
        told |= {f"out__{o}": sends[i] for o, i in enumerate(owner) if i is not None and moves[i]}
        told |= {f"out__{o}": 0 for o, i in enumerate(owner) if i is None}
        inputs = {"move": sum(move << n for n, move in enumerate(moves)), "space": space, "enter": enter}
        for n in ports:
            # A late crossbar does not look at the numbers, and any other only at them and at ``targets``.
            number = random.choice(ports) if owner[n] is None or late else owner[n]
            inputs |= {f"beat__{n}": sends[n], f"targets__{n}": masks[n], f"owner__{n}": number}
            inputs[f"named__{n}"] = named[n]
        await lockstep.step(inputs, told)
        seen |= {(i, o) for o, i in enumerate(owner) if i is not None and moves[i]}
        owner, before = following, sum(((ahead[n] & ~space) != 0) << n for n in ports)
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
