"""Bench of hdl/hub/control/locks.py: who has locked which output."""

import random

import cocotb
import pytest

from nectar.hdl.hub.control.locks import Locks
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep, in_each_cycle

SIZES = {"2 ports": 2, "5 ports": 5, "16 ports": 16}


class Model:
    """The locks as a dict from output to input."""

    def __init__(self, ports):
        self.ports = ports
        self.holders = {}
        self.known = {}  # as ``locked`` and ``owner`` show it: a lock that was released is known for one cycle more
        self.seen = set()
        self.given_back = set()

    def step(self, inputs):
        """What the locks show; then what changes."""
        ports = range(self.ports)
        ended = {o for o in self.known if o not in self.holders}
        shown = {
            "locked": sum(1 << o for o in self.known),
            "ended": sum(1 << o for o in ended),
            "holding": sum((i in self.holders.values()) << i for i in ports),
        }
        for n in ports:
            shown[f"held__{n}"] = sum((i == n) << o for o, i in self.holders.items())
            shown[f"shut__{n}"] = sum((i != n) << o for o, i in self.known.items())
            shown[f"owner__{n}"] = self.known.get(n)
        for o in ended:
            del self.known[o]
        who = inputs["who"].bit_length() - 1
        for o in ports:
            if inputs["change"] >> o & 1:
                self.seen.add((o in self.holders, who >= 0, o in ended, inputs["release"] != 0))
                self.holders.pop(o, None)
                self.known.pop(o, None)
                if who >= 0:
                    self.holders[o] = self.known[o] = who
            elif inputs["give_back"] >> o & 1:
                self.given_back.add((o in ended, o in self.holders))
                self.holders.pop(o, None)
                self.known.pop(o, None)
        self.holders = {o: i for o, i in self.holders.items() if not inputs["release"] >> i & 1}
        return shown


def stimulus(changes, releases):
    """One lock changes at a time; any inputs may release theirs, and any outputs' locks may be given back."""

    def choose(model):
        change = random.random() < changes
        return {
            "change": change << random.randrange(model.ports),
            "who": (change and random.random() < 0.7) << random.randrange(model.ports),
            "release": sum((random.random() < releases) << i for i in range(model.ports)),
            "give_back": sum((random.random() < releases) << o for o in range(model.ports)),
        }

    return choose


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def keeps_all_locks_and_no_other(dut):
    """H9, docs/hub.md, Locks: an output has one lock, an input any number; what is given back is gone at once for
    its holder, and what is given back by its output for all."""
    model = Model(SIZES[inside()])
    lockstep = Lockstep(dut, ["change", "who", "give_back", "release"])
    await lockstep.start()
    for changes, releases in ((0.9, 0.01), (0.5, 0.2), (1, 0), (0.8, 0.5), (0.05, 0.05)):
        await lockstep.follow(model.step, in_each_cycle(stimulus(changes, releases), model, 400))
    assert {(had, gets) for had, gets, *_ in model.seen} == {
        (had, gets) for had in (False, True) for gets in (False, True)
    }
    assert any(ended for _, _, ended, _ in model.seen), "no lock changed in the cycle after its release"
    assert model.given_back == {(False, False), (True, False), (False, True)}
    everybody = {"change": 0, "who": 0, "give_back": 0, "release": (1 << model.ports) - 1}
    for inputs in (everybody, dict.fromkeys(everybody, 0), dict.fromkeys(everybody, 0)):
        await lockstep.step(inputs, model.step(inputs))
    assert lockstep.pin("locked") == 0


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_reset_of_one_cycle_ends_all_locks(dut):
    """docs/hub.md, "Reset hub": whoever holds them, and whatever changes just then."""
    lockstep = Lockstep(dut, ["change", "who", "give_back", "release"])
    await lockstep.start()
    for _ in range(20):
        model = Model(SIZES[inside()])
        await lockstep.follow(model.step, in_each_cycle(stimulus(1, 0.01), model, 3 * model.ports))
        await lockstep.reset()
        model = Model(SIZES[inside()])
        await lockstep.follow(model.step, in_each_cycle(stimulus(0, 0), model, 2))


bench = Bench(__name__, {name: lambda ports=ports: Locks(ports) for name, ports in SIZES.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("2 ports", "16 ports")))
def test_locks(configuration, claim):
    bench.check(configuration, claim)
