"""Bench of hdl/cab/vme/share.py: two want one port."""

import random

import cocotb
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time

from nectar.hdl.cab.access import AccessPort
from nectar.hdl.cab.vme.host import HostPins, HostPort
from nectar.hdl.cab.vme.master import MasterPort
from nectar.hdl.cab.vme.share import ShareAccess, ShareMaster
from nectar.verification.bench import Bench
from nectar.verification.cab.vme.attach import Inside
from nectar.verification.cab.vme.hosting import Host, HostPlug

MAP = 0x100000


class _Both(wiring.Component):
    """Two hosts on one access port; the same share, and the other one, with plain pins.

    Members
    -------
    first, second : Out(HostPins())
    access : Out(AccessPort())
    c, d : In(AccessPort())
    map : Out(AccessPort())
    a, b : In(MasterPort())
    port : Out(MasterPort())

    Timing
    ------
    As theirs.
    """

    first: Out(HostPins())
    second: Out(HostPins())
    access: Out(AccessPort())
    c: In(AccessPort())
    d: In(AccessPort())
    map: Out(AccessPort())
    a: In(MasterPort())
    b: In(MasterPort())
    port: Out(MasterPort())

    def elaborate(self, platform):
        """Nothing but wires."""
        m = Module()
        m.submodules.share = share = ShareAccess()
        connect(m, share.port, flipped(self.access))
        for pins, asker in ((self.first, share.a), (self.second, share.b)):
            host = HostPort(60)
            m.submodules += host
            connect(m, host.pins, flipped(pins))
            connect(m, host.access, asker)
        m.submodules.plain = plain = ShareAccess()
        for pins, asker in ((self.c, plain.a), (self.d, plain.b)):
            connect(m, asker, flipped(pins))
        connect(m, plain.port, flipped(self.map))
        m.submodules.master = master = ShareMaster()
        for name in ("a", "b"):
            connect(m, getattr(master, name), flipped(getattr(self, name)))
        connect(m, master.port, flipped(self.port))
        return m


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def both_hosts_and_the_cpu_count_up_the_same_word(dut):
    """docs/vme.md, host port: under a lock nobody comes between, neither the CPU nor the other; each gets its own
    answers."""
    plug = HostPlug(dut)
    await plug.start()
    inside = Inside(plug, 1024, 0.4)
    inside.memory[:4] = bytes(4)
    counted = [0]

    def cpu():
        if random.random() < 0.1:
            counted[0] += 1
            inside.memory[:4] = (int.from_bytes(inside.memory[:4], "big") + 1).to_bytes(4, "big")

    async def work(prefix, place):
        host = Host(plug, prefix)
        for _ in range(100):
            if random.random() < 0.5:
                host.lock(1)
                good, value = await host.access(MAP)
                assert good and (await host.access(MAP, value + 1))[0]
                host.lock(0)
                counted[0] += 1
            else:
                at, value = place + 4 * random.randrange(16), random.getrandbits(32)
                assert (await host.access(MAP + at, value))[0]
                assert await host.access(MAP + at) == (True, value)
            for _ in range(random.randint(3, 12)):
                await RisingEdge(dut.clk)

    inside.cpu = cpu
    tasks = [cocotb.start_soon(work("first", 256)), cocotb.start_soon(work("second", 512))]
    for task in tasks:
        await task
    inside.cpu = lambda: None
    assert int.from_bytes(inside.memory[:4], "big") == counted[0]


_WIDTHS = {"address": 24, "write": 1, "execute": 1, "select": 4, "write_data": 32}


class _Asker:
    """Asks for accesses at the plain pins ``name``, now and then several under one lock; ``log`` has what it was
    told of each."""

    def __init__(self, plug, name, accesses):
        self.plug, self.name, self.log = plug, name, []
        self.task = cocotb.start_soon(self._run(accesses))

    async def _cycles(self, count):
        for _ in range(count):
            await RisingEdge(self.plug.dut.clk)

    async def _run(self, accesses):
        left = 0  # accesses under the lock
        while len(self.log) < accesses:
            left = left or (random.randint(1, 3) if random.random() < 0.3 else 0)
            self.plug.put(
                **{
                    f"{self.name}__valid": 1,
                    f"{self.name}__lock": left > 0,
                    **{f"{self.name}__{field}": random.getrandbits(width) for field, width in _WIDTHS.items()},
                }
            )
            await self._until("ready")
            self.plug.put(
                **{
                    f"{self.name}__valid": 0,
                    **{f"{self.name}__{field}": random.getrandbits(width) for field, width in _WIDTHS.items()},
                }
            )
            await self._until("done")
            self.log.append((self.plug.get(f"{self.name}__read_data"), self.plug.get(f"{self.name}__error")))
            if left > 1:
                await self._cycles(random.randrange(4))
            else:
                self.plug.put(**{f"{self.name}__lock": 0})
                # Half of them begin in the same cycle as the other's, if that is idle, too.
                await self._cycles(random.choice((1, 2, 12, *3 * [32 - int(get_sim_time("ps") // 62_500) % 32])))
            left = max(left - 1, 0)
        self.plug.put(**{f"{self.name}__lock": 0})

    async def _until(self, pin):
        while True:
            await RisingEdge(self.plug.dut.clk)
            if self.plug.get(f"{self.name}__{pin}"):
                return


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def each_access_arrives_as_it_was_asked_and_in_turn(dut):
    """docs/vme.md, host port: beside VME and in turn with it. Who is alone is not delayed, who has not had the last
    access goes first, one access at a time, a lock keeps the other out; every bit of an access and of its answer, in
    every cycle."""
    plug = HostPlug(dut)
    plug.put(**{f"{name}__{pin}": 0 for name in "cd" for pin in ("valid", "lock")}, map__ready=0, map__done=0)
    await plug.start()
    askers = {name: _Asker(plug, name, 120) for name in "cd"}
    told = {"c": [], "d": []}
    under_way, left, locked, last, both = None, 0, None, None, 0
    while not all(asker.task.done() for asker in askers.values()):
        await RisingEdge(dut.clk)
        wanting = [name for name in "cd" if plug.get(f"{name}__valid")]
        if locked and not plug.get(f"{locked}__lock"):
            locked = None
        if under_way or locked:
            chosen = under_way or locked
        else:
            chosen = next((name for name in wanting if name != last), last)
            both += len(wanting) == 2
        if last or len(wanting) == 1:
            assert plug.get("map__valid") == (chosen in wanting)
        elif wanting:
            chosen = next(
                name
                for name in "cd"
                if all(plug.get(f"map__{field}") == plug.get(f"{name}__{field}") for field in _WIDTHS)
            )
        taken = plug.get("map__valid") and plug.get("map__ready")
        for name in "cd":
            assert plug.get(f"{name}__ready") or not (taken and name == chosen)
            assert not (plug.get(f"{name}__ready") and plug.get(f"{name}__valid")) or name == chosen
            assert plug.get(f"{name}__done") == (plug.get("map__done") and name == under_way)
        if chosen in wanting:
            assert all(plug.get(f"map__{field}") == plug.get(f"{chosen}__{field}") for field in _WIDTHS)
            under_way = last = chosen
        if under_way or locked:
            assert plug.get("map__lock") == plug.get(f"{under_way or locked}__lock")
        if taken:
            left = random.randint(3, 6)
            if plug.get(f"{chosen}__lock"):
                locked = chosen
        if plug.get("map__done"):
            told[under_way].append((plug.get("map__read_data"), plug.get("map__error")))
            under_way = None
        left = max(left - 1, 0)
        plug.put(
            map__ready=under_way is not None and not left and random.random() < 0.6 or random.random() < 0.3,
            map__done=left == 1,
            map__read_data=random.getrandbits(32),
            map__error=random.getrandbits(1),
        )
    assert {name: asker.log for name, asker in askers.items()} == told
    assert both > 15


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_cycle_of_the_bus_belongs_to_one_of_them(dut):
    """docs/vme.md, window: between a first transfer and the last one, or an error, or *finish*, the other waits;
    each is told of its own transfers only."""
    plug = HostPlug(dut)
    plug.put(**{f"{name}__{pin}": 0 for name in "ab" for pin in ("valid", "first", "last", "finish", "address")})
    plug.put(port__ready=0, port__done=0, port__berr=0, port__timeout=0)
    await plug.start()
    log = []  # (address, first, ends)
    completed = {"a": [], "b": []}

    async def bus():
        flying = None
        while True:
            await RisingEdge(dut.clk)
            if plug.get("port__valid") and plug.get("port__ready"):
                flying = random.randint(1, 3)
                berr = random.random() < 0.1
                log.append((plug.get("port__address"), plug.get("port__first"), plug.get("port__last") or berr))
            elif plug.get("port__finish") and flying is None and log:
                log[-1] = (*log[-1][:2], 1)
            done = flying == 1
            flying = None if done else flying and flying - 1
            plug.put(
                port__ready=flying is None and not done and random.random() < 0.6,
                port__done=done,
                port__berr=done and berr,
            )

    async def work(name, base):
        for number in range(120):
            count, stops = random.randint(1, 5), random.random() < 0.3
            for at in range(count):
                plug.put(
                    **{
                        f"{name}__valid": 1,
                        f"{name}__first": at == 0,
                        f"{name}__last": at == count - 1 and not stops,
                        f"{name}__address": base + 8 * number + at,
                    }
                )
                while True:
                    await RisingEdge(dut.clk)
                    if plug.get(f"{name}__ready"):
                        break
                plug.put(**{f"{name}__valid": 0})
                while True:
                    await RisingEdge(dut.clk)
                    if plug.get(f"{name}__done"):
                        break
                completed[name].append(base + 8 * number + at)
                if plug.get(f"{name}__berr"):
                    break
                for _ in range(random.randrange(3)):
                    await RisingEdge(dut.clk)
            else:
                if stops:
                    plug.put(**{f"{name}__finish": 1})
                    for _ in range(2):
                        await RisingEdge(dut.clk)
                    plug.put(**{f"{name}__finish": 0})
            for _ in range(random.randrange(4)):
                await RisingEdge(dut.clk)

    cocotb.start_soon(bus())
    tasks = [cocotb.start_soon(work("a", 0x1000)), cocotb.start_soon(work("b", 0x2000))]
    for task in tasks:
        await task
    for name, base in (("a", 0x1000), ("b", 0x2000)):
        assert completed[name] == [address for address, *_ in log if address & 0xF000 == base]
    owner = None
    changes = 0
    for address, first, ends in log:
        assert first == (owner is None)
        assert owner in (None, address & 0xF000)
        changes += first
        owner = None if ends else address & 0xF000
    assert changes > 100


bench = Bench(__name__, {"both": _Both}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_share(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
