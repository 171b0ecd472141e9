"""Bench of hdl/cab/vme/share.py: two want one port."""

import random

import cocotb
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from cocotb.triggers import RisingEdge

from nectar.hdl.cab.access import AccessPort
from nectar.hdl.cab.vme.host import HostPins, HostPort
from nectar.hdl.cab.vme.master import MasterPort
from nectar.hdl.cab.vme.share import ShareAccess, ShareMaster
from nectar.verification.bench import Bench
from nectar.verification.cab.vme.attach import Inside
from nectar.verification.cab.vme.hosting import Host, HostPlug

MAP = 0x100000


class _Both(wiring.Component):
    """Two hosts on one access port; and the other share with plain pins.

    Members
    -------
    first, second : Out(HostPins())
    access : Out(AccessPort())
    a, b : In(MasterPort())
    port : Out(MasterPort())

    Timing
    ------
    As theirs.
    """

    first: Out(HostPins())
    second: Out(HostPins())
    access: Out(AccessPort())
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
        m.submodules.master = master = ShareMaster()
        for name in ("a", "b"):
            connect(m, getattr(master, name), flipped(getattr(self, name)))
        connect(m, master.port, flipped(self.port))
        return m


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def both_hosts_and_the_cpu_count_up_the_same_word(dut):
    """docs/vme.md, host port: under a lock nobody comes between, neither the CPU nor the other; each gets its own answers."""
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


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_cycle_of_the_bus_belongs_to_one_of_them(dut):
    """docs/vme.md, window: between a first transfer and the last one, or an error, or *finish*, the other waits; each is told of
    its own transfers only."""
    plug = HostPlug(dut)
    plug.put(**{f"{name}__{pin}": 0 for name in "ab" for pin in ("valid", "first", "last", "finish", "address")})
    plug.put(port__ready=0, port__done=0, port__berr=0, port__timeout=0)
    await plug.start()
    log = []       # (address, first, ends)
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
            plug.put(port__ready=flying is None and not done and random.random() < 0.6, port__done=done,
                     port__berr=done and berr)

    async def work(name, base):
        for number in range(120):
            count, stops = random.randint(1, 5), random.random() < 0.3
            for at in range(count):
                plug.put(**{f"{name}__valid": 1, f"{name}__first": at == 0, f"{name}__last": at == count - 1 and not stops,
                            f"{name}__address": base + 8 * number + at})
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
