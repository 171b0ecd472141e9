"""Bench of hdl/cab/bus.py: requests in order, one each, at most one a cycle, wherever they go and whoever is in the
way."""

import random

import cocotb
import pytest

from nectar.hdl.cab.addresses import REGIONS
from nectar.hdl.cab.bus import CpuBus
from nectar.verification.bench import Bench
from nectar.verification.cab.lockstep import HandClock

SIZE = 4 << 10
DATA, REGISTERS = REGIONS["data"].base, REGIONS["registers"]
INPUTS = ("bus__valid", "bus__address", "bus__write", "bus__select", "bus__write_data", "memory__ready", "memory_data",
          "registers__read_data", "registers__error")
LATENCY = 2      # cycles from the access to its response at the pins


def place(address):
    """Which part of the board an address belongs to."""
    if DATA <= address < DATA + SIZE:
        return "memory"
    return "registers" if REGISTERS.base <= address < REGISTERS.end else "nowhere"


def random_request():
    """Address, write, select, data."""
    in_data, in_registers = DATA + random.randrange(SIZE), REGISTERS.base + random.randrange(REGISTERS.size)
    edge = random.choice([DATA - 1, DATA + SIZE, REGISTERS.base - 1, REGISTERS.end])
    address = random.choice([in_data, in_data, in_registers, edge, random.getrandbits(24)])
    return {"bus__address": address, "bus__write": random.getrandbits(1), "bus__select": random.getrandbits(4),
            "bus__write_data": random.getrandbits(32)}


class Watch:
    """One cycle of the bus after the other, compared with a list of requests."""

    def __init__(self, dut):
        self.clock = HandClock(dut)
        self.waiting = []       # requests taken and not yet done
        self.responses = {}     # cycle → (data, error); data of a load from memory comes a cycle after the access
        self.offered = None
        self.taken = self.done = self.refused = 0

    async def start(self):
        """Resets."""
        await self.clock.start(*INPUTS)

    async def cycle(self, wants, memory_ready):
        """One cycle: the CPU may want something, the memory may be ready."""
        clock = self.clock
        if self.offered is None and wants:
            self.offered = random_request()
        error = random.random() < 0.3
        reads = self.waiting and place(self.waiting[0]["bus__address"]) == "registers" and not self.waiting[0]["bus__write"]
        clock.drive(bus__valid=self.offered is not None, memory__ready=memory_ready, memory_data=random.getrandbits(32),
                    registers__read_data=random.getrandbits(32) if reads and not error else 0, registers__error=error,
                    **(self.offered or {}))
        await clock.settle()
        now, given, pin = clock.cycles, clock.inputs, lambda name: int(clock.handle(name).value)

        # The load done in the cycle before gets its word now.
        for cycle, (data, error) in self.responses.items():
            if data == "memory" and cycle == now + 1:
                self.responses[cycle] = given["memory_data"], error
        assert pin("idle") == (not self.waiting and not self.responses), "idle while something is under way, or not idle"
        expected = self.responses.pop(now, None)
        assert pin("bus__done") == (expected is not None), f"cycle {now}: response"
        if expected is not None:
            assert (pin("bus__read_data"), pin("bus__error")) == expected, f"cycle {now}"
            self.done += 1

        self._access(now, given, pin)
        if self.offered is not None and pin("bus__ready"):
            self.waiting.append(self.offered)
            self.offered = None
            self.taken += 1
        self.refused += not pin("bus__ready")
        await clock.edge()
        return pin

    def _access(self, now, given, pin):
        request = self.waiting[0] if self.waiting else None
        where = request and place(request["bus__address"])
        for target in ("memory", "registers"):
            assert pin(f"{target}__valid") == (where == target), f"cycle {now}: {target}"
        if request is None:
            return
        write = request["bus__write"]
        if where == "memory":
            assert pin("memory__address") == (request["bus__address"] - DATA) // 4
            assert (pin("memory__write"), pin("memory__select")) == (write, request["bus__select"])
            assert not write or pin("memory__data") == request["bus__write_data"]
            response = 0 if write else "memory", 0
        elif where == "registers":
            assert pin("registers__offset") == (request["bus__address"] - REGISTERS.base) // 4
            assert (pin("registers__write"), pin("registers__select")) == (write, request["bus__select"])
            assert pin("registers__write_data") == request["bus__write_data"]
            response = given["registers__read_data"], given["registers__error"]
        else:
            response = 0, 1
        if where != "memory" or given["memory__ready"]:
            self.waiting.pop(0)
            self.responses[now + LATENCY] = response


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def every_request_is_done_once_in_order_and_answered(dut):
    """docs/cab.md, CPU bus: whatever the CPU asks and however long the memory makes it wait."""
    watch = Watch(dut)
    await watch.start()
    for wants in (0.2, 0.8, 1):
        for ready in (1, 0.7, 0.3):
            for _ in range(700):
                await watch.cycle(random.random() < wants, random.random() < ready)
    for _ in range(10):
        await watch.cycle(False, True)
    assert watch.done == watch.taken > 1000 and watch.refused > 100


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def it_is_ready_in_every_cycle_unless_the_memory_is_not(dut):
    """docs/cab.md, CPU bus: requests may follow each other in every cycle."""
    watch = Watch(dut)
    await watch.start()
    for _ in range(500):
        await watch.cycle(True, True)
    assert watch.taken == 500 and not watch.refused


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_memory_that_is_ready_is_used_at_once(dut):
    """docs/cab.md, CPU bus: after a wait no cycle is lost; with enough requests there is an access whenever there can
    be one."""
    watch = Watch(dut)
    await watch.start()
    await watch.cycle(True, False)
    for _ in range(2000):
        before = len(watch.waiting)
        assert before > 0, "nothing to do although the CPU wants something in every cycle"
        await watch.cycle(True, random.random() < 0.5)


bench = Bench(__name__, {"bus": lambda: CpuBus(SIZE)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_bus(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
