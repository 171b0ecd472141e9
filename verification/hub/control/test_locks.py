"""Bench of hdl/hub/control/locks.py: who has locked which output."""

import random

import cocotb
import pytest

from nectar.hdl.hub.control.locks import Locks
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep, in_each_cycle
from nectar.verification.specs.locks import LockSpec
from nectar.verification.specs.spec import Follower, column

SIZES = {"2 ports": 2, "5 ports": 5, "16 ports": 16}


class Model:
    """The locks of all outputs."""

    def __init__(self, ports):
        self.ports = ports
        self.outputs = [Follower(LockSpec(ports)) for _ in range(ports)]
        self.seen = set()
        self.given_back = set()

    def step(self, inputs):
        """What the locks show; then what changes."""
        ports, states = range(self.ports), [output.state for output in self.outputs]
        found = []
        for o, output in enumerate(self.outputs):
            given = inputs | {name: inputs[name] >> o & 1 for name in ("change", "give_back")}
            found.append(output.step(given))
            held, ended = states[o].holder != 0, bool(found[o]["ended"])
            if given["change"]:
                self.seen.add((held, inputs["who"] != 0, ended, inputs["release"] != 0))
            elif given["give_back"]:
                self.given_back.add((ended, held))
        return {
            **{name: sum(found[o][name] << o for o in ports) for name in ("locked", "ended")},
            "holding": sum(any(each["held"] >> i & 1 for each in found) << i for i in ports),
            **{f"{name}__{i}": column([each[name] for each in found], i) for name in ("held", "shut") for i in ports},
            **{f"owner__{o}": found[o]["owner"] for o in ports},
        }


def stimulus(changes, releases):
    """One lock changes at a time; any inputs may release theirs, and any outputs' locks may be given back."""

    def choose(model):
        change = random.random() < changes
        given = change and random.random() < 0.7
        return {
            "change": change << random.randrange(model.ports),
            "who": given << random.randrange(model.ports),
            "given": given,
            "release": sum((random.random() < releases) << i for i in range(model.ports)),
            "give_back": sum((random.random() < releases) << o for o in range(model.ports)),
        }

    return choose


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def keeps_all_locks_and_no_other(dut):
    """H9, docs/hub.md, Locks: an output has one lock, an input any number; what is given back is gone at once for
    its holder, and what is given back by its output for all."""
    model = Model(SIZES[inside()])
    lockstep = Lockstep(dut, ["change", "who", "given", "give_back", "release"])
    await lockstep.start()
    for changes, releases in ((0.9, 0.01), (0.5, 0.2), (1, 0), (0.8, 0.5), (0.05, 0.05)):
        await lockstep.follow(model.step, in_each_cycle(stimulus(changes, releases), model, 400))
    assert {(had, gets) for had, gets, *_ in model.seen} == {
        (had, gets) for had in (False, True) for gets in (False, True)
    }
    assert any(ended for _, _, ended, _ in model.seen), "no lock changed in the cycle after its release"
    assert model.given_back == {(False, False), (True, False), (False, True)}
    everybody = {"change": 0, "who": 0, "given": 0, "give_back": 0, "release": (1 << model.ports) - 1}
    for inputs in (everybody, dict.fromkeys(everybody, 0), dict.fromkeys(everybody, 0)):
        await lockstep.step(inputs, model.step(inputs))
    assert lockstep.pin("locked") == 0


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_reset_of_one_cycle_ends_all_locks(dut):
    """docs/hub.md, "Reset hub": whoever holds them, and whatever changes just then."""
    lockstep = Lockstep(dut, ["change", "who", "given", "give_back", "release"])
    await lockstep.start()
    for releases in (0.01, 0.3) * 10:
        model = Model(SIZES[inside()])
        choose = stimulus(1, releases)
        await lockstep.follow(model.step, in_each_cycle(choose, model, 3 * model.ports))
        await lockstep.reset(choose(model))
        model = Model(SIZES[inside()])
        await lockstep.follow(model.step, in_each_cycle(stimulus(0, 0), model, 2))


bench = Bench(__name__, {name: lambda ports=ports: Locks(ports) for name, ports in SIZES.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("2 ports", "16 ports")))
def test_locks(configuration, claim):
    bench.check(configuration, claim)
