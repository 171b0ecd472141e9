"""Bench of hdl/hub/reply_bus.py: replies find their way, in turns, or are lost and told."""

import random

import cocotb
import pytest

from nectar.hdl.hub.reply_bus import ReplyBus
from nectar.verification.bench import Bench, inside
from nectar.verification.hub.lockstep import Lockstep

SIZES = {"2 ports": 2, "5 ports": 5, "16 ports": 16}
OWN = 1 << 24


class Model:
    """One reply a cycle, the ports in turns; what was taken is delivered in the next cycle."""

    def __init__(self, ports):
        self.ports = ports
        self.last = ports - 1
        self.bus = None  # (origin, target or None, reply)
        self.seen = {"delivered": 0, "nowhere": 0, "no room": 0}

    def step(self, inputs):
        """Outputs of this cycle; then what it changes."""
        shown = {"busy": self.bus is not None, "push": 0, "lost": 0, "reply": None}
        if self.bus is not None:
            origin, target, reply = self.bus
            if target is None:
                shown["lost"] = 1 << origin
                self.seen["nowhere"] += 1
            elif inputs["full"] >> target & 1:
                shown["lost"] = 1 << origin
                self.seen["no room"] += 1
            else:
                shown |= {"push": 1 << target, "reply": reply}
                self.seen["delivered"] += 1
        self.bus = None
        taken = None
        for n in ((self.last + distance) % self.ports for distance in range(1, self.ports + 1)):
            if inputs[f"source__{n}__valid"]:
                taken = self.last = n
                payload = inputs[f"source__{n}__payload"]
                target = inputs[f"owner__{n}"] if inputs["connected"] >> n & 1 else None
                self.bus = (n, n if payload & OWN else target, payload & ~OWN)
                break
        shown |= {f"source__{n}__ready": n == taken for n in range(self.ports) if inputs[f"source__{n}__valid"]}
        return shown


class Stimulus:
    """Every source offers at random and holds until it is taken; the table and the room change all the time."""

    def __init__(self, offer, full):
        self.offer, self.full = offer, full
        self.waiting = {}

    def __call__(self, model):
        ports = range(model.ports)
        for n in ports:
            if n not in self.waiting and random.random() < self.offer:
                self.waiting[n] = random.getrandbits(25)
        inputs = {"connected": random.getrandbits(model.ports), "full": sum((random.random() < self.full) << n for n in ports)}
        for n in ports:
            inputs |= {f"owner__{n}": random.randrange(model.ports), f"source__{n}__valid": n in self.waiting,
                       f"source__{n}__payload": self.waiting.get(n, 0)}
        order = ((model.last + distance) % model.ports for distance in range(1, model.ports + 1))
        self.waiting.pop(next((n for n in order if n in self.waiting), None), None)
        return inputs


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def delivers_one_reply_a_cycle_in_turns(dut):
    """H12: a reply waits for at most N - 1 others whatever else goes on, and goes where the connection comes from."""
    model = Model(SIZES[inside()])
    ports = range(model.ports)
    lockstep = Lockstep(dut, ["connected", "full", *(f"owner__{n}" for n in ports),
                              *(f"source__{n}__{pin}" for n in ports for pin in ("payload", "valid"))])
    await lockstep.reset()
    for offer, full in ((0.02, 0.1), (0.2, 0), (1, 0.3), (0.05, 0.9)):
        await lockstep.run(model, Stimulus(offer, full), 300)
    assert all(model.seen.values()), model.seen


bench = Bench(__name__, {name: lambda ports=ports: ReplyBus(ports) for name, ports in SIZES.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_reply_bus(configuration, claim):
    bench.check(configuration, claim)
