"""Bench of hdl/host/cable.py: a host at the serial line, undisturbed and disturbed, and CABs that are memories."""

import random

import cocotb
import pytest

from nectar.hdl.host.cable import Cable
from nectar.hdl.host.numbers import Reason, Request
from nectar.software.door import Operation, OperationKind
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Port, ports
from nectar.verification.host.session import Session, disturbed

IDENTITY = [0x02030405, 62500, 0x0F0C0800]
BIT = 4


class Memories:
    """A memory at each bus, which answers in the edge behind that at which a request is taken."""

    def __init__(self, dut):
        self.pins = [
            {
                name: Port(f"bus_{n}__{name}")
                for name in ("valid", "address", "write", "select", "write_data", "done", "read_data")
            }
            for n in range(int(inside().split()[0]))
        ]
        self.top = ports(dut)
        self.stores = [[] for _ in self.pins]
        self.content = [{} for _ in self.pins]
        self.edges = 0
        dut.irq.value = 0
        dut.quiet.value = 0
        for n, pins in enumerate(self.pins):
            for name in "ready", "done", "error", "read_data":
                getattr(dut, f"bus_{n}__{name}").value = int(name == "ready")
        self.next = [None] * len(self.pins)

    def sample(self):
        """Before an edge: what the boards do at it, if they have one."""
        if not self.top.tick.value:
            return
        self.edges = 0 if self.top.reset.value else self.edges + 1
        self.next = [self._edge(pins, n) for n, pins in enumerate(self.pins)]

    def drive(self):
        """After the edge."""
        for pins, answer in zip(self.pins, self.next, strict=True):
            pins["done"].value = int(answer is not None)
            if answer is not None:
                pins["read_data"].value = answer

    def _edge(self, pins, n):
        if not pins["valid"].value:
            return None
        address, select = pins["address"].value, pins["select"].value
        if not pins["write"].value:
            return self.content[n].get(address, 0)
        data = pins["write_data"].value
        mask = sum(0xFF << 8 * lane for lane in range(4) if select >> lane & 1)
        self.content[n][address] = self.content[n].get(address, 0) & ~mask | data & mask
        self.stores[n].append((address, data & mask))
        return 0


class Bus(Session):
    """A session whose CABs are memories."""

    def __init__(self, dut, rate=0.0):
        super().__init__(dut, BIT, disturbed(rate))
        self.memories = self.clock.attach(Memories(dut))


async def _session(dut, rate, blocks):
    bus = Bus(dut, rate)
    await bus.start()
    assert await bus.ask(Request.IDENTIFY) == IDENTITY
    assert await bus.ask(Request.RESET) == [Reason.LIMIT, 0, 0]
    for _ in range(blocks):
        work, written = {}, {}
        for cab in range(len(bus.memories.pins)):
            address, data, single = (
                random.randrange(1 << 20),
                random.randbytes(random.choice((1, 5, 30, 100))),
                random.getrandbits(32),
            )
            work[cab] = [
                Operation(OperationKind.WRITE_BLOCK, address, len(data), data),
                Operation(OperationKind.SPEND, 0, 0, 50),
                Operation(OperationKind.WRITE, 0x200000, 4, single),
                Operation(OperationKind.READ_BLOCK, address, len(data)),
            ]
            written[cab] = address, data, single
            bus.memories.stores[cab].clear()
        assert await bus.do(work) == {cab: data for cab, (_, data, _) in written.items()}
        for cab, (address, data, single) in written.items():
            end = (address & ~3) + (address % 4 + len(data) + 3) // 4 * 4
            assert [where for where, _ in bus.memories.stores[cab]] == [*range(address & ~3, end, 4), 0x200000], (
                "a store was lost or done twice"
            )
            assert bus.memories.content[cab][0x200000] == single
    return bus.repeats


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def operations_reach_the_bus_and_results_the_host(dut):
    """docs/cable.md: identity, reset, stores and loads of any alignment; each request is answered the first time."""
    assert await _session(dut, 0.0, 2) == 0


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def nothing_is_lost_or_done_twice_on_a_bad_line(dut):
    """docs/cable.md: bytes are lost, doubled, damaged and invented in both directions; every store is made exactly
    once."""
    assert await _session(dut, 0.006, 3) > 0


bench = Bench(__name__, {"2 cabs": lambda: Cable(2, IDENTITY, BIT)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_cable(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)


def test_parameters_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="1 to 16 CABs, not 0"):
        Cable(0, IDENTITY, BIT)
    with pytest.raises(ValueError, match="4 to 65536 cycles, not 2"):
        Cable(1, IDENTITY, 2)
