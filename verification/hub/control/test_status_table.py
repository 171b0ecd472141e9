"""Bench of hdl/hub/control/status_table.py: both sides of the table, what is entered and what is closed."""

import random

import cocotb
import pytest

from nectar.hdl.hub.control.status_table import StatusTable
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep
from nectar.verification.specs.spec import Follower, column
from nectar.verification.specs.status_table import ConnectionSpec

CONFIGURATIONS = {"2 ports": 2, "5 ports": 5, "16 ports": 16}


class Model:
    """The connections of all outputs."""

    def __init__(self, ports):
        self.ports = ports
        self.outputs = [Follower(ConnectionSpec(ports)) for _ in range(ports)]
        self.entered = None  # (input, output) to be entered in this cycle

    @property
    def table(self):
        """The input that is connected to each output, of those that are in use."""
        return {o: output.state.owner.bit_length() - 1 for o, output in enumerate(self.outputs) if output.state.owner}

    def shown(self, o):
        """Whether output ``o`` is in use as far as the outputs' side shows."""
        return self.outputs[o].state.before != 0

    def step(self, inputs):
        """What the table shows; then what is entered and closed."""
        ports, table = range(self.ports), self.table
        names = inputs.pop("names")
        self.entered = inputs.pop("decided", None)
        found = []
        for o, output in enumerate(self.outputs):
            named = sum((name == o) << i for i, name in enumerate(names))
            closed = (1 << self.ports) - 1 if inputs["closed"] >> o & 1 else 0
            close = closed | inputs["close_mine"] | inputs["close_one"] & named
            found.append(output.step({"enter": inputs["enter"] & named, "close": close}))
        return {
            **{name: sum(found[o][name] << o for o in ports) for name in ("connected", "ended")},
            "mine": sum((table.get(name) == i) << i for i, name in enumerate(names)),
            **{f"targets__{i}": column([e["targets"] for e in found], i) for i in ports},
            **{f"owner__{o}": found[o]["owner"] for o in ports},
        }


def stimulus(enters, closes):
    """Inputs within the contract: what is entered is free, for two cycles already, and stays named."""

    def choose(model):
        ports = range(model.ports)
        size = 1 << max(1, (model.ports - 1).bit_length())
        names = [random.randrange(size) for _ in ports]
        inputs = {
            "enter": 0,
            "close_one": 0,
            "close_mine": 0,
            "closed": sum((random.random() < closes) << o for o in ports),
        }
        if model.entered:
            i, o = model.entered
            names[i] = o
            inputs |= {"entered_input": i, "enter": 1 << i}
        for i in ports:
            inputs["close_mine"] |= (random.random() < closes / 4) << i
            inputs["close_one"] |= (random.random() < closes and not inputs["enter"] >> i & 1) << i
        free = [
            (i, names[i])
            for i in ports
            if names[i] < model.ports
            and names[i] != i
            and names[i] not in model.table
            and not model.shown(names[i])
            and (not model.entered or names[i] != model.entered[1])
        ]
        if free and random.random() < enters:
            i, o = random.choice(free)
            inputs["decided"] = i, o
        return (
            inputs | {"names": names} | {f"named__{i}": 1 << n if n < model.ports else 0 for i, n in enumerate(names)}
        )

    return choose


async def begun(dut):
    """A table out of reset, and a model of it."""
    model = Model(CONFIGURATIONS[inside()])
    lockstep = Lockstep(
        dut,
        [
            "enter",
            "entered_input",
            "close_one",
            "close_mine",
            "closed",
            *(f"named__{n}" for n in range(model.ports)),
        ],
    )
    await lockstep.start()
    return lockstep, model


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def keeps_all_connections_and_no_other(dut):
    """H10: an output listens to one input, an input feeds any number of outputs; both sides of the table always
    agree. A reset of one cycle ends all."""
    lockstep, model = await begun(dut)
    most = 0
    for enters, closes in ((0.9, 0.02), (0.5, 0.1), (1.0, 0.0), (0.3, 0.3)):
        chooses = stimulus(enters, closes)
        for _ in range(400):
            inputs = chooses(model)
            shown = model.step(inputs)
            await lockstep.step(inputs, shown)
            most = max(most, len(model.table))
    assert most == model.ports, "never were all outputs in use"
    chooses = stimulus(1.0, 0.0)
    for _ in range(60):
        inputs = chooses(model)
        del inputs["names"]
        inputs.pop("decided", None)
        await lockstep.reset(inputs)
        model = Model(model.ports)
        for _ in range(3 * model.ports):
            inputs = chooses(model)
            shown = model.step(inputs)
            await lockstep.step(inputs, shown)
    await lockstep.step({"closed": (1 << model.ports) - 1})
    await lockstep.step({})
    await lockstep.step({}, {"connected": 0, "targets__0": 0})


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_connection_ends_in_each_of_three_ways(dut):
    """H10: by its input and its name, with all of its input, and by its output; not by what ends all others."""
    lockstep, model = await begun(dut)
    everybody = (1 << model.ports) - 1

    async def step(names, **changes):
        inputs = {"enter": 0, "close_one": 0, "close_mine": 0, "closed": 0, "names": names} | changes
        inputs |= {f"named__{n}": 1 << name for n, name in enumerate(names)}
        shown = model.step(inputs)
        await lockstep.step(inputs, shown)

    for i, o in ((i, o) for i in range(model.ports) for o in range(model.ports) if i != o):
        named = [o] * model.ports
        elsewhere = [o if n != i else i for n in range(model.ports)]
        others, other_outputs = everybody & ~(1 << i), everybody & ~(1 << o)
        for ends in ({"close_one": 1 << i}, {"close_mine": 1 << i}, {"closed": 1 << o}):
            await step(named, decided=(i, o))
            await step(named, enter=1 << i, entered_input=i)
            await step(elsewhere, close_one=everybody, close_mine=others, closed=other_outputs)
            await step(named, close_one=others)
            assert model.table == {o: i}
            await step(named, **ends)
            assert not model.table
            for _ in range(2):
                await step(named)


bench = Bench(
    __name__,
    {name: lambda ports=ports: StatusTable(ports) for name, ports in CONFIGURATIONS.items()},
    ports_only=True,
)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("2 ports", "16 ports")))
def test_status_table(configuration, claim):
    bench.check(configuration, claim)
