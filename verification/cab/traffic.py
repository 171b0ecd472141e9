"""Random traffic of everybody at once on a whole CAB, beside the reference model.

Each task does something again and again, on the board and on the model alike, in a part of the memories of its own; at
the end of a round, when all is done, the two are compared. The order in which the tasks' accesses come to the board is
that in which they come to the model."""

import random

import cocotb

from nectar.hdl.cab.addresses import REG, REGIONS, Irq
from nectar.hdl.cab.regions import PAGE_BITS
from nectar.hdl.cab.timer_registers import TIMERS
from nectar.hdl.cab.vme.numbers import Modifier
from nectar.hdl.cab.vme.registers import VME_LIST_DEPTH, VME_REG
from nectar.hdl.link.symbol import Control
from nectar.verification.cab.contents import put
from nectar.verification.cab.driver import Access
from nectar.verification.cab.fiber_traffic import DATA, PARTS, PROGRAM, FiberTraffic
from nectar.verification.cab.reference import BusFault, fields
from nectar.verification.cab.whole import A24_BASE, SLAVE_BASE

__all__ = ["USER", "Traffic"]

#: Who may touch what besides the kernel; the registers of fiber, timers and VME are the first three of their pages.
USER, _USERS = 1, ("sent", "received", "vme", "cpu")
_VMES = ("node", "host")
#: Bytes of the memory on VME that are the CPU's by its window; the DMA's are those before them.
_BY_WINDOW = 1024


class Traffic(FiberTraffic):
    """The tasks.

    Parameters
    ----------
    whole : Whole
        Started.
    model : WholeModel
        Just made.
    """

    # -- rounds --------------------------------------------------------------------------------------------
    async def open_up(self):
        """Fills memories; gives each domain its pages; the CPU becomes the user."""
        await self.begin()
        registers = REGIONS["registers"].base >> PAGE_BITS
        pages = {
            USER: {registers: 3, registers + 1: 3, registers + 2: 3, PROGRAM >> PAGE_BITS: 5},
            self.vme_domain: {registers: 1, registers + 2: 3},
        }
        for domain, names in ((USER, _USERS), (self.vme_domain, _VMES)):
            for name in names:
                pages[domain] |= dict.fromkeys((page + (DATA >> PAGE_BITS) for page in range(*PARTS[name])), 7)
        for domain, rights in pages.items():
            table = REGIONS["protection"].base + (domain << 14)
            for first in (PROGRAM >> PAGE_BITS, registers, *range(DATA >> PAGE_BITS, (DATA >> PAGE_BITS) + 16, 4)):
                word = sum(rights.get(first + n, 0) << 24 - 8 * n for n in range(4))
                await self.access(table + first, word)
        await self.register("DOMAIN", USER)
        window = VME_REG["VME_WINDOW"]
        await self.register(
            "VME_WINDOW", window.page.put(SLAVE_BASE >> 23) | window.modifier.put(Modifier.A24_USER_DATA)
        )

    async def round(self, cycles):
        """So many cycles of traffic; then everything is compared."""
        await self._work(cycles)
        await self.until(self._moved)  # a full list of single transfers takes long
        await self.whole.calm()
        while self._listen():
            await self.board.quiet()
        await self._same()

    async def _work(self, cycles):
        """So many cycles of traffic."""
        for _ in range(40):
            await self.access(DATA + (self.part("sent") & ~3), random.getrandbits(32))
        for name in ("TX_THRESHOLD", "RX_THRESHOLD", "VD_THRESHOLD"):
            await self.register(name, random.choice([0, 1, 20, random.randrange(600)]))
        await self.register(
            "RX_MODE", put("RX_MODE", check=random.choice([0, 0, 1, 2]), skip=random.choice([0, 0, 3, 16]))
        )
        await self.interrupts()
        density = random.choice([1, 1, 0.5])
        self.board.takes = lambda: self.board.due and random.random() < density
        self.end = self.board.cycles + cycles
        works = (
            self.arrivals,
            self.receive,
            self.send_entries,
            self.move,
            self.node,
            self.host_access,
            self.compute,
            self.compute,
            self.timers,
        )
        self.arriving = True
        for task in [cocotb.start_soon(self._again(work)) for work in works]:
            await task

    async def _moved(self):
        """Whether the VME DMA list is empty and nothing of it under way."""
        status = VME_REG["VD_STATUS"]
        word = await self.raw("VD_STATUS")
        return not status.busy.get(word) and status.free.get(word) == VME_LIST_DEPTH

    async def _again(self, work):
        while self.board.cycles < self.end:
            await work()
            self.counts[work.__name__] = self.counts.get(work.__name__, 0) + 1
            await self.board.run(random.choice([0, 0, 0, random.randrange(50)]))
        if self.breaks:
            return
        if work == self.arrivals:
            self._arrive([Control.END])  # what is open ends
            self.arriving = False
        while work == self.receive and (
            self.arriving or self.model.packet or self.model.result is not None or self.model.replies
        ):
            await work()
            await self.board.run(20)

    async def _same(self):
        """Board and model, and both memories, when nothing is under way."""
        model, board = self.model, self.board
        for symbols in (board.tx, model.sent):  # ready signals go between any two symbols
            ready = [symbol for symbol in symbols if symbol == Control.READY]
            symbols[:] = [symbol for symbol in symbols if symbol != Control.READY] + ready
        info = fields("TRAP_INFO", await board.register("TRAP_INFO"))
        assert (info.pop("valid"), info.pop("lost")) == (model.protection.trap is not None, model.protection.lost)
        if model.protection.refused:
            assert {"address": await board.register("TRAP_ADDRESS"), **info} in model.protection.refused
        await self.register("TRAP_INFO", 0)
        if self.fired:
            await self.board.register("IRQ_PENDING", 1 << Irq.TIMER)
            self.fired = False
        await self.compare()
        await self.register("IRQ_PENDING", 0xFFFF_FFFF)
        self.heard = 0
        await self.compare_memory()
        assert self.whole.slave.bytes == model.far
        self.whole.checker.done("BLOCK", "READ-SETUP", "OWNER")

    # -- VME ---------------------------------------------------------------------------------------------------
    async def move(self):
        """An entry of the VME DMA list: blocks or single transfers, both ways, any alignment."""
        status = VME_REG["VD_STATUS"]
        fails = random.random() < 0.03

        async def room():
            return status.free.get(await self.raw("VD_STATUS"))

        await self.until(self._moved if fails else room)
        name, pins = random.choice(("VD_SEND", "VD_FETCH")), self.user()
        length = random.choice([0, 1, 3, random.randrange(40), random.randrange(900)])
        near, far = (
            self.part("vme", length),
            SLAVE_BASE + random.randrange(len(self.model.far) - _BY_WINDOW - length + 1),
        )
        if fails:
            far, length = SLAVE_BASE + len(self.model.far), 4
        elif random.random() < 0.05:
            near, length, pins = random.choice([self.part("node"), len(self.model.data)]), 1, {"kernel": False}
        modifier = random.choice([Modifier.A24_SUPER_DATA, Modifier.A24_USER_BLOCK, Modifier.A24_SUPER_BLOCK])
        await self.register("VD_ADDRESS", DATA + near, **pins)
        await self.register("VD_REMOTE", far, **pins)
        register = VME_REG[name]
        await self.register(
            name,
            register.length.put(length)
            | register.modifier.put(modifier)
            | register.half.put(random.random() < 0.2)
            | register.notify.put(random.random() < 0.5),
            **pins,
        )
        if fails and self.model.result_word:
            await self.irq(Irq.VME_ERROR)
            await self.register("VD_RESULT", **pins)
            await self.register("VD_RESULT", 0, **pins)
            await self.register("IRQ_PENDING", 1 << Irq.VME_ERROR)
        free = [level for level in range(1, 8) if level not in self.model.waiting_interrupts]
        if free and random.random() < 0.3:
            register = VME_REG["VME_INTERRUPT"]
            await self.register(
                "VME_INTERRUPT", register.level.put(random.choice(free)) | register.vector.put(random.getrandbits(8))
            )

    def _expect(self, address, value=None, select=15):
        """What an access of VME gives by the model; BusFault instead of a word."""
        try:
            return (
                self.model.read(address, select, vme=True)
                if value is None
                else self.model.write(address, value, select, vme=True)
            )
        except BusFault:
            return BusFault

    async def node(self):
        """The node: acknowledges interrupts; reads and writes memory, and what is closed to it; blocks; rings."""
        whole, master = self.whole, self.whole.master
        await self.board.run(random.randrange(300))
        await whole.node.get_bus()
        level = next((level for level in range(7, 0, -1) if not whole.bus.level(f"irq{level}")), None)
        if level:
            answer = await master.acknowledge(level)
            assert answer.good and answer.value == self.model.acknowledge(level)
        elif random.random() < 0.4:
            await self._block(master)
        else:
            size = random.choice([1, 2, 4])
            address = random.choice(
                [
                    DATA + self.part("node", size),
                    DATA + self.part("node", size),
                    DATA + self.part("closed", size),
                    REG["ID"].address,
                    VME_REG["VME_BELL"].address,
                    REG["DOMAIN"].address,
                    REG["TX_READY"].address,
                ]
            )
            address &= -size
            write = address >= DATA and random.random() < 0.5
            value = random.getrandbits(8 * size)
            shift = 8 * (4 - size - address % 4)
            select = (1 << size) - 1 << shift // 8
            expected = self._expect(address & ~3, value << shift if write else None, select)
            if write:
                answer = await master.write(A24_BASE + address, value, size)
            else:
                answer = await master.read(A24_BASE + address, size)
            assert answer.berr == (expected is BusFault) and not answer.silent, hex(address)
            if not write and answer.good:
                assert answer.value == expected >> shift & (1 << 8 * size) - 1
        await whole.node.give_bus()

    async def _block(self, master):
        count = random.randint(1, 64)
        place = DATA + (self.part("node", 256) & ~255) + 4 * random.randrange(65 - count)
        if random.random() < 0.5:
            words = [random.getrandbits(32) for _ in range(count)]
            answers = await master.block(A24_BASE + place, 4, words)
            for number, word in enumerate(words):
                self._expect(place + 4 * number, word)
        else:
            answers = await master.block(A24_BASE + place, 4, count=count)
            assert [answer.value for answer in answers] == [self._expect(place + 4 * number) for number in range(count)]
        assert len(answers) == count and all(answer.good for answer in answers)

    async def host_access(self):
        """The synchronous port: memory, and what is closed to VME."""
        for _ in range(random.randrange(1, 6)):
            address = DATA + random.choice([self.part("host", 4), self.part("host", 4), self.part("closed", 4)]) & ~3
            await self.access(address, random.choice([None, random.getrandbits(32)]), random.getrandbits(4), vme=True)

    # -- the CPU -----------------------------------------------------------------------------------------------
    async def compute(self):
        """Loads and stores, some of them together, some refused; instruction fetches; the window."""
        kind = random.random()
        if kind < 0.5:
            words = [DATA + (self.part("cpu", 4) & ~3) for _ in range(random.randrange(1, 30))]
            accesses = [
                Access(at, random.choice([None, random.getrandbits(32)]), random.getrandbits(4), **self.user())
                for at in words
            ]
            expected = [
                self.model.write(access.address, access.value, access.select)
                if access.write
                else self.model.read(access.address)
                for access in accesses
            ]
            for access, word in zip(await self.board.block(accesses), expected, strict=True):
                assert not access.error and (access.write or access.data == word), hex(access.address)
        elif kind < 0.7:
            address = (
                random.choice(
                    [
                        DATA + self.part("node"),
                        DATA + self.part("closed"),
                        PROGRAM + random.randrange(1 << PAGE_BITS),
                        REGIONS["data"].end - 4,
                        0x700000,
                        REG["RESET"].address,
                    ]
                )
                & ~3
            )
            await self.access(
                address, None if address != REG["RESET"].address else 1, kernel=False, execute=random.random() < 0.3
            )
        elif kind < 0.9:
            await self._look()
        else:
            await self.board.run(random.randrange(200))

    async def _look(self):
        size = random.choice([1, 2, 4])
        at = len(self.model.far) - _BY_WINDOW + random.randrange(_BY_WINDOW) & -size
        address = REGIONS["vme"].base + SLAVE_BASE + (at & ~3)
        select = (1 << size) - 1 << 4 - size - at % 4
        value = random.choice([None, random.getrandbits(32)])
        if value is not None:
            self.model.far[at : at + size] = value.to_bytes(4, "big")[at % 4 : at % 4 + size]
        expected = int.from_bytes(self.model.far[at : at + size], "big")
        access = await self.board.access(Access(address, value, select))
        assert not access.error
        if value is None:
            assert access.data.to_bytes(4, "big")[at % 4 : at % 4 + size] == expected.to_bytes(size, "big")

    async def timers(self):
        """A timer: not early, not late; timers 1 to 7 go off in turn."""
        number = random.randrange(TIMERS)
        name = f"TIMER{number}_COMPARE" if number else "TIMER_COMPARE"
        due = await self.raw("TIMER_NOW") + random.choice([50, 300, 2000]) & 0xFFFFFFFF
        await self.board.register(name, due)
        while True:
            before, fired, after = [await self.raw(name) for name in ("TIMER_NOW", "TIMER_FIRED", "TIMER_NOW")]
            fired = fired >> number & 1
            assert fired or (before - due - (TIMERS - 1 if number else 0)) & 0xFFFFFFFF > 1 << 31, "late"
            if fired:
                break
            await self.board.run(20)
        assert (after - due) & 0xFFFFFFFF < 1 << 31, "early"
        await self.board.register("TIMER_FIRED", 1 << number)
        self.fired = True
