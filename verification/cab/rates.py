"""All users of the data memory busy at once: what each of them gets. Source: facts C1 to C3, docs/cab.md, data
memory."""

import random
from dataclasses import dataclass

from nectar.hdl.cab.addresses import CRC_BYTES, HEADER_BYTES, REG, REGIONS, RX_LIST_DEPTH, Irq
from nectar.hdl.cab.regions import PAGE_BITS
from nectar.hdl.cab.vme.numbers import Modifier
from nectar.hdl.cab.vme.registers import VME_LIST_DEPTH, VME_REG
from nectar.hdl.link.symbol import Control, packet
from nectar.verification.cab.contents import put, with_crc
from nectar.verification.cab.driver import Access
from nectar.verification.cab.reference import fields
from nectar.verification.cab.whole import SLAVE_BASE

__all__ = ["PERIOD_PS", "Rates", "all_at_once", "protection_latency"]

#: Period of the clock at which a word in each cycle is 66 Mbyte/s.
PERIOD_PS = 60_606
DATA, PROGRAM = REGIONS["data"].base, REGIONS["program"].base
_USER = 1
#: Cycles in which all streams get going.
_START = 400
#: Everything, in each of four pages.
_ALL = 0x07070707


@dataclass(frozen=True)
class Rates:
    """Mbyte/s of each user while all were busy, in simulated time. Of a fiber what it took in its symbol times; of the
    incoming one without what was still in the input queue at the end.

    ``unused``: times when the outgoing fiber found no symbol. ``backlog``: symbols in the input queue at the end.
    ``share``: accesses of the CPU in a cycle. ``longest``: cycles of its slowest one. ``cycles`` were measured.
    """

    fiber_out: float
    fiber_in: float
    vme: float
    cpu: float
    unused: int
    backlog: int
    share: float
    longest: int
    cycles: int

    @property
    def total(self):
        """All together."""
        return self.fiber_out + self.fiber_in + self.vme + self.cpu


async def _open_domain(board, size, domain=_USER):
    """Gives a domain all of the data memory and the beginning of the program's, and the registers of fiber and VME;
    and the CPU to it."""
    starts = [*range(DATA, DATA + size, 4 << PAGE_BITS), REGIONS["registers"].base, PROGRAM]
    await board.block(
        Access(REGIONS["protection"].base + (domain << 14) + (start >> PAGE_BITS), _ALL) for start in starts
    )
    await board.register("DOMAINS_ON", 1 << domain)
    await board.register("DOMAIN", domain)


def _cut(total, places, limit):
    """Lengths of at most ``places`` areas of at most ``limit`` bytes that make ``total`` together."""
    longest = max(limit // 2, -(-total // places))
    assert longest < limit, "more than the lists can hold"
    lengths = []
    while total:
        lengths.append(min(total, random.randint(longest, limit)))
        total -= lengths[-1]
    return lengths


async def all_at_once(whole, size, cycles):
    """Sends, receives, moves to and from VME and accesses memory in every cycle, all at once; returns Rates.

    Every byte that arrives anywhere is compared. The memory of ``size`` bytes has a quarter for each: what is sent,
    what is received, VME (half for each way), the CPU. The CPU works in a user's domain."""
    board, quarter = whole.board, size // 4
    words = range(0, size, 4)
    memory = bytearray(random.randbytes(size))
    await board.block(Access(DATA + at, int.from_bytes(memory[at : at + 4], "big")) for at in words)
    await _open_domain(board, size)
    board.tx.clear()
    symbols = (cycles + _START + 3000) * board.period_ps // board.symbol_ps

    # The fibers: one long packet each way, gathered and scattered at any byte.
    user = {"kernel": False}
    arrives = random.randbytes(HEADER_BYTES + symbols)
    board.arrivals.extend(int(symbol) for symbol in packet(with_crc(arrives)))
    rest, areas = arrives[HEADER_BYTES:], []
    for number, length in enumerate(lengths := _cut(len(rest), RX_LIST_DEPTH + 1, quarter - 4)):
        at = quarter + random.randrange(quarter - length + 1)
        areas.append((at, length))
        await board.write(REG["RX_ADDRESS"].address, DATA + at, **user)
        if number < len(lengths) - 1:
            await board.write(REG["RX_AREA"].address, length, **user)
    while not await board.read(REG["IRQ_PENDING"].address, **user) & 1 << Irq.PACKET:
        pass
    await board.write(REG["RX_START"].address, lengths[-1], **user)
    for at, length in areas:
        memory[at : at + length], rest = rest[:length], rest[length:]
    sent = bytearray()
    lengths = _cut(symbols, 30, quarter - 4)
    for number, length in enumerate(lengths):
        at, last = random.randrange(quarter - length + 1), number == len(lengths) - 1
        sent += memory[at : at + length]
        await board.write(REG["TX_ADDRESS"].address, DATA + at, **user)
        await board.write(
            REG["TX_AREA"].address, put("TX_AREA", length=length, start=number == 0, end=last, crc=last), **user
        )

    # VME: blocks both ways in turn.
    half = quarter // 2
    far = bytearray(whole.slave.bytes)
    entries = -(-(cycles + 2 * _START) // half)  # at most a byte in a cycle
    assert entries <= VME_LIST_DEPTH, "more than the list can hold"
    for number in range(entries):
        length = half - random.randrange(64)
        near, there = 2 * quarter + random.randrange(half - length + 1), 4 * random.randrange((half - length) // 4 + 1)
        send = number % 2
        if send:
            far[half + there : half + there + length] = memory[near : near + length]
        else:
            memory[near + half : near + half + length] = far[there : there + length]
        await board.write(REG["VD_ADDRESS"].address, DATA + near + (0 if send else half), **user)
        await board.write(REG["VD_REMOTE"].address, SLAVE_BASE + there + (half if send else 0), **user)
        register = VME_REG["VD_SEND" if send else "VD_FETCH"]
        await board.write(
            register.address, register.length.put(length) | register.modifier.put(Modifier.A24_SUPER_BLOCK), **user
        )

    # The CPU: an access in every cycle.
    places = [3 * quarter + 4 * random.randrange(quarter // 4) for _ in range(cycles + 2 * _START)]
    accesses = [Access(DATA + at, random.choice((None, random.getrandbits(32))), **user) for at in places]
    board.requests.extend(accesses)
    await board.run(_START)

    def counts():
        return len(board.tx), board.arrived, sum(size for *_, size, _ in whole.slave.cycles), board.slots

    before, begin = counts(), board.cycles
    await board.run(cycles)
    after, end = counts(), board.cycles
    board.requests.clear()
    backlog = fields("RX_STATUS", await board.read(REG["RX_STATUS"].address, **user))["level"]
    still = VME_REG["VD_STATUS"].busy.get(await board.read(REG["VD_STATUS"].address, **user))
    assert still and board.arrivals and len(board.tx) < len(sent), "a stream has ended too soon"
    tx, rx, vme, slots = (late - early for late, early in zip(after, before, strict=True))
    inside = [access for access in accesses if access.done is not None and begin < access.done <= end]
    for access in accesses:
        if access.taken is None:
            break
        at = access.address - DATA
        assert not access.error
        if access.write:
            memory[at : at + 4] = access.value.to_bytes(4, "big")
        else:
            assert access.data == int.from_bytes(memory[at : at + 4], "big")

    # To the end, and every byte is where it belongs.
    while not await board.register("IRQ_PENDING") & 1 << Irq.RECEIVED or len(board.tx) < len(sent) + CRC_BYTES + 2:
        await board.run(100)
    while VME_REG["VD_STATUS"].busy.get(await board.register("VD_STATUS")):
        await board.run(100)
    await whole.calm()
    result = fields("RX_RESULT", await board.register("RX_RESULT"))
    assert result["length"] == symbols and not any(
        result[bad] for bad in ("crc_bad", "too_long", "framing", "discarded")
    ), result
    assert board.tx == [int(symbol) for symbol in packet(with_crc(bytes(sent)))] and board.tx[0] == Control.START
    assert await board.register("ERRORS") == 0 and await board.register("VD_RESULT") == 0
    assert whole.slave.bytes == far
    seen = await board.block(Access(DATA + at) for at in words)
    assert b"".join(access.data.to_bytes(4, "big") for access in seen) == memory
    whole.checker.done("BLOCK", "READ-SETUP", "DATA-SETUP", "OWNER")

    def rate(count):
        return count * 1e6 / ((end - begin) * board.period_ps)

    def of_fiber(count):
        return count * 1e6 / (slots * board.symbol_ps)

    return Rates(
        of_fiber(tx),
        of_fiber(rx - backlog),
        rate(vme),
        rate(4 * len(inside)),
        slots - tx,
        backlog,
        len(inside) / (end - begin),
        max(access.done - access.taken for access in inside),
        end - begin,
    )


async def protection_latency(board, size, count=200):
    """Cycles of each of some accesses, by themselves and one behind the other, in a user's domain and again in the
    kernel's, which protection does not ask: two lists. Nobody else is busy; the CPU is in a user's domain."""
    places = DATA + size // 2, PROGRAM, REG["ID"].address, REG["TX_ADDRESS"].address
    chosen = []
    for _ in range(count):
        address = random.choice(places)
        address += 4 * random.randrange(256) if address in places[:2] else 0
        writes = address != REG["ID"].address and random.random() < 0.5
        chosen.append((address, random.getrandbits(20) if writes else None, not writes and random.random() < 0.3))
    together = [random.randrange(1, 12) for _ in range(count)]
    found = []
    for kernel in (False, True):
        accesses = [Access(address, value, kernel=kernel, execute=execute) for address, value, execute in chosen]
        at = 0
        for number in together:
            await board.block(accesses[at : at + number])
            await board.run(number)
            at += number
        assert not any(access.error for access in accesses)
        found.append([access.done - access.taken for access in accesses])
    return tuple(found)
