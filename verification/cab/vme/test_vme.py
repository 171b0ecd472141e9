"""Bench of hdl/cab/vme/vme.py: everything at once."""

import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from nectar.hdl.cab.vme.numbers import Modifier
from nectar.hdl.cab.vme.registers import VME_REG
from nectar.hdl.cab.vme.vme import Vme
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.vme.asking import entry, look, set_window
from nectar.verification.cab.vme.boards import BusMaster, BusSlave
from nectar.verification.cab.vme.hosting import Host
from nectar.verification.cab.vme.testbench import A24_BASE, A32_BASE, VmeTestbench, configurations
from nectar.verification.cab.vme.waiting import between, pause

BASE, MAP = 0x400000, 0x100000
INTERRUPT, STATUS = VME_REG["VME_INTERRUPT"], VME_REG["VD_STATUS"]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def everything_at_once_keeps_every_rule_and_every_byte(dut):
    """C2, C7: the node reads, writes and acknowledges; DMA both ways; the CPU's window; a host on the synchronous port;
    each has bytes of its own, and no rule of the bus is broken."""
    tb = await VmeTestbench(dut, inside(), level=random.randrange(4)).start()
    slave = BusSlave(tb.bus, BASE, 2048, delay=(31, 300))
    near, far = bytearray(tb.inside.memory), bytearray(slave.bytes)
    await set_window(tb.inside, BASE, Modifier.A24_USER_DATA)
    acknowledged = []

    async def node():
        # Bytes 0 to 1023 of data memory.
        master = BusMaster(tb.bus, tb.node.name)
        for _ in range(40):
            await pause(between(0, 3000))
            await tb.node.get_bus()
            level = next((level for level in range(7, 0, -1) if not tb.bus.level(f"irq{level}")), None)
            if level:
                answer = await master.acknowledge(level)
                assert answer.good
                acknowledged.append(answer.value)
            else:
                base, block = random.choice(((A24_BASE, Modifier.A24_USER_BLOCK), (A32_BASE, Modifier.A32_USER_BLOCK)))
                first, count = random.randrange(32), random.randint(1, 32)
                place = random.randrange(4) * 256 + 4 * first
                if random.random() < 0.5:
                    words = [random.getrandbits(32) for _ in range(count)]
                    answers = await master.block(base + MAP + place, 4, words, modifier=block)
                    near[place : place + 4 * count] = b"".join(word.to_bytes(4, "big") for word in words)
                else:
                    answers = await master.block(base + MAP + place, 4, count=count, modifier=block)
                    await pause(10 * tb.period)
                    assert (
                        b"".join(answer.value.to_bytes(4, "big") for answer in answers)
                        == near[place : place + 4 * count]
                    )
                assert all(answer.good for answer in answers)
            await tb.node.give_bus()

    async def host():
        # Bytes 1024 to 1279.
        port = Host(tb.plug, "host")
        for _ in range(150):
            place, word = 1024 + 4 * random.randrange(64), random.getrandbits(32)
            if random.random() < 0.5:
                select = random.getrandbits(4)
                assert (await port.access(MAP + place, word, select))[0]
                for lane, byte in enumerate(word.to_bytes(4, "big")):
                    if select >> 3 - lane & 1:
                        near[place + lane] = byte
            else:
                assert await port.access(MAP + place) == (True, int.from_bytes(near[place : place + 4], "big"))
            await pause(between(0, 1000))

    async def cpu():
        # Bytes 0 to 255 of VME's memory by the window, the rest and bytes 1280 and on here by DMA; interrupts.
        sent = []
        for number in range(24):
            length = random.randrange(300)
            here, there = random.randrange(1280, 4096 - length), random.randrange(256, 2048 - length)
            send = random.randrange(2)
            assert await entry(
                tb.inside,
                send,
                MAP + here,
                BASE + there,
                length,
                random.choice((Modifier.A24_SUPER_BLOCK, Modifier.A24_SUPER_DATA)),
                notify=1,
            )
            if send:
                far[there : there + length] = near[here : here + length]
            else:
                near[here : here + length] = far[there : there + length]
            if await tb.inside.write(
                "vme_interrupt", INTERRUPT.level.put(random.randint(1, 7)) | INTERRUPT.vector.put(number)
            ):
                sent.append(number)
            place, word = 4 * random.randrange(64), random.getrandbits(32)
            assert await look(tb.plug, BASE + place, 15, word) == 0
            far[place : place + 4] = word.to_bytes(4, "big")
            while tb.inside.events["done"] <= number:
                await pause(20 * tb.period)
        return sent

    tasks = [cocotb.start_soon(work()) for work in (cpu, node, host)]
    sent = await tasks[0]
    for task in tasks[1:]:
        await task
    await pause(20 * tb.period)
    assert tb.inside.memory == near and slave.bytes == far
    assert set(acknowledged) <= set(sent) and len(set(acknowledged)) == len(acknowledged)
    assert tb.inside.events["taken"] == len(acknowledged)
    tb.checker.done()


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def a_board_reaches_itself_over_the_bus(dut):
    """docs/vme.md, rate: master and slave of boards with the same clock; here they are the same board."""
    tb = await VmeTestbench(dut, inside(), slow=0).start()
    model = bytearray(tb.inside.memory)
    await set_window(tb.inside, A24_BASE, Modifier.A24_USER_DATA)
    assert await look(tb.plug, MAP + 8) == int.from_bytes(model[8:12], "big")
    falls = []
    tb.bus.watch(lambda name, old, new: falls.append(tb.bus.now()) if name == "ds0" and old and not new else None)
    for send in (0, 1):
        falls.clear()
        assert await entry(tb.inside, send, MAP + 1024, A32_BASE + MAP + 512, 256, Modifier.A32_USER_BLOCK)
        while tb.inside.events["done"] == send:
            await pause(20 * tb.period)
        if send:
            model[512:768] = model[1024:1280]
        else:
            model[1024:1280] = model[512:768]
        assert tb.inside.memory == model
        tb.inside.memory[512:768] = model[512:768] = random.randbytes(256)
        tb.inside.memory[1024:1280] = model[1024:1280] = random.randbytes(256)
        dut._log.info(f"{4 * 63 / (falls[-1] - falls[0]) * 1000:.2f} Mbyte/s between boards at {tb.period} ns")
    tb.checker.done()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def the_host_asks_the_map_for_the_address_that_it_has(dut):
    """docs/vme.md, host port: 24 bits of address, whatever lies there."""
    tb = await VmeTestbench(dut, inside()).start()
    port = Host(tb.plug, "host")
    for _ in range(40):
        address = random.getrandbits(22) << 2
        await port.access(address)
        assert tb.inside.accesses.pop()[0] == address and not tb.inside.accesses


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def status_registers_show_their_fields_and_nothing_else(dut):
    """registers.VME_INTERRUPT, VD_STATUS: what is written besides the fields is ignored, and reads as 0; how many
    entries have ended is told while others wait."""
    tb = await VmeTestbench(dut, inside()).start()
    levels = 0
    for level in random.sample(range(1, 8), 7):
        fields = INTERRUPT.level.put(level) | INTERRUPT.vector.put(random.getrandbits(8))
        assert await tb.inside.write(
            "vme_interrupt", fields | random.getrandbits(32) & ~(INTERRUPT.level.put(7) | INTERRUPT.vector.put(255))
        )
        levels |= 1 << level - 1
        assert await tb.inside.read("vme_interrupt") == INTERRUPT.pending.put(levels)
    BusSlave(tb.bus, BASE, 2048, delay=(31, 100))
    for ended in range(3):
        for waiting in range(12):
            assert await entry(tb.inside, 1, MAP, BASE, 16, Modifier.A24_USER_DATA, notify=waiting == 11)
            status = await tb.inside.read("vd_status")
            assert STATUS.done.get(status) == ended
            assert status == sum(
                getattr(STATUS, name).put(getattr(STATUS, name).get(status))
                for name in ("free", "busy", "owner", "done")
            )
        while STATUS.busy.get(await tb.inside.read("vd_status")) or tb.inside.events["done"] == ended:
            await pause(20 * tb.period)
        assert STATUS.done.get(await tb.inside.read("vd_status")) == ended + 1


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_bell_and_sysreset_and_idle_are_told(dut):
    """docs/vme.md: the node's way to call the CAB; SYSRESET*; nothing under way."""
    tb = await VmeTestbench(dut, inside()).start()
    await pause(10 * tb.period)
    assert tb.plug.get("idle") == 1
    assert await tb.inside.write("vme_bell", 0)
    await pause(3 * tb.period)
    assert tb.inside.events["bell"] == 1
    tb.bus.set("system", "sysreset", 0)
    await pause(4 * tb.period)
    assert tb.plug.get("sysreset") == 1
    tb.bus.set("system", "sysreset", 1)
    await pause(4 * tb.period)
    assert tb.plug.get("sysreset") == 0
    for line in ("as", "ds0", "ds1"):  # each by itself, and until the end has been seen
        assert tb.plug.get("idle") == 1
        tb.bus.set("system", line, 0)
        await pause(4 * tb.period)
        assert tb.plug.get("idle") == 0
        await RisingEdge(dut.clk)
        tb.bus.set("system", line, 1)
        await RisingEdge(dut.clk)
        await RisingEdge(dut.clk)
        assert tb.plug.get("idle") == 0
        await pause(4 * tb.period)
    await tb.node.get_bus()
    master = BusMaster(tb.bus)
    await master.open(0x900000, 4, 0, Modifier.A24_USER_DATA)
    assert tb.plug.get("idle") == 0
    await master.close()


bench = Bench(__name__, configurations(), ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("80 MHz",)))
def test_vme(configuration, claim):
    """Each claim at each clock."""
    bench.check(configuration, claim)


def test_parameters_that_cannot_be_are_refused():
    """docs/vme.md, the clock; docs/cab.md, data memory."""
    with pytest.raises(ValueError, match="period_ps must be from 10000 to 75000, not 1"):
        Vme(period_ps=1)
    with pytest.raises(ValueError, match="data_bytes must be a power of two"):
        Vme(5000)
