"""Bench of hdl/hub/hub.py: the whole HUB under random legal traffic on all ports at once, judged by the reference model.

The claims about single facts are in ``claims_commands.py``, ``claims_network.py`` and ``claims_misuse.py``; they run here too, on the same
simulation.
"""

import random

import cocotb
import pytest

from nectar.verification.bench import Bench
from nectar.verification.hub import claims_commands, claims_misuse, claims_network
from nectar.verification.hub.monitors import Pins, always, randomly, seven_of_eight
from nectar.verification.hub.reference import judge
from nectar.verification.hub.scene import HUB, NEEDED
from nectar.verification.hub.traffic import Neighbour, audit, transactions

for module in (claims_commands, claims_network, claims_misuse):
    globals().update({name: item for name, item in vars(module).items() if name in NEEDED})


async def traffic(dut, count, *, gap=0.0, take=always, longest=0, late=0.1):
    """``count`` random transactions from every port, then the error counters and the connections of all ports; returns the verdict."""
    pins = Pins(dut, HUB)
    rng = random.Random(random.getrandbits(64))
    bed = await pins.reset([Neighbour(port, rng, transactions(port, pins.ports, HUB, rng, count, longest), gap=gap, take=take, late=late)
                            for port in range(pins.ports)])
    await pins.drain(200_000)
    before = bed.now
    bed.endpoints[rng.randrange(pins.ports)].then(audit(pins.ports, HUB))
    await pins.drain(20_000)
    verdict = judge(bed.recording, HUB)
    cocotb.log.info("%d cycles, then %d; %d packets, %d grants, %d refused, %d replies, %d errors", before, bed.now - before, verdict.packets,
                    verdict.grants, verdict.refused, verdict.replies, sum(map(len, verdict.errors)))
    return verdict


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def random_traffic_at_full_speed(dut):
    """H1, H9 to H16 at once: no pause at any source, no fiber ever busy."""
    await traffic(dut, 40)


def _hub(ports):
    def make():
        from nectar.hdl.hub.hub import Hub
        return Hub(ports=ports)
    return make


bench = Bench(__name__, {f"{ports} ports": _hub(ports) for ports in (16, 5, 2)}, ports_only=True)


#: A claim that needs more ports than a configuration has shows nothing there.
CASES = [(configuration, claim) for configuration, claim in bench.cases() if int(configuration.split()[0]) >= NEEDED.get(claim, 2)]


@pytest.mark.parametrize("configuration, claim", CASES)
def test_hub(configuration, claim):
    """Each claim on each size of HUB."""
    bench.check(configuration, claim)
