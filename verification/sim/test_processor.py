"""The engine's processors against ``software.backends.processor``, edge by edge, on the real board.

Random software runs on the engine while the CAB's pins are recorded. Then the same software runs on the reference
processor, which is given what the pins showed at each edge: it must drive the same requests at the same edges, and its
software must see the same values at the same times.
"""

import pytest

from nectar.hdl.cab.addresses import REG, REGIONS, Irq
from nectar.sim.topology import Topology
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.backends.processor import Processor
from nectar.software.door import STORE, BusError, Door, Operation, OperationKind
from nectar.verification import seeds
from nectar.verification.sim.traffic import run
from nectar.verification.sim.vcd import read

DATA = REGIONS["data"].base
PINS = (
    "clk",
    "irq",
    "bus__valid",
    "bus__ready",
    "bus__address",
    "bus__write",
    "bus__select",
    "bus__write_data",
    "bus__done",
    "bus__read_data",
    "bus__error",
)
LIMIT_PS = 5_000_000_000
#: What each interrupt begins with, if that is not the handler's: operations of which the last one has a result.
FIRST = (
    Operation(OperationKind.WRITE, DATA + 256, 4, 77),
    Operation(OperationKind.SPEND, 0, 0, 3),
    Operation(OperationKind.READ, REG["IRQ_PENDING"].address, 4),
)


class Software:
    """Random software; ``seen`` is all that it learns. With odd seeds each interrupt begins with FIRST."""

    def __init__(self, door, seed):
        self.door = door
        self.first = FIRST if seed % 2 else ()
        self.random = seeds.rng(seed)
        self.seen = []

    async def some(self, tag):
        """A random operation."""
        door, rng = self.door, self.random
        what = rng.choice(
            ("write", "write", "post", "block", "spend", "spend", "read", "read", "load", "now", "hole", "store hole")
        )
        size = rng.choice((1, 2, 4))
        address = DATA + rng.randrange(64) * 4 + rng.randrange(0, 4, size)
        try:
            if what == "write":
                door.write(address, rng.getrandbits(40) - (1 << 39), size)
            elif what == "post":
                for number in range(rng.randrange(4)):
                    door.post(
                        (STORE, DATA + 4 * number, 4, rng.getrandbits(32), int(OperationKind.SPEND), 0, 0, number)
                    )
            elif what == "block":
                door.write_block(DATA + rng.randrange(64), rng.randbytes(rng.randrange(1, 23)))
            elif what == "spend":
                door.spend(rng.choice((0, 1, 2, 3, rng.randrange(60))))
            elif what == "read":
                self.seen.append((tag, await door.read(address, size)))
            elif what == "load":
                self.seen.append((tag, await door.read_block(DATA + rng.randrange(64), rng.randrange(0, 23))))
            elif what == "now":
                self.seen.append((tag, await door.now()))
            elif what == "hole" and not rng.randrange(3):
                await door.read_block(REG["ID"].address + rng.randrange(3), 13)
            elif what == "store hole" and not rng.randrange(3):
                door.write(REGIONS["vme"].base + 4 * rng.randrange(9), 1, size)
                self.seen.append((tag, await door.read(address & ~3)))
        except BusError as error:
            self.seen.append((tag, "refused", error.address, error.write))

    async def alarm(self, cycles):
        """Arms the timer."""
        now = await self.door.read(REG["TIMER_NOW"].address)
        self.door.write(REG["TIMER_COMPARE"].address, now + cycles)
        self.seen.append(("alarm", now))

    async def interrupt(self, pending=None):
        """The handler; it returns now and then that level 0 need not hear of it."""
        assert (pending is None) == (not self.first)
        if pending is None:
            pending = await self.door.read(REG["IRQ_PENDING"].address)
        self.seen.append(("interrupt", pending, await self.door.now()))
        self.door.write(REG["IRQ_PENDING"].address, 1 << Irq.TIMER | 1 << Irq.ERROR)
        for _ in range(self.random.randrange(4)):
            await self.settled("handler")
        await self.alarm(self.random.choice((5, 30, 200)))
        await self.settled("handler")
        alone = not self.random.randrange(3)
        self.seen.append(("returns", alone))
        return alone

    async def settled(self, tag):
        """A random operation, and an error of a store heard of."""
        await self.some(tag)
        try:
            await self.door.read(DATA)
        except BusError as error:
            self.seen.append((tag, "refused late", error.address, error.write))

    async def main(self):
        door, rng = self.door, self.random
        door.attach(self.interrupt, self.first)
        door.write(REG["IRQ_ENABLE"].address, 1 << Irq.TIMER)
        await self.alarm(50)
        for step in range(300):
            await self.some(step)
            if not rng.randrange(12):
                door.mask()
            if not rng.randrange(6):
                door.unmask()
            if not rng.randrange(15):
                door.unmask()
                try:
                    await door.wait()
                except BusError as error:
                    self.seen.append((step, "refused in wait", error.address, error.write))
                self.seen.append((step, await door.now()))
        await self.settled("end")
        door.attach(None)
        self.seen.append(("end", await door.now()))


def on_engine(seed, path):
    topology = Topology("pair").cab("CAB1").cab("CAB2").fiber("CAB1", "CAB2")
    machine = EngineMachine(topology, waves=path, wave_boards=["CAB1"])
    software = Software(machine.doors["CAB1"], seed)
    machine.start("CAB1", software.main())
    run(machine, LIMIT_PS)
    machine.close()
    return software.seen


@pytest.mark.parametrize("seed", range(6))
def test_the_engine_does_what_the_reference_does_at_every_edge(tmp_path, seed):
    path = tmp_path / "cab.vcd"
    seen = on_engine(seed, path)
    pins = {pin: signal for pin, signal in zip(PINS, read(path, [f"CAB1.cab.board.{pin}" for pin in PINS]).values())}
    door = Door(16e6)
    software = Software(door, seed)
    processor = Processor(door, software.main())
    request = None
    for number, time in enumerate(pins["clk"].rises()):
        value = {pin: signal.before(time) for pin, signal in pins.items()} if time else dict.fromkeys(PINS, 0)
        assert value["bus__valid"] == (request is not None), f"edge {number}"
        if request is not None:
            driven = tuple(value[f"bus__{pin}"] for pin in ("address", "write", "select"))
            assert driven == (request.address, request.write, request.select), f"edge {number}"
            if request.write:
                assert value["bus__write_data"] == request.data, f"edge {number}"
        if number >= 4:
            request = processor.edge(
                bool(value["bus__done"]),
                value["bus__read_data"],
                bool(value["bus__error"]),
                bool(value["bus__ready"]),
                bool(value["irq"]),
            )
    assert software.seen == seen
    assert seen[-1][0] == "end"
    assert any(item[0] == "interrupt" for item in seen) and any("refused" in item for item in seen)
    assert {("returns", True), ("returns", False)} <= set(seen)
