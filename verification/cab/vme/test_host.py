"""Bench of hdl/cab/vme/host.py: Wishbone cycles become accesses."""

import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from nectar.hdl.cab.vme.host import HostPort
from nectar.verification.bench import Bench
from nectar.verification.cab.vme.attach import Inside
from nectar.verification.cab.vme.hosting import Host, HostPlug

MAP = 0x100000
LOCK_CYCLES = 40


async def start(dut, slow=0.3):
    plug = HostPlug(dut)
    await plug.start()
    return Host(plug), Inside(plug, 1024, slow)


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def every_access_reaches_its_bytes(dut):
    """docs/vme.md, host port: bytes, words and holes, in a row and with pauses, against a memory in Python."""
    host, inside = await start(dut, random.choice((0.3, 0.7)))
    model = bytearray(inside.memory)
    for _ in range(300):
        at, select, value = random.randrange(256) * 4, random.randrange(1, 16), random.getrandbits(32)
        hole = random.random() < 0.2
        write = random.random() < 0.5
        address = random.getrandbits(22) << 2 if hole else MAP + at
        hole = not MAP <= address < MAP + 1024
        good, read = await host.access(address, value if write else None, select)
        made = inside.accesses.pop()
        assert good != hole and made[:4] == (address, write, 0, select) and not inside.accesses
        assert not write or made[5] == value
        if write and good:
            for lane in range(4):
                if select >> 3 - lane & 1:
                    model[at + lane] = value.to_bytes(4, "big")[lane]
        elif good:
            assert read == int.from_bytes(model[at : at + 4], "big")
        for _ in range(random.choice((0, 0, 3))):
            await RisingEdge(dut.clk)
    assert inside.memory == model


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def a_locked_pair_is_indivisible(dut):
    """docs/vme.md, host port: the CPU comes not between a read and a write under ``lock``. Both count up the same
    word."""
    host, inside = await start(dut, 0.5)
    inside.memory[:4] = bytes(4)
    counted = [0]

    def cpu():
        if random.random() < 0.2:
            counted[0] += 1
            inside.memory[:4] = (int.from_bytes(inside.memory[:4], "big") + 1).to_bytes(4, "big")

    inside.cpu = cpu
    for _ in range(80):
        host.lock(1)
        good, value = await host.access(MAP)
        assert good and (await host.access(MAP, value + 1))[0]
        host.lock(0)
        counted[0] += 1
        for _ in range(3):
            await RisingEdge(dut.clk)
    inside.cpu = lambda: None
    assert int.from_bytes(inside.memory[:4], "big") == counted[0]


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def a_lock_that_lasts_too_long_is_broken(dut):
    """docs/vme.md, host port: the CPU waits at most so long; the next access under the same lock is an error."""
    host, inside = await start(dut)
    for wait in (5, LOCK_CYCLES + 5):
        host.lock(1)
        assert (await host.access(MAP))[0]
        for _ in range(wait):
            await RisingEdge(dut.clk)
        before = bytes(inside.memory)
        assert (await host.access(MAP, 1))[0] == (wait < LOCK_CYCLES)
        assert wait < LOCK_CYCLES or inside.memory == before
        host.lock(0)
        for _ in range(4):
            await RisingEdge(dut.clk)
    assert (await host.access(MAP, 2))[0]
    assert max(inside.lock_lengths) <= LOCK_CYCLES + 15


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def a_host_that_goes_away_is_not_answered(dut):
    """docs/vme.md, host port: an access that was withdrawn gives no ack, and the next one gets its own answer."""
    host, inside = await start(dut)
    for _ in range(100):
        at = random.randrange(256) * 4
        await host.withdraw(MAP + random.randrange(256) * 4, random.randrange(1, 6))
        good, read = await host.access(MAP + at)
        assert good and read == int.from_bytes(inside.memory[at : at + 4], "big")


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def an_access_is_what_the_pins_say_in_five_cycles(dut):
    """HostPort, timing: every bit of the address, and the bytes, are those of the pins, with ``cyc`` and ``stb`` only;
    ``ack`` or ``err`` comes 5 cycles after ``stb``, for one cycle, and no access is made that nobody asks for. What the
    pins are afterwards does not matter."""
    host, inside = await start(dut, 0)
    plug = host.plug
    for number in range(150):
        adr, select, write = random.getrandbits(22), random.getrandbits(4), random.randrange(2)
        value = random.getrandbits(32)
        if number % 3 == 0:
            adr = MAP >> 2 | adr & 255
        good = MAP <= adr << 2 < MAP + 1024
        for cyc, stb in random.sample(((0, 1), (1, 0), (0, 0)), 2):
            plug.put(
                pins__cyc=cyc,
                pins__stb=stb,
                pins__lock=random.randrange(2),
                pins__we=write,
                pins__adr=adr,
                pins__sel=select,
                pins__dat_w=value,
            )
            for _ in range(random.randrange(8)):
                await RisingEdge(dut.clk)
                assert not plug.get("pins__ack") and not plug.get("pins__err") and not plug.get("access__valid")
        inside.accesses.clear()
        at = (adr << 2) - MAP
        before = bytes(inside.memory[at : at + 4]) if good else b""
        plug.put(pins__cyc=1, pins__stb=1, pins__lock=0)
        answers = []
        for cycle in range(7):
            await RisingEdge(dut.clk)
            answers.append((plug.get("pins__ack"), plug.get("pins__err")))
            if cycle == 5:
                read = plug.get("pins__dat_r")
                plug.put(pins__stb=0, pins__cyc=random.randrange(2))
            elif cycle in (1, 2, 3):
                plug.put(
                    pins__we=random.randrange(2),
                    pins__adr=random.getrandbits(22),
                    pins__sel=random.getrandbits(4),
                    pins__dat_w=random.getrandbits(32),
                )
        assert answers == 5 * [(0, 0)] + [(int(good), int(not good)), (0, 0)], answers
        assert [access[:5] for access in inside.accesses] == [(adr << 2, write, 0, select, 0)]
        if good and write:
            assert inside.memory[at : at + 4] == bytes(
                new if select >> 3 - lane & 1 else old
                for lane, (old, new) in enumerate(zip(before, value.to_bytes(4, "big"), strict=True))
            )
        elif good:
            assert read == int.from_bytes(before, "big")


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def the_cpu_is_kept_out_from_the_first_locked_access_to_the_end_of_the_lock(dut):
    """docs/vme.md, host port: with ``lock`` and ``cyc`` held, whatever is read or written, and not with one of them.
    Pauses that are shorter in all than the limit do not break it; behind that every access is an error, until ``lock``
    or ``cyc`` has been let go."""
    host, inside = await start(dut)
    plug = host.plug
    had = []
    inside.cpu = lambda: had.append(1)
    for number in range(60):
        kind = number % 4
        if kind == 0:  # no lock
            had.clear()
            for _ in range(4):
                assert (await host.access(MAP, random.choice((None, 1))))[0]
            assert len(had) >= 12
            continue
        host.lock(1)
        left, late = LOCK_CYCLES, False
        for _ in range(random.randint(2, 5)):
            before = bytes(inside.memory)
            inside.accesses.clear()
            good, _ = await host.access(MAP, random.choice((None, random.getrandbits(32))))
            assert good != late
            assert [access[4] for access in inside.accesses] == ([] if late else [1]) and (
                not late or inside.memory == before
            )
            assert late or inside.lock_lengths[-1]
            had.clear()
            pauses = random.randrange(LOCK_CYCLES // 3 if kind == 1 else LOCK_CYCLES)
            pauses = pauses if pauses < left - 12 or kind == 1 else LOCK_CYCLES + 4
            if kind == 1:
                pauses = min(pauses, max(left - 12, 0))
            for _ in range(pauses):
                await RisingEdge(dut.clk)
            left -= pauses + 4
            assert late or bool(had) == (pauses >= LOCK_CYCLES)
            late = late or pauses >= LOCK_CYCLES
        plug.put(**random.choice(({"pins__lock": 0}, {"pins__cyc": 0})))
        for _ in range(3):
            await RisingEdge(dut.clk)
        had.clear()
        for _ in range(3):
            await RisingEdge(dut.clk)
        assert len(had) == 3, "the lock has ended"
        host.lock(0)
        assert (await host.access(MAP))[0]
    assert max(inside.lock_lengths) <= LOCK_CYCLES + 5 * 20


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def a_lock_counts_the_cycles_in_which_nothing_is_under_way(dut):
    """HostPort, timing: ``lock_cycles`` of them in all, however many accesses are made meanwhile, and however long
    these take; then the map is free again."""
    host, inside = await start(dut)
    plug = host.plug
    for number in range(30):
        host.lock(1)
        inside.slow = random.choice((0, 0.3, 0.8))
        pauses = [random.randrange(LOCK_CYCLES // 4) for _ in range(number % 4)]
        idle, under_way = 0, False
        for pause in (*pauses, LOCK_CYCLES + 4):
            plug.put(pins__cyc=1, pins__stb=1, pins__we=0, pins__adr=MAP >> 2, pins__sel=15)
            answered = False
            left = pause
            while left or not answered:
                await RisingEdge(dut.clk)
                if answered:
                    left -= 1
                elif plug.get("pins__ack"):
                    answered = True
                    plug.put(pins__stb=0)
                under_way = under_way or bool(plug.get("access__valid"))
                idle += plug.get("access__lock") and not under_way
                under_way = under_way and not plug.get("access__done")
        assert idle == LOCK_CYCLES and not plug.get("access__lock")
        for _ in range(2):
            plug.put(pins__stb=1)
            for cycle in range(4):
                await RisingEdge(dut.clk)
                assert not plug.get("access__lock") and not plug.get("access__valid"), (
                    "what is an error keeps nobody out"
                )
                assert plug.get("pins__err") == (cycle == 1)
                if cycle == 1:
                    plug.put(pins__stb=0)
        host.lock(0)
        for _ in range(3):
            await RisingEdge(dut.clk)


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def what_is_withdrawn_is_made_once_or_not_and_the_next_access_gets_its_own_answer(dut):
    """docs/vme.md, host port: ``stb``, or ``cyc``, is withdrawn in each cycle, and asked for again at once: one
    answer, to the second access. AccessPort: what waits stays as it is, the lock, too."""
    host, inside = await start(dut)
    plug = host.plug

    async def watch():
        names = [f"access__{name}" for name in ("valid", "address", "write", "select", "write_data", "lock")]
        before = None
        while True:
            await RisingEdge(dut.clk)
            now = [plug.get(name) for name in names]
            assert before is None or now == before
            before = now if now[0] and not plug.get("access__ready") else None

    watcher = cocotb.start_soon(watch())
    for number in range(120):
        inside.slow = random.choice((0, 0.3, 0.8))
        first, second = random.sample(range(256), 2)
        value = random.getrandbits(32)
        kept = bytes(inside.memory[4 * first : 4 * first + 4])
        wanted = int.from_bytes(inside.memory[4 * second : 4 * second + 4], "big")
        inside.accesses.clear()
        plug.put(
            pins__cyc=1,
            pins__stb=1,
            pins__lock=random.randrange(2),
            pins__we=1,
            pins__adr=(MAP >> 2) + first,
            pins__sel=15,
            pins__dat_w=value,
        )
        cycles = 1 + number % 8
        answered = False
        for _ in range(cycles):
            await RisingEdge(dut.clk)
            answered = answered or bool(plug.get("pins__ack"))
            if answered:
                break
        plug.put(**random.choice(({"pins__stb": 0}, {"pins__cyc": 0})))
        for _ in range(random.choice((1, 1, 2))):
            await RisingEdge(dut.clk)
            assert not plug.get("pins__err")
            answered = answered or bool(plug.get("pins__ack"))
        plug.put(pins__cyc=1, pins__stb=1, pins__lock=0, pins__we=0, pins__adr=(MAP >> 2) + second)
        answers = []
        for _ in range(200):
            await RisingEdge(dut.clk)
            if plug.get("pins__ack"):
                answers.append(plug.get("pins__dat_r"))
                break
        plug.put(pins__stb=0, pins__cyc=0)
        for _ in range(12):
            await RisingEdge(dut.clk)
            assert not plug.get("pins__ack") and not plug.get("pins__err")
        assert answers == [wanted]
        made = [(address, write) for address, write, *_ in inside.accesses]
        assert made in ([(MAP + 4 * first, 1), (MAP + 4 * second, 0)], [(MAP + 4 * second, 0)])
        assert len(made) == 2 or not answered
        assert inside.memory[4 * first : 4 * first + 4] == (value.to_bytes(4, "big") if len(made) == 2 else kept)
    watcher.cancel()


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def a_reset_ends_access_and_lock(dut):
    """docs/vme.md, reset of the board: in every cycle of an access, locked or not, with no answer behind it; the
    next one is like the first."""
    host, inside = await start(dut, 0)
    plug = host.plug
    for number in range(60):
        locked = number & 1
        host.lock(locked)
        if number % 3 == 0:
            await host.access(MAP)
            for _ in range(random.choice((0, 5, LOCK_CYCLES + 5))):
                await RisingEdge(dut.clk)
        plug.put(pins__cyc=1, pins__stb=1, pins__we=0, pins__adr=MAP >> 2, pins__sel=15)
        for _ in range(1 + number % 7):
            await RisingEdge(dut.clk)
        plug.put(rst=1, pins__stb=0)
        await RisingEdge(dut.clk)
        await RisingEdge(dut.clk)
        assert not any(plug.get(name) for name in ("pins__ack", "pins__err", "access__valid", "access__lock"))
        for _ in range(8):
            await RisingEdge(dut.clk)  # the map answers what it had taken
        plug.put(rst=0)
        for _ in range(random.randrange(4)):
            await RisingEdge(dut.clk)
            assert not any(plug.get(name) for name in ("pins__ack", "pins__err", "access__valid", "access__lock"))
        at = 4 * random.randrange(256)
        good, read = await host.access(MAP + at)
        assert good and read == int.from_bytes(inside.memory[at : at + 4], "big")
        host.lock(0)
        for _ in range(3):
            await RisingEdge(dut.clk)


bench = Bench(__name__, {"host": lambda: HostPort(LOCK_CYCLES)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_host(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)


def test_a_lock_of_no_cycles_is_refused():
    """The docstring's Raises."""
    with pytest.raises(ValueError, match="lock_cycles must be at least 1, not 0"):
        HostPort(0)
