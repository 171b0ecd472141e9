"""Bench of hdl/hub/crossbar.py: each output gets what its input sends, and nothing else."""

import random

import cocotb
import pytest
from cocotb.triggers import Timer

from nectar.hdl.hub.crossbar import Crossbar
from nectar.verification.bench import Bench, inside

CONFIGURATIONS = {
    f"{ports} ports{', early' if early else ''}": (ports, early) for ports in (2, 5, 16) for early in (False, True)
}


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def takes_every_symbol_to_all_its_outputs(dut):
    """H1, H10: any input to any number of outputs, all pairs at the same time; an output that is not connected gets
    nothing. An input is blocked while one of its outputs cannot take a symbol."""
    count, early = CONFIGURATIONS[inside()]
    ports = range(count)
    seen = set()
    for _ in range(600):
        sends = [random.getrandbits(10) for _ in ports]
        moves = [random.random() < 0.7 for _ in ports]
        owner = [random.choice([None, *(i for i in ports if i != o)]) for o in ports]
        space = random.choice([random.getrandbits(count), (1 << count) - 1])
        dut.space.value = space
        dut.move.value = sum(move << n for n, move in enumerate(moves))
        for n in ports:
            getattr(dut, f"beat__{n}").value = sends[n]
            getattr(dut, f"targets__{n}").value = sum((i == n) << o for o, i in enumerate(owner))
            # In the first cycle of a connection the number of its input is not yet right.
            getattr(dut, f"owner__{n}").value = random.choice(ports) if owner[n] is None or early else owner[n]
        await Timer(1, unit="ns")
        push = int(dut.push.value)
        outputs = [sum((i == n) << o for o, i in enumerate(owner)) for n in ports]
        assert int(dut.listened.value) == sum((mask != 0) << n for n, mask in enumerate(outputs))
        assert int(dut.blocked.value) == sum((mask & ~space != 0) << n for n, mask in enumerate(outputs))
        for o, i in enumerate(owner):
            assert (push >> o & 1) == (i is not None and moves[i]), f"output {o} listens to {i}"
            if push >> o & 1:
                assert int(getattr(dut, f"out__{o}").value) == sends[i], f"output {o} listens to {i}"
                seen.add((i, o))
    assert len(seen) == len(ports) * (len(ports) - 1), "not every pair was used"


bench = Bench(
    __name__,
    {name: lambda parameters=parameters: Crossbar(*parameters) for name, parameters in CONFIGURATIONS.items()},
    ports_only=True,
)


@pytest.mark.parametrize(
    "configuration, claim", bench.cases(nightly=("2 ports, early", "2 ports", "16 ports, early", "16 ports"))
)
def test_crossbar(configuration, claim):
    bench.check(configuration, claim)
