"""Bench of hdl/host/cluster.py under cocotb: what is inside, and how its time goes. With software:
verification/software/test_cable.py."""

import random

import cocotb
import pytest

from nectar.hdl.cab.addresses import REG, REGIONS
from nectar.hdl.host.cluster import Cluster
from nectar.hdl.host.numbers import Request
from nectar.hdl.hub.profile import HUB_PROFILES, MODERN
from nectar.software.door import Operation, OperationKind
from nectar.verification.bench import Bench
from nectar.verification.host.session import Session

BIT = 4
DATA = REGIONS["data"].base


def small():
    """The smallest cluster of two."""
    return Cluster(cabs=2, ports=3, profile=MODERN, hub_id=9, data_bytes=4096, period_ps=20_000, bit_cycles=BIT)


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def each_cab_is_reached_and_time_stands_still_between(dut):
    """docs/cable.md: identity; memories of their own; as many edges as the operations take, however long the host
    thinks."""
    session = Session(dut, BIT)
    await session.start()
    assert await session.ask(Request.IDENTIFY) == [
        2 << 24 | 3 << 16 | 9 << 8 | list(HUB_PROFILES).index("modern"),
        20_000,
        12 << 24 | 12 << 16 | 8 << 8,
    ]
    taken = []
    for _ in range(2):
        await session.ask(Request.RESET)
        data = [random.randbytes(40) for _ in range(2)]
        await session.do(
            {
                cab: [Operation(OperationKind.WRITE_BLOCK, DATA, 40, data[cab]), Operation(OperationKind.NOW)]
                for cab in range(2)
            }
        )
        for _ in range(random.randrange(300)):
            await session.cycle()
        assert await session.do({cab: [Operation(OperationKind.READ_BLOCK, DATA, 40)] for cab in range(2)}) == dict(
            enumerate(data)
        )
        config = await session.do({cab: [Operation(OperationKind.READ, REG["CONFIG"].address, 4)] for cab in range(2)})
        assert all(REG["CONFIG"].data.get(word) == 12 for word in config.values())
        taken.append(await session.do({cab: [Operation(OperationKind.NOW)] for cab in range(2)}))
    assert taken[0] == taken[1]


bench = Bench(__name__, {"2 cabs": small}, ports_only=True)


@pytest.mark.nightly
@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_cluster(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)


@pytest.mark.parametrize(
    "parameters, error, message",
    [
        ({"cabs": 5, "ports": 4}, ValueError, "a HUB of 4 ports has no room for 5 CABs"),
        ({"cabs": 0}, ValueError, "1 to 16 CABs, not 0"),
        ({"cabs": 2.0}, TypeError, "must be an integer, not 2.0"),
        ({"bit_cycles": 3}, ValueError, "4 to 65536 cycles, not 3"),
        ({"data_bytes": 5000}, ValueError, "data_bytes must be a power of two"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        Cluster(**parameters)
