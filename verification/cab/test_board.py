"""Bench of the whole board: the rates that it must keep with all its users busy, and what VME may do meanwhile."""

import random

import cocotb
import pytest

from nectar.hdl.cab.addresses import REG, REGIONS, Irq
from nectar.hdl.link.symbol import Control, packet, reply
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.contents import put, with_crc
from nectar.verification.cab.driver import Access, BoardDriver
from nectar.verification.cab.kinds import BOARDS, VERILOG, bus_error
from nectar.verification.cab.reference import fields

DATA = REGIONS["data"].base


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def both_fibers_run_at_full_rate_and_the_cpu_gets_along(dut):
    """C1, C2, C3: a symbol in every cycle in each direction at once, from areas at any byte to any byte; with many
    short areas, at the fiber's rate of four symbols in five cycles; the CPU, which wants the memory in every cycle,
    never waits long for it, nor does the host."""
    board = BoardDriver(dut)
    await board.start()
    size = BOARDS[inside()]["data_bytes"]
    if board.has_host:
        vme = BOARDS[inside()]["domains"] - 1
        for page in range(0, size >> 10, 4):
            await board.write(REGIONS["protection"].base + (vme << 14) + (DATA >> 10) + page, 0x03030303)
        await board.register("DOMAINS_ON", 1 << vme)
    for offset, pieces, place in ((0, 1, 0), (1, 1, 2), (3, 7, 1), (2, 25, 3)):
        length = size // 4
        content = random.randbytes(length)
        await board.block(Access(DATA + at, int.from_bytes(content[at : at + 4], "big")) for at in range(0, length, 4))
        # Pieces of an area each, gathered into one packet.
        cuts = sorted({offset, length, *(random.randrange(offset, length) for _ in range(pieces - 1))})
        cuts = [cut for number, cut in enumerate(cuts) if number in (0, len(cuts) - 1) or cut - cuts[number - 1] >= 9]
        board.tx.clear(), board.tx_times.clear()
        board.loopback = True
        # The wire takes a symbol each 80 ns, the board's cycle is 62.5 ns or less.
        short = pieces > 10
        board.takes = lambda short=short: not short or board.cycles % 5 != 0
        for number, (begin, end) in enumerate(zip(cuts, cuts[1:])):
            await board.register("TX_ADDRESS", DATA + begin)
            last = end == length
            await board.register("TX_AREA", put("TX_AREA", length=end - begin, start=number == 0, end=last, crc=last))
        while not await board.register("IRQ_PENDING") & 1 << Irq.PACKET:
            pass
        await board.register("RX_ADDRESS", DATA + size // 2 + place)
        await board.register("RX_START", put("RX_START", limit=size // 2 - place))
        # The CPU wants the memory in every cycle.
        began, accesses, of_host = board.cycles, [], []
        while len(board.tx) < length - offset + 6:
            while len(board.requests) < 4:
                accesses.append(Access(DATA + size // 4 * 3 + 4 * random.randrange(16), random.choice([None, 1])))
                board.requests.append(accesses[-1])
            while board.has_host and len(board.host_requests) < 2:
                of_host.append(Access(DATA + size // 4 * 3 + 4 * random.randrange(16), random.choice([None, 1])))
                board.host_requests.append(of_host[-1])
            await board.cycle()
        passed = board.cycles - began
        await board.quiet()
        assert board.tx == [int(s) for s in packet(with_crc(content[offset:]))]
        times = range(board.tx_times[0], board.tx_times[-1])
        gaps = sum(not short or cycle % 5 != 0 for cycle in times) - len(board.tx_times) + 1
        assert gaps == 0, f"{gaps} cycles without a symbol between areas that end at {cuts[1:]}"
        waits = [access.done - access.taken for access in accesses]
        share, longest = len(accesses) / passed, max(waits)
        least, most = (0.3, 12) if board.has_host else (0.4, 8)
        assert longest <= most and share > least, f"{share:.2f} accesses a cycle, up to {longest} cycles each"
        if board.has_host:
            assert not any(access.error for access in of_host)
            assert len(of_host) / passed > 0.1, f"{len(of_host) / passed:.2f} accesses of the host a cycle"
        board.loopback = False
        board.takes = lambda: True
        result = fields("RX_RESULT", await board.register("RX_RESULT"))
        assert result == {
            "length": length - offset - 16,
            "header": 16,
            "crc_bad": 0,
            "too_long": 0,
            "framing": 0,
            "discarded": 0,
        }
        at = size // 2 + place
        words = await board.block(Access(DATA + word) for word in range(at & ~3, at + result["length"], 4))
        stored = b"".join(word.data.to_bytes(4, "big") for word in words)[place:][: result["length"]]
        assert stored == content[offset + 16 :]
        await board.register("RX_RELEASE", 0)
        await board.quiet()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def what_vme_may_not_do_does_nothing(dut):
    """C4, C5, C7: the host's accesses are made in VME's domain; refused, they take no reply, ring no bell, write no
    word, and are recorded; the CPU is not in their way, nor they in its."""
    board = BoardDriver(dut)
    await board.start()
    if not board.has_host:
        assert await bus_error(board, REG["VD_STATUS"].address) and await bus_error(board, REG["VME_BELL"].address, 0)
        return
    vme = BOARDS[inside()]["domains"] - 1
    board.rx.extend(reply(1, 2, 3))
    await board.write(DATA, 0x01020304)
    await board.quiet()

    async def refused(name_or_address, value=None):
        """Whether the access is refused and recorded."""
        address = REG[name_or_address].address if isinstance(name_or_address, str) else name_or_address
        fails = await bus_error(board, address, value, vme=True)
        info = fields("TRAP_INFO", await board.register("TRAP_INFO"))
        trap = await board.register("TRAP_ADDRESS")
        await board.register("TRAP_INFO", 0)
        if not fails:
            assert not info["valid"]
            return False
        assert (trap, info["domain"], info["vme"], info["valid"]) == (address, vme, 1, 1)
        assert info["kind"] == (value is not None)
        return True

    names = "REPLY", "DOMAIN", "DOMAINS_ON", "TRAP_INFO", "IRQ_PENDING"
    assert all([await refused(name) for name in names])
    assert all(
        [await refused(name, 0) for name in ("TX_READY", "DOMAIN", "DOMAINS_ON", "VME_BELL", "RESET", "TRAP_INFO")]
    )
    assert (
        await refused(DATA, 5)
        and await refused(DATA)
        and await refused(REGIONS["protection"].base + (vme << 14) + 0x400, 0)
    )
    page = REGIONS["protection"].base + (vme << 14)
    for number in (0x400, 0x800):
        await board.write(page + number, 0x01000000)
    await board.register("DOMAINS_ON", 1 << vme)
    assert not await refused(DATA) and await refused(DATA, 5)
    assert await board.read(DATA, vme=True) == 0x01020304
    await board.write(page + 0x800, 0x02000000)
    assert (
        await refused("REPLY")
        and not await refused("TX_READY", 0)
        and await refused("DOMAIN")
        and await refused("DOMAIN", 1)
    )
    await board.write(page + 0x800, 0x03000000)
    assert await board.read(REG["REPLY"].address, vme=True) == put("REPLY", valid=1, opcode=1, hub=2, value=3)
    await board.quiet()
    assert board.tx == [Control.READY]


bench = Bench(__name__, VERILOG, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("4 kbyte", "64 kbyte")))
def test_board(configuration, claim):
    """Each claim on each board."""
    bench.check(configuration, claim)
