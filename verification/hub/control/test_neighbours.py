"""Bench of hdl/hub/control/neighbours.py: the last hello of each port, until it is forgotten."""

import random

import cocotb
import pytest

from nectar.hdl.hub.commands import KIND_UNKNOWN
from nectar.hdl.hub.control.neighbours import Neighbours
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep

SIZES = {"2 ports": 2, "5 ports": 5, "16 ports": 16}


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def remembers_the_last_hello(dut):
    """S10, docs/hub.md, Neighbours: every port's last hello can be read until it is forgotten; a hello of the same
    cycle is kept. A reset of one cycle forgets all."""
    ports = SIZES[inside()]
    lockstep = Lockstep(dut, ["hello__index", "hello__byte", "hello__id", "hello__kind", "index", "forget"])
    await lockstep.start()
    known, hello, forgotten, seen = {}, None, None, {"read": 0, "forgotten": 0, "kept": 0}
    for step in range(6000):
        if step % 1000 == 500:
            await lockstep.reset({"hello__index": random.randrange(ports), "hello__id": 1})
            known, hello, forgotten = {}, None, None
        index = hello[0] if hello and random.random() < 0.5 else random.randrange(ports)
        inputs = {"index": index, "forget": random.random() < 0.1}
        shown = {"id": known.get(index, (0, KIND_UNKNOWN))[0], "kind": known.get(index, (0, KIND_UNKNOWN))[1]}
        arrives = False
        if hello:
            inputs |= {"hello__index": hello[0], "hello__byte": hello[2], "hello__kind": 1}
            arrives = True
        elif random.random() < 0.1:
            hello = random.randrange(ports), random.randrange(256), random.randrange(256)
            inputs |= {"hello__index": hello[0], "hello__byte": hello[1], "hello__id": 1}
            if hello[0] in known:
                known[hello[0]] = hello[1], known[hello[0]][1]  # its kind follows in the next cycle
        await lockstep.step(inputs, shown)
        seen["read"] += index in known
        if forgotten is not None:
            seen["forgotten"] += known.pop(forgotten, None) is not None
        forgotten = index if inputs["forget"] and not (arrives and index == hello[0]) else None
        if arrives:
            seen["kept"] += inputs["forget"] and index == hello[0]
            known[hello[0]] = hello[1:]
            hello = None
    assert all(seen.values()), seen


bench = Bench(__name__, {name: lambda ports=ports: Neighbours(ports) for name, ports in SIZES.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("16 ports", "2 ports")))
def test_neighbours(configuration, claim):
    bench.check(configuration, claim)
