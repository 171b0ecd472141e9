"""Bench of hdl/hub/status_table.py: both sides of the table, grants and closes."""

import random

import cocotb
import pytest

from nectar.hdl.hub.status_table import StatusTable
from nectar.verification.bench import Bench, inside
from nectar.verification.hub.lockstep import Lockstep

SIZES = {"2 ports": 2, "5 ports": 5, "16 ports": 16}


class Model:
    """The table as a dict from output to input."""

    def __init__(self, ports):
        self.ports = ports
        self.table = {}

    def outputs_of(self, i):
        """Outputs connected to input ``i``."""
        return [o for o, owner in self.table.items() if owner == i]

    def step(self, inputs):
        """What the table shows; then what is entered and closed."""
        shown = {"connected": sum(1 << o for o in self.table)}
        for port in range(self.ports):
            shown[f"targets__{port}"] = sum(1 << o for o in self.outputs_of(port))
            shown[f"owner__{port}"] = self.table.get(port)
        if inputs.get("grant_input"):
            self.table[inputs["grant_output"].bit_length() - 1] = inputs["grant_index"]
        released = inputs["closed"]
        for port in range(self.ports):
            released |= inputs.get(f"close__{port}", 0)
        self.table = {o: i for o, i in self.table.items() if not released >> o & 1}
        return shown


def stimulus(grants, closes):
    """Legal inputs: grants only of outputs that are free or the input's own; an input closes only what is its own."""
    def choose(model):
        inputs = {"closed": sum(1 << o for o in model.table if random.random() < closes)}
        i, o = random.randrange(model.ports), random.randrange(model.ports)
        if random.random() < grants and model.table.get(o, i) == i:
            inputs |= {"grant_input": 1 << i, "grant_index": i, "grant_output": 1 << o}
        for port in range(model.ports):
            inputs[f"close__{port}"] = sum(1 << o for o in model.outputs_of(port) if random.random() < closes)
        return inputs
    return choose


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def keeps_all_connections_and_no_other(dut):
    """H10: an output listens to one input, an input feeds any number of outputs; both sides of the table always agree."""
    model = Model(SIZES[inside()])
    ports = range(model.ports)
    lockstep = Lockstep(dut, ["grant_input", "grant_index", "grant_output", "closed", *(f"close__{n}" for n in ports)])
    await lockstep.reset()
    for grants, closes in ((0.9, 0.02), (0.5, 0.3), (1.0, 0.0), (0.1, 0.5)):
        await lockstep.run(model, stimulus(grants, closes), 400)
    await lockstep.run(model, stimulus(0, 1), 2)
    assert lockstep.read("connected") == 0


bench = Bench(__name__, {name: lambda ports=ports: StatusTable(ports) for name, ports in SIZES.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_status_table(configuration, claim):
    bench.check(configuration, claim)
